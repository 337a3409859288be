"""Does a label keep its prevalence when the prompt is worded differently? Many labels at once.

Variants of one another form a family (the phrasings of one base prompt, say), and a stratum (a role
in a condition) may have several families, of which each is compared only within itself. Counts are
sparse: most labels occur in few prompts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import chdtrc

from contextbias.stats.proportion import FloatArray, IntArray

Matrix: TypeAlias = ArrayLike | sparse.csr_array
"""Dense or sparse."""


@dataclass(frozen=True, slots=True)
class VariantTests:
    """Tests of all (stratum, label) that have a hit; those without one have statistic 0 and p 1."""

    stratum: IntArray
    """Which stratum, shape (tests,)."""
    label: IntArray
    """Which label, shape (tests,)."""
    hits: IntArray
    """Images of the compared variants that show the label, shape (tests,)."""
    statistic: FloatArray
    """Chi-squared of the 2 x k tables, summed over families, shape (tests,)."""
    df: IntArray
    """Its degrees of freedom; 0 where the label is in none or all images of every family."""
    p: FloatArray
    """Upper tail; 1 where df is 0."""
    leave_one_out: FloatArray
    """The leave-one-out sum, shape (tests,)."""
    leave_one_out_p: FloatArray
    """Its upper tail in the chi-squared distribution of `df`, which it does not follow."""
    left_out: IntArray
    """Variants without an expectation, which the sum lacks."""
    images: IntArray
    """Images of compared variants of every stratum; 0: nothing to compare, shape (strata,)."""


@dataclass(frozen=True, slots=True)
class _Families:
    """Variants that are compared, and what they belong to."""

    hits: sparse.csr_array
    n: FloatArray
    family: IntArray
    """Family of each variant, from 0."""
    size: FloatArray
    """Images of each family."""
    variants: IntArray
    """Variants of each family."""
    stratum: IntArray
    """Stratum of each family."""

    def sums(self, values: sparse.csr_array) -> sparse.csr_array:
        """Add up the variants of each family."""
        ones = np.ones(self.n.size)
        shape = (self.size.size, self.n.size)
        member = sparse.csr_array((ones, (self.family, np.arange(self.n.size))), shape)
        added = member @ values
        added.sort_indices()
        return added


def variant_tests(
    x: Matrix, n: ArrayLike, family: ArrayLike, stratum: ArrayLike, *, strata: int
) -> VariantTests:
    """Homogeneity of variants, stratified by family, and the leave-one-out sum beside it.

    For a family with N images, S hits, variants v with x(v) of n(v), and p = S / N:

    - 2 x k test: X² = (sum x(v)² / n(v) - S² / N) / (p (1 - p)), df k - 1. It is summed over the
      families of a stratum with 0 < S < N; the others have nothing to tell, and add no df.
    - leave-one-out: E(v) = n(v) (S - x(v)) / (N - n(v)), sum over v of (x(v) - E(v))² / E(v). A
      variant with all hits has E = 0 and is left out of the sum. The sum lacks the images without
      the label, so it is not chi-squared; it reproduces a published figure.

    Variants without images are left out, and so are families with one variant.

    Args:
        x: Images that show the label, shape (variants, labels).
        n: Images read, shape (variants,).
        family: Code of the family of each variant, shape (variants,).
        stratum: Number of its stratum, from 0, the same for all of a family, shape (variants,).
        strata: How many strata there are.

    Raises:
        ValueError: Shapes that do not agree, or x outside 0 to n.
    """
    found = _families(x, n, family, stratum)
    labels = found.hits.shape[1]
    sums, squares = found.sums(found.hits), found.sums(_divided(found.hits.power(2), found.n))
    which, label = sums.nonzero()
    s, size = sums.data, found.size[which]
    informative = s < size
    rate = s / size
    chi = (squares.data - s * rate) / np.where(informative, rate * (1.0 - rate), 1.0)
    loo, lost = _leave_one_out(found, sums)
    key, place = np.unique(found.stratum[which] * labels + label, return_inverse=True)
    total: list[FloatArray] = [
        np.bincount(place, values, key.size).astype(np.float64)
        for values in (s, np.where(informative, chi, 0.0), loo, lost)
    ]
    df = np.bincount(place, informative * (found.variants[which] - 1), key.size).astype(np.int64)
    images = np.bincount(found.stratum, found.size, strata).astype(np.int64)
    return VariantTests(
        key // max(labels, 1), key % max(labels, 1), total[0].astype(np.int64), total[1], df,
        _tail(df, total[1]), total[2], _tail(df, total[2]), total[3].astype(np.int64), images,
    )  # fmt: skip


def _families(x: Matrix, n: ArrayLike, family: ArrayLike, stratum: ArrayLike) -> _Families:
    """Check the input, and keep families of two variants or more."""
    hits, images = sparse.csr_array(x, dtype=np.float64), np.asarray(n, dtype=np.float64)
    codes, strata = np.asarray(family), np.asarray(stratum, dtype=np.int64)
    if images.ndim != 1 or not images.shape == codes.shape == strata.shape == hits.shape[:1]:
        raise ValueError("variants need one row of x, one n, one family and one stratum each")
    if np.any(hits.data < 0) or np.any(hits.data > np.repeat(images, np.diff(hits.indptr))):
        raise ValueError("x must lie between 0 and n")
    _, code = np.unique(codes, return_inverse=True)
    kept = (images > 0) & (np.bincount(code, images > 0)[code] >= 2)
    _, first, code, variants = np.unique(
        codes[kept], return_index=True, return_inverse=True, return_counts=True
    )
    rows, n_kept = hits[kept], images[kept]
    rows.eliminate_zeros()
    size = np.bincount(code, n_kept, variants.size).astype(np.float64)
    return _Families(rows, n_kept, code, size, variants, strata[kept][first])


def _divided(values: sparse.csr_array, by: FloatArray) -> sparse.csr_array:
    """Divide each row."""
    return sparse.csr_array(
        (values.data / np.repeat(by, np.diff(values.indptr)), values.indices, values.indptr),
        shape=values.shape,
    )


def _leave_one_out(found: _Families, sums: sparse.csr_array) -> tuple[FloatArray, FloatArray]:
    """The sum and the number of terms left out, for every entry of `sums`.

    A variant without hits adds its expectation n S / (N - n). All variants are taken for such ones
    first; then those with hits get their own term in its place.
    """
    which, _ = sums.nonzero()
    odds = found.n / (found.size[found.family] - found.n)
    without_hits = sums.data * np.bincount(found.family, odds, found.size.size)[which]
    variant, label = found.hits.nonzero()
    x, labels = found.hits.data, sums.shape[1]
    entry = np.searchsorted(which * labels + sums.indices, found.family[variant] * labels + label)
    s = sums.data[entry]
    expected = odds[variant] * (s - x)
    lost = s == x
    term = np.where(lost, 0.0, (x - expected) ** 2 / np.where(lost, 1.0, expected))
    own = np.bincount(entry, term - odds[variant] * s, sums.nnz)
    return without_hits + own, np.bincount(entry, lost, sums.nnz).astype(np.float64)


def _tail(df: IntArray, statistic: FloatArray) -> FloatArray:
    """Upper tail of chi-squared; 1 without degrees of freedom."""
    return np.asarray(np.where(df > 0, chdtrc(np.maximum(df, 1), np.maximum(statistic, 0.0)), 1.0))
