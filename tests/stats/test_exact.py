"""Conditional p of the homogeneity test."""

from __future__ import annotations

from itertools import permutations, product
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import PermutationMethod, chi2_contingency
from tests.strategies import cell_counts

from contextbias.stats.exact import exact_p


def _rng() -> np.random.Generator:
    return np.random.default_rng(5)


def _brute_force(x: Any, n: Any) -> float:
    """Sum over every table with whole-number weights."""
    from fractions import Fraction

    def extremeness(hits: Any) -> Fraction:
        return sum(Fraction(int(h) ** 2, int(m)) for h, m in zip(hits, n, strict=True) if m)

    total, extreme = 0, 0
    for hits in product(*(range(size + 1) for size in n)):
        if sum(hits) == sum(x):
            weight = np.prod([comb(int(m), h) for m, h in zip(n, hits, strict=True)], dtype=object)
            total += weight
            extreme += weight if extremeness(hits) >= extremeness(x) else 0
    return float(Fraction(extreme, total))


def test_by_hand() -> None:
    # 19/20, 50/50, 60/60: one image of 130 lacks the label. With the margins fixed it falls into
    # one of the conditions with probability 20/130, 50/130, 60/130; only the first is as extreme.
    found = exact_p([19, 50, 60], [20, 50, 60], rng=_rng())
    assert found.p == pytest.approx(20 / 130)
    assert found.enumerated


@given(cell_counts(largest=7))
def test_agrees_with_every_table(cell: Any) -> None:
    x, n = cell
    found = exact_p(x, n, rng=_rng())
    if (n > 0).sum() < 2:
        assert np.isnan(found.p)
    else:
        assert found.p == pytest.approx(_brute_force(x, n), rel=1e-9)


def test_agrees_with_scipys_random_tables() -> None:
    x, n = np.array([3, 1, 4]), np.array([30, 70, 80])
    method = PermutationMethod(n_resamples=20_000, rng=np.random.default_rng(1))
    other = chi2_contingency([x, n - x], correction=False, method=method)
    # standard error at p = .126 and 20,000 tables: .0023
    assert exact_p(x, n, rng=_rng()).p == pytest.approx(other.pvalue, abs=0.01)


def test_random_tables_agree_with_all_tables() -> None:
    cells = np.array([[3, 1, 4], [0, 1, 5], [10, 11, 9]]), np.array([30, 70, 80])
    exact = exact_p(*cells, rng=_rng())
    drawn = exact_p(*cells, rng=_rng(), most_tables=1)
    assert exact.enumerated.all()
    assert not drawn.enumerated.any()
    np.testing.assert_allclose(drawn.p, exact.p, atol=0.02)


def test_random_tables_never_give_a_p_of_zero() -> None:
    # All 30 hits in one condition: 1 of 10^45 tables; the observed table counts as one of them.
    found = exact_p([30, 0, 0], [30, 70, 80], rng=_rng(), most_tables=1, resamples=99)
    assert found.p == 1 / 100


def test_more_than_three_conditions_are_drawn() -> None:
    found = exact_p([3, 3, 3, 3], [9, 9, 9, 9], rng=_rng())
    assert found.p == 1.0
    assert not found.enumerated


def test_two_conditions_and_degenerate() -> None:
    found = exact_p(
        [[2, 0, 0], [0, 0, 0], [9, 0, 8]], [[3, 0, 3], [3, 4, 5], [9, 0, 8]], rng=_rng()
    )
    # 2/3 against 0/3: tables (0,2), (1,1), (2,0) of weight 3, 9, 3; both ends are as extreme: 6/15
    assert found.p.tolist() == pytest.approx([0.4, 1.0, 1.0])


def test_cells_are_independent_of_their_neighbours() -> None:
    rng = np.random.default_rng(2)
    n = rng.integers(0, 40, (300, 3))
    x = rng.binomial(n, 0.2)
    together = exact_p(x, n, rng=_rng()).p
    alone = [exact_p(a, b, rng=_rng()).p for a, b in zip(x, n, strict=True)]
    np.testing.assert_allclose(together, alone, rtol=1e-9)


def test_no_cell_at_all() -> None:
    assert exact_p(np.zeros((0, 3)), np.zeros((0, 3)), rng=_rng()).p.shape == (0,)


@given(cell_counts(largest=20))
def test_order_and_complement_do_not_matter(cell: Any) -> None:
    x, n = cell
    orders = [list(order) for order in permutations(range(3))]
    p = exact_p(np.vstack([x[orders], (n - x)[orders]]), np.vstack([n[orders]] * 2), rng=_rng()).p
    np.testing.assert_allclose(p, p[0], rtol=1e-9)
