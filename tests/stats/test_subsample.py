"""Entropy of subsamples: by hand, against every subsample, against drawing, and in theory."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from contextbias.stats import subsample
from contextbias.stats.entropy import plug_in_entropy
from contextbias.stats.subsample import (
    binomial_entropy,
    expected_entropy,
    pooled_subsample_entropy,
)

COUNTS = st.lists(st.integers(0, 12), min_size=1, max_size=6)


def mean_over_subsamples(counts: tuple[int, ...], size: int) -> float:
    """Enumerate every subset of `size` items."""
    items = [label for label, count in enumerate(counts) for _ in range(count)]
    seen = [np.bincount(chosen, minlength=len(counts)) for chosen in combinations(items, size)]
    return float(np.mean([plug_in_entropy(x) for x in seen]))


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
    monkeypatch.setattr("contextbias.stats.subsample._CHUNK", 1000)
    assert expected_entropy(counts, size) == pytest.approx(whole)
    assert binomial_entropy(counts, size) == pytest.approx(shares)


# ---- pooled over roles


def test_pooled_subsamples_by_hand() -> None:
    # Role 1 shows a in one of two images and b in the other; role 2 shows a. One image of each:
    # a and a, or b and a, with equal chances. Entropies 0 and log 2.
    counts, images = [[1, 1], [1, 0]], [2, 1]
    assert pooled_subsample_entropy(counts, images, 1) == pytest.approx(0.5 * math.log(2))
    # Nothing is left out: the pooled entropy of 2 and 1.
    assert pooled_subsample_entropy(counts, images, images) == pytest.approx(
        plug_in_entropy([2, 1])
    )
    # A size of 0 leaves the role out.
    assert pooled_subsample_entropy(counts, images, [0, 1]) == 0.0
    assert math.isnan(pooled_subsample_entropy(counts, images, 0))


def every_subsample(roles: list[list[int]], sizes: list[int]) -> float:
    """One label an image: every choice of images of every role."""
    choices = [
        [
            np.bincount(chosen, minlength=len(role))
            for chosen in combinations([y for y, k in enumerate(role) for _ in range(k)], size)
        ]
        for role, size in zip(roles, sizes, strict=True)
    ]
    return float(np.mean([plug_in_entropy(np.sum(chosen, axis=0)) for chosen in product(*choices)]))


@pytest.mark.parametrize(
    ("roles", "sizes"),
    [
        ([[3, 2, 1], [2, 2, 0]], [3, 2]),
        ([[4, 0, 1], [1, 1, 1], [0, 2, 2]], [2, 1, 2]),
        ([[6, 0, 0], [6, 0, 0]], [2, 2]),
    ],
)
def test_pooled_subsamples_are_the_mean_of_all(roles: list[list[int]], sizes: list[int]) -> None:
    found = pooled_subsample_entropy(roles, np.sum(roles, axis=1), sizes)
    assert found == pytest.approx(every_subsample(roles, sizes))


def test_pooled_subsamples_of_lists_are_close_to_drawing_images() -> None:
    """Images with 0 to 4 of 30 labels each; 8 roles reduced from 40 images to 15."""
    rng = np.random.default_rng(6)
    appeal = rng.dirichlet(np.full(30, 0.3), size=8) * 2
    shows = rng.random((8, 40, 30)) < np.minimum(appeal, 0.9)[:, None]
    found = pooled_subsample_entropy(shows.sum(axis=1), [40] * 8, 15)
    drawn = []
    for _ in range(3000):
        chosen = rng.permuted(np.arange(40)[None].repeat(8, 0), axis=1)[:, :15]
        drawn.append(np.take_along_axis(shows, chosen[..., None], axis=1).sum(axis=(0, 1)))
    mean = plug_in_entropy(np.array(drawn)).mean()
    assert found == pytest.approx(mean, abs=0.004)


def test_few_roles_and_many_images_agree_between_sum_and_expansion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(7)
    counts = rng.multinomial(400, rng.dirichlet(np.ones(4), size=(6, 2)))
    whole = pooled_subsample_entropy(counts, np.full((6, 2), 400), 150)
    one = expected_entropy(counts, 200)
    monkeypatch.setattr(subsample, "_LARGE_MEAN", 10**9)
    monkeypatch.setattr(subsample, "_LONGEST", 2**12)
    assert pooled_subsample_entropy(counts, np.full((6, 2), 400), 150) == pytest.approx(
        whole, abs=1e-8
    )
    assert expected_entropy(counts, 200) == pytest.approx(one, abs=1e-8)


def test_pooled_subsamples_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    counts = rng.binomial(20, rng.dirichlet(np.full(40, 0.2), size=(7, 3)))
    whole = pooled_subsample_entropy(counts, np.full((7, 3), 20), 9)
    monkeypatch.setattr(subsample, "_CHUNK", 50)
    np.testing.assert_allclose(pooled_subsample_entropy(counts, np.full((7, 3), 20), 9), whole)


def test_conditions_and_labels_may_be_shuffled() -> None:
    rng = np.random.default_rng(9)
    counts = rng.binomial(20, rng.dirichlet(np.full(12, 0.4), size=(7, 3)))
    n = np.full((7, 3), 20)
    found = pooled_subsample_entropy(counts, n, 8)
    assert found.shape == (3,)
    swapped = pooled_subsample_entropy(counts[::-1, ::-1][..., rng.permutation(12)], n, 8)
    np.testing.assert_allclose(swapped[::-1], found)


def test_cumulants_are_scipys() -> None:
    total, x, m = (np.array(each) for each in ((20, 50, 9), (7, 30, 4), (5, 21, 4)))
    second, third, fourth = subsample._cumulants(x, total, m)
    for i in range(3):
        law = stats.hypergeom(total[i], x[i], m[i])
        _, variance, skew, kurtosis = law.stats("mvsk")
        assert second[i] == pytest.approx(variance)
        assert third[i] == pytest.approx(skew * variance**1.5)
        assert fourth[i] == pytest.approx(kurtosis * variance**2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: expected_entropy([2, 1], 4),
        lambda: expected_entropy([2, 1], -1),
        lambda: expected_entropy([1.5, 1], 1),
        lambda: pooled_subsample_entropy([[2, 1]], [3], 4),
        lambda: pooled_subsample_entropy([[2, 4]], [3], 1),
        lambda: pooled_subsample_entropy([[-1, 1]], [3], 1),
    ],
)
def test_what_cannot_be_drawn_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError):
        call()


# ---- how far lists are from the mean over subsamples


@pytest.mark.parametrize(
    ("roles", "kept", "error"), [(1, 6, 0.04), (1, 26, 0.015), (5, 26, 0.004), (12, 15, 0.004)]
)
def test_the_error_of_lists_falls_with_the_images(roles: int, kept: int, error: float) -> None:
    """Against subsamples drawn image by image; in units of Bias Intensity."""
    rng = np.random.default_rng(1)
    for labels, mentions in ((20, 2.5), (200, 2.5), (200, 0.5)):
        shown = [_lists(3 * kept, labels, mentions, rng) for _ in range(roles)]
        x = np.stack([role.sum(axis=0) for role in shown])[:, None]
        found = pooled_subsample_entropy(
            x, np.full((roles, 1), 3 * kept), np.full((roles, 1), kept)
        )
        drawn = []
        for _ in range(300):
            chosen = [role[rng.permutation(3 * kept)[:kept]].sum(axis=0) for role in shown]
            drawn.append(plug_in_entropy(np.sum(chosen, axis=0)))
        scale = math.log(np.count_nonzero(x.sum(axis=(0, 1))))
        noise = np.nanstd(drawn) / math.sqrt(len(drawn)) / scale
        assert abs(found[0] - np.nanmean(drawn)) / scale < error + 3 * noise


def _lists(images: int, labels: int, mentions: float, rng: np.random.Generator) -> np.ndarray:
    """Images by labels; a Poisson number of distinct labels each, of unequal popularity."""
    shares = rng.dirichlet(np.full(labels, 0.3))
    shown = np.zeros((images, labels), dtype=np.int64)
    for image, number in zip(shown, np.minimum(rng.poisson(mentions, images), 8), strict=True):
        image[rng.choice(labels, size=number, p=shares)] = 1
    return shown
