"""Bias Intensity of one generator and dimension: pooled and per role, raw and at equal support.

With the label set Y fixed over roles, conditions and replicates:

- ``bi_pooled``, raw support: x summed over roles, then BI.
- ``bi_pooled``, equal support: each role reduced to m images in every condition, m the fewest
  images that any of its conditions was read in; the mean over all such subsamples, in closed form
  (stats/subsample.py says what that is for lists). The unit is the image. A role that was not read
  in one condition is left out, and counted in the note.
- ``effective_labels``: exp(H) of the same two.
- ``bi_role``, equal support: each role's BI, then the mean over roles. A role's three conditions
  are compared at m mentions each, m the smallest of the three, by the exact mean over all
  subsamples. The unit is the mention: an image with several labels of a list gives several. A role
  with m = 0 is left out, and counted in the note.
- ``bi_role_miller_madow``, ``bi_role_grassberger``, raw support: each role's BI with the entropy
  corrected, then the mean over the same roles.

A contrast of ``bi_pooled`` uses the roles that were read in both of its conditions, so that it
compares the same roles. Intervals come from the paired role bootstrap; the estimands by role
resample the roles' values, which do not change with the resample. At equal support, replicates
weight the expected counts x m / n, moved to have the closed form as their sample's value: their
spread is that of drawing roles, which is what the interval is about. Averages over dimensions,
cohorts and generators are in levels.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from contextbias.measure.arrays import DimensionCounts, Integers, ReaderCounts
from contextbias.measure.caveats import DEGENERATE, joined
from contextbias.measure.caveats import left_out as words_for
from contextbias.stats.entropy import (
    bias_intensity,
    effective_labels,
    grassberger_entropy,
    miller_madow_entropy,
    x_log_x,
)
from contextbias.stats.resample import weighted_mean
from contextbias.stats.subsample import expected_entropy, pooled_subsample_entropy
from contextbias.tables import CONDITIONS

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Key = tuple[str, str]
"""Generator and dimension."""
RoleValues = dict[tuple[str, str], Floats]
"""(estimand, support) -> shape (roles, conditions), nan where a role is left out."""

CONTRASTS = (("CA-R", "CF"), ("CA-U", "CF"), ("CA-U", "CA-R"))
"""Pairs of conditions, first minus second."""

SLOTS: tuple[tuple[str | None, str | None], ...] = (
    *((condition, None) for condition in CONDITIONS),
    ("all", None),
    *((None, f"{a} - {b}") for a, b in CONTRASTS),
)
"""What is estimated of one dimension, as (condition, contrast): the columns of every array here."""

RAW, EQUAL = "raw", "equal"
"""Values of the column ``support``."""

_ALL = len(CONDITIONS)
_PLACES = [(CONDITIONS.index(a), CONDITIONS.index(b)) for a, b in CONTRASTS]
_CHUNK = 500_000
"""Sums held at a time: few enough for the processor's cache."""
_EXACT = 2**24
"""Whole numbers up to here are exact in single precision."""


@dataclass(frozen=True, slots=True, eq=False)
class Intensity:
    """One estimand at one level: of a dimension, or an average (see levels.py)."""

    estimand: str
    """``bi_pooled``, ``bi_role`` …"""
    support: str
    """``raw`` or ``equal``."""
    generator: str
    """Which generator, or ``mean``."""
    cohort: str
    """Which cohort, or ``all``."""
    dimension: str | None
    """Which dimension; None for averages over dimensions."""
    values: Floats
    """Shape (rows, slots), nan where undefined: the point, then a row for each other set of
    weights."""
    n: Integers
    """Per slot: images (pooled), roles averaged, or members of an average."""
    n_missing: Integers | None
    """Per slot: images that could not be read; None for averages."""
    roles: Integers
    """Per slot: roles that the value rests on: those with a mention, the fewest of its conditions.
    Of an average over generators the fewest of its members, of others the most."""
    left_out: Integers
    """Per slot: roles with images that the value does not rest on; 0 for averages."""
    notes: tuple[str | None, ...]
    """Per slot."""


def intensities(
    counts: ReaderCounts, weights: Floats, by_role: Mapping[Key, RoleValues] | None = None
) -> Iterator[Intensity]:
    """All Bias Intensities of one reader, by generator and dimension.

    Args:
        counts: The reader's counts.
        weights: Shape (rows, roles), whole; the first row is all ones.
        by_role: From `all_role_intensities` of these counts, where they are there already.

    Yields:
        The estimands of the module's docstring, for each dimension with at least one label; a slot
        of a condition that the generator has no image in is nan.
    """
    known = all_role_intensities(counts) if by_role is None else by_role
    for dimension in counts.dimensions:
        if dimension.labels:
            present = counts.images[dimension.generator].sum(axis=0) > 0
            yield from _pooled(dimension, present, weights)
            yield from _pooled_at_equal_support(dimension, present, weights)
            for name, values in known[dimension.generator, dimension.dimension].items():
                yield _averaged(name, dimension, values, present, weights)


