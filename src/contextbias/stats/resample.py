"""The role bootstrap: weights once, shared by whatever is compared, and intervals.

A replicate draws as many roles as there are, with replacement. Drawing is the same as weighting:
row b of the weights says how often each role was drawn, and every statistic that adds up over
roles is one matrix product. Using one set of weights for all conditions and generators keeps the
comparison between them paired. Source: Efron and Tibshirani (1993), chapters 6 and 13.

Percentiles of few roles are too narrow: `expansion` says by how much, `expand` makes it good.
Bias-corrected and accelerated intervals (`bca_interval`) need `jackknife_weights` beside them. In
the two-level bootstrap, `prompt_weights` draws prompts within the drawn roles. `unpaired_weights`
draw each condition on its own, as the paper's released code does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtrit

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A point with its interval; arrays of one shape."""

    point: Floats
    """The statistic of the sample itself."""
    low: Floats
    """Lower end; nan where it is undefined."""
    high: Floats
    """Upper end; nan where it is undefined."""
    n: NDArray[np.int64]
    """Replicates in which the statistic was defined."""


def role_weights(roles: int, replicates: int, rng: np.random.Generator) -> Floats:
    """Draw the weights of a role bootstrap.

    Args:
        roles: Number of roles, at least 1.
        replicates: Number of replicates B; 0 for none.
        rng: Source of randomness.

    Returns:
        Shape (B, roles): how often each role was drawn; every row sums to `roles`.

    Raises:
        ValueError: No role, or a negative number of replicates.
    """
    if roles < 1 or replicates < 0:
        raise ValueError(f"cannot draw {replicates} replicates of {roles} roles")
    drawn = rng.multinomial(roles, np.full(roles, 1 / roles), size=replicates)
    return np.asarray(drawn, dtype=np.float64)


def jackknife_weights(roles: int) -> Floats:
    """Weights that leave out one role each.

    Args:
        roles: Number of roles.

    Returns:
        Shape (roles, roles): ones, and 0 on the diagonal.
    """
    return np.asarray(1.0 - np.eye(roles))


def unpaired_weights(
    conditions: int, roles: int, replicates: int, rng: np.random.Generator
) -> Floats:
    """Weights of a role bootstrap that draws anew for every condition.

    A difference of conditions then varies with the difference of two sets of roles, although the
    study has the same roles in both: the intervals are wider than those of paired weights.

    Args:
        conditions: Number of conditions.
        roles: Number of roles, at least 1.
        replicates: Number of replicates B; 0 for none.
        rng: Source of randomness.

    Returns:
        Shape (conditions, B, roles); every row sums to `roles`.

    Raises:
        ValueError: As `role_weights`.
    """
    return np.stack([role_weights(roles, replicates, rng) for _ in range(conditions)])


def prompt_weights(
    weights: ArrayLike, role: ArrayLike, stratum: ArrayLike, rng: np.random.Generator
) -> Floats:
    """Second level of the two-level bootstrap: prompts, drawn within each drawn role.

    Each time that a role was drawn, as many of its prompts are drawn, with replacement, as the role
    has in a stratum (a condition). A role drawn w times draws w k of its k prompts.

    Args:
        weights: Weights of roles, whole, shape (B, roles).
        role: Index of each prompt's role, shape (P,).
        stratum: Number of each prompt's condition, shape (P,).
        rng: Source of randomness.

    Returns:
        Shape (B, P): how often each prompt was drawn.

    Source: Davison and Hinkley (1997), section 3.8, both levels with replacement.
    """
    w = np.asarray(weights, dtype=np.int64)
    cells = np.stack([np.asarray(each, dtype=np.int64) for each in (role, stratum)])
    found = np.zeros((len(w), cells.shape[1]))
    order = np.lexsort(cells[::-1])
    starts = np.nonzero(np.diff(cells[:, order], prepend=-1).any(axis=0))[0]
    for prompts in np.split(order, starts[1:]):
        k = len(prompts)
        if k:
            drawn = w[:, cells[0, prompts[0]]] * k
            found[:, prompts] = rng.multinomial(drawn, np.full(k, 1 / k))
    return found


def weighted_mean(weights: ArrayLike, values: ArrayLike) -> Floats:
    """Mean over roles of a quantity that each role has, once a row of `weights`.

    Args:
        weights: Shape (B, roles).
        values: Shape (roles, ...); nan where a role has no value, which leaves it out.

    Returns:
        Shape (B, ...); nan where no role with a value has weight.
    """
    w = np.asarray(weights, dtype=np.float64)
    v = np.asarray(values, dtype=np.float64)
    known = np.isfinite(v)
    if known.all():
        top = np.tensordot(w, v, axes=1)
        bottom = np.broadcast_to(w.sum(axis=1).reshape(-1, *(1,) * (v.ndim - 1)), top.shape)
    else:
        top = np.tensordot(w, np.where(known, v, 0.0), axes=1)
        bottom = np.tensordot(w, known.astype(np.float64), axes=1)
    mean: Floats = np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom > 0)
    return mean


