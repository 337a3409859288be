"""How often the verdict ``invariant`` comes out: power of the equivalence test on all pairs.

The power is the exact sum over all counts that the test of `equivalence` calls equivalent, as long
as there are not too many of them; beyond that, the observed rates are taken as normal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, ndtr, ndtri, xlog1py, xlogy

from contextbias.stats.equivalence import equivalence, one_sided_p
from contextbias.stats.power import LARGEST_SIZE, smallest_number
from contextbias.stats.proportion import BoolArray, FloatArray, IntArray

_EXACT_UP_TO = 1500  # likely counts of a condition; tables of this size take a fraction of a second
_REACH = 6.0  # standard deviations of a count that are summed over; 2e-9 lies beyond
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(80)


@dataclass(frozen=True, slots=True)
class EquivalencePower:
    """Probability that all pairs of conditions are called equivalent."""

    point: float
    """From 0 to 1; NaN with fewer than two conditions."""
    exact: bool
    """Summed over all counts; False: the observed rates were taken as normal."""


def equivalence_power(
    rates: ArrayLike, n: ArrayLike, *, margin: float, alpha: float = 0.05
) -> EquivalencePower:
    """Power of `equivalence.equivalence` on all pairs of two or three conditions.

    The sum of the products of the binomial probabilities over all counts at which every pair is
    equivalent at level alpha. Effective images are rounded down. Where a condition has more than
    1,500 likely counts, see `normal_equivalence_power`.

    Args:
        rates: True rates, shape (conditions,).
        n: (Effective) images, shape (conditions,); below 1: the condition is left out.
        margin: As a fraction of 1, in (0, 1).
        alpha: Level of the one-sided tests.

    Raises:
        ValueError: More than three conditions, a rate outside 0 to 1, or as `equivalence`.
    """
    p, images = _present(rates, np.floor(np.asarray(n, dtype=np.float64)))
    if p.size < 2:
        return EquivalencePower(math.nan, exact=True)
    found = [_likely_counts(rate, int(size)) for rate, size in zip(p, images, strict=True)]
    if max(counts.size for counts, _ in found) > _EXACT_UP_TO:
        return EquivalencePower(
            normal_equivalence_power(p, images, margin=margin, alpha=alpha), exact=False
        )
    whole = images.astype(np.int64)
    ok = {
        (i, j): _equivalent(found[i][0], whole[i], found[j][0], whole[j], margin, alpha)
        for i, j in combinations(range(p.size), 2)
    }
    chance = [probability for _, probability in found]
    if p.size == 2:
        return _exactly(chance[0] @ ok[0, 1] @ chance[1])
    third = (ok[0, 2] * chance[2]) @ ok[1, 2].T.astype(np.float64)
    return _exactly(chance[0] @ (ok[0, 1] * third) @ chance[1])


def _exactly(power: FloatArray) -> EquivalencePower:
    return EquivalencePower(min(float(power), 1.0), exact=True)  # a sum can round to above 1


def normal_equivalence_power(
    rates: ArrayLike, n: ArrayLike, *, margin: float, alpha: float = 0.05
) -> float:
    """`equivalence_power` for normally distributed rates.

    Pair (i, j) is equivalent when -margin + z s < p_i - p_j < margin - z s', with s and s' the
    standard errors at the rates nearest to p(i), p(j) on the two borders. The probability that all
    pairs are, is an integral over two of the rates. Too high by .14 at rates of 98% and 200 images
    a condition, by .03 at 95% and 450, by .007 at 90% and 820: the exact sum is for those.

    Args:
        rates: True rates, shape (conditions,).
        n: (Effective) images, same shape; need not be whole.
        margin: As a fraction of 1.
        alpha: Level of the one-sided tests.

    Returns:
        NaN with fewer than two conditions.

    Raises:
        ValueError: As `equivalence_power`.
    """
    p, images = _present(rates, np.asarray(n, dtype=np.float64))
    if p.size < 2:
        return math.nan
    error = np.sqrt(np.maximum(p * (1 - p), 1e-12) / images)
    room = _room(p, images, margin, float(ndtri(1.0 - alpha)))
    if min(room.values()) <= 0:
        return 0.0
    if p.size == 2:
        spread = math.hypot(*error)
        gap = p[0] - p[1]
        inside = ndtr((room[1, 0] - gap) / spread) - ndtr((-room[0, 1] - gap) / spread)
        return max(0.0, float(inside))
    return _three_within(p, error, room)


def invariance_floor(*, margin: float, alpha: float = 0.05, conditions: int = 3) -> int:
    """Images a condition below which ``invariant`` cannot come out, even at 100% in every image.

    About z² (1 - margin) / margin: 52 at a margin of 5 points and level .05. A condition of fewer
    images is never equivalent to another, whatever the size of the other.

    Args:
        margin: As a fraction of 1.
        alpha: Level of the one-sided tests.
        conditions: How many there are.
    """
    z = float(ndtri(1.0 - alpha))
    size = math.ceil(z * z * (1 - margin) / margin)
    # Rounding decides at a size at which the formula gives a whole number.
    while not equivalence([size] * conditions, [size] * conditions, margin=margin).p < alpha:
        size += 1
    return size


def size_for_equivalence(
    rates: ArrayLike,
    images: Callable[[int], ArrayLike],
    *,
    margin: float,
    power: float = 0.8,
    alpha: float = 0.05,
    limit: int = LARGEST_SIZE,
) -> int | None:
    """Smallest size at which ``invariant`` comes out with the wanted power.

    Args:
        rates: True rates, shape (conditions,).
        images: Size, such as seeds a prompt, to (effective) images of each condition.
        margin: As a fraction of 1.
        power: Wanted power.
        alpha: Level of the one-sided tests.
        limit: Largest size that is tried.

    Returns:
        None where no size up to `limit` is enough, as when images of few contexts are alike.
    """

    def roughly(size: int) -> bool:
        return normal_equivalence_power(rates, images(size), margin=margin, alpha=alpha) >= power

    def really(size: int) -> bool:
        return equivalence_power(rates, images(size), margin=margin, alpha=alpha).point >= power

    if not really(limit):
        return None
    return smallest_number(really, start=smallest_number(roughly, limit=limit) or 1, limit=limit)


def _present(rates: ArrayLike, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    p, images = np.broadcast_arrays(np.asarray(rates, dtype=np.float64), n)
    if p.ndim != 1 or p.size > 3:
        raise ValueError("the power is worked out for two or three conditions")
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError("rates must lie in 0 to 1")
    there = images > 0
    return p[there], images[there]


def _likely_counts(rate: float, n: int) -> tuple[IntArray, FloatArray]:
    """Counts of a binomial distribution but for its far tails, and their probabilities."""
    reach = _REACH * math.sqrt(n * rate * (1 - rate)) + _REACH
    low, high = max(0, math.floor(n * rate - reach)), min(n, math.ceil(n * rate + reach))
    x = np.arange(low, high + 1)
    ways = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
    return x, np.exp(ways + xlogy(x, rate) + xlog1py(n - x, -rate))


def _equivalent(
    x: IntArray, n: int, other_x: IntArray, other_n: int, margin: float, alpha: float
) -> BoolArray:
    """Whether two counts are called equivalent, for every pair of them.

    Both one-sided p run in one direction, so the equivalent counts lie between two ends that are
    found by bisection, and not one by one.
    """
    mine, other = x.astype(np.float64), other_x.astype(np.float64)
    ours, theirs = np.asarray(float(n)), np.asarray(float(other_n))

    def few_enough(position: IntArray) -> BoolArray:
        p = one_sided_p(mine, ours, other[position], theirs, margin)
        return np.asarray(p < alpha)

    def many_enough(position: IntArray) -> BoolArray:
        p = one_sided_p(other[position], theirs, mine, ours, margin)
        return np.asarray(p < alpha)

    size = other_x.size
    end = _how_many(few_enough, mine.size, size)
    start = _how_many(lambda position: ~many_enough(position), mine.size, size)
    position = np.arange(size)
    return np.asarray((position >= start[:, None]) & (position < end[:, None]))


def _how_many(holds: Callable[[IntArray], BoolArray], rows: int, size: int) -> IntArray:
    """How many of the positions 0 to size - 1, from the first on, `holds` is true at, by row."""
    low, high = np.zeros(rows, dtype=np.int64), np.full(rows, size, dtype=np.int64)
    while np.any(low < high):
        middle = (low + high) // 2
        true = holds(np.minimum(middle, size - 1))
        open_ = low < high
        low = np.where(open_ & true, middle + 1, low)
        high = np.where(open_ & ~true, middle, high)
    return low


def _room(p: FloatArray, n: FloatArray, margin: float, z: float) -> dict[tuple[int, int], float]:
    """(i, j) -> how far p_i may lie below p_j and still be called equivalent."""
    room = {}
    for i in range(p.size):
        for j in range(p.size):
            if i != j:
                # On the border the rates are margin apart; their weighted mean stays where it is.
                mean = (n[i] * p[i] + n[j] * p[j]) / (n[i] + n[j])
                low = mean - margin * n[j] / (n[i] + n[j])
                r = np.clip([low, low + margin], 0.0, 1.0)
                error = math.sqrt(r[0] * (1 - r[0]) / n[i] + r[1] * (1 - r[1]) / n[j])
                room[i, j] = margin - z * error
    return room


def _three_within(p: FloatArray, error: FloatArray, room: dict[tuple[int, int], float]) -> float:
    """P(all three pairs of normal rates lie within their room), by two Gauss-Legendre rules."""
    x = p[0] + 8.0 * error[0] * _NODES
    x_chance = np.exp(-32.0 * _NODES**2) * 8.0 * _WEIGHTS / math.sqrt(2 * math.pi)
    # y lies where p[1] makes it likely, and between x - room[1, 0] and x + room[0, 1].
    reach = 8.0 * error[1]
    low = np.maximum(x - room[1, 0], p[1] - reach)[:, None]
    high = np.minimum(x + room[0, 1], p[1] + reach)[:, None]
    half = np.maximum(high - low, 0.0) / 2
    y = (low + high) / 2 + half * _NODES
    density = np.exp(-0.5 * ((y - p[1]) / error[1]) ** 2) / (error[1] * math.sqrt(2 * math.pi))
    upper = np.minimum(x[:, None] + room[0, 2], y + room[1, 2])
    lower = np.maximum(x[:, None] - room[2, 0], y - room[2, 1])
    inside = np.maximum(ndtr((upper - p[2]) / error[2]) - ndtr((lower - p[2]) / error[2]), 0.0)
    return min(1.0, float(x_chance @ ((density * inside * half) @ _WEIGHTS)))
