"""Robustness to reformulation: the paper's table 3, over supported pairs and over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from contextbias.report import formats
from contextbias.report.inputs import ALL
from contextbias.report.panels import cohort_name, who
from contextbias.report.select import Index, cohorts_in, generators_in, index
from contextbias.tables import CONDITIONS

METHODS = {
    "variants": "All variants of a base prompt",
    "phrasing": "Its phrasings only",
    "substitution": "Its substitutions of place or activity",
    "condition": "All prompts of the condition (as the paper)",
}
"""What is compared, by method."""

_KEYS = ("generator", "condition", "cohort", "dimension")


@dataclass(frozen=True, slots=True)
class RewordingRow:
    """One cohort, or condition, under one comparison."""

    scope: str
    """Cohort, or condition."""
    cells: tuple[str, ...]
    """Texts in the order of `HEADER`."""


HEADER = (
    ("Robust", "share_robust", "supported"),
    ("Pairs", "n", "supported"),
    ("Mean p", "robust_p_mean", "supported"),
    ("Robust", "share_robust", "all"),
    ("Pairs", "n", "all"),
    ("Leave-one-out", "share_robust_leave_one_out", "all"),
    ("Mean prevalence", "robust_prevalence_mean", "all"),
)
"""Title, estimand and support of each column."""


@dataclass(frozen=True, slots=True)
class RewordingPart:
    """One comparison."""

    title: str
    method: str
    groups: tuple[tuple[str, tuple[RewordingRow, ...]], ...]
    """Generator and its rows."""


def rewordings(frame: pl.DataFrame, order: Sequence[str]) -> list[RewordingPart]:
    """A part a comparison, the leading one first; empty where prompts have no variants.

    Rows are cohorts over all conditions, then conditions over all cohorts.

    Args:
        frame: Estimates of one reader.
        order: Generators in the order of the configuration.
    """
    parts = []
    for method, title in METHODS.items():
        numbers = {
            (estimand, support): _of(frame, estimand, support, method)
            for _, estimand, support in HEADER
            if estimand != "n"
        }
        groups = [
            (who(generator), rows)
            for generator in generators_in(frame, order)
            if (rows := _rows(numbers, generator))
        ]
        if groups:
            parts.append(RewordingPart(title, method, tuple(groups)))
    return parts


def _of(frame: pl.DataFrame, estimand: str, support: str, method: str) -> Index:
    rows = frame.filter(pl.col("support") == support)
    return index(rows, estimand, _KEYS, support=support, method=method)


def _rows(numbers: dict[tuple[str, str], Index], generator: str) -> tuple[RewordingRow, ...]:
    share = numbers["share_robust", "supported"] | numbers["share_robust", "all"]
    scopes = [(ALL, cohort) for cohort in cohorts_in(share, 2)]
    scopes += [(condition, ALL) for condition in CONDITIONS]
    found = []
    for condition, cohort in scopes:
        key = (generator, condition, cohort, None)
        if key in share:
            scope = cohort_name(cohort) if condition == ALL else condition
            cells = tuple(_cell(numbers, key, *column[1:]) for column in HEADER)
            found.append(RewordingRow(scope, cells))
    return tuple(found)


def _cell(
    numbers: dict[tuple[str, str], Index],
    key: tuple[str, str, str, None],
    estimand: str,
    support: str,
) -> str:
    name = "share_robust" if estimand == "n" else estimand
    number = numbers[name, support].get(key)
    if number is None:
        return formats.MISSING
    if estimand == "n":
        return formats.whole(number.n)
    return formats.plain(number.point) if name == "robust_p_mean" else formats.percent(number.point)
