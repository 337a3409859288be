"""The role-label table of one reader, as columns for the page's script.

A study of the paper's size has some hundred thousand associations and a dozen numbers of each, so
rows are placed by one join, and no number is looked up by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from contextbias.report.explorer import Vocabulary
from contextbias.report.inputs import ALL, MEAN
from contextbias.report.select import CELL_KEYS, conditions_in

MOST_ROWS = 40_000
"""Associations that one page holds. Above it, those seen least often are left out, unsupported ones
first (the CSV file has all)."""


@dataclass(frozen=True, slots=True)
class _Column:
    """One column of the table: where its numbers stand in the estimates."""

    name: str
    estimand: str
    field: str = "point"
    digits: int = 2
    method: str | None = None


_NUMBERS = (
    _Column("range", "range_pp"),
    _Column("rangeLow", "range_pp", "low"),
    _Column("rangeHigh", "range_pp", "high"),
    _Column("chance", "range_pp_expected"),
    _Column("rangeLeast", "range_pp_bounds", "low"),
    _Column("rangeMost", "range_pp_bounds", "high"),
    _Column("ccs", "ccs"),
    _Column("ccsLow", "ccs", "low"),
    _Column("ccsHigh", "ccs", "high"),
    _Column("chi2", "chi2"),
    _Column("p", "chi2_p", digits=5),
    _Column("exact", "chi2_p_exact", digits=5),
    _Column("q", "chi2_q", digits=5),
    _Column("clustered", "chi2_clustered_p", digits=5),
    _Column("clusteredQ", "chi2_clustered_q", digits=5),
    _Column("permuted", "permutation_p", digits=5, method="contexts"),
    _Column("equivalence", "equivalence_p", digits=5),
    _Column("clusteredEquivalence", "equivalence_p_clustered", digits=5),
)
_BY_CONDITION = (
    _Column("p", "prevalence", digits=4),
    _Column("low", "prevalence", "low", 3),
    _Column("high", "prevalence", "high", 3),
    _Column("least", "prevalence_bounds", "low", 3),
    _Column("most", "prevalence_bounds", "high", 3),
    _Column("reworded", "robust_p", digits=5, method="variants"),
)
_NEEDED = sorted({column.estimand for column in (*_NUMBERS, *_BY_CONDITION)})
_WORDS = ("verdict", "invariant_paper")
_FIELDS = ("estimand", "condition", "method", "point", "low", "high", "verdict", "n", "n_missing")


def associations(frame: pl.DataFrame, vocabulary: Vocabulary) -> dict[str, Any]:
    """The role-label table of one reader as columns; one without any number is null.

    Args:
        frame: Estimates of one reader.
        vocabulary: Grows by the names that the table uses.
    """
    own = pl.col("role").is_not_null() & pl.col("label").is_not_null()
    cells = frame.filter(own & (pl.col("generator") != MEAN))
    keys = _keys(cells)
    shown = _most_seen(keys).drop("seen")
    names = pl.col("estimand").is_in([*_NEEDED, *_WORDS])
    rows = cells.filter(names).join(
        shown.with_row_index("place").drop("supported"), on=list(CELL_KEYS)
    )
    rows = rows.select("place", *_FIELDS)
    places = (vocabulary.generators, vocabulary.roles, vocabulary.dimensions, vocabulary.labels)
    conditions = conditions_in(frame)
    table: dict[str, Any] = {
        short: [names.place(name) for name in shown[key]]
        for short, key, names in zip("grdl", CELL_KEYS, places, strict=True)
    }
    size = shown.height
    table |= {
        "supported": shown["supported"].to_list(),
        "verdict": _listed(_named(rows, "verdict"), "verdict", size),
        "paper": _listed(_named(rows, "invariant_paper"), "verdict", size),
        "conditions": [vocabulary.conditions.place(name) for name in conditions],
        "all": keys.height,
    }
    table |= {column.name: _numbers(rows, column, size) for column in _NUMBERS}
    table["prevalence"] = [
        _condition(rows.filter(pl.col("condition") == name), size) for name in (*conditions, ALL)
    ]
    return table


def _keys(cells: pl.DataFrame) -> pl.DataFrame:
    """Every association once, in order, with whether it is supported and how often it is seen."""
    prevalence = cells.filter(pl.col("estimand") == "prevalence")
    seen = pl.when(pl.col("condition") != ALL).then(pl.col("point") * pl.col("n"))
    keys = prevalence.group_by(CELL_KEYS).agg(seen=seen.sum())
    unsupported = (
        cells.filter(pl.col("note").fill_null("").str.contains("unsupported"))
        .select(CELL_KEYS)
        .unique()
        .with_columns(supported=pl.lit(0))
    )
    return (
        keys.join(unsupported, on=list(CELL_KEYS), how="left")
        .with_columns(pl.col("supported").fill_null(1))
        .sort(CELL_KEYS)
    )


def _most_seen(keys: pl.DataFrame) -> pl.DataFrame:
    """As many associations as fit the page, in their order."""
    if keys.height <= MOST_ROWS:
        return keys
    order = ["supported", "seen", *CELL_KEYS]
    descending = [True, True, *(False for _ in CELL_KEYS)]
    return keys.sort(order, descending=descending).head(MOST_ROWS).sort(CELL_KEYS)


def _named(rows: pl.DataFrame, estimand: str, method: str | None = None) -> pl.DataFrame:
    found = rows.filter(pl.col("estimand") == estimand)
    return found if method is None else found.filter(pl.col("method") == method)


def _numbers(rows: pl.DataFrame, column: _Column, size: int) -> list[float | None] | None:
    """One column of numbers, shortened for the page; None where it has none."""
    found = _named(rows, column.estimand, column.method)
    if found[column.field].is_null().all():
        return None
    value = pl.col(column.field)
    written = pl.when(value.is_finite()).then(value.round(column.digits))
    return _listed(found.with_columns(written.alias(column.field)), column.field, size)


def _condition(rows: pl.DataFrame, size: int) -> dict[str, Any]:
    """Numbers of one condition, or of all together, as columns over the associations."""
    prevalence = _named(rows, "prevalence")
    return {column.name: _numbers(rows, column, size) for column in _BY_CONDITION} | {
        "n": _listed(prevalence, "n", size),
        "missing": _listed(prevalence, "n_missing", size),
    }


def _listed(rows: pl.DataFrame, field: str, size: int) -> list[Any]:
    """A field by place, null where there is no row."""
    every = pl.DataFrame({"place": pl.arange(size, dtype=pl.UInt32, eager=True)})
    found = rows.select("place", field).unique("place", keep="first", maintain_order=True)
    return every.join(found, on="place", how="left", maintain_order="left")[field].to_list()
