"""The role bootstrap: weights once, shared by whatever is compared, and percentile intervals.

A replicate draws as many roles as there are, with replacement. Drawing is the same as weighting:
row b of the weights says how often each role was drawn, and every statistic that adds up over
roles is one matrix product. Using one set of weights for all conditions and generators keeps the
comparison between them paired. Source: Efron and Tibshirani (1993), chapters 6 and 13.

Percentiles of few roles are too narrow: `expansion` says by how much, `expand` makes it good.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

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
        ends[:, whole] = np.quantile(flat[:, whole], levels, axis=0)
    for place in np.nonzero(known.any(axis=0) & ~whole)[0]:
        ends[:, place] = np.quantile(flat[known[:, place], place], levels)
    return ends
