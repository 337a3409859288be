"""The shape of estimates: columns, types, and the keys that all rows of one run share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

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
    "label", "support", "method",
]  # fmt: skip
_LARGEST_KEY = 2**62
PolarsType = pl.DataType | type[pl.DataType]
"""How polars has a column."""


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
    intervals: tuple[str, ...] = ("expanded",)
    """Kinds of intervals of Bias Intensity; see bias.py."""
    attributes: pl.LazyFrame | None = None
    """The facts themselves, for what sets answers about one person side by side; None for none."""


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


def block(frame: pl.DataFrame) -> pl.DataFrame:
    """Some estimates in the order of their keys, nulls first, with words as numbers of a list.

    A study has millions of rows and few words. As numbers the words of a row take a tenth of the
    memory, and rows are put in order by one number each.

    Args:
        frame: Columns of tables.EstimateRow; a column of words is text, or an enumeration whose
            list is sorted.

    Returns:
        The same rows; `estimates_of` brings blocks together.
    """
    compact = frame.select(_numbered(frame[name]) for name in ESTIMATE_SCHEMA)
    keys = np.zeros(frame.height, dtype=np.int64)
    largest = 1
    for name in _ORDER:
        if _only_word(compact[name]) is not None:
            continue
        codes, size = _codes(compact[name])
        largest *= size
        if largest >= _LARGEST_KEY:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            largest = (frame.height + 1) * size
        keys = keys * size + codes
    if np.all(keys[1:] >= keys[:-1]):
        return compact
    return compact[np.argsort(keys, kind="stable")]


def estimates_of(blocks: Iterable[pl.DataFrame]) -> pl.LazyFrame:
    """Blocks one after the other, with the columns of `ESTIMATE_SCHEMA` in order.

    Args:
        blocks: Columns of tables.EstimateRow, text or enumerations; all are listed after `block`.

    Returns:
        Listed words are enumerations of all words of their column, sorted, which take half the time
        of text to write. The file has text (parquet.encoded); elsewhere cast to `ESTIMATE_SCHEMA`.
    """
    known = list(blocks)
    kinds = {name: _listed(name, kind, known) for name, kind in ESTIMATE_SCHEMA.items()}
    parts = [
        part.lazy().select(_finished(part[name], kind) for name, kind in kinds.items())
        for part in (pl.DataFrame(schema=kinds), *known)
    ]
    return pl.concat(parts)


def _listed(name: str, kind: type[pl.DataType], blocks: Iterable[pl.DataFrame]) -> PolarsType:
    """An enumeration of all words of a column; its own type where a block has it as text."""
    types = [part[name].dtype for part in blocks]
    words = {word for of in types if isinstance(of, pl.Enum) for word in of.categories}
    return pl.Enum(sorted(words)) if words and pl.String not in types else kind


def _finished(column: pl.Series, kind: PolarsType) -> pl.Expr:
    """A column in its last type; one word in all rows is written without looking it up."""
    word = _only_word(column)
    return pl.col(column.name).cast(kind) if word is None else pl.lit(word, kind).alias(column.name)


def _only_word(column: pl.Series) -> str | None:
    """The word that every row has, where the list has no other."""
    words = list(column.dtype.categories) if isinstance(column.dtype, pl.Enum) else []
    if len(words) != 1 or column.has_nulls() or not len(column):
        return None
    return str(words[0])


def _numbered(column: pl.Series) -> pl.Series:
    if column.dtype != pl.String:
        return column
    words = column.unique().drop_nulls().sort()
    if words.is_empty():
        return pl.Series(column.name, [None], dtype=pl.Null).new_from_index(0, len(column))
    return column.cast(pl.Enum(words))


def _codes(column: pl.Series) -> tuple[NDArray[np.int64], int]:
    """Place of each word in its list, from 1, 0 for null; and how many places there are."""
    if not isinstance(column.dtype, pl.Enum):
        return np.zeros(len(column), dtype=np.int64), 1
    places = column.to_physical().cast(pl.Int64) + 1
    return places.fill_null(0).to_numpy(), len(column.dtype.categories) + 1


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
