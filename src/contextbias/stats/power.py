"""How much a study of a given size can find, before it is made: power and sizes.

Symbols: p(c) the rate of a label in condition c, n(c) images read in condition c. Where images of
one context are alike, n(c) is the number of effective images, images / design effect, and need not
be whole. Everything is a formula or an exact sum; perf/power.py checks it by simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, chndtr, fdtri, ncfdtr, nctdtr, ndtr, stdtrit

from contextbias.stats.proportion import FloatArray

LARGEST_SIZE = 10**6
"""Sizes are not looked for beyond this number."""

_STEPS = 60  # of a bisection: 2 to the -60 of the range, below rounding
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
_REACH = 8.0  # standard deviations that an integral over a normal density goes out


@dataclass(frozen=True, slots=True)
class Detectable:
    """The smallest effect that a test finds with the wanted power."""

    point: FloatArray
    """The effect; NaN where none reaches the power."""
    power: FloatArray
    """Power at the effect, or at the largest possible one where none reaches it."""


def homogeneity_power(
    rates: ArrayLike, n: ArrayLike, *, alpha: float = 0.05, error_df: float = np.inf
) -> FloatArray:
    """Power of the test that all conditions share one rate.

    The statistic sum n(c) (p(c) - q)² / (q (1 - q)), q = sum n p / sum n, is chi-squared with k - 1
    degrees of freedom and noncentrality of the same form at the true rates; with finite `error_df`,
    statistic / (k - 1) is noncentral F. Conditions with n = 0 are left out.

    Args:
        rates: True rates, shape (…, conditions).
        n: (Effective) images, broadcast to the same shape.
        alpha: Level of the test, in (0, 1).
        error_df: Degrees of freedom behind a design effect that was estimated; infinite: known.

    Returns:
        Shape (…); NaN with fewer than two conditions, and `alpha` where all rates are 0 or all 1.

    Raises:
        ValueError: A rate outside 0 to 1, a negative n, or a level outside (0, 1).

    Source: Cohen (1988), chapter 7; Muller & Peterson (1984) for the F.
    """
    _check_level(alpha)
    p, images = _rates_and_images(rates, n)
    there = images > 0
    df = np.maximum(there.sum(axis=-1) - 1, 1)
    total = np.maximum(images.sum(axis=-1), 1e-300)
    q = (images * p).sum(axis=-1) / total
    between = (images * (p - q[..., None]) ** 2).sum(axis=-1)
    away = between / np.where(q * (1 - q) > 0, q * (1 - q), 1.0)
    if np.isinf(error_df):
        found = 1.0 - chndtr(chdtri(df, alpha), df, away)
    else:
        found = 1.0 - ncfdtr(df, error_df, away, fdtri(df, error_df, 1.0 - alpha))
    return np.asarray(np.where(there.sum(axis=-1) >= 2, found, np.nan))


def range_power(rates: ArrayLike, n: ArrayLike, *, margin: float) -> FloatArray:
    """Probability that the observed range exceeds a margin, for normally distributed rates.

    1 - sum over i of the integral of f_i(x) times the product over j of F_j(x + margin) - F_j(x):
    condition i has the smallest observed rate x, and all others lie within the margin above it.

    Args:
        rates: True rates, shape (…, conditions).
        n: (Effective) images, broadcast to the same shape; 0: the condition is left out.
        margin: As a fraction of 1.

    Raises:
        ValueError: A rate outside 0 to 1, or a negative n.
    """
    p, images = _rates_and_images(rates, n)
    there = images > 0
    # A rate of exactly 0 or 1 has no spread; a little of it keeps the integral smooth.
    error = np.sqrt(p * (1 - p) / np.where(there, images, 1.0))
    error = np.maximum(error, margin / 100.0)
    within = np.zeros(p.shape[:-1])
    for i in range(p.shape[-1]):
        x = p[..., i, None] + _REACH * error[..., i, None] * _NODES
        density = np.exp(-0.5 * (_REACH * _NODES) ** 2) * _REACH * _WEIGHTS / np.sqrt(2 * np.pi)
        others = [j for j in range(p.shape[-1]) if j != i]
        inside = np.ones_like(x)
        for j in others:
            centre, spread = p[..., j, None], error[..., j, None]
            chance = ndtr((x + margin - centre) / spread) - ndtr((x - centre) / spread)
            inside = inside * np.where(there[..., j, None], chance, 1.0)
        within += np.where(there[..., i], (density * inside).sum(axis=-1), 0.0)
    return np.asarray(np.clip(1.0 - within, 0.0, 1.0))


def shift_power(
    rates: ArrayLike,
    n: ArrayLike,
    *,
    margin: float,
    alpha: float = 0.05,
    error_df: float = np.inf,
) -> FloatArray:
    """Power of the verdict ``shifted``: the test rejects, and the observed range exceeds a margin.

    The smaller of `homogeneity_power` and `range_power`: both events look at how far the same
    observed rates lie apart, so that one of them nearly contains the other.

    Args:
        rates: True rates, shape (…, conditions).
        n: (Effective) images, broadcast to the same shape.
        margin: As a fraction of 1.
        alpha: Level at which the adjusted test rejects; see `discovery_level`.
        error_df: As in `homogeneity_power`.

    Raises:
        ValueError: As `homogeneity_power`.
    """
    test = homogeneity_power(rates, n, alpha=alpha, error_df=error_df)
    return np.minimum(test, range_power(rates, n, margin=margin))


def discovery_level(share: float, power: float, *, alpha: float = 0.05) -> float:
    """Level at which single tests of a large family reject after Benjamini and Hochberg.

    p-values up to t are rejected, with t = alpha R and R the share that is rejected,
    R = share power + (1 - share) t; so t = alpha share power / (1 - alpha (1 - share)).

    Args:
        share: Share of the family that truly shifts, in (0, 1].
        power: Power for those.
        alpha: False discovery rate.

    Raises:
        ValueError: A number outside (0, 1), or a share of 0.

    Source: Genovese & Wasserman (2002), JRSS B 64, 499-517.
    """
    _check_level(alpha)
    _check_level(power)
    if not 0 < share <= 1:
        raise ValueError(f"the share must lie in (0, 1], not {share}")
    return alpha * share * power / (1.0 - alpha * (1.0 - share))


def shifted_rates(
    prevalence: ArrayLike, difference: ArrayLike, pattern: ArrayLike, *, conditions: int = 3
) -> FloatArray:
    """Rates of conditions that lie a range apart, moved towards one half.

    p(c) = p + s difference pattern(c), with s = -1 for p above one half, else 1: the direction in
    which the rates vary more, and in which there is room.

    Args:
        prevalence: p, the rate where the pattern is 0, shape (…).
        difference: Range, same shape.
        pattern: Of each condition, from 0 to 1, both of them present.
        conditions: How many there are.

    Returns:
        Shape (…, conditions), not cut to 0 to 1.

    Raises:
        ValueError: A pattern of another length, or without 0 and 1 as its ends.
    """
    weights = np.asarray(pattern, dtype=np.float64)
    if weights.shape != (conditions,) or weights.min() != 0 or weights.max() != 1:
        raise ValueError(f"a pattern of {conditions} conditions goes from 0 to 1, not {weights}")
    p, delta = np.asarray(prevalence, dtype=np.float64), np.asarray(difference, dtype=np.float64)
    moved: FloatArray = p[..., None] + (np.where(p > 0.5, -1.0, 1.0) * delta)[..., None] * weights
    return moved


def hardest_pattern(n: ArrayLike) -> FloatArray:
    """The pattern of `shifted_rates` that a test of these sizes finds hardest.

    The noncentrality of a range is smallest when its ends are the two smallest conditions, and the
    others lie at the mean of those two, weighted by their images.

    Args:
        n: (Effective) images, shape (conditions,), two conditions at least.
    """
    images = np.asarray(n, dtype=np.float64)
    order = np.argsort(images, kind="stable")
    low, high = order[0], order[1]
    both = images[low] + images[high]
    pattern = np.full(images.shape, images[high] / both if both > 0 else 0.5)
    pattern[low], pattern[high] = 0.0, 1.0
    return pattern


def detectable_range(
    prevalence: ArrayLike,
    n: ArrayLike,
    pattern: ArrayLike,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    margin: float | None = None,
    error_df: float = np.inf,
) -> Detectable:
    """Smallest range of the conditions' rates that is found with the wanted power, by bisection.

    Args:
        prevalence: Rate where `pattern` is 0, any shape.
        n: (Effective) images, shape (conditions,).
        pattern: As in `shifted_rates`.
        power: Wanted power, in (0, 1).
        alpha: Level of the test.
        margin: With a margin, the power of the verdict ``shifted`` counts (`shift_power`); without,
            that of the test alone (`homogeneity_power`).
        error_df: As in `homogeneity_power`.

    Returns:
        Range and power, of the shape of `prevalence`; NaN where no possible range is enough.

    Raises:
        ValueError: As `homogeneity_power`.
    """
    _check_level(power)
    p = np.asarray(prevalence, dtype=np.float64)
    images = np.asarray(n, dtype=np.float64)

    def at(difference: FloatArray) -> FloatArray:
        rates = np.clip(shifted_rates(p, difference, pattern, conditions=images.size), 0.0, 1.0)
        if margin is None:
            return homogeneity_power(rates, images, alpha=alpha, error_df=error_df)
        return shift_power(rates, images, margin=margin, alpha=alpha, error_df=error_df)

    return _bisect(at, np.zeros(p.shape), np.maximum(p, 1.0 - p), power)


def mean_half_width(roles: ArrayLike, sd: ArrayLike, *, alpha: float = 0.05) -> FloatArray:
    """Half the width of the interval of a mean over roles: t(1 - alpha/2, R - 1) sd / sqrt(R).

    The expanded bootstrap intervals of Bias Intensity are t intervals to first order.

    Args:
        roles: R, any shape; below 2 there is no interval.
        sd: Standard deviation over roles of what is averaged, sampling noise included.
        alpha: The interval has confidence 1 - alpha.

    Raises:
        ValueError: A level outside (0, 1).

    Source: Hesterberg (2015), The American Statistician 69, 371-386.
    """
    _check_level(alpha)
    r = np.asarray(roles, dtype=np.float64)
    quantile = stdtrit(np.maximum(r - 1, 1), 1.0 - alpha / 2)
    half = quantile * np.asarray(sd, dtype=np.float64) / np.sqrt(np.maximum(r, 1))
    return np.asarray(np.where(r >= 2, half, np.nan))


def mean_power(
    difference: ArrayLike, roles: ArrayLike, sd: ArrayLike, *, alpha: float = 0.05
) -> FloatArray:
    """Probability that the interval of a mean over roles leaves out 0: the two-sided t test.

    With T noncentral t of R - 1 degrees of freedom and noncentrality difference sqrt(R) / sd:
    P(T > t) + P(T < -t), t = t(1 - alpha/2, R - 1).

    Args:
        difference: True mean.
        roles: R; below 2 the power is NaN.
        sd: Standard deviation over roles, above 0.
        alpha: Level.

    Raises:
        ValueError: A level outside (0, 1), or an sd of 0 or below.
    """
    _check_level(alpha)
    spread = np.asarray(sd, dtype=np.float64)
    if np.any(spread <= 0):
        raise ValueError("the standard deviation over roles must be above 0")
    r = np.asarray(roles, dtype=np.float64)
    df = np.maximum(r - 1, 1)
    away = np.abs(np.asarray(difference, dtype=np.float64)) * np.sqrt(np.maximum(r, 1)) / spread
    quantile = stdtrit(df, 1.0 - alpha / 2)
    # The lower tail is below 1e-8 from 5 on, and the function is not defined far out.
    lower = np.where(away < 5, nctdtr(df, np.minimum(away, 5.0), -quantile), 0.0)
    found = 1.0 - nctdtr(df, np.minimum(away, quantile + 40.0), quantile) + lower
    return np.asarray(np.where(r >= 2, np.clip(found, 0.0, 1.0), np.nan))


def detectable_mean(
    roles: ArrayLike, sd: ArrayLike, *, power: float = 0.8, alpha: float = 0.05
) -> Detectable:
    """Smallest mean over roles whose interval leaves out 0 with the wanted power, by bisection.

    Args:
        roles: R, any shape; NaN below 2.
        sd: Standard deviation over roles, above 0, same shape.
        power: Wanted power, in (0, 1).
        alpha: Level.

    Raises:
        ValueError: As `mean_power`, or a power outside (0, 1).
    """
    _check_level(power)
    r, spread = np.broadcast_arrays(
        np.asarray(roles, dtype=np.float64), np.asarray(sd, dtype=np.float64)
    )
    high = spread * (stdtrit(np.maximum(r - 1, 1), 1.0 - alpha / 2) + 40.0)
    return _bisect(lambda x: mean_power(x, r, spread, alpha=alpha), np.zeros(r.shape), high, power)


def smallest_number(
    reaches: Callable[[int], bool], *, start: int = 1, limit: int = LARGEST_SIZE
) -> int | None:
    """Smallest whole number from 1 on that reaches a goal; None if `limit` does not.

    The goal is taken to stay reached from there on. Power of counts has small teeth, so a number a
    little smaller can do as well.

    Args:
        reaches: Whether a number is enough.
        start: Where to begin to look; near the answer it saves calls.
        limit: Largest number that is tried.
    """
    low, high = 0, max(1, min(start, limit))
    step = max(1, high // 64)
    while not reaches(high):
        if high >= limit:
            return None
        low, high, step = high, min(high + step, limit), step * 2
    step = max(1, (high - low) // 64)
    while high - step > low and reaches(high - step):
        high, step = high - step, step * 2
    low = max(low, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def _bisect(
    at: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray, goal: float
) -> Detectable:
    """Smallest argument between `low` and `high` at which an increasing function reaches a goal."""
    most = at(high)
    possible = most >= goal
    below, above = low.copy(), high.copy()
    for _ in range(_STEPS):
        middle = (below + above) / 2.0
        enough = at(middle) >= goal
        above, below = np.where(enough, middle, above), np.where(enough, below, middle)
    return Detectable(np.where(possible, above, np.nan), np.where(possible, at(above), most))


def _rates_and_images(rates: ArrayLike, n: ArrayLike) -> tuple[FloatArray, FloatArray]:
    p, images = np.broadcast_arrays(
        np.asarray(rates, dtype=np.float64), np.asarray(n, dtype=np.float64)
    )
    if p.ndim == 0:
        raise ValueError("rates need an axis of conditions")
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError("rates must lie in 0 to 1")
    if not np.all(images >= 0):
        raise ValueError("images must not be negative")
    return p, images


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"levels and powers lie in (0, 1), not {level}")
