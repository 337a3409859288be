"""Pearson's chi-squared and the paper's rule."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from tests.strategies import cell_counts

from contextbias.stats.homogeneity import chi_squared, paper_invariant


def test_by_hand() -> None:
    # 10/20 and 30/40: pooled 40/60 = 2/3, expected present 40/3 and 80/3, absent 20/3 and 40/3;
    # deviation 10/3 in every cell: (100/9) (3/40 + 3/80 + 3/20 + 3/40) = (100/9) (27/80) = 3.75
    found = chi_squared([10, 30], [20, 40])
    assert found.statistic == pytest.approx(3.75)
    assert found.df == 1
    assert found.smallest_expected == pytest.approx(20 / 3)


@given(cell_counts(smallest=1))
def test_agrees_with_scipy(cell: Any) -> None:
    x, n = cell
    found = chi_squared(x, n)
    if found.degenerate:
        assert x.sum() in (0, n.sum())
        return
    other = chi2_contingency([x, n - x], correction=False)
    assert found.statistic == pytest.approx(other.statistic, abs=1e-9)
    assert found.p == pytest.approx(other.pvalue, rel=1e-9)
    assert found.df == other.dof
    assert found.smallest_expected == pytest.approx(other.expected_freq.min())


def test_an_absent_condition_leaves_the_test() -> None:
    found = chi_squared([10, np.nan, 30], [20, np.nan, 40])
    assert found.statistic == pytest.approx(3.75)
    assert found.df == 1


def test_no_variation_is_degenerate() -> None:
    found = chi_squared([[0, 0, 0], [30, 70, 80], [0, 0, 1]], [30, 70, 80])
    assert found.statistic[:2].tolist() == [0.0, 0.0]
    assert found.p[:2].tolist() == [1.0, 1.0]
    assert found.degenerate.tolist() == [True, True, False]
    assert found.df.tolist() == [2, 2, 2]


def test_one_condition_is_not_tested() -> None:
    found = chi_squared([[3, 0, 0], [0, 0, 0]], [[5, 0, 0], [0, 0, 0]])
    assert np.isnan(found.statistic).all()
    assert np.isnan(found.p).all()
    assert np.isnan(found.smallest_expected).all()
    assert found.degenerate.tolist() == [False, False]


@given(cell_counts(), st.integers(1, 20))
def test_order_complement_and_scale(cell: Any, times: int) -> None:
    x, n = cell
    orders = [list(order) for order in permutations(range(3))]
    shuffled = chi_squared(x[orders], n[orders]).statistic
    np.testing.assert_allclose(shuffled, shuffled[0], atol=1e-9)
    found = chi_squared(x, n).statistic
    np.testing.assert_array_equal(chi_squared(n - x, n).statistic, found)
    np.testing.assert_allclose(chi_squared(x * times, n * times).statistic, times * found)


@pytest.mark.parametrize("rate", [0.3, 0.6])
def test_size_under_one_rate(rate: float) -> None:
    # 20,000 tables: the standard error of the rejection rate is 0.15 percentage points.
    rng = np.random.default_rng(11)
    n = np.array([30, 70, 80])
    p = chi_squared(rng.binomial(n, rate, (20_000, 3)), n).p
    assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.006)


def test_papers_rule_needs_both() -> None:
    found = paper_invariant([0.5, 0.5, 0.01, np.nan], [True, False, True, True])
    assert found.tolist() == [True, False, False, False]
    assert paper_invariant([0.05], [True], alpha=0.05).tolist() == [False]
