"""Homogeneity of prompt variants on sparse counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

from contextbias.stats.variants import VariantTests, variant_tests


def _one(x: list[int], n: list[int]) -> VariantTests:
    return variant_tests([[v] for v in x], n, [0] * len(x), [0] * len(x), strata=1)


def test_two_variants_by_hand() -> None:
    # 2 and 6 of 10 each: p = .4, chi2 = (4/10 + 36/10 - 64/20) / .24 = .8 / .24
    # leave-one-out: E = 6 and 2: 16/6 + 16/2
    found = _one([2, 6], [10, 10])
    assert found.statistic.tolist() == pytest.approx([0.8 / 0.24])
    assert found.df.tolist() == [1]
    assert found.leave_one_out.tolist() == pytest.approx([16 / 6 + 16 / 2])
    assert found.leave_one_out_p.tolist() == pytest.approx([stats.chi2.sf(16 / 6 + 8, 1)])
    assert (found.hits.tolist(), found.images.tolist()) == ([8], [20])


def test_against_scipy() -> None:
    rng = np.random.default_rng(0)
    n = np.array([10, 9, 10, 7])
    x = rng.binomial(n, 0.4)
    theirs = stats.chi2_contingency([x, n - x], correction=False)
    found = _one(x.tolist(), n.tolist())
    assert found.statistic[0] == pytest.approx(theirs.statistic)
    assert found.p[0] == pytest.approx(theirs.pvalue)
    assert found.df[0] == theirs.dof


def test_all_hits_in_one_variant() -> None:
    # E of the first is 0, so it is left out; the others have E = 10 * 5 / 20 = 2.5 and x = 0.
    found = _one([5, 0, 0], [10, 10, 10])
    assert found.left_out.tolist() == [1]
    assert found.leave_one_out.tolist() == pytest.approx([5.0])
    assert found.statistic.tolist() == pytest.approx([12.0])  # 5²/10 - 25/30 over (1/6)(5/6)


def test_labels_in_all_images_have_nothing_to_tell() -> None:
    found = _one([10, 10], [10, 10])
    assert (found.df.tolist(), found.p.tolist()) == ([0], [1])
    assert found.leave_one_out.tolist() == [0]
    assert found.leave_one_out_p.tolist() == [1]


def _slow(x: np.ndarray, n: np.ndarray, family: np.ndarray) -> tuple[float, int, float]:
    """Both statistics of one label, written out."""
    chi, df, loo = 0.0, 0, 0.0
    for code in np.unique(family):
        mine = (family == code) & (n > 0)
        s, total = x[mine].sum(), n[mine].sum()
        if mine.sum() < 2 or s == 0:
            continue
        if s < total:
            rate = s / total
            chi += (((x[mine] - n[mine] * rate) ** 2) / (n[mine] * rate * (1 - rate))).sum()
            df += mine.sum() - 1
        for hits, images in zip(x[mine], n[mine], strict=True):
            expected = images * (s - hits) / (total - images)
            loo += (hits - expected) ** 2 / expected if expected > 0 else 0.0
    return chi, df, loo


def test_many_labels_families_and_strata_against_a_loop() -> None:
    rng = np.random.default_rng(1)
    n = rng.integers(0, 11, 40)
    family = rng.integers(0, 12, 40)
    stratum = family % 5
    x = rng.binomial(n[:, None], rng.choice([0.0, 0.05, 0.5, 1.0], size=(40, 30)))
    found = variant_tests(sparse.csr_array(x), n, family, stratum, strata=6)
    seen = {
        (s, label): i for i, (s, label) in enumerate(zip(found.stratum, found.label, strict=True))
    }
    for s in range(6):
        mine = stratum == s
        for label in range(30):
            chi, df, loo = _slow(x[mine, label], n[mine], family[mine])
            i = seen.get((s, label))
            if i is None:
                assert (chi, df, loo) == (0, 0, 0)
                continue
            assert found.statistic[i] == pytest.approx(chi, abs=1e-9)
            assert found.df[i] == df
            assert found.leave_one_out[i] == pytest.approx(loo, abs=1e-9)
    assert found.images[5] == 0


def test_variants_without_images_and_lonely_ones_are_left_out() -> None:
    x, n = [[2], [6], [0], [7]], [10, 10, 0, 10]
    found = variant_tests(x, n, [0, 0, 0, 1], [0, 0, 0, 0], strata=2)
    assert found.df.tolist() == [1]
    assert found.hits.tolist() == [8]
    assert found.images.tolist() == [20, 0]
    nothing = variant_tests(np.zeros((2, 0)), [3, 4], [0, 0], [0, 0], strata=1)
    assert nothing.p.size == 0
    assert nothing.images.tolist() == [7]
    empty = variant_tests(np.zeros((0, 2)), [], [], [], strata=1)
    assert empty.images.tolist() == [0]


def test_input_is_checked() -> None:
    with pytest.raises(ValueError, match="one row of x"):
        variant_tests([[1], [2]], [4, 4, 4], [0, 0, 0], [0, 0, 0], strata=1)
    with pytest.raises(ValueError, match="between 0 and n"):
        variant_tests([[5], [2]], [4, 4], [0, 0], [0, 0], strata=1)


def test_what_the_tests_reject_without_any_difference() -> None:
    """The 2 x k test about keeps its level; the leave-one-out sum does not.

    Variants of 10 images, labels with 5 hits or more, nominal 5%. Measured over 20,000 labels, at
    prevalences of .05, .1, .5 and .9: three variants, 2 x k .07, .06, .04, .04 and leave-one-out
    .28, .29, .09, 0; eight variants, .03, .04, .05, .04 and .21, .16, 0, 0.
    """
    rng = np.random.default_rng(2)
    for variants in (3, 8):
        zeros = np.zeros(variants)
        for p, lowest, highest in ((0.1, 0.14, 0.33), (0.9, 0.0, 0.0)):
            x = rng.binomial(10, p, size=(variants, 4_000))
            found = variant_tests(x, zeros + 10, zeros, zeros, strata=1)
            kept = found.hits >= 5
            assert 0.02 < (found.p[kept] < 0.05).mean() < 0.09
            assert lowest <= (found.leave_one_out_p[kept] < 0.05).mean() <= highest
