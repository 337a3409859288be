"""The shape of estimates: columns, types, and the keys that all rows of one run share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from contextbias.tables import EstimateRow

ESTIMATE_SCHEMA: dict[str, type[pl.DataType]] = {
    field.name: {
        "str": pl.String, "str | None": pl.String, "int | None": pl.Int64,
        "float | None": pl.Float64, "bool": pl.Boolean,
    }[str(field.type)]
    for field in fields(EstimateRow)
}  # fmt: skip
"""Columns and types of ``derived/estimates.parquet``, in order; see tables.EstimateRow."""

_ORDER = [
    "estimand", "reader", "generator", "role", "condition", "contrast", "cohort", "dimension",
    "label", "support", "method", "point",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """What all rows of one reader and one call of measure have in common."""

    reader: str
    """Whose readings; ``planted`` for the probabilities of simulated generators."""
    preset: str
    """Which definitions."""
    people: str
    """``primary`` or ``any``."""
    codebook: str
    """Codebook version."""

    def row(self, estimand: str, **values: Any) -> dict[str, Any]:
        """One estimate as a dict of every column; a nan is stored as null.

        Args:
            estimand: What is estimated.
            values: Columns of tables.EstimateRow; those left out are null.
        """
        row = dict.fromkeys(ESTIMATE_SCHEMA) | {
            "estimand": estimand,
            "reader": self.reader,
            "preset": self.preset,
            "people": self.people,
            "codebook": self.codebook,
            "corrected": False,
        }
        for name, value in values.items():
            row[name] = _plain(value)
        return row


def estimate_frame(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """Rows to a frame with exactly the columns and types of `ESTIMATE_SCHEMA`."""
    return pl.DataFrame(list(rows), schema=ESTIMATE_SCHEMA)


def sorted_estimates(frame: pl.DataFrame) -> pl.DataFrame:
    """Put estimates in the order of the file: by their keys, nulls first."""
    return frame.select(pl.col(name).cast(dtype) for name, dtype in ESTIMATE_SCHEMA.items()).sort(
        _ORDER, nulls_last=False
    )


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
