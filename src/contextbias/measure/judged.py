"""Images that people judged one by one, as arrays beside what a reader says of all images."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from contextbias.errors import InputError
from contextbias.measure.arrays import ReaderCounts
from contextbias.measure.nothing import with_empty_lists
from contextbias.measure.people import Consensus
from contextbias.tables import CONDITIONS, EMPTY_LIST

PLAIN = "wilson-clustered"
"""Method of a number that rests on the reader alone."""

ALL = "all"
"""All conditions together."""

_UNSEEN = ("blocked", "blank", "corrupt")
_LEAST_CORRELATION = 0.1
# Squared. Less of it would be told by luck alone, and multiply the reader's rho by more than ten.
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Ends = tuple[Floats, Floats, Floats]
"""Point, lower and upper end, each of shape (labels,)."""
Prompt = tuple[str, str, str]
"""Role, condition and prompt id."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedImages:
    """The images of one generator that could be judged, N of them."""

    place: Mapping[str, int]
    """Image id -> position."""
    role: NDArray[Any]
    condition: NDArray[Any]
    cluster: Integers
    """Number of the context, shape (N,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Answers about one dimension, of the reader and of people."""

    dimension: str
    labels: tuple[str, ...]
    """Labels that people or the reader gave about a judged image, sorted."""
    reader: Floats
    """Shape (N, labels)."""
    answered: Booleans
    """Shape (N,)."""
    judged: Integers
    """Positions of the images that people judged, shape (n,)."""
    people: Floats
    """Shape (n, labels)."""
    people_answered: Booleans
    """Shape (n,)."""
    weight: Floats
    """Shape (n,)."""
    rho: float
    """Intraclass correlation of what the reader says, 0 where it is not known."""
    true_rho: float
    """The same of what people say: errors of the reader make images of one context less alike."""


def facts_of(
    attributes: pl.LazyFrame, reader: str, generator: str, dimensions: Collection[str]
) -> pl.DataFrame:
    """Facts of one reader and generator about images that exist, and the first person in each."""
    columns = (
        "image_id", "role", "condition", "prompt_id", "dimension", "label", "missing_reason",
    )  # fmt: skip
    return (
        attributes.filter(
            pl.col("reader") == reader,
            pl.col("generator") == generator,
            pl.col("person").fill_null(0) == 0,
        )
        .select(pl.col(name).cast(pl.String) for name in columns)
        .pipe(with_empty_lists)
        .filter(
            pl.col("dimension").is_in(sorted(dimensions)),
            ~pl.col("missing_reason").fill_null("").is_in(_UNSEEN),
        )
        .collect()
    )


def clusters_of(counts: ReaderCounts) -> dict[str, dict[Prompt, int]]:
    """Generator -> prompt -> number of its context."""
    found: dict[str, dict[Prompt, int]] = {}
    for of in counts.dimensions:
        if of.generator not in found:
            axis = of.prompts
            found[of.generator] = {
                (counts.roles[role], CONDITIONS[condition], prompt): int(cluster)
                for role, condition, prompt, cluster in zip(
                    axis.role, axis.condition, axis.prompt, axis.cluster, strict=True
                )
            }
    return found


def images_of(facts: pl.DataFrame, clusters: Mapping[Prompt, int]) -> JudgedImages:
    """The images of one generator, by id.

    Raises:
        InputError: An id stands under several prompts: nobody knows for which of its populations it
            was drawn, and with which weight.
    """
    images = facts.unique(["image_id", "role", "condition", "prompt_id"], maintain_order=True)
    images = images.sort("image_id")
    if images["image_id"].n_unique() < images.height:
        twice = images.filter(pl.col("image_id").is_duplicated())["image_id"][0]
        raise InputError(
            f"the image {twice} that people could judge stands under several prompts",
            "give each prompt's image an id of its own",
        )
    keys = list(images.select("role", "condition", "prompt_id").iter_rows())
    # A prompt of which nothing was counted is a context of its own.
    known = {key: number for number, key in enumerate(dict.fromkeys(keys), len(clusters))}
    return JudgedImages(
        {image: place for place, image in enumerate(images["image_id"])},
        images["role"].to_numpy(),
        images["condition"].to_numpy(),
        np.array([clusters.get(key, known[key]) for key in keys], dtype=np.int64),
    )


