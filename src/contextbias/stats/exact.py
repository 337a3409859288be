"""Exact and Monte Carlo p of the homogeneity test, for tables with small expected counts.

Given all margins, the hits are spread over the conditions by a multivariate hypergeometric law. The
p is the probability of tables whose chi-squared is at least the observed one; the expectation of
the range of the rates is found on the way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contextbias.stats.margins import Tables, distinct, each_table, mean_range
from contextbias.stats.proportion import BoolArray, FloatArray, IntArray

_TIE = 1e-10  # relative; tables with equal chi-squared differ by rounding only


@dataclass(frozen=True, slots=True)
class ExactP:
    """Conditional p of Pearson's chi-squared."""

    p: FloatArray
    """The p; NaN with fewer than two conditions."""
    enumerated: BoolArray
    """True: all tables were summed; False: Monte Carlo, or not testable."""
    range_pp: FloatArray
    """Mean range of the rates over the same tables, in percentage points; NaN where p is."""


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
    cells = distinct(x, n)
    hits, images = cells.hits, cells.images
    small = cells.countable(most_tables)
    p, pp = np.full(small.shape, np.nan), np.full(small.shape, np.nan)
    rows = np.flatnonzero(small)
    for tables in each_table(hits[rows], images[rows]):
        chunk = rows[tables.rows]
        p[chunk] = _extreme(hits[chunk], images[chunk], tables)
        pp[chunk] = mean_range(tables)
    # Each cell has draws of its own, which depend on its counts and on no other cell.
    seed = int(rng.integers(2**62))
    for row in np.flatnonzero(cells.tested & ~small):
        own = np.random.default_rng([seed, *hits[row], *images[row]])
        p[row], pp[row] = _monte_carlo(hits[row], images[row], own, resamples)
    back = cells.inverse
    return ExactP(np.asarray(p[back]), np.asarray(small[back]), np.asarray(pp[back]))


def _extreme(hits: IntArray, images: IntArray, tables: Tables) -> FloatArray:
    """Probability of the tables whose statistic is at least the observed one."""
    first, second, third = tables.grid(
        [x**2 / np.maximum(n, 1) for x, n in zip(tables.x, tables.n, strict=True)]
    )
    statistic = first + second
    statistic += third
    observed = (hits**2 / np.maximum(images, 1)).sum(axis=1)[:, None, None]
    counted = (statistic >= observed * (1.0 - _TIE)).astype(np.float64)
    return np.asarray(np.minimum(np.einsum("cij,cij->c", tables.probability, counted), 1.0))


def _monte_carlo(
    hits: IntArray, images: IntArray, rng: np.random.Generator, resamples: int
) -> tuple[float, float]:
    """Share of random tables as extreme, the observed one among them; and their mean range."""
    drawn = rng.multivariate_hypergeometric(images, int(hits.sum()), size=resamples)
    sizes = np.maximum(images, 1)
    observed = (hits**2 / sizes).sum()
    extreme = (drawn**2 / sizes).sum(axis=1) >= observed * (1.0 - _TIE)
    rates = drawn[:, images > 0] / images[images > 0]
    return float((1 + extreme.sum()) / (1 + resamples)), float(100.0 * np.ptp(rates, axis=1).mean())
