"""The role bootstrap: weights once, shared by whatever is compared, and percentile intervals.

A replicate draws as many roles as there are, with replacement. Drawing is the same as weighting:
row b of the weights says how often each role was drawn, and every statistic that adds up over
roles is one matrix product. Using one set of weights for all conditions and generators keeps the
comparison between them paired. Source: Efron and Tibshirani (1993), chapters 6 and 13.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    if not 0 < alpha < 1:
        raise ValueError(f"alpha has to lie between 0 and 1, not {alpha}")
    centre = np.asarray(point, dtype=np.float64)
    draws = np.asarray(replicates, dtype=np.float64)
    if draws.shape[1:] != centre.shape:
        raise ValueError(f"replicates of shape {draws.shape[1:]} for a point of {centre.shape}")
    flat = draws.reshape(len(draws), centre.size)
    known = np.isfinite(flat)
    n = np.asarray(known.sum(axis=0), dtype=np.int64)
    ends = _quantiles(flat, known, (alpha / 2, 1 - alpha / 2))
    if centred:
        total = np.where(known, flat, 0.0).sum(axis=0)
        ends += centre.ravel() - np.divide(total, n, out=np.zeros_like(total), where=n > 0)
    ends[:, np.isnan(centre.ravel())] = np.nan
    low, high = ends.reshape(2, *centre.shape)
    return Interval(centre, low, high, n.reshape(centre.shape))


def _quantiles(flat: Floats, known: NDArray[np.bool_], levels: tuple[float, float]) -> Floats:
    """Both quantiles of each column's known values; nan where there is none."""
    ends = np.full((2, flat.shape[1]), np.nan)
    whole = known.all(axis=0) & (len(flat) > 0)
    if whole.any():
        ends[:, whole] = np.quantile(flat[:, whole], levels, axis=0)
    for place in np.nonzero(known.any(axis=0) & ~whole)[0]:
        ends[:, place] = np.quantile(flat[known[:, place], place], levels)
    return ends
