"""Worst and best case of a number when nothing is assumed about what is missing.

Of a missing item it is only assumed that it has some label of the label set. Every way of giving
them labels is possible; bounds are the smallest and the largest number that any way yields. They
are no confidence interval: they do not shrink with more items, and say nothing about sampling.
Source: Manski (1989), "Anatomy of the selection problem".
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contextbias.stats.entropy import plug_in_entropy

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Smallest and largest possible value, arrays of one shape; nan where undefined."""

    low: Floats
    """Smallest possible value."""
    high: Floats
    """Largest possible value."""


def proportion_bounds(x: ArrayLike, n: ArrayLike, missing: ArrayLike) -> Bounds:
    r"""Bounds of a proportion, :math:`[x / (n + m),\; (x + m) / (n + m)]`.

    Sharp: the lower end is the proportion when no missing item has the label, the upper end when
    all have it.

    Args:
        x: Items with the label, shape (...).
        n: Items known, x among them.
        missing: Items m that are not known.

    Returns:
        Fractions of 1; nan where n + m is 0.

    Raises:
        ValueError: Counts that are negative or not whole, or x above n.
    """
    a, b, m = _checked(x, n, missing)
    total = b + m
    return Bounds(_share(a, total), _share(a + m, total))


def range_bounds(x: ArrayLike, n: ArrayLike, missing: ArrayLike) -> Bounds:
    r"""Bounds of the range of proportions over conditions, in percentage points.

    With [l(c), h(c)] the bounds of condition c,

    .. math::
        \Delta_{high} = 100 \max_{c \ne d} (h(c) - l(d)), \qquad
        \Delta_{low} = 100 \max(0, \max_c l(c) - \min_c h(c)).

    The missing items of different conditions are free of each other, so that any point of the box
    of the three intervals is possible, up to whole items: the upper end is attained (at a corner);
    the lower end is attained with two conditions where it is above 0, and else the attainable
    minimum is less than 100 / min(n + m) points away.

    Args:
        x: Items with the label, conditions on the last axis.
        n: Items known.
        missing: Items that are not known. A condition with n + m = 0 is left out; one without a
            known item can be anything.

    Returns:
        Points, shape without the last axis; nan with fewer than two conditions.

    Raises:
        ValueError: As in `proportion_bounds`.
    """
    share = proportion_bounds(x, n, missing)
    there = np.isfinite(share.low)
    enough = there.sum(axis=-1) >= 2
    highest = np.where(there, share.high, -np.inf)
    lowest = np.where(there, share.low, np.inf)
    pairs = permutations(range(share.low.shape[-1]), 2)
    high = np.max([highest[..., c] - lowest[..., d] for c, d in pairs], axis=0)
    with np.errstate(invalid="ignore"):
        inner = np.where(there, share.low, -np.inf).max(axis=-1) - np.where(
            there, share.high, np.inf
        ).min(axis=-1)
    low = np.maximum(inner, 0.0)
    return Bounds(np.where(enough, 100 * low, np.nan), np.where(enough, 100 * high, np.nan))


def entropy_bounds(counts: ArrayLike, added: ArrayLike, cap: ArrayLike) -> Bounds:
    r"""Bounds of plug-in entropy when `added` mentions go to any labels, each at most `cap`.

    Let x(y) be the counts, and a(y) whole numbers with 0 <= a(y) <= cap and sum A. H of x + a is
    log N - sum f(x + a) / N with f(t) = t log t convex and N fixed, so that

    - H is largest when the mentions fill up the smallest counts (water-filling): as long as a label
      that may take one more lies below another that has been given one, moving it raises H;
    - H is smallest when they go to the largest count until that has `cap` more, then to the next:
      moving a mention from a smaller total to a larger one lowers H.

    Both ends are attained. Items with one label each add one mention: A = cap = m.

    Args:
        counts: Whole counts, shape (..., labels).
        added: Mentions A that are added, shape (...).
        cap: The most that one label can be given: missing items, since an item has a label once.

    Returns:
        Nats, shape (...); nan where nothing is counted and nothing added.

    Raises:
        ValueError: Numbers that are negative or not whole, or more mentions than the labels can
            take.
    """
    x = np.asarray(counts)
    if x.ndim == 0:
        raise ValueError("counts need an axis of labels")
    shape = x.shape[:-1]
    x, a, c = _whole(x), _whole(np.broadcast_to(added, shape)), _whole(np.broadcast_to(cap, shape))
    if np.any(a > c * x.shape[-1]):
        raise ValueError("more mentions are added than the labels can take")
    if x.shape[-1] == 0:
        return Bounds(np.full(shape, np.nan), np.full(shape, np.nan))
    return Bounds(plug_in_entropy(_concentrated(x, a, c)), plug_in_entropy(_levelled(x, a, c)))


def _concentrated(x: Integers, added: Integers, cap: Integers) -> Integers:
    """Counts sorted downwards, the first ones filled: each by `cap`, as far as `added` reaches."""
    ordered = -np.sort(-x, axis=-1)
    before = np.arange(x.shape[-1]) * cap[..., None]
    return np.asarray(ordered + np.clip(added[..., None] - before, 0, cap[..., None]))


def _levelled(x: Integers, added: Integers, cap: Integers) -> Integers:
    """Counts after filling up the smallest to a common level, none by more than `cap`."""
    top = x + cap[..., None]
    low, high = x.min(axis=-1), top.max(axis=-1)
    # The highest level whose filling takes no more than there is, by halving.
    while np.any(low < high):
        middle = (low + high + 1) // 2
        fits = _filled(x, top, middle).sum(axis=-1) - x.sum(axis=-1) <= added
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    found = _filled(x, top, low)
    rest = added - (found.sum(axis=-1) - x.sum(axis=-1))
    can_take = (x <= low[..., None]) & (low[..., None] < top)
    return np.asarray(found + (can_take & (np.cumsum(can_take, axis=-1) <= rest[..., None])))


def _filled(x: Integers, top: Integers, level: Integers) -> Integers:
    return np.asarray(np.clip(level[..., None], x, top))


def _share(x: Integers, total: Integers) -> Floats:
    out = np.full(x.shape, np.nan)
    share: Floats = np.divide(x, total, out=out, where=total > 0)
    return share


def _checked(x: ArrayLike, n: ArrayLike, missing: ArrayLike) -> tuple[Integers, ...]:
    a, b, m = (_whole(part) for part in np.broadcast_arrays(x, n, missing))
    if np.any(a > b):
        raise ValueError("x must not exceed n")
    return a, b, m


def _whole(values: ArrayLike) -> Integers:
    given = np.asarray(values)
    whole = given.astype(np.int64)
    if np.any(whole != given) or np.any(whole < 0):
        raise ValueError("counts must be whole and not negative")
    return whole