def answers_of(
    dimension: str,
    said: pl.DataFrame,
    judged: Sequence[Consensus],
    images: JudgedImages,
    rho: float,
) -> Answers:
    """What the reader (`said`: facts of one dimension) and people (`judged`) answered."""
    at = np.array([images.place[one.image_ids[0]] for one in judged], dtype=np.int64)
    place = said["image_id"].replace_strict(images.place, return_dtype=pl.Int64)
    said = said.with_columns(place=place)
    with_label = said.filter(pl.col("label").is_not_null())
    on_judged = with_label.filter(pl.col("place").is_in(at))
    seen = {label for one in judged for label in one.shares} | set(on_judged["label"])
    labels = tuple(sorted(seen - {EMPTY_LIST}))
    number = {label: k for k, label in enumerate(labels)}
    kept = with_label.filter(pl.col("label").is_in(labels))
    reader = np.zeros((len(images.place), len(labels)))
    reader[kept["place"].to_numpy(), [number[label] for label in kept["label"]]] = 1
    answered = np.zeros(len(images.place), np.bool_)
    told = said.filter(pl.col("label").is_not_null() | (pl.col("missing_reason") == EMPTY_LIST))
    answered[told["place"].to_numpy()] = True
    people = np.zeros((len(judged), len(labels)))
    for i, one in enumerate(judged):
        for label, share in one.shares.items():
            if label != EMPTY_LIST:
                people[i, number[label]] = share
    told_by_people = np.array([bool(one.shares) for one in judged])
    weight = np.array([1 / one.probability for one in judged])
    rho = rho if np.isfinite(rho) else 0.0
    both = told_by_people & answered[at]
    alike = squared_correlation(reader[at[both]], people[both], weight[both])
    return Answers(
        dimension, labels, reader, answered, at, people, told_by_people, weight, rho,
        min(1.0, rho / max(alike, _LEAST_CORRELATION)),
    )  # fmt: skip


def squared_correlation(reader: Floats, people: Floats, weight: Floats) -> float:
    """Squared correlation of two readings of the same images, pooled over labels.

    Of errors that do not hang on the context, a reader's intraclass correlation is that of the
    truth times this.

    Args:
        reader: Shape (n, labels).
        people: Same shape.
        weight: Shape (n,).

    Returns:
        1 where nothing varies, or there is no image.
    """
    if not len(weight):
        return 1.0
    w = weight / weight.sum()
    f, y = reader - w @ reader, people - w @ people
    product = float(np.sum(w @ f**2) * np.sum(w @ y**2))
    return float(np.sum(w @ (f * y))) ** 2 / product if product > 0 else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """One population."""

    of: Booleans
    """Its images, shape (N,)."""
    effect: float
    """Design effect of what the reader says of its images."""
    true_effect: float
    """Design effect of what people would say of them."""
    judged: Booleans
    """Its judged images, shape (n,)."""
    judged_effect: float
    """Design effect of these."""
    n: int
    """Judged images that people answered."""
    read: int
    """Images that the reader answered."""
    shown: Floats
    """How many of them show each label, shape (labels,)."""


def population(
    answers: Answers, images: JudgedImages, role: str | None, condition: str
) -> Population:
    """The images of a condition (`ALL`: of every one), and of a role where one is named."""
    of = np.ones(len(images.cluster), np.bool_)
    if role is not None:
        of &= images.role == role
    if condition != ALL:
        of &= images.condition == condition
    judged = of[answers.judged]
    read = of & answers.answered
    return Population(
        of,
        design_effect(images.cluster[of], answers.rho),
        design_effect(images.cluster[of], answers.true_rho),
        judged,
        design_effect(images.cluster[answers.judged[judged]], answers.rho),
        int(answers.people_answered[judged].sum()),
        int(read.sum()),
        read.astype(np.float64) @ answers.reader,
    )


def design_effect(cluster: Integers, rho: float) -> float:
    """1 + (m - 1) rho, m = sum of squared cluster sizes by their sum; 1 without images."""
    if not cluster.size:
        return 1.0
    sizes = np.bincount(cluster).astype(np.float64)
    return float(1 + (np.sum(sizes**2) / np.sum(sizes) - 1) * rho)


def label_rows(
    labels: Sequence[str],
    ends: Ends | None,
    method: str,
    keys: dict[str, Any],
    note: str | None = "no_image_read",
) -> Iterator[dict[str, Any]]:
    """One row a label; null with the note where there is no number."""
    corrected = method != PLAIN
    for k, label in enumerate(labels):
        point, low, high = (np.nan,) * 3 if ends is None else (float(end[k]) for end in ends)
        yield keys | {
            "label": label, "method": method, "corrected": corrected, "point": point, "low": low,
            "high": high, "note": note if np.isnan(point) else None,
        }  # fmt: skip
