"""Agreement of two readings: by hand, against other programs, and where it is undefined."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from contextbias.stats.agreement import Agreement, LabelSets, cohen_kappa, raw_agreement
from contextbias.stats.proportion import wilson


def one(first: list[int], second: list[int], measure: str = "kappa") -> Agreement:
    of = cohen_kappa if measure == "kappa" else raw_agreement
    return of(LabelSets.of_labels(first), LabelSets.of_labels(second), len(first))


def sets(given: list[set[int]]) -> LabelSets:
    pairs = [(item, label) for item, labels in enumerate(given) for label in labels]
    items, labels = ([pair[k] for pair in pairs] for k in (0, 1))
    return LabelSets.of(items, labels, n=len(given))


# ---- by hand


def test_cohens_own_form_by_hand() -> None:
    # 50 items: yes/yes 20, yes/no 5, no/yes 10, no/no 15. p_o = .7; p_e = .5 * .6 + .5 * .4 = .5;
    # kappa = (.7 - .5) / (1 - .5) = .4.
    first = [1] * 25 + [0] * 25
    second = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert one(first, second).point == pytest.approx(0.4)
    raw = one(first, second, "raw")
    assert (raw.point, raw.n) == (0.7, 50)
    expected = wilson(35, 50)
    assert (raw.low, raw.high) == (float(expected.low), float(expected.high))


def test_label_sets_by_hand() -> None:
    # Items {0}, {0, 1}, {} against {0}, {1}, {1}. Jaccard: 1, 1/2, 0: mean .5.
    first, second = sets([{0}, {0, 1}, set()]), sets([{0}, {1}, {1}])
    assert raw_agreement(first, second, 3).point == pytest.approx(0.5)
    # Apart: 0, 1, 1: A = 2/3. Label 0: p = 2/3, q = 1/3: p(1-q) + q(1-p) = 4/9 + 1/9 = 5/9.
    # Label 1: p = 1/3, q = 2/3: 1/9 + 4/9 = 5/9. kappa = 1 - (2/3) / (10/9) = .4.
    assert cohen_kappa(first, second, 3).point == pytest.approx(0.4)


def test_two_empty_sets_agree() -> None:
    found = raw_agreement(sets([set(), {1}]), sets([set(), {1}]), 2)
    assert found.point == 1


# ---- against other programs


@pytest.mark.parametrize("seed", range(4))
def test_as_statsmodels_and_scikit_learn_have_it(seed: int) -> None:
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.inter_rater import cohens_kappa

    rng = np.random.default_rng(seed)
    first = rng.choice(4, 300, p=[0.6, 0.2, 0.15, 0.05])
    second = np.where(rng.random(300) < 0.7, first, rng.choice(4, 300))
    found = one(first.tolist(), second.tolist())
    table = np.zeros((4, 4))
    np.add.at(table, (first, second), 1)
    other = cohens_kappa(table)
    assert found.point == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)
    assert found.point == pytest.approx(other.kappa, abs=1e-12)
    assert found.low == pytest.approx(other.kappa_low, abs=1e-9)
    assert found.high == pytest.approx(other.kappa_upp, abs=1e-9)


def test_of_two_labels_a_set_of_one_is_the_same_as_a_label() -> None:
    rng = np.random.default_rng(9)
    first, second = rng.integers(0, 3, 50), rng.integers(0, 3, 50)
    as_sets = [sets([{int(label)} for label in labels]) for labels in (first, second)]
    assert cohen_kappa(*as_sets, 50) == one(first.tolist(), second.tolist())


# ---- against theory


def draw(rng: np.random.Generator, n: int, agree: float) -> tuple[NDArray[np.int64], ...]:
    """Two readings of three labels of which a share `agree` is copied: kappa is that share."""
    shares = [0.5, 0.3, 0.2]
    first = rng.choice(3, n, p=shares)
    return first, np.where(rng.random(n) < agree, first, rng.choice(3, n, p=shares))


def test_readings_that_have_nothing_to_do_with_each_other_have_kappa_0() -> None:
    first, second = draw(np.random.default_rng(3), 20_000, 0.0)
    found = one(first.tolist(), second.tolist())
    assert found.low < 0 < found.high
    assert abs(found.point) < 0.02


@pytest.mark.parametrize("agree", [0.2, 0.6, 0.9])
def test_the_interval_holds_the_truth_as_often_as_it_says(agree: float) -> None:
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(600):
        found = one(*(labels.tolist() for labels in draw(rng, 150, agree)))
        held += found.low <= agree <= found.high
    # 95% of 600 is 570; three standard errors are 16.
    assert 550 <= held <= 590


def test_the_interval_of_sets_holds_the_truth() -> None:
    """Two labels, drawn independently, each copied with probability .5: kappa is .5."""
    rng = np.random.default_rng(12)
    held = 0
    for _ in range(400):
        first = rng.random((120, 2)) < 0.4
        second = np.where(rng.random((120, 2)) < 0.5, first, rng.random((120, 2)) < 0.4)
        of = [LabelSets.of(*np.nonzero(given), n=120) for given in (first, second)]
        found = cohen_kappa(*of, 120)
        held += found.low <= 0.5 <= found.high
    assert 364 <= held <= 394


# ---- degenerate input


def test_questions_about_one_picture_are_no_independent_evidence() -> None:
    # 60 pictures, 12 questions of 5 answers each; a picture is easy or hard, so that 64% or 96% of
    # its answers are the same but for chance.
    rng = np.random.default_rng(3)
    shape, own = (60, 12), np.arange(12) * 5
    group = np.repeat(np.arange(60), 12)
    held = np.zeros((2, 2))
    for _ in range(200):
        easy = np.where(rng.random((60, 1)) < 0.5, 0.96, 0.64)
        one = rng.integers(0, 5, shape)
        two = np.where(rng.random(shape) < easy, one, rng.integers(0, 5, shape))
        both = [LabelSets.of_labels((answers + own).ravel()) for answers in (one, two)]
        for k, (measure, truth) in enumerate(
            ((raw_agreement, 0.84), (cohen_kappa, 1 - 0.16 / (1 - 1 / 60)))
        ):
            for j, of in enumerate((None, group)):
                found = measure(*both, 720, group=of)
                held[k, j] += found.low <= truth <= found.high
    assert held[:, 0].max() < 0.9 * 200
    assert held[:, 1].min() > 0.92 * 200


def test_groups_of_one_are_items() -> None:
    one, two = (LabelSets.of_labels([0, 1, 1, 0, 2, 2, 1, 0] * n) for n in (4, 4))
    other = LabelSets.of_labels([0, 1, 2, 0, 2, 2, 0, 0] * 4)
    alone = cohen_kappa(one, other, 32)
    grouped = cohen_kappa(two, other, 32, group=np.arange(32))
    assert grouped.point == alone.point
    assert grouped.high - grouped.low == pytest.approx((alone.high - alone.low) * (32 / 31) ** 0.5)
    assert cohen_kappa(one, one, 32, group=np.arange(32) // 8).low < cohen_kappa(one, one, 32).low


def test_one_label_only_leaves_kappa_undefined_and_not_1() -> None:
    found = one([2] * 30, [2] * 30)
    assert math.isnan(found.point)
    assert found.degenerate
    assert one([2] * 30, [2] * 30, "raw").point == 1


def test_complete_agreement_has_an_interval_that_few_items_widen() -> None:
    few, many = one([0, 1] * 3, [0, 1] * 3), one([0, 1] * 300, [0, 1] * 300)
    assert few.point == many.point == few.high == 1
    assert few.low < 0.5 < many.low < 1
    assert not few.degenerate


def test_there_is_no_interval_where_hardly_anything_but_one_label_is_given() -> None:
    # 46 items of 0 and 0; one each of 0 and 1, 1 and 0, and two of 1 and 1: 4 that can tell.
    first, second = [0] * 46 + [0, 1, 1, 1], [0] * 46 + [1, 0, 1, 1]
    few = one(first, second)
    assert few.point == pytest.approx((0.96 - 0.8872) / (1 - 0.8872))  # p = q = .06
    assert math.isnan(few.low)
    assert math.isnan(few.high)
    more = one([*first, 1], [*second, 1])
    assert more.low < more.point < more.high
    # Of lists, an item with the frequent label alone in both tells nothing either.
    lists = [{0}] * 46 + [{0, 1}, set(), {0}, {1}]
    other = [{0}] * 46 + [{0}, {0}, {0, 2}, {1}]
    assert math.isnan(cohen_kappa(sets(lists), sets(other), 50).low)
    assert not math.isnan(cohen_kappa(sets([*lists, {2}]), sets([*other, {1}]), 51).low)
    pictures = np.arange(51) // 3  # the last five items stand in three groups
    assert math.isnan(cohen_kappa(sets([*lists, {2}]), sets([*other, {1}]), 51, group=pictures).low)


@pytest.mark.parametrize(("n", "rare"), [(20, 0.1), (50, 0.03), (50, 0.1)])
def test_where_there_is_an_interval_of_a_rare_label_it_mostly_holds(n: int, rare: float) -> None:
    # b = a with probability kappa, else drawn anew. Without the rule: 66, 59 and 85%.
    rng = np.random.default_rng(3)
    found = []
    for _ in range(1500):
        a, anew = rng.random((2, n)) < rare
        b = np.where(rng.random(n) < 0.5, a, anew)
        found.append(one(a.astype(int).tolist(), b.astype(int).tolist()))
    there = [each for each in found if not math.isnan(each.low)]
    assert len(there) > 100
    assert np.mean([each.low <= 0.5 <= each.high for each in there]) > 0.85


def test_nothing_and_a_single_item() -> None:
    empty = LabelSets.of([], [], n=0)
    for of in (cohen_kappa, raw_agreement):
        found = of(empty, empty, 0)
        assert math.isnan(found.point)
        assert found.n == 0
    alone = one([0], [1])
    assert math.isnan(alone.low)
    assert one([0], [1], "raw").point == 0


def test_no_labels_at_all_are_one_label_only() -> None:
    nothing = sets([set(), set()])
    assert cohen_kappa(nothing, nothing, 2).degenerate
    assert raw_agreement(nothing, nothing, 2).point == 1


@pytest.mark.parametrize(
    ("items", "labels"), [([0, 1], [0]), ([0, 5], [0, 0]), ([0.5, 1], [0, 0]), ([0, 1], [-1, 0])]
)
def test_what_are_no_pairs_is_refused(items: list[float], labels: list[int]) -> None:
    with pytest.raises(ValueError):
        LabelSets.of(items, labels, n=2)


def test_pairs_given_twice_count_once() -> None:
    twice = LabelSets.of([0, 0, 1], [3, 3, 1], n=2)
    assert twice.items.tolist() == [0, 1]
    assert twice.labels.tolist() == [3, 1]
