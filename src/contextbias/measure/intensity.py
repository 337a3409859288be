"""Bias Intensity: pooled over roles, per role at matched support, and with Miller-Madow.

For one generator and dimension, with the label set Y fixed over roles, conditions and replicates:

- ``bi_pooled`` (raw support): x summed over roles, then BI.
- ``bi_role`` (equal support): each role's BI, then the mean over roles. Conditions differ in their
  number of images, and plug-in entropy depends on that; so a role's three conditions are compared
  at m mentions each, m the smallest of the three, by the exact mean over all subsamples. The unit
  is the mention: an image with several labels of a list gives several. A role with m = 0 is left
  out, and counted in the note.
- ``bi_role_miller_madow`` (raw support): each role's BI with the entropy corrected, then the mean
  over the same roles.

A contrast of ``bi_pooled`` uses the roles that were read in both of its conditions, so that it
compares the same roles. Intervals come from the paired role bootstrap; ``bi_role`` resamples
the roles' values, which do not change with the resample. Averages over dimensions, cohorts and
generators are in levels.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextbias.measure.arrays import DimensionCounts, Integers, ReaderCounts
from contextbias.stats.entropy import (
    bias_intensity,
    miller_madow_entropy,
    plug_in_entropy,
)
from contextbias.stats.resample import weighted_mean
from contextbias.stats.subsample import expected_entropy
from contextbias.tables import CONDITIONS

Floats = NDArray[np.float64]

CONTRASTS = (("CA-R", "CF"), ("CA-U", "CF"), ("CA-U", "CA-R"))
"""Pairs of conditions, first minus second."""

SLOTS: tuple[tuple[str | None, str | None], ...] = (
    *((condition, None) for condition in CONDITIONS),
    ("all", None),
    *((None, f"{a} - {b}") for a, b in CONTRASTS),
)
"""What is estimated of one dimension, as (condition, contrast): the columns of every array here."""

SUPPORT = {"bi_pooled": "raw", "bi_role": "equal", "bi_role_miller_madow": "raw"}
"""Estimand -> its support."""

_CHUNK = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Intensity:
    """One estimand at one level: of a dimension, or an average (see levels.py)."""

    estimand: str
    """``bi_pooled``, ``bi_role`` or ``bi_role_miller_madow``."""
    generator: str
    """Which generator, or ``mean``."""
    cohort: str
    """Which cohort, or ``all``."""
    dimension: str | None
    """Which dimension; None for averages over dimensions."""
    values: Floats
    """Shape (1 + replicates, slots): the point first; nan where undefined."""
    n: Integers
    """Per slot: images read (``bi_pooled``), roles averaged, or members of an average."""
    n_missing: Integers | None
    """Per slot: images that could not be read; None for averages."""
    roles: Integers
    """Per slot: roles that the value rests on: those with a mention, the fewest of its conditions.
    Of an average over generators the fewest of its members, of others the most."""
    notes: tuple[str | None, ...]
    """Per slot."""


def intensities(counts: ReaderCounts, weights: Floats) -> Iterator[Intensity]:
    """All Bias Intensities of one reader, by estimand, generator and dimension.

    Args:
        counts: The reader's counts.
        weights: Shape (1 + replicates, roles); the first row is all ones.

    Yields:
        Three estimands for each dimension with at least one label; a slot of a condition that the
        generator has no image in is nan.
    """
    for dimension in counts.dimensions:
        if not dimension.labels:
            continue
        present = counts.images[dimension.generator].sum(axis=0) > 0
        yield _pooled(dimension, present, weights)
        by_role = role_intensities(dimension, present)
        for estimand, values in by_role.items():
            yield _averaged(estimand, dimension, values, present, weights)


def role_support(counts: DimensionCounts, present: NDArray[np.bool_]) -> Integers:
    """Mentions m that each role is compared at: the fewest of its conditions.

    Args:
        counts: Counts of one generator and dimension.
        present: Conditions that the generator has images in, at least one.

    Returns:
        Shape (roles,); 0 where one of these conditions has no mention.
    """
    return np.asarray(counts.x.sum(axis=2)[:, present].min(axis=1))


def role_intensities(counts: DimensionCounts, present: NDArray[np.bool_]) -> dict[str, Floats]:
    """Each role's BI: estimand -> shape (roles, conditions), nan where the role is left out."""
    size = len(counts.labels)
    m = role_support(counts, present)
    used = (m > 0)[:, None] & present[None, :]
    mentions = np.where(used[:, :, None], counts.x, 0)
    matched = expected_entropy(mentions, np.where(used, m[:, None], 0))
    return {
        "bi_role": bias_intensity(matched, size),
        "bi_role_miller_madow": bias_intensity(miller_madow_entropy(mentions), size),
    }


