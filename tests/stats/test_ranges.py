"""Interval and expectation of the range, interval of CCS."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import hypergeom
from tests.strategies import cell_counts

from contextbias.stats.margins import distinct, each_table, mean_range
from contextbias.stats.proportion import wilson
from contextbias.stats.ranges import (
    LARGE_EXPECTED,
    consistency_interval,
    expected_range,
    range_interval,
)

PAPER = np.array([30, 70, 80])


# ---- range_interval


def test_two_conditions_by_hand() -> None:
    # Newcombe (1998), table II, method 10: 56/70 - 48/80 has the 95% limits .0524 and .3339
    found = range_interval([56, 48], [70, 80])
    assert found.high == pytest.approx(33.39, abs=0.005)
    assert found.low == pytest.approx(5.24, abs=0.005)


def test_the_upper_end_is_that_of_the_widest_pair() -> None:
    alone = range_interval([3, 64], [30, 80])
    among = range_interval([3, 35, 64], PAPER)
    assert among.high == alone.high
    assert among.low < alone.low  # three pairs share the error


def test_neither_end_collapses_at_0_or_100_percent() -> None:
    for x in (np.zeros(3, np.int64), PAPER):
        found = range_interval(x, PAPER)
        assert found.low == 0
        # 0 of 30 against 0 of 70: Wilson's upper limit of 0 of 30
        assert found.high == pytest.approx(100 * float(wilson(0, 30).high))


def test_absent_conditions() -> None:
    found = range_interval([[5, 0, 9], [5, 0, 0], [0, 0, 0]], [[10, 0, 20], [10, 0, 0], [0, 0, 0]])
    both = range_interval([5, 9], [10, 20])
    assert (found.low[0], found.high[0]) == (both.low, both.high)
    assert np.isnan(found.low[1:]).all()
    assert np.isnan(found.high[1:]).all()


@given(cell_counts(smallest=1))
def test_the_range_lies_in_its_interval(cell: np.ndarray) -> None:
    x, n = cell
    found = range_interval(x, n)
    rates = 100 * x / n
    assert 0 <= found.low <= np.ptp(rates) + 1e-9
    assert np.ptp(rates) - 1e-9 <= found.high <= 100 + 1e-9
    turned = range_interval(n - x, n)
    assert turned.low == pytest.approx(float(found.low), abs=1e-9)
    assert turned.high == pytest.approx(float(found.high), abs=1e-9)


def test_confidence_is_checked_and_used() -> None:
    with pytest.raises(ValueError, match="confidence"):
        range_interval([1, 2], [3, 4], confidence=1.0)
    with pytest.raises(ValueError, match="confidence"):
        consistency_interval([1, 2], [3, 4], confidence=0.0)
    narrow = range_interval([3, 35, 64], PAPER, confidence=0.8)
    wide = range_interval([3, 35, 64], PAPER)
    assert wide.low < narrow.low < narrow.high < wide.high


# ---- consistency_interval


def test_the_interval_of_ccs_by_hand() -> None:
    # error .0125 an end; Prev 102/180, Delta from the limits of range_interval at that error
    prev = wilson(102, 180, confidence=0.975)
    delta = range_interval([3, 35, 64], PAPER, confidence=0.975)
    found = consistency_interval([3, 35, 64], PAPER)
    assert found.low == pytest.approx(float(100 * prev.low / (1 + delta.high)))
    assert found.high == pytest.approx(float(100 * prev.high / (1 + delta.low)))


def test_always_there_is_not_certain() -> None:
    found = consistency_interval(PAPER, PAPER)
    assert found.high == 100
    assert found.low == pytest.approx(6.34, abs=0.01)


@given(cell_counts(smallest=1))
def test_ccs_lies_in_its_interval(cell: np.ndarray) -> None:
    x, n = cell
    found = consistency_interval(x, n)
    score = 100 * x.sum() / n.sum() / (1 + 100 * np.ptp(x / n))
    assert found.low <= score + 1e-9
    assert score - 1e-9 <= found.high <= 100 + 1e-9


# True rates, and images: without change, with a small one, with a large one.
SETTINGS = [
    ([0.05, 0.05, 0.05], PAPER),
    ([0.5, 0.5, 0.5], PAPER),
    ([0.9, 0.9, 0.9], PAPER),
    ([0.99, 0.99, 0.99], PAPER),
    ([1.0, 1.0, 1.0], PAPER),
    ([0.9, 0.95, 0.97], PAPER),
    ([0.3, 0.3, 0.6], PAPER),
    ([0.5, 0.5, 0.5], 10 * PAPER),
    ([0.9, 0.95, 0.97], 10 * PAPER),
    ([0.97, 0.97, 0.97], np.array([20, 60, 50])),
]


def _coverage(studies: int, rng: np.random.Generator) -> list[tuple[float, float]]:
    """How often the intervals of the range and of CCS hold the truth, where CCS is defined."""
    shares = []
    for rates, n in SETTINGS:
        p = np.array(rates)
        x = rng.binomial(n, p, size=(studies, 3))
        x = x[(x > 0).all(axis=1) & (x.sum(axis=1) >= 5)]
        delta = 100 * np.ptp(p)
        score = 100 * (p * n).sum() / n.sum() / (1 + delta)
        spread, ccs = range_interval(x, n), consistency_interval(x, n)
        tiny = 1e-9
        shares.append(
            (
                ((spread.low <= delta + tiny) & (delta - tiny <= spread.high)).mean(),
                ((ccs.low <= score + tiny) & (score - tiny <= ccs.high)).mean(),
            )
        )
    return shares


def test_intervals_cover() -> None:
    for spread, ccs in _coverage(1_000, np.random.default_rng(1)):
        assert spread >= 0.93
        assert ccs >= 0.94


@pytest.mark.slow
def test_intervals_cover_in_many_studies() -> None:
    """Nominal 95%; measured over 40,000 studies: .955 to 1 for the range, .961 to 1 for CCS."""
    for spread, ccs in _coverage(40_000, np.random.default_rng(2)):
        assert spread >= 0.95
        assert ccs >= 0.955


# ---- expected_range


def test_the_expected_range_by_hand() -> None:
    # one hit of 2 + 4 images: in the first with probability 2/6 (range 50), else 25
    assert expected_range([1, 0], [2, 4]).pp == pytest.approx(50 / 3 + 25 * 2 / 3)
    # one hit of 1 + 1 + 2 images: range 100, 100 or 50 with probability 1/4, 1/4, 1/2
    found = expected_range([0, 0, 1], [1, 1, 2])
    assert found.pp == pytest.approx(75)
    assert found.enumerated


def test_the_expected_range_is_that_of_random_tables() -> None:
    rng = np.random.default_rng(3)
    for hits in (5, 40, 90):
        drawn = rng.multivariate_hypergeometric(PAPER, hits, size=100_000) / PAPER
        ranges = 100 * np.ptp(drawn, axis=1)
        x = rng.multivariate_hypergeometric(PAPER, hits)
        error = ranges.std() / np.sqrt(ranges.size)
        assert expected_range(x, PAPER).pp == pytest.approx(ranges.mean(), abs=4 * error + 0.05)


def test_the_closed_form_lies_within_a_percent() -> None:
    for n in (PAPER, np.array([20, 60, 50]), np.array([30, 30, 30]), np.array([15, 100, 200])):
        hits = np.arange(1, n.sum())
        x = np.minimum(hits[:, None], np.array([n[0], 0, 0]))
        x[:, 1] = np.minimum(hits - x[:, 0], n[1])
        x[:, 2] = hits - x[:, :2].sum(axis=1)
        found = expected_range(x, n)
        cells = distinct(x, np.broadcast_to(n, x.shape))
        exact = np.zeros(len(cells.hits))
        for tables in each_table(cells.hits, cells.images):
            exact[tables.rows] = mean_range(tables)
        summed = exact[cells.inverse]
        expected = n.min() * np.minimum(hits, n.sum() - hits) / n.sum()
        assert np.array_equal(found.enumerated, expected < LARGE_EXPECTED)
        assert np.abs(found.pp / summed - 1).max() < 0.01


def test_two_conditions_are_summed_whatever_their_size() -> None:
    # One hit more in the first is one less in the second: steps of two, which no normal law has.
    # 18 images each and 26 hits, written out: x ~ hypergeometric, range |2x - 26| / 18.
    law = hypergeom(36, 26, 18)
    x = np.arange(8, 19)
    by_hand = 100 * float((law.pmf(x) * np.abs(2 * x - 26)).sum()) / 18
    for n in ([18, 18], [18, 0, 18]):
        found = expected_range([13, 13] if len(n) == 2 else [13, 0, 13], n)
        assert found.enumerated
        assert found.pp == pytest.approx(by_hand)
    assert by_hand == pytest.approx(11.59, abs=0.005)  # the closed form has 12.08


def test_the_expected_range_of_degenerate_cells() -> None:
    found = expected_range([[0, 0, 0], [30, 70, 80], [4, 0, 0]], [PAPER, PAPER, [9, 0, 0]])
    assert found.pp[:2].tolist() == [0, 0]
    assert np.isnan(found.pp[2])
    with pytest.raises(ValueError, match="three conditions"):
        expected_range([1, 1, 1, 1], [2, 2, 2, 2])


@given(cell_counts(smallest=1))
def test_order_and_naming_do_not_matter(cell: np.ndarray) -> None:
    x, n = cell
    found = expected_range(x, n).pp
    assert expected_range(x[::-1], n[::-1]).pp == pytest.approx(float(found), abs=1e-9)
    assert expected_range(n - x, n).pp == pytest.approx(float(found), abs=1e-9)
    assert 0 <= found <= 100


def test_tables_sum_to_one() -> None:
    cells = distinct([[3, 35, 60], [1, 0, 2], [5, 5, 0]], [PAPER, PAPER, [9, 20, 0]])
    for tables in each_table(cells.hits, cells.images):
        assert tables.probability.sum(axis=(1, 2)) == pytest.approx(np.ones(len(tables.rows)))
