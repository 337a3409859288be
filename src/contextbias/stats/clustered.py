"""Homogeneity when images come in clusters: images of one context are alike.

Pearson's chi-squared takes every image for a new piece of evidence. Images of one context (place
and activity) resemble each other, and a condition has few contexts, so it calls too many
differences significant. The correction divides the images of each condition by a design effect,
which rests on the intraclass correlation: how much more alike two images of one cluster are than
two of one stratum. A single cell cannot tell its own; many strata are pooled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import chdtrc, fdtrc

from contextbias.stats.proportion import BoolArray, FloatArray, IntArray, counts

Matrix: TypeAlias = ArrayLike | sparse.csr_array | sparse.coo_array
"""Dense or sparse."""


@dataclass(frozen=True, slots=True)
class IntraclassCorrelation:
    """How alike the images of a cluster are, over many strata and labels."""

    point: float
    """The correlation, 0 to 1; NaN where nothing varies or no stratum has two clusters."""
    df: int
    """Clusters less strata, over strata with two clusters or more: what the estimate rests on."""
    clusters: int
    """Clusters with images, in strata with two of them or more."""


@dataclass(frozen=True, slots=True)
class ClusteredTest:
    """Test of one rate in all conditions, allowing for clusters."""

    statistic: FloatArray
    """Chi-squared of the effective counts; NaN where it cannot be computed."""
    df: IntArray
    """Conditions with images - 1."""
    p: FloatArray
    """Upper tail; NaN where the statistic is. 1 where the label is in none or all images."""


def intraclass_correlation(x: Matrix, n: ArrayLike, stratum: ArrayLike) -> IntraclassCorrelation:
    """Analysis-of-variance estimate of the intraclass correlation, pooled over strata and labels.

    For a stratum s (a role in a condition) and a label, with cluster counts x(j) of n(j) images,
    k(s) clusters, N(s) images and S their hits:

        within(s)  = S - sum x(j)² / n(j)                w(s) = within(s) / (N(s) - k(s))
        between(s) = sum x(j)² / n(j) - S² / N(s)        b(s) = N(s) - sum n(j)² / N(s)

    w(s) has expectation v (1 - rho), v the variance of one image, and between(s) has
    v (1 - rho) (k(s) - 1) + v rho b(s). Summed over strata and labels,

        rho / (1 - rho) = sum (between - (k - 1) w) / sum (b w).

    With strata of one shape this is the usual estimate (MSB - MSW) / (MSB + (n0 - 1) MSW); written
    so, it stays right where strata differ in shape and in v. A negative estimate is set to 0: a
    design effect below 1 is not used.

    Args:
        x: Images that show the label, shape (clusters, labels), dense or sparse. Labels that are
            not to count are 0.
        n: Images read, shape (clusters,); clusters of 0 images are left out.
        stratum: Code of the stratum of each cluster, shape (clusters,).

    Raises:
        ValueError: Shapes that do not agree, or x outside 0 to n.

    Source: Donner & Klar (2000), Design and Analysis of Cluster Randomization Trials, chapter 5;
        Ridout, Demetrio & Firth (1999), Biometrics 55, 137-148.
    """
    hits, images, codes = _checked(x, n, stratum)
    there = images > 0
    member = np.full(images.shape, -1, dtype=np.int64)
    member[there] = np.unique(codes[there], return_inverse=True)[1]
    k: FloatArray = np.bincount(member[there]).astype(np.float64)
    size = np.bincount(member[there], images[there]).astype(np.float64)
    several = k >= 2
    df, found = int((k - 1)[several].sum()), int(k[several].sum())
    used = several & (size > k)
    b = size - np.bincount(member[there], images[there] ** 2) / size
    between, within = _sums_of_squares(hits, images, member, size)
    w = (within / np.where(used, size - k, 1.0))[used]
    above = float((between[used] - (k[used] - 1) * w).sum())
    rounding = 1e-12 * float(hits.count.sum())
    return IntraclassCorrelation(
        _correlation(above, float((b[used] * w).sum()), rounding), df, found
    )


@dataclass(frozen=True, slots=True)
class _Hits:
    """Hits by cluster and label where there are any, flat."""

    cluster: IntArray
    label: IntArray
    count: FloatArray


def _checked(
    x: Matrix, n: ArrayLike, stratum: ArrayLike
) -> tuple[_Hits, FloatArray, NDArray[np.generic]]:
    table = sparse.coo_array(x, copy=True)
    images, codes = np.asarray(n, dtype=np.float64), np.asarray(stratum)
    if images.ndim != 1 or images.shape != codes.shape or table.shape[0] != images.size:
        raise ValueError("clusters need one row of x, one n and one stratum each")
    table.eliminate_zeros()
    cluster, label = (place.astype(np.int64) for place in table.coords)
    hits = _added(_Hits(cluster, label, table.data.astype(np.float64)))
    if np.any(hits.count < 0) or np.any(hits.count > images[hits.cluster]) or np.any(images < 0):
        raise ValueError("x must lie between 0 and n")
    return hits, images, codes


def _added(hits: _Hits) -> _Hits:
    """One row a cluster and label."""
    labels = int(hits.label.max(initial=0)) + 1
    key = hits.cluster * labels + hits.label
    if not np.all(key[1:] > key[:-1]):
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        key, hits = key[first], replace(hits, count=np.add.reduceat(hits.count[order], first))
    return _Hits(key // labels, key % labels, hits.count)


def _sums_of_squares(
    hits: _Hits, images: FloatArray, member: IntArray, size: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Between and within clusters, of each stratum, summed over labels."""
    per_cluster = np.bincount(hits.cluster, hits.count**2, images.size)
    there = images > 0
    squares = np.bincount(member[there], per_cluster[there] / images[there], size.size)
    s = _added(replace(hits, cluster=member[hits.cluster]))
    total = np.bincount(s.cluster, s.count, size.size)
    of_sums = np.bincount(s.cluster, s.count**2, size.size)
    return np.asarray(squares - of_sums / size), np.asarray(total - squares)


