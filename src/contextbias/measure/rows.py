"""The shape of estimates: columns, types, and the keys that all rows of one run share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
class Settings:
    """What a section of the stage needs beside the counts; see stage.measure."""

    bootstrap: int = 1000
    """Replicates of a bootstrap; 0 for no intervals."""
    seed: int = 1
    """Seed of every random draw; a section makes its own generator from it."""
    alpha: float = 0.05
    """Level of tests; intervals have 1 - alpha."""
    margin_pp: float = 5.0
    """Largest range, in percentage points, that counts as no change."""
    prompts: pl.DataFrame | None = None
    """Columns prompt_id, base, location, activity, prompted (a list of dimensions); None when
    nothing is known of the prompts."""
    shares: pl.DataFrame | None = None
    """Columns of shares.SHARES_SCHEMA: what roles have elsewhere; None for nothing."""
    readable: Mapping[str, tuple[str, ...] | None] | None = None
    """What the reader can tell apart; None when it can tell everything."""


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

    def frame(self, rows: pl.DataFrame, **values: Any) -> pl.DataFrame:
        """Many estimates at once: the columns of `rows`, those of this run, and constants.

        Args:
            rows: Some columns of tables.EstimateRow, ``estimand`` among them; nan becomes null.
            values: Columns with one value for all rows.

        Returns:
            Every column of tables.EstimateRow; those not given are null.
        """
        constant = self.row("", **values)
        return rows.select(
            (pl.col(name) if name in rows.columns else pl.lit(constant[name]))
            .cast(kind)
            .alias(name)
            for name, kind in ESTIMATE_SCHEMA.items()
        ).with_columns(pl.col(pl.Float64).fill_nan(None))


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
