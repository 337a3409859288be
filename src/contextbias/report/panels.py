"""The report's figures: which numbers go into which chart, and the table behind each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from contextbias.report import formats, planted
from contextbias.report.figures import Mark, Spec, bar_chart, interval_chart, scatter_chart, span
from contextbias.report.inputs import ALL, MEAN, PLANTED
from contextbias.report.select import (
    BI_ESTIMANDS,
    CELL_KEYS,
    CONTRASTS,
    Index,
    Number,
    cohort_of,
    cohorts_in,
    conditions_in,
    dimension_order,
    generators_in,
    index,
    of_reader,
)
from contextbias.report.svg import to_svg
from contextbias.tables import CONDITIONS

MOST_LABELS = 12
"""Labels drawn of one dimension; the table has all."""

_MOST_GROUPS = 8
_BI_NAMES = {
    "bi_pooled": "Pooled over roles",
    "bi_role": "Within roles, then averaged",
}
_BI_HINTS = {
    "bi_pooled": "labels of all roles in one distribution",
    "bi_role": "one distribution a role, at matched support",
}


@dataclass(frozen=True, slots=True)
class Panel:
    """One drawing of a figure."""

    caption: str
    svg: str


@dataclass(frozen=True, slots=True)
class Group:
    """Panels that stand together."""

    title: str
    hint: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its words and the numbers behind it."""

    ident: str
    title: str
    caption: str
    groups: tuple[Group, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    choice: str = ""
    """What is chosen between, when only one group shows at a time; empty: all show."""
    wide: bool = False
    """True when two panels share a line instead of three."""


def estimands_in(frame: pl.DataFrame) -> tuple[str, ...]:
    """The forms of Bias Intensity, the leading one first: equal support in preset ``strict``."""
    strict = bool((frame["preset"] == "strict").any())
    return BI_ESTIMANDS[::-1] if strict else BI_ESTIMANDS


def levels_figure(frame: pl.DataFrame, order: Sequence[str], ident: str) -> Figure | None:
    """Mean Bias Intensity by cohort and condition, a panel a generator (the paper's figure 3)."""
    groups: list[Group] = []
    rows: list[tuple[str, ...]] = []
    for estimand in estimands_in(frame):
        numbers = index(frame, estimand)
        panels: list[Panel] = []
        for generator in generators_in(frame, order):
            marks = _level_marks(numbers, generator)
            if marks:
                name = f"{ident}-{estimand}-{len(panels)}"
                chart = interval_chart(marks, axis="Bias Intensity", domain=(0, 1))
                panels.append(_panel(name, f"{_who(generator)}", f"{_BI_NAMES[estimand]}", chart))
                rows += [_row(estimand, generator, mark) for mark in marks]
        if panels:
            groups.append(_group(numbers, estimand, panels))
    return _figure(
        ident,
        "Bias Intensity by cohort and condition",
        "0: all labels equally frequent; 1: a single label. Dots are estimates, lines their "
        "intervals from resampling roles, shared by conditions and generators.",
        groups,
        ("form", "generator", "cohort", "condition", "Bias Intensity", "interval"),
        rows,
    )


def contrasts_figure(frame: pl.DataFrame, order: Sequence[str], ident: str) -> Figure | None:
    """Differences of Bias Intensity between conditions, a panel a contrast."""
    groups: list[Group] = []
    rows: list[tuple[str, ...]] = []
    names = generators_in(frame, order)
    numbers_of = {name: index(frame, name) for name in estimands_in(frame)}
    marks_of = {
        name: {c: _contrast_marks(numbers, c, names) for c in CONTRASTS}
        for name, numbers in numbers_of.items()
    }
    domain = span([m for marks in marks_of.values() for found in marks.values() for m in found])
    for estimand, marks in marks_of.items():
        panels: list[Panel] = []
        for contrast, found in marks.items():
            if found:
                name = f"{ident}-{estimand}-{len(panels)}"
                chart = interval_chart(
                    found, axis="difference of Bias Intensity", domain=domain, zero=True, width=210
                )
                caption = formats.minus(contrast)
                panels.append(_panel(name, caption, _BI_NAMES[estimand], chart))
                rows += [_difference_row(estimand, contrast, mark) for mark in found]
        if panels:
            groups.append(_group(numbers_of[estimand], estimand, panels))
    return _figure(
        ident,
        "What changes between conditions",
        "Right of the line: more concentrated in the first condition of the difference; left: "
        "less. An interval that includes 0 does not tell the direction, and does not show that "
        "nothing changes.",
        groups,
        ("form", "contrast", "generator", "cohort", "difference", "interval"),
        rows,
    )


def dimensions_figure(frame: pl.DataFrame, order: Sequence[str], ident: str) -> Figure | None:
    """Bias Intensity by dimension, a choice of generator (the paper's figure 4)."""
    groups: list[Group] = []
    rows: list[tuple[str, ...]] = []
    names = generators_in(frame, order)
    for generator in sorted(names, key=lambda name: name != MEAN):
        panels: list[Panel] = []
        for estimand in estimands_in(frame):
            marks = _dimension_marks(index(frame, estimand), generator)
            if marks:
                name = f"{ident}-{len(groups)}-{estimand}"
                chart = interval_chart(marks, axis="Bias Intensity", domain=(0, 1), width=320)
                panels.append(_panel(name, _BI_NAMES[estimand], _who(generator), chart))
                rows += [_row(estimand, generator, mark)[:2] + _tail(mark) for mark in marks]
        if panels:
            groups.append(Group(_who(generator), "", tuple(panels)))
    return _figure(
        ident,
        "Bias Intensity by dimension",
        "Mean of the conditions, the most concentrated dimension on top; colour is the cohort. "
        "Levels of dimensions with different numbers of labels compare only roughly.",
        groups,
        ("form", "generator", "dimension", "cohort", "Bias Intensity", "interval"),
        rows,
        choice="Generator",
        wide=True,
    )


def distributions_figure(frame: pl.DataFrame, ident: str) -> Figure | None:
    """Share of images by label for each dimension: for images of one condition only."""
    conditions = conditions_in(frame)
    cells = index(frame, "prevalence", (*CELL_KEYS, "condition"))
    wanted = [(key, number) for key, number in cells.items() if key[4] in conditions]
    groups: list[Group] = []
    rows: list[tuple[str, ...]] = []
    sets = sorted({(key[0], key[1], key[4]) for key, _ in wanted})
    for generator, role, condition in sets[:_MOST_GROUPS]:
        found = [(k, n) for k, n in wanted if (k[0], k[1], k[4]) == (generator, role, condition)]
        panels: list[Panel] = []
        for dimension in dimension_order({key[2] for key, _ in found}):
            marks, read, gone = _label_marks(found, dimension)
            if marks:
                chart = bar_chart(marks[:MOST_LABELS], axis="share of images read", domain=(0, 1))
                title = formats.capital(dimension)
                name = f"{ident}-{len(groups)}-{len(panels)}"
                caption = (
                    f"{title} (read in {formats.whole(read)}, missing in {formats.whole(gone)})"
                )
                panels.append(_panel(name, caption, _who(generator), chart))
                rows += [(generator, role, dimension, *_share(mark)) for mark in marks]
        if panels:
            title = " · ".join(part for part in (_who(generator), role) if part != ALL)
            groups.append(Group(title, "", tuple(panels)))
    return _figure(
        ident,
        "What the images show",
        "Share of the images in which the label was read, out of those where the question had an "
        f"answer; lines are 95% intervals. At most {MOST_LABELS} labels a dimension are drawn.",
        groups,
        ("generator", "role", "dimension", "label", "share", "interval"),
        rows,
        choice="Images" if len(groups) > 1 else "",
    )


def planted_figure(
    estimates: pl.DataFrame, reader: str, order: Sequence[str], ident: str
) -> Figure | None:
    """Planted against recovered prevalences, a panel a generator."""
    panels: list[Panel] = []
    names = generators_in(of_reader(estimates, PLANTED), order, mean=False)
    for generator in names:
        points = planted.scatter_points(estimates, reader, generator)
        if points:
            chart = scatter_chart(points, across="planted share", up="share read")
            name = f"{ident}-{len(panels)}"
            panels.append(_panel(name, _who(generator), "Planted against read shares", chart))
    group = Group("", "", tuple(panels))
    return _figure(
        ident,
        "Planted and read shares",
        "Each dot is a role and a label, over all conditions. On the dashed line the reader found "
        "what was planted; scatter is chance and reading error, a slope below the line is bias.",
        [group] if panels else [],
        (),
        [],
    )


def _figure(
    ident: str,
    title: str,
    caption: str,
    groups: Sequence[Group],
    header: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    choice: str = "",
    wide: bool = False,
) -> Figure | None:
    if not groups:
        return None
    return Figure(ident, title, caption, tuple(groups), header, tuple(rows), choice, wide)


def _group(numbers: Index, estimand: str, panels: Sequence[Panel]) -> Group:
    support = sorted({number.support for number in numbers.values() if number.support})
    stated = f"{estimand}, {' and '.join(support)} support" if support else estimand
    return Group(_BI_NAMES[estimand], f"{_BI_HINTS[estimand]} ({stated})", tuple(panels))


def _panel(ident: str, caption: str, what: str, chart: Spec) -> Panel:
    title = f"{caption}: {what}"
    return Panel(caption, to_svg(chart, ident=ident, title=title, description=_DESCRIPTION))


_DESCRIPTION = "Chart; the numbers are in the table below the figure or in the report's CSV files."


def _who(generator: str) -> str:
    return "Mean over generators" if generator == MEAN else generator


def _mark(group: str, series: str, cohort: str, number: Number | None) -> Mark | None:
    if number is None or number.point is None or number.point != number.point:
        return None
    return Mark(group, series, cohort, number.point, number.low, number.high)


def _kept(marks: Sequence[Mark | None]) -> list[Mark]:
    return [mark for mark in marks if mark is not None]


def _cohort_name(cohort: str) -> str:
    return "Overall" if cohort == ALL else formats.capital(cohort)


def _level_marks(numbers: Index, generator: str) -> list[Mark]:
    return _kept(
        [
            _mark(
                _cohort_name(cohort),
                condition,
                cohort,
                numbers.get((generator, condition, None, cohort, None)),
            )
            for cohort in cohorts_in(numbers)
            for condition in CONDITIONS
        ]
    )


def _contrast_marks(numbers: Index, contrast: str, generators: Sequence[str]) -> list[Mark]:
    return _kept(
        [
            _mark(
                _cohort_name(cohort),
                "mean" if generator == MEAN else generator,
                cohort,
                numbers.get((generator, None, contrast, cohort, None)),
            )
            for cohort in cohorts_in(numbers)
            for generator in generators
        ]
    )


def _dimension_marks(numbers: Index, generator: str) -> list[Mark]:
    """One mark a dimension, the largest first: over all conditions, or in the only one."""
    named = {key: n for key, n in numbers.items() if key[0] == generator and key[4] and not key[2]}
    conditions = {key[1] for key in named}
    shown = ALL if ALL in conditions else next((c for c in CONDITIONS if c in conditions), None)
    marks = _kept(
        [
            _mark("", formats.words(key[4]), cohort_of(key[4], str(key[3])), number)
            for key, number in named.items()
            if key[1] == shown
        ]
    )
    return sorted(marks, key=lambda mark: (-mark.point, mark.series))


def _label_marks(
    found: Sequence[tuple[tuple[str, ...], Number]], dimension: str
) -> tuple[list[Mark], int | None, int | None]:
    """Marks of one dimension's labels, the most frequent first, with its support."""
    chosen = [(key, number) for key, number in found if key[2] == dimension]
    marks = _kept([_mark("", key[3], cohort_of(dimension), number) for key, number in chosen])
    marks = sorted((m for m in marks if m.point > 0), key=lambda mark: (-mark.point, mark.series))
    first = chosen[0][1]
    return marks, first.n, first.n_missing


def _row(estimand: str, generator: str, mark: Mark) -> tuple[str, ...]:
    return (
        estimand,
        _who(generator),
        mark.group,
        mark.series,
        formats.plain(mark.point),
        formats.interval(mark.low, mark.high),
    )


def _tail(mark: Mark) -> tuple[str, ...]:
    interval = formats.interval(mark.low, mark.high)
    return (mark.series, mark.cohort, formats.plain(mark.point), interval)


def _difference_row(estimand: str, contrast: str, mark: Mark) -> tuple[str, ...]:
    return (
        estimand,
        formats.minus(contrast),
        mark.series,
        mark.group,
        formats.signed(mark.point),
        formats.interval(mark.low, mark.high, sign=True),
    )


def _share(mark: Mark) -> tuple[str, str, str]:
    return (
        mark.series,
        formats.percent(mark.point),
        formats.share_interval(mark.low, mark.high),
    )