def expansion(roles: ArrayLike, alpha: float) -> Floats:
    """Factor by which percentile intervals of few roles have to be stretched.

    Take the mean of R values with standard deviation s (divisor R - 1). Its t interval reaches
    t(1 - alpha/2, R - 1) s / sqrt(R) to either side. Replicates of the mean have the standard
    error sqrt((R - 1)/R) s / sqrt(R), since a resample varies as the R values do with divisor R;
    their percentiles lie about z(1 - alpha/2) of these from the mean. The ratio of both is

        f = sqrt(R/(R - 1)) t(1 - alpha/2, R - 1) / z.

    No replicate of a mean of R values lies further from it than R of the most distant value: at
    most sqrt(R (R - 1)) standard errors. Percentiles cannot reach z where z is more than that, so
    z is the smaller of both. At 95% that matters for two roles only: their replicates lie sqrt(2)
    standard errors away or not at all, and f = t(1 - alpha/2, 1) gives the t interval exactly.

    At 95%, f is 12.71 for 2 roles, 2.69 for 3, 1.87 for 4, 1.17 for 12, 1.02 for 92.

    Args:
        roles: Number of roles R that a statistic rests on, any shape.
        alpha: 1 minus the level, in (0, 1).

    Returns:
        Shape of `roles`; nan where there are fewer than two, which show no spread.

    Raises:
        ValueError: `alpha` outside (0, 1).

    Source: Hesterberg (2015), "What teachers should know about the bootstrap": the expanded
    percentile interval. It takes further percentiles; these end at the outermost replicate, which
    is too near for few roles, so here the distance is stretched.
    """
    _check_alpha(alpha)
    r = np.asarray(roles, dtype=np.float64)
    known = np.where(r >= 2, r, np.nan)
    z = np.minimum(ndtri(1 - alpha / 2), np.sqrt(known * (known - 1)))
    t = stdtrit(known - 1, 1 - alpha / 2)
    return np.asarray(np.sqrt(known / (known - 1)) * t / z, dtype=np.float64)


def expand(replicates: ArrayLike, factor: ArrayLike) -> Floats:
    """Multiply the distance of replicates from their mean.

    Args:
        replicates: Shape (B, ...); nan where a replicate leaves the statistic undefined.
        factor: What to multiply with, of the shape after the first axis; nan for no replicates.

    Returns:
        Shape of `replicates`, with the same mean; nan where `replicates` or `factor` is.
    """
    draws = np.asarray(replicates, dtype=np.float64)
    mean = _mean(draws)
    return np.asarray(mean + np.asarray(factor, dtype=np.float64) * (draws - mean))


def percentile_interval(
    point: ArrayLike, replicates: ArrayLike, alpha: float, *, centred: bool = False
) -> Interval:
    """Percentile interval: the alpha/2 and 1 - alpha/2 quantiles of the replicates.

    Quantiles interpolate linearly between order statistics (Hyndman and Fan's type 7).

    A statistic that is not linear in its sample, such as entropy, has replicates whose mean lies
    off the point: a resample has fewer distinct roles than the sample. `centred` moves the
    replicates so that their mean is the point. The interval then holds its point, and covers the
    expected statistic of a sample of this size; the plain one is off by the bias of resampling.
    For a mean both are the same but for the noise of resampling.

    Either is too narrow for few roles: `expand` the replicates first.

    Args:
        point: The statistic itself, shape (...).
        replicates: Shape (B, ...); nan where a replicate leaves the statistic undefined, which
            leaves that replicate out.
        alpha: 1 minus the level, in (0, 1).
        centred: Move the replicates to have the point as their mean.

    Returns:
        The interval; nan ends where `point` is nan or no replicate is defined.

    Raises:
        ValueError: `alpha` outside (0, 1), or shapes that do not agree.
    """
    _check_alpha(alpha)
    centre = np.asarray(point, dtype=np.float64)
    draws = np.asarray(replicates, dtype=np.float64)
    if draws.shape[1:] != centre.shape:
        raise ValueError(f"replicates of shape {draws.shape[1:]} for a point of {centre.shape}")
    flat = draws.reshape(len(draws), centre.size)
    known = np.isfinite(flat)
    n = np.asarray(known.sum(axis=0), dtype=np.int64)
    ends = _quantiles(flat, known, (alpha / 2, 1 - alpha / 2))
    if centred:
        ends += centre.ravel() - _mean(flat)
    ends[:, np.isnan(centre.ravel())] = np.nan
    low, high = ends.reshape(2, *centre.shape)
    return Interval(centre, low, high, n.reshape(centre.shape))


