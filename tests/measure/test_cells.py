"""Numbers of one cell after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import cell_counts

from contextbias.measure.cells import (
    N_COLUMNS,
    X_COLUMNS,
    Rule,
    cell_consistency,
    mean_over_generators,
)
from contextbias.stats.exact import exact_p

RULE = Rule.of(5.0, 0.05)


def _table(*cells: tuple[str, list[int | None], list[int | None]], **keys: str) -> pl.DataFrame:
    """Cells of one role and dimension, each (label, x by condition, n by condition)."""
    rows = [
        {"generator": "g", "role": "nurse", "dimension": "d", "label": label, **keys}
        | dict(zip(X_COLUMNS, x, strict=True))
        | dict(zip(N_COLUMNS, n, strict=True))
        for label, x, n in cells
    ]
    kinds = dict.fromkeys((*X_COLUMNS, *N_COLUMNS), pl.Int64)
    return pl.DataFrame(rows, schema_overrides=kinds)


def test_a_shift_by_hand() -> None:
    # 3/30, 35/70, 64/80: 102/180; deviations -14, -4 2/3, 18 2/3 from 17, 39 2/3, 45 1/3;
    # chi2 = sum of d² / e * 180/78 = (11.5294 + 0.5490 + 7.6863) * 2.30769 = 45.610
    found = cell_consistency(_table(("a", [3, 35, 64], [30, 70, 80])), RULE).row(0, named=True)
    assert found["prevalence_pct"] == pytest.approx(100 * 102 / 180)
    assert found["range_pp"] == pytest.approx(70.0)
    assert found["chi2"] == pytest.approx(45.610, abs=1e-3)
    assert found["df"] == 2
    assert found["p"] == found["q"] == pytest.approx(np.exp(-45.610 / 2), rel=1e-3)
    assert found["p_exact"] is None  # the smallest expected count is 30 * 78/180 = 13
    assert found["ccs"] == pytest.approx(100 * 102 / 180 / 71)
    assert found["invariant"] is False
    assert found["verdict"] == "shifted"
    assert found["note"] is None


def test_enough_images_show_invariance() -> None:
    found = cell_consistency(
        _table(("a", [52, 52, 52], [52, 52, 52]), ("b", [51, 51, 51], [51, 51, 51])), RULE
    )
    assert found["verdict"].to_list() == ["invariant", "inconclusive"]
    assert found["invariant"].to_list() == [True, True]
    assert found["note"].to_list() == ["degenerate", "degenerate"]
    assert found["q"].to_list() == [None, None]


def test_small_expected_counts_use_the_conditional_p() -> None:
    # 129 of 130 images have the label; smallest expected count 20 / 130. See test_exact.
    found = cell_consistency(_table(("a", [19, 50, 60], [20, 50, 60])), RULE).row(0, named=True)
    assert found["p_exact"] == found["q"] == pytest.approx(20 / 130)
    assert found["p"] == pytest.approx(0.0626, abs=1e-4)  # the paper's p stays asymptotic
    assert found["invariant"] is True


def test_an_expected_count_of_five_is_enough() -> None:
    # 10 of 40 images, 5 expected in each condition
    found = cell_consistency(_table(("a", [3, 7, None], [20, 20, None])), RULE)
    assert found["p_exact"].to_list() == [None]
    # 9 of 40, 4.5 expected
    found = cell_consistency(_table(("a", [2, 7, None], [20, 20, None])), RULE)
    assert found["p_exact"].is_not_null().all()


def test_conditions_that_are_absent() -> None:
    found = cell_consistency(
        _table(
            ("one", [9, None, None], [30, None, None]),
            ("two", [9, None, 60], [30, 0, 80]),
            ("none", [None, 0, None], [None, 0, None]),
        ),
        RULE,
    )
    assert found["note"].to_list() == [
        "one_condition",
        "two_conditions",
        "no_condition;unsupported",
    ]
    assert found["prevalence_pct"].to_list() == pytest.approx([30.0, 100 * 69 / 110, None])
    for column in ("range_pp", "chi2", "p", "q", "equivalence_p", "invariant", "verdict", "df"):
        assert found[column].is_null().to_list() == [True, False, True], column
    assert found["df"].to_list() == [None, 1, None]
    assert found["verdict"][1] == "shifted"
    assert found["ccs"].to_list() == [None, None, None]


def test_support_is_five_images() -> None:
    found = cell_consistency(
        _table(("four", [2, 1, 1], [30, 70, 80]), ("five", [2, 1, 2], [30, 70, 80])), RULE
    )
    assert found["supported"].to_list() == [False, True]
    assert found["note"].to_list() == ["unsupported", None]
    assert found["ccs"].is_null().to_list() == [True, False]
    assert found["q"].is_null().to_list() == [True, False]
    assert found["verdict"].to_list() == ["inconclusive", "inconclusive"]


def test_a_label_that_lacks_a_condition_has_no_score() -> None:
    found = cell_consistency(_table(("a", [0, 30, 30], [30, 70, 80])), RULE)
    assert found["ccs"].to_list() == [None]
    assert found["note"].to_list() == ["not_in_every_condition"]


def test_complements_count_once_and_families_are_apart() -> None:
    n: list[int | None] = [100, 100, 100]
    table = _table(("yes", [30, 40, 55], n), ("no", [70, 60, 45], n), cohort="people").vstack(
        _table(("a", [50, 55, 60], n), cohort="people", dimension="other")
    )
    found = cell_consistency(table, RULE)
    p = found["p"].to_list()
    assert p[0] == p[1]
    # two tests, not three
    assert found["q"].to_list() == pytest.approx([2 * p[0], 2 * p[0], p[2]])
    apart = table.with_columns(generator=pl.Series(["g", "g", "h"]))
    found = cell_consistency(apart, RULE, family=["generator"])
    assert found["q"].to_list() == pytest.approx(p)


def test_mean_over_generators() -> None:
    n: list[int | None] = [20, 60, 50]
    table = pl.concat(
        _table(("female", list(x), n), generator=generator)
        for generator, x in {"a": (20, 60, 50), "b": (20, 60, 48), "c": (0, 60, 50)}.items()
    )
    (row,) = mean_over_generators(cell_consistency(table, RULE)).rows(named=True)
    assert row["ccs"] == pytest.approx((100 + 128 / 1.3 / 5) / 2)
    assert row["n_generators"] == 2
    assert row["invariant_generators"] == 2
    assert row["tested_generators"] == 3


@pytest.mark.parametrize(("margin", "alpha"), [(0.0, 0.05), (100.0, 0.05), (5.0, 0.0), (5.0, 0.5)])
def test_a_rule_is_checked(margin: float, alpha: float) -> None:
    with pytest.raises(ValueError, match="must lie between"):
        Rule.of(margin, alpha)


@given(st.lists(cell_counts(), min_size=1, max_size=12), st.randoms())
def test_the_order_of_rows_does_not_matter(cells: list[Any], random: Any) -> None:
    table = _table(*((f"label {i}", *cell.tolist()) for i, cell in enumerate(cells)))
    order = list(range(len(cells)))
    random.shuffle(order)
    one = cell_consistency(table, RULE)[order]
    other = cell_consistency(table[order], RULE)
    assert one.equals(other)


@given(cell_counts())
def test_every_cell_has_at_most_one_verdict_and_a_reason_without(cell: Any) -> None:
    x, n = cell
    row = cell_consistency(_table(("a", *cell.tolist())), RULE).row(0, named=True)
    testable = (n > 0).sum() >= 2
    assert (row["verdict"] is not None) == (row["invariant"] is not None) == testable
    if not testable:
        assert row["note"]
    if row["p_exact"] is not None:
        rng = np.random.default_rng(1)
        assert row["p_exact"] == pytest.approx(exact_p(x, n, rng=rng).p)
