"""A study of any size for the benchmarks, drawn at random: attributes as canonicalise writes them.

Roles, prompts and conditions are those of the paper (92 roles, 18 prompts each, 4 generators; 10
images a prompt make 66,240 images and 2.2 million facts). What a picture shows depends on its role
and condition. Closed vocabularies are drawn from the codebook; open ones have a long tail, a part
of which belongs to the role, so that most labels are seen with a few roles only.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from contextbias.canonicalise import ATTRIBUTE_SCHEMA
from contextbias.ids import content_hash
from contextbias.schema import DIMENSIONS, Dimension

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

GENERATORS = ("flux", "qwen", "sd35", "sdxl")
ROLES = tuple(f"role {number:02}" for number in range(92))
OPEN_LABELS = {"items": 985, "activities": 250, "clothing_garment": 500}
VARIANTS = {
    "CA-R": ("rel-activity/phrasing-1", "rel-activity/phrasing-2", "rel-activity/phrasing-3",
             "rel-place/phrasing-1", "rel-place/phrasing-2", "rel-place/phrasing-3",
             "rel-place/substitute-location"),
    "CA-U": ("unrel-activity/phrasing-1", "unrel-activity/phrasing-2", "unrel-activity/phrasing-3",
             "unrel-activity/substitute-activity", "unrel-place/phrasing-1",
             "unrel-place/phrasing-2", "unrel-place/phrasing-3", "unrel-place/substitute-location"),
    "CF": ("cf/phrasing-1", "cf/phrasing-2", "cf/phrasing-3"),
}  # fmt: skip
# Further labels of a list, on average; shares of answers that are missing or empty.
_MORE = {"items": 1.3, "aesthetic_qualities": 0.3, "dominant_colors": 0.5, "clothing_garment": 0.4,
         "clothing_color": 0.3}  # fmt: skip
_UNKNOWN, _NO_PERSON, _INDOORS, _EMPTY = 0.03, 0.04, 0.4, 0.4
_OWN_SHARE, _OWN_LABELS = 0.5, 30


def prompts_of(role: str) -> pl.DataFrame:
    """Condition, variant and id of a role's prompts, in the order of the file."""
    rows = [
        (condition, variant, content_hash([role, condition, variant])[:16])
        for condition, variants in VARIANTS.items()
        for variant in variants
    ]
    frame = pl.DataFrame(rows, schema=["condition", "variant", "prompt_id"], orient="row")
    return frame.sort("condition", "prompt_id")


def known_prompts() -> pl.DataFrame:
    """What measure is told of the prompts; those with an activity name that dimension."""
    parts = [prompts_of(role) for role in ROLES]
    base = pl.col("variant").str.split("/").list.first()
    activity = pl.when(base.str.ends_with("activity")).then("prompt_id")
    named = pl.when(activity.is_not_null()).then(pl.lit(["activities"])).otherwise(pl.lit([]))
    return pl.concat(parts).select(
        "prompt_id", base=base, location="prompt_id", activity=activity, prompted=named
    )


class _Vocabulary:
    """Labels of one dimension and generator, with their shares for each role and condition."""

    def __init__(self, dimension: Dimension, rng: np.random.Generator) -> None:
        closed = [label for label in dimension.vocabulary if label != "not_applicable"]
        number = OPEN_LABELS.get(dimension.name, 0)
        self.labels = closed or [f"{dimension.name} {i:04}" for i in range(number)]
        self.dimension = dimension
        size = len(self.labels)
        weight = 1 / np.arange(1, size + 1) ** (1.1 if dimension.is_open else 0.8)
        cells = len(ROLES), len(VARIANTS)
        tilt = rng.gamma(2.0, 0.5, (cells[0], 1, size)) * rng.gamma(20.0, 0.05, (*cells, size))
        shares = weight * tilt
        if dimension.is_open:
            own = np.zeros((cells[0], 1, size))
            for role in own:
                role[0, rng.choice(size, _OWN_LABELS, replace=False)] = rng.random(_OWN_LABELS)
            shares = shares / shares.sum(axis=2, keepdims=True) * (1 - _OWN_SHARE)
            shares = shares + own / own.sum(axis=2, keepdims=True) * _OWN_SHARE
        self._ends = np.cumsum(shares / shares.sum(axis=2, keepdims=True), axis=2)

    def draw(
        self, role: int, condition: Integers, rng: np.random.Generator
    ) -> tuple[Integers, Integers]:
        """Image and label number of everything shown; one number of a list at least."""
        image = np.arange(len(condition))
        if more := _MORE.get(self.dimension.name):
            image = np.repeat(image, 1 + rng.poisson(more, len(image)))
        ends = self._ends[role] + np.arange(len(VARIANTS))[:, None]
        at = rng.random(len(image)) * (1 - 1e-12) + condition[image]
        label = np.searchsorted(ends.ravel(), at, side="right")
        label = np.minimum(label - condition[image] * len(self.labels), len(self.labels) - 1)
        seen = np.unique(image * len(self.labels) + label)
        return np.divmod(seen, len(self.labels))  # type: ignore[return-value]


