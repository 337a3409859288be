"""Agreement of several raters: by hand, against other programs, degenerate, and coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from contextbias.stats.raters import RaterAgreement, rater_agreement

Table = NDArray[np.int64]


def of_table(table: Table, *, categories: int | None = None, **settings: int) -> RaterAgreement:
    """Codes of shape (units, raters), -1 for no rating."""
    unit, rater = np.nonzero(table >= 0)
    rng = np.random.default_rng(settings.pop("seed", 1))
    settings.setdefault("bootstrap", 0)
    return rater_agreement(unit, table[unit, rater], categories=categories, rng=rng, **settings)


def drawn(rng: np.random.Generator, units: int, raters: int, *, holes: float = 0.0) -> Table:
    true = rng.choice(4, units, p=[0.5, 0.3, 0.15, 0.05])
    right = rng.random((units, raters)) < 0.75
    table = np.where(right, true[:, None], rng.choice(4, (units, raters)))
    return np.where(rng.random((units, raters)) < holes, -1, table)


# ---- by hand


def test_three_raters_by_hand() -> None:
    # Units aaa, aab, bbb, abc. P = 1, 1/3, 1, 0: raw = 7/12. Counts a 6, b 5, c 1 of 12:
    # pi = 1/2, 5/12, 1/12; sum pi² = (36 + 25 + 1) / 144 = 62/144.
    found = of_table(np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [0, 1, 2]]))
    chance = 62 / 144
    assert found.raw.point == pytest.approx(7 / 12)
    assert found.raw.n == 4
    assert found.fleiss.point == pytest.approx((7 / 12 - chance) / (1 - chance))
    # alpha: sum m (1 - P) = 3 * (2/3 + 1) = 5; N² - sum n² = 144 - 62 = 82; 1 - 11 * 5 / 82.
    assert found.alpha.point == pytest.approx(1 - 55 / 82)
    # AC1 with q = 3: e = (1 - 62/144) / 2 = 41/144.
    assert found.ac1.point == pytest.approx((7 / 12 - 41 / 144) / (1 - 41 / 144))


def test_more_categories_on_offer_make_ac1_larger() -> None:
    table = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1]])
    few, many = of_table(table, categories=2), of_table(table, categories=7)
    assert many.ac1.point > few.ac1.point
    assert many.fleiss.point == few.fleiss.point


# ---- against other programs


@pytest.mark.parametrize("seed", range(4))
def test_as_statsmodels_has_fleiss(seed: int) -> None:
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    table = drawn(np.random.default_rng(seed), 60, 3)
    expected = fleiss_kappa(aggregate_raters(table)[0])
    assert of_table(table).fleiss.point == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("seed", "holes"), [(0, 0.0), (1, 0.2), (2, 0.5), (3, 0.8)])
def test_as_krippendorff_has_alpha_also_with_ratings_missing(seed: int, holes: float) -> None:
    import krippendorff

    table = drawn(np.random.default_rng(seed), 60, 4, holes=holes)
    data = np.where(table < 0, np.nan, table.astype(float)).T
    expected = krippendorff.alpha(reliability_data=data, level_of_measurement="nominal")
    assert of_table(table).alpha.point == pytest.approx(expected, abs=1e-12)


def test_raw_of_two_raters_is_the_share_of_equal_ratings() -> None:
    table = drawn(np.random.default_rng(5), 80, 2)
    assert of_table(table).raw.point == pytest.approx(np.mean(table[:, 0] == table[:, 1]))


def test_ratings_that_are_alike_in_part_change_raw_alone() -> None:
    unit, category = [0, 0, 1, 1, 2], [0, 1, 2, 2, 0]
    plain = rater_agreement(unit, category, bootstrap=0)
    found = rater_agreement(unit, category, alike=[0.5, 1, 0], bootstrap=0)
    assert (plain.raw.point, found.raw.point, found.raw.n) == (0.5, 0.75, 2)
    for name in ("fleiss", "alpha", "ac1"):
        assert getattr(found, name).point == getattr(plain, name).point
    with pytest.raises(ValueError, match="alike"):
        rater_agreement(unit, category, alike=[0.5, 1], bootstrap=0)


def test_gwets_own_form() -> None:
    # Gwet 2008: e = 2 pi (1 - pi) of two categories, pi the mean share of the first.
    table = np.minimum(drawn(np.random.default_rng(6), 90, 2), 1)
    raw, pi = np.mean(table[:, 0] == table[:, 1]), np.mean(table == 0)
    e = 2 * pi * (1 - pi)
    assert of_table(table).ac1.point == pytest.approx((raw - e) / (1 - e))


# ---- degenerate


def test_all_say_the_same() -> None:
    found = of_table(np.zeros((9, 3), np.int64), categories=5, bootstrap=50)
    assert found.raw.point == 1
    assert found.ac1.point == 1
    for kappa in (found.fleiss, found.alpha):
        assert math.isnan(kappa.point)
        assert kappa.degenerate
        assert math.isnan(kappa.low)


def test_one_answer_on_offer_leaves_nothing_to_say() -> None:
    assert math.isnan(of_table(np.zeros((9, 3), np.int64), categories=1).ac1.point)


def test_nothing_to_compare() -> None:
    empty = rater_agreement([], [], bootstrap=20, rng=np.random.default_rng(1))
    alone = of_table(np.array([[0, -1], [-1, 1]]), bootstrap=20)
    for found in (empty, alone):
        assert found.raw.n == 0
        assert math.isnan(found.fleiss.point)
        assert not found.fleiss.degenerate


def test_one_group_has_no_interval() -> None:
    table = drawn(np.random.default_rng(7), 10, 3)
    unit, rater = np.nonzero(table >= 0)
    rng = np.random.default_rng(1)
    found = rater_agreement(unit, table[unit, rater], group=np.zeros(10), bootstrap=20, rng=rng)
    assert math.isnan(found.raw.low)
    assert not math.isnan(found.raw.point)


def test_order_and_names_of_categories_do_not_matter() -> None:
    table = drawn(np.random.default_rng(8), 40, 3, holes=0.2)
    other = of_table(np.where(table < 0, -1, 3 - table)[::-1])
    for name in ("raw", "fleiss", "alpha", "ac1"):
        mine, theirs = getattr(of_table(table), name), getattr(other, name)
        assert mine.point == pytest.approx(theirs.point, abs=1e-12)


@pytest.mark.parametrize(
    ("unit", "category", "group"),
    [([0, 1], [0], None), ([0, -1], [0, 0], None), ([0, 1], [0, -2], None), ([0, 1], [0, 0], [0])],
)
def test_what_is_no_rating_is_refused(unit: list[int], category: list[int], group: object) -> None:
    with pytest.raises(ValueError, match=r"match|negative|group"):
        rater_agreement(unit, category, group=group, bootstrap=0)  # type: ignore[arg-type]


def test_a_bootstrap_needs_a_source_of_randomness() -> None:
    with pytest.raises(ValueError, match="rng"):
        rater_agreement([0, 0], [0, 0])


# ---- coverage


def test_the_bootstrap_over_items_holds_fleiss_kappa_of_endless_items() -> None:
    # 40 items of 3 questions; an item is easy (all right) or hard (all guess) for all questions
    # alike, so that only a bootstrap of items is right.
    rng = np.random.default_rng(11)
    long = _items(rng, 40_000)
    truth = of_table(long).fleiss.point
    held = {"items": 0, "units": 0}
    studies = 200
    for study in range(studies):
        table = _items(rng, 40)
        unit, rater = np.nonzero(table >= 0)
        for name, group in (("items", np.arange(120) // 3), ("units", np.arange(120))):
            found = rater_agreement(
                unit, table[unit, rater], group=group, bootstrap=200,
                rng=np.random.default_rng(study),
            ).fleiss  # fmt: skip
            held[name] += found.low <= truth <= found.high
    # 95% less the small-sample loss of percentiles; a standard error is 1.5 points.
    assert held["items"] / studies >= 0.9
    assert held["units"] < held["items"]


def _items(rng: np.random.Generator, items: int) -> Table:
    easy = np.repeat(rng.random(items) < 0.5, 3)
    true = rng.choice(3, 3 * items)
    guess = rng.choice(3, (3 * items, 3))
    return np.where(easy[:, None], true[:, None], guess)
