"""Numbers that allow for the reader's errors, beside what was read: a choice of them for the page.

The page shows one population: a difference of conditions where people judged enough pictures of
both, else the shares of all pictures, or of one condition. tables/corrected.csv has them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from contextbias.report import formats
from contextbias.report.inputs import ALL
from contextbias.report.select import CONTRASTS, Index, Number, generators_in, index, is_judged
from contextbias.tables import CONDITIONS

_SHOWN = 12
"""Labels that are shown of each generator."""

_METHODS = ("wilson-clustered", "ppi", "misclassification")
_KEYS = ("generator", "dimension", "label")


@dataclass(frozen=True, slots=True)
class CorrectedRow:
    """One label: what the reader says, and what is left of it."""

    label: str
    """Dimension and label."""
    cells: tuple[tuple[str, str], ...]
    """Number and interval, one a method; the mark of a missing number with its reason."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """Corrected numbers of one population; `generators` is empty where people judged too few."""

    population: str
    """A contrast, a condition, or `ALL`."""
    is_contrast: bool
    """Whether the numbers are differences of shares; else they are shares."""
    generators: tuple[tuple[str, tuple[CorrectedRow, ...]], ...]
    """Generator and its labels, the largest numbers as read first."""
    some_images: bool
    """True where others of the study's pictures came after people's sample was drawn."""
    some_roles: bool
    """True where only some of the study's roles could be judged."""


def corrected(mine: pl.DataFrame, order: Sequence[str]) -> Corrected | None:
    """Choose what the page shows.

    Args:
        mine: Estimates of one reader.
        order: Generators in the order of the configuration.

    Returns:
        None where people judged no picture by itself.
    """
    rows = mine.filter(is_judged(), pl.col("role").is_null())
    if rows.is_empty():
        return None
    populations: list[tuple[str, str]] = [("contrast", name) for name in CONTRASTS]
    populations += [("condition", name) for name in (ALL, *CONDITIONS)]
    notes = set(rows["note"])
    some = {"some_images": "some_images" in notes, "some_roles": "some_roles" in notes}
    for column, name in populations:
        part = rows.filter(pl.col(column) == name)
        found = tuple(_generators(part, order, is_contrast=column == "contrast"))
        if found:
            return Corrected(name, column == "contrast", found, **some)
    return Corrected("", False, (), **some)


def _generators(
    rows: pl.DataFrame, order: Sequence[str], *, is_contrast: bool
) -> list[tuple[str, tuple[CorrectedRow, ...]]]:
    """Labels with a number of prediction-powered inference, the largest as read first."""
    numbers = [index(rows, "prevalence", _KEYS, method=method) for method in _METHODS]
    read, powered, _ = numbers
    found = []
    for generator in generators_in(rows, order, mean=False):
        keys = [
            key
            for key, number in powered.items()
            if key[0] == generator and number.point is not None and key in read
        ]
        keys.sort(key=lambda key: (-abs(read[key].point or 0.0), key[1:]))
        parts = tuple(_row(key, numbers, is_contrast=is_contrast) for key in keys[:_SHOWN])
        if parts:
            found.append((generator, parts))
    return found


def _row(key: tuple[str, ...], numbers: Sequence[Index], *, is_contrast: bool) -> CorrectedRow:
    label = f"{formats.words(key[1])}: {formats.words(key[2])}"
    return CorrectedRow(label, tuple(_cell(of.get(key), sign=is_contrast) for of in numbers))


def _cell(number: Number | None, *, sign: bool) -> tuple[str, str]:
    """A share in percent, or a difference of shares in percentage points, and its interval."""
    if number is None or number.point is None:
        note = number.note if number is not None else None
        return formats.MISSING, formats.words(note or "")
    ends = [None if end is None else 100 * end for end in (number.low, number.high)]
    point = formats.signed(100 * number.point, 1) if sign else formats.percent(number.point)
    return point, formats.interval(ends[0], ends[1], sign=sign, digits=1)