def all_role_intensities(counts: ReaderCounts) -> dict[Key, RoleValues]:
    """(generator, dimension) -> `role_intensities`, for dimensions with a label."""
    return {
        (of.generator, of.dimension): role_intensities(
            of, counts.images[of.generator].sum(axis=0) > 0
        )
        for of in counts.dimensions
        if of.labels
    }


def role_support(counts: DimensionCounts, present: Booleans) -> Integers:
    """Mentions m that each role is compared at: the fewest of its conditions.

    Args:
        counts: Counts of one generator and dimension.
        present: Conditions that the generator has images in, at least one.

    Returns:
        Shape (roles,); 0 where one of these conditions has no mention.
    """
    return np.asarray(counts.x.sum(axis=2)[:, present].min(axis=1))


def image_support(counts: DimensionCounts, present: Booleans) -> Integers:
    """Images m that each role is reduced to: the fewest that one of its conditions was read in.

    Args:
        counts: Counts of one generator and dimension.
        present: Conditions that the generator has images in, at least one.

    Returns:
        Shape (roles,); 0 where one of these conditions was not read.
    """
    return np.asarray(counts.n[:, present].min(axis=1))


def role_intensities(counts: DimensionCounts, present: Booleans) -> RoleValues:
    """Each role's BI."""
    size = len(counts.labels)
    m = role_support(counts, present)
    used = (m > 0)[:, None] & present[None, :]
    mentions = np.where(used[:, :, None], counts.x, 0)
    entropies = {
        ("bi_role", EQUAL): expected_entropy(mentions, np.where(used, m[:, None], 0)),
        ("bi_role_miller_madow", RAW): miller_madow_entropy(mentions),
        ("bi_role_grassberger", RAW): grassberger_entropy(mentions),
    }
    return {key: bias_intensity(entropy, size) for key, entropy in entropies.items()}


