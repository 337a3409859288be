"""Equivalence by score tests, and the verdict in three values."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from statsmodels.stats.proportion import score_test_proportions_2indep
from tests.strategies import cell_counts

from contextbias.stats.equivalence import equivalence, verdicts

FIVE = Fraction(1, 20)


def test_smallest_sample_at_one_hundred_percent() -> None:
    # p1 = p2 = 1; under r1 - r2 = -d the likeliest rates are 1 - d and 1, so
    # z = d / sqrt(d (1 - d) / n) = sqrt(n d / (1 - d)) >= 1.644854 needs n >= 51.4.
    p = equivalence([[51] * 3, [52] * 3], [[51] * 3, [52] * 3], margin=FIVE).p
    assert p[0] > 0.05 > p[1]
    assert p[1] == pytest.approx(norm.sf(np.sqrt(52 * 0.05 / 0.95)), rel=1e-6)


def test_by_hand_at_zero_percent() -> None:
    # The mirror image of 100%: the rates do not matter, only how far from the edge they are.
    p = equivalence([0, 0], [100, 100], margin=0.1).p
    assert p == pytest.approx(norm.sf(np.sqrt(100 * 0.1 / 0.9)), rel=1e-6)


def _one_sided_by_search(x1: int, n1: int, x2: int, n2: int, gap: float) -> float:
    """H0: p1 - p2 <= -gap, with the likelihood maximised numerically over p1, p2 = p1 + gap."""

    def minus_log_likelihood(rate: float) -> float:
        pairs = ((x1, n1, rate), (x2, n2, rate + gap))
        return -sum(x * np.log(p) + (n - x) * np.log1p(-p) for x, n, p in pairs)

    bounds = (1e-12, 1 - gap - 1e-12)
    rate = minimize_scalar(
        minus_log_likelihood, bounds=bounds, method="bounded", options={"xatol": 1e-13}
    ).x
    variance = rate * (1 - rate) / n1 + (rate + gap) * (1 - rate - gap) / n2
    return float(norm.sf((x1 / n1 - x2 / n2 + gap) / np.sqrt(variance)))


def test_agrees_with_a_numerical_maximum() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        n1, n2 = (int(size) for size in rng.integers(5, 120, 2))
        x1, x2 = int(rng.integers(0, n1 + 1)), int(rng.integers(0, n2 + 1))
        gap = float(rng.choice([0.02, 0.05, 0.1, 0.3]))
        expected = max(
            _one_sided_by_search(x1, n1, x2, n2, gap), _one_sided_by_search(x2, n2, x1, n1, gap)
        )
        found = equivalence([x1, x2], [n1, n2], margin=gap).p
        assert found == pytest.approx(expected, abs=2e-5), (x1, n1, x2, n2, gap)


def test_agrees_with_statsmodels_at_one_hundred_percent() -> None:
    # Elsewhere statsmodels 0.15 departs from the maximum likelihood: a coefficient of its cubic has
    # the second sample's count where the derivation has the sample's size. At x = n both are equal.
    for n1, n2 in ((30, 70), (80, 30), (52, 52)):
        low, high = (
            score_test_proportions_2indep(
                n1, n1, n2, n2, value=value, compare="diff",
                alternative=side, correction=False,
            ).pvalue
            for value, side in ((-0.05, "larger"), (0.05, "smaller"))
        )  # fmt: skip
        found = equivalence([n1, n2], [n1, n2], margin=FIVE).p
        assert found == pytest.approx(max(low, high), rel=1e-6)


def test_all_pairs_must_hold() -> None:
    x, n = np.array([400, 402, 425]), np.array([500, 500, 500])
    pairs = [equivalence(x[[i, j]], n[[i, j]], margin=FIVE).p for i, j in ((0, 1), (0, 2), (1, 2))]
    found = equivalence(x, n, margin=FIVE)
    assert found.p == pytest.approx(max(pairs))
    assert found.pairs == 3


def test_absent_conditions() -> None:
    found = equivalence(
        [[60, 0, 60], [60, 0, 0], [0, 0, 0]], [[60, 0, 60], [60, 0, 0], [0, 0, 0]], margin=FIVE
    )
    assert found.p[0] == pytest.approx(norm.sf(np.sqrt(60 * 0.05 / 0.95)), rel=1e-6)
    assert np.isnan(found.p[1:]).all()
    assert found.pairs.tolist() == [1, 0, 0]


@pytest.mark.parametrize("margin", [0.0, 1.0, 5.0])
def test_margin_is_a_fraction(margin: float) -> None:
    with pytest.raises(ValueError, match="margin"):
        equivalence([1, 1], [2, 2], margin=margin)


@given(cell_counts())
def test_order_and_complement_do_not_matter(cell: Any) -> None:
    x, n = cell
    orders = [list(order) for order in permutations(range(3))]
    both = np.vstack([x[orders], (n - x)[orders]])
    p = equivalence(both, np.vstack([n[orders]] * 2), margin=FIVE).p
    np.testing.assert_allclose(p, p[0], atol=1e-6)


@pytest.mark.parametrize("rate", [0.5, 0.9])
def test_size_at_the_edge_of_the_margin(rate: float) -> None:
    # True difference exactly 5 pp, and samples so large that the far side of the margin does not
    # matter: equivalence is declared in 5% of tables, up to the discreteness of counts and Monte
    # Carlo error (20,000 tables: 0.15 pp).
    rng = np.random.default_rng(4)
    n = np.array([3000, 3000])
    x = rng.binomial(n, [rate, rate - 0.05], (20_000, 2))
    assert np.mean(equivalence(x, n, margin=FIVE).p < 0.05) == pytest.approx(0.05, abs=0.006)


def test_power_at_the_size_of_the_method_page() -> None:
    # 617 images a condition at p = .9 give 80% power for one pair, about 800 for all three.
    rng = np.random.default_rng(6)
    one = equivalence(rng.binomial(617, 0.9, (5_000, 2)), [617] * 2, margin=FIVE).p
    three = equivalence(rng.binomial(800, 0.9, (5_000, 3)), [800] * 3, margin=FIVE).p
    assert np.mean(one < 0.05) == pytest.approx(0.8, abs=0.03)
    assert np.mean(three < 0.05) == pytest.approx(0.8, abs=0.04)


def test_verdicts() -> None:
    found = verdicts(
        equivalence_p=[0.01, 0.9, 0.9, 0.9, np.nan],
        q=[np.nan, 0.01, 0.01, np.nan, 0.01],
        within=[True, False, True, False, False],
    )
    assert found.invariant.tolist() == [True, False, False, False, False]
    assert found.shifted.tolist() == [False, True, False, False, False]
    assert found.inconclusive.tolist() == [False, False, True, True, False]
    with pytest.raises(ValueError, match="level"):
        verdicts(equivalence_p=[0.1], q=[0.1], within=[True], alpha=0.5)


@given(cell_counts(smallest=1, largest=3000))
def test_equivalence_is_never_shown_beyond_the_margin(cell: Any) -> None:
    x, n = cell
    rates = x / n
    if equivalence(x, n, margin=FIVE).p < 0.05:
        assert rates.max() - rates.min() < 0.05


# ---- clusters


def test_a_design_effect_stands_for_fewer_images() -> None:
    x, n = np.array([[52, 104, 156], [90, 200, 290]]), np.array([[52, 104, 156], [100, 220, 300]])
    halved = equivalence(2 * x, 2 * n, margin=0.05, design_effect=2.0)
    assert halved.p == pytest.approx(equivalence(x, n, margin=0.05).p)
    mixed = equivalence(x * [1, 2, 3], n * [1, 2, 3], margin=0.05, design_effect=[1, 2, 3])
    assert mixed.p == pytest.approx(equivalence(x, n, margin=0.05).p)


def test_unknown_design_effects() -> None:
    effect = [1.0, 1.0, np.nan]
    found = equivalence([[9, 9, 0], [9, 9, 9]], [[10, 10, 0], [10, 10, 10]], margin=0.05,
                        design_effect=effect)  # fmt: skip
    assert found.p[0] == equivalence([9, 9], [10, 10], margin=0.05).p
    assert np.isnan(found.p[1])
    with pytest.raises(ValueError, match="at least 1"):
        equivalence([9, 9], [10, 10], margin=0.05, design_effect=0.5)


def test_one_context_is_never_enough() -> None:
    """Of a context with m images, 1 + (m - 1) rho of them count for one: at most 1 / rho in all."""
    m = np.array([100, 10_000, 1_000_000])[:, None] * np.ones(2, np.int64)
    assert (equivalence(m, m, margin=0.05).p < 0.05).all()
    assert (equivalence(m, m, margin=0.05, design_effect=1 + (m - 1) * 0.05).p > 0.05).all()
