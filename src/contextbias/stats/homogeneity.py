"""Do conditions share one rate? Pearson's chi-squared on a 2 x k table, and the paper's rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from contextbias.stats.proportion import BoolArray, FloatArray, IntArray, counts

SMALL_EXPECTED = 5
"""Below this expected count the asymptotic p is not to be relied on (Cochran's rule)."""


@dataclass(frozen=True, slots=True)
class Homogeneity:
    """Pearson's test of one rate in all conditions."""

    statistic: FloatArray
    """Chi-squared; NaN with fewer than two conditions."""
    df: IntArray
    """Conditions with images - 1 (0 with one condition, -1 with none)."""
    p: FloatArray
    """Upper tail of the chi-squared distribution; NaN with fewer than two conditions."""
    degenerate: BoolArray
    """Two conditions or more, and the label in none or all of the images: chi-squared 0, p 1."""
    smallest_expected: FloatArray
    """Smallest expected count of the 2 x k table; NaN with fewer than two conditions."""


def chi_squared(x: ArrayLike, n: ArrayLike) -> Homogeneity:
    """Pearson's chi-squared of present/absent by condition, without continuity correction.

    With N = sum n and S = sum x: sum over c of (x(c) N - n(c) S)² / (n(c) S (N - S)), the usual sum
    over both rows brought to one; df = conditions with images - 1. At 0 or 100% the table has an
    empty row: chi-squared is 0, p is 1, and the result is flagged degenerate.

    Args:
        x: Images that show the label, shape (…, conditions).
        n: Images read, same shape; 0 or NaN: absent, which takes the condition out of the test.

    Raises:
        ValueError: As `proportion.counts`.
    """
    checked = counts(x, n)
    hits, images = checked.x.astype(np.float64), checked.n.astype(np.float64)
    s, total = hits.sum(axis=-1), images.sum(axis=-1)
    df = np.asarray(checked.present.sum(axis=-1) - 1)
    tested = df >= 1
    degenerate = tested & ((s == 0) | (s == total))
    residual = hits * total[..., None] - images * s[..., None]
    # An absent condition has residual 0; the maximum only keeps 0 / 0 out.
    summed = (residual**2 / np.maximum(images, 1.0)).sum(axis=-1)
    statistic = summed / np.where(s * (total - s) > 0, s * (total - s), 1.0)
    statistic = np.where(tested, statistic, np.nan)
    p = np.where(tested, chdtrc(np.maximum(df, 1), statistic), np.nan)
    fewest = np.min(images, axis=-1, where=checked.present, initial=np.inf)
    rarer = np.where(tested, np.minimum(s, total - s) / np.maximum(total, 1.0), np.nan)
    expected = np.where(tested, np.where(tested, fewest, 0.0) * rarer, np.nan)
    return Homogeneity(statistic, df, p, np.asarray(degenerate), expected)


def paper_invariant(p: ArrayLike, within: ArrayLike, *, alpha: float = 0.05) -> BoolArray:
    """The paper's rule for an invariant association: p > alpha and the range within the margin.

    A large p is no evidence of no change; `equivalence.verdicts` asks for that evidence.

    Args:
        p: Asymptotic p of `chi_squared`; NaN (not testable) gives False.
        within: `ConditionRange.within`.
        alpha: Level of the test.
    """
    return np.asarray(np.asarray(p, dtype=np.float64) > alpha) & np.asarray(within, dtype=np.bool_)
