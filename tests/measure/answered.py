"""Answers of people by hand, for the tests of what they agree on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from contextbias.annotation_tables import IMAGE, SET, LabelRow
from contextbias.measure.people import people_frame
from contextbias.tables import EMPTY_LIST

REASONS = ("unknown", "not_applicable", "no_person", EMPTY_LIST)


def answer(
    annotator: str, item: str, said: str | Sequence[str], count: int | None = None, **fields: Any
) -> LabelRow:
    """An answer about a single picture, or with a count about a set of ten."""
    is_set = count is not None or fields.get("kind") == SET
    missing = said in REASONS
    labels = () if missing else (said,) if isinstance(said, str) else tuple(said)
    values: dict[str, Any] = {
        "annotator": annotator,
        "annotator_kind": "person",
        "item": item,
        "kind": SET if is_set else IMAGE,
        "purpose": "sample",
        "repeat": 0,
        "generator": "g",
        "role": "nurse",
        "condition": "CF",
        "image_ids": tuple(f"{item}-{k}" for k in range(10)) if is_set else (item,),
        "dimension": "mood",
        "labels": labels,
        "missing_reason": said if missing else None,
        "count": count,
        "version": 1,
        "seconds": 5.0,
        "created_at": "2026-01-01T00:00:00.000+00:00",
        "probability": 0.5,
        "weight": 2.0,
    }
    return LabelRow(**(values | fields))


def people(
    rows: Sequence[LabelRow], leave_out: Sequence[str] = (), *, every_role: bool = True
) -> pl.DataFrame:
    """As the pipeline makes it; in open vocabularies capitals do not count."""

    def canonical(dimension: str, label: str) -> str:
        return label.lower() if dimension == "items" else label

    return people_frame(rows, canonical, leave_out, every_role=every_role)