def pooled_intensity(x: Integers | Floats, weights: Floats) -> Floats:
    """BI of labels pooled over roles, for every row of weights.

    Args:
        x: Counts or probabilities, shape (roles, conditions, labels).
        weights: Shape (rows, roles).

    Returns:
        Shape (rows, conditions); nan where nothing is left to count.
    """
    roles, conditions, labels = x.shape
    flat = np.asarray(x, dtype=np.float64).reshape(roles, conditions * labels)
    rows = max(1, _CHUNK // max(flat.shape[1], 1))
    parts = [
        plug_in_entropy((weights[i : i + rows] @ flat).reshape(-1, conditions, labels))
        for i in range(0, len(weights), rows)
    ]
    return bias_intensity(np.concatenate(parts), labels)


def _pooled(counts: DimensionCounts, present: NDArray[np.bool_], weights: Floats) -> Intensity:
    by_condition = pooled_intensity(counts.x, weights)
    values = by_slot(by_condition, present)
    read, mentioned = counts.n > 0, counts.x.sum(axis=2) > 0
    n, lost, roles = (
        _slot_totals(table, present)
        for table in (counts.n, counts.missing, mentioned.astype(np.int64))
    )
    roles[len(CONDITIONS)] = roles[: len(CONDITIONS)][present].min()
    notes = _notes(counts, np.zeros(len(SLOTS), dtype=np.int64))
    for slot, (a, b) in enumerate(_contrast_places(), start=len(CONDITIONS) + 1):
        both = read[:, a] & read[:, b]
        left_out = int((read[:, a] | read[:, b]).sum() - both.sum())
        roles[slot] = (mentioned & both[:, None])[:, [a, b]].sum(axis=0).min()
        if left_out and present[a] and present[b]:
            pair = pooled_intensity(counts.x[:, [a, b]] * both[:, None, None], weights)
            values[:, slot] = pair[:, 0] - pair[:, 1]
            n[slot] = counts.n[both][:, [a, b]].sum()
            notes[slot] = _joined(notes[slot], _left_out(left_out))
    return Intensity(
        "bi_pooled", counts.generator, counts.cohort, counts.dimension,
        values, n, lost, roles, tuple(notes),
    )  # fmt: skip


def _averaged(
    estimand: str,
    counts: DimensionCounts,
    by_role: Floats,
    present: NDArray[np.bool_],
    weights: Floats,
) -> Intensity:
    used = int(np.isfinite(by_role).any(axis=1).sum())
    left_out = int((counts.n + counts.missing).any(axis=1).sum()) - used
    everywhere = np.full(len(SLOTS), used, dtype=np.int64)
    return Intensity(
        estimand, counts.generator, counts.cohort, counts.dimension,
        by_slot(weighted_mean(weights, by_role), present),
        everywhere, _slot_totals(counts.missing, present), everywhere,
        tuple(_notes(counts, np.full(len(SLOTS), left_out, dtype=np.int64))),
    )  # fmt: skip


def _contrast_places() -> list[tuple[int, int]]:
    return [(CONDITIONS.index(a), CONDITIONS.index(b)) for a, b in CONTRASTS]


def by_slot(by_condition: Floats, present: NDArray[np.bool_]) -> Floats:
    """Conditions, their mean, and the contrasts: shape (rows, conditions) to (rows, slots).

    The mean is over the conditions that the generator has images in, and nan where one of these
    has no value; so is a contrast.
    """
    known = np.where(present, by_condition, np.nan)
    mean = known[:, present].mean(axis=1, keepdims=True)
    contrasts = [known[:, [a]] - known[:, [b]] for a, b in _contrast_places()]
    return np.concatenate([known, mean, *contrasts], axis=1)


def _slot_totals(table: Integers, present: NDArray[np.bool_]) -> Integers:
    total = table.sum(axis=0)
    pairs = [total[a] + total[b] for a, b in _contrast_places()]
    return np.concatenate([total, [total[present].sum()], pairs]).astype(np.int64)


def _notes(counts: DimensionCounts, left_out: Integers) -> list[str | None]:
    degenerate = "degenerate" if len(counts.labels) == 1 else None
    return [_joined(degenerate, _left_out(int(number))) for number in left_out]


def _left_out(roles: int) -> str | None:
    if not roles:
        return None
    return f"{roles} role{'s' if roles > 1 else ''} left out"


def _joined(*notes: str | None) -> str | None:
    return "; ".join(note for note in notes if note) or None
