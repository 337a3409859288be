"""Shannon entropy of label counts, and Bias Intensity made from it.

Throughout, the last axis is the fixed label set, and every axis before it is batched over. Entropy
is in nats; Bias Intensity has no unit, since it divides by the log of the number of labels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlogy

Floats = NDArray[np.float64]

_CHUNK = 2_000_000
"""Numbers held at a time by the sums over hypergeometric probabilities."""


def plug_in_entropy(counts: ArrayLike) -> Floats:
    r"""Entropy of the observed shares, :math:`H = -\sum_y \pi_y \log \pi_y`.

    Args:
        counts: Counts or weights at least 0, shape (..., labels).

    Returns:
        Nats, shape (...); nan where there is nothing to count.

    Raises:
        ValueError: A negative count.
    """
    x = _checked(counts)
    total = x.sum(axis=-1)
    # H = log N - sum(x log x) / N needs no shares, and so no second array of this size.
    with np.errstate(invalid="ignore", divide="ignore"):
        entropy = np.log(total) - xlogy(x, x).sum(axis=-1) / total
    return np.where(total > 0, np.maximum(entropy, 0.0), np.nan)


def miller_madow_entropy(counts: ArrayLike) -> Floats:
    r"""Plug-in entropy with the first-order correction, :math:`H + (K - 1) / 2N`.

    K is the number of labels with a count, N the sum of the counts. The result may exceed the log
    of the number of labels; it is not cut. Source: Miller (1955).

    Args:
        counts: Counts, shape (..., labels).

    Returns:
        Nats, shape (...); nan where there is nothing to count.
    """
    x = _checked(counts)
    total = x.sum(axis=-1)
    seen = (x > 0).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return plug_in_entropy(x) + np.where(total > 0, (seen - 1) / (2 * total), np.nan)


def expected_entropy(counts: ArrayLike, size: ArrayLike) -> Floats:
    r"""Mean plug-in entropy of all subsamples of `size` items, drawn without replacement.

    .. math:: E[H_m] = -\sum_y \sum_{k=1}^{m} P(k; N, x_y, m) \frac{k}{m} \log \frac{k}{m}

    with P the hypergeometric probability of k items of label y among m drawn from N. Exact: what
    repeated subsampling tends to, without its noise. With `size` N it is the plug-in entropy.

    Args:
        counts: Whole counts, shape (..., labels).
        size: Items drawn, broadcast against shape (...).

    Returns:
        Nats, shape (...); nan where `size` is 0.

    Raises:
        ValueError: Counts that are not whole or negative, or a `size` above the sum of its counts.
    """
    x = _checked(counts)
    total = x.sum(axis=-1)
    m = np.broadcast_to(np.asarray(size, dtype=np.float64), total.shape)
    if np.any(x != np.floor(x)) or np.any(m != np.floor(m)):
        raise ValueError("counts and sizes have to be whole numbers")
    if np.any(m > total) or np.any(m < 0):
        raise ValueError("a size is negative or above the sum of its counts")
    triples = np.stack(np.broadcast_arrays(x, total[..., None], m[..., None]), axis=-1)
    unique, inverse = np.unique(triples.reshape(-1, 3), axis=0, return_inverse=True)
    terms = _hypergeometric_terms(*unique.astype(np.int64).T)[inverse.ravel()]
    return np.where(m > 0, terms.reshape(x.shape).sum(axis=-1), np.nan)


def binomial_entropy(shares: ArrayLike, size: ArrayLike) -> Floats:
    r"""Mean plug-in entropy of `size` independent draws from known shares.

    .. math:: E[H_m] = -\sum_y \sum_{k=1}^{m} P(k; m, \pi_y) \frac{k}{m} \log \frac{k}{m}

    with P binomial: the limit of `expected_entropy` for an endless supply.

    Args:
        shares: Shares at least 0, shape (..., labels); normalised to sum 1.
        size: Draws, whole, broadcast against shape (...).

    Returns:
        Nats, shape (...); nan where `size` or the sum of the shares is 0.
    """
    p = _checked(shares)
    total = p.sum(axis=-1, keepdims=True)
    p = np.divide(p, total, out=np.zeros_like(p), where=total > 0)
    m = np.broadcast_to(np.asarray(size, dtype=np.int64), p.shape[:-1])
    terms = _binomial_terms(p.ravel(), np.broadcast_to(m[..., None], p.shape).ravel())
    return np.where((m > 0) & (total[..., 0] > 0), terms.reshape(p.shape).sum(axis=-1), np.nan)


def bias_intensity(entropy: ArrayLike, labels: int) -> Floats:
    r"""Bias Intensity, :math:`BI = 1 - H / \log |Y|`: 0 for even shares, 1 for a single label.

    Args:
        entropy: Nats, any shape; nan stays nan.
        labels: Size of the fixed label set Y. A set of one label is degenerate: the value is 1
            wherever the entropy is defined, and callers flag it.

    Returns:
        The same shape. Below 0 or above 1 only when the entropy is a corrected one.

    Raises:
        ValueError: `labels` below 1.
    """
    if labels < 1:
        raise ValueError(f"a label set has at least one label, not {labels}")
    h = np.asarray(entropy, dtype=np.float64)
    if labels == 1:
        return np.where(np.isnan(h), np.nan, 1.0)
    return np.asarray(1.0 - h / np.log(labels))


def _checked(counts: ArrayLike) -> Floats:
    x = np.asarray(counts, dtype=np.float64)
    if x.ndim == 0:
        raise ValueError("counts need an axis of labels")
    if np.any(x < 0) or np.any(np.isnan(x)):
        raise ValueError("a count is negative or not a number")
    return x


def _hypergeometric_terms(
    x: NDArray[np.int64], total: NDArray[np.int64], m: NDArray[np.int64]
) -> Floats:
    """One label's share of E[H_m], for flat arrays of counts, totals and sizes."""
    terms = np.zeros(len(x))
    if not len(x):
        return terms
    log_factorial = gammaln(np.arange(int(total.max()) + 2, dtype=np.float64) + 1)
    for part in _parts(np.minimum(x, m)):
        n, y, s = total[part, None], x[part, None], m[part, None]
        k = np.arange(1, max(int(np.minimum(y, s).max()), 1) + 1)
        rest = s - k
        possible = (k <= y) & (rest >= 0) & (rest <= n - y)
        # Impossible cells get indices that exist; their probability is struck out below.
        k_, rest_ = np.where(possible, k, 0), np.where(possible, rest, 0)
        log_p = (
            _log_choose(log_factorial, y, k_)
            + _log_choose(log_factorial, n - y, np.minimum(rest_, n - y))
            - _log_choose(log_factorial, n, s)
        )
        share = k / np.maximum(s, 1)
        terms[part] = np.where(possible, np.exp(log_p) * -xlogy(share, share), 0.0).sum(axis=-1)
    return terms


