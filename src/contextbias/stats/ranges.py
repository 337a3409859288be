"""The range of a label's prevalence over conditions: interval, expectation, and CCS with it.

Delta = max p(c) - min p(c) is the largest of all pairwise differences, and 0 is the end of what it
can be. It is biased upwards: equal conditions of few images differ. Resampling the counts does not
repair that: at equal rates of one half and 30, 70 and 80 images, a basic or bias-corrected
parametric bootstrap of CCS holds the true score in 10% of samples at most. The intervals here rest
on pairwise differences instead, and need no random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from contextbias.stats.margins import Cells, distinct, each_table, mean_range
from contextbias.stats.proportion import (
    BoolArray,
    Counts,
    FloatArray,
    IntArray,
    counts,
    wilson,
)

LARGE_EXPECTED = 5
"""From this expected count of the rarer outcome on, in every condition, the closed form of
`expected_range` is used."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Interval; NaN where it is not defined."""

    low: FloatArray
    """Lower end."""
    high: FloatArray
    """Upper end."""


@dataclass(frozen=True, slots=True)
class ExpectedRange:
    """What Delta would be on average without any change."""

    pp: FloatArray
    """Percentage points; NaN with fewer than two conditions."""
    enumerated: BoolArray
    """True: summed over all tables; False: normal approximation, or not defined."""


def range_interval(x: ArrayLike, n: ArrayLike, *, confidence: float = 0.95) -> Ends:
    """Interval of Delta, in percentage points.

    For every ordered pair of conditions Newcombe's hybrid score limits of p(i) - p(j), with Wilson
    limits l, u of the rates: the lower is d - sqrt((p(i) - l(i))² + (u(j) - p(j))²), the upper
    d + sqrt((u(i) - p(i))² + (p(j) - l(j))²). With a = 1 - confidence:

    - upper end: the largest upper limit at a/2. It misses only if the limit of the widest pair
      does, so no correction for the number of pairs is needed.
    - lower end: the largest lower limit at a/2 divided by the number of pairs (Bonferroni), not
      below 0. It is 0 unless some pair differs significantly.

    Neither end collapses at 0 or 100%.

    Args:
        x: Images that show the label, shape (…, conditions).
        n: Images read, same shape; 0 or NaN: absent, and its pairs are left out.
        confidence: Nominal coverage, in (0, 1); the actual one is at least about that.

    Returns:
        NaN with fewer than two conditions.

    Raises:
        ValueError: As `proportion.counts`, or a confidence outside (0, 1).

    Source: Newcombe (1998), Statistics in Medicine 17, 873-890, method 10.
    """
    return _range_ends(counts(x, n), (1.0 - _checked(confidence)) / 2.0)


def consistency_interval(x: ArrayLike, n: ArrayLike, *, confidence: float = 0.95) -> Ends:
    """Interval of CCS = Prev / (1 + Delta), from one of Prev and one of Delta.

    Low: lower limit of Prev over 1 + upper end of Delta; high: upper limit of Prev over 1 + lower
    end of Delta. Prev has Wilson limits, Delta those of `range_interval`; each end gives half of
    its error to either, so that both together keep the confidence. What is covered is the score of
    the true rates, with the sample's sizes as weights.

    The interval is wide, since Delta of few images is uncertain and CCS falls steeply near
    Delta = 0: 50% in each of 30, 70 and 80 images gives about 2 to 58.

    Args:
        x: Images that show the label, shape (…, conditions).
        n: Images read, same shape; 0 or NaN: absent.
        confidence: Nominal coverage, in (0, 1).

    Returns:
        In percent, as CCS; NaN with fewer than two conditions.

    Raises:
        ValueError: As `range_interval`.
    """
    error = (1.0 - _checked(confidence)) / 4.0
    checked = counts(x, n)
    delta = _range_ends(checked, error)
    prev = wilson(checked.x.sum(axis=-1), checked.n.sum(axis=-1), confidence=1.0 - 2.0 * error)
    return Ends(100.0 * prev.low / (1.0 + delta.high), 100.0 * prev.high / (1.0 + delta.low))


