"""The leading comparison, counted in other ways: the same contrast under every form and support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from contextbias.report import formats
from contextbias.report.inputs import ALL
from contextbias.report.panels import cohort_name, who
from contextbias.report.select import CONTRASTS, Index, Number, generators_in, index

_COHORTS = ("people", ALL)
_FORMS = (
    ("bi_role", "equal", "Within roles"),
    ("bi_role_miller_madow", "raw", "Within roles, entropy after Miller and Madow"),
    ("bi_role_grassberger", "raw", "Within roles, entropy after Grassberger"),
    ("bi_pooled", "equal", "Pooled over roles, equal support"),
    ("bi_pooled", "raw", "Pooled over roles, every image"),
)
_UNPROMPTED = "_unprompted"
_INTERVALS = {
    "bootstrap-bca": "interval bias-corrected and accelerated (BCa)",
    "bootstrap-two-level": "interval from roles, then prompts",
    "bootstrap-unpaired": "interval from roles drawn anew in each condition",
}
"""Words of the kinds of intervals that may stand beside the leading one, by method."""

_WITH_INTERVALS = ("bi_role", "bi_pooled")
"""Forms whose further intervals are shown; the CSV file has those of all."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of one generator."""

    number: str
    interval: str
    note: str
    """``degenerate``, roles left out …; empty without one."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to count, in every generator."""

    name: str
    """What is counted, in words."""
    hint: str
    """Estimand and support."""
    cells: tuple[Cell, ...]
    """One a generator."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The leading contrast in every way that the estimates have."""

    contrast: str
    generators: tuple[str, ...]
    parts: tuple[tuple[str, tuple[Way, ...]], ...]
    """Cohort and its ways."""


def counted(frame: pl.DataFrame, order: Sequence[str]) -> Counted | None:
    """Collect the table; None where only one way is there, or none.

    Args:
        frame: Estimates of one reader.
        order: Generators in the order of the configuration.
    """
    names = generators_in(frame, order)
    numbers = _numbers(frame)
    contrast = next((c for c in CONTRASTS if any(c in _contrasts(n) for n in numbers.values())), "")
    parts = []
    for cohort in _COHORTS:
        ways: list[Way] = []
        for form, table in numbers.items():
            way = _way(form, table, contrast, cohort, names)
            # Where no prompt names a dimension of the cohort, leaving images out changes nothing.
            if way is not None and not (ways and way.cells == ways[-1].cells):
                ways.append(way)
        if len(ways) > 1:
            parts.append((cohort_name(cohort), tuple(ways)))
    if not parts:
        return None
    return Counted(formats.minus(contrast), tuple(who(name) for name in names), tuple(parts))


def _numbers(frame: pl.DataFrame) -> dict[tuple[str, str, str], Index]:
    """Estimand, support and words of each way, with its numbers."""
    found = {}
    for estimand, support, words in _FORMS:
        for suffix, more in (("", ""), (_UNPROMPTED, "; unprompted images only")):
            of_support = frame.filter(pl.col("support") == support)
            numbers = index(of_support, estimand + suffix, support=support)
            if numbers:
                found[estimand + suffix, support, words + more] = numbers
        if estimand in _WITH_INTERVALS:
            found |= _further(frame, estimand, support, words)
    bounds = index(frame, "bi_pooled_bounds")
    if bounds:
        words = "Pooled over roles, every image: least and most, had nothing been missing"
        found["bi_pooled_bounds", "raw", words] = bounds
    return found


def _further(
    frame: pl.DataFrame, estimand: str, support: str, words: str
) -> dict[tuple[str, str, str], Index]:
    """The same numbers with the other kinds of intervals that were asked for."""
    rows = frame.filter(pl.col("support") == support)
    numbers = {
        how: index(rows, estimand, support=support, method=method)
        for method, how in _INTERVALS.items()
    }
    leading = index(rows, estimand, support=support)
    return {
        (estimand, support, f"{words}; {how}"): found
        for how, found in numbers.items()
        if found and found != leading
    }


def _contrasts(numbers: Index) -> set[str]:
    return {key[2] for key in numbers if key[2] is not None}


def _way(
    form: tuple[str, str, str], numbers: Index, contrast: str, cohort: str, names: Sequence[str]
) -> Way | None:
    estimand, support, words = form
    found = [numbers.get((name, None, contrast, cohort, None)) for name in names]
    if not any(number is not None and _is_there(number) for number in found):
        return None
    return Way(words, f"{estimand}, {support} support", tuple(_cell(number) for number in found))


def _is_there(number: Number) -> bool:
    return formats.is_number(number.point) or formats.is_number(number.low)


def _cell(number: Number | None) -> Cell:
    if number is None:
        return Cell(formats.MISSING, "", "")
    bounds = number.point is None
    interval = formats.interval(number.low, number.high, sign=True)
    point = "" if bounds and interval else formats.signed(number.point)
    return Cell(point, interval, number.note or "")
