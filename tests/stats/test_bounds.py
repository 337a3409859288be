"""Bounds over missing items: against every way of giving them labels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import entropy

from contextbias.stats.bounds import entropy_bounds, proportion_bounds, range_bounds

SMALL = st.integers(0, 5)


def test_a_proportion_by_hand() -> None:
    # 6 of 8 known, 2 unknown: 6/10 if neither shows the label, 8/10 if both do.
    found = proportion_bounds([6, 0, 0], [8, 0, 0], [2, 3, 0])
    np.testing.assert_array_equal(found.low, [0.6, 0.0, np.nan])
    np.testing.assert_array_equal(found.high, [0.8, 1.0, np.nan])


def test_a_range_by_hand() -> None:
    # Intervals [.6, .8], [.1, .2], [.3, .3]: furthest apart .8 and .1; nearest .6 and .2.
    found = range_bounds([6, 1, 3], [8, 9, 10], [2, 1, 0])
    assert found.low == pytest.approx(40)
    assert found.high == pytest.approx(70)


def test_nothing_missing_leaves_the_number() -> None:
    x, n = np.array([[3, 4, 9], [0, 0, 0]]), np.array([[10, 10, 10], [5, 0, 2]])
    found = range_bounds(x, n, np.zeros_like(x))
    np.testing.assert_allclose(found.low, [60, 0])
    np.testing.assert_allclose(found.high, [60, 0])
    bounds = entropy_bounds([3, 4, 9], 0, 0)
    assert bounds.low == bounds.high == pytest.approx(entropy([3, 4, 9]))


def test_one_condition_has_no_range_and_an_unread_one_can_be_anything() -> None:
    found = range_bounds([[1, 0, 0], [1, 0, 0]], [[2, 0, 0], [2, 0, 0]], [[0, 0, 0], [0, 4, 0]])
    np.testing.assert_array_equal(found.low, [np.nan, 0])
    np.testing.assert_array_equal(found.high, [np.nan, 50])


# A third condition of one unknown item can only be 0 or 100%, neither of them between the others.
@example([(0, 0, 1), (0, 1, 1), (2, 0, 1)])
@given(st.lists(st.tuples(SMALL, SMALL, SMALL), min_size=2, max_size=3))
def test_a_range_against_every_completion(cells: list[tuple[int, int, int]]) -> None:
    x, rest, m = np.array(cells).T
    n = x + rest
    ways = product(*(range(k + 1) for k in m))
    total = n + m
    there = total > 0
    found = range_bounds(x, n, m)
    if there.sum() < 2:
        assert np.isnan(found.low)
        return
    ranges = [100 * np.ptp(((x + way) / np.maximum(total, 1))[there]) for way in ways]
    assert found.high == pytest.approx(max(ranges))
    assert found.low <= min(ranges) + 1e-9
    if found.low > 0 and there.sum() == 2:
        assert found.low == pytest.approx(min(ranges))
    else:
        assert min(ranges) <= found.low + 100 / total[there].min() + 1e-9


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), SMALL, st.integers(0, 20))
def test_entropy_against_every_completion(counts: list[int], cap: int, wish: int) -> None:
    x = np.array(counts)
    added = min(wish, cap * len(x))
    ways = (np.array(w) for w in product(range(cap + 1), repeat=len(x)) if sum(w) == added)
    found = entropy_bounds(x, added, cap)
    if x.sum() + added == 0:
        assert np.isnan(found.low)
        assert np.isnan(found.high)
        return
    every = [entropy(x + way) for way in ways]
    assert found.low == pytest.approx(min(every), abs=1e-12)
    assert found.high == pytest.approx(max(every), abs=1e-12)


def test_entropy_of_items_with_one_label_by_hand() -> None:
    # 4 and 1, three more: 4 + 4 at best, 7 + 1 at worst.
    found = entropy_bounds([4, 1], 3, 3)
    assert found.high == pytest.approx(np.log(2))
    assert found.low == pytest.approx(entropy([7, 1]))
    # A cap of two: 4 + 3 is as level as it gets with two; the third has to go to the first.
    capped = entropy_bounds([4, 1], 3, 2)
    assert capped.high == pytest.approx(entropy([5, 3]))
    assert capped.low == pytest.approx(entropy([6, 2]))


def test_entropy_is_batched() -> None:
    counts = np.array([[4, 1, 0], [10, 10, 10], [0, 0, 0]])
    found = entropy_bounds(counts, [3, 1, 0], [3, 1, 0])
    alone = [entropy_bounds(c, a, a) for c, a in zip(counts, [3, 1, 0], strict=True)]
    np.testing.assert_array_equal(found.low, [one.low for one in alone])
    np.testing.assert_array_equal(found.high, [one.high for one in alone])


def test_no_labels_at_all() -> None:
    found = entropy_bounds(np.zeros((2, 0), dtype=int), 0, 0)
    assert np.isnan(found.low).all()
    assert found.low.shape == (2,)


@given(
    st.lists(st.integers(0, 40), min_size=2, max_size=6).filter(any),
    st.integers(0, 30),
    st.integers(0, 30),
)
def test_more_missing_allows_more_concentration(counts: list[int], few: int, more: int) -> None:
    # The upper end has no such rule in whole images: 0 and 1 can become 1 and 1, but not 1.5 each.
    some, further = (entropy_bounds(counts, m, m) for m in (few, few + more))
    assert further.low <= some.low + 1e-12


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: proportion_bounds(3, 2, 0), "exceed"),
        (lambda: proportion_bounds(1, 2, -1), "negative"),
        (lambda: proportion_bounds(0.5, 2, 1), "whole"),
        (lambda: entropy_bounds([1, 2], 5, 2), "more mentions"),
        (lambda: entropy_bounds(3, 1, 1), "axis"),
    ],
)
def test_wrong_counts_are_refused(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()  # type: ignore[operator]
