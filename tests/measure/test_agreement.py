"""Agreement of readings: who is compared with whom, over which images, and what is missing."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from contextbias.canonicalise.attributes import ATTRIBUTE_SCHEMA
from contextbias.measure.agreement import agreement_estimates
from contextbias.measure.rows import Run
from contextbias.schema import DIMENSIONS

RUN = Run("", "paper", "primary", "1")


def fact(
    image: str, reader: str, dimension: str, told: str | None, **fields: Any
) -> dict[str, Any]:
    """One row of the attributes; ``!reason`` for a missing one."""
    missing = told is None or told.startswith("!")
    row: dict[str, Any] = dict.fromkeys(ATTRIBUTE_SCHEMA) | {
        "image_id": image, "generator": "g", "role": "nurse", "condition": "CF",
        "prompt_id": "p1", "seed": 1, "reader": reader, "dimension": dimension,
        "cohort": DIMENSIONS[dimension].cohort, "label": None if missing else told,
        "missing_reason": (told or "!unknown").removeprefix("!") if missing else None,
    }  # fmt: skip
    return row | fields


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=ATTRIBUTE_SCHEMA)


def two(dimension: str, answers: list[tuple[str, str]], **fields: Any) -> list[dict[str, Any]]:
    """Answers of the readers a and b to one question about images i0, i1, …"""
    return [
        fact(f"i{k}", reader, dimension, told, **fields)
        for k, pair in enumerate(answers)
        for reader, told in zip("ab", pair, strict=True)
    ]


def estimates(rows: list[dict[str, Any]], repeats: pl.DataFrame | None = None) -> pl.DataFrame:
    return agreement_estimates(frame(*rows).lazy(), repeats, RUN)


def only(found: pl.DataFrame, estimand: str, **keys: Any) -> dict[str, Any]:
    rows = found.filter(pl.col("estimand") == f"agreement_{estimand}")
    for name, value in ({"reader": "a"} | keys).items():
        rows = rows.filter(pl.col(name).eq_missing(pl.lit(value)))
    (row,) = rows.to_dicts()
    return row


def test_none_of_a_list_is_an_empty_list() -> None:
    told = [("none", "!empty"), ("tie", "tie"), ("!empty", "none")]
    found = estimates(two("accessories", told, person=0))
    assert only(found, "raw")["point"] == 1
    assert only(found, "kappa")["point"] == 1
    assert only(found, "raw")["n"] == 3


def test_two_readers_side_by_side_by_hand() -> None:
    # tight/tight, tight/wide, wide/wide, wide/wide: p_o = 3/4, p_e = 1/2 * 1/4 + 1/2 * 3/4 = 1/2,
    # kappa = 1/2.
    told = [("tight", "tight"), ("tight", "wide"), ("wide", "wide"), ("wide", "wide")]
    found = estimates(two("framing", told))
    raw, kappa = only(found, "raw"), only(found, "kappa")
    assert (raw["point"], raw["n"], raw["n_missing"]) == (0.75, 4, 0)
    assert kappa["point"] == pytest.approx(0.5)
    assert (raw["reader"], raw["method"]) == ("a", "reader b")
    assert (raw["generator"], raw["condition"], raw["cohort"]) == (None, "all", "camera")


def test_each_of_two_readers_has_the_rows_of_the_pair() -> None:
    told = [("tight", "tight"), ("tight", "wide"), ("!unknown", "wide"), ("wide", "wide")]
    others = [row | {"image_id": f"x{row['image_id']}", "generator": "h"} for row in
              two("framing", told)]  # fmt: skip
    found = estimates(two("framing", told) + two("mood", [("calm", "tense")] * 4) + others)
    of_a, of_b = (
        found.filter(reader=name, method=f"reader {other}").drop("reader", "method")
        for name, other in ("ab", "ba")
    )
    assert of_a.height == found.height / 2 > 0
    assert of_a.equals(of_b)


def test_what_is_missing_is_no_disagreement_and_is_counted() -> None:
    told = [("tight", "tight"), ("tight", "!unknown"), ("!refused", "wide"), ("wide", "wide")]
    found = only(estimates(two("framing", told)), "raw")
    assert (found["point"], found["n"], found["n_missing"]) == (1.0, 2, 2)


def test_a_question_that_does_not_arise_for_either_is_not_counted() -> None:
    told = [("!not_applicable", "!not_applicable"), ("!not_applicable", "rain"), ("rain", "rain")]
    found = only(estimates(two("weather", told)), "raw")
    assert (found["n"], found["n_missing"]) == (1, 1)


def test_lists_are_compared_as_sets_and_an_empty_one_is_an_answer() -> None:
    rows = [
        *two("items", [("lamp", "lamp"), ("!empty", "!empty"), ("lamp", "!empty")]),
        fact("i0", "a", "items", "chair"),
    ]
    found = estimates(rows)
    # {lamp, chair} and {lamp}: 1/2; both empty: 1; {lamp} and {}: 0.
    assert only(found, "raw")["point"] == pytest.approx(0.5)
    assert only(found, "raw")["n"] == 3


def test_of_people_the_first_one_is_compared() -> None:
    rows = two("age_range", [("teen", "teen")], person=0)
    rows.append(fact("i0", "a", "age_range", "child", person=1))
    assert only(estimates(rows), "raw")["point"] == 1


def test_one_label_only_is_degenerate_and_nobody_in_common_is_not_defined() -> None:
    found = estimates(two("framing", [("wide", "wide")] * 3))
    assert only(found, "kappa")["point"] is None
    assert only(found, "kappa")["note"] == "degenerate"
    assert only(found, "raw")["point"] == 1
    none = estimates(two("framing", [("wide", "!unknown")]))
    for estimand in ("raw", "kappa"):
        row = only(none, estimand)
        assert (row["point"], row["note"], row["n"], row["n_missing"]) == (
            None, "not_defined", 0, 1,
        )  # fmt: skip


def test_what_one_cannot_read_has_no_row() -> None:
    rows = two("framing", [("wide", "wide")]) + two("mood", [("calm", "!not_readable")])
    assert set(estimates(rows)["dimension"]) == {"framing"}


def test_images_that_only_one_has_read_are_not_compared() -> None:
    rows = two("framing", [("wide", "wide")])
    rows += [fact("i9", "a", "framing", "wide"), fact("i8", "a", "framing", "wide")]
    rows.append(fact("i8", "b", "framing", "!not_read"))
    found = only(estimates(rows), "raw")
    assert (found["n"], found["n_missing"]) == (1, 0)


def test_several_generators_have_rows_of_their_own() -> None:
    first = two("framing", [("wide", "wide"), ("wide", "tight")])
    second = [row | {"image_id": f"x{row['image_id']}", "generator": "h"} for row in
              two("framing", [("tight", "tight")])]  # fmt: skip
    found = estimates(first + second)
    points = {row["generator"]: row["point"] for row in
              found.filter(estimand="agreement_raw", reader="a").to_dicts()}  # fmt: skip
    assert points == {None: pytest.approx(2 / 3), "g": 0.5, "h": 1.0}


def test_an_image_under_two_prompts_counts_once() -> None:
    rows = two("framing", [("wide", "wide"), ("wide", "tight")])
    again = [row | {"prompt_id": "p2"} for row in rows[:2]]
    assert only(estimates(rows + again), "raw")["n"] == 2


def test_repeats_are_compared_with_the_reading_that_counts_and_with_nothing_else() -> None:
    rows = two("framing", [("wide", "tight"), ("wide", "tight"), ("tight", "tight")])
    again = frame(
        fact("i0", "a", "framing", "wide"), fact("i1", "a", "framing", "tight"),
        fact("i0", "gone", "framing", "wide"),
    )  # fmt: skip
    repeats = pl.concat([again.with_columns(repeat=pl.lit(k, pl.Int64)) for k in (1, 2)])
    found = estimates(rows, repeats)
    own = only(found, "raw", method="repeat 1")
    assert (own["reader"], own["point"], own["n"]) == ("a", 0.5, 2)
    assert only(found, "raw", method="repeat 2")["n"] == 2
    assert set(found.filter(reader="a")["method"]) == {"reader b", "repeat 1", "repeat 2"}
    assert set(found.filter(reader="b")["method"]) == {"reader a"}
    assert only(found, "raw", method="reader b")["n"] == 3


def test_one_reader_alone_has_none() -> None:
    assert estimates([fact("i0", "a", "framing", "wide")]).is_empty()
    assert agreement_estimates(frame().lazy(), None, RUN).is_empty()


def test_the_order_of_rows_changes_nothing() -> None:
    rows = two("items", [("lamp", "lamp"), ("cup", "lamp"), ("!empty", "cup")])
    rows += two("framing", [("wide", "tight"), ("wide", "wide"), ("!unknown", "wide")])
    assert estimates(rows).equals(estimates(rows[::-1]))
