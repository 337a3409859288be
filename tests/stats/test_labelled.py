"""Hits, misses and false alarms with clusters: by hand, against theory, coverage, degenerate."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import stdtrit

from contextbias.stats.labelled import (
    bootstrap_rate,
    clustered_wilson,
    f1,
    precision,
    published_f1,
    recall,
    resampled_sums,
    stratified_permutation,
)
from contextbias.stats.proportion import wilson

Floats = NDArray[np.float64]


def test_single_images_have_the_plain_interval() -> None:
    # Clusters of one image: variance k/(k-1) p(1-p)/k, so the effective number is k - 1 = 39, times
    # (1.95996 / 2.02269)², t with 39 degrees of freedom.
    found = clustered_wilson([1] * 30 + [0] * 10, [1] * 40)
    z, p, n = 1.959963984540054, 0.75, 39 * (1.959963985 / 2.022690920) ** 2
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5 / (1 + z * z / n)
    assert found.point == 0.75
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half))
    plain = wilson(30, 40)
    assert found.low == pytest.approx(float(plain.low), abs=0.01)


def test_clusters_that_are_all_or_nothing_count_once() -> None:
    alike = clustered_wilson([10, 10, 10, 0], [10, 10, 10, 10])
    apart = clustered_wilson([7, 8, 8, 7], [10, 10, 10, 10])
    assert alike.point == apart.point == 0.75
    assert alike.high - alike.low > 2 * (apart.high - apart.low)
    # Clusters that are more alike than chance allows are not taken for more images than there are.
    plain = wilson(30, 40)
    assert float(plain.low) - 0.12 < apart.low < float(plain.low)


def test_without_an_error_clusters_count_and_not_images() -> None:
    found = clustered_wilson([10] * 5, [10] * 5)
    assert (found.point, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(float(wilson(5, 5).low))
    assert clustered_wilson([0, 0], [3, 4]).low == 0.0
    assert clustered_wilson([2], [4]).low == pytest.approx(
        (0.5 + 1.9207295) / 4.841459 - 1.959964 * (0.25 + 0.9603648) ** 0.5 / 4.841459, abs=1e-6
    )


def test_nothing_counted_is_undefined_and_nonsense_is_refused() -> None:
    assert np.isnan(clustered_wilson([], []).point)
    assert np.isnan(clustered_wilson([0], [0]).low)
    with pytest.raises(ValueError, match="one shape"):
        clustered_wilson([3], [2])
    with pytest.raises(ValueError, match="one shape"):
        clustered_wilson([1, 1], [2])


@pytest.mark.parametrize("rho", [0.0, 0.3])
def test_the_interval_covers_where_clusters_are_alike(rho: float) -> None:
    random = np.random.default_rng(7)
    a, b = (0.85 * (1 / max(rho, 1e-9) - 1), 0.15 * (1 / max(rho, 1e-9) - 1))
    held, naive = 0, 0
    for _ in range(600):
        p = random.beta(a, b, size=22) if rho else np.full(22, 0.85)
        x = random.binomial(10, p)
        found = clustered_wilson(x, np.full(22, 10))
        plain = wilson(int(x.sum()), 220)
        held += found.low <= 0.85 <= found.high
        naive += bool(plain.low <= 0.85 <= plain.high)
    assert 0.92 <= held / 600 <= 0.99
    if rho:
        assert naive / 600 < 0.85


def test_scores_by_hand() -> None:
    sums = np.array([8.0, 2.0, 4.0])  # TP, FN, FP
    assert float(precision(sums)) == pytest.approx(8 / 12)
    assert float(recall(sums)) == pytest.approx(0.8)
    assert float(f1(sums)) == pytest.approx(2 * (8 / 12) * 0.8 / (8 / 12 + 0.8))
    # The paper's table 1: recall .903 is an F1 of .949 where precision is 1.
    assert float(published_f1(np.array([903.0, 97.0, 0.0]))) == pytest.approx(0.949, abs=5e-4)
    assert np.isnan(precision(np.zeros(3)))
    assert np.isnan(recall(np.array([0.0, 0.0, 3.0])))
    assert float(f1(np.array([0.0, 0.0, 3.0]))) == 0.0


def test_scores_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import f1_score, precision_score, recall_score

    random = np.random.default_rng(3)
    named = random.integers(0, 3, 400)
    read = np.where(random.random(400) < 0.8, named, random.integers(0, 3, 400))
    hit = float((named == read).sum())
    miss = 400 - hit
    micro = np.array([hit, miss, miss])  # each wrong answer is one miss and one false alarm
    assert float(precision(micro)) == pytest.approx(precision_score(named, read, average="micro"))
    assert float(recall(micro)) == pytest.approx(recall_score(named, read, average="micro"))
    one = np.array([((named == 1) & (read == 1)).sum(), ((named == 1) & (read != 1)).sum(),
                    ((named != 1) & (read == 1)).sum()], float)  # fmt: skip
    assert float(f1(one)) == pytest.approx(f1_score(named == 1, read == 1))


def _parts(sums: Floats, replicates: int = 400) -> list[tuple[Floats, Floats]]:
    return [(sums, resampled_sums(sums, replicates, np.random.default_rng(1)))]


def test_the_bootstrap_draws_clusters() -> None:
    sums = np.array([[5.0, 0, 0], [0, 5, 0], [4, 1, 2]])
    ((_, drawn),) = _parts(sums)
    assert drawn.shape == (400, 3)
    assert set(drawn[:, :2].sum(axis=1)) == {15.0}
    found = bootstrap_rate(recall, _parts(sums))
    assert found.point == pytest.approx(9 / 15)
    assert found.low < found.point < found.high


def test_few_clusters_have_the_width_of_students_interval() -> None:
    # Of clusters of one size recall is a mean of shares: 0.3, 0.5, …; half of the clusters are
    # negatives, which tell nothing of it.
    hits = np.array([3.0, 5, 4, 6, 5, 4])
    sums = np.concatenate([np.stack([hits, 10 - hits, 0 * hits], 1), [[0.0, 0, 1]] * 2])
    found = bootstrap_rate(recall, _parts(sums, 4000))
    half = stdtrit(5, 0.975) * (hits / 10).std(ddof=1) / 6**0.5
    assert found.point == pytest.approx(0.45)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.15)
    near = bootstrap_rate(recall, _parts(np.array([[9.0, 1, 0], [10, 0, 0], [7, 3, 0]])))
    assert near.high == 1.0  # and not above


def test_no_interval_where_the_bootstrap_says_nothing() -> None:
    perfect = bootstrap_rate(f1, _parts(np.array([[5.0, 0, 0], [5, 0, 0]])))
    assert perfect.point == 1.0
    assert np.isnan(perfect.low)
    single = bootstrap_rate(f1, [(np.array([[4.0, 1, 0]]), np.empty((0, 3)))])
    assert single.point == pytest.approx(8 / 9)
    assert np.isnan(single.high)
    assert np.isnan(bootstrap_rate(recall, _parts(np.array([[0.0, 0, 1], [0, 0, 2]]))).point)


def test_a_mean_over_parts_weighs_them_alike() -> None:
    large = np.array([[90.0, 10, 0], [85, 15, 0], [95, 5, 0]])
    small = np.array([[1.0, 1, 0], [0, 2, 0], [2, 0, 0]])
    found = bootstrap_rate(recall, _parts(large) + _parts(small))
    assert found.point == pytest.approx((0.9 + 0.5) / 2)


def _test(values: list[float], groups: list[int], strata: list[int], count: int = 999) -> float:
    random = np.random.default_rng(5)
    return stratified_permutation(values, groups, strata, replicates=count, random=random).p


def test_a_clear_difference_is_found_and_none_is_not() -> None:
    groups, strata = [0, 0, 0, 1, 1, 1] * 6, [k for k in range(6) for _ in range(6)]
    assert _test([1, 1, 1, 0, 0, 0] * 6, groups, strata) == 0.001
    assert _test([1, 0, 1, 0, 1, 0] * 6, groups, strata) > 0.1
    # One stratum of 2 + 2: of 6 ways to place two errors, 2 are as far apart as (both, none).
    found = _test([1, 1, 0, 0], [0, 0, 1, 1], [0] * 4, 9999)
    assert found == pytest.approx(1 / 3, abs=0.02)


def test_what_differs_between_strata_alone_is_no_difference() -> None:
    # All errors are in stratum 0, all of group 0 is there: nothing can be told.
    found = stratified_permutation(
        [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1], replicates=99, random=np.random.default_rng(1)
    )
    assert (found.n, found.groups) == (0, 0)
    assert np.isnan(found.p)


def test_the_test_keeps_its_level() -> None:
    random = np.random.default_rng(11)
    strata = np.repeat(np.arange(20), 10)
    rates = random.beta(2, 8, size=20)[strata]
    rejected = 0
    for _ in range(300):
        errors = (random.random(200) < rates).astype(float)
        groups = random.integers(0, 3, 200)
        found = stratified_permutation(errors, groups, strata, replicates=99, random=random)
        rejected += found.p <= 0.05
    assert rejected / 300 <= 0.09
