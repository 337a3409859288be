"""Figures of Bias Intensity: levels by cohort, contrasts of conditions, levels by dimension."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from contextbias.report import formats
from contextbias.report.figures import Mark, interval_chart, span
from contextbias.report.inputs import ALL, MEAN
from contextbias.report.panels import (
    Figure,
    Group,
    Panel,
    Row,
    cohort_name,
    known,
    mark_of,
    panel_of,
    who,
)
from contextbias.report.select import (
    BI_ESTIMANDS,
    CONTRASTS,
    Index,
    cohort_of,
    cohorts_in,
    conditions_in,
    generators_in,
    index,
    leading_support,
    roles_in,
)
from contextbias.stats.proportion import MINIMUM_SUPPORT
from contextbias.tables import CONDITIONS

_AXIS = "Bias Intensity"
_NAMES = {"bi_pooled": "Pooled over roles", "bi_role": "Within roles, then averaged"}
_HINTS = {
    "bi_pooled": "labels of all roles in one distribution",
    "bi_role": "one distribution a role, at matched support",
}
_INTERVALS = (
    " Dots are estimates, lines their {level} intervals from resampling roles, shared by "
    "conditions and generators."
)
_CONTRAST_INTERVALS = (
    " Lines are {level} intervals from resampling roles. One that includes 0 does not tell the "
    "direction, and does not show that nothing changes."
)

_THIN = f" Grey: fewer than {MINIMUM_SUPPORT} images were read; such a number says next to nothing."
_UNLIKE = (
    " A contrast rests on the roles and dimensions that both of its conditions have, so that it "
    "need not be the difference of the two levels below."
)


def estimands_in(frame: pl.DataFrame) -> tuple[str, ...]:
    """The forms of Bias Intensity, the leading one first: equal support in preset ``strict``.

    With a single role both forms are the same, and only the pooled one is shown.
    """
    if len(roles_in(frame)) == 1:
        return BI_ESTIMANDS[:1]
    return BI_ESTIMANDS[::-1] if leading_support(frame) == "equal" else BI_ESTIMANDS


def levels_figure(
    frame: pl.DataFrame, order: Sequence[str], ident: str, *, level: str
) -> Figure | None:
    """Mean Bias Intensity by cohort and condition, a panel a generator (the paper's figure 3).

    `level` is that of the intervals, such as ``95%``.
    """
    groups: list[Group] = []
    rows: list[Row] = []
    several = len(conditions_in(frame)) > 1
    thin = False
    names = generators_in(frame, order)
    for estimand in estimands_in(frame):
        numbers = index(frame, estimand, support=leading_support(frame))
        panels: list[Panel] = []
        for generator in names:
            marks = _level_marks(numbers, generator, estimand)
            if marks:
                thin |= any(mark.is_thin for mark in marks)
                chart = interval_chart(marks, axis=_AXIS, domain=(0, 1))
                caption = who(generator) if len(names) > 1 else ""
                name = f"{ident}-{estimand}-{len(panels)}"
                panels.append(panel_of(name, caption, _what(frame, estimand), chart))
                rows += [(estimand, who(generator), *_level_row(mark)) for mark in marks]
        groups += _group(frame, numbers, estimand, panels)
    if not groups:
        return None
    return Figure(
        ident=ident,
        title=f"{_AXIS} by cohort{' and condition' if several else ''}",
        caption="0: all labels equally frequent; 1: a single label."
        + (_INTERVALS.format(level=level) if any(row[-1] for row in rows) else "")
        + (_THIN if thin else ""),
        groups=tuple(groups),
        header=("form", "generator", "cohort", "condition", _AXIS, "interval"),
        rows=tuple(rows),
    )


def contrasts_figure(
    frame: pl.DataFrame, order: Sequence[str], ident: str, *, level: str
) -> Figure | None:
    """Differences of Bias Intensity between conditions, a panel a contrast; see levels_figure."""
    names = generators_in(frame, order)
    numbers = _numbers(frame)
    marks = {
        (estimand, contrast): found
        for estimand, table in numbers.items()
        for contrast in CONTRASTS
        if (found := _contrast_marks(table, contrast, names))
    }
    domain = span([mark for found in marks.values() for mark in found])
    groups: list[Group] = []
    for estimand in numbers:
        panels = [
            _contrast_panel(f"{ident}-{estimand}-{CONTRASTS.index(c)}", estimand, c, found, domain)
            for (form, c), found in marks.items()
            if form == estimand
        ]
        groups += _group(frame, numbers[estimand], estimand, panels)
    if not groups:
        return None
    rows = [_contrast_row(*key, mark) for key, found in marks.items() for mark in found]
    return Figure(
        ident=ident,
        title="What changes between conditions",
        caption="Right of the line: more concentrated in the first condition of the difference; "
        "left: less."
        + (_CONTRAST_INTERVALS.format(level=level) if any(row[-1] for row in rows) else "")
        + (_UNLIKE if _is_partial(numbers) else ""),
        groups=tuple(groups),
        header=("form", "contrast", "generator", "cohort", "difference", "interval"),
        rows=tuple(rows),
    )


def dimensions_figure(frame: pl.DataFrame, order: Sequence[str], ident: str) -> Figure | None:
    """Bias Intensity by dimension, a choice of generator (the paper's figure 4)."""
    groups: list[Group] = []
    rows: list[Row] = []
    names = generators_in(frame, order)
    numbers = _numbers(frame)
    thin = False
    for generator in sorted(names, key=lambda name: name != MEAN):
        panels: list[Panel] = []
        for estimand, table in numbers.items():
            marks = _dimension_marks(table, generator, estimand)
            if marks:
                thin |= any(mark.is_thin for mark in marks)
                chart = interval_chart(marks, axis=_AXIS, domain=(0, 1), width=280)
                caption = _NAMES[estimand] if len(numbers) > 1 else ""
                name = f"{ident}-{len(groups)}-{estimand}"
                panels.append(panel_of(name, caption, f"{_AXIS}, {who(generator)}", chart))
                rows += [(estimand, who(generator), *_dimension_row(mark)) for mark in marks]
        if panels:
            groups.append(Group(who(generator) if len(names) > 1 else "", "", tuple(panels)))
    if not groups:
        return None
    mean = "Mean of the conditions. " if len(conditions_in(frame)) > 1 else ""
    return Figure(
        ident=ident,
        title=f"{_AXIS} by dimension",
        caption=f"{mean}The most concentrated dimension is on top; colour is the cohort. Levels of "
        "dimensions with different numbers of labels compare only roughly."
        + (_THIN if thin else ""),
        groups=tuple(groups),
        header=("form", "generator", "dimension", "cohort", _AXIS, "interval"),
        rows=tuple(rows),
        choice="Generator",
        wide=True,
    )


def _is_partial(numbers: dict[str, Index]) -> bool:
    """True when some contrast of a cohort says that roles or dimensions are left out."""
    return any(
        number.note is not None and ("left out" in number.note or "missing" in number.note)
        for table in numbers.values()
        for key, number in table.items()
        if key[2] is not None and key[4] is None and number.point is not None
    )


def _numbers(frame: pl.DataFrame) -> dict[str, Index]:
    """Each form at the support that leads."""
    support = leading_support(frame)
    return {name: index(frame, name, support=support) for name in estimands_in(frame)}


def _what(frame: pl.DataFrame, estimand: str) -> str:
    return f"{_AXIS}, {_NAMES[estimand].lower()}" if len(roles_in(frame)) > 1 else _AXIS


def _group(
    frame: pl.DataFrame, numbers: Index, estimand: str, panels: Sequence[Panel]
) -> list[Group]:
    """Panels of one form with its support stated; nothing without panels."""
    if not panels:
        return []
    if len(roles_in(frame)) == 1:
        return [Group("", "", tuple(panels))]
    support = sorted({number.support for number in numbers.values() if number.support})
    stated = f"{estimand}, {' and '.join(support)} support" if support else estimand
    return [Group(_NAMES[estimand], f"{_HINTS[estimand]} ({stated})", tuple(panels))]


def _contrast_panel(
    ident: str, estimand: str, contrast: str, marks: Sequence[Mark], domain: tuple[float, float]
) -> Panel:
    axis = f"difference of {_AXIS}"
    chart = interval_chart(marks, axis=axis, domain=domain, zero=True, width=210)
    return panel_of(ident, formats.minus(contrast), f"{axis}, {_NAMES[estimand].lower()}", chart)


def _level_marks(numbers: Index, generator: str, estimand: str) -> list[Mark]:
    """Conditions under their cohort; only cohorts when there is one condition."""
    conditions = [name for name in CONDITIONS if name in {key[1] for key in numbers}]
    several = len(conditions) > 1
    return known(
        mark_of(
            cohort_name(cohort) if several else "",
            condition if several else cohort_name(cohort),
            cohort,
            numbers.get((generator, condition, None, cohort, None)),
            is_thin=estimand == "bi_pooled"
            and _is_thin(numbers, generator, condition, cohort, None),
        )
        for cohort in cohorts_in(numbers)
        for condition in conditions
    )


def _contrast_marks(numbers: Index, contrast: str, generators: Sequence[str]) -> list[Mark]:
    """Generators under their cohort."""
    return known(
        mark_of(
            cohort_name(cohort),
            generator,
            cohort,
            numbers.get((generator, None, contrast, cohort, None)),
        )
        for cohort in cohorts_in(numbers)
        for generator in generators
    )


def _dimension_marks(numbers: Index, generator: str, estimand: str) -> list[Mark]:
    """One mark a dimension, the largest first: over all conditions, or in the only one."""
    named = {key: n for key, n in numbers.items() if key[0] == generator and key[4] and not key[2]}
    conditions = {key[1] for key in named}
    shown = ALL if ALL in conditions else next((c for c in CONDITIONS if c in conditions), None)
    marks = known(
        mark_of(
            "",
            formats.words(key[4]),
            cohort_of(key[4], str(key[3])),
            number,
            is_thin=estimand == "bi_pooled" and _is_thin(numbers, generator, ALL, ALL, key[4]),
        )
        for key, number in named.items()
        if key[1] == shown
    )
    return sorted(marks, key=lambda mark: (-mark.point, mark.series))


def _is_thin(
    numbers: Index, generator: str, condition: str, cohort: str, dimension: str | None
) -> bool:
    """Whether fewer than `MINIMUM_SUPPORT` images were read in each dimension and condition.

    Args:
        numbers: Of ``bi_pooled``, the form whose n counts images, in rows of one dimension.
        generator: One of the study's; a mean over generators is never thin.
        condition: ``all`` for any.
        cohort: ``all`` for any.
        dimension: None for all of the cohort.
    """
    images = [
        number.n or 0
        for key, number in numbers.items()
        if key[0] == generator
        and (key[1] in CONDITIONS if condition == ALL else key[1] == condition)
        and key[2] is None
        and (cohort == ALL or key[3] == cohort)
        and key[4] is not None
        and dimension in (None, key[4])
    ]
    return generator != MEAN and bool(images) and max(images) < MINIMUM_SUPPORT


def _level_row(mark: Mark) -> Row:
    place = (mark.group, mark.series) if mark.group else (mark.series, "")
    return (*place, formats.plain(mark.point), formats.interval(mark.low, mark.high))


def _dimension_row(mark: Mark) -> Row:
    interval = formats.interval(mark.low, mark.high)
    return (mark.series, mark.cohort, formats.plain(mark.point), interval)


def _contrast_row(estimand: str, contrast: str, mark: Mark) -> Row:
    return (
        estimand,
        formats.minus(contrast),
        mark.series,
        mark.group,
        formats.signed(mark.point),
        formats.interval(mark.low, mark.high, sign=True),
    )