def _facts(
    vocabularies: list[_Vocabulary], role: int, condition: Integers, rng: np.random.Generator
) -> Iterator[pl.DataFrame]:
    """Columns image, dim, label and missing_reason of one generator and role."""
    nobody = rng.random(len(condition)) < _NO_PERSON
    for number, vocabulary in enumerate(vocabularies):
        dimension = vocabulary.dimension
        reason = np.where(rng.random(len(condition)) < _UNKNOWN, 1, 0)
        if dimension.name == "weather":
            reason[rng.random(len(condition)) < _INDOORS] = 2
        if dimension.name == "accessories":
            reason[rng.random(len(condition)) < _EMPTY] = 3
        if dimension.per_person:
            reason[nobody] = 4
        image, label = vocabulary.draw(role, condition, rng)
        kept = reason[image] == 0
        lost = np.flatnonzero(reason)
        yield pl.DataFrame(
            {
                "image": np.concatenate([image[kept], lost]),
                "dim": np.full(int(kept.sum()) + len(lost), number),
                "label": pl.concat([
                    pl.Series(vocabulary.labels).gather(label[kept]),
                    pl.Series([None], dtype=pl.String).new_from_index(0, len(lost)),
                ]),
                "missing_reason": pl.concat([
                    pl.Series([None], dtype=pl.String).new_from_index(0, int(kept.sum())),
                    pl.Series(["", "unknown", "not_applicable", "empty", "no_person"]).gather(
                        reason[lost]
                    ),
                ]),
            }
        )  # fmt: skip


def attributes(images_per_prompt: int, seed: int = 1) -> Iterator[pl.DataFrame]:
    """The attributes of one reader, a generator and role at a time, in the order of the file."""
    rng = np.random.default_rng(seed)
    names, cohorts = list(DIMENSIONS), [d.cohort for d in DIMENSIONS.values()]
    for generator in GENERATORS:
        vocabularies = [_Vocabulary(dimension, rng) for dimension in DIMENSIONS.values()]
        for number, role in enumerate(ROLES):
            asked = prompts_of(role)
            images = _images(asked, generator, role, images_per_prompt)
            condition = images["condition"].cast(pl.Enum(list(VARIANTS))).to_physical().to_numpy()
            parts = _facts(vocabularies, number, condition.astype(np.int64), rng)
            facts = pl.concat(parts).sort("image", "dim", "label", nulls_last=False)
            person = pl.Series([None if c != "people" else 0 for c in cohorts], dtype=pl.Int64)
            nobody = facts["missing_reason"].eq_missing(pl.lit("no_person"))  # type: ignore[arg-type]
            yield (
                images[facts["image"]]
                .with_columns(
                    reader=pl.lit("reader"),
                    person=pl.when(~nobody).then(person.gather(facts["dim"])),
                    cohort=pl.Series(cohorts).gather(facts["dim"]),
                    dimension=pl.Series(names).gather(facts["dim"]),
                    label=facts["label"],
                    missing_reason=facts["missing_reason"],
                )
                .select(pl.col(name).cast(kind) for name, kind in ATTRIBUTE_SCHEMA.items())
            )


def _images(asked: pl.DataFrame, generator: str, role: str, images_per_prompt: int) -> pl.DataFrame:
    """Columns of the images of one generator and role."""
    place = np.repeat(np.arange(asked.height), images_per_prompt)
    seed = pl.Series(np.tile(np.arange(images_per_prompt), asked.height))
    name = pl.format("{}-{}-{}", pl.lit(generator), pl.col("prompt_id"), "seed")
    return asked[place].with_columns(
        generator=pl.lit(generator), role=pl.lit(role), seed=seed
    ).with_columns(
        image_id=name.hash(1).cast(pl.String) + name.hash(2).cast(pl.String),
        image_path=pl.format("images/{}.png", name),
    )  # fmt: skip


def write_attributes(path: Path, images_per_prompt: int, seed: int = 1) -> None:
    """Write derived/attributes.parquet of such a study, a part at a time."""

    def parts(
        columns: list[str] | None, _: object, __: object, ___: object
    ) -> Iterator[pl.DataFrame]:
        for part in attributes(images_per_prompt, seed):
            yield part if columns is None else part.select(columns)

    source = register_io_source(parts, schema=ATTRIBUTE_SCHEMA, is_pure=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    source.sink_parquet(path, compression="zstd")
