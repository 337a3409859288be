"""Dimension by dimension: which label leads, how many there are in effect, and what changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from contextbias.report import formats
from contextbias.report.panels import who
from contextbias.report.select import (
    CONTRASTS,
    Number,
    cohort_of,
    conditions_in,
    dimension_order,
    generators_in,
    index,
    leading_support,
)

_MOST_CONDITIONS = 3


@dataclass(frozen=True, slots=True)
class DimensionRow:
    """One dimension of one generator."""

    name: str
    cohort: str
    labels: str
    """Size of the label set."""
    leading: tuple[tuple[str, str], ...]
    """Leading label and its share of mentions, by condition."""
    effective: tuple[str, ...]
    """exp(H), by condition."""
    levels: tuple[str, ...]
    """Bias Intensity, by condition."""
    change: str
    """Difference of the leading contrast."""
    interval: str
    bounds: str
    """Least and most of that difference, had nothing been missing."""
    note: str
    """What the difference does not rest on: roles left out …; empty without a note."""


@dataclass(frozen=True, slots=True)
class DimensionTable:
    """The dimensions of every generator."""

    conditions: tuple[str, ...]
    contrast: str
    """The leading contrast; empty with one condition."""
    support: str
    """``raw`` or ``equal``: of effective labels, levels and change."""
    generators: tuple[tuple[str, tuple[DimensionRow, ...]], ...]
    has_bounds: bool


def dimension_table(frame: pl.DataFrame, order: Sequence[str]) -> DimensionTable | None:
    """Collect the table at raw support, or at equal support in preset ``strict``.

    Args:
        frame: Estimates of one reader.
        order: Generators in the order of the configuration.
    """
    support = leading_support(frame)
    numbers = {
        name: index(frame, name, support=support) for name in ("bi_pooled", "effective_labels")
    }
    numbers["bounds"] = index(frame, "bi_pooled_bounds")
    sizes = index(frame, "label_count", ("generator", "dimension"))
    leading = _leading(frame)
    conditions = tuple(conditions_in(frame)[:_MOST_CONDITIONS])
    seen = {key[2] for key in numbers["bi_pooled"]}
    contrast = next((name for name in CONTRASTS if name in seen), "")
    found = []
    for generator in generators_in(frame, order, mean=False):
        names = dimension_order({k[4] for k in numbers["bi_pooled"] if k[0] == generator and k[4]})
        names.sort(key=lambda name: cohort_of(name) != "people")
        rows = [
            _row((generator, name), conditions, contrast, numbers, sizes, leading) for name in names
        ]
        if rows:
            found.append((who(generator), tuple(rows)))
    if not found:
        return None
    bounds = any(row.bounds for _, rows in found for row in rows)
    return DimensionTable(conditions, formats.minus(contrast), support, tuple(found), bounds)


_Leading = dict[tuple[str, str, str], tuple[str, Number]]


def _leading(frame: pl.DataFrame) -> _Leading:
    """Leading label and its share, by generator, condition and dimension."""
    numbers = index(frame, "leading_label", ("generator", "condition", "dimension", "label"))
    return {key[:3]: (key[3], number) for key, number in numbers.items()}


def _row(
    key: tuple[str, str],
    conditions: Sequence[str],
    contrast: str,
    numbers: dict[str, Any],
    sizes: Any,
    leading: _Leading,
) -> DimensionRow:
    generator, name = key
    cohort = cohort_of(name)

    def number(estimand: str, condition: str | None, difference: str | None) -> Number | None:
        for of in (cohort, ""):
            found: Number | None = numbers[estimand].get(
                (generator, condition, difference, of or None, name)
            )
            if found is not None:
                return found
        return None

    change, bounds = number("bi_pooled", None, contrast), number("bounds", None, contrast)
    size = sizes.get(key)
    return DimensionRow(
        name=formats.capital(name),
        cohort=cohort,
        labels=formats.whole(size.point if size else None),
        leading=tuple(_led(leading.get((generator, c, name))) for c in conditions),
        effective=tuple(_level(number("effective_labels", c, None), 1) for c in conditions),
        levels=tuple(_level(number("bi_pooled", c, None), 3) for c in conditions),
        change=formats.signed(change.point if change else None),
        interval=formats.interval(change.low, change.high, sign=True) if change else "",
        bounds=formats.interval(bounds.low, bounds.high, sign=True) if bounds else "",
        note=(change.note or "") if change else "",
    )


def _led(found: tuple[str, Number] | None) -> tuple[str, str]:
    if found is None:
        return formats.MISSING, ""
    label, number = found
    tied = ", tied" if number.note and "tied" in number.note else ""
    return formats.words(label), f"{formats.percent(number.point, 0)}{tied}"


def _level(number: Number | None, digits: int) -> str:
    return formats.plain(number.point if number else None, digits)
