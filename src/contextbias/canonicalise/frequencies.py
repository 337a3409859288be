"""Answers that came counted: one row an answer and prompt, under our label rules and the released.

Counts by answer say less than images do. Which answers were given about the same image is lost, and
so is which image was not read; measure/frequencies.py says what that means for each number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from contextbias.canonicalise.mapping import LabelMapping
from contextbias.schema import DIMENSIONS, EMPTY, UNKNOWN, Dimension
from contextbias.schema.records import NOT_APPLICABLE
from contextbias.schema.released import READ_AS_EMPTY, released_label, released_spelling
from contextbias.tables import EMPTY_LIST, FrequencyRow

LABEL_COUNT_SCHEMA: dict[str, type[pl.DataType]] = {
    "reader": pl.String,
    "generator": pl.String,
    "role": pl.String,
    "condition": pl.String,
    "prompt_id": pl.String,
    "variant": pl.String,
    "images": pl.Int64,
    "cohort": pl.String,
    "dimension": pl.String,
    "surface": pl.String,
    "label": pl.String,
    "missing_reason": pl.String,
    "released_label": pl.String,
    "count": pl.Int64,
}
"""Columns and types of ``derived/label_counts.parquet``, in order; see tables.LabelCountRow."""

_PROMPT = ("reader", "generator", "role", "condition", "prompt_id", "variant")


def label_counts(rows: Iterable[FrequencyRow], mapping: LabelMapping) -> pl.DataFrame:
    """Turn counted answers into labels.

    Args:
        rows: The latest attempt at each prompt, in any order.
        mapping: Surface forms of open vocabularies to canonical labels.

    Returns:
        A frame with the columns of `LABEL_COUNT_SCHEMA`, sorted by prompt, dimension and answer;
        the same rows give the same frame. Answers to questions that are not of this codebook are
        left out. ``images`` is what the file says, or the largest sum of answers to a question
        about the whole image that has one answer, where it says nothing.
    """
    prompts: dict[str, list[object]] = {name: [] for name in (*_PROMPT, "images")}
    answers: dict[str, list[object]] = {"dimension": [], "surface": [], "count": []}
    lengths = []
    for row in rows:
        known = [count for count in row.counts if count[1] in DIMENSIONS]
        for name in _PROMPT:
            prompts[name].append(getattr(row, name))
        prompts["images"].append(_images(row, known))
        for column, position in zip(answers.values(), (1, 2, 3), strict=True):
            column.extend(count[position] for count in known)
        lengths.append(len(known))
    place = pl.Series(
        [i for i, length in enumerate(lengths) for _ in range(length)], dtype=pl.Int64
    )
    frame = pl.DataFrame(answers, schema={name: LABEL_COUNT_SCHEMA[name] for name in answers})
    head = pl.DataFrame(prompts, schema={name: LABEL_COUNT_SCHEMA[name] for name in prompts})
    whole = pl.concat([head[place], frame], how="horizontal")
    order = pl.col("dimension").cast(pl.Enum(list(DIMENSIONS)))
    labels = _labels(whole, mapping)
    return (
        whole.join(labels, on=["generator", "dimension", "surface"])
        .select(*LABEL_COUNT_SCHEMA)
        .sort(*_PROMPT, order, "surface", "count")
    )


def _labels(whole: pl.DataFrame, mapping: LabelMapping) -> pl.DataFrame:
    """What each answer of a generator is under both rules."""
    pairs = whole.select("generator", "dimension", "surface").unique()
    rows = [
        (
            generator, name, surface, DIMENSIONS[name].cohort,
            *_canonical(DIMENSIONS[name], surface, mapping), released_label(surface, generator),
        )
        for generator, name, surface in pairs.iter_rows()
    ]  # fmt: skip
    names = (*pairs.columns, "cohort", "label", "missing_reason", "released_label")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def _images(row: FrequencyRow, known: Sequence[tuple[str, str, str, int]]) -> int:
    if row.images is not None:
        return row.images
    sums: dict[str, int] = {}
    for _, name, _, count in known:
        if DIMENSIONS[name].kind == "one" and not DIMENSIONS[name].per_person:
            sums[name] = sums.get(name, 0) + count
    return max([*sums.values(), *(count for *_, count in known)], default=0)


def _canonical(
    dimension: Dimension, surface: str, mapping: LabelMapping
) -> tuple[str | None, str | None]:
    """The label under our rules, and the reason where there is none."""
    text = released_spelling(surface)
    if text == UNKNOWN or (surface.strip() in READ_AS_EMPTY and text != EMPTY):
        return None, UNKNOWN
    if text == NOT_APPLICABLE:
        return None, NOT_APPLICABLE
    if not dimension.is_open:
        return text, None
    if text == EMPTY:
        return None, EMPTY_LIST
    label = mapping.canonical(dimension.name, surface)
    if label == EMPTY:
        return None, EMPTY_LIST
    return (label, None) if label not in ("", UNKNOWN) else (None, UNKNOWN)
