"""Prediction-powered shares: by hand, against ppi-python, coverage, and where it cannot be done."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from contextbias.stats.ppi import (
    PoweredShare,
    contrast,
    plain_contrast,
    plain_share,
    powered_share,
)
from contextbias.stats.proportion import wilson

Floats = NDArray[np.float64]


def simple(
    f: Floats, y: Floats, judged: NDArray[np.int64], weight: float | None = None, **settings: float
) -> PoweredShare:
    """One label, everything answered, equal weights."""
    n = len(judged)
    w = np.full(n, len(f) / n if weight is None else weight)
    return powered_share(
        f[:, None], np.ones(len(f)), judged, y[:, None], np.ones(n), w,
        **settings,  # type: ignore[arg-type]
    )  # fmt: skip


def drawn(rng: np.random.Generator, number: int, n: int) -> tuple[Floats, Floats, Floats]:
    """Truth and reading of all images, and which are judged."""
    truth = rng.random(number) < 0.4
    read = np.where(truth, rng.random(number) < 0.8, rng.random(number) < 0.15)
    return truth.astype(float), read.astype(float), rng.choice(number, n, replace=False)


# ---- by hand


def test_full_power_by_hand() -> None:
    # 8 images, read 1 1 1 1 0 0 0 0; people on images 0, 1, 4, 5: 1, 0, 0, 0. With l = 1:
    # 4/8 + mean(y - f) = .5 + (0 - 1 + 0 + 0) / 4 = .25.
    f = np.array([1.0, 1, 1, 1, 0, 0, 0, 0])
    y = np.array([1.0, 0, 0, 0])
    judged = np.array([0, 1, 4, 5])
    found = simple(f, y, judged, power=1.0, pseudo=0.0)
    assert found.point[0] == pytest.approx(0.25)
    # var f = 1/4; e = 0, -1, 0, 0 has variance 3/16 * 4/3 = 1/4, and with f = 1, 1, 0, 0 the
    # covariance -1/8 * 4/3 = -1/6. (1/4 + 1/4 - 2/6) / 8 + (1 - 1/2) (1/4) / 4 = 1/48 + 1/32.
    assert found.variance[0] == pytest.approx(5 / 96)
    # Two images more, erring once in each direction: + 2 / n².
    assert simple(f, y, judged, power=1.0).variance[0] == pytest.approx(5 / 96 + 2 / 16)


def test_without_power_it_is_people_alone() -> None:
    f, y = np.zeros(40), np.r_[np.ones(6), np.zeros(14)]
    found = simple(f, y, np.arange(20))
    assert found.power[0] == 0
    assert found.point[0] == pytest.approx(0.3)


def test_weights_by_hand() -> None:
    # Of 12 images, 2 judged with weight 4, 2 with weight 2; y - f = 1, 0, 0, -1:
    # mean f + (4 - 2) / 12.
    f = np.zeros(12)
    f[[0, 3, 7]] = 1
    found = powered_share(
        f[:, None], np.ones(12), [1, 2, 4, 7], np.array([[1.0], [0], [0], [0]]), np.ones(4),
        [4, 4, 2, 2], power=1.0,
    )  # fmt: skip
    assert found.point[0] == pytest.approx(3 / 12 + 2 / 12)


def test_only_images_count_about_which_people_can_answer() -> None:
    # Everything is judged: the share is that of people, whatever the reader says.
    y = np.r_[np.ones(30), np.zeros(20), np.zeros(10)]
    a = np.r_[np.ones(50), np.zeros(10)]
    f = np.r_[np.ones(20), np.zeros(40)]
    g = np.r_[np.ones(45), np.zeros(15)]
    found = powered_share(f[:, None], g, np.arange(60), y[:, None], a, np.ones(60))
    assert found.point[0] == pytest.approx(30 / 50)


# ---- against ppi-python


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("power", [0.0, 0.4, 0.9])
def test_as_ppi_python_has_it(seed: int, power: float) -> None:
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    truth, read, judged = drawn(np.random.default_rng(seed), 4000, 400)
    rest = np.setdiff1d(np.arange(4000), judged)
    # Their unlabelled images are those not judged: l' = l (N - n) / N.
    data = (truth[judged], read[judged], read[rest])
    found = simple(read, truth[judged], judged, power=power, pseudo=0.0)
    expected = ppi_mean_pointestimate(*data, lam=power * 0.9)
    assert found.point[0] == pytest.approx(float(np.ravel(expected)[0]), abs=1e-12)
    low, high = (float(np.ravel(end)[0]) for end in ppi_mean_ci(*data, alpha=0.05, lam=power * 0.9))
    # Students' t for the normal, and n - 1 for n: the rest is the sampling of variances.
    assert found.high[0] - found.low[0] == pytest.approx(high - low, rel=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_power_is_tuned_as_ppi_python_tunes_it(seed: int) -> None:
    from ppi_py import ppi_mean_ci

    truth, read, judged = drawn(np.random.default_rng(seed), 6000, 500)
    rest = np.setdiff1d(np.arange(6000), judged)
    found = simple(read, truth[judged], judged, pseudo=0.0)
    ends = ppi_mean_ci(truth[judged], read[judged], read[rest], alpha=0.05)
    low, high = (float(np.ravel(end)[0]) for end in ends)
    assert found.low[0] == pytest.approx(low, abs=0.002)
    assert found.high[0] == pytest.approx(high, abs=0.002)


# ---- theory


def test_a_good_reader_makes_it_narrower_than_people_alone() -> None:
    truth, read, judged = drawn(np.random.default_rng(1), 4000, 200)
    y = truth[judged]
    alone = simple(read, y, judged, power=0.0)
    assert simple(read, y, judged).variance[0] < 0.8 * alone.variance[0]


def test_where_no_error_was_seen_the_interval_reaches_as_far_as_the_rule_of_three() -> None:
    f = np.zeros(100_000)
    f[:20_000] = 1
    judged = np.arange(0, 100_000, 1000)
    found = simple(f, f[judged], judged)
    assert found.point[0] == pytest.approx(0.2)
    assert found.high[0] - 0.2 == pytest.approx(0.028, abs=0.003)


def test_a_label_that_people_never_saw() -> None:
    f = np.zeros(1000)
    f[:100] = 1
    found = simple(f, np.zeros(100), np.arange(0, 1000, 10))
    assert found.point[0] == 0
    assert found.low[0] == 0
    assert 0.02 < found.high[0] < 0.04


def test_design_effects_widen() -> None:
    truth, read, judged = drawn(np.random.default_rng(2), 2000, 200)
    plain = simple(read, truth[judged], judged)
    assert simple(read, truth[judged], judged, effect=5.0).variance[0] > plain.variance[0]
    both = simple(read, truth[judged], judged, effect=5.0, judged_effect=2.0)
    assert both.variance[0] > 1.5 * plain.variance[0]


def test_contrasts_add_variances() -> None:
    truth, read, judged = drawn(np.random.default_rng(3), 2000, 200)
    one = simple(read, truth[judged], judged)
    point, low, high = contrast(one, one)
    assert point[0] == 0
    assert high[0] == pytest.approx(-low[0])
    assert high[0] == pytest.approx(2**0.5 * (one.high[0] - one.raw[0]))


def test_the_plain_share_is_wilsons() -> None:
    found = plain_share([7.0, 0.0], 40)
    expected = wilson(np.array([7, 0]), np.array([40, 40]))
    for mine, theirs in zip(found, (expected.point, expected.low, expected.high), strict=True):
        assert mine == pytest.approx(theirs)
    wide = plain_share([7.0, 0.0], 40, effect=4.0)
    assert wide[2][0] - wide[1][0] > found[2][0] - found[1][0]


def test_newcombes_own_example() -> None:
    # Newcombe 1998, table II, method 10: 56/70 - 48/80 is .2000, .0524 to .3339.
    found = plain_contrast(plain_share([56.0], 70), plain_share([48.0], 80))
    assert [round(float(end[0]), 4) for end in found] == [0.2, 0.0524, 0.3339]


# ---- coverage


def test_the_reader_alone_misses_and_the_corrected_share_holds() -> None:
    rng = np.random.default_rng(4)
    held = {"plain": 0, "powered": 0}
    studies = 300
    for _ in range(studies):
        truth, read, judged = drawn(rng, 1500, 120)
        # .4 true; the reader sees .4 * .8 + .6 * .15 = .41 of it: no bias to speak of. Not so:
        read = np.where(truth == 1, rng.random(1500) < 0.7, read)
        found = simple(read, truth[judged], judged)
        held["powered"] += bool(found.low[0] <= 0.4 <= found.high[0])
        _, low, high = plain_share([read.sum()], 1500)
        held["plain"] += bool(low[0] <= 0.4 <= high[0])
    assert held["plain"] / studies < 0.5
    assert 0.92 <= held["powered"] / studies <= 0.995


# ---- bad input


def test_what_does_not_fit_is_refused() -> None:
    f, g = np.zeros((5, 1)), np.ones(5)
    with pytest.raises(ValueError, match="do not match"):
        powered_share(f, g, [0, 1], np.zeros((2, 2)), np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match="one weight each"):
        powered_share(f, g, [0, 1], np.zeros((2, 1)), np.ones(2), np.ones(3))
    with pytest.raises(ValueError, match="one weight each"):
        powered_share(f, g, [], np.zeros((0, 1)), np.ones(0), np.ones(0))
    with pytest.raises(ValueError, match="below 1"):
        powered_share(f, g, [0], np.zeros((1, 1)), np.ones(1), [0.5])
