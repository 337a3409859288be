"""Proportions of images that show a label: Wilson interval, prevalence, range and CCS.

Symbols: x(c) images of condition c that show the label, n(c) images of condition c that the
dimension was read from, p(c) = x(c) / n(c). Conditions lie on the last axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

FloatArray = NDArray[np.float64]
"""Array of 64-bit floats; NaN where a number is undefined."""
IntArray = NDArray[np.int64]
"""Array of 64-bit whole numbers."""
BoolArray = NDArray[np.bool_]
"""Array of truth values."""

MINIMUM_SUPPORT = 5
"""A label is supported when it occurs in at least this many images over all conditions."""

MAXIMUM_COUNT = 10**9
"""Largest accepted count; products of two of them still fit into 64 bits."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Checked counts: whole, 0 <= x <= n, and 0 of 0 where a condition is absent."""

    x: IntArray
    """Images that show the label, shape (…, conditions)."""
    n: IntArray
    """Images read, shape (…, conditions)."""

    @property
    def present(self) -> BoolArray:
        """Which conditions have images, shape (…, conditions)."""
        return self.n > 0


@dataclass(frozen=True, slots=True)
class Proportion:
    """A proportion with its interval; NaN where n is 0."""

    point: FloatArray
    """x / n, in [0, 1]."""
    low: FloatArray
    """Lower end."""
    high: FloatArray
    """Upper end."""
    n: IntArray
    """Images behind it."""


@dataclass(frozen=True, slots=True)
class Prevalence:
    """How often a label occurs over the conditions, in percent; NaN without any image."""

    pooled: FloatArray
    """100 sum x / sum n: each image weighs the same."""
    unweighted: FloatArray
    """100 times the mean of the rates of the conditions present: each condition weighs the same."""
    n: IntArray
    """sum n."""


@dataclass(frozen=True, slots=True)
class ConditionRange:
    """How far the rates of the conditions lie apart."""

    pp: FloatArray
    """100 (max p - min p) over the conditions present; NaN with fewer than two."""
    within: BoolArray
    """Decided in whole numbers: the range is at most the margin. False with fewer than two."""
    conditions: IntArray
    """Conditions with images."""


@dataclass(frozen=True, slots=True)
class ConsistencyScore:
    """Context Consistency Score of a label."""

    point: FloatArray
    """The score in (0, 100]; NaN where it is not defined."""
    everywhere: BoolArray
    """The label occurs in every condition."""
    supported: BoolArray
    """The label occurs in enough images."""


def margin_fraction(margin_pp: float | str | Fraction) -> Fraction:
    """Turn a margin in percentage points into an exact fraction of 1.

    A float stands for the shortest decimal that names it: 0.1 is one tenth.

    Args:
        margin_pp: Percentage points, above 0 and below 100.

    Raises:
        ValueError: Not a number, or outside (0, 100).
    """
    if not 0 < float(margin_pp) < 100:  # also catches nan, which is no Fraction
        problem = "the margin must lie between 0 and 100 percentage points"
        raise ValueError(f"{problem}, not {margin_pp}")
    exact = margin_pp if isinstance(margin_pp, (str, Fraction)) else repr(float(margin_pp))
    return Fraction(exact) / 100


def counts(x: ArrayLike, n: ArrayLike) -> Counts:
    """Check counts by condition and bring them to whole numbers.

    Args:
        x: Images that show the label, shape (…, conditions); NaN or 0 where n is absent.
        n: Images read; 0 or NaN: the condition is absent.

    Raises:
        ValueError: No condition axis, a count that is not whole, negative, above n or too large.
    """
    checked = _checked(x, n)
    if checked.n.ndim == 0:
        raise ValueError("counts need an axis of conditions")
    return checked


