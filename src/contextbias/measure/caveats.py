"""Notes of Bias Intensity: what a number does not rest on.

A dimension's number leaves out roles that were not read there, and an average leaves out dimensions
without a value. Both can differ between conditions and contrasts of one study, so that a contrast
need not be the difference of the two levels beside it. The notes say where that can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextbias.schema import COHORTS

Booleans = NDArray[np.bool_]

UNDEFINED = "not_defined"
"""Begins the note of a row without a point."""

DEGENERATE = "degenerate"
"""A dimension with one label."""


@dataclass(frozen=True, slots=True)
class Part:
    """One generator's dimension in an average."""

    generator: str
    """Which generator."""
    cohort: str
    """Cohort of the dimension."""
    dimension: str
    """Which dimension."""
    defined: Booleans
    """Per slot: it has a value."""
    left_out: NDArray[np.int64]
    """Per slot: roles that were left out."""
    roles: NDArray[np.int64]
    """Per slot: roles that the value rests on."""
    degenerate: bool
    """It has one label."""


def joined(*notes: str | None) -> str | None:
    """Notes in one string, parted by a semicolon; None for none."""
    return "; ".join(note for note in notes if note) or None


def left_out(number: int, roles: int) -> str | None:
    """Words for roles that a number does not rest on.

    Args:
        number: Roles left out.
        roles: Roles with images, those left out among them.
    """
    return f"{number} of {_several(roles, 'role')} left out" if number else None


def average_notes(
    parts: Sequence[Part], generators: Sequence[str], *, level: str
) -> tuple[str | None, ...]:
    """Notes of one average.

    - ``degenerate`` (one dimension): it has one label in every generator.
    - ``3 of 4 cohorts missing`` (overall values): cohorts without a value, in some generator.
    - ``1 of 2 generators missing`` (means): generators without a value.
    - ``1 of 9 dimensions missing``: dimensions without a value, in some generator.
    - ``roles left out in 2 of 9 dimensions`` (or generators): these rest on fewer roles.
    - ``1 of 9 dimensions on one role``: it moves the point and adds no width to the interval. Not
      said where none rests on more: there is no interval then.

    Args:
        parts: All dimensions below the average, those without a value too; at least one.
        generators: Generators that the average goes over.
        level: ``dimension`` (a mean over generators), ``cohort`` or ``all``.

    Returns:
        One note a slot.
    """
    names = sorted({part.dimension for part in parts})
    cohorts = {part.dimension: part.cohort for part in parts}
    shape = (len(generators), len(names), len(parts[0].defined))
    defined, fewer, single = (np.zeros(shape, dtype=np.bool_) for _ in range(3))
    for part in parts:
        at = generators.index(part.generator), names.index(part.dimension)
        defined[at] = part.defined
        fewer[at] = part.defined & (part.left_out > 0)
        single[at] = part.defined & (part.roles == 1)
    degenerate = DEGENERATE if all(part.degenerate for part in parts) else None
    found: list[str | None] = []
    known: dict[bytes, str | None] = {}
    for slot in range(shape[2]):
        table = defined[:, :, slot], fewer[:, :, slot], single[:, :, slot]
        # Most slots of most averages are alike.
        alike = b"".join(each.tobytes() for each in table)
        if alike in known:
            found.append(known[alike])
            continue
        if level == "dimension":
            words = [degenerate, *_of_generators(*table)]
        else:
            lost = _cohorts_missing(table[0], [cohorts[name] for name in names])
            words = [lost if level == "all" else None, *_of_dimensions(*table)]
        known[alike] = joined(*words)
        found.append(known[alike])
    return tuple(found)


def _of_generators(defined: Booleans, fewer: Booleans, _: Booleans) -> list[str | None]:
    missing = _part(~defined.any(axis=1), "generator", "{} missing")
    return [missing, _part(fewer.any(axis=1), "generator", "roles left out in {}")]


def _of_dimensions(defined: Booleans, fewer: Booleans, single: Booleans) -> list[str | None]:
    some = defined.any(axis=1)
    if not some.any():
        return []
    words = [
        _part(~some, "generator", "{} missing"),
        # What a generator lacks altogether is said already.
        _part(~defined[some].all(axis=0), "dimension", "{} missing"),
        _part(fewer.any(axis=0), "dimension", "roles left out in {}"),
    ]
    if (defined & ~single).any():
        words.append(_part(single.any(axis=0), "dimension", "{} on one role"))
    return words


def _cohorts_missing(defined: Booleans, cohorts: Sequence[str]) -> str | None:
    some = defined.any(axis=1)
    of = np.array(cohorts)
    there = [bool(defined[some][:, of == name].any(axis=1).all()) for name in COHORTS]
    return _part(~np.array(there), "cohort", "{} missing") if some.any() else None


def _part(which: object, noun: str, words: str) -> str | None:
    flags = np.asarray(which)
    number = int(flags.sum())
    return words.format(f"{number} of {_several(flags.size, noun)}") if number else None


def _several(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