def _binomial_terms(p: Floats, m: NDArray[np.int64]) -> Floats:
    """One label's share of E[H_m] under independent draws, for flat arrays."""
    terms = np.zeros(len(p))
    if not len(p):
        return terms
    log_factorial = gammaln(np.arange(int(m.max()) + 2, dtype=np.float64) + 1)
    for part in _parts(m):
        s, q = m[part, None], p[part, None]
        k = np.arange(1, max(int(s.max()), 1) + 1)
        possible = k <= s
        k_ = np.where(possible, k, 0)
        log_p = _log_choose(log_factorial, s, k_) + xlogy(k_, q) + xlogy(s - k_, 1 - q)
        share = k / np.maximum(s, 1)
        terms[part] = np.where(possible, np.exp(log_p) * -xlogy(share, share), 0.0).sum(axis=-1)
    return terms


def _log_choose(log_factorial: Floats, n: NDArray[np.int64], k: NDArray[np.int64]) -> Floats:
    return np.asarray(log_factorial[n] - log_factorial[k] - log_factorial[n - k])


def _parts(lengths: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Split positions by the length of their sums, so that no table is large or mostly empty."""
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    parts: list[NDArray[np.int64]] = []
    start = 0
    while start < len(order):
        widest = max(2 * int(ordered[start]), 64)
        stop = int(np.searchsorted(ordered, widest, side="right"))
        stop = min(stop, start + max(1, _CHUNK // widest))
        parts.append(order[start:stop])
        start = stop
    return parts
