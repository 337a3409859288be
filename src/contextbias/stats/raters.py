"""How far several raters agree: raw agreement, Fleiss, Krippendorff, Gwet, with a bootstrap.

A unit is one question about one item. Each rater gives it one category, or none. Units with fewer
than two ratings are left out everywhere, so that all measures are about the same ratings. With as
many ratings of each unit the measures are those of the books; raters may differ from unit to unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from contextbias.stats.agreement import Agreement

FloatArray = NDArray[np.float64]
"""Array of 64-bit floats."""
IntArray = NDArray[np.int64]
"""Array of 64-bit whole numbers."""

_FEWEST_REPLICATES = 0.9
"""An interval needs this share of the replicates to be defined."""


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """Four measures of the same ratings; see `rater_agreement`."""

    raw: Agreement
    """Share of pairs of ratings of a unit that are the same, or how alike they are, mean over
    units."""
    fleiss: Agreement
    """Fleiss' kappa."""
    alpha: Agreement
    """Krippendorff's alpha for nominal categories."""
    ac1: Agreement
    """Gwet's AC1."""


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Sums over the units of each group; groups are what a bootstrap draws."""

    units: FloatArray
    """Units with two ratings or more, shape (groups,)."""
    same: FloatArray
    """Sum over units of the share of pairs that agree, shape (groups,)."""
    alike: FloatArray
    """Sum over units of how alike their pairs are, shape (groups,)."""
    apart: FloatArray
    """Sum over units of m (1 - that share), m the ratings of the unit, shape (groups,)."""
    shares: csr_array
    """Sum over units of each category's share of the ratings, shape (groups, categories)."""
    ratings: csr_array
    """Ratings of each category, shape (groups, categories)."""


def rater_agreement(
    unit: ArrayLike,
    category: ArrayLike,
    *,
    group: ArrayLike | None = None,
    alike: ArrayLike | None = None,
    categories: int | None = None,
    bootstrap: int = 1000,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
) -> RaterAgreement:
    """Agreement of several raters on nominal categories.

    With m(i) ratings of unit i, n(i, c) of them of category c, U units:

        P(i)   = sum over c of n(i, c) (n(i, c) - 1) / (m(i) (m(i) - 1)),  P = mean P(i)
        raw    = P, or the mean of `alike`
        pi(c)  = mean over units of n(i, c) / m(i)
        Fleiss = (P - sum pi²) / (1 - sum pi²)
        AC1    = (P - e) / (1 - e),  e = sum pi (1 - pi) / (q - 1),  q categories
        alpha  = 1 - (N - 1) sum m(i) (1 - P(i)) / (N² - sum n(c)²)
        N      = sum m(i),  n(c) = sum n(i, c)

    Args:
        unit: Number of the unit of each rating, from 0, shape (ratings,).
        category: Number of its category, from 0, same shape.
        group: What each unit belongs to, shape (units,): all questions about one item. Groups are
            drawn with replacement for the intervals. Left out: each unit is its own.
        alike: How alike the ratings of each unit are, 0 to 1, mean over its pairs, shape (units,):
            for ratings that can be alike in part, such as lists, of which a category is the whole.
            Only raw uses it. Left out: P(i). Units with fewer than two ratings count nowhere.
        categories: q: how many categories the raters could choose from; those that were chosen
            where that is more, or where it is left out.
        bootstrap: Replicates of the intervals (percentiles); 0 for none.
        rng: Source of randomness; needed for a bootstrap.
        level: Level of the intervals.

    Returns:
        NaN where a measure is undefined, flagged degenerate where all ratings are of one category
        (raw is 1 then, and AC1 too unless q is 1). An interval is NaN where more than a tenth of
        the replicates are undefined, or where there is one group only.

    Raises:
        ValueError: Shapes that do not match, negative numbers, or a bootstrap without `rng`.

    Sources: Fleiss 1971; Krippendorff 2011; Gwet 2008.
    """
    units, codes = _checked(unit, category)
    if bootstrap and rng is None:
        raise ValueError("a bootstrap needs rng")
    sums = _sums(units, codes, group, alike)
    q = max(sums.ratings.shape[1], categories or 0)
    total = int(sums.units.sum())
    points = _measures(sums, np.ones((1, len(sums.units))), q)[:, 0]
    spread = np.full((4, 2), np.nan)
    if bootstrap and rng is not None and len(sums.units) > 1:
        draws = rng.multinomial(
            len(sums.units), np.full(len(sums.units), 1 / len(sums.units)), bootstrap
        )
        spread = _percentiles(_measures(sums, draws.astype(np.float64), q), level)
    one_only = total > 0 and int((sums.ratings.sum(axis=0) > 0).sum()) == 1
    found = [
        Agreement(float(point), float(low), float(high), total, bool(one_only and np.isnan(point)))
        for point, (low, high) in zip(points, spread, strict=True)
    ]
    return RaterAgreement(*found)


