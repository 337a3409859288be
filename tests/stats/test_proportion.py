"""Wilson interval, prevalence, range and CCS."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint
from tests.strategies import cell_counts

from contextbias.stats.proportion import (
    condition_range,
    consistency_score,
    counts,
    distinct_cells,
    margin_fraction,
    prevalence,
    wilson,
)

FIVE = Fraction(1, 20)


def test_wilson_by_hand() -> None:
    # x = 8, n = 10, z = 1.959964, z² = 3.841459:
    # centre (8 + 1.920729) / 13.841459 = 0.716739
    # half 1.959964 sqrt(8 * 2 / 10 + 0.960365) / 13.841459 = 0.226577
    found = wilson(8, 10)
    assert found.point == pytest.approx(0.8)
    assert found.low == pytest.approx(0.716739 - 0.226577, abs=2e-6)
    assert found.high == pytest.approx(0.716739 + 0.226577, abs=2e-6)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_wilson_agrees_with_statsmodels(confidence: float) -> None:
    x = np.array([0, 1, 5, 30, 59, 60, 3])
    n = np.array([60, 60, 60, 60, 60, 60, 4])
    low, high = proportion_confint(x, n, alpha=1 - confidence, method="wilson")
    found = wilson(x, n, confidence=confidence)
    np.testing.assert_allclose(found.low, low, atol=1e-12)
    np.testing.assert_allclose(found.high, high, atol=1e-12)


def test_wilson_ends_are_exact_and_never_collapse() -> None:
    found = wilson([0, 30], [30, 30])
    assert found.low[0] == 0.0
    assert found.high[1] == 1.0
    # z² / (n + z²) = 3.841459 / 33.841459
    assert found.high[0] == pytest.approx(0.113513, abs=1e-6)
    assert found.low[1] == pytest.approx(1 - 0.113513, abs=1e-6)


def test_wilson_without_images_is_missing() -> None:
    found = wilson([0.0, np.nan], [0.0, np.nan])
    assert np.isnan([found.point, found.low, found.high]).all()


def test_wilson_covers_at_about_the_nominal_rate() -> None:
    # Exact coverage, averaged over rates: close to 95% already at n = 30 (Brown et al. 2001).
    rates = np.linspace(0.02, 0.98, 97)
    x = np.arange(31)
    found = wilson(x, np.full(31, 30))
    inside = (found.low <= rates[:, None]) & (rates[:, None] <= found.high)
    coverage = (binom.pmf(x, 30, rates[:, None]) * inside).sum(axis=1)
    assert coverage.mean() == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_wilson_refuses_a_confidence_that_is_none(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        wilson(1, 2, confidence=confidence)


@pytest.mark.parametrize(
    ("x", "n", "problem"),
    [
        ([1.5, 2], [3, 3], "whole"),
        ([-1, 2], [3, 3], "negative"),
        ([1, 2], [3, -3], "negative"),
        ([4, 2], [3, 3], "exceed n"),
        ([np.nan, 2], [3, 3], "missing"),
        ([np.inf, 2], [np.inf, 3], "whole"),
        ([1, 2], [3, 2 * 10**9], "exceed"),
        (1, 2, "axis"),
    ],
)
def test_counts_are_checked(x: Any, n: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        counts(x, n)


def test_an_absent_condition_may_be_zero_or_nan() -> None:
    for absent in (0.0, np.nan):
        found = counts([3, absent], [5, absent])
        assert found.x.tolist() == [3, 0]
        assert found.n.tolist() == [5, 0]
        assert found.present.tolist() == [True, False]


def test_prevalence_by_hand() -> None:
    # 9/30, 35/70, 64/80: pooled 108/180 = 60%; mean of 30, 50, 80 = 53.33%
    found = prevalence([9, 35, 64], [30, 70, 80])
    assert found.pooled == pytest.approx(60.0)
    assert found.unweighted == pytest.approx(160 / 3)
    assert found.n == 180


def test_prevalence_leaves_an_absent_condition_out() -> None:
    found = prevalence([[9, 0, 64], [0, 0, 0]], [[30, 0, 80], [0, 0, 0]])
    assert found.pooled[0] == pytest.approx(100 * 73 / 110)
    assert found.unweighted[0] == pytest.approx((30 + 80) / 2)
    assert np.isnan(found.pooled[1])
    assert np.isnan(found.unweighted[1])


def test_range_by_hand() -> None:
    found = condition_range([9, 35, 64], [30, 70, 80], margin=FIVE)
    assert found.pp == pytest.approx(50.0)
    assert not found.within
    assert found.conditions == 3


def test_an_exact_tie_counts_as_within() -> None:
    # 15/30 = 50% against 44/80 = 55%: exactly 5 pp, and one image more is beyond.
    # In floating point .55 - .50 is 0.05000000000000004, which is more than .05.
    assert 44 / 80 - 15 / 30 > 0.05
    found = condition_range([[15, 44], [15, 45]], [30, 80], margin=FIVE)
    assert found.within.tolist() == [True, False]


def test_large_counts_are_compared_without_overflow() -> None:
    # The rates differ by 5 pp and one image in 10⁹; products with this margin exceed 64 bits.
    n = 10**9
    margin = margin_fraction("5.0000000000001")
    assert margin.denominator * n * n > 2**63
    found = condition_range([[0, n // 20], [0, n // 20 + 1]], [n, n], margin=margin)
    assert found.within.tolist() == [True, False]


def test_one_condition_has_no_range() -> None:
    found = condition_range([[3, 0, 0], [0, 0, 0]], [[5, 0, 0], [0, 0, 0]], margin=FIVE)
    assert np.isnan(found.pp).all()
    assert found.within.tolist() == [False, False]
    assert found.conditions.tolist() == [1, 0]


def test_margin_is_the_decimal_that_was_written() -> None:
    assert margin_fraction(5.0) == FIVE
    assert margin_fraction(0.1) == Fraction(1, 1000)
    assert margin_fraction("2.5") == Fraction(1, 40)
    for wrong in (0.0, 100.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="margin"):
            margin_fraction(wrong)


def test_score_by_hand() -> None:
    # Table 2, dancer on FLUX.1: 128/130 = 98.4615%, range 4 pp: 98.4615 / 5 = 19.6923
    found = consistency_score([20, 60, 48], [20, 60, 50])
    assert found.point == pytest.approx(19.692308, abs=1e-6)
    # The highest possible score
    assert consistency_score([20, 60, 50], [20, 60, 50]).point == 100.0


def test_score_needs_every_condition_and_support() -> None:
    found = consistency_score(
        [[0, 10, 10], [1, 1, 2], [1, 1, 3], [5, 5, 0]],
        [[30, 70, 80], [30, 70, 80], [30, 70, 80], [30, 70, 0]],
    )
    assert np.isnan(found.point).tolist() == [True, True, False, True]
    assert found.everywhere.tolist() == [False, True, True, False]
    assert found.supported.tolist() == [True, False, True, True]


@given(cell_counts())
def test_the_order_of_conditions_does_not_matter(cell: Any) -> None:
    x, n = cell
    orders = [list(order) for order in permutations(range(3))]
    for numbers in (
        prevalence(x[orders], n[orders]).pooled,
        prevalence(x[orders], n[orders]).unweighted,
        condition_range(x[orders], n[orders], margin=FIVE).pp,
        condition_range(x[orders], n[orders], margin=FIVE).within.astype(float),
        consistency_score(x[orders], n[orders]).point,
    ):
        np.testing.assert_allclose(numbers, numbers[0], rtol=1e-12)


@given(cell_counts(), st.integers(1, 50))
def test_more_images_at_the_same_rates_change_no_rate(cell: Any, times: int) -> None:
    x, n = cell
    for function in (
        lambda x, n: prevalence(x, n).pooled,
        lambda x, n: condition_range(x, n, margin=FIVE).pp,
        lambda x, n: condition_range(x, n, margin=FIVE).within,
    ):
        np.testing.assert_allclose(function(x * times, n * times), function(x, n), rtol=1e-12)


@given(cell_counts(smallest=1))
def test_within_agrees_with_fractions(cell: Any) -> None:
    x, n = cell
    rates = [Fraction(int(a), int(b)) for a, b in zip(x, n, strict=True)]
    assert condition_range(x, n, margin=FIVE).within == (max(rates) - min(rates) <= FIVE)


@given(cell_counts())
def test_the_interval_holds_the_point(cell: Any) -> None:
    found = wilson(*cell)
    there = cell[1] > 0
    assert (found.low <= found.point)[there].all()
    assert (found.point <= found.high)[there].all()
    assert ((found.low >= 0) & (found.high <= 1))[there].all()


@given(st.lists(cell_counts(largest=4), min_size=1, max_size=20))
def test_distinct_cells_are_found_again(cells: list[Any]) -> None:
    x, n = np.array(cells).transpose(1, 0, 2)
    index, inverse = distinct_cells(x, n)
    np.testing.assert_array_equal(x[index][inverse], x)
    np.testing.assert_array_equal(n[index][inverse], n)
    assert len({(*a, *b) for a, b in zip(x.tolist(), n.tolist(), strict=True)}) == len(index)


def test_counts_too_large_for_a_key_stay_apart() -> None:
    n = np.full((2, 3), 10**9)
    index, inverse = distinct_cells(n, n)
    assert index.tolist() == inverse.tolist() == [0, 1]
