"""Permutation of prompts: would the conditions differ as much if prompts were dealt out at random?

Prompts (or contexts) keep their images together, so what makes the images of one of them alike
counts once. The price is resolution: with few units there are few ways to deal them out, and no p
is smaller than one over their number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contextbias.stats.proportion import FloatArray, IntArray

Singles = NDArray[np.float32]
"""Array of 32-bit floats."""

# Statistics are worked out in 32 bits, for speed. They are equal within this share of the observed
# one: rounding stays below a fifth of it.
_TIE = 1e-6
# Multiplications of one product. OpenBLAS gives larger ones to several threads, which on a busy
# machine wait for each other 80 times as long as they work.
_PRODUCT = 250_000


@dataclass(frozen=True, slots=True)
class Permutation:
    """Permutation p of cells whose units are dealt out alike."""

    p: FloatArray
    """The p, shape (cells,); NaN with fewer than two conditions."""
    dealings: int
    """Ways to deal the units out that were compared, the observed one among them."""
    complete: bool
    """True: these were all ways; False: a random sample of them."""


def permutation_p(
    x: ArrayLike,
    n: ArrayLike,
    condition: ArrayLike,
    *,
    question: ArrayLike | None = None,
    rng: np.random.Generator,
    resamples: int = 999,
) -> Permutation:
    """P of Pearson's chi-squared when units are dealt out to conditions at random.

    Every condition keeps its number of units. If there are at most 1 + `resamples` ways, all are
    gone through: p is the share with a statistic at least as large. Otherwise p is
    (1 + as large) / (1 + resamples). All cells see the same dealings.

    The statistic is sum over c of x(c)² / n(c), which rises with chi-squared, since sum x and sum n
    stay as they are.

    Args:
        x: Images that show the label, shape (units, cells).
        n: Images read, shape (units, questions), or (units, cells) without `question`.
        condition: Condition of each unit, shape (units,).
        question: Which column of `n` belongs to each cell, shape (cells,).
        rng: Source of the random dealings.
        resamples: Random dealings.

    Raises:
        ValueError: Shapes that do not agree, or x outside 0 to n.

    Source: Good (2005), Permutation, Parametric and Bootstrap Tests of Hypotheses, chapter 3;
        Phipson & Smyth (2010) for the added one.
    """
    hits, images, columns, codes = _checked(x, n, condition, question)
    dealt, complete = _dealings(codes, rng, resamples)
    p = np.full(hits.shape[1], np.nan)
    if np.unique(codes).size < 2:
        return Permutation(p, len(dealt), complete)
    members = [np.asarray(dealt == code, dtype=np.float32).T for code in np.unique(codes)]
    rows, sizes = (np.ascontiguousarray(part.T, dtype=np.float32) for part in (hits, images))
    weights = [1.0 / np.maximum(_product(sizes, member), 1.0) for member in members]
    step = max(1, _PRODUCT // dealt.size)
    for start in range(0, p.size, step):
        part = slice(start, start + step)
        statistic = np.zeros((rows[part].shape[0], len(dealt)), dtype=np.float32)
        for member, weight in zip(members, weights, strict=True):
            x = rows[part] @ member
            x *= x
            x *= weight[columns[part]]
            statistic += x
        # The first dealing is the observed one.
        p[part] = (statistic >= statistic[:, :1] * (1.0 - _TIE)).mean(axis=1)
    return Permutation(p, len(dealt), complete)


def _product(rows: Singles, member: Singles) -> Singles:
    """Matrix product, a few rows at a time; see `_PRODUCT`."""
    step = max(1, _PRODUCT // member.size)
    parts = [rows[start : start + step] @ member for start in range(0, len(rows), step)]
    return np.concatenate(parts) if parts else np.zeros((0, member.shape[1]), dtype=np.float32)


def _checked(
    x: ArrayLike, n: ArrayLike, condition: ArrayLike, question: ArrayLike | None
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    hits, images = np.asarray(x, dtype=np.float64), np.asarray(n, dtype=np.float64)
    _, codes = np.unique(np.asarray(condition), return_inverse=True)
    if hits.ndim != 2 or images.ndim != 2 or not hits.shape[0] == images.shape[0] == codes.size:
        raise ValueError("x and n need one row a unit, and one column a cell or question")
    columns = np.arange(hits.shape[1]) if question is None else np.asarray(question, dtype=np.int64)
    if columns.shape != hits.shape[1:] or np.any(columns >= images.shape[1]):
        raise ValueError("every cell needs a question that n has a column for")
    if np.any(hits < 0) or np.any(hits > images[:, columns]):
        raise ValueError("x must lie between 0 and n")
    return hits, images, columns, codes.astype(np.int64)


def _dealings(codes: IntArray, rng: np.random.Generator, resamples: int) -> tuple[IntArray, bool]:
    """Conditions of the units, one row a dealing; the first row is the observed one."""
    sizes = np.bincount(codes)
    ways = math.factorial(codes.size)
    for size in sizes:
        ways //= math.factorial(int(size))
    if ways <= 1 + resamples:
        every = np.array(list(_every(codes.size, [int(size) for size in sizes])), dtype=np.int64)
        others = every[np.any(every != codes, axis=1)]
        return np.vstack([codes, others.reshape(-1, codes.size)]), True
    drawn = rng.permuted(np.broadcast_to(codes, (resamples, codes.size)), axis=1)
    return np.vstack([codes, drawn]), False


def _every(units: int, sizes: list[int]) -> Iterator[list[int]]:
    """All ways to give every unit one of the conditions, of which `sizes` are to be given."""
    if len(sizes) <= 1:
        yield [0] * units
        return
    last = len(sizes) - 1
    for chosen in combinations(range(units), sizes[last]):
        for rest in _every(units - sizes[last], sizes[:last]):
            left = iter(rest)
            yield [last if unit in chosen else next(left) for unit in range(units)]
