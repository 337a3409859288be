"""How far two readings of the same items agree: raw agreement and Cohen's kappa.

A reading gives an item one label, or a set of labels. Both are handled as pairs (item, label), so
that one label is a set of one. Items are taken as independent, or as alike within groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from contextbias.stats.labelled import clustered_wilson
from contextbias.stats.proportion import wilson

FloatArray = NDArray[np.float64]
"""Array of 64-bit floats."""
IntArray = NDArray[np.int64]
"""Array of 64-bit whole numbers."""


FEWEST_OTHERS = 5
"""The interval of kappa needs this many items that are not all about the most frequent label."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """A measure of agreement with its interval; NaN where it is undefined."""

    point: float
    """The measure."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end."""
    n: int
    """Items that both readings answered."""
    degenerate: bool
    """Both readings gave every item the same labels: agreement by chance is complete, and kappa
    says nothing."""


@dataclass(frozen=True, slots=True)
class LabelSets:
    """The labels that one reading gave: (item, label) pairs, each at most once."""

    items: IntArray
    """Numbers of items from 0, shape (pairs,)."""
    labels: IntArray
    """Numbers of labels from 0, same shape and one numbering for both readings."""

    @classmethod
    def of(cls, items: ArrayLike, labels: ArrayLike, *, n: int) -> LabelSets:
        """Check pairs; pairs that are given twice count once.

        Args:
            items: Whole numbers in [0, n).
            labels: Whole numbers from 0.
            n: How many items there are.

        Raises:
            ValueError: Shapes differ, or a number is out of range or not whole.
        """
        checked = [np.asarray(values) for values in (items, labels)]
        if checked[0].shape != checked[1].shape or checked[0].ndim != 1:
            raise ValueError(f"items {checked[0].shape} and labels {checked[1].shape} do not match")
        whole = [np.asarray(values, dtype=np.int64) for values in checked]
        if any(np.any(a != b) for a, b in zip(whole, checked, strict=True)):
            raise ValueError("items and labels must be whole numbers")
        if whole[0].size and (whole[0].min() < 0 or whole[0].max() >= n or whole[1].min() < 0):
            raise ValueError(f"items must lie in [0, {n}) and labels must not be negative")
        width = int(whole[1].max(initial=0)) + 1
        codes = np.unique(whole[0] * width + whole[1])
        return cls(codes // width, codes % width)

    @classmethod
    def of_labels(cls, labels: ArrayLike) -> LabelSets:
        """One label an item.

        Args:
            labels: Number of each item's label, shape (n,).
        """
        values = np.asarray(labels)
        return cls.of(np.arange(values.size), values, n=values.size)


def raw_agreement(
    first: LabelSets,
    second: LabelSets,
    n: int,
    *,
    group: IntArray | None = None,
    alpha: float = 0.05,
) -> Agreement:
    """Mean over items of the Jaccard similarity |A & B| / |A | B| of the two label sets.

    Of one label an item this is the share of items with the same label. Two empty sets agree
    completely. The interval is Wilson's where every item agrees completely or not at all, and else
    mean +- z s / sqrt(n), cut at 0 and 1. Of groups it is `clustered_wilson`.

    Args:
        first: Labels of one reading.
        second: Labels of the other.
        n: Items that both answered; those without a pair have the empty set.
        group: What each item belongs to (all questions about one picture), numbers from 0, shape
            (n,); None where each is its own.
        alpha: 1 - alpha is the level of the interval.

    Returns:
        NaN for n = 0.
    """
    if n == 0:
        return _undefined(0)
    of_first, of_second, common = _sizes(first, second, n)
    union = of_first + of_second - common
    each = np.where(union == 0, 1.0, common / np.maximum(union, 1))
    point = float(each.mean())
    if group is not None:
        rate = clustered_wilson(np.bincount(group, each), np.bincount(group), alpha=alpha)
        return Agreement(point, rate.low, rate.high, n, False)
    if np.all((each == 0) | (each == 1)):
        found = wilson(int(each.sum()), n, confidence=1 - alpha)
        return Agreement(point, float(found.low), float(found.high), n, False)
    half = _z(alpha) * float(each.std(ddof=1)) / n**0.5 if n > 1 else np.nan
    return Agreement(point, *_cut(point - half, point + half, 0.0), n, False)


def cohen_kappa(
    first: LabelSets,
    second: LabelSets,
    n: int,
    *,
    group: IntArray | None = None,
    alpha: float = 0.05,
) -> Agreement:
    """Cohen's kappa, for label sets pooled over labels.

    kappa = 1 - A / B. A = mean over items of the number of labels that only one reading gave;
    B = sum over labels of p (1 - q) + q (1 - p), the same by chance, with p and q the shares of
    items that the first and the second reading gave the label. Of one label an item this is
    Cohen's kappa for nominal labels (A is twice the share of disagreements), and the variance is
    that of Fleiss, Cohen and Everitt (1969); both come from the influence of each item,

        -(a - A) / B + A (b - mean b) / B^2,  b = sum over the first's labels of (1 - 2 q)
                                                + sum over the second's of (1 - 2 p).

    Where all items agree the variance is 0 and says nothing. The lower end is then
    1 - 2 (1 - w) / B, w the lower end of Wilson's interval of n out of n. Influences of one group
    are added up first; where all agree, n is the number of groups.

    Args:
        first: Labels of one reading.
        second: Labels of the other.
        n: Items that both answered.
        group: As of `raw_agreement`.
        alpha: 1 - alpha is the level of the interval.

    Returns:
        NaN, flagged degenerate, where B = 0: both gave all items the same labels. NaN for n = 0.
        An interval of NaN where a variance says nothing: in all but a few items (fewer than
        `FEWEST_OTHERS`; of groups, where there are) both readings gave the most frequent label
        alone. Kappa then hangs on those few, and the interval, which is one of large samples, holds
        the truth far too seldom. Where all items agree it is kept, for it does not rest on them.

    Sources: Cohen 1960; Fleiss, Cohen and Everitt 1969.
    """
    if n == 0:
        return _undefined(0)
    width = int(max(first.labels.max(initial=-1), second.labels.max(initial=-1))) + 1
    p, q = (np.bincount(each.labels, minlength=width) / n for each in (first, second))
    by_chance = float(np.sum(p * (1 - q) + q * (1 - p)))
    if by_chance == 0:
        return _undefined(n, degenerate=True)
    of_first, of_second, common = _sizes(first, second, n)
    apart = (of_first + of_second - 2 * common).astype(np.float64)
    mean = float(apart.mean())
    point = 1 - mean / by_chance
    if mean == 0:
        alone = n if group is None else len(np.unique(group))
        unseen = 1 - float(wilson(alone, alone, confidence=1 - alpha).low)
        return Agreement(1.0, *_cut(1 - 2 * unseen / by_chance, 1.0, -1.0), n, False)
    chance = np.bincount(first.items, 1 - 2 * q[first.labels], n)
    chance += np.bincount(second.items, 1 - 2 * p[second.labels], n)
    influence = -(apart - mean) / by_chance + mean * (chance - chance.mean()) / by_chance**2
    if group is not None:
        influence = np.bincount(group, influence)
        influence *= np.sqrt(len(influence) / max(len(influence) - 1, 1))
    error = float(np.sqrt(np.sum(influence**2))) / n
    others = _others(first, second, p + q, (of_first, of_second))
    telling = len(others) if group is None else len(np.unique(group[others]))
    half = _z(alpha) * error if error > 0 and telling >= FEWEST_OTHERS else np.nan
    return Agreement(point, *_cut(point - half, point + half, -1.0), n, False)


def _others(
    first: LabelSets, second: LabelSets, shares: FloatArray, sizes: tuple[IntArray, IntArray]
) -> IntArray:
    """Items to which one reading or both gave anything but the most frequent label alone."""
    top = int(np.argmax(shares))
    alone = np.ones(len(sizes[0]), np.bool_)
    for each, size in zip((first, second), sizes, strict=True):
        with_top = np.zeros(len(size), np.bool_)
        with_top[each.items[each.labels == top]] = True
        alone &= with_top & (size == 1)
    return np.flatnonzero(~alone)


def _sizes(first: LabelSets, second: LabelSets, n: int) -> tuple[IntArray, IntArray, IntArray]:
    """Labels an item, of the first, of the second, and of both; shape (n,)."""
    width = int(max(first.labels.max(initial=0), second.labels.max(initial=0))) + 1
    ours, theirs = (each.items * width + each.labels for each in (first, second))
    common: IntArray = np.intersect1d(ours, theirs, assume_unique=True) // width
    counted = [np.bincount(items, minlength=n) for items in (first.items, second.items, common)]
    return counted[0], counted[1], counted[2]


def _z(alpha: float) -> float:
    return float(ndtri(1 - alpha / 2))


def _cut(low: float, high: float, least: float) -> tuple[float, float]:
    """Ends of an interval cut at the least and the greatest possible value; NaN stays."""
    return float(np.maximum(low, least)), float(np.minimum(high, 1.0))


def _undefined(n: int, *, degenerate: bool = False) -> Agreement:
    return Agreement(np.nan, np.nan, np.nan, n, degenerate)