def bca_interval(
    point: ArrayLike, replicates: ArrayLike, jackknife: ArrayLike, alpha: float
) -> Interval:
    r"""Bias-corrected and accelerated interval.

    The ends are quantiles of the replicates at the levels

    .. math:: \Phi\left(z_0 + \frac{z_0 + z}{1 - a (z_0 + z)}\right), \quad
              a = \frac{\sum d_i^3}{6 (\sum d_i^2)^{3/2}}

    with z the normal quantiles at alpha/2 and 1 - alpha/2, z0 the normal quantile of the share of
    replicates below the point (ties count half), and d_i the mean of the jackknife values less the
    i-th. It is about the statistic of all roles there are, with the bias of sampling taken out.
    Few roles are not made good, as `expand` does.

    Args:
        point: The statistic itself, shape (...).
        replicates: Shape (B, ...); nan leaves a replicate out.
        jackknife: The statistic without each role in turn, shape (roles, ...); nan leaves it out.
        alpha: 1 minus the level, in (0, 1).

    Returns:
        The interval. Ends are nan where `point` is, where all replicates lie on one side of it, or
        where fewer than two roles could be left out; they are the point where nothing varies.

    Raises:
        ValueError: `alpha` outside (0, 1), or shapes that do not agree.

    Source: Efron (1987); Efron and Tibshirani (1993), chapter 14.
    """
    _check_alpha(alpha)
    centre = np.asarray(point, dtype=np.float64)
    draws, left_out = (np.asarray(each, dtype=np.float64) for each in (replicates, jackknife))
    if draws.shape[1:] != centre.shape or left_out.shape[1:] != centre.shape:
        raise ValueError(f"replicates or jackknife values not of the point's {centre.shape}")
    flat, middle = draws.reshape(len(draws), centre.size), centre.ravel()
    known = np.isfinite(flat)
    n = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        below = ((flat < middle - _TIE).sum(axis=0) + 0.5 * _tied(flat, middle)) / n
    z0, a = ndtri(below), _acceleration(left_out.reshape(len(left_out), centre.size))
    z = ndtri([[alpha / 2], [1 - alpha / 2]])
    with np.errstate(invalid="ignore"):
        levels = ndtr(z0 + (z0 + z) / (1 - a * (z0 + z)))
    levels[:, ~np.isfinite(z0) | np.isnan(middle)] = np.nan
    low, high = _column_quantiles(flat, n, levels).reshape(2, *centre.shape)
    return Interval(centre, low, high, np.asarray(n, dtype=np.int64).reshape(centre.shape))


_TIE = 1e-12
"""Differences up to here are rounding."""


def _tied(flat: Floats, middle: Floats) -> Floats:
    return np.asarray((np.abs(flat - middle) <= _TIE).sum(axis=0), dtype=np.float64)


def _acceleration(left_out: Floats) -> Floats:
    """a of `bca_interval`: 0 where nothing varies, nan where fewer than two values are known."""
    d = np.where(np.isfinite(left_out), _mean(left_out) - left_out, 0.0)
    squares = (d**2).sum(axis=0)
    varies = squares > _TIE**2
    a = (d**3).sum(axis=0) / (6 * np.where(varies, squares, 1.0) ** 1.5)
    enough = np.isfinite(left_out).sum(axis=0) >= 2
    return np.asarray(np.where(enough, np.where(varies, a, 0.0), np.nan))


def _column_quantiles(flat: Floats, n: NDArray[np.int64], levels: Floats) -> Floats:
    """Quantiles (type 7) of each column's known values, every column at levels of its own."""
    if not len(flat):
        return np.full(levels.shape, np.nan)
    ordered = np.sort(np.where(np.isfinite(flat), flat, np.inf), axis=0)
    usable = np.isfinite(levels) & (n > 0)
    place = np.where(usable, levels * (n - 1), 0.0)
    under = np.floor(place).astype(np.int64)
    over = np.minimum(under + 1, np.maximum(n - 1, 0))
    left, right = (np.take_along_axis(ordered, each, axis=0) for each in (under, over))
    left, right = (np.where(usable, each, np.nan) for each in (left, right))
    return np.asarray(left + (place - under) * (right - left))


def _check_alpha(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise ValueError(f"alpha has to lie between 0 and 1, not {alpha}")


def _mean(draws: Floats) -> Floats:
    """Mean of the known values along the first axis; nan where there is none."""
    known = np.isfinite(draws)
    total, n = np.where(known, draws, 0.0).sum(axis=0), known.sum(axis=0)
    mean: Floats = np.divide(total, n, out=np.full_like(total, np.nan), where=n > 0)
    return mean


def _quantiles(flat: Floats, known: NDArray[np.bool_], levels: tuple[float, float]) -> Floats:
    """Both quantiles of each column's known values; nan where there is none."""
    ends = np.full((2, flat.shape[1]), np.nan)
    whole = known.all(axis=0) & (len(flat) > 0)
    if whole.any():
        # Sorting is compiled for wide registers: a quarter of the time that numpy.quantile takes.
        ordered = np.sort(flat[:, whole], axis=0)
        ends[:, whole] = [_between(ordered, level) for level in levels]
    for place in np.nonzero(known.any(axis=0) & ~whole)[0]:
        ends[:, place] = np.quantile(flat[known[:, place], place], levels)
    return ends


def _between(ordered: Floats, level: float) -> Floats:
    """Quantile of type 7 of each column of sorted values, rounded as numpy.quantile rounds."""
    place = level * (len(ordered) - 1)
    under = int(place)
    share = place - under
    low, high = ordered[under], ordered[min(under + 1, len(ordered) - 1)]
    gap = high - low
    return np.asarray(low + gap * share if share < 0.5 else high - gap * (1.0 - share))
