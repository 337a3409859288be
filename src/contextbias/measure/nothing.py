"""One spelling of nothing: of a list, the label ``none`` and no label at all say the same."""

from __future__ import annotations

import polars as pl

from contextbias.schema import DIMENSIONS, EMPTY
from contextbias.tables import EMPTY_LIST

_LISTS = tuple(name for name, dimension in DIMENSIONS.items() if dimension.kind == "many")


def is_nothing(dimension: str, label: str | None) -> bool:
    """Whether a label says that a list has no entry."""
    return label == EMPTY and dimension in _LISTS


def with_empty_lists(facts: pl.LazyFrame) -> pl.LazyFrame:
    """Facts in which nothing is always `EMPTY_LIST`, so that answers can be compared.

    A closed vocabulary may have the label ``none`` (accessories): one reader, or a person, chooses
    it where another reader gives an empty list.

    Args:
        facts: Columns dimension, label and missing_reason, among others; words as strings.
    """
    nothing = (pl.col("label") == EMPTY) & pl.col("dimension").is_in(_LISTS)
    nothing = nothing.fill_null(value=False)
    return facts.with_columns(
        label=pl.when(~nothing).then("label"),
        missing_reason=pl.when(nothing).then(pl.lit(EMPTY_LIST)).otherwise("missing_reason"),
    )
