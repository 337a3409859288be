"""Shannon entropy of label counts, and Bias Intensity made from it.

Throughout, the last axis is the fixed label set, and every axis before it is batched over. Entropy
is in nats; Bias Intensity has no unit, since it divides by the log of the number of labels.
Entropies of subsamples are in subsample.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma

Floats = NDArray[np.float64]

_LARGEST_TABLE = 1_000_000
"""Counts up to here are looked up."""


def plug_in_entropy(counts: ArrayLike) -> Floats:
    r"""Entropy of the observed shares, :math:`H = -\sum_y \pi_y \log \pi_y`.

    Args:
        counts: Counts or weights at least 0, shape (..., labels). Whole numbers (an integer type)
            are looked up in a table of x log x, which is several times faster.

    Returns:
        Nats, shape (...); nan where there is nothing to count.

    Raises:
        ValueError: A negative count.
    """
    x = checked_counts(counts)
    total = x.sum(axis=-1)
    # H = log N - sum(x log x) / N needs no shares, and so no second array of this size.
    with np.errstate(invalid="ignore", divide="ignore"):
        entropy = np.log(total) - x_log_x(x).sum(axis=-1) / total
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
    x = checked_counts(counts)
    total = x.sum(axis=-1)
    seen = (x > 0).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return plug_in_entropy(x) + np.where(total > 0, (seen - 1) / (2 * total), np.nan)


def grassberger_entropy(counts: ArrayLike) -> Floats:
    r"""Entropy corrected count by count, :math:`H = \psi(N) - \frac1N \sum_y x_y G(x_y)`.

    .. math:: G(x) = \psi(x) + \frac{(-1)^x}{2} \left[\psi\left(\frac{x+1}{2}\right)
              - \psi\left(\frac{x}{2}\right)\right]

    with psi the digamma function: G(1) = -gamma - log 2, G(2) = 2 + G(1), G(2k + 1) = G(2k) and
    G(2k + 2) = G(2k) + 2/(2k + 1). Where the plug-in value has a bias of order 1/N, here what is
    left falls off exponentially for labels that are not rare. It is defined for every count. The
    other usual choice, that of Chao and Shen, is not where all mentions are of different labels,
    which is common for a role's items or garments. The result may leave the range from 0 to the
    log of the number of labels; it is not cut.

    Grassberger has log N in the place of psi(N), which is right where N itself is Poisson and has a
    bias of 1/2N where N is fixed, as it is here.

    Sources: Grassberger (2003), arXiv physics/0307138; Schürmann (2004), J. Phys. A 37, L295,
    equation 17 with xi = 1, for a fixed N.

    Args:
        counts: Whole counts, shape (..., labels).

    Returns:
        Nats, shape (...); nan where there is nothing to count.

    Raises:
        ValueError: Counts that are not whole, or negative.
    """
    x = whole_counts(counts)
    total = x.sum(axis=-1)
    terms = _of_whole(x, _grassberger_terms)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, digamma(total) - terms.sum(axis=-1) / total, np.nan)


def effective_labels(entropy: ArrayLike) -> Floats:
    r"""Effective number of labels, :math:`\exp(H)`: as many even labels have this entropy.

    From 1 (a single label) to the number of labels. Source: Hill (1973), order 1.

    Args:
        entropy: Nats, any shape; nan stays nan.
    """
    return np.asarray(np.exp(np.asarray(entropy, dtype=np.float64)))


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


def x_log_x(counts: NDArray[Any]) -> Floats:
    """``x log x``, 0 at 0; integer types by table look-up.

    Args:
        counts: At least 0, any shape.
    """
    if np.issubdtype(counts.dtype, np.integer):
        return _of_whole(counts, _x_log_x)
    return _x_log_x(counts)


def checked_counts(counts: ArrayLike) -> NDArray[Any]:
    """Counts as an array with an axis of labels, integers kept.

    Raises:
        ValueError: No axis, or a count that is negative or not a number.
    """
    x = np.asarray(counts)
    if not np.issubdtype(x.dtype, np.integer):
        x = np.asarray(x, dtype=np.float64)
    if x.ndim == 0:
        raise ValueError("counts need an axis of labels")
    if x.size and not x.min() >= 0:
        raise ValueError("a count is negative or not a number")
    return x


def whole_counts(counts: ArrayLike) -> NDArray[np.int64]:
    """Counts as whole numbers with an axis of labels.

    Raises:
        ValueError: As `checked_counts`, or a count that is not whole.
    """
    x = checked_counts(counts)
    whole = x.astype(np.int64)
    if np.any(whole != x):
        raise ValueError("counts and sizes have to be whole numbers")
    return whole


def _x_log_x(x: NDArray[Any]) -> Floats:
    # NumPy's log is several times faster than SciPy's xlogy; it must not see a 0.
    return np.asarray(x * np.log(np.where(x > 0, x, 1)), dtype=np.float64)


def _of_whole(x: NDArray[Any], function: Callable[[NDArray[Any]], Floats]) -> Floats:
    """A function of whole numbers: of each number up to the largest once, where that is less."""
    largest = int(x.max(initial=0))
    if largest > min(_LARGEST_TABLE, 100 + 10 * x.size):
        return function(x)
    return np.asarray(function(np.arange(largest + 1)).take(x))


def _grassberger_terms(x: NDArray[np.int64]) -> Floats:
    """x G(x), 0 at 0."""
    n = np.maximum(x, 1).astype(np.float64)
    half = 0.5 * (digamma((n + 1) / 2) - digamma(n / 2))
    g = digamma(n) + np.where(x % 2 == 0, half, -half)
    return np.asarray(np.where(x > 0, x * g, 0.0))
