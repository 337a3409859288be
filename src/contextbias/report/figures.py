"""The charts: rows of numbers in, Altair charts out. Colour always means the cohort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import altair as alt

from contextbias.report.inputs import ALL
from contextbias.schema import COHORTS

_FONT = "system-ui, sans-serif"
_GROUP = "|"
_CHARACTER = 7.6
"""Room for one character in pixels: page fonts differ, so wider than most of them need."""
_LABEL_LIMIT = 190

COLOURS = {name: f"var(--{name})" for name in (*COHORTS, ALL)}
"""Cohort -> CSS variable; defined in the style sheet for light, dark and print."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One number of a chart: a dot with its interval."""

    group: str
    """Heading that the row stands under."""
    series: str
    """Text of the row."""
    cohort: str
    """Decides the colour."""
    point: float
    """Where the dot is."""
    low: float | None
    """Left end of the interval; None: no interval."""
    high: float | None
    """Right end of the interval."""


def interval_chart(
    marks: Sequence[Mark],
    *,
    axis: str,
    domain: tuple[float, float],
    zero: bool = False,
    width: int = 230,
) -> alt.LayerChart:
    """Dots with intervals, one row a mark, under a bold heading a group.

    Args:
        marks: In the order of the rows, from the top; groups contiguous.
        axis: Title of the horizontal axis.
        domain: Ends of the horizontal axis, the same in all panels of a figure.
        zero: Draw a line at 0, for differences.
        width: Width of the plotting area in pixels.
    """
    rows: list[str] = []
    for mark in marks:
        if mark.group and f"{mark.group}{_GROUP}" not in rows:
            rows.append(f"{mark.group}{_GROUP}")
        rows.append(_key(mark))
    values = [{**asdict(mark), "row": _key(mark)} for mark in marks]
    base = _chart(values).encode(y=_row_axis(rows), color=_cohort_colour())
    layers = [_rule_at(0.0)] if zero else []
    layers.append(_whiskers(base, axis, domain))
    layers.append(
        base.mark_point(filled=True, size=52, opacity=1).encode(x=_value("point", axis, domain))
    )
    return _styled(alt.layer(*layers).properties(width=width, height=alt.Step(17)))


def bar_chart(
    marks: Sequence[Mark], *, axis: str, domain: tuple[float, float], width: int = 230
) -> alt.LayerChart:
    """Bars from 0 with intervals, one row a mark, in the order given."""
    rows = [_key(mark) for mark in marks]
    values = [{**asdict(mark), "row": _key(mark)} for mark in marks]
    base = _chart(values).encode(y=_row_axis(rows), color=_cohort_colour())
    bars = base.mark_bar(height=11, opacity=0.45).encode(x=_value("point", axis, domain))
    return _styled(
        alt.layer(bars, _whiskers(base, axis, domain)).properties(width=width, height=alt.Step(17))
    )


def scatter_chart(
    points: Sequence[dict[str, Any]], *, across: str, up: str, size: int = 250
) -> alt.LayerChart:
    """Shares against shares with the diagonal on which they are equal.

    Args:
        points: With keys ``x``, ``y`` (shares in [0, 1]) and ``cohort``.
        across: Title of the horizontal axis.
        up: Title of the vertical axis.
        size: Width and height of the plotting area in pixels.
    """
    diagonal = (
        _chart([{"x": 0, "y": 0}, {"x": 1, "y": 1}])
        .mark_line(color="var(--muted)", strokeWidth=1, strokeDash=[4, 3])
        .encode(x="x:Q", y="y:Q")
    )
    scale = alt.Scale(domain=[0, 1])
    dots = (
        _chart(points)
        .mark_point(filled=True, size=16, opacity=0.55)
        .encode(
            x=alt.X("x:Q", scale=scale, axis=_share_axis(across)),
            y=alt.Y("y:Q", scale=scale, axis=_share_axis(up)),
            color=_cohort_colour(),
        )
    )
    return _styled(alt.layer(diagonal, dots).properties(width=size, height=size))


def span(marks: Sequence[Mark], *, margin: float = 0.06) -> tuple[float, float]:
    """Ends of an axis that holds 0 and every mark with its interval, with a margin."""
    ends = [0.0]
    for mark in marks:
        ends += [value for value in (mark.point, mark.low, mark.high) if value is not None]
    low, high = min(ends), max(ends)
    pad = margin * ((high - low) or 1.0)
    return low - pad, high + pad


def _chart(values: Sequence[dict[str, Any]]) -> Any:
    """A chart of `values`, untyped because Altair's marks and transforms are."""
    return alt.Chart(alt.Data(values=list(values)))  # type: ignore[no-untyped-call]


def _share_axis(title: str) -> alt.Axis:
    return alt.Axis(title=title, format="%", tickCount=5, grid=True)


def _key(mark: Mark) -> str:
    return f"{mark.group}{_GROUP}{mark.series}"


def _row_axis(rows: Sequence[str]) -> alt.Y:
    """Rows labelled by what follows the bar; headings (nothing follows) in bold."""
    longest = max(len(part) for row in rows for part in row.split(_GROUP))
    heading = f"indexof(datum.value, '{_GROUP}') == length(datum.value) - 1"
    label = f"split(datum.value, '{_GROUP}')"
    return alt.Y(
        "row:N",
        sort=list(rows),
        scale=alt.Scale(domain=list(rows)),
        axis=alt.Axis(
            title=None,
            labelExpr=f"{heading} ? {label}[0] : {label}[1]",
            labelFontWeight=alt.condition(heading, alt.value("bold"), alt.value("normal")),
            labelLimit=_LABEL_LIMIT,
            labelPadding=7,
            minExtent=min(_LABEL_LIMIT, _CHARACTER * longest) + 7,
            ticks=False,
            domain=False,
            grid=False,
        ),
    )


def _value(field: str, title: str, domain: tuple[float, float]) -> alt.X:
    axis = alt.Axis(title=title, tickCount=5, grid=True)
    return alt.X(f"{field}:Q", scale=alt.Scale(domain=list(domain), nice=False), axis=axis)


def _whiskers(base: Any, title: str, domain: tuple[float, float]) -> Any:
    return (
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_rule(strokeWidth=2, strokeCap="round")
        .encode(x=_value("low", title, domain), x2="high:Q")
    )


def _rule_at(value: float) -> Any:
    return _chart([{"at": value}]).mark_rule(color="var(--ink)", strokeWidth=1).encode(x="at:Q")


def _cohort_colour() -> alt.Color:
    scale = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    return alt.Color("cohort:N", scale=scale, legend=None)


def _styled(chart: Any) -> alt.LayerChart:
    axis = alt.AxisConfig(
        labelColor="var(--ink)",
        titleColor="var(--muted)",
        gridColor="var(--grid)",
        tickColor="var(--grid)",
        domainColor="var(--grid)",
        labelFontSize=12,
        titleFontSize=12,
        titleFontWeight="normal",
        titlePadding=8,
    )
    styled: alt.LayerChart = chart.configure(
        background="transparent", font=_FONT, axis=axis, view=alt.ViewConfig(stroke=None), padding=2
    )
    return styled
