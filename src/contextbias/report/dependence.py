"""How alike images of one context are, and by how much that widens every prevalence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from contextbias.report import formats
from contextbias.report.select import (
    Index,
    cohort_of,
    dimension_order,
    generators_in,
    index,
)
from contextbias.tables import CONDITIONS


@dataclass(frozen=True, slots=True)
class DependenceRow:
    """One dimension: correlation, then design effects by condition, for every generator."""

    dimension: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dependence:
    """The table of design effects."""

    columns: tuple[tuple[str, str], ...]
    """Generator, and ``rho`` or the condition."""
    rows: tuple[DependenceRow, ...]
    context_free: bool
    """True when there is a column of CF, whose value is taken from the others."""


def dependence(frame: pl.DataFrame, order: Sequence[str]) -> Dependence | None:
    """Collect ``intraclass_correlation`` and ``design_effect``; None where neither has a number.

    Args:
        frame: Estimates of one reader.
        order: Generators in the order of the configuration.
    """
    rho = _there(index(frame, "intraclass_correlation", ("generator", "dimension")))
    effects = _there(index(frame, "design_effect", ("generator", "dimension", "condition")))
    generators = [g for g in generators_in(frame, order, mean=False) if g in {k[0] for k in rho}]
    if not generators:
        return None
    seen = {key[2] for key in effects}
    conditions = [name for name in CONDITIONS if name in seen]
    names = dimension_order({key[1] for key in rho})
    names.sort(key=lambda name: cohort_of(name) != "people")
    rows = []
    for name in names:
        cells: list[str] = []
        for generator in generators:
            alike = rho.get((generator, name))
            cells.append(formats.plain(alike.point if alike else None, 2))
            found = (effects.get((generator, name, condition)) for condition in conditions)
            cells += [formats.plain(number.point if number else None, 1) for number in found]
        rows.append(DependenceRow(formats.capital(name), tuple(cells)))
    columns = tuple((g, column) for g in generators for column in ("rho", *conditions))
    return Dependence(columns, tuple(rows), "CF" in conditions)


def _there(numbers: Index) -> Index:
    """The numbers that are defined."""
    return {key: number for key, number in numbers.items() if number.point is not None}
