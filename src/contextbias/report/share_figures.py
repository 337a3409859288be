"""Figures of shares: what images of one condition show, and planted against read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from contextbias.report import formats, planted
from contextbias.report.figures import Mark, bar_chart, scatter_chart
from contextbias.report.inputs import ALL, PLANTED
from contextbias.report.panels import Figure, Group, Panel, Row, known, mark_of, panel_of, who
from contextbias.report.select import (
    CELL_KEYS,
    Number,
    cohort_of,
    conditions_in,
    dimension_order,
    generators_in,
    index,
    of_reader,
)

MOST_LABELS = 12
"""Labels drawn of one dimension; the table has all."""

MOST_GROUPS = 8
"""Generators and roles drawn; the table has all."""

_Cells = list[tuple[tuple[Any, ...], Number]]


def distributions_figure(frame: pl.DataFrame, ident: str, *, level: str) -> Figure | None:
    """Share of images by label for each dimension: for images of one condition only.

    `level` is that of the intervals, such as ``95%``.
    """
    conditions = conditions_in(frame)
    cells = index(frame, "prevalence", (*CELL_KEYS, "condition"))
    wanted = [(key, number) for key, number in cells.items() if key[4] in conditions]
    places = sorted({(key[0], key[1]) for key, _ in wanted})
    groups: list[Group] = []
    rows: list[Row] = []
    for generator, role in places[:MOST_GROUPS]:
        found = [(k, n) for k, n in wanted if (k[0], k[1]) == (generator, role)]
        panels, numbers = _panels(found, f"{ident}-{len(groups)}", generator)
        rows += [(generator, role, *row) for row in numbers]
        if panels:
            title = " · ".join(part for part in (who(generator), role) if part != ALL)
            groups.append(Group(title if len(places) > 1 else "", "", tuple(panels)))
    if not groups:
        return None
    return Figure(
        ident=ident,
        title="What the images show",
        caption="Share of the images in which the label was read, out of those where the question "
        f"had an answer; lines are {level} Wilson intervals. At most {MOST_LABELS} labels a "
        "dimension are drawn.",
        groups=tuple(groups),
        header=("generator", "role", "dimension", "label", "share", "interval"),
        rows=tuple(rows),
        choice="Images of",
    )


def planted_figure(
    estimates: pl.DataFrame, reader: str, order: Sequence[str], ident: str
) -> Figure | None:
    """Planted against recovered prevalences, a panel a generator; None without planted truth."""
    panels: list[Panel] = []
    for generator in generators_in(of_reader(estimates, PLANTED), order, mean=False):
        points = planted.scatter_points(estimates, reader, generator)
        if points:
            chart = scatter_chart(points, across="planted share", up="share read")
            name = f"{ident}-{len(panels)}"
            panels.append(panel_of(name, who(generator), "planted against read shares", chart))
    if not panels:
        return None
    return Figure(
        ident=ident,
        title="Planted and read shares",
        caption="Each dot is a role and a label, over all conditions, read in at least "
        f"{planted.FEWEST_IMAGES} images. On the dashed line the reader found what was planted; "
        "scatter is chance and reading error, a slope below the line is bias.",
        groups=(Group("", "", tuple(panels)),),
    )


def _panels(found: _Cells, ident: str, generator: str) -> tuple[list[Panel], list[Row]]:
    """A panel a dimension, and the rows behind them."""
    panels: list[Panel] = []
    rows: list[Row] = []
    for dimension in dimension_order({key[2] for key, _ in found}):
        chosen = [(key, number) for key, number in found if key[2] == dimension]
        marks = _label_marks(chosen, dimension)
        if marks:
            support = chosen[0][1]
            caption = (
                f"{formats.capital(dimension)} (read in {formats.whole(support.n)}, "
                f"missing in {formats.whole(support.n_missing)})"
            )
            chart = bar_chart(marks[:MOST_LABELS], axis="share of images read")
            panels.append(panel_of(f"{ident}-{len(panels)}", caption, who(generator), chart))
            rows += [(formats.words(dimension), *_share_row(mark)) for mark in marks]
    return panels, rows


def _label_marks(chosen: _Cells, dimension: str) -> list[Mark]:
    """Marks of one dimension's labels, the most frequent first."""
    cohort = cohort_of(dimension)
    marks = known(mark_of("", formats.words(key[3]), cohort, number) for key, number in chosen)
    return sorted((m for m in marks if m.point > 0), key=lambda mark: (-mark.point, mark.series))


def _share_row(mark: Mark) -> Row:
    return (
        mark.series,
        formats.percent(mark.point),
        formats.share_interval(mark.low, mark.high),
    )
