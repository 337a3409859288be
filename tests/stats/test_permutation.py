"""Permutation of prompts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from contextbias.stats.permutation import permutation_p

LAYOUT = np.repeat([0, 1, 2], [3, 7, 8])


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_all_ways_by_hand() -> None:
    # Units with 0, 1, 9 and 10 of 10, two in each of two conditions. The observed split {0, 1},
    # {9, 10} and its mirror image are the most extreme of 6: p = 2/6.
    found = permutation_p([[0], [1], [9], [10]], np.full((4, 1), 10), [0, 0, 1, 1], rng=_rng())
    assert found.p.tolist() == pytest.approx([1 / 3])
    assert (found.dealings, found.complete) == (6, True)
    # {0, 9} against {1, 10}: only {0, 10} against {1, 9} is less extreme
    found = permutation_p([[0], [9], [1], [10]], np.full((4, 1), 10), [0, 0, 1, 1], rng=_rng())
    assert found.p.tolist() == pytest.approx([4 / 6])


def test_against_scipy() -> None:
    # scipy permutes the units' rates; with equal n, x² summed by condition orders the same way.
    rng = np.random.default_rng(1)
    x = rng.binomial(10, rng.random(7))
    groups = [x[:2].astype(float), x[2:].astype(float)]
    theirs = stats.permutation_test(
        groups,
        lambda a, b, axis: a.sum(axis=axis) ** 2 / 2 + b.sum(axis=axis) ** 2 / 5,
        vectorized=True,
        permutation_type="independent",
        alternative="greater",
        n_resamples=np.inf,
    )
    found = permutation_p(
        x[:, None], np.full((7, 1), 10), [0, 0, 1, 1, 1, 1, 1], rng=_rng(), resamples=999
    )
    assert found.complete
    assert found.p[0] == pytest.approx(theirs.pvalue)


def test_the_contexts_of_a_role_can_be_dealt_out_in_280_ways() -> None:
    x = np.array([[30], [0], [0], [0], [0], [0], [0], [0]])
    sizes = np.array([[30], [30], [30], [10], [30], [30], [10], [10]])
    found = permutation_p(x, sizes, [0, 1, 1, 1, 2, 2, 2, 2], rng=_rng())
    assert (found.dealings, found.complete) == (280, True)
    # 30 hits in one unit: the observed dealing and all others with it alone in CF
    assert found.p[0] == pytest.approx(35 / 280)


def test_a_random_sample_counts_the_observed_one() -> None:
    x = np.where(LAYOUT == 2, 10, 0)[:, None]
    found = permutation_p(x, np.full((18, 1), 10), LAYOUT, rng=_rng(), resamples=499)
    assert (found.dealings, found.complete) == (500, False)
    assert found.p[0] == pytest.approx(1 / 500)
    again = permutation_p(x, np.full((18, 1), 10), LAYOUT, rng=_rng(), resamples=499)
    assert again.p[0] == found.p[0]


def test_cells_and_questions_are_worked_out_alike() -> None:
    rng = np.random.default_rng(2)
    n = rng.integers(5, 11, (18, 3))
    question = np.array([0, 2, 2, 1, 0])
    x = rng.binomial(n[:, question], 0.3)
    together = permutation_p(x, n, LAYOUT, question=question, rng=_rng())
    for i, column in enumerate(question):
        alone = permutation_p(x[:, [i]], n[:, [column]], LAYOUT, rng=_rng())
        assert alone.p[0] == together.p[i]


def test_degenerate_input() -> None:
    one = permutation_p([[3], [4]], [[9], [9]], [1, 1], rng=_rng())
    assert np.isnan(one.p).all()
    flat = permutation_p([[0, 9], [0, 9], [0, 9]], np.full((3, 2), 9), [0, 1, 1], rng=_rng())
    assert flat.p.tolist() == [1, 1]
    assert (
        permutation_p(np.zeros((3, 0)), np.ones((3, 1)), [0, 1, 1], question=[], rng=_rng()).p.size
        == 0
    )
    unread = permutation_p([[0], [2], [9]], [[0], [9], [9]], [0, 1, 2], rng=_rng())
    assert 0 < unread.p[0] <= 1
    with pytest.raises(ValueError, match="one row a unit"):
        permutation_p([[1], [2]], [[3], [4]], [0, 1, 1], rng=_rng())
    with pytest.raises(ValueError, match="question"):
        permutation_p([[1], [2]], [[3], [4]], [0, 1], question=[1], rng=_rng())
    with pytest.raises(ValueError, match="between 0 and n"):
        permutation_p([[5], [2]], [[3], [4]], [0, 1], rng=_rng())


def test_the_size_is_kept_where_images_of_a_prompt_are_alike() -> None:
    # Rates of prompts vary (correlation .2): the naive test rejects far too often, this one does
    # not. 1,000 roles: a standard error of .007.
    rng = np.random.default_rng(3)
    x = rng.binomial(10, rng.beta(1.2, 2.8, size=(18, 1_000)))
    found = permutation_p(x, np.full((18, 1_000), 10), LAYOUT, rng=_rng())
    assert 0.03 < (found.p < 0.05).mean() < 0.07
