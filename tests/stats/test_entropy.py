"""Entropy and Bias Intensity: by hand, against other programs, and in theory."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import digamma

from contextbias.stats.entropy import (
    bias_intensity,
    effective_labels,
    grassberger_entropy,
    miller_madow_entropy,
    plug_in_entropy,
    x_log_x,
)

COUNTS = st.lists(st.integers(0, 12), min_size=1, max_size=6)


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


def test_miller_madow_is_that_of_another_program() -> None:
    # infomeasure 0.6.3: entropy(data, approach="miller_madow"), data with these counts.
    assert miller_madow_entropy([9, 3, 3, 1]) == pytest.approx(1.2184202892376168)
    assert miller_madow_entropy([7, 5, 2, 1, 1]) == pytest.approx(1.456660286822432)


def test_integers_are_looked_up_and_give_the_same() -> None:
    counts = np.random.default_rng(4).integers(0, 50, (6, 5, 8))
    np.testing.assert_allclose(plug_in_entropy(counts), plug_in_entropy(counts.astype(float)))
    # Above the table's end they are not.
    assert x_log_x(np.array([0, 2_000_000])).tolist() == [0.0, 2_000_000 * math.log(2_000_000)]
    assert x_log_x(np.zeros((0, 3), dtype=np.int64)).shape == (0, 3)


def test_grassberger_by_hand() -> None:
    # G(1) = -gamma - log 2, G(2) = G(3) = 2 + G(1), G(4) = G(5) = G(2) + 2/3. Counts 4, 2, 1:
    # psi(7) - (4 G(4) + 2 G(2) + G(1)) / 7 = psi(7) - (4 (8/3) + 2 (2) + 7 G(1)) / 7, and
    # psi(7) = 1 + 1/2 + ... + 1/6 - gamma.
    first = -np.euler_gamma - math.log(2)
    expected = 2.45 - np.euler_gamma - (32 / 3 + 4) / 7 - first
    assert grassberger_entropy([4, 2, 1]) == pytest.approx(expected)
    assert grassberger_entropy([4, 2, 1, 0]) == pytest.approx(expected)
    assert grassberger_entropy([5]) == pytest.approx(25 / 12 - np.euler_gamma - (2 + 2 / 3) - first)
    assert math.isnan(grassberger_entropy([0, 0]))


def test_grassbergers_recurrence_is_its_formula() -> None:
    """Grassberger (2003) gives both; here H of a single label is psi(N) - G(N)."""
    g = [math.nan, -np.euler_gamma - math.log(2), 2 - np.euler_gamma - math.log(2)]
    for n in range(3, 60):
        g.append(g[n - 1] if n % 2 else g[n - 2] + 2 / (n - 1))
    for n in range(1, 60):
        assert grassberger_entropy([n]) == pytest.approx(float(digamma(n)) - g[n], abs=1e-12)


@pytest.mark.parametrize("shares", [(0.5, 0.3, 0.2), (0.9, 0.05, 0.05), (1 / 3,) * 3])
def test_corrections_take_bias_away(shares: tuple[float, float, float]) -> None:
    """The exact mean over all samples of 15 from known shares, by enumeration."""
    size = 15
    tables = np.array([(i, j, size - i - j) for i in range(size + 1) for j in range(size + 1 - i)])
    p = stats.multinomial.pmf(tables, size, shares)
    true = stats.entropy(shares)
    bias = {
        estimate: float(p @ estimate(tables)) - true
        for estimate in (plug_in_entropy, miller_madow_entropy, grassberger_entropy)
    }
    assert bias[plug_in_entropy] < -0.04
    assert abs(bias[miller_madow_entropy]) < 0.6 * abs(bias[plug_in_entropy])
    assert abs(bias[grassberger_entropy]) < abs(bias[miller_madow_entropy])


def test_effective_labels_by_hand() -> None:
    assert effective_labels(plug_in_entropy([5, 5, 5, 0])) == pytest.approx(3.0)
    assert effective_labels(plug_in_entropy([5, 0, 0])) == 1.0
    # Shares 1/2, 1/4, 1/4: exp(1.5 log 2) = 2 sqrt 2.
    assert effective_labels(plug_in_entropy([2, 1, 1])) == pytest.approx(2 * math.sqrt(2))
    assert np.isnan(effective_labels(math.nan))


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
        lambda: grassberger_entropy([1.5, 1]),
        lambda: bias_intensity(0.0, 0),
    ],
)
def test_what_cannot_be_counted_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError):
        call()
