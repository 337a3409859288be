"""Attributes by hand, for the tests of measure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from contextbias.canonicalise import ATTRIBUTE_SCHEMA
from contextbias.schema import DIMENSIONS
from contextbias.tables import EMPTY_LIST, MISSING_REASONS

Said = str | None | Sequence[str]
"""A label, several, or a reason why there is none."""


def fact(image: str, dimension: str, said: str, **fields: Any) -> dict[str, Any]:
    """One row; `said` is a label, or a reason for its absence."""
    missing = said in MISSING_REASONS or said == EMPTY_LIST
    row: dict[str, Any] = {
        "image_id": image,
        "image_path": f"images/{image}.png",
        "generator": "g",
        "role": "nurse",
        "condition": "CF",
        "prompt_id": "p",
        "variant": "v",
        "seed": 1,
        "reader": "r",
        "person": 0 if DIMENSIONS[dimension].per_person else None,
        "cohort": DIMENSIONS[dimension].cohort,
        "dimension": dimension,
        "label": None if missing else said,
        "missing_reason": said if missing else None,
    }
    return row | fields


def frame(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=ATTRIBUTE_SCHEMA)


def cell(dimension: str, labels: dict[str, int], **fields: Any) -> list[dict[str, Any]]:
    """Images of one generator, role and condition: label or reason -> how many."""
    where = [str(fields.get(name, "")) for name in ("generator", "role", "condition")]
    return [
        fact("-".join([*where, label, str(number)]), dimension, label, **fields)
        for label, count in labels.items()
        for number in range(count)
    ]
