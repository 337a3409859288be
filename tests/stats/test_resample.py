"""The role bootstrap: weights, weighted means, percentile intervals, expansion for few roles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t

from contextbias.stats.resample import (
    expand,
    expansion,
    percentile_interval,
    role_weights,
    weighted_mean,
)


def test_every_replicate_draws_as_many_roles_as_there_are() -> None:
    weights = role_weights(12, 500, np.random.default_rng(0))
    assert weights.shape == (500, 12)
    assert (weights.sum(axis=1) == 12).all()
    # A role is left out of a replicate with probability (11/12)^12 = 0.352.
    assert (weights == 0).mean() == pytest.approx((11 / 12) ** 12, abs=0.02)


def test_no_replicates_and_no_roles() -> None:
    assert role_weights(3, 0, np.random.default_rng(0)).shape == (0, 3)
    with pytest.raises(ValueError, match="roles"):
        role_weights(0, 5, np.random.default_rng(0))
    with pytest.raises(ValueError, match="replicates"):
        role_weights(3, -1, np.random.default_rng(0))


def test_weighted_mean_by_hand() -> None:
    weights = [[1, 1, 1], [2, 0, 1], [0, 3, 0]]
    values = np.array([[1.0, 4.0], [2.0, math.nan], [6.0, 1.0]])
    # Second column: role 1 has no value, so (4 + 1) / 2, (2 * 4 + 1) / 3, and nothing at all.
    expected = [[3.0, 2.5], [8 / 3, 3.0], [2.0, math.nan]]
    np.testing.assert_allclose(weighted_mean(weights, values), expected)


def test_percentiles_by_hand() -> None:
    # 0, 1, 2, 3, 4: type 7 quantiles at .25 and .75 are 1 and 3.
    interval = percentile_interval(1.5, np.arange(5.0), 0.5)
    assert (interval.point, interval.low, interval.high, interval.n) == (1.5, 1.0, 3.0, 5)
    # The replicates' mean is 2, so centred on 1.5 they move down by a half.
    moved = percentile_interval(1.5, np.arange(5.0), 0.5, centred=True)
    assert (moved.low, moved.high) == (0.5, 2.5)


def test_undefined_replicates_are_left_out_and_counted() -> None:
    draws = np.array([[1.0, math.nan, 5.0], [3.0, math.nan, math.nan], [2.0, math.nan, 7.0]])
    interval = percentile_interval([2.0, 2.0, math.nan], draws, 0.5)
    np.testing.assert_allclose(interval.low, [1.5, math.nan, math.nan])
    np.testing.assert_allclose(interval.high, [2.5, math.nan, math.nan])
    assert interval.n.tolist() == [3, 0, 2]


def test_no_replicates_give_no_interval() -> None:
    interval = percentile_interval(np.zeros((2, 3)), np.zeros((0, 2, 3)), 0.05, centred=True)
    assert np.isnan(interval.low).all()
    assert interval.n.shape == (2, 3)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1.0])
def test_alpha_is_checked(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        percentile_interval(0.0, [1.0], alpha)


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match="shape"):
        percentile_interval([0.0, 1.0], [[1.0]], 0.05)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30), st.floats(-1e3, 1e3))
def test_centring_moves_both_ends_by_the_bias(draws: list[float], point: float) -> None:
    plain = percentile_interval(point, draws, 0.1)
    moved = percentile_interval(point, draws, 0.1, centred=True)
    bias = float(np.mean(draws)) - point
    assert moved.low == pytest.approx(plain.low - bias, abs=1e-6)
    assert moved.high == pytest.approx(plain.high - bias, abs=1e-6)


def test_interval_of_a_mean_covers_as_theory_says() -> None:
    # Of 12 normal values the bootstrap's standard error is short by sqrt(11/12), and its quantiles
    # are those of z, not of t(11): coverage P(|t11| < 1.96 sqrt(11/12)) = 0.913.
    rng = np.random.default_rng(8)
    sample = rng.normal(size=(12, 4000))
    weights = role_weights(12, 400, rng)
    interval = percentile_interval(sample.mean(axis=0), weighted_mean(weights, sample), 0.05)
    covered = ((interval.low <= 0) & (interval.high >= 0)).mean()
    # One set of weights for all 4,000 samples adds its own noise to that of counting.
    assert covered == pytest.approx(0.913, abs=0.025)


# ---- few roles


def test_expansion_by_hand() -> None:
    # From printed tables: z(.975) = 1.960, t(.975; 2) = 4.303, t(.975; 11) = 2.201.
    assert expansion(3, 0.05) == pytest.approx(math.sqrt(3 / 2) * 4.303 / 1.960, abs=1e-3)
    assert expansion(12, 0.05) == pytest.approx(math.sqrt(12 / 11) * 2.201 / 1.960, abs=1e-3)
    # Two roles: percentiles reach sqrt(2) standard errors, so sqrt(2) t / sqrt(2) = t(.975; 1),
    # which is tan(pi (.975 - 1/2)), for t with one degree of freedom is Cauchy.
    assert expansion(2, 0.05) == pytest.approx(math.tan(math.pi * 0.475))
    # A level whose z is nearer than that: z(.75) = .6745, t(.75; 1) = 1.
    assert expansion(2, 0.5) == pytest.approx(math.sqrt(2) / 0.6745, abs=1e-3)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 0.32])
def test_expansion_is_that_of_other_quantile_functions(alpha: float) -> None:
    roles = np.array([4, 5, 8, 12, 92, 1000, 10**6])
    expected = np.sqrt(roles / (roles - 1)) * t.ppf(1 - alpha / 2, roles - 1)
    np.testing.assert_allclose(expansion(roles, alpha), expected / norm.ppf(1 - alpha / 2))
    assert expansion(10**6, alpha) == pytest.approx(1, abs=1e-5)


def test_expansion_of_fewer_than_two_roles_is_undefined() -> None:
    np.testing.assert_array_equal(np.isnan(expansion([[0, 1], [2, 3]], 0.05)), [[1, 1], [0, 0]])
    with pytest.raises(ValueError, match="alpha"):
        expansion(5, 1.0)


def test_expand_by_hand() -> None:
    draws = [[1.0, 1.0, math.nan], [2.0, math.nan, math.nan], [6.0, 3.0, math.nan]]
    # Means of the known ones: 3, 2 and none.
    wide = expand(draws, [2.0, 3.0, 2.0])
    np.testing.assert_allclose(wide[:, 0], [-1.0, 1.0, 9.0])
    np.testing.assert_allclose(wide[:, 1], [-1.0, math.nan, 5.0])
    assert np.isnan(wide[:, 2]).all()
    assert np.isnan(expand(draws, [math.nan] * 3)).all()
    assert expand(np.zeros((0, 2)), [2.0, 2.0]).shape == (0, 2)


@pytest.mark.parametrize("roles", [2, 3, 5, 12])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_expanded_intervals_of_a_mean_cover_at_their_level(roles: int, alpha: float) -> None:
    rng = np.random.default_rng(roles)
    covered = []
    # New weights for each hundred samples, since one set's noise is shared by all that use it.
    for _ in range(40):
        sample = rng.normal(size=(roles, 100))
        means = weighted_mean(role_weights(roles, 600, rng), sample)
        wide = expand(means, np.full(100, expansion(roles, alpha)))
        interval = percentile_interval(sample.mean(axis=0), wide, alpha, centred=True)
        covered.append((interval.low <= 0) & (interval.high >= 0))
    # Three standard errors of counting 4,000 samples; and .015 for what the derivation leaves out:
    # replicates of few values are not normal (measured over 20,000 samples: .941 to .949 for .95,
    # .80 to .82 for .80).
    error = 3 * math.sqrt(alpha * (1 - alpha) / 4000)
    assert np.mean(covered) == pytest.approx(1 - alpha, abs=error + 0.015)


def test_expanded_interval_of_two_roles_is_the_t_interval() -> None:
    sample = np.array([1.0, 4.0])
    means = weighted_mean(role_weights(2, 4000, np.random.default_rng(3)), sample)
    # As many replicates of one role alone as of the other, so that the noise of resampling is out.
    means = np.concatenate([means, 5 - means])
    wide = expand(means, expansion(2, 0.05))
    interval = percentile_interval(2.5, wide, 0.05, centred=True)
    # s / sqrt(2) = |4 - 1| / 2.
    reach = t.ppf(0.975, 1) * 1.5
    assert (interval.low, interval.high) == pytest.approx((2.5 - reach, 2.5 + reach))


@pytest.mark.parametrize("replicates", [1, 2, 3, 40, 101])
def test_percentiles_are_those_of_numpy(replicates: int) -> None:
    rng = np.random.default_rng(replicates)
    draws = rng.normal(size=(replicates, 7))
    draws[0, 2] = np.nan  # this column is worked out from the others
    found = percentile_interval(np.zeros(7), draws, 0.1, centred=False)
    for place in range(7):
        known = draws[np.isfinite(draws[:, place]), place]
        if known.size:
            low, high = np.quantile(known, [0.05, 0.95])
            assert (found.low[place], found.high[place]) == (low, high)
        else:
            assert np.isnan(found.low[place])
            assert np.isnan(found.high[place])
