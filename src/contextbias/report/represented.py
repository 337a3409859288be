"""Beside reference shares: over- and under-representation, and amplification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from contextbias.report import formats
from contextbias.report.inputs import ALL
from contextbias.report.panels import who
from contextbias.report.select import CONTRASTS, Index, Number, generators_in, index
from contextbias.tables import CONDITIONS

MOST_ROLES = 300
"""Rows of single roles on the page; the CSV file has all."""

_TITLES = {
    "representation_pp": "Over- and under-representation, mean over roles",
    "amplification_pp": "Amplification, mean over roles",
}
_MEAN_KEYS = ("generator", "condition", "contrast", "dimension", "label")
_ROLE_KEYS = ("generator", "role", "dimension", "label", "condition")


@dataclass(frozen=True, slots=True)
class MeanRow:
    """One generator and label, averaged over the roles with a share."""

    generator: str
    dimension: str
    label: str
    roles: str
    cells: tuple[tuple[str, str], ...]
    """Number and interval: the leading contrast, then conditions and all of them."""


@dataclass(frozen=True, slots=True)
class RoleRow:
    """One role and label of one generator, over all conditions."""

    generator: str
    role: str
    dimension: str
    label: str
    difference: str
    interval: str
    ratio: str
    amplification: str
    n: str


@dataclass(frozen=True, slots=True)
class Represented:
    """The section about reference shares."""

    columns: tuple[str, ...]
    """The leading contrast, conditions, and ``all``."""
    means: tuple[tuple[str, tuple[MeanRow, ...]], ...]
    """Title and rows."""
    roles: tuple[RoleRow, ...]
    """The largest differences first."""
    number: int
    """Rows of single roles that there are."""


def represented(frame: pl.DataFrame, order: Sequence[str]) -> Represented | None:
    """Collect the section; None for a study without reference shares.

    Args:
        frame: Estimates of one reader.
        order: Generators in the order of the configuration.
    """
    numbers = {name: index(frame, name, _MEAN_KEYS) for name in _TITLES}
    roles = _roles(frame)
    if not roles and not any(numbers.values()):
        return None
    keys = [key for table in numbers.values() for key in table]
    conditions = [c for c in (*CONDITIONS, ALL) if c in {key[1] for key in keys}]
    contrast = next((c for c in CONTRASTS if c in {key[2] for key in keys}), None)
    names = generators_in(frame, order)
    means = tuple(
        (title, rows)
        for name, title in _TITLES.items()
        if (rows := _means(numbers[name], names, conditions, contrast))
    )
    columns = tuple(formats.minus(c) for c in (contrast, *conditions) if c)
    return Represented(columns, means, tuple(roles[:MOST_ROLES]), len(roles))


def _means(
    numbers: Index, generators: Sequence[str], conditions: Sequence[str], contrast: str | None
) -> tuple[MeanRow, ...]:
    labels = sorted({key[3:] for key in numbers})
    rows = []
    for generator in generators:
        for dimension, label in labels:
            found = [numbers.get((generator, c, None, dimension, label)) for c in conditions]
            if contrast:  # first, where a phone shows it
                found.insert(0, numbers.get((generator, None, contrast, dimension, label)))
            sizes = [number.n for number in found if number is not None]
            if sizes:
                rows.append(
                    MeanRow(
                        generator=who(generator),
                        dimension=formats.words(dimension),
                        label=formats.words(label),
                        roles=formats.whole(sizes[0]),
                        cells=tuple(_cell(number) for number in found),
                    )
                )
    return tuple(rows)


def _cell(number: Number | None) -> tuple[str, str]:
    if number is None:
        return formats.MISSING, ""
    interval = formats.interval(number.low, number.high, sign=True, digits=1)
    return formats.signed(number.point, 1), interval


def _roles(frame: pl.DataFrame) -> list[RoleRow]:
    """Single roles over all conditions, the largest differences first."""
    found = {
        name: index(frame, name, _ROLE_KEYS)
        for name in ("representation_pp", "representation_ratio", "amplification_pp")
    }
    rows = [
        (key, number)
        for key, number in found["representation_pp"].items()
        if key[4] == ALL and number.point is not None
    ]
    rows.sort(key=lambda row: (-abs(row[1].point or 0.0), row[0]))
    result = []
    for key, number in rows:
        ratio, amplified = (
            found[name].get(key) for name in ("representation_ratio", "amplification_pp")
        )
        result.append(
            RoleRow(
                generator=key[0],
                role=key[1],
                dimension=formats.words(key[2]),
                label=formats.words(key[3]),
                difference=formats.signed(number.point, 1),
                interval=formats.interval(number.low, number.high, sign=True, digits=1),
                ratio=formats.plain(ratio.point if ratio else None, 2),
                amplification=formats.signed(amplified.point if amplified else None, 1),
                n=formats.whole(number.n),
            )
        )
    return result