def pooled_entropy(x: Integers | Floats, weights: Floats) -> Floats:
    """Entropy of labels pooled over roles, for every row of weights.

    Args:
        x: Counts, or expected ones, shape (roles, conditions, labels).
        weights: Shape (rows, roles); whole where the counts are.

    Returns:
        Shape (rows, conditions); nan where nothing is left to count.
    """
    roles, conditions, labels = x.shape
    counted = np.issubdtype(x.dtype, np.integer)
    largest = float(weights.sum(axis=1).max(initial=0)) * float(x.max(initial=0))
    kind: Any = np.float32 if counted and largest < _EXACT else np.float64
    by_role = np.ascontiguousarray(weights.T, dtype=kind)
    mentions, terms = np.zeros((2, conditions, len(weights)))
    step = max(1, _CHUNK // max(conditions * len(weights), 1))
    for i in range(0, labels, step):
        # Most roles lack most labels of an open vocabulary, so the product is one of sparse counts.
        # It also runs in one thread: those of BLAS wait for each other longer than they compute.
        part = x[:, :, i : i + step].transpose(1, 2, 0).astype(kind)
        product = _sparse(part.reshape(conditions * part.shape[1], roles)) @ by_role
        sums = product.reshape(*part.shape[:2], len(weights))
        mentions += sums.sum(axis=1, dtype=np.float64)
        terms += x_log_x(sums.astype(np.int64) if counted else sums).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        entropy = np.log(mentions) - terms / mentions
    return np.where(mentions > 0, np.maximum(entropy, 0.0), np.nan).T


def _sparse(dense: NDArray[Any]) -> csr_array:
    """What is not 0, without the detour over coordinates that SciPy makes: many are small."""
    there = dense != 0
    ends = np.concatenate([[0], np.cumsum(np.count_nonzero(there, axis=1))])
    return csr_array((dense[there], np.nonzero(there)[1], ends), shape=dense.shape)


def pooled_intensity(x: Integers | Floats, weights: Floats) -> Floats:
    """BI of labels pooled over roles; arguments and shape as `pooled_entropy`."""
    return bias_intensity(pooled_entropy(x, weights), x.shape[2])


def by_slot(by_condition: Floats, present: Booleans) -> Floats:
    """Conditions, their mean, and the contrasts: shape (rows, conditions) to (rows, slots).

    The mean is over the conditions that the generator has images in, and nan where one of these
    has no value; so is a contrast.
    """
    known = np.where(present, by_condition, np.nan)
    mean = known[:, present].mean(axis=1, keepdims=True)
    contrasts = [known[:, [a]] - known[:, [b]] for a, b in _PLACES]
    return np.concatenate([known, mean, *contrasts], axis=1)


def _forms(labels: int) -> Mapping[str, Callable[[Floats], Floats]]:
    """What is made of a pooled entropy."""
    return {"bi_pooled": lambda h: bias_intensity(h, labels), "effective_labels": effective_labels}


def _pooled(counts: DimensionCounts, present: Booleans, weights: Floats) -> Iterator[Intensity]:
    entropy = pooled_entropy(counts.x, weights)
    read, mentioned = counts.n > 0, counts.x.sum(axis=2) > 0
    n, roles = _slot_totals(counts.n, present), _resting(mentioned, present)
    left_out = _unread(counts, read, present)
    pairs = {}
    for slot, (a, b) in enumerate(_PLACES, start=_ALL + 1):
        both = read[:, a] & read[:, b]
        roles[slot] = (mentioned & both[:, None])[:, [a, b]].sum(axis=0).min()
        if (read[:, a] | read[:, b]).sum() > both.sum() and present[a] and present[b]:
            pairs[slot] = pooled_entropy(counts.x[both][:, [a, b]], weights[:, both])
            n[slot] = counts.n[both][:, [a, b]].sum()
    lost = _slot_totals(counts.missing, present)
    for estimand, form in _forms(len(counts.labels)).items():
        values = by_slot(form(entropy), present)
        for slot, pair in pairs.items():
            values[:, slot] = form(pair[:, 0]) - form(pair[:, 1])
        yield Intensity(
            estimand, RAW, counts.generator, counts.cohort, counts.dimension,
            values, n, lost, roles, left_out, _notes(counts, left_out),
        )  # fmt: skip


def _pooled_at_equal_support(
    counts: DimensionCounts, present: Booleans, weights: Floats
) -> Iterator[Intensity]:
    m = image_support(counts, present)
    used = m > 0
    point = np.full(_ALL, np.nan)
    point[present] = pooled_subsample_entropy(
        counts.x[used][:, present], counts.n[used][:, present], m[used, None]
    )
    expected = expected_entropies(counts, m, weights)
    entropy = expected + (point - expected[0])
    entropy[0] = point
    left_out = np.full(len(SLOTS), _with_images(counts) - used.sum(), dtype=np.int64)
    kept = np.where(used[:, None] & present, m[:, None], 0)
    for estimand, form in _forms(len(counts.labels)).items():
        yield Intensity(
            estimand, EQUAL, counts.generator, counts.cohort, counts.dimension,
            by_slot(form(entropy), present), _slot_totals(kept, present),
            _slot_totals(counts.missing, present),
            _resting((counts.x.sum(axis=2) > 0) & used[:, None], present), left_out,
            _notes(counts, left_out),
        )  # fmt: skip


def expected_entropies(counts: DimensionCounts, m: Integers, weights: Floats) -> Floats:
    """Pooled entropy of the expected counts x m / n; shape (rows, conditions)."""
    used = m > 0
    scale = m[used, None] / np.maximum(counts.n[used], 1)
    return pooled_entropy(counts.x[used] * scale[..., None], weights[:, used])


def _averaged(
    name: tuple[str, str],
    counts: DimensionCounts,
    by_role: Floats,
    present: Booleans,
    weights: Floats,
) -> Intensity:
    used = int(np.isfinite(by_role).any(axis=1).sum())
    left_out = np.full(len(SLOTS), _with_images(counts) - used, dtype=np.int64)
    everywhere = np.full(len(SLOTS), used, dtype=np.int64)
    return Intensity(
        *name, counts.generator, counts.cohort, counts.dimension,
        by_slot(weighted_mean(weights, by_role), present),
        everywhere, _slot_totals(counts.missing, present), everywhere, left_out,
        _notes(counts, left_out),
    )  # fmt: skip


def _slot_totals(table: Integers, present: Booleans) -> Integers:
    total = table.sum(axis=0)
    pairs = [total[a] + total[b] for a, b in _PLACES]
    return np.concatenate([total, [total[present].sum()], pairs]).astype(np.int64)


def _resting(mentioned: Booleans, present: Booleans) -> Integers:
    """Roles with something to count: the fewest of each slot's conditions."""
    total = mentioned.sum(axis=0)
    pairs = [(mentioned[:, [a, b]].sum(axis=0)).min() for a, b in _PLACES]
    return np.concatenate([total, [total[present].min()], pairs]).astype(np.int64)


def _with_images(counts: DimensionCounts) -> int:
    """Roles that have images of any condition."""
    return int((counts.n + counts.missing).any(axis=1).sum())


def _unread(counts: DimensionCounts, read: Booleans, present: Booleans) -> Integers:
    """Roles with images that were not read: per condition, in any of them, in any of a pair."""
    there = np.asarray((counts.n + counts.missing).any(axis=1))
    unread = there[:, None] & ~read
    pairs = [unread[:, [a, b]].any(axis=1).sum() for a, b in _PLACES]
    everywhere = unread[:, present].any(axis=1).sum()
    return np.array([*unread.sum(axis=0), everywhere, *pairs], dtype=np.int64)


def _notes(counts: DimensionCounts, left_out: Integers) -> tuple[str | None, ...]:
    degenerate = DEGENERATE if len(counts.labels) == 1 else None
    roles = _with_images(counts)
    return tuple(joined(degenerate, words_for(int(number), roles)) for number in left_out)
