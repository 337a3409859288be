"""Who is answered: coverage by how people are presented, and what a reader can tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from contextbias.report import formats
from contextbias.report.select import Index, Number, dimension_order, generators_in, index
from contextbias.schema import DIMENSIONS, UNKNOWN
from contextbias.tables import ReaderRow

_PREFIX = "coverage_by_"
_NOT_TOLD = "not told"


@dataclass(frozen=True, slots=True)
class CoverageCell:
    """One question and one group of people."""

    share: str
    """Share answered, in whole percent; empty where nobody of the group was asked."""
    interval: str
    """Its 95% interval, in percent."""


@dataclass(frozen=True, slots=True)
class CoveragePart:
    """One generator."""

    generator: str
    sizes: tuple[str, ...]
    """Images of each group; empty where there is none."""
    rows: tuple[tuple[str, tuple[CoverageCell, ...]], ...]
    """Dimension and its cells; only dimensions that some image lacks."""


@dataclass(frozen=True, slots=True)
class CoverageTable:
    """One way to group people."""

    grouping: str
    """The dimension whose labels make the groups, in words."""
    groups: tuple[str, ...]
    """Its labels in the schema's order; last those whose label could not be told."""
    parts: tuple[CoveragePart, ...]
    """Generators with several groups and something unanswered."""


def coverage_tables(frame: pl.DataFrame, order: Sequence[str]) -> list[CoverageTable]:
    """Tables from ``coverage_by_gender_presentation`` and ``coverage_by_skin_tone``.

    Args:
        frame: Estimates of one reader.
        order: Generators in the order of the configuration.

    Returns:
        One table a grouping; none where all people are in one group, or all were answered.
    """
    names = {name for name in frame["estimand"].unique() if name.startswith(_PREFIX)}
    generators = generators_in(frame, order, mean=False)
    found = []
    for grouping in dimension_order(name.removeprefix(_PREFIX) for name in names):
        numbers = index(frame, f"{_PREFIX}{grouping}", ("generator", "dimension", "label"))
        labels = _in_order(grouping, {key[2] for key in numbers})
        parts = tuple(
            part for name in generators if (part := _part(numbers, name, labels)) is not None
        )
        if parts:
            groups = tuple(_NOT_TOLD if name == UNKNOWN else formats.words(name) for name in labels)
            found.append(CoverageTable(formats.words(grouping), groups, parts))
    return found


def told_apart(row: ReaderRow | None) -> list[tuple[str, str]]:
    """Dimension and the labels that the reader can tell apart, where it cannot do all.

    Empty for a reader that has declared every label of every dimension, or of whom nothing is
    known.
    """
    if row is None or all(row.readable.get(name, ()) is None for name in DIMENSIONS):
        return []
    return [
        (formats.words(name), _labels(row.readable[name])) for name in dimension_order(row.readable)
    ]


def _labels(labels: Sequence[str] | None) -> str:
    return "all labels" if labels is None else ", ".join(formats.words(name) for name in labels)


def _in_order(grouping: str, labels: Iterable[str]) -> list[str]:
    known = (*DIMENSIONS[grouping].vocabulary, UNKNOWN)
    return sorted(labels, key=lambda name: (known.index(name) if name in known else -1, name))


def _part(numbers: Index, generator: str, labels: Sequence[str]) -> CoveragePart | None:
    """The generator's rows; None with a single group, or when nothing is unanswered."""
    mine = {key[1:]: number for key, number in numbers.items() if key[0] == generator}
    if len({label for _, label in mine}) < 2:
        return None
    lacking = {name for (name, _), number in mine.items() if number.n_missing}
    rows = tuple(
        (formats.words(name), tuple(_cell(mine.get((name, label))) for label in labels))
        for name in dimension_order(lacking)
    )
    return CoveragePart(generator, _sizes(mine, labels), rows) if rows else None


def _sizes(mine: Index, labels: Sequence[str]) -> tuple[str, ...]:
    most = dict.fromkeys(labels, 0)
    for (_, label), number in mine.items():
        most[label] = max(most[label], number.n or 0)
    return tuple(formats.whole(n) if n else "" for n in most.values())


def _cell(number: Number | None) -> CoverageCell:
    if number is None or number.point is None:
        return CoverageCell("", "")
    share = formats.coarse_percent(number.point)
    return CoverageCell(share, formats.share_interval(number.low, number.high))
