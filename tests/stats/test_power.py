"""Power and sizes: by hand, against statsmodels, against theory, by simulation, at the edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import FTestAnovaPower, GofChisquarePower, TTestPower

from contextbias.stats.homogeneity import chi_squared
from contextbias.stats.power import (
    detectable_mean,
    detectable_range,
    discovery_level,
    hardest_pattern,
    homogeneity_power,
    mean_half_width,
    mean_power,
    range_power,
    shift_power,
    shifted_rates,
    smallest_number,
)

LAST = [0.0, 0.0, 1.0]
PAPER = np.array([30, 70, 80])


# ---- chi-squared


def test_noncentrality_by_hand() -> None:
    # Rates .5, .5, .7 of 30, 70 and 80 images: q = (15 + 35 + 56) / 180 = .588889,
    # sum n (p - q)² = 100 (.088889)² + 80 (.111111)² = .790123 + .987654 = 1.777778,
    # over q (1 - q) = .242099: 7.3432. The critical value with df 2 is 5.9915.
    expected = stats.ncx2.sf(5.991465, 2, 1.777778 / 0.242099)
    assert homogeneity_power([0.5, 0.5, 0.7], PAPER) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("w", "n"), [(0.1, 200), (0.3, 100), (0.289, 100), (0.5, 40)])
def test_against_statsmodels(w: float, n: int) -> None:
    # Three equal conditions around one half, two of them half a range off on either side:
    # w² = sum n (p - q)² / (q (1 - q)) / n = (2/3) delta² / .25.
    delta = w * np.sqrt(0.25 * 1.5)
    rates = [0.5 - delta, 0.5, 0.5 + delta]
    expected = GofChisquarePower().power(effect_size=w, nobs=n, alpha=0.05, n_bins=3)
    assert homogeneity_power(rates, np.full(3, n / 3)) == pytest.approx(float(expected), abs=1e-9)


def test_the_noncentral_f_against_statsmodels() -> None:
    # The noncentrality is f² nobs for both; error df nobs - 3.
    expected = FTestAnovaPower().power(effect_size=0.3, nobs=60, alpha=0.05, k_groups=3)
    delta = 0.3 * np.sqrt(0.25 * 1.5)
    found = homogeneity_power([0.5 - delta, 0.5, 0.5 + delta], np.full(3, 20.0), error_df=57)
    assert found == pytest.approx(float(expected), abs=1e-6)


def test_without_a_shift_the_power_is_the_level() -> None:
    assert homogeneity_power([0.3, 0.3, 0.3], PAPER, alpha=0.01) == pytest.approx(0.01)
    assert homogeneity_power([1.0, 1.0, 1.0], PAPER) == pytest.approx(0.05)
    with_error = homogeneity_power([0.3, 0.3, 0.3], PAPER, alpha=0.01, error_df=10)
    assert with_error == pytest.approx(0.01, abs=1e-6)


def test_fewer_conditions() -> None:
    # df 1 for two conditions; one condition is no comparison.
    two = homogeneity_power([0.5, 0.7], [50, 50])
    assert homogeneity_power([0.5, 0.7, 0.1], [50, 50, 0]) == pytest.approx(float(two))
    expected = stats.ncx2.sf(stats.chi2.isf(0.05, 1), 1, 50 * 2 * 0.1**2 / 0.24)
    assert two == pytest.approx(expected)
    assert np.isnan(homogeneity_power([0.5, 0.7], [50, 0]))


@pytest.mark.parametrize("p", [0.5, 0.8, 0.9])
def test_power_by_simulation(p: float) -> None:
    difference = detectable_range(p, PAPER, LAST).point
    rates = shifted_rates(p, difference, LAST)
    x = np.random.default_rng(1).binomial(PAPER, rates, (20_000, 3))
    assert np.mean(chi_squared(x, PAPER).p < 0.05) == pytest.approx(0.8, abs=0.03)


# ---- the verdict shifted


def test_range_of_three_equal_conditions_against_the_studentized_range() -> None:
    # Equal rates of equal sizes: range / standard error is a studentized range with endless df.
    error = np.sqrt(0.25 / 400)
    expected = stats.studentized_range.sf(0.05 / error, 3, np.inf)
    found = range_power([0.5, 0.5, 0.5], [400, 400, 400], margin=0.05)
    assert found == pytest.approx(expected, abs=1e-6)


def test_range_of_two_conditions_by_hand() -> None:
    # The difference is normal around .1 with variance .24/100 + .25/100.
    normal = stats.norm(0.1, np.sqrt(0.0049))
    expected = normal.sf(0.05) + normal.cdf(-0.05)
    assert range_power([0.4, 0.5], [100, 100], margin=0.05) == pytest.approx(expected, abs=1e-9)
    with_absent = range_power([0.4, 0.5, 0.9], [100, 100, 0], margin=0.05)
    assert with_absent == pytest.approx(expected, abs=1e-9)


def test_shifted_by_simulation() -> None:
    n, level = np.array([1500, 3500, 4000]), discovery_level(0.1, 0.8)
    difference = detectable_range(0.8, n, LAST, alpha=level, margin=0.05).point
    assert difference > 0.05
    x = np.random.default_rng(2).binomial(n, shifted_rates(0.8, difference, LAST), (20_000, 3))
    came = (chi_squared(x, n).p < level) & (np.ptp(x / n, axis=1) > 0.05)
    assert came.mean() == pytest.approx(0.8, abs=0.02)


def test_a_true_range_at_the_margin_is_never_found_with_much_power() -> None:
    rates = shifted_rates(0.5, 0.05, LAST)
    power = shift_power(rates, np.full(3, 1e6), margin=0.05)
    assert 0.45 < power < 0.8
    found = detectable_range(0.5, np.full(3, 1e6), LAST, margin=0.05)
    assert 0.05 < found.point < 0.0515


def test_detectable_ranges_of_the_papers_sizes() -> None:
    found = detectable_range([0.5, 0.9], PAPER, LAST)
    assert found.point == pytest.approx([0.22797, 0.17864], abs=1e-5)
    assert found.power == pytest.approx([0.8, 0.8])


def test_nothing_is_detectable_with_few_images() -> None:
    found = detectable_range([0.5], [1, 2, 2], LAST)
    assert np.isnan(found.point[0])
    assert found.power[0] < 0.8


def test_the_hardest_pattern() -> None:
    # Ends are the two smallest; the third lies at their mean, (30 * 0 + 70 * 1) / 100.
    assert hardest_pattern([80, 30, 70]) == pytest.approx([0.7, 0.0, 1.0])
    assert hardest_pattern([10, 10]) == pytest.approx([0.0, 1.0])
    easy = detectable_range(0.5, PAPER, LAST).point
    assert detectable_range(0.5, PAPER, hardest_pattern(PAPER)).point > easy


def test_patterns_are_checked() -> None:
    for pattern in ([0.0, 1.0], [0.2, 0.5, 1.0], [0.0, 0.0, 2.0]):
        with pytest.raises(ValueError, match="pattern"):
            shifted_rates(0.5, 0.1, pattern)
    assert shifted_rates(0.9, 0.1, LAST) == pytest.approx([0.9, 0.9, 0.8])
    assert shifted_rates(0.1, 0.1, LAST) == pytest.approx([0.1, 0.1, 0.2])


@given(
    st.floats(0.02, 0.98),
    st.lists(st.integers(20, 400), min_size=3, max_size=3),
    st.integers(2, 5),
)
def test_more_images_find_smaller_ranges(p: float, n: list[int], times: int) -> None:
    few = detectable_range(p, n, LAST).point
    many = detectable_range(p, np.array(n) * times, LAST).point
    assert np.isnan(few) or many < few


def test_level_after_adjustment() -> None:
    # One label in ten shifts, found with 80%: t = .05 * .08 / (1 - .05 * .9) = .004188.
    # Of all labels .08 + .9 t are rejected, and .05 of that is t.
    level = discovery_level(0.1, 0.8)
    assert level == pytest.approx(0.00418848)
    assert 0.05 * (0.1 * 0.8 + 0.9 * level) == pytest.approx(level)
    assert discovery_level(1.0, 0.8) == pytest.approx(0.04)


# ---- means over roles


@pytest.mark.parametrize("roles", [2, 3, 5, 12, 92])
def test_means_against_statsmodels(roles: int) -> None:
    expected = TTestPower().power(effect_size=0.4, nobs=roles, alpha=0.05)
    assert mean_power(0.08, roles, 0.2) == pytest.approx(float(expected), abs=1e-6)
    found = detectable_mean(roles, 0.2).point
    assert mean_power(found, roles, 0.2) == pytest.approx(0.8, abs=1e-9)


def test_half_width_by_hand() -> None:
    # t(.975, 11) = 2.200985; .05 / sqrt(12) = .0144338.
    assert mean_half_width(12, 0.05) == pytest.approx(2.200985 * 0.0144338, rel=1e-5)
    assert np.isnan(mean_half_width(1, 0.05))
    assert np.isnan(mean_power(0.1, 1, 0.05))
    assert np.isnan(detectable_mean(1, 0.05).point)


def test_far_away_means_are_found_for_sure() -> None:
    assert mean_power([1.0, -1.0, 1e3], 12, 0.01) == pytest.approx([1.0, 1.0, 1.0])
    assert mean_power(0.0, 12, 0.01) == pytest.approx(0.05)


# ---- whole numbers


@given(st.integers(1, 5000), st.integers(1, 6000), st.integers(1, 6000))
def test_the_smallest_number(goal: int, start: int, limit: int) -> None:
    calls: list[int] = []

    def reaches(size: int) -> bool:
        calls.append(size)
        return size >= goal

    expected = goal if goal <= limit else None
    assert smallest_number(reaches, start=start, limit=limit) == expected
    assert max(calls) <= limit
    assert min(calls) >= 1


def test_a_start_near_the_answer_saves_calls() -> None:
    calls: list[int] = []
    smallest_number(lambda size: calls.append(size) or size >= 1000, start=1005)  # type: ignore[func-returns-value]
    assert len(calls) < 12


# ---- what is refused


@pytest.mark.parametrize(
    "call",
    [
        lambda: homogeneity_power([0.5, 1.2], [10, 10]),
        lambda: homogeneity_power([0.5, 0.6], [10, -1]),
        lambda: homogeneity_power(0.5, 10),
        lambda: homogeneity_power([0.5, 0.6], [10, 10], alpha=0),
        lambda: homogeneity_power([0.5, np.nan], [10, 10]),
        lambda: detectable_range(0.5, PAPER, LAST, power=1.0),
        lambda: discovery_level(0.0, 0.8),
        lambda: discovery_level(0.5, 1.0),
        lambda: mean_power(0.1, 5, 0.0),
        lambda: mean_half_width(5, 0.1, alpha=1.0),
    ],
)
def test_refused(call: object) -> None:
    with pytest.raises(ValueError):
        call()  # type: ignore[operator]
