"""BCa intervals, prompts within roles, and conditions drawn on their own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from contextbias.stats.resample import (
    bca_interval,
    jackknife_weights,
    percentile_interval,
    prompt_weights,
    role_weights,
    unpaired_weights,
)


def test_bca_by_hand() -> None:
    # 9 replicates 1 to 9 and the point 5: half lie below, so z0 = 0. Jackknife values symmetric
    # about their mean: a = 0. Then the levels are alpha/2 and 1 - alpha/2: type 7 quantiles.
    plain = bca_interval(5.0, np.arange(1.0, 10.0), np.array([4.0, 5.0, 6.0]), 0.5)
    assert (plain.low, plain.high, plain.n) == (pytest.approx(3.0), pytest.approx(7.0), 9)
    # The point 4: (3 + 1/2) / 9 lie below. Left-out values 0, 0, 3: d = 1, 1, -2, sum of cubes -6,
    # sum of squares 6, a = -6 / (6 * 6^1.5) = -1 / 6^1.5.
    z0, a = stats.norm.ppf(3.5 / 9), -1 / 6**1.5
    z = z0 + stats.norm.ppf([0.25, 0.75])
    levels = stats.norm.cdf(z0 + z / (1 - a * z))
    moved = bca_interval(4.0, np.arange(1.0, 10.0), np.array([0.0, 0.0, 3.0]), 0.5)
    expected = np.quantile(np.arange(1.0, 10.0), levels)
    np.testing.assert_allclose([moved.low, moved.high], expected)


def test_bca_is_scipys() -> None:
    """A skewed statistic; SciPy draws its own resamples, so that ends agree to their noise."""
    rng = np.random.default_rng(2)
    sample = rng.lognormal(size=25)
    weights = role_weights(25, 20_000, rng)
    jackknife = (jackknife_weights(25) @ sample) / 24
    mine = bca_interval(sample.mean(), weights @ sample / 25, jackknife, 0.05)
    theirs = stats.bootstrap(
        (sample,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(3)
    ).confidence_interval
    assert mine.low == pytest.approx(theirs.low, abs=0.02)
    assert mine.high == pytest.approx(theirs.high, abs=0.04)


def test_bca_where_there_is_little_to_go_by() -> None:
    draws = np.array([[1.0, 2.0, 3.0, 1.0], [2.0, 2.0, math.nan, 2.0], [3.0, 2.0, 5.0, 3.0]])
    left_out = np.array([[1.0, 2.0, 1.0, math.nan], [2.0, 2.0, 2.0, 2.0]])
    found = bca_interval([0.0, 2.0, 4.0, 2.0], draws, left_out, 0.5)
    # All on one side of the point: nothing to correct with. One value left out: no acceleration.
    assert np.isnan(found.low[[0, 3]]).all()
    # Nothing varies: the point.
    assert (found.low[1], found.high[1]) == (2.0, 2.0)
    # An undefined replicate is left out: 3 and 5 about 4.
    assert found.n.tolist() == [3, 3, 2, 3]
    assert 3 <= found.low[2] < found.high[2] <= 5
    none = bca_interval([1.0, math.nan], np.zeros((0, 2)), np.ones((3, 2)), 0.05)
    assert np.isnan([none.low, none.high]).all()
    with pytest.raises(ValueError, match="alpha"):
        bca_interval(0.0, [1.0], [1.0], 1.0)
    with pytest.raises(ValueError, match="jackknife"):
        bca_interval([0.0, 1.0], np.ones((3, 2)), np.ones((3, 1)), 0.05)


def test_jackknife_weights_leave_out_one_role_each() -> None:
    assert jackknife_weights(3).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def test_prompts_are_drawn_within_drawn_roles_and_conditions() -> None:
    # Role 0 has prompts 0 and 3 in condition 0, prompt 2 in condition 1; role 1 has prompts 1, 4.
    role, stratum = np.array([0, 1, 0, 0, 1]), np.array([0, 0, 1, 0, 0])
    weights = np.array([[2, 0], [1, 1], [0, 2]])
    found = prompt_weights(weights, role, stratum, np.random.default_rng(0))
    np.testing.assert_array_equal(found[:, 0] + found[:, 3], [4, 2, 0])
    np.testing.assert_array_equal(found[:, 2], [2, 1, 0])
    np.testing.assert_array_equal(found[:, 1] + found[:, 4], [0, 2, 4])
    assert prompt_weights(weights, [], [], np.random.default_rng(0)).shape == (3, 0)


def test_prompts_vary_as_two_levels_do() -> None:
    """Variance of a total over prompts: that of the roles drawn, and of the prompts within."""
    rng = np.random.default_rng(4)
    role = np.repeat(np.arange(6), 3)
    value = rng.normal(size=18)
    weights = role_weights(6, 40_000, rng)
    total = prompt_weights(weights, role, np.zeros(18), rng) @ value
    of_role = value.reshape(6, 3)
    # A role drawn w times adds w times its sum, plus 3 w draws that vary about its mean:
    # Var = 6 Var(sums, divisor 6) + sum over roles of 3 Var(within, divisor 3).
    expected = 6 * of_role.sum(axis=1).var() + (3 * of_role.var(axis=1)).sum()
    assert total.var() == pytest.approx(expected, rel=0.04)


def test_unpaired_weights_draw_each_condition_on_its_own() -> None:
    weights = unpaired_weights(3, 8, 500, np.random.default_rng(5))
    assert weights.shape == (3, 500, 8)
    assert (weights.sum(axis=2) == 8).all()
    assert abs(np.corrcoef(weights[0, :, 0], weights[1, :, 0])[0, 1]) < 0.15
    # The same values in both conditions: paired, their difference has no spread; here it has.
    values = np.arange(8.0)
    difference = (weights[0] - weights[1]) @ values / 8
    interval = percentile_interval(0.0, difference, 0.05)
    assert interval.high - interval.low > 1
