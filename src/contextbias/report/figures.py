"""The charts: rows of numbers in, Vega-Lite specifications out. Colour always means the cohort.

The specifications are plain dictionaries, drawn by vl-convert (see svg.py): a page has dozens of
small charts, and building them through a validating library takes longer than drawing them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from contextbias.report.inputs import ALL
from contextbias.schema import COHORTS

Spec: TypeAlias = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""

COLOURS = {name: f"var(--{name})" for name in (*COHORTS, ALL)}
"""Cohort -> CSS variable; defined in the style sheet for light, dark and print."""

_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_GROUP = "|"
_CHARACTER = 7.6
"""Room for one character in pixels: page fonts differ, so wider than most of them need."""
_LABEL_LIMIT = 190
_ROW = 17
_AXES = {
    "labelColor": "var(--ink)",
    "titleColor": "var(--muted)",
    "gridColor": "var(--grid)",
    "tickColor": "var(--grid)",
    "domainColor": "var(--grid)",
    "labelFontSize": 12,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
    "titlePadding": 8,
}
_COHORT_COLOUR = {
    "field": "cohort",
    "type": "nominal",
    "scale": {"domain": list(COLOURS), "range": list(COLOURS.values())},
    "legend": None,
}
_ROW_COLOUR = {
    "condition": {"test": "datum.is_thin", "value": "var(--muted)"},
    **_COHORT_COLOUR,
}


@dataclass(frozen=True, slots=True)
class Mark:
    """One number of a chart: a dot or bar with its interval."""

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
    is_thin: bool = False
    """Too few images stand behind it: it is grey."""


def interval_chart(
    marks: Sequence[Mark],
    *,
    axis: str,
    domain: tuple[float, float],
    zero: bool = False,
    width: int = 230,
) -> Spec:
    """Dots with intervals, one row a mark, under a bold heading a group.

    Args:
        marks: In the order of the rows, from the top; groups contiguous.
        axis: Title of the horizontal axis.
        domain: Ends of the horizontal axis, the same in all panels of a figure.
        zero: Draw a line at 0, for differences.
        width: Width of the plotting area in pixels.
    """
    dots = {
        "mark": {"type": "point", "filled": True, "size": 52, "opacity": 1},
        "encoding": {"x": _value("point", axis, domain)},
    }
    layers = [_whiskers(_value("low", axis, domain)), dots]
    return _rows_chart(marks, [_zero_line(), *layers] if zero else layers, width)


def bar_chart(marks: Sequence[Mark], *, axis: str, width: int = 230) -> Spec:
    """Bars of shares with intervals, one row a mark, in the order given."""
    bars = {
        "mark": {"type": "bar", "height": 11, "opacity": 0.45},
        "encoding": {"x": _share("point", axis)},
    }
    return _rows_chart(marks, [bars, _whiskers(_share("low", axis))], width)


def scatter_chart(
    points: Sequence[Mapping[str, Any]], *, across: str, up: str, size: int = 250
) -> Spec:
    """Shares against shares with the diagonal on which they are equal.

    Args:
        points: With keys ``x``, ``y`` (shares in [0, 1]) and ``cohort``.
        across: Title of the horizontal axis.
        up: Title of the vertical axis.
        size: Width and height of the plotting area in pixels.
    """
    places = {"x": _share("x", across), "y": _share("y", up)}
    diagonal = {
        "data": {"values": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]},
        "mark": {
            "type": "line", "color": "var(--muted)", "strokeWidth": 1, "strokeDash": [4, 3],
        },
        "encoding": places,
    }  # fmt: skip
    dots = {
        "data": {"values": list(points)},
        "mark": {"type": "circle", "size": 18, "opacity": 0.5},
        "encoding": {**places, "color": _COHORT_COLOUR},
    }
    return _styled({"width": size, "height": size, "layer": [diagonal, dots]})


def span(marks: Sequence[Mark], *, margin: float = 0.06) -> tuple[float, float]:
    """Ends of an axis that holds 0 and every mark with its interval, with a margin."""
    ends = [0.0]
    for mark in marks:
        ends += [value for value in (mark.point, mark.low, mark.high) if value is not None]
    low, high = min(ends), max(ends)
    pad = margin * ((high - low) or 1.0)
    return low - pad, high + pad


def _rows_chart(marks: Sequence[Mark], layers: Sequence[Spec], width: int) -> Spec:
    rows: list[str] = []
    for mark in marks:
        if mark.group and f"{mark.group}{_GROUP}" not in rows:
            rows.append(f"{mark.group}{_GROUP}")
        rows.append(_key(mark))
    return _styled(
        {
            "width": width,
            "height": {"step": _ROW},
            "data": {"values": [{**asdict(mark), "row": _key(mark)} for mark in marks]},
            "encoding": {"y": _row_axis(rows), "color": _ROW_COLOUR},
            "layer": list(layers),
        }
    )


def _key(mark: Mark) -> str:
    """Identity of a row; the bar is kept for the split between heading and text."""
    series = mark.series.replace(_GROUP, "\N{BROKEN BAR}")
    return f"{mark.group}{_GROUP}{series}"


def _row_axis(rows: Sequence[str]) -> Spec:
    """Rows labelled by what follows the bar; headings (nothing follows) in bold."""
    longest = max((len(part) for row in rows for part in row.split(_GROUP)), default=0)
    heading = f"indexof(datum.value, '{_GROUP}') == length(datum.value) - 1"
    label = f"split(datum.value, '{_GROUP}')"
    weight = {"condition": {"test": heading, "value": "bold"}, "value": "normal"}
    axis = {
        "title": None,
        "labelExpr": f"{heading} ? {label}[0] : {label}[1]",
        "labelFontWeight": weight,
        "labelLimit": _LABEL_LIMIT,
        "labelPadding": 7,
        "minExtent": min(_LABEL_LIMIT, _CHARACTER * longest) + 7,
        "ticks": False,
        "domain": False,
        "grid": False,
    }
    scale = {"domain": list(rows)}
    return {"field": "row", "type": "nominal", "sort": None, "scale": scale, "axis": axis}


def _value(field: str, title: str, domain: tuple[float, float]) -> Spec:
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": list(domain), "nice": False},
        "axis": {"title": title, "tickCount": 4, "grid": True},
    }


def _share(field: str, title: str) -> Spec:
    axis = {"title": title, "format": "%", "values": [0, 0.25, 0.5, 0.75, 1], "grid": True}
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [0, 1], "nice": False},
        "axis": axis,
    }


def _whiskers(left: Spec) -> Spec:
    """Intervals from `left`, the encoding of the field ``low``, to the field ``high``."""
    return {
        "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
        "mark": {"type": "rule", "strokeWidth": 2, "strokeCap": "round"},
        "encoding": {"x": left, "x2": {"field": "high"}},
    }


def _zero_line() -> Spec:
    return {
        "data": {"values": [{"at": 0}]},
        "mark": {"type": "rule", "color": "var(--ink)", "strokeWidth": 1},
        "encoding": {
            "x": {"field": "at", "type": "quantitative"}, "y": None, "color": None,
        },
    }  # fmt: skip


def _styled(chart: Spec) -> Spec:
    config = {
        "background": "transparent",
        "font": "system-ui, sans-serif",
        "axis": _AXES,
        "view": {"stroke": None},
        "padding": 2,
    }
    return {"$schema": _SCHEMA, "config": config, **chart}
