"""Evidence that conditions agree: score tests of equivalence, and the verdict in three values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from contextbias.stats.proportion import BoolArray, FloatArray, IntArray, counts


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Test that every pair of conditions differs by less than the margin."""

    p: FloatArray
    """Largest of the one-sided p of all pairs; NaN with fewer than two conditions."""
    pairs: IntArray
    """Pairs of conditions that were compared."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """One of three, or none of them where the label could not be tested."""

    invariant: BoolArray
    """All pairwise differences are shown to lie within the margin."""
    shifted: BoolArray
    """The rates differ significantly, and by more than the margin."""
    inconclusive: BoolArray
    """Tested, and neither was shown."""


def equivalence(
    x: ArrayLike, n: ArrayLike, *, margin: Fraction | float, design_effect: ArrayLike = 1.0
) -> Equivalence:
    """Two one-sided score tests for every pair of conditions.

    For a pair and margin d, H0: p1 - p2 <= -d is tested by
    z = (x1/n1 - x2/n2 + d) / sqrt(r1 (1 - r1) / n1 + r2 (1 - r2) / n2),
    with r1, r2 the maximum likelihood rates under r1 - r2 = -d, and its mirror image likewise; the
    p of a pair is the larger one. All pairs must be equivalent (intersection-union), so the p of
    the cell is the largest and needs no correction for the number of pairs. No continuity
    correction. At 100% in every image and d = .05, 52 images a condition are needed at level .05.

    Images that cluster are divided by the design effect of their condition first, hits likewise:
    the rates stay, and their variances grow by it.

    Args:
        x: Images that show the label, shape (…, conditions).
        n: Images read, same shape; 0 or NaN: absent, and its pairs are left out.
        margin: Margin d as a fraction of 1, in (0, 1).
        design_effect: Of each condition, broadcast to the same shape; NaN: unknown, and so is p
            where the condition has images.

    Raises:
        ValueError: As `proportion.counts`, a margin outside (0, 1), or a design effect below 1.

    Source: Farrington & Manning (1990), Statistics in Medicine 9, 1447-1454; Schuirmann (1987).
    """
    gap = float(margin)
    if not 0 < gap < 1:
        raise ValueError(f"the margin must lie in (0, 1), not {gap}")
    checked = counts(x, n)
    effect = np.broadcast_to(np.asarray(design_effect, dtype=np.float64), checked.n.shape)
    if np.any(effect < 1):
        raise ValueError("a design effect is at least 1")
    hits = checked.x / effect
    images = np.where(checked.present, checked.n / effect, np.nan)
    p = np.full(hits.shape[:-1], np.nan)
    for i, j in combinations(range(hits.shape[-1]), 2):
        first, second = (hits[..., i], images[..., i]), (hits[..., j], images[..., j])
        p = np.fmax(
            p, np.fmax(one_sided_p(*first, *second, gap), one_sided_p(*second, *first, gap))
        )
    present = np.asarray(checked.present.sum(axis=-1))
    unknown = np.any(checked.present & np.isnan(effect), axis=-1)
    return Equivalence(np.where(unknown, np.nan, p), present * (present - 1) // 2)


def one_sided_p(
    x1: FloatArray, n1: FloatArray, x2: FloatArray, n2: FloatArray, gap: float
) -> FloatArray:
    """P-value of H0: p1 - p2 <= -gap by the score test; falls as x1 rises or x2 falls.

    Args:
        x1: Images of the first condition that show the label, as floats.
        n1: Images of the first condition; NaN gives NaN.
        x2: Likewise of the second condition.
        n2: Likewise.
        gap: As a fraction of 1, in (0, 1).
    """
    r1, r2 = _restricted_rates(x1, n1, x2, n2, -gap)
    error = np.sqrt(r1 * (1.0 - r1) / n1 + r2 * (1.0 - r2) / n2)
    return np.asarray(ndtr(-((x1 / n1 - x2 / n2 + gap) / error)))


def _restricted_rates(
    x1: FloatArray, n1: FloatArray, x2: FloatArray, n2: FloatArray, difference: float
) -> tuple[FloatArray, FloatArray]:
    """Maximum likelihood rates under r1 - r2 = `difference`: a root of the cubic in r1.

    The likelihood equation a r³ + b r² + c r + d = 0 has three real roots; the trigonometric
    formula picks the one inside the parameter space. Clipping only removes rounding at its edge.
    """
    p1, p2, theta = x1 / n1, x2 / n2, n2 / n1
    a = 1.0 + theta
    b = -(1.0 + theta + p1 + theta * p2 + difference * (theta + 2.0)) / (3.0 * a)
    c = (difference**2 + difference * (2.0 * p1 + theta + 1.0) + p1 + theta * p2) / a
    d = -p1 * difference * (1.0 + difference) / a
    # Powers as products: NumPy's general power takes longer than all the rest.
    v = b * b * b - b * c / 2.0 + d / 2.0
    u = np.copysign(np.sqrt(np.maximum(b * b - c / 3.0, 0.0)), v)
    cube = u * u * u
    cosine = np.clip(v / np.where(cube == 0, 1.0, cube), -1.0, 1.0)
    root = 2.0 * u * np.cos((np.pi + np.arccos(cosine)) / 3.0) - b
    r1 = np.clip(root, max(0.0, difference), min(1.0, 1.0 + difference))
    return r1, np.clip(r1 - difference, 0.0, 1.0)


def verdicts(
    *, equivalence_p: ArrayLike, q: ArrayLike, within: ArrayLike, alpha: float = 0.05
) -> Verdicts:
    """The verdict in three values.

    ``invariant``: equivalence_p < alpha. ``shifted``: q < alpha and the range exceeds the margin.
    ``inconclusive``: neither. The first two exclude each other: below a level of one half,
    equivalence is only shown for observed differences inside the margin. A label that was left out
    of the adjusted family (q NaN: degenerate or unsupported) is never shifted.

    Args:
        equivalence_p: From `equivalence`; NaN: not testable, no verdict at all.
        q: Adjusted p of the homogeneity test; NaN: not in the family.
        within: `ConditionRange.within`.
        alpha: Level of both tests, in (0, .5).

    Raises:
        ValueError: A level outside (0, .5).
    """
    if not 0 < alpha < 0.5:
        raise ValueError(f"the level must lie in (0, 0.5), not {alpha}")
    p = np.asarray(equivalence_p, dtype=np.float64)
    invariant = np.asarray(p < alpha)
    beyond = ~np.asarray(within, dtype=np.bool_)
    shifted = ~np.isnan(p) & np.asarray(np.asarray(q, dtype=np.float64) < alpha) & beyond
    return Verdicts(invariant, shifted, ~np.isnan(p) & ~invariant & ~shifted)
