"""Hits, misses and false alarms where the right answer is known, with images that are alike.

Images are drawn in clusters (those of one prompt), which are more alike than images at large. So
intervals rest on clusters: a Wilson interval with fewer, effective images, and a bootstrap that
draws clusters. Tests of whether errors differ between groups are permutation tests inside strata.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from contextbias.stats.resample import expand, expansion

FloatArray = NDArray[np.float64]
"""Array of 64-bit floats."""
IntArray = NDArray[np.int64]
"""Array of 64-bit whole numbers."""

_FEWEST_REPLICATES = 0.9
"""An interval needs this share of the replicates to be defined."""

_SAME = 1e-12


@dataclass(frozen=True, slots=True)
class Rate:
    """A number with its interval; NaN where it is undefined."""

    point: float
    """The number."""
    low: float
    """Lower end."""
    high: float
    """Upper end."""


UNDEFINED = Rate(np.nan, np.nan, np.nan)
"""Nothing to count."""


def clustered_wilson(hits: ArrayLike, sizes: ArrayLike, *, alpha: float = 0.05) -> Rate:
    """A share of images with Wilson's interval for as many images as the clusters are worth.

    With x(i) of m(i) images in cluster i, n = sum m, p = sum x / n and k clusters:

        variance = k / (k - 1) * sum (x(i) - p m(i))² / n²,
        design effect = variance n / (p (1 - p)),

    not below 1. The effective number is n / design effect, times (z / t)² with k - 1 degrees of
    freedom, since few clusters tell little about how alike their images are. Where p is 0 or 1, or
    there is a single cluster, the images do not tell how alike they are; then each cluster counts
    for one image.

    Args:
        hits: Images that are right in each cluster, shape (clusters,).
        sizes: Images of each cluster, same shape; clusters without any are left out.
        alpha: The interval has 1 - alpha.

    Returns:
        NaN without images.

    Raises:
        ValueError: Shapes differ, or a cluster has more hits than images.

    Source: Korn and Graubard (1998), with Wilson's interval in the place of the exact one.
    """
    x, m = np.asarray(hits, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    if x.shape != m.shape or x.ndim != 1 or np.any(x < 0) or np.any(x > m):
        raise ValueError("hits and sizes must have one shape, with 0 <= hits <= sizes")
    x, m = x[m > 0], m[m > 0]
    n, k = float(m.sum()), m.size
    if k == 0:
        return UNDEFINED
    p = float(x.sum()) / n
    effective, z = float(k), float(ndtri(1 - alpha / 2))
    if k > 1 and 0 < p < 1:
        variance = k / (k - 1) * float(np.sum((x - p * m) ** 2)) / n**2
        spread = z / float(stdtrit(k - 1, 1 - alpha / 2))
        effective = n / max(1.0, variance * n / (p * (1 - p))) * spread**2
    centre = (p + z * z / (2 * effective)) / (1 + z * z / effective)
    half = z * np.sqrt(p * (1 - p) / effective + z * z / (4 * effective**2))
    half /= 1 + z * z / effective
    return Rate(p, 0.0 if p == 0 else float(centre - half), 1.0 if p == 1 else float(centre + half))


def precision(sums: FloatArray) -> FloatArray:
    """TP / (TP + FP); NaN where nothing was named. `sums`: TP, FN, FP on the last axis."""
    return _ratio(sums[..., 0], sums[..., 0] + sums[..., 2])


def recall(sums: FloatArray) -> FloatArray:
    """TP / (TP + FN); NaN where nothing was there to be found."""
    return _ratio(sums[..., 0], sums[..., 0] + sums[..., 1])


def f1(sums: FloatArray) -> FloatArray:
    """2 TP / (2 TP + FN + FP), the harmonic mean of precision and recall; NaN without any."""
    return _ratio(2 * sums[..., 0], 2 * sums[..., 0] + sums[..., 1] + sums[..., 2])


def published_f1(sums: FloatArray) -> FloatArray:
    """2 r / (1 + r) of the recall r: F1 where nothing can be a false alarm, as the paper has it."""
    r = recall(sums)
    return np.asarray(2 * r / (1 + r))


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    return np.asarray(np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), np.nan))


def resampled_sums(sums: FloatArray, replicates: int, random: np.random.Generator) -> FloatArray:
    """Totals of clusters drawn with replacement, as many as there are.

    Args:
        sums: What each cluster adds, shape (clusters, columns).
        replicates: How often.
        random: Where the draws come from.

    Returns:
        Shape (replicates, columns).
    """
    k = sums.shape[0]
    weights = random.multinomial(k, np.full(k, 1 / k), size=replicates)
    return np.asarray(weights.astype(np.float64) @ sums)


def bootstrap_rate(
    statistic: Callable[[FloatArray], FloatArray],
    parts: list[tuple[FloatArray, FloatArray]],
    *,
    alpha: float = 0.05,
) -> Rate:
    """A share made of sums, or its mean over parts, with an expanded percentile interval.

    Few clusters resemble one another more than those that were not drawn, so that percentiles are
    too near; they are stretched (resample.expansion) for as many clusters as can tell, less
    one for each further part, and cut at 0 and 1.

    Args:
        statistic: Such as `f1`.
        parts: For each part its sums, shape (clusters, columns), and `resampled_sums` of them; of
            no replicates for no interval.
        alpha: The interval has 1 - alpha.

    Returns:
        The mean over the parts where it is defined. No interval where a part has a single cluster,
        where a tenth of the replicates or more are undefined, or where all of them are the same:
        without any error a bootstrap cannot tell how many there might have been.
    """
    points = np.array([float(statistic(sums.sum(axis=0))) for sums, _ in parts])
    kept = [part for part, point in zip(parts, points, strict=True) if not np.isnan(point)]
    if not kept:
        return UNDEFINED
    point = float(np.nanmean(points))
    if any(sums.shape[0] < 2 or not len(drawn) for sums, drawn in kept):
        return Rate(point, np.nan, np.nan)
    values = np.mean([statistic(drawn) for _, drawn in kept], axis=0)
    values = values[~np.isnan(values)]
    if values.size < _FEWEST_REPLICATES * len(kept[0][1]):
        return Rate(point, np.nan, np.nan)
    if np.ptp(values) < _SAME:
        return Rate(point, np.nan, np.nan)
    telling = sum(int(np.sum(~np.isnan(statistic(sums)))) for sums, _ in kept)
    values = expand(values, expansion(telling - len(kept) + 1, alpha))
    low, high = np.clip(np.quantile(values, [alpha / 2, 1 - alpha / 2]), 0, 1)
    return Rate(point, float(low), float(high))


@dataclass(frozen=True, slots=True)
class Difference:
    """A test of whether a mean differs between groups."""

    p: float
    """Permutation p; NaN where no stratum holds two groups and two values."""
    n: int
    """Units in the strata that could tell."""
    groups: int
    """Groups among them."""


def stratified_permutation(
    values: ArrayLike,
    groups: ArrayLike,
    strata: ArrayLike,
    *,
    replicates: int,
    random: np.random.Generator,
) -> Difference:
    """Whether units of different groups have different values, compared inside strata alone.

    The statistic is the sum over groups of (sum over units of value less its stratum's mean)² /
    units of the group. Under the hypothesis the values of a stratum can be exchanged, so they
    are permuted there; p = (1 + permutations with at least the observed) / (1 + permutations).

    Args:
        values: Errors (0 or 1) or error rates, shape (units,).
        groups: Codes of groups from 0, same shape.
        strata: Codes of strata, same shape.
        replicates: Permutations.
        random: Where they come from.

    Returns:
        NaN, with n = 0, where no stratum holds two groups and two values.
    """
    y, g, s = np.asarray(values, np.float64), np.asarray(groups), np.asarray(strata)
    kept = _telling(y, g, s)
    y, g, s = y[kept], g[kept], s[kept]
    if y.size == 0:
        return Difference(np.nan, 0, 0)
    order = np.argsort(s, kind="stable")
    y, s = y[order], np.unique(s[order], return_inverse=True)[1]
    g = np.unique(g[order], return_inverse=True)[1]
    residual = y - (np.bincount(s, y) / np.bincount(s))[s]
    size = np.bincount(g).astype(np.float64)
    member = np.equal(g[:, None], np.arange(size.size)).astype(np.float64)

    def statistic(rows: FloatArray) -> FloatArray:
        return np.asarray(((rows @ member) ** 2 / size).sum(axis=-1))

    observed = float(statistic(residual[None])[0])
    above, done = 0, 0
    block = max(1, 2_000_000 // y.size)
    while done < replicates:
        count = min(block, replicates - done)
        keys = np.argsort(s + random.random((count, y.size)), axis=1)
        above += int(np.sum(statistic(residual[keys]) >= observed * (1 - 1e-12)))
        done += count
    return Difference((1 + above) / (1 + replicates), int(y.size), int(size.size))


def _telling(y: FloatArray, g: NDArray[np.generic], s: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Units of strata with two groups and two values."""
    codes = np.unique(s, return_inverse=True)[1]
    found = np.zeros(y.size, np.bool_)
    order = np.argsort(codes, kind="stable")
    bounds = np.flatnonzero(np.diff(codes[order])) + 1
    for rows in np.split(order, bounds):
        found[rows] = np.unique(y[rows]).size > 1 and np.unique(g[rows]).size > 1
    return found
