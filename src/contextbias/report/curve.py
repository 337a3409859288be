"""The picture of a specification curve: the number above, the choices behind it below.

A file of its own and not part of the page, so its colours are fixed and its background is white.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl
import vl_convert as vlc

from contextbias.report.figures import Spec

_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_WIDTH = 860
_INK, _QUIET, _MAIN = "#222222", "#8a8f98", "#b3261e"
_STEP = 14
_PNG_SCALE = 2.0


def curve_chart(
    rows: pl.DataFrame,
    choices: Sequence[str],
    *,
    title: str,
    studies: str,
    joined: Collection[str] = (),
    by: str = " or ",
) -> Spec:
    """A Vega-Lite specification of the curve.

    Args:
        rows: The curve from left to right: point, low, high, main, and the columns of `choices`.
        choices: Columns to show below; those with one value only are left out.
        title: What the number is.
        studies: Whose number it is.
        joined: Columns whose values can be several, all of which get a tick.
        by: What stands between these.
    """
    varied = [name for name in choices if rows[name].n_unique() > 1]
    ranked = rows.with_row_index("rank", offset=1)
    upper = {
        "width": _WIDTH,
        "height": 220,
        "data": {"values": ranked.select("rank", "point", "low", "high", "main").to_dicts()},
        "layer": [_zero(), _whiskers(), _dots(title)],
    }
    return {
        "$schema": _SCHEMA,
        "background": "white",
        "config": {"font": "sans-serif", "view": {"stroke": None}, "axis": {"grid": False}},
        "title": {
            "text": f"{studies} \N{EM DASH} {title}",
            "subtitle": _legend(rows),
            "anchor": "start",
            "subtitleColor": _QUIET,
        },
        "vconcat": [upper, *([_choices(ranked, varied, joined, by)] if varied else [])],
        "spacing": 6,
    }


def _legend(rows: pl.DataFrame) -> list[str]:
    """What marks mean; of intervals and of choices only where there are any."""
    words = ["Each dot is one combination of choices, which the ticks below it name."]
    if rows["main"].any():
        words.append("Red: the choices of study.toml.")
    if rows["low"].is_not_null().any():
        words.append("Thin lines: intervals of the role bootstrap.")
    return [" ".join(words)]


def curve_bytes(chart: Mapping[str, Any], suffix: str) -> bytes:
    """Draw a chart.

    Args:
        chart: A Vega-Lite specification.
        suffix: ``.svg`` or ``.png``.

    Raises:
        ValueError: Another suffix.
    """
    if suffix.lower() == ".svg":
        return str(vlc.vegalite_to_svg(dict(chart))).encode()
    if suffix.lower() == ".png":
        return bytes(vlc.vegalite_to_png(dict(chart), scale=_PNG_SCALE))
    raise ValueError(f"a curve is drawn as .svg or .png, not {suffix!r}")


def _rank() -> Spec:
    return {"field": "rank", "type": "quantitative", "scale": {"nice": False}, "axis": None}


def _colour() -> Spec:
    return {"condition": {"test": "datum.main", "value": _MAIN}, "value": _INK}


def _zero() -> Spec:
    return {
        "data": {"values": [{"at": 0}]},
        "mark": {"type": "rule", "color": _QUIET, "strokeDash": [4, 3]},
        "encoding": {"y": {"field": "at", "type": "quantitative"}},
    }


def _whiskers() -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
        "mark": {"type": "rule", "opacity": 0.35},
        "encoding": {
            "x": _rank(),
            "y": {"field": "low", "type": "quantitative"},
            "y2": {"field": "high"},
            "color": _colour(),
        },
    }


def _dots(title: str) -> Spec:
    y = {"field": "point", "type": "quantitative", "axis": {"title": title, "format": "+.3~f"}}
    return {
        "mark": {"type": "circle", "opacity": 1},
        "encoding": {
            "x": _rank(),
            "y": y,
            "color": _colour(),
            "size": {"condition": {"test": "datum.main", "value": 70}, "value": 16},
        },
    }


def _choices(ranked: pl.DataFrame, varied: Sequence[str], joined: Collection[str], by: str) -> Spec:
    """A tick wherever a value was chosen, one row a value."""
    single = {}
    for name in varied:
        value = pl.col(name).str.split(by) if name in joined else pl.col(name)
        chosen = ranked.select("rank", "main", value)
        single[name] = chosen.explode(name) if name in joined else chosen
    marks = [
        {"rank": rank, "main": main, "row": f"{name}: {value}"}
        for name, table in single.items()
        for rank, main, value in table.rows()
    ]
    order = [
        f"{name}: {value}"
        for name, table in single.items()
        for value in table[name].unique(maintain_order=True).sort(nulls_last=True)
    ]
    axis = {"title": None, "ticks": False, "domain": False, "labelLimit": 260}
    return {
        "width": _WIDTH,
        "height": {"step": _STEP},
        "data": {"values": marks},
        "mark": {"type": "tick", "thickness": 2, "height": 9},
        "encoding": {
            "x": _rank(),
            "y": {"field": "row", "type": "nominal", "sort": order, "axis": axis},
            "color": _colour(),
        },
    }