def _correlation(above: float, below: float, rounding: float) -> float:
    """From rho / (1 - rho) = above / below; 1 where nothing varies within clusters."""
    if below <= rounding:
        return 1.0 if above > rounding else np.nan
    odds = max(above / below, 0.0)
    return odds / (1.0 + odds)


def mean_cluster_size(n: ArrayLike, stratum: ArrayLike, strata: int) -> FloatArray:
    """Size of the cluster that an image is in, averaged over the images of a stratum.

    m = sum n(j)² / sum n(j) over the clusters j of the stratum. The design effect of a rate of the
    stratum is 1 + (m - 1) rho.

    Args:
        n: Images of each cluster, shape (clusters,).
        stratum: Number of the stratum of each cluster, from 0, shape (clusters,).
        strata: How many strata there are.

    Returns:
        Shape (strata,); NaN for a stratum without images.
    """
    images, codes = np.asarray(n, dtype=np.float64), np.asarray(stratum, dtype=np.int64)
    size = np.bincount(codes, images, minlength=strata)
    squares = np.bincount(codes, images**2, minlength=strata)
    mean: FloatArray = np.divide(squares, size, out=np.full(strata, np.nan), where=size > 0)
    return mean


def clustered_chi_squared(
    x: ArrayLike, n: ArrayLike, design_effect: ArrayLike, *, error_df: ArrayLike = np.inf
) -> ClusteredTest:
    """Chi-squared of effective counts: images divided by the design effect of their condition.

    With effective images m(c) = n(c) / d(c), rates p(c) = x(c) / n(c) and their mean
    q = sum m p / sum m, the statistic is sum over c of m(c) (p(c) - q)² / (q (1 - q)). The design
    effect rests on few clusters in a small study, so statistic / df is compared with the F
    distribution of df and `error_df` degrees of freedom; with infinitely many that is chi-squared.

    Args:
        x: Images that show the label, shape (..., conditions).
        n: Images read, same shape; 0 or NaN: absent.
        design_effect: Of each condition, broadcast to the same shape; NaN: unknown, and where the
            condition has images, so is the result.
        error_df: Degrees of freedom of the design effect, broadcast to the leading shape.

    Returns:
        NaN with fewer than two conditions; 0 and p 1 where the label is in none or all images.

    Raises:
        ValueError: As `proportion.counts`, or a design effect below 1.

    Source: Rao & Scott (1992), Biometrics 48, 577-585; Donner & Klar (2000), chapter 6.
    """
    checked = counts(x, n)
    effect = np.broadcast_to(np.asarray(design_effect, dtype=np.float64), checked.n.shape)
    if np.any(effect < 1):
        raise ValueError("a design effect is at least 1")
    images = np.where(checked.present, checked.n / effect, 0.0)
    hits = np.where(checked.present, checked.x / effect, 0.0)
    df = np.asarray(checked.present.sum(axis=-1) - 1)
    statistic = np.where(df >= 1, _pearson(hits, images, _constant(checked.x, checked.n)), np.nan)
    spread = np.where(df >= 1, statistic / np.maximum(df, 1), np.nan)
    error = np.broadcast_to(np.asarray(error_df, dtype=np.float64), df.shape)
    return ClusteredTest(statistic, df, _upper_tail(np.maximum(df, 1), error, spread))


def _constant(x: IntArray, n: IntArray) -> BoolArray:
    """The label is in none or in all of the images."""
    s = x.sum(axis=-1)
    return np.asarray((s == 0) | (s == n.sum(axis=-1)))


def _pearson(hits: FloatArray, images: FloatArray, constant: BoolArray) -> FloatArray:
    """Pearson's statistic of counts that need not be whole; 0 where the label is constant."""
    s, total = hits.sum(axis=-1), images.sum(axis=-1)
    rate = s / np.where(total > 0, total, 1.0)
    residual = hits - images * rate[..., None]
    summed = (residual**2 / np.where(images > 0, images, 1.0)).sum(axis=-1)
    return np.asarray(
        np.where(constant, 0.0, summed / np.where(constant, 1.0, rate * (1.0 - rate)))
    )


def _upper_tail(df: IntArray, error: FloatArray, spread: FloatArray) -> FloatArray:
    """Upper tail of F; of chi-squared where `error` is infinite; NaN where it is not positive."""
    large = np.isinf(error)
    finite = np.where(large | ~(error > 0), 1.0, error)
    p = np.where(large, chdtrc(df, df * spread), fdtrc(df, finite, spread))
    return np.asarray(np.where(error > 0, p, np.nan))