def _checked(x: ArrayLike, n: ArrayLike) -> Counts:
    found_x, found_n = np.broadcast_arrays(np.asarray(x), np.asarray(n))
    whole_n = _whole(found_n, "n", found_n)
    whole_x = _whole(found_x, "x", whole_n)
    if np.any(whole_x < 0) or np.any(whole_n < 0):
        raise ValueError("counts must not be negative")
    if np.any(whole_x > whole_n):
        raise ValueError("x must not exceed n")
    if np.any(whole_n > MAXIMUM_COUNT):
        raise ValueError(f"n must not exceed {MAXIMUM_COUNT}")
    return Counts(whole_x, whole_n)


def _whole(values: NDArray[np.generic], name: str, n: NDArray[np.generic]) -> IntArray:
    """Cast to int64; NaN becomes 0 where n is absent and is an error elsewhere."""
    if values.dtype.kind in "iu":
        return np.asarray(values, dtype=np.int64)
    as_float = np.asarray(values, dtype=np.float64)
    missing = np.isnan(as_float)
    if name == "x" and np.any(missing & (n != 0)):
        raise ValueError("x is missing where n is not")
    filled = np.where(missing, 0.0, as_float)
    if not np.all(np.isfinite(filled)) or np.any(filled != np.rint(filled)):
        raise ValueError(f"{name} must be whole numbers")
    return filled.astype(np.int64)


def distinct_cells(x: IntArray, n: IntArray) -> tuple[IntArray, IntArray]:
    """Find cells with the same counts, so that each is worked out once.

    Args:
        x: Whole counts, shape (cells, conditions).
        n: Likewise.

    Returns:
        Index of one cell of each kind, and for each cell the kind it belongs to. Where the counts
        are too large for one 64-bit key, every cell is its own kind.
    """
    columns = np.hstack([x, n])
    radix = [int(top) + 1 for top in columns.max(axis=0, initial=0)]
    if math.prod(radix) >= 2**63:
        every = np.arange(columns.shape[0])
        return every, every
    key = np.zeros(columns.shape[0], dtype=np.int64)
    for column, size in zip(columns.T, radix, strict=True):
        key = key * size + column
    _, index, inverse = np.unique(key, return_index=True, return_inverse=True)
    return np.asarray(index), np.asarray(inverse)


