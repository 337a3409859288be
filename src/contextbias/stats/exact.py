"""Exact and Monte Carlo p of the homogeneity test, for tables with small expected counts.

Given all margins, the hits are spread over the conditions by a multivariate hypergeometric law. The
p is the probability of tables whose chi-squared is at least the observed one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from contextbias.stats.proportion import (
    BoolArray,
    FloatArray,
    IntArray,
    counts,
    distinct_cells,
)

_TIE = 1e-10  # relative; tables with equal chi-squared differ by rounding only
_CHUNK = 2_000_000  # padded tables held in memory at once
_LONGEST_TABLE = 1_000_000  # images of one cell that log factorials are tabulated for


@dataclass(frozen=True, slots=True)
class ExactP:
    """Conditional p of Pearson's chi-squared."""

    p: FloatArray
    """The p; NaN with fewer than two conditions."""
    enumerated: BoolArray
    """True: all tables were summed; False: Monte Carlo, or not testable."""


def exact_p(
    x: ArrayLike,
    n: ArrayLike,
    *,
    rng: np.random.Generator,
    most_tables: int = 200_000,
    resamples: int = 9_999,
) -> ExactP:
    """Conditional p of Pearson's chi-squared on 2 x k.

    All tables with the observed margins are summed where they are at most `most_tables` and k <= 3;
    elsewhere (1 + hits) / (1 + resamples) from random tables. At 0 or 100% there is one table: p 1.

    Args:
        x: Images that show the label, shape (…, conditions).
        n: Images read, same shape; 0 or NaN: absent.
        rng: Source of the random tables; not used where all are summed.
        most_tables: Largest table count to enumerate, for one cell.
        resamples: Random tables for one cell.

    Raises:
        ValueError: As `proportion.counts`.
    """
    checked = counts(x, n)
    shape = checked.n.shape[:-1]
    hits, images = _ordered(checked.x, checked.n)
    index, inverse = distinct_cells(hits, images)
    hits, images = hits[index], images[index]
    tested = (images > 0).sum(axis=1) >= 2
    tables = _table_count(hits, images)
    small = tables <= most_tables if images.shape[1] == 3 else np.zeros(tested.shape, np.bool_)
    small &= images.sum(axis=1) <= _LONGEST_TABLE
    p = np.full(tested.shape, np.nan)
    rows = np.flatnonzero(tested & small)
    p[rows] = _enumerate(hits[rows], images[rows])
    for row in np.flatnonzero(tested & ~small):
        p[row] = _monte_carlo(hits[row], images[row], rng, resamples)
    back = inverse.reshape(shape)
    return ExactP(np.asarray(p[back]), np.asarray((tested & small)[back]))


def _ordered(x: IntArray, n: IntArray) -> tuple[IntArray, IntArray]:
    """One row a cell: the rarer outcome counted, conditions by size, at least three of them.

    The statistic does not change, and equal tables become equal rows.
    """
    hits, images = x.reshape(-1, x.shape[-1]), n.reshape(-1, n.shape[-1])
    swap = 2 * hits.sum(axis=1) > images.sum(axis=1)
    hits = np.where(swap[:, None], images - hits, hits)
    order = np.lexsort((hits, images), axis=1)
    hits, images = (np.take_along_axis(part, order, axis=1) for part in (hits, images))
    absent = max(0, 3 - x.shape[-1])
    pad = ((0, 0), (absent, 0))
    return np.pad(hits, pad), np.pad(images, pad)


def _table_count(hits: IntArray, images: IntArray) -> IntArray:
    """Size of the grid of tables: the last condition takes what the others leave."""
    highest = np.minimum(images[:, :-1], hits.sum(axis=1, keepdims=True))
    return np.asarray(np.prod(highest.astype(np.float64) + 1, axis=1).astype(np.int64))


def _enumerate(hits: IntArray, images: IntArray) -> FloatArray:
    """Sum over all tables, in chunks of cells whose grids have similar shapes."""
    total = hits.sum(axis=1)
    rows, columns = (np.minimum(images[:, i], total) + 1 for i in (0, 1))
    order = np.lexsort((columns, rows))
    log_factorial = gammaln(np.arange(images.sum(axis=1).max(initial=0) + 1) + 1.0)
    p = np.empty(total.shape)
    start = 0
    while start < order.size:
        chunk = order[start : start + _fitting(rows[order[start:]], columns[order[start:]])]
        p[chunk] = _grid_p(hits[chunk], images[chunk], log_factorial)
        start += chunk.size
    return p


def _fitting(rows: IntArray, columns: IntArray) -> int:
    """Leading cells (at least 1) that fit into a chunk, padded to the largest grid among them."""
    window = slice(0, _CHUNK // int(rows[0]) + 1)
    widest = np.maximum.accumulate(columns[window])
    padded = np.arange(1, widest.size + 1) * rows[window] * widest
    return max(1, int(np.searchsorted(padded, _CHUNK, side="right")))


def _grid_p(hits: IntArray, images: IntArray, log_factorial: FloatArray) -> FloatArray:
    """Exact p of each cell of a chunk, on a grid of hits in the first two conditions."""
    total = hits.sum(axis=1)[:, None, None]
    n0, n1, n2 = (images[:, i, None, None] for i in range(3))
    x0 = np.arange(int(np.minimum(n0, total).max()) + 1)[None, :, None]
    x1 = np.arange(int(np.minimum(n1, total).max()) + 1)[None, None, :]
    x2 = total - x0 - x1
    possible = (x0 <= n0) & (x1 <= n1) & (x2 >= 0) & (x2 <= n2)
    log_p = (
        _log_choose(n0, x0, log_factorial)
        + _log_choose(n1, x1, log_factorial)
        + _log_choose(n2, x2, log_factorial)
        - _log_choose(n0 + n1 + n2, total, log_factorial)
    )
    extreme = x0**2 / np.maximum(n0, 1) + x1**2 / np.maximum(n1, 1) + x2**2 / n2
    observed = (hits**2 / np.maximum(images, 1)).sum(axis=1)[:, None, None]
    counted = possible & (extreme >= observed * (1.0 - _TIE))
    return np.asarray(
        np.minimum(np.exp(log_p, where=counted, out=np.zeros(counted.shape)).sum(axis=(1, 2)), 1.0)
    )


def _log_choose(n: IntArray, k: IntArray, log_factorial: FloatArray) -> FloatArray:
    """Log of n choose k from the table; cells outside 0 <= k <= n get a number that is not used."""
    inside = np.clip(k, 0, n)
    return np.asarray(log_factorial[n] - log_factorial[inside] - log_factorial[n - inside])


def _monte_carlo(
    hits: IntArray, images: IntArray, rng: np.random.Generator, resamples: int
) -> float:
    """Share of random tables that are at least as extreme, the observed one among them."""
    drawn = rng.multivariate_hypergeometric(images, int(hits.sum()), size=resamples)
    sizes = np.maximum(images, 1)
    observed = (hits**2 / sizes).sum()
    extreme = (drawn**2 / sizes).sum(axis=1) >= observed * (1.0 - _TIE)
    return float((1 + extreme.sum()) / (1 + resamples))