def _checked(unit: ArrayLike, category: ArrayLike) -> tuple[IntArray, IntArray]:
    units, codes = np.asarray(unit, dtype=np.int64), np.asarray(category, dtype=np.int64)
    if units.ndim != 1 or units.shape != codes.shape:
        raise ValueError(f"unit {units.shape} and category {codes.shape} do not match")
    if units.size and (units.min() < 0 or codes.min() < 0):
        raise ValueError("units and categories must not be negative")
    return units, codes


def _sums(
    unit: IntArray, category: IntArray, group: ArrayLike | None, alike: ArrayLike | None
) -> _Sums:
    number = int(unit.max(initial=-1)) + 1
    m = np.bincount(unit, minlength=number).astype(np.float64)
    of = np.arange(number) if group is None else np.asarray(group, dtype=np.int64)
    pairs_alike = None if alike is None else np.asarray(alike, dtype=np.float64)
    for name, given in (("group", of), ("alike", pairs_alike)):
        if given is not None and given.shape != (number,):
            raise ValueError(
                f"{name} {given.shape} needs one entry a unit, of which there are {number}"
            )
    width = int(category.max(initial=0)) + 1
    pairs, n = np.unique(unit * width + category, return_counts=True)
    units, codes = pairs // width, pairs % width
    several = m >= 2
    kept = several[units]
    units, codes, n = units[kept], codes[kept], n[kept].astype(np.float64)
    mine = m[units]
    same = np.bincount(units, n * (n - 1) / (mine * (mine - 1)), number).astype(np.float64)
    groups, place = np.unique(of[several], return_inverse=True)
    where = np.zeros(number, np.int64)
    where[several] = place
    shape = (len(groups), width)

    def by_group(values: FloatArray) -> FloatArray:
        return np.bincount(place, values[several], len(groups)).astype(np.float64)

    def table(values: FloatArray) -> csr_array:
        return csr_array((values, (where[units], codes)), shape=shape)

    return _Sums(
        by_group(np.ones(number)), by_group(same),
        by_group(same if pairs_alike is None else pairs_alike), by_group(m * (1 - same)),
        table(n / mine), table(n),
    )  # fmt: skip


def _measures(sums: _Sums, weights: FloatArray, q: int) -> FloatArray:
    """Raw, Fleiss, alpha and AC1 for each row of weights of groups, shape (4, rows)."""
    if not len(sums.units):
        return np.full((4, len(weights)), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        units = weights @ sums.units
        raw = weights @ sums.alike / units
        same = weights @ sums.same / units
        pi = (weights @ sums.shares) / units[:, None]
        ratings = weights @ sums.ratings
        total = ratings.sum(axis=1)
        by_chance = (pi**2).sum(axis=1)
        fleiss = _beyond(same, np.where(_single(ratings), 1.0, by_chance))
        different = total**2 - (ratings**2).sum(axis=1)
        alpha = 1 - (total - 1) * (weights @ sums.apart) / np.where(
            _single(ratings), np.nan, different
        )
        ac1 = _beyond(same, (1 - by_chance) / (q - 1)) if q > 1 else np.full_like(raw, np.nan)
    return np.stack([raw, fleiss, alpha, ac1])


def _single(ratings: FloatArray) -> NDArray[np.bool_]:
    """Rows in which all ratings are of one category; told from counts, which are exact."""
    found: NDArray[np.bool_] = (ratings > 0).sum(axis=1) <= 1
    return found


def _beyond(raw: FloatArray, by_chance: FloatArray) -> FloatArray:
    """(raw - chance) / (1 - chance); NaN where chance is complete."""
    return (raw - by_chance) / np.where(by_chance == 1, np.nan, 1 - by_chance)


def _percentiles(replicates: FloatArray, level: float) -> FloatArray:
    ends = np.full((len(replicates), 2), np.nan)
    for row, values in enumerate(replicates):
        known = values[np.isfinite(values)]
        if len(known) >= _FEWEST_REPLICATES * len(values):
            ends[row] = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return ends
