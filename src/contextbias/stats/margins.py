"""All tables with the margins of a cell: hits spread over the images of up to three conditions.

Given how many images each condition has and how many show the label in all, the hits are spread by
a multivariate hypergeometric law if the label does not depend on the condition. Whatever is asked
of that law (a p, the expectation of a range) is a sum over its tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from contextbias.stats.proportion import BoolArray, FloatArray, IntArray, counts, distinct_cells

_CHUNK = 2_000_000  # padded tables held in memory at once
_LONGEST_TABLE = 1_000_000  # images of one cell that log factorials are tabulated for


@dataclass(frozen=True, slots=True)
class Cells:
    """Distinct cells, in the form that tables are counted in."""

    hits: IntArray
    """Images with the rarer outcome, shape (kinds, conditions >= 3), conditions by size."""
    images: IntArray
    """Images, same shape; 0: absent."""
    tables: IntArray
    """Size of the grid that holds all tables, shape (kinds,)."""
    inverse: IntArray
    """Which kind each cell is, in the shape of the cells."""

    @property
    def tested(self) -> BoolArray:
        """Kinds with images in two conditions or more."""
        return np.asarray((self.images > 0).sum(axis=1) >= 2)

    def countable(self, most_tables: int) -> BoolArray:
        """Kinds of which all tables can be gone through."""
        if self.images.shape[1] != 3:
            return np.zeros(self.tables.shape, np.bool_)
        few = (self.tables <= most_tables) & (self.images.sum(axis=1) <= _LONGEST_TABLE)
        return np.asarray(few & self.tested)


@dataclass(frozen=True, slots=True)
class Tables:
    """All tables of some cells, on a padded grid of hits in the first two conditions."""

    rows: IntArray
    """Which cells, shape (cells,)."""
    x: tuple[IntArray, IntArray, IntArray]
    """Hits in each condition; together they broadcast to (cells, x0, x1)."""
    n: tuple[IntArray, IntArray, IntArray]
    """Images in each condition, shape (cells, 1, 1)."""
    possible: BoolArray
    """Which places of the grid are tables."""
    probability: FloatArray
    """Of each table; 0 where there is none."""


def distinct(x: ArrayLike, n: ArrayLike) -> Cells:
    """Bring cells to the fewest kinds that differ in what their tables look like.

    The rarer outcome is counted, and conditions are ordered by size: neither changes a statistic
    that is symmetric in conditions and in present/absent.

    Args:
        x: Images that show the label, shape (…, conditions).
        n: Images read, same shape; 0 or NaN: absent.

    Raises:
        ValueError: As `proportion.counts`.
    """
    checked = counts(x, n)
    hits, images = _ordered(checked.x, checked.n)
    index, inverse = distinct_cells(hits, images)
    hits, images = hits[index], images[index]
    # The last condition takes what the others leave.
    highest = np.minimum(images[:, :-1], hits.sum(axis=1, keepdims=True)).astype(np.float64)
    size = np.minimum(np.prod(highest + 1, axis=1), 2.0**62).astype(np.int64)
    return Cells(hits, images, np.asarray(size), inverse.reshape(checked.n.shape[:-1]))


def _ordered(x: IntArray, n: IntArray) -> tuple[IntArray, IntArray]:
    """One row a cell, of at least three conditions."""
    hits, images = x.reshape(-1, x.shape[-1]), n.reshape(-1, n.shape[-1])
    swap = 2 * hits.sum(axis=1) > images.sum(axis=1)
    hits = np.where(swap[:, None], images - hits, hits)
    order = np.lexsort((hits, images), axis=1)
    hits, images = (np.take_along_axis(part, order, axis=1) for part in (hits, images))
    pad = ((0, 0), (max(0, 3 - x.shape[-1]), 0))
    return np.pad(hits, pad), np.pad(images, pad)


def each_table(hits: IntArray, images: IntArray) -> Iterator[Tables]:
    """Go through all tables of some cells, in chunks of cells whose grids have similar shapes.

    Args:
        hits: Shape (cells, 3), from `distinct`.
        images: Same shape.

    Yields:
        Each cell once.
    """
    total = hits.sum(axis=1)
    rows, columns = (np.minimum(images[:, i], total) + 1 for i in (0, 1))
    order = np.lexsort((columns, rows))
    log_factorial = gammaln(np.arange(images.sum(axis=1).max(initial=0) + 1) + 1.0)
    start = 0
    while start < order.size:
        chunk = order[start : start + _fitting(rows[order[start:]], columns[order[start:]])]
        yield _grid(chunk, total[chunk], images[chunk], log_factorial)
        start += chunk.size


def _fitting(rows: IntArray, columns: IntArray) -> int:
    """Leading cells (at least 1) that fit into a chunk, padded to the largest grid among them."""
    window = slice(0, _CHUNK // int(rows[0]) + 1)
    widest = np.maximum.accumulate(columns[window])
    padded = np.arange(1, widest.size + 1) * rows[window] * widest
    return max(1, int(np.searchsorted(padded, _CHUNK, side="right")))


def _grid(rows: IntArray, s: IntArray, images: IntArray, log_factorial: FloatArray) -> Tables:
    total = s[:, None, None]
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
    probability = np.exp(log_p, where=possible, out=np.zeros(possible.shape))
    return Tables(rows, (x0, x1, x2), (n0, n1, n2), np.asarray(possible), probability)


def mean_range(tables: Tables) -> FloatArray:
    """Expectation of the range of the rates, in percentage points.

    Args:
        tables: All tables of some cells.

    Returns:
        Sum of probability times range of each cell, shape (cells,).
    """
    present = [tables.n[i] > 0 for i in range(3)]
    rates = [tables.x[i] / np.maximum(tables.n[i], 1) for i in range(3)]
    high = low = np.broadcast_to(rates[2], tables.possible.shape)  # the largest is never absent
    for there, rate in zip(present[:2], rates[:2], strict=True):
        high = np.where(there, np.maximum(high, rate), high)
        low = np.where(there, np.minimum(low, rate), low)
    return np.asarray(100.0 * (tables.probability * (high - low)).sum(axis=(1, 2)))


def _log_choose(n: IntArray, k: IntArray, log_factorial: FloatArray) -> FloatArray:
    """Log of n choose k from the table; cells outside 0 <= k <= n get a number that is not used."""
    inside = np.clip(k, 0, n)
    return np.asarray(log_factorial[n] - log_factorial[inside] - log_factorial[n - inside])
