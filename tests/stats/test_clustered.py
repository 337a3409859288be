"""Tests of homogeneity when images cluster."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

from contextbias.stats.clustered import (
    clustered_chi_squared,
    intraclass_correlation,
    mean_cluster_size,
)
from contextbias.stats.homogeneity import chi_squared

# ContextBench: 1, 3 and 4 contexts of a role in CF, CA-R and CA-U.
SIZES = np.array([30, 30, 30, 10, 30, 30, 10, 10])
CONDITION = np.array([0, 1, 1, 1, 2, 2, 2, 2])


# ---- intraclass correlation


def test_clusters_in_several_rows_are_added_up() -> None:
    # Prompts of one context come as rows of their own: 1 + 2 hits, in either order.
    places = ([1, 0, 0, 2], [0, 0, 0, 0])
    parts = sparse.coo_array(([1, 1, 2, 0], places), (3, 1))
    found = intraclass_correlation(parts, [4, 4, 0], [0, 0, 0])
    assert found == intraclass_correlation([[3], [1]], [4, 4], [0, 0])
    with pytest.raises(ValueError, match="between 0 and n"):
        intraclass_correlation(sparse.coo_array(([3, 2], ([0, 0], [0, 0])), (1, 1)), [4], [0])


def test_one_stratum_by_hand() -> None:
    # Two clusters of 4 images, 3 and 1 hits: p = 1/2.
    # between = 9/4 + 1/4 - 16/8 = 1/2 (df 1); within = 4 - 10/4 = 3/2 (df 6): MSB 1/2, MSW 1/4
    # rho = (1/2 - 1/4) / (1/2 + 3/4) = 1/5
    found = intraclass_correlation([[3], [1]], [4, 4], [0, 0])
    assert found.point == pytest.approx(0.2)
    assert (found.df, found.clusters) == (1, 2)


def test_against_an_analysis_of_variance() -> None:
    # scipy's F is MSB / MSW for clusters of one stratum and label; then the textbook formula.
    rng = np.random.default_rng(0)
    sizes = np.array([12, 30, 7, 30, 10])
    images = [rng.random(size) < rate for size, rate in zip(sizes, rng.random(5), strict=True)]
    f = stats.f_oneway(*[values.astype(float) for values in images]).statistic
    n0 = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / 4
    hits = np.array([[values.sum()] for values in images])
    found = intraclass_correlation(hits, sizes, np.zeros(5))
    assert found.point == pytest.approx((f - 1) / (f + n0 - 1))


def test_strata_and_labels_are_pooled_by_their_variance() -> None:
    # A label without variance adds nothing, in however many strata.
    alone = intraclass_correlation([[3], [1]], [4, 4], [0, 0])
    padded = intraclass_correlation([[3, 4], [1, 4], [0, 0], [0, 0]], [4, 4, 4, 4], [0, 0, 1, 1])
    assert padded.point == pytest.approx(alone.point)
    assert (padded.df, padded.clusters) == (2, 4)
    # Single clusters and clusters without images tell nothing.
    more = intraclass_correlation([[3], [1], [2], [0]], [4, 4, 9, 0], [0, 0, 1, 0])
    assert more == alone


def test_sparse_counts_are_the_same() -> None:
    rng = np.random.default_rng(1)
    x = rng.binomial(SIZES[:, None], 0.3, size=(8, 5))
    assert intraclass_correlation(sparse.csr_array(x), SIZES, CONDITION) == (
        intraclass_correlation(x, SIZES, CONDITION)
    )


def test_extremes() -> None:
    assert intraclass_correlation([[4], [0]], [4, 4], [0, 0]).point == 1
    assert intraclass_correlation([[2], [2]], [4, 4], [0, 0]).point == 0  # negative
    assert np.isnan(intraclass_correlation([[4], [4]], [4, 4], [0, 0]).point)
    assert np.isnan(intraclass_correlation([[2], [2]], [4, 4], [0, 1]).point)
    assert np.isnan(intraclass_correlation([[1], [0]], [1, 1], [0, 0]).point)
    assert np.isnan(intraclass_correlation(np.zeros((0, 3)), [], []).point)


def test_input_is_checked() -> None:
    with pytest.raises(ValueError, match="one row of x"):
        intraclass_correlation([[1], [2]], [4, 4, 4], [0, 0, 0])
    with pytest.raises(ValueError, match="between 0 and n"):
        intraclass_correlation([[5], [2]], [4, 4], [0, 0])


@pytest.mark.parametrize("rho", [0.0, 0.05, 0.2, 0.5])
def test_a_known_correlation_is_found(rho: float) -> None:
    rng = np.random.default_rng(2)
    roles, rates = 400, np.array([0.1, 0.5, 0.8])
    x = _beta_binomial(rng, rho, rates, roles)
    strata = (np.arange(roles)[:, None] * 3 + CONDITION).ravel()
    found = intraclass_correlation(x.reshape(-1, 3), np.tile(SIZES, roles), strata)
    assert found.point == pytest.approx(rho, abs=0.02)
    assert (found.df, found.clusters) == (5 * roles, 7 * roles)


def _beta_binomial(
    rng: np.random.Generator, rho: float, rates: np.ndarray, roles: int
) -> np.ndarray:
    """Hits by role, cluster and label; the rate of a cluster varies around that of its label."""
    n = SIZES[None, :, None]
    shape = roles, SIZES.size, rates.size
    if rho == 0:
        return rng.binomial(n, np.broadcast_to(rates, shape))
    spread = (1 - rho) / rho
    return rng.binomial(n, rng.beta(rates * spread, (1 - rates) * spread, size=shape))


def test_mean_cluster_size() -> None:
    # 30² + 30² + 10² over 70; 2 (30² + 10²) over 80
    found = mean_cluster_size(SIZES, CONDITION, 4)
    assert found[:3] == pytest.approx([30, 1900 / 70, 25])
    assert np.isnan(found[3])


# ---- clustered chi-squared


def test_a_design_effect_of_one_is_pearson() -> None:
    x, n = [[3, 35, 64], [5, 0, 9], [0, 0, 0]], [[30, 70, 80], [30, 0, 40], [30, 70, 80]]
    plain, found = chi_squared(x, n), clustered_chi_squared(x, n, np.ones(3))
    assert found.statistic == pytest.approx(plain.statistic)
    assert found.p == pytest.approx(plain.p)
    assert found.df.tolist() == plain.df.tolist()


def test_one_design_effect_divides_the_statistic() -> None:
    # Donner's adjustment for equal clusters
    found = clustered_chi_squared([3, 35, 64], [30, 70, 80], 2.5)
    assert found.statistic == pytest.approx(chi_squared([3, 35, 64], [30, 70, 80]).statistic / 2.5)


def test_different_design_effects_by_hand() -> None:
    # effective 2/10 and 10/20: rate 12/30, deviations 2 - 4 and 10 - 8
    # chi2 = (4/10 + 4/20) / (.4 * .6) = 2.5
    found = clustered_chi_squared([4, 10], [20, 20], [2, 1])
    assert found.statistic == pytest.approx(2.5)
    assert found.p == pytest.approx(stats.chi2.sf(2.5, 1))
    # the design effect rests on 7 degrees of freedom
    few = clustered_chi_squared([4, 10], [20, 20], [2, 1], error_df=7)
    assert few.p == pytest.approx(stats.f.sf(2.5, 1, 7))


def test_unknown_design_effects() -> None:
    found = clustered_chi_squared(
        [[4, 10, 0], [4, 10, 3], [4, 0, 0], [0, 0, 0]],
        [[20, 20, 0], [20, 20, 5], [20, 0, 0], [20, 20, 5]],
        [1, 1, np.nan],
    )
    assert np.isfinite(found.statistic[0])  # the absent condition's is not needed
    assert np.isnan(found.statistic[1:3]).all()
    assert np.isnan(found.p[1:3]).all()
    assert np.isnan(clustered_chi_squared([4, 10], [20, 20], [2, 1], error_df=0).p)
    with pytest.raises(ValueError, match="at least 1"):
        clustered_chi_squared([4, 10], [20, 20], [0.5, 1])


def test_a_label_in_none_or_all_images() -> None:
    found = clustered_chi_squared([[0, 0], [20, 20]], [20, 20], 3.0, error_df=9)
    assert found.statistic.tolist() == [0, 0]
    assert found.p.tolist() == [1, 1]


def _sizes(rho: float, roles: int, studies: int, seed: int) -> tuple[float, float, float]:
    """How often a true hypothesis is rejected at 5%: naively, with chi-squared, with F."""
    rng = np.random.default_rng(seed)
    rates = np.array([0.1, 0.3, 0.5, 0.9])
    n = np.bincount(CONDITION, SIZES)
    m = mean_cluster_size(SIZES, CONDITION, 3)
    rejected = np.zeros(3)
    for _ in range(studies):
        x = _beta_binomial(rng, rho, rates, roles)
        strata = (np.arange(roles)[:, None] * 3 + CONDITION).ravel()
        found = intraclass_correlation(x.reshape(-1, 4), np.tile(SIZES, roles), strata)
        point = 0.0 if np.isnan(found.point) else found.point
        by_condition = np.stack([x[:, c == CONDITION].sum(axis=1) for c in range(3)], axis=-1)
        effect = 1 + (m - 1) * point
        rejected += [
            (p < 0.05).mean()
            for p in (
                chi_squared(by_condition, n).p,
                clustered_chi_squared(by_condition, n, effect).p,
                clustered_chi_squared(by_condition, n, effect, error_df=found.df).p,
            )
        ]
    naive, chi, f = rejected / studies
    return naive, chi, f


@pytest.mark.parametrize("rho", [0.05, 0.2])
def test_the_size_is_kept(rho: float) -> None:
    """ContextBench's contexts: the naive test rejects in a quarter to a half of the cases."""
    naive, _, f = _sizes(rho, roles=60, studies=20, seed=3)
    assert naive > 0.2
    assert 0.025 < f < 0.065


@pytest.mark.slow
def test_the_size_is_kept_with_few_roles() -> None:
    """Nominal 5%, four labels. F stays below; it counts contexts only, so with one role it is low.

    Measured at correlations of .05 and .2: naive .26 to .61; chi-squared .08 and .07 with one role,
    .05 and .04 with five; F .01 with one role, .04 and .03 with five, .04 with sixty.
    """
    for rho in (0.05, 0.2):
        naive, chi, f = _sizes(rho, roles=1, studies=3_000, seed=4)
        assert naive > 0.2
        assert f < 0.05 < chi
        _, _, f = _sizes(rho, roles=5, studies=1_500, seed=5)
        assert 0.02 < f < 0.055