def _checked(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence must lie in (0, 1), not {confidence}")
    return confidence


def _range_ends(checked: Counts, error: float) -> Ends:
    """Ends of Delta in percentage points, each of which misses with probability `error`."""
    present = np.asarray(checked.present.sum(axis=-1))
    pairs = present * (present - 1) // 2
    rate = checked.x / np.maximum(checked.n, 1)
    upper_arms = _arms(checked, np.full(present.shape, error))
    lower_arms = _arms(checked, error / np.maximum(pairs, 1))
    low = high = np.where(pairs > 0, 0.0, np.nan)
    for i, j in permutations(range(checked.n.shape[-1]), 2):
        d = rate[..., i] - rate[..., j]
        high = np.fmax(high, d + np.hypot(upper_arms[1][..., i], upper_arms[0][..., j]))
        low = np.fmax(low, d - np.hypot(lower_arms[0][..., i], lower_arms[1][..., j]))
    undefined = pairs == 0
    return Ends(np.where(undefined, np.nan, 100.0 * low), np.where(undefined, np.nan, 100.0 * high))


def _arms(checked: Counts, error: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far Wilson's limits lie below and above each rate; NaN where a condition is absent."""
    z = -ndtri(error)[..., None]
    n = np.where(checked.present, checked.n.astype(np.float64), np.nan)
    x = checked.x.astype(np.float64)
    centre = (x + z * z / 2) / (n + z * z)
    half = z * np.sqrt(x * (n - x) / n + z * z / 4) / (n + z * z)
    rate = x / n
    return np.asarray(rate - centre + half), np.asarray(centre + half - rate)


def expected_range(x: ArrayLike, n: ArrayLike, *, most_tables: int = 20_000) -> ExpectedRange:
    """Expectation of Delta if the label does not depend on the condition, given all margins.

    The hits are spread over the conditions by a multivariate hypergeometric law; the expectation is
    summed over all tables where an expected count is under `LARGE_EXPECTED`, or only two conditions
    have images, and the tables are at most `most_tables`. Elsewhere rates are nearly normal. The
    range of three numbers is half the sum of their three distances, so with S = sum x, N = sum n,
    v = S (N - S) / (N (N - 1)):

        E Delta = 1/2 sum over pairs of sqrt(2/pi) sqrt(v (1/n(i) + 1/n(j)))

    (without the 1/2 for two conditions). For three conditions that meet `LARGE_EXPECTED` it lies
    within 1% of the sum over all tables. For two it does not: the difference of two counts with a
    fixed sum moves in steps of two, and at 18 images each and 26 hits the closed form is 4% off.

    Images are taken as independent. Where they cluster, Delta without any change is larger.

    Args:
        x: Images that show the label, shape (…, conditions); at most three conditions.
        n: Images read, same shape; 0 or NaN: absent.
        most_tables: Largest table count to enumerate, for one cell.

    Raises:
        ValueError: As `proportion.counts`, or more than three conditions.
    """
    cells = distinct(x, n)
    if cells.images.shape[1] > 3:
        raise ValueError("the expectation of the range is worked out for up to three conditions")
    pp = _normal_range(cells.hits.sum(axis=1), cells.images)
    two = (cells.images > 0).sum(axis=1) == 2
    summed = two | (_smallest_expected(cells) < LARGE_EXPECTED)
    enumerated = cells.countable(most_tables) & summed
    rows = np.flatnonzero(enumerated)
    for tables in each_table(cells.hits[rows], cells.images[rows]):
        pp[rows[tables.rows]] = mean_range(tables)
    back = cells.inverse
    return ExpectedRange(np.asarray(pp[back]), np.asarray(enumerated[back]))


def _smallest_expected(cells: Cells) -> FloatArray:
    """Expected count of the rarer outcome in the smallest condition with images."""
    total = cells.images.sum(axis=1)
    fewest = np.min(cells.images, axis=1, where=cells.images > 0, initial=np.iinfo(np.int64).max)
    return np.asarray(fewest * (cells.hits.sum(axis=1) / np.maximum(total, 1)))


def _normal_range(s: IntArray, images: IntArray) -> FloatArray:
    """Closed form in percentage points; NaN with fewer than two conditions."""
    total = images.sum(axis=1).astype(np.float64)
    v = s * (total - s) / np.maximum(total * (total - 1.0), 1.0)
    present = (images > 0).sum(axis=1)
    summed = np.zeros(total.shape)
    for i, j in combinations(range(3), 2):
        both = (images[:, i] > 0) & (images[:, j] > 0)
        inverse = 1.0 / np.maximum(images[:, i], 1) + 1.0 / np.maximum(images[:, j], 1)
        summed += np.where(both, np.sqrt(2.0 / np.pi * v * inverse), 0.0)
    return np.where(present >= 2, 100.0 * summed / np.where(present == 3, 2.0, 1.0), np.nan)
