"""Entropy and Bias Intensity: by hand, against SciPy, against all subsamples, and in theory."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from contextbias.stats.entropy import (
    bias_intensity,
    binomial_entropy,
    expected_entropy,
    miller_madow_entropy,
    plug_in_entropy,
)

COUNTS = st.lists(st.integers(0, 12), min_size=1, max_size=6)


def mean_over_subsamples(counts: tuple[int, ...], size: int) -> float:
    """Enumerate every subset of `size` items."""
    items = [label for label, count in enumerate(counts) for _ in range(count)]
    seen = [np.bincount(chosen, minlength=len(counts)) for chosen in combinations(items, size)]
    return float(np.mean([plug_in_entropy(x) for x in seen]))


def test_plug_in_by_hand() -> None:
    # Shares 1/2, 1/4, 1/4: H = (1/2) log 2 + 2 (1/4) log 4 = (3/2) log 2.
    assert plug_in_entropy([2, 1, 1]) == pytest.approx(1.5 * math.log(2))
    assert plug_in_entropy([5, 0, 0]) == 0.0
    assert math.isnan(plug_in_entropy([0, 0]))


@given(COUNTS.filter(any))
def test_plug_in_is_scipys(counts: list[int]) -> None:
    assert plug_in_entropy(counts) == pytest.approx(stats.entropy(counts), abs=1e-12)


def test_miller_madow_by_hand() -> None:
    # Counts 2, 1, 1, 0: three labels seen among four mentions, so H + (3 - 1) / (2 * 4).
    assert miller_madow_entropy([2, 1, 1, 0]) == pytest.approx(1.5 * math.log(2) + 0.25)
    # Two mentions of two labels: log 2 + 1/4, more than the log 2 that two labels can have.
    assert bias_intensity(miller_madow_entropy([1, 1]), 2) == pytest.approx(-0.25 / math.log(2))
    assert math.isnan(miller_madow_entropy([0, 0]))


def test_expected_entropy_by_hand() -> None:
    # Two of {a, a, b}: aa once, ab twice in three, so (2/3) log 2.
    assert expected_entropy([2, 1], 2) == pytest.approx(2 / 3 * math.log(2))
    # One mention has no entropy; all three have the plug-in's.
    assert expected_entropy([2, 1], 1) == pytest.approx(0.0)
    assert expected_entropy([2, 1], 3) == pytest.approx(plug_in_entropy([2, 1]))


@pytest.mark.parametrize(
    ("counts", "size"),
    [((3, 2, 1), 4), ((5, 0, 2), 3), ((4, 4), 8), ((1, 1, 1, 1), 2), ((9, 1), 5), ((6,), 3)],
)
def test_expected_entropy_is_the_mean_of_all_subsamples(counts: tuple[int, ...], size: int) -> None:
    assert expected_entropy(counts, size) == pytest.approx(mean_over_subsamples(counts, size))


def test_expected_entropy_against_drawing() -> None:
    rng = np.random.default_rng(3)
    counts, size = np.array([40, 25, 10, 4, 1]), 30
    drawn = plug_in_entropy(rng.multivariate_hypergeometric(counts, size, size=20_000))
    error = drawn.std() / math.sqrt(len(drawn))
    assert expected_entropy(counts, size) == pytest.approx(drawn.mean(), abs=4 * error)


def test_binomial_entropy_is_the_limit_of_an_endless_supply() -> None:
    # Two draws from even shares differ half of the time.
    assert binomial_entropy([0.5, 0.5], 2) == pytest.approx(0.5 * math.log(2))
    many = expected_entropy(np.array([30_000, 20_000, 50_000]), 15)
    assert binomial_entropy([3, 2, 5], 15) == pytest.approx(many, abs=1e-4)
    assert math.isnan(binomial_entropy([0.0, 0.0], 3))
    assert math.isnan(binomial_entropy([0.5, 0.5], 0))


@given(COUNTS.filter(any), st.data())
def test_expected_entropy_grows_with_the_subsample(counts: list[int], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, sum(counts)))
    here = expected_entropy(counts, size)
    assert -1e-9 <= here <= plug_in_entropy(counts) + 1e-9
    assert expected_entropy(counts, size - 1 or 1) <= here + 1e-9


@given(COUNTS.filter(any), st.randoms(use_true_random=False))
def test_order_of_labels_and_labels_not_seen_change_nothing(
    counts: list[int], luck: Random
) -> None:
    shuffled = list(counts)
    luck.shuffle(shuffled)
    size = (sum(counts) + 1) // 2
    for padded in (shuffled, [*counts, 0]):
        assert plug_in_entropy(padded) == pytest.approx(plug_in_entropy(counts), abs=1e-12)
        assert expected_entropy(padded, size) == pytest.approx(expected_entropy(counts, size))


def test_batches_are_the_single_cells() -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 200, (4, 3, 7))
    size = counts.sum(axis=-1).min(axis=1)[:, None]
    batch = expected_entropy(counts, size)
    for i in range(4):
        for j in range(3):
            assert batch[i, j] == pytest.approx(expected_entropy(counts[i, j], int(size[i, 0])))


def test_large_sums_are_cut_into_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.random.default_rng(2).integers(0, 300, (5, 20))
    size = counts.sum(axis=-1) // 3
    whole, shares = expected_entropy(counts, size), binomial_entropy(counts, size)
    monkeypatch.setattr("contextbias.stats.entropy._CHUNK", 1000)
    assert expected_entropy(counts, size) == pytest.approx(whole)
    assert binomial_entropy(counts, size) == pytest.approx(shares)


def test_bias_intensity_runs_from_even_to_single() -> None:
    assert bias_intensity(plug_in_entropy([3, 3, 3]), 3) == pytest.approx(0.0)
    assert bias_intensity(plug_in_entropy([9, 0, 0]), 3) == pytest.approx(1.0)
    # Shares 1/2, 1/4, 1/4, 0 of four labels: 1 - 1.5 log 2 / log 4.
    assert bias_intensity(plug_in_entropy([2, 1, 1, 0]), 4) == pytest.approx(0.25)


def test_one_label_is_degenerate_and_no_image_is_missing() -> None:
    values = bias_intensity(plug_in_entropy([[4], [0]]), 1)
    assert values[0] == 1.0
    assert math.isnan(values[1])
    assert np.isnan(bias_intensity(plug_in_entropy([0, 0, 0]), 3))


@pytest.mark.parametrize(
    "call",
    [
        lambda: plug_in_entropy([-1, 2]),
        lambda: plug_in_entropy([math.nan]),
        lambda: plug_in_entropy(3),
        lambda: expected_entropy([2, 1], 4),
        lambda: expected_entropy([2, 1], -1),
        lambda: expected_entropy([1.5, 1], 1),
        lambda: bias_intensity(0.0, 0),
    ],
)
def test_what_cannot_be_counted_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError):
        call()