def wilson(x: ArrayLike, n: ArrayLike, *, confidence: float = 0.95) -> Proportion:
    """Wilson's score interval of a proportion, element by element.

    With z the normal quantile of the confidence: centre (x + z²/2) / (n + z²), half width
    z sqrt(x (n - x) / n + z²/4) / (n + z²). It never collapses at 0 or 100%.

    Args:
        x: Successes, any shape.
        n: Trials, same shape; 0 or NaN gives NaN.
        confidence: Nominal coverage, in (0, 1).

    Raises:
        ValueError: Counts as in `counts`, or a confidence outside (0, 1).

    Source: Wilson (1927), JASA 22, 209-212.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence must lie in (0, 1), not {confidence}")
    checked = _checked(x, n)
    hits, trials = checked.x.astype(np.float64), _absent_as_nan(checked.n)
    z = float(ndtri(0.5 + confidence / 2))
    centre = (hits + z * z / 2) / (trials + z * z)
    half = z * np.sqrt(hits * (trials - hits) / trials + z * z / 4) / (trials + z * z)
    # The ends are exactly 0 and 1 there; rounding would leave 1e-17.
    low = np.where(hits == 0, np.where(np.isnan(trials), np.nan, 0.0), centre - half)
    high = np.where(hits == trials, 1.0, centre + half)
    return Proportion(np.asarray(hits / trials), low, high, checked.n)


def _absent_as_nan(n: IntArray) -> FloatArray:
    """Avoid dividing by zero: a condition without images has NaN images."""
    return np.where(n > 0, n.astype(np.float64), np.nan)


def prevalence(x: ArrayLike, n: ArrayLike) -> Prevalence:
    """Prevalence of a label over conditions, in percent.

    Args:
        x: Images that show the label, shape (…, conditions).
        n: Images read, same shape; 0 or NaN: absent.

    Raises:
        ValueError: As `counts`.
    """
    checked = counts(x, n)
    total = checked.n.sum(axis=-1)
    pooled = 100.0 * checked.x.sum(axis=-1) / _absent_as_nan(total)
    rates = np.where(checked.present, checked.x / np.maximum(checked.n, 1), 0.0)
    conditions = _absent_as_nan(checked.present.sum(axis=-1))
    unweighted = 100.0 * rates.sum(axis=-1) / conditions
    return Prevalence(np.asarray(pooled), np.asarray(unweighted), np.asarray(total))


def condition_range(x: ArrayLike, n: ArrayLike, *, margin: Fraction) -> ConditionRange:
    """Range of the conditions' rates, and whether it is at most the margin.

    The decision is made in whole numbers: with margin a/b, |x1 n2 - x2 n1| b <= a n1 n2 for every
    pair. Exact ties are common (15/30 against 44/80 differ by exactly 5 pp) and count as within.

    Args:
        x: Images that show the label, shape (…, conditions).
        n: Images read, same shape; 0 or NaN: absent.
        margin: The margin as a fraction of 1, from `margin_fraction`.

    Raises:
        ValueError: As `counts`.
    """
    checked = counts(x, n)
    present = checked.present
    rates = 100.0 * checked.x / np.maximum(checked.n, 1)
    highest = np.max(rates, axis=-1, where=present, initial=-np.inf)
    lowest = np.min(rates, axis=-1, where=present, initial=np.inf)
    conditions = np.asarray(present.sum(axis=-1))
    tested = conditions >= 2
    spread = np.subtract(highest, lowest, where=tested, out=np.full(tested.shape, np.nan))
    return ConditionRange(np.asarray(spread), tested & _within(checked, margin), conditions)


def _within(checked: Counts, margin: Fraction) -> BoolArray:
    """Compare every pair in exact whole numbers; absent conditions are always within."""
    largest = int(checked.n.max(initial=1))
    scale = max(margin.denominator, margin.numerator)
    kind: type = np.int64 if largest * largest * scale < 2**63 else object
    x: NDArray[Any] = checked.x.astype(kind)
    n: NDArray[Any] = checked.n.astype(kind)
    result = np.ones(checked.n.shape[:-1], dtype=np.bool_)
    for i, j in combinations(range(checked.n.shape[-1]), 2):
        gap = abs(x[..., i] * n[..., j] - x[..., j] * n[..., i])
        allowed = n[..., i] * n[..., j]
        result &= np.asarray(gap * margin.denominator <= allowed * margin.numerator, np.bool_)
    return result


def consistency_score(
    x: ArrayLike, n: ArrayLike, *, minimum_support: int = MINIMUM_SUPPORT
) -> ConsistencyScore:
    """Context Consistency Score: CCS = Prev / (1 + Delta).

    Prev is the pooled prevalence in percent and Delta the range in percentage points. Defined only
    where the label occurs in every condition of the axis and in `minimum_support` images at least.

    Args:
        x: Images that show the label, shape (…, conditions).
        n: Images read, same shape; 0 or NaN: absent, which leaves the score undefined.
        minimum_support: Smallest sum x.

    Raises:
        ValueError: As `counts`.

    Source: the paper's section on CCS; the conditions as in the method page.
    """
    checked = counts(x, n)
    everywhere = np.asarray(np.all(checked.x > 0, axis=-1))
    supported = np.asarray(checked.x.sum(axis=-1) >= minimum_support)
    rates = 100.0 * checked.x / np.maximum(checked.n, 1)
    delta = rates.max(axis=-1) - rates.min(axis=-1)
    score = prevalence(checked.x, checked.n).pooled / (1.0 + delta)
    point = np.where(everywhere & supported, score, np.nan)
    return ConsistencyScore(point, everywhere, supported)
