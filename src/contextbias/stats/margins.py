"""All tables with the margins of a cell: hits spread over the images of up to three conditions.

Given how many images each condition has and how many show the label in all, the hits are spread by
a multivariate hypergeometric law if the label does not depend on the condition. Whatever is asked
of that law (a p, the expectation of a range) is a sum over its tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlog1py, xlogy

from contextbias.stats.proportion import BoolArray, FloatArray, IntArray, counts, distinct_cells

_CHUNK = 150_000  # padded tables at a time: few enough for the processor's cache
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
    """Hits in each condition: x0, then x1, then what is left for every x0 + x1; the last has one
    row a cell, the others one row for all."""
    n: tuple[IntArray, IntArray, IntArray]
    """Images in each condition, shape (cells, 1)."""
    probability: FloatArray
    """Of each table, shape (cells, x0, x1); 0 where the grid holds none."""

    def grid(self, values: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Bring a number of each condition, in the shapes of `x`, to shapes that broadcast.

        Args:
            values: One array a condition, one row a cell or for all.

        Returns:
            Together they have the shape of `probability`. The last is a view.
        """
        first, second, third = values
        return first[:, :, None], second[:, None, :], _by_sum(third, self.x[1].shape[1])


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
    """The law as a product: three binomials of one rate, over the binomial of all images.

    Hits of the third condition depend on x0 + x1 only, so that their array is a view of a vector.
    """
    size, wide = (int(np.minimum(images[:, i], s).max()) + 1 for i in (0, 1))
    x0, x1 = np.arange(size)[None, :], np.arange(wide)[None, :]
    x2 = s[:, None] - np.arange(size + wide - 1)
    rate = (s / np.maximum(images.sum(axis=1), 1))[:, None]
    one, two, three = (
        _binomial(images[:, i, None], x, rate, log_factorial) for i, x in enumerate((x0, x1, x2))
    )
    all_hits = _binomial(images.sum(axis=1, keepdims=True), s[:, None], rate, log_factorial)
    probability = (one / all_hits)[:, :, None] * two[:, None, :]
    probability *= _by_sum(three, wide)
    n0, n1, n2 = (images[:, i, None] for i in range(3))
    return Tables(rows, (x0, x1, x2), (n0, n1, n2), probability)


def _by_sum(values: FloatArray, wide: int) -> FloatArray:
    """View of numbers that depend on x0 + x1, shape (cells, x0, x1)."""
    return np.asarray(sliding_window_view(values, wide, axis=1))


def _binomial(n: IntArray, x: IntArray, rate: FloatArray, log_factorial: FloatArray) -> FloatArray:
    """Probability of x hits among n images; 0 outside 0 <= x <= n."""
    inside = np.clip(x, 0, n)
    choose = log_factorial[n] - log_factorial[inside] - log_factorial[n - inside]
    log_p = choose + xlogy(inside, rate) + xlog1py(n - inside, -rate)
    return np.asarray(np.where(inside == x, np.exp(log_p), 0.0))


def mean_range(tables: Tables) -> FloatArray:
    """Expectation of the range of the rates, in percentage points.

    Args:
        tables: All tables of some cells.

    Returns:
        Sum of probability times range of each cell, shape (cells,).
    """
    # An absent condition never has the highest or the lowest rate. The last one is the largest.
    rates = [x / np.maximum(n, 1) for x, n in zip(tables.x, tables.n, strict=True)]
    ends = []
    for absent, extreme in ((-np.inf, np.maximum), (np.inf, np.minimum)):
        there = [np.where(n > 0, rate, absent) for rate, n in zip(rates, tables.n, strict=True)]
        first, second, third = tables.grid(there)
        end = extreme(first, second)
        ends.append(extreme(end, third, out=end))
    high, low = ends
    high -= low
    return np.asarray(100.0 * np.einsum("cij,cij->c", tables.probability, high))
