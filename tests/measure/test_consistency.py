"""Consistency as rows of the estimates table."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import polars as pl
import pytest

from contextbias.measure.consistency import NO_GENERATOR, consistency_estimates
from contextbias.stats.proportion import wilson
from contextbias.stats.ranges import consistency_interval, range_interval
from contextbias.tables import CONDITIONS, EstimateRow


def _counts(rows: list[tuple[str, str, str, list[int | None], list[int | None]]]) -> pl.DataFrame:
    """Rows of (generator, cohort, label, x, n) for one role; dimensions are named as cohorts."""
    found = [
        {"generator": generator, "role": "nurse", "cohort": cohort, "dimension": cohort}
        | {"label": label, "n_missing": 4}
        | {f"x_{c}": value for c, value in zip(CONDITIONS, x, strict=True)}
        | {f"n_{c}": value for c, value in zip(CONDITIONS, n, strict=True)}
        for generator, cohort, label, x, n in rows
    ]
    kinds = {f"{kind}_{c}": pl.Int64 for kind in "xn" for c in CONDITIONS}
    return pl.DataFrame(found, schema_overrides=kinds)


N: list[int | None] = [30, 70, 80]
TWO_GENERATORS = _counts(
    [
        ("g", "people", "female", [30, 70, 80], N),
        ("g", "people", "male", [0, 0, 3], N),
        ("g", "scene", "calm", [3, 35, 64], N),
        ("h", "people", "female", [28, 70, 80], N),
        ("h", "people", "male", [2, 0, 0], N),
        ("h", "scene", "calm", [15, 35, 40], N),
    ]
)


def _estimates(counts: pl.DataFrame, **changes: Any) -> pl.DataFrame:
    settings: dict[str, Any] = {"margin_pp": 5.0, "alpha": 0.05} | changes
    return consistency_estimates(
        counts, reader="reader", preset="paper", people="primary", **settings
    )


def _only(estimates: pl.DataFrame, **keys: Any) -> dict[str, Any]:
    (row,) = estimates.filter(
        pl.col(name).is_null() if value is None else pl.col(name) == value
        for name, value in keys.items()
    ).rows(named=True)
    return row


def test_columns_are_those_of_the_table() -> None:
    found = _estimates(TWO_GENERATORS)
    assert found.columns == [field.name for field in fields(EstimateRow)]
    assert found["reader"].unique().to_list() == ["reader"]
    assert found["people"].unique().to_list() == ["primary"]
    assert found["corrected"].unique().to_list() == [False]


def test_prevalence_by_condition_and_pooled() -> None:
    found = _estimates(TWO_GENERATORS).filter(estimand="prevalence")
    assert found.height == 6 * 4
    row = _only(found, generator="g", label="calm", condition="CA-U")
    expected = wilson(64, 80)
    assert (row["point"], row["low"], row["high"]) == (0.8, expected.low, expected.high)
    assert (row["n"], row["n_missing"], row["method"]) == (80, None, "wilson")
    pooled = _only(found, generator="g", label="calm", condition="all")
    assert pooled["point"] == pytest.approx(102 / 180)
    assert (pooled["n"], pooled["n_missing"]) == (180, 4)


def test_missing_images_by_condition_are_passed_on() -> None:
    more = TWO_GENERATORS.with_columns(
        pl.lit(i).alias(f"n_missing_{c}") for i, c in enumerate(CONDITIONS)
    )
    found = _estimates(more).filter(estimand="prevalence", generator="g", label="calm")
    assert found.sort("condition")["n_missing"].to_list() == [1, 2, 0, 4]  # CA-R, CA-U, CF, all


def test_numbers_of_a_cell() -> None:
    found = _estimates(TWO_GENERATORS).filter(generator="g", label="calm", condition="all")
    of = {row["estimand"]: row for row in found.rows(named=True)}
    assert set(of) == {
        "prevalence", "prevalence_unweighted", "range_pp", "range_pp_expected", "chi2", "chi2_p",
        "chi2_q", "equivalence_p", "ccs", "invariant_paper", "verdict",
    }  # fmt: skip
    assert of["range_pp"]["point"] == pytest.approx(70)
    assert of["prevalence_unweighted"]["point"] == pytest.approx((0.1 + 0.5 + 0.8) / 3)
    assert of["ccs"]["point"] == pytest.approx(100 * 102 / 180 / 71)
    assert of["invariant_paper"]["verdict"] == "false"
    assert of["verdict"]["verdict"] == "shifted"
    assert of["verdict"]["point"] is None
    assert {row["n"] for row in of.values()} == {180}
    assert {row["n_missing"] for row in of.values()} == {4}


def test_notes_say_why_a_number_is_missing() -> None:
    found = _estimates(TWO_GENERATORS)
    row = _only(found, estimand="ccs", generator="g", label="male")
    assert (row["point"], row["note"]) == (None, "unsupported")
    row = _only(found, estimand="chi2_q", generator="g", label="female")
    assert (row["point"], row["note"]) == (None, "degenerate")


def test_the_conditional_p_stands_only_where_it_is_needed() -> None:
    found = _estimates(TWO_GENERATORS).filter(estimand="chi2_p_exact")
    assert found.select("generator", "label").rows() == [("h", "female")]
    # both images without the label in CF: C(30, 2) / C(180, 2), and no table is as extreme
    assert found["point"].to_list() == pytest.approx([30 * 29 / (180 * 179)])


def test_families_are_generators() -> None:
    # in each generator the only other test is degenerate, unsupported or a complement
    alone = _estimates(TWO_GENERATORS.filter(generator="g"))
    both = _estimates(TWO_GENERATORS)
    keys = {"estimand": "chi2_q", "generator": "g", "label": "calm"}
    assert _only(alone, **keys)["point"] == _only(both, **keys)["point"]


def test_means_over_generators() -> None:
    found = _estimates(TWO_GENERATORS).filter(generator="mean")
    row = _only(found, estimand="ccs", label="female")
    # g: 100 / 1; h: 178/180 over 1 + 100 (2/30)
    assert row["point"] == pytest.approx((100 + 100 * 178 / 180 / (1 + 20 / 3)) / 2)
    assert (row["n"], row["cohort"], row["condition"]) == (2, "people", "all")
    row = _only(found, estimand="ccs", label="male")
    assert (row["point"], row["n"]) == (None, 0)
    row = _only(found, estimand="invariant_generators", label="calm")
    assert (row["point"], row["n"]) == (1.0, 2)


def test_shares_count_supported_cells() -> None:
    found = _estimates(TWO_GENERATORS)
    # g: female is inconclusive (30 images in CF), calm is shifted; male has 3 images
    row = _only(found, estimand="share_shifted", generator="g", cohort="all")
    assert (row["point"], row["n"], row["role"], row["dimension"]) == (0.5, 2, None, None)
    row = _only(found, estimand="share_shifted", generator="g", cohort="scene")
    assert (row["point"], row["n"]) == (1.0, 1)
    row = _only(found, estimand="share_invariant_paper", generator="g", cohort="people")
    assert (row["point"], row["n"]) == (1.0, 1)
    total = found.filter(
        pl.col("estimand").is_in(["share_invariant", "share_shifted", "share_inconclusive"])
    )
    by = total.group_by("generator", "cohort").agg(pl.col("point").sum())
    assert by["point"].to_list() == pytest.approx([1.0] * 6)


def test_a_share_of_nothing_is_missing() -> None:
    found = _estimates(_counts([("g", "people", "male", [1, 0, 1], N)]))
    row = _only(found, estimand="share_invariant", cohort="people")
    assert (row["point"], row["n"], row["note"]) == (None, 0, "no_supported_cell")


def test_images_of_one_condition_are_described_but_not_compared() -> None:
    nothing: list[int | None] = [9, None, None]
    found = _estimates(_counts([("g", "people", "male", nothing, [30, None, None])]))
    assert found["estimand"].unique().to_list() == ["prevalence"]
    assert sorted(found["condition"].to_list()) == ["CF", "all"]
    assert found["point"].to_list() == [0.3, 0.3]
    # the same with zeros instead of nulls: no image, and none that is missing
    zeros = _counts([("g", "people", "male", [9, 0, 0], [30, 0, 0])]).with_columns(
        pl.lit(0).alias(f"n_missing_{c}") for c in CONDITIONS
    )
    assert sorted(_estimates(zeros)["condition"].to_list()) == ["CF", "all"]


def test_images_that_could_not_be_read_stay_visible() -> None:
    counts = _counts([("g", "people", "male", [9, 0, 60], [30, 0, 80])])
    found = _estimates(
        counts.with_columns(**{"n_missing_CF": 0, "n_missing_CA-R": 4, "n_missing_CA-U": 0})
    )
    row = _only(found, estimand="prevalence", condition="CA-R")
    assert (row["point"], row["n"], row["n_missing"]) == (None, 0, 4)
    assert row["note"] == "no_image_read"


def test_no_cell_gives_no_row() -> None:
    found = _estimates(TWO_GENERATORS.head(0))
    assert found.height == 0
    assert found.columns == [field.name for field in fields(EstimateRow)]


def test_margin_and_level_are_used() -> None:
    wide = _only(
        _estimates(TWO_GENERATORS, margin_pp=75.0),
        estimand="invariant_paper", generator="g", label="calm",
    )  # fmt: skip
    assert wide["verdict"] == "false"  # the range is within 75 pp, but p is small
    wide = _only(
        _estimates(TWO_GENERATORS, margin_pp=75.0),
        estimand="verdict", generator="h", label="calm",
    )  # fmt: skip
    assert wide["verdict"] == "invariant"


def test_intervals_have_the_level_that_is_asked_for() -> None:
    found = _estimates(TWO_GENERATORS, alpha=0.2)
    keys = {"generator": "h", "label": "calm", "condition": "all"}
    row, expected = _only(found, estimand="prevalence", **keys), wilson(90, 180, confidence=0.8)
    assert (row["low"], row["high"]) == (pytest.approx(expected.low), pytest.approx(expected.high))
    x, n = [15, 35, 40], [30, 70, 80]
    for estimand, interval in (("range_pp", range_interval), ("ccs", consistency_interval)):
        row, ends = _only(found, estimand=estimand, **keys), interval(x, n, confidence=0.8)
        assert (row["low"], row["high"]) == (pytest.approx(ends.low), pytest.approx(ends.high))


def test_what_no_generator_has_is_null_with_a_note() -> None:
    one = _counts(
        [
            ("g", "people", "female", [30, 7, 0], [30, 70, 0]),
            ("g", "scene", "calm", [9, 0, 0], [30, 0, 0]),
        ]
    )
    found = _estimates(one).filter(generator="mean", label="calm")
    assert set(found["estimand"]) == {"range_pp", "ccs", "invariant_generators"}
    assert found.select("point", "n", "note").unique().rows() == [(None, 0, NO_GENERATOR)]
    tested = _only(
        _estimates(one), generator="mean", label="female", estimand="invariant_generators"
    )
    assert (tested["point"], tested["n"], tested["note"]) == (0.0, 1, None)
