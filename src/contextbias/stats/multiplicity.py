"""Many tests at once: the Benjamini-Hochberg adjustment over declared families."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contextbias.stats.proportion import BoolArray, FloatArray, IntArray, counts


@dataclass(frozen=True, slots=True)
class Adjusted:
    """P-values adjusted for the false discovery rate."""

    q: FloatArray
    """Adjusted p, shape (tests,); NaN where a test was left out."""
    tests: IntArray
    """Tests counted in the family of each row, shape (tests,)."""


def benjamini_hochberg(p: ArrayLike, family: ArrayLike | None = None) -> Adjusted:
    """Adjust p-values by Benjamini and Hochberg's step-up rule within each family.

    With the m p-values of a family in order: q(i) = min over j >= i of p(j) m / j; at most p(m).

    Args:
        p: P-values, shape (tests,); NaN: left out of its family.
        family: A label of the family of each test, same shape; None: all are one family.

    Raises:
        ValueError: A p outside [0, 1], or shapes that differ.

    Source: Benjamini & Hochberg (1995), JRSS B 57, 289-300.
    """
    values = np.asarray(p, dtype=np.float64)
    labels = np.zeros(values.shape, np.int64) if family is None else np.asarray(family)
    if values.ndim != 1 or labels.shape != values.shape:
        raise ValueError("p and family must be one-dimensional and of one length")
    if np.any((values < 0) | (values > 1)):
        raise ValueError("p-values must lie in [0, 1]")
    q, tests = np.full(values.shape, np.nan), np.zeros(values.shape, np.int64)
    kept = np.flatnonzero(~np.isnan(values))
    _, codes = np.unique(labels, return_inverse=True)
    for code in range(int(codes.max(initial=-1)) + 1):
        rows = kept[codes[kept] == code]
        q[rows] = _step_up(values[rows])
        tests[codes == code] = rows.size
    return Adjusted(q, tests)


def _step_up(p: FloatArray) -> FloatArray:
    """Adjust the p-values of one family, none of them missing."""
    order = np.argsort(p, kind="stable")
    scaled = p[order] * (p.size / np.arange(1, p.size + 1))
    smallest = np.minimum.accumulate(scaled[::-1])[::-1]
    result = np.empty_like(p)
    result[order] = smallest
    return result


def complements(group: ArrayLike, x: ArrayLike, n: ArrayLike, include: ArrayLike) -> IntArray:
    """Find labels whose test is the mirror image of another label's.

    Where exactly two labels of a question are tested and x1 + x2 = n in every condition (yes and
    no; female and male where nothing else was read), both have the same test. A family counts it
    once.

    Args:
        group: A code of (generator, role, dimension) for each row, shape (rows,).
        x: Images that show the label, shape (rows, conditions).
        n: Images read, same shape; 0 or NaN: absent.
        include: Which rows are tested, shape (rows,).

    Returns:
        For each row the index of the row that stands for it, or -1; shape (rows,).

    Raises:
        ValueError: As `proportion.counts`.
    """
    checked = counts(x, n)
    codes, tested = np.asarray(group), np.asarray(include, dtype=np.bool_)
    rows = np.flatnonzero(tested)
    rows = rows[np.argsort(codes[rows], kind="stable")]
    _, first, size = np.unique(codes[rows], return_index=True, return_counts=True)
    leading = first[size == 2]
    a, b = rows[leading], rows[leading + 1]
    mirrored = np.all(checked.x[a] + checked.x[b] == checked.n[a], axis=-1)
    mirrored &= np.all(checked.n[a] == checked.n[b], axis=-1)
    result = np.full(codes.shape, -1, dtype=np.int64)
    result[b[mirrored]] = a[mirrored]
    return result


def adjust_once(p: ArrayLike, family: ArrayLike | None, stands_for: IntArray) -> Adjusted:
    """Adjust p-values with complements counted once; a complement gets the q of its twin.

    Args:
        p: P-values, shape (tests,); NaN: left out.
        family: As `benjamini_hochberg`.
        stands_for: From `complements`.

    Raises:
        ValueError: As `benjamini_hochberg`.
    """
    twin: BoolArray = stands_for >= 0
    counted = np.where(twin, np.nan, np.asarray(p, dtype=np.float64))
    adjusted = benjamini_hochberg(counted, family)
    adjusted.q[twin] = adjusted.q[stands_for[twin]]
    return adjusted
