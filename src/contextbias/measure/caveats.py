"""Notes of Bias Intensity: what a number does not rest on.

A dimension's number leaves out roles that were not read there, and an average leaves out dimensions
without a value. Both can differ between conditions and contrasts of one study, so that a contrast
need not be the difference of the two levels beside it. The notes say where that can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextbias.schema import COHORTS

Booleans = NDArray[np.bool_]

UNDEFINED = "not_defined"
"""Begins the note of a row without a point."""

DEGENERATE = "degenerate"
"""A dimension with one label."""

ONE_LABEL = "with one label only"
"""Ends what is said of such dimensions in an average."""


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


class _Flags(NamedTuple):
    """What is so of each generator's dimension, shape (generators, dimensions, slots) or without
    slots."""

    defined: Booleans
    fewer: Booleans
    single: Booleans
    one_label: Booleans


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
    - ``1 of 9 dimensions with one label only`` (or generators, of one dimension): these are the
      same in every condition, whatever the pictures show.
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
    all_flags = _Flags(*(np.zeros(shape, dtype=np.bool_) for _ in _Flags._fields))
    for part in parts:
        at = generators.index(part.generator), names.index(part.dimension)
        all_flags.defined[at] = part.defined
        all_flags.fewer[at] = part.defined & (part.left_out > 0)
        all_flags.single[at] = part.defined & (part.roles == 1)
        all_flags.one_label[at] = part.defined & part.degenerate
    degenerate = all(part.degenerate for part in parts)
    found: list[str | None] = []
    known: dict[bytes, str | None] = {}
    for slot in range(shape[2]):
        flags = _Flags(*(table[:, :, slot] for table in all_flags))
        # Most slots of most averages are alike.
        alike = b"".join(table.tobytes() for table in flags)
        if alike in known:
            found.append(known[alike])
            continue
        if level == "dimension":
            words = _of_generators(flags, degenerate=degenerate)
        else:
            lost = _cohorts_missing(flags.defined, [cohorts[name] for name in names])
            words = [lost if level == "all" else None, *_of_dimensions(flags)]
        known[alike] = joined(*words)
        found.append(known[alike])
    return tuple(found)


def _of_generators(flags: _Flags, *, degenerate: bool) -> list[str | None]:
    one_label = _part(flags.one_label.any(axis=1), "generator", f"{{}} {ONE_LABEL}")
    return [
        DEGENERATE if degenerate else None,
        _part(~flags.defined.any(axis=1), "generator", "{} missing"),
        _part(flags.fewer.any(axis=1), "generator", "roles left out in {}"),
        None if degenerate else one_label,
    ]


def _of_dimensions(flags: _Flags) -> list[str | None]:
    some = flags.defined.any(axis=1)
    if not some.any():
        return []
    words = [
        _part(~some, "generator", "{} missing"),
        # What a generator lacks altogether is said already.
        _part(~flags.defined[some].all(axis=0), "dimension", "{} missing"),
        _part(flags.fewer.any(axis=0), "dimension", "roles left out in {}"),
    ]
    if (flags.defined & ~flags.single).any():
        words.append(_part(flags.single.any(axis=0), "dimension", "{} on one role"))
    words.append(_part(flags.one_label.any(axis=0), "dimension", f"{{}} {ONE_LABEL}"))
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
