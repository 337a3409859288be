"""Benjamini-Hochberg over families, complements counted once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

from contextbias.stats.multiplicity import adjust_once, benjamini_hochberg, complements


def test_by_hand() -> None:
    # p in order .01 .02 .03 .5, m = 4: p m / i = .04 .04 .04 .5
    found = benjamini_hochberg([0.02, 0.5, 0.01, 0.03])
    assert found.q.tolist() == pytest.approx([0.04, 0.5, 0.04, 0.04])
    assert found.tests.tolist() == [4, 4, 4, 4]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_agrees_with_scipy_and_statsmodels(p: list[float]) -> None:
    found = benjamini_hochberg(p).q
    np.testing.assert_allclose(found, false_discovery_control(p), atol=1e-12)
    np.testing.assert_allclose(found, multipletests(p, method="fdr_bh")[1], atol=1e-12)


@given(st.data())
def test_families_and_missing_tests_stay_apart(data: Any) -> None:
    size = data.draw(st.integers(1, 25))
    p = np.array(data.draw(st.lists(st.floats(0, 1), min_size=size, max_size=size)))
    missing = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    family = np.array(data.draw(st.lists(st.sampled_from("abc"), min_size=size, max_size=size)))
    found = benjamini_hochberg(np.where(missing, np.nan, p), family)
    assert np.isnan(found.q).tolist() == missing
    for name in set(family):
        rows = (family == name) & ~np.array(missing)
        np.testing.assert_array_equal(found.q[rows], benjamini_hochberg(p[rows]).q)
        assert set(found.tests[family == name]) == {rows.sum()}


def test_no_test_at_all() -> None:
    assert benjamini_hochberg([]).q.shape == (0,)
    assert np.isnan(benjamini_hochberg([np.nan]).q).all()


@pytest.mark.parametrize("p", [[1.1], [-0.1], [[0.5]]])
def test_p_values_are_checked(p: Any) -> None:
    with pytest.raises(ValueError, match="p"):
        benjamini_hochberg(p)


def test_complements_are_found_once() -> None:
    group = [0, 0, 1, 1, 2, 2, 2, 3, 3]
    x = [[3, 5], [7, 5], [3, 5], [7, 4], [1, 1], [2, 2], [7, 7], [3, 5], [7, 5]]
    include = [True] * 7 + [True, False]
    found = complements(group, x, np.full((9, 2), 10), include)
    # group 0 is yes/no; in group 1 an image has neither; group 2 has three labels; in group 3 the
    # other label is not tested.
    assert found.tolist() == [-1, 0, -1, -1, -1, -1, -1, -1, -1]


def test_a_complement_shares_the_q_of_its_twin() -> None:
    p = np.array([0.02, 0.02, 0.03])
    found = adjust_once(p, None, np.array([-1, 0, -1]))
    # two tests: .02 * 2 / 1 = .04, but .03 * 2 / 2 = .03 is smaller
    assert found.q.tolist() == pytest.approx([0.03, 0.03, 0.03])
    assert found.tests.tolist() == [2, 2, 2]
    # counted twice, the adjustment would differ: .03
    assert adjust_once([0.04, 0.04, 0.03], None, np.array([-1, 0, -1])).q[0] == pytest.approx(0.04)


def test_false_discoveries_are_held_at_the_level() -> None:
    # 500 studies of 40 null and 10 real tests: the mean false discovery proportion is at most
    # alpha * 40/50 = .04 (independent tests), standard error about .003.
    rng = np.random.default_rng(9)
    p = rng.random((500, 50))
    p[:, 40:] = rng.random((500, 10)) * 1e-4
    family = np.repeat(np.arange(500), 50)
    found = benjamini_hochberg(p.ravel(), family).q.reshape(500, 50) < 0.05
    share = found[:, :40].sum(axis=1) / np.maximum(found.sum(axis=1), 1)
    assert share.mean() == pytest.approx(0.04, abs=0.01)
