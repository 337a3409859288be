"""How often intervals hold the true prevalence, with and without correction for reading errors.

Many small studies of the simulated generator and the simulated reader, without pictures. A pool of
records is drawn and read once; a study takes prompts with some pictures each from it, people judge
a sample that `annotate` draws, and everything goes through the same functions as a real study's.
The true prevalence is that of the whole pool, among pictures in which the question can be answered.

    python perf/correction.py [STUDIES]

prints, for each reader and method, how many of the nominal 95% intervals hold the truth, for
prevalences (truth from 5% to 95%) of a condition and for their contrasts CA-U - CF, the mean error
of the points, and the mean width.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from contextbias.annotate.gold import answers_in
from contextbias.annotate.questions import question
from contextbias.annotate.sampling import cells_of, draw
from contextbias.annotation_tables import IMAGE, LabelRow
from contextbias.bench import load_bank
from contextbias.bench.prompts import build_prompts
from contextbias.canonicalise import to_attributes
from contextbias.canonicalise.mapping import LabelMapping
from contextbias.config import AnnotateSection
from contextbias.extract.simulated import SimulatedReader, _Luck
from contextbias.generate.planted import PlantedModel, draw_record
from contextbias.measure import measure
from contextbias.measure.people import people_frame
from contextbias.schema import CODEBOOK_VERSION, DIMENSIONS
from contextbias.tables import EMPTY_LIST, ImageRow, ReaderRow, ReadingRow

ASKED = ("gender_presentation", "age_range", "hair_color", "mood", "expression", "pose", "items")
"""Dimensions that are looked at; one of them is a list."""

_ROLES = ("nurse", "welder", "ceo", "farmer")
_REASONS = {"unknown", "not_applicable", "no_person", EMPTY_LIST}
_CONDITIONS = ("CF", "CA-U")


@dataclass(frozen=True, slots=True)
class Pool:
    """Pictures that studies are drawn from."""

    images: list[ImageRow]
    """All pictures."""
    facts: pl.DataFrame
    """What the reader says of them, as attributes."""
    truth: dict[str, dict[str, tuple[str, ...]]]
    """Image id -> dimension -> labels, or a reason."""
    shares: dict[tuple[str, str, str], float]
    """(condition, dimension, label) -> true prevalence in the pool."""


def make_pool(seeds: int, reader: dict[str, Any]) -> Pool:
    """Draw and read `seeds` pictures of each prompt.

    Args:
        seeds: Pictures of each prompt.
        reader: Options of the simulated reader.
    """
    model = PlantedModel(name="context-sensitive", sensitivity=0.9)
    reads = SimulatedReader(reader)
    bank = load_bank("contextbench")
    images, readings, truth = [], [], {}
    for prompt in build_prompts(bank, _ROLES):
        if prompt.condition not in _CONDITIONS:
            continue
        for seed in range(seeds):
            name = f"{prompt.prompt_id}-{seed}"
            record = draw_record(
                model, role=prompt.role, condition=prompt.condition, location=prompt.location,
                prompt_id=prompt.prompt_id, seed=seed,
            ).record  # fmt: skip
            truth[name] = answers_in(record)
            images.append(_image(name, prompt.prompt_id, prompt, seed))
            said = reads._answers(record, _Luck(reads._options.seed, name))
            readings.append(_reading(name, said))
    row = ReaderRow(
        reader="reader", fingerprint="f", backend="simulated", settings={},
        readable=dict.fromkeys(DIMENSIONS),
    )  # fmt: skip
    facts = to_attributes(images, readings, [row], LabelMapping({}))
    facts = facts.filter(pl.col("dimension").is_in(ASKED), pl.col("person").fill_null(0) == 0)
    return Pool(images, facts, truth, _shares(images, truth))


def _shares(
    images: Sequence[ImageRow], truth: dict[str, dict[str, tuple[str, ...]]]
) -> dict[tuple[str, str, str], float]:
    found: dict[tuple[str, str, str], float] = {}
    for condition in _CONDITIONS:
        mine = [truth[image.image_id] for image in images if image.condition == condition]
        for dimension in ASKED:
            known = [
                a[dimension] for a in mine if not set(a[dimension]) & (_REASONS - {EMPTY_LIST})
            ]
            votes = Counter(label for labels in known for label in set(labels) - _REASONS)
            found |= {(condition, dimension, x): n / len(known) for x, n in votes.items()}
    return found


def one_study(
    pool: Pool, rng: np.random.Generator, *, images: int, judged: int, error: float = 0.0
) -> pl.DataFrame:
    """Estimates of one study: `images` pictures of each prompt, of which people judge some.

    Args:
        pool: Where pictures come from; they are drawn with replacement.
        rng: Source of randomness.
        images: Pictures of each prompt.
        judged: Pictures that people judge, over all conditions.
        error: Probability that each of three people errs.
    """
    by_prompt: dict[str, list[ImageRow]] = {}
    for image in pool.images:
        by_prompt.setdefault(image.prompt_id, []).append(image)
    drawn: dict[str, str] = {}
    rows = []
    for prompt, mine in by_prompt.items():
        for k, at in enumerate(rng.integers(0, len(mine), images)):
            name = f"{prompt}/{k}"
            drawn[name] = mine[at].image_id
            rows.append(replace(mine[at], image_id=name))
    names = pl.DataFrame({"own": list(drawn), "image_id": list(drawn.values())})
    facts = names.join(pool.facts, on="image_id").with_columns(image_id="own").drop("own")
    section = AnnotateSection(sets=0, images=judged)
    items = draw(cells_of(rows), section, int(rng.integers(2**31)), "plan")
    answers = [
        row
        for item in items
        for row in _answers(item, pool.truth[drawn[item.image_ids[0]]], rng, error)
    ]
    people = people_frame(answers, LabelMapping({}).canonical)
    facts = facts.select(pool.facts.columns).sort("image_id")
    return measure(facts, bootstrap=0, judged=people, sections=())


def _answers(
    item: Any, truth: dict[str, tuple[str, ...]], rng: np.random.Generator, error: float
) -> Iterator[LabelRow]:
    for person in range(3 if error else 1):
        for dimension in ASKED:
            labels = truth[dimension]
            asked = question(dimension, IMAGE)
            if rng.random() < error and not set(labels) & _REASONS:
                words = [c.value for c in asked.choices if not c.is_reason] or asked.suggestions
                labels = (str(rng.choice(sorted(set(words) - set(labels)))),)
            reason = labels[0] if labels[0] in _REASONS else None
            yield LabelRow(
                annotator=f"a{person}", annotator_kind="simulated", item=item.item, kind=IMAGE,
                purpose=item.purpose, repeat=0, generator=item.generator, role=item.role,
                condition=item.condition, image_ids=item.image_ids, dimension=dimension,
                labels=() if reason else labels, missing_reason=reason, count=None, version=1,
                seconds=5.0, created_at="", probability=item.probability,
                weight=1 / item.probability,
            )  # fmt: skip


def outcomes(estimates: pl.DataFrame, pool: Pool) -> pl.DataFrame:
    """One row a number of all roles together: method, whether it is a contrast, held, error, width.

    Labels with a true prevalence below 5% or above 95% in a condition are left out.
    """
    rows = estimates.filter(
        pl.col("estimand") == "prevalence", pl.col("role").is_null(),
        pl.col("point").is_not_null(),
    )  # fmt: skip
    found = []
    for row in rows.iter_rows(named=True):
        key = (row["dimension"], row["label"])
        both = [pool.shares.get((condition, *key), 0.0) for condition in _CONDITIONS]
        if row["contrast"] == "CA-U - CF":
            known, truth = both, both[1] - both[0]
        elif row["condition"] in _CONDITIONS:
            truth = both[_CONDITIONS.index(row["condition"])]
            known = [truth]
        else:
            continue
        if all(0.05 <= p <= 0.95 for p in known):
            found.append(
                {
                    "method": row["method"], "contrast": row["contrast"] is not None,
                    "held": row["low"] <= truth <= row["high"], "error": row["point"] - truth,
                    "width": row["high"] - row["low"],
                    "key": f"{row['condition']} {row['dimension']} {row['label']}",
                }
            )  # fmt: skip
    return pl.DataFrame(found)


def coverage(
    pool: Pool, studies: int, *, images: int, judged: int, error: float = 0.0, seed: int = 1
) -> pl.DataFrame:
    """Coverage, size of the systematic error and width, by method, over many studies."""
    rng = np.random.default_rng(seed)
    parts = [
        outcomes(one_study(pool, rng, images=images, judged=judged, error=error), pool)
        for _ in range(studies)
    ]
    by_number = (
        pl.concat(parts)
        .group_by("method", "contrast", "key")
        .agg(
            pl.col("held").mean(), pl.col("error").mean().abs().alias("bias"),
            pl.col("width").mean(), pl.len(),
        )
    )  # fmt: skip
    return (
        by_number.group_by("method", "contrast")
        .agg(
            pl.col("held").mean(), pl.col("held").min().alias("worst"), pl.col("bias").mean(),
            pl.col("width").mean(), pl.len().alias("numbers"),
        )
        .sort("contrast", "method")
    )  # fmt: skip


def _image(name: str, prompt_id: str, prompt: Any, seed: int) -> ImageRow:
    return ImageRow(
        image_id=name, attempt=1, prompt_id=prompt_id, generator="g", generator_fingerprint="f",
        role=prompt.role, condition=prompt.condition, variant=f"{prompt.base}/{prompt.variant}",
        seed=seed, replicate=seed, status="ok", reason=None, path=f"{name}.png", sha256=None,
        width=8, height=8, seconds=0.0, created_at="", provenance={},
    )  # fmt: skip


def _reading(name: str, record: dict[str, Any]) -> ReadingRow:
    return ReadingRow(
        reading_id=name, attempt=1, image_id=name, reader="reader", reader_fingerprint="f",
        schema_version=CODEBOOK_VERSION, status="ok", reason=None, record=record, raw={},
        seconds=0.0, created_at="",
    )  # fmt: skip


def main() -> None:
    """Print the tables."""
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    pl.Config.set_tbl_hide_column_data_types(True).set_tbl_hide_dataframe_shape(True)
    pl.Config.set_float_precision(3)
    for title, reader, error in (
        ("reader as in the demo, people without error", {}, 0.0),
        ("one answer in five wrong, people without error", {"error_rate": 0.2}, 0.0),
        ("one answer in five wrong, three people who err in 8%", {"error_rate": 0.2}, 0.08),
    ):
        pool = make_pool(60, reader)
        for judged in (120, 300):
            print(f"\n{title}; 10 pictures a prompt, {judged} judged; {studies} studies")
            print(coverage(pool, studies, images=10, judged=judged, error=error))


if __name__ == "__main__":
    main()
