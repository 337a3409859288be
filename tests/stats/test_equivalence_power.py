"""Power of the verdict ``invariant``: against every count, by simulation, and at the edge."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from contextbias.stats.equivalence import equivalence
from contextbias.stats.equivalence_power import (
    equivalence_power,
    invariance_floor,
    normal_equivalence_power,
    size_for_equivalence,
)


def _by_every_count(rates: list[float], n: list[int], margin: float, alpha: float) -> float:
    counts = np.array(list(product(*(range(size + 1) for size in n))))
    chance = np.prod([binom.pmf(counts[:, i], n[i], rates[i]) for i in range(len(n))], axis=0)
    return float(chance[equivalence(counts, n, margin=margin).p < alpha].sum())


@pytest.mark.parametrize(
    ("rates", "n", "margin", "alpha"),
    [
        ([0.9, 0.9, 0.9], [30, 40, 25], 0.3, 0.05),
        ([0.5, 0.5, 0.5], [30, 30, 30], 0.4, 0.05),
        ([0.9, 0.7, 0.8], [20, 40, 30], 0.4, 0.2),
        ([1.0, 1.0, 0.95], [52, 52, 60], 0.05, 0.05),
        ([0.3, 0.35], [60, 45], 0.25, 0.05),
        ([0.0, 0.0, 0.02], [55, 60, 52], 0.05, 0.05),
    ],
)
def test_against_every_count(rates: list[float], n: list[int], margin: float, alpha: float) -> None:
    found = equivalence_power(rates, n, margin=margin, alpha=alpha)
    assert found.exact
    expected = _by_every_count(rates, n, margin, alpha)
    assert expected > 0
    assert found.point == pytest.approx(expected, abs=1e-8)


@given(
    st.lists(st.integers(5, 14), min_size=2, max_size=3),
    # scipy's binomial overflows at the smallest of numbers above 0.
    st.just(0.0) | st.floats(1e-12, 1),
    st.sampled_from([0.3, 0.5, 0.7]),
    st.sampled_from([0.05, 0.2]),
)
def test_against_every_count_of_small_studies(
    n: list[int], rate: float, margin: float, alpha: float
) -> None:
    rates = [rate] * len(n)
    expected = _by_every_count(rates, n, margin, alpha)
    found = equivalence_power(rates, n, margin=margin, alpha=alpha).point
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(("n", "expected"), [(800, 0.784), (820, 0.801), (850, 0.822)])
def test_all_three_pairs_at_ninety_percent(n: int, expected: float) -> None:
    # Simulated with 10,000 studies each: .784, .806, .824 (perf/power.py).
    found = equivalence_power([0.9] * 3, [n] * 3, margin=0.05).point
    assert found == pytest.approx(expected, abs=1e-3)


def test_by_simulation_with_the_test_itself() -> None:
    n = np.array([300, 400, 500])
    x = np.random.default_rng(1).binomial(n, 0.96, (20_000, 3))
    came = (equivalence(x, n, margin=0.05).p < 0.05).mean()
    found = equivalence_power([0.96] * 3, n, margin=0.05).point
    assert found == pytest.approx(came, abs=0.012)


def test_the_floor() -> None:
    # z² (1 - d) / d = 2.7055 * 19 = 51.4
    assert invariance_floor(margin=0.05) == 52
    assert invariance_floor(margin=0.05, conditions=2) == 52
    assert equivalence_power([1.0] * 3, [52] * 3, margin=0.05).point == pytest.approx(1.0)
    assert equivalence_power([1.0] * 3, [51, 1000, 1000], margin=0.05).point == 0
    assert invariance_floor(margin=0.1, alpha=0.01) == 49  # 5.4119 * 9 = 48.7


def test_large_studies_take_rates_as_normal() -> None:
    exact = equivalence_power([0.5] * 3, [12_000] * 3, margin=0.02)
    assert exact.exact
    normal = normal_equivalence_power([0.5] * 3, [12_000] * 3, margin=0.02)
    assert normal == pytest.approx(exact.point, abs=0.003)
    large = equivalence_power([0.5] * 3, [200_000] * 3, margin=0.005)
    assert not large.exact
    pair = normal_equivalence_power([0.4, 0.4], [9000, 6000], margin=0.03)
    assert pair == pytest.approx(
        equivalence_power([0.4, 0.4], [9000, 6000], margin=0.03).point, abs=0.003
    )


def test_a_condition_without_images_is_left_out() -> None:
    two = equivalence_power([0.9, 0.9], [300, 400], margin=0.1).point
    assert equivalence_power([0.9] * 3, [300, 0, 400], margin=0.1).point == pytest.approx(two)
    assert np.isnan(equivalence_power([0.9] * 3, [300, 0.4, 0], margin=0.1).point)
    assert np.isnan(normal_equivalence_power([0.9], [300], margin=0.1))


@pytest.mark.parametrize(("p", "expected"), [(0.9, 820), (0.95, 449), (0.98, 219), (1.0, 52)])
def test_sizes_reach_the_power(p: float, expected: int) -> None:
    rates = [p] * 3
    size = size_for_equivalence(rates, lambda n: [n] * 3, margin=0.05)
    assert size == expected
    assert equivalence_power(rates, [size] * 3, margin=0.05).point >= 0.8
    assert equivalence_power(rates, [size - 1] * 3, margin=0.05).point < 0.8


def test_a_size_out_of_reach() -> None:
    # One context whose images correlate by .05 never counts for more than 20 images.
    size = size_for_equivalence(
        [0.9] * 3, lambda n: [n / (1 + 0.05 * (n - 1)), n, n], margin=0.05, limit=10_000
    )
    assert size is None


def test_power_is_at_most_one() -> None:
    assert equivalence_power([0.5] * 3, [30, 70, 80], margin=0.99).point == 1
    assert normal_equivalence_power([0.5] * 3, [30, 70, 80], margin=0.9) <= 1


def test_refused() -> None:
    with pytest.raises(ValueError, match="two or three"):
        equivalence_power([0.5] * 4, [9] * 4, margin=0.1)
    with pytest.raises(ValueError, match="rates"):
        equivalence_power([0.5, 1.5], [9, 9], margin=0.1)
