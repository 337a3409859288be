"""What a figure of the page is made of: panels in groups, words, and the numbers as a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

from contextbias.report import formats
from contextbias.report.figures import Mark, Spec
from contextbias.report.inputs import ALL, MEAN
from contextbias.report.select import Number
from contextbias.report.svg import to_svg

_DESCRIPTION = "Chart; the numbers are in the table below the figure or in the report's CSV files."

Row = tuple[str, ...]
"""One row of the table behind a figure."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One drawing of a figure."""

    caption: str
    """What this panel shows; empty when the group says it."""
    svg: str
    """The drawing, one ``<svg>`` element."""


@dataclass(frozen=True, slots=True)
class Group:
    """Panels that stand together."""

    title: str
    """Heading, and text of the choice; may be empty."""
    hint: str
    """Small print beside the heading."""
    panels: tuple[Panel, ...]
    """From left to right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure with its words and the numbers behind it."""

    ident: str
    """Unique on the page."""
    title: str
    """Heading."""
    caption: str
    """How to read it."""
    groups: tuple[Group, ...]
    """From top to bottom; never empty."""
    header: Row = ()
    """Column names of the table."""
    rows: tuple[Row, ...] = ()
    """The numbers; empty when they are in a CSV file only."""
    choice: str = ""
    """What is chosen between, when only one group shows at a time; empty: all show."""
    wide: bool = False
    """True when two panels share a line instead of three."""


def panel_of(ident: str, caption: str, what: str, chart: Spec) -> Panel:
    """Draw one panel; `what` completes its name for screen readers."""
    title = f"{caption}: {what}" if caption else what
    return Panel(caption, to_svg(chart, ident=ident, title=title, description=_DESCRIPTION))


def mark_of(
    group: str, series: str, cohort: str, number: Number | None, *, is_thin: bool = False
) -> Mark | None:
    """The mark of one number; None when it is missing or undefined."""
    if number is None or number.point is None or not isfinite(number.point):
        return None
    return Mark(group, series, cohort, number.point, number.low, number.high, is_thin)


def known(marks: Iterable[Mark | None]) -> list[Mark]:
    """The marks that exist."""
    return [mark for mark in marks if mark is not None]


def who(generator: str) -> str:
    """A generator's name for reading."""
    return "Mean over generators" if generator == MEAN else generator


def cohort_name(cohort: str) -> str:
    """A cohort's name for reading."""
    return "Overall" if cohort == ALL else formats.capital(cohort)
