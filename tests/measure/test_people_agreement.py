"""Agreement of people as rows: levels, readers, repeats, what is undefined."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from tests.measure.answered import answer, people
from tests.measure.facts import fact, frame

from contextbias.measure import measure
from contextbias.measure.people_agreement import people_estimates
from contextbias.measure.rows import Run

RUN = Run("", "paper", "primary", "1")


def rows_of(answers: list[Any], facts: list[dict[str, Any]] | None = None) -> pl.DataFrame:
    attributes = None if facts is None else frame(facts).lazy()
    return people_estimates(people(answers), attributes, RUN, bootstrap=100)


def one(rows: pl.DataFrame, estimand: str, method: str, **keys: Any) -> dict[str, Any]:
    keys = {"dimension": None, "generator": None, "reader": "people"} | keys
    found = rows.filter(
        pl.col("estimand") == estimand,
        pl.col("method") == method,
        *(pl.col(name).eq_missing(pl.lit(value)) for name, value in keys.items()),
    )
    assert found.height == 1, found
    return found.to_dicts()[0]


def three(item: str, *said: str, **fields: Any) -> list[Any]:
    return [answer(who, item, label, **fields) for who, label in zip("abc", said, strict=True)]


def test_people_with_one_another() -> None:
    rows = rows_of(
        [
            *three("i1", "calm", "calm", "calm"),
            *three("i2", "tense", "tense", "calm"),
            *three("i3", "tense", "unknown", "tense"),
        ]
    )
    raw = one(rows, "agreement_raw", "image", dimension="mood")
    assert raw["point"] == pytest.approx((1 + 1 / 3 + 1) / 3)
    assert (raw["n"], raw["n_missing"], raw["cohort"]) == (3, 1, "scene")
    # a and b: calm calm, tense tense: 1. a and c: calm calm, tense calm, tense tense: p_o = 2/3,
    # p_e = 1/3 * 2/3 + 2/3 * 1/3 = 4/9: .4. b and c: calm calm, tense calm: p_o = 1/2 = p_e: 0.
    mean = one(rows, "agreement_cohen_mean", "image", dimension="mood")
    assert mean["point"] == pytest.approx((1 + 0.4 + 0) / 3)
    for dimension in (None, "mood"):
        pair = one(rows, "agreement_kappa", "image: a with c", dimension=dimension)
        assert (pair["point"], pair["n"]) == (pytest.approx(0.4), 3)
    fleiss = one(rows, "agreement_fleiss", "image", dimension="mood")
    assert fleiss["low"] <= fleiss["point"] <= fleiss["high"]


def test_all_questions_as_one_and_the_mean_of_questions() -> None:
    moods = [*three("i1", "calm", "calm", "tense"), *three("i2", "tense", "tense", "calm")]
    expressions = [
        *three("i1", "neutral", "neutral", "neutral", dimension="expression"),
        *three("i2", "happy_smile", "happy_smile", "happy_smile", dimension="expression"),
    ]
    rows = rows_of(moods + expressions)
    whole = one(rows, "agreement_raw", "image")
    assert (whole["point"], whole["n"], whole["cohort"]) == (pytest.approx(2 / 3), 4, "all")
    each = [
        one(rows, "agreement_fleiss", "image", dimension=name)["point"]
        for name in ("mood", "expression")
    ]
    mean = one(rows, "agreement_fleiss", "image, mean over dimensions")
    assert mean["point"] == pytest.approx(sum(each) / 2)
    assert mean["n"] == 2
    # By chance few answers are equal among all questions, so that kappa is larger than its mean.
    assert one(rows, "agreement_fleiss", "image")["point"] > mean["point"]


def lists(item: str, *said: list[str] | str) -> list[Any]:
    return [
        answer(who, item, each, dimension="dominant_colors")
        for who, each in zip("abc", said, strict=False)
    ]


def test_lists_of_people_are_compared_as_those_of_a_reader() -> None:
    said = [["red", "blue"], ["red"]], [["red"], ["red"]], [["blue"], ["green"]], ["empty"] * 2
    answers = [one for k, pair in enumerate(said) for one in lists(f"i{k}", *pair)]
    rows = rows_of(answers)
    keys = {"dimension": "dominant_colors"}
    # Jaccard: 1/2, 1, 0, 1.
    assert one(rows, "agreement_raw", "image", **keys)["point"] == pytest.approx(2.5 / 4)
    assert one(rows, "agreement_raw", "image")["point"] == pytest.approx(2.5 / 4)
    # Labels that one alone gave: 1, 0, 2, 0: A = 3/4. Shares of a: red, blue 1/2, empty 1/4; of b:
    # red 1/2, green, empty 1/4. B = 1/2 (red) + 1/2 (blue) + 1/4 (green) + 3/8 (empty) = 13/8.
    for method, name in (("image: a with b", "kappa"), ("image", "cohen_mean")):
        kappa = one(rows, f"agreement_{name}", method, **keys)
        assert kappa["point"] == pytest.approx(1 - (3 / 4) / (13 / 8))
    # A list is one answer: two of four pairs are the same. Of eight answers red 3, nothing 2, and
    # blue with red, blue and green 1 each: E = (9 + 4 + 3) / 64 = 1/4, (1/2 - 1/4) / (1 - 1/4).
    assert one(rows, "agreement_fleiss", "image", **keys)["point"] == pytest.approx(1 / 3)

    # What b says, said by a reader: the same numbers.
    alone = [each for each in answers if each.annotator == "a"]
    facts = [
        fact(f"i{k}", "dominant_colors", label)
        for k, (_, second) in enumerate(said)
        for label in ([second] if isinstance(second, str) else second)
    ]
    beside = rows_of(alone, facts)
    for name in ("raw", "kappa"):
        method = "image" if name == "raw" else "image: a with b"
        ours = one(rows, f"agreement_{name}", method, **keys)
        theirs = one(beside, f"agreement_{name}", "people image", reader="r", **keys)
        assert theirs["point"] == pytest.approx(ours["point"])


def test_raw_agreement_of_lists_is_a_mean_over_pairs() -> None:
    answers = lists("i1", ["red", "blue"], ["red"], ["green"])
    answers += [answer(who, "i2", "calm") for who in "abc"] + lists("i3", ["red"])
    rows = rows_of(answers)
    raw = one(rows, "agreement_raw", "image", dimension="dominant_colors")
    assert (raw["point"], raw["n"]) == (pytest.approx((1 / 2 + 0 + 0) / 3), 1)
    assert one(rows, "agreement_raw", "image")["point"] == pytest.approx((1 / 6 + 1) / 2)


def test_lists_that_come_twice_are_compared_as_sets() -> None:
    first = lists("i1", ["red", "blue"])
    again = answer("a", "i1", ["red"], dimension="dominant_colors", repeat=1)
    assert one(rows_of([*first, again]), "agreement_raw", "image: a again")["point"] == 0.5


def test_everybody_gives_one_label() -> None:
    rows = rows_of([*three("i1", "calm", "calm", "calm"), *three("i2", "calm", "calm", "calm")])
    assert one(rows, "agreement_raw", "image", dimension="mood")["point"] == 1
    assert one(rows, "agreement_ac1", "image", dimension="mood")["point"] == 1
    for name in ("agreement_fleiss", "agreement_krippendorff", "agreement_cohen_mean"):
        row = one(rows, name, "image", dimension="mood")
        assert row["point"] is None
        assert row["note"] == "degenerate"
    assert rows.filter(pl.col("method").str.contains("mean over"))["estimand"].to_list() == [
        "agreement_raw",
        "agreement_ac1",
    ]


def test_the_same_person_again() -> None:
    rows = rows_of(
        [
            answer("a", "i1", "calm"),
            answer("a", "i2", "tense"),
            answer("a", "i1", "calm", repeat=1),
            answer("a", "i2", "calm", repeat=1),
            answer("b", "i3", "calm", repeat=1),
        ]
    )
    again = one(rows, "agreement_raw", "image: a again")
    assert (again["point"], again["n"]) == (0.5, 2)
    assert rows.filter(pl.col("method") == "image: b again").is_empty()


def test_people_with_a_reader_by_picture() -> None:
    answers = [
        *three("i1", "calm", "calm", "tense"),
        *three("i2", "tense", "tense", "tense"),
        *three("i3", "unknown", "unknown", "unknown"),
        *three("i4", "calm", "calm", "calm"),
        *three("i5", "calm", "calm", "calm"),
    ]
    facts = [
        fact("i1", "mood", "calm"),
        fact("i2", "mood", "calm"),
        fact("i3", "mood", "tense"),
        fact("i4", "mood", "unknown"),
        fact("i5", "mood", "not_read"),
        fact("i1", "mood", "tense", reader="s"),
        fact("i1", "framing", "not_readable"),
    ]
    rows = rows_of(answers, facts)
    raw = one(rows, "agreement_raw", "people image", reader="r", dimension="mood")
    assert (raw["point"], raw["n"], raw["n_missing"]) == (0.5, 2, 3)
    assert one(rows, "agreement_raw", "people image", reader="s", dimension="mood")["n"] == 1
    assert rows.filter(pl.col("dimension") == "framing").is_empty()


def test_what_does_not_arise_for_both_is_not_missing() -> None:
    answers = [*three("i1", *["no_person"] * 3, dimension="pose")]
    answers += [*three("i2", *["standing"] * 3, dimension="pose")]
    facts = [fact("i1", "pose", "no_person", person=None), fact("i2", "pose", "standing")]
    raw = one(rows_of(answers, facts), "agreement_raw", "people image", reader="r",
              dimension="pose")  # fmt: skip
    assert (raw["point"], raw["n"], raw["n_missing"]) == (1, 1, 0)


def test_people_with_a_reader_by_set() -> None:
    answers = three("s", "calm", "calm", "tense", count=6)
    most = [fact(f"s-{k}", "mood", "calm" if k < 6 else "tense") for k in range(10)]
    tied = [fact(f"s-{k}", "mood", "calm" if k < 5 else "tense") for k in range(10)]
    for facts, expected in ((most, 1.0), (tied, 0.5)):
        rows = rows_of(answers, facts)
        raw = one(rows, "agreement_raw", "people set", reader="r", dimension="mood")
        assert raw["point"] == expected  # of two labels that tie, each is half right


@pytest.mark.parametrize("nothing", ["empty", "none"])
def test_a_reader_that_sees_nothing_agrees_with_people_who_see_none(nothing: str) -> None:
    answers = [
        *three("s", *["none"] * 3, dimension="accessories", count=9),
        *three("i", *["none"] * 3, dimension="accessories"),
    ]
    facts = [fact(name, "accessories", nothing) for name in ["i", *(f"s-{k}" for k in range(10))]]
    rows = rows_of(answers, facts)
    for kind in ("set", "image"):
        raw = one(rows, "agreement_raw", f"people {kind}", reader="r", dimension="accessories")
        assert (raw["point"], raw["n"]) == (1, 1)


def test_each_generator_where_there_are_several() -> None:
    answers = three("i1", "calm", "calm", "calm")
    answers += three("i2", "tense", "tense", "tense", generator="h")
    facts = [fact("i1", "mood", "calm"), fact("i2", "mood", "calm", generator="h")]
    rows = rows_of(answers, facts)
    points = {
        name: one(rows, "agreement_raw", "people image", reader="r", dimension="mood",
                  generator=name)["point"]
        for name in (None, "g", "h")
    }  # fmt: skip
    assert points == {None: 0.5, "g": 1, "h": 0}


def test_simulated_people_are_named_as_such() -> None:
    rows = rows_of([answer(who, "i1", "calm", annotator_kind="simulated") for who in "ab"])
    assert set(rows.filter(pl.col("point").is_not_null())["note"]) == {"simulated_people"}


def test_measure_without_people_has_no_row_of_theirs() -> None:
    facts = [fact(f"i{k}", "mood", "calm") for k in range(3)]
    for judged in (None, people([])):
        rows = measure(frame(facts), bootstrap=0, judged=judged)
        assert not rows["estimand"].str.starts_with("agreement").any()
        assert not rows["corrected"].any()


def test_measure_with_people_gives_the_same_rows_in_any_order() -> None:
    answers = [
        answer(who, f"i{k}", "calm" if k % 3 else "tense") for who in "ab" for k in range(30)
    ]
    facts = [fact(f"i{k}", "mood", "calm" if k % 2 else "tense") for k in range(60)]
    first = measure(frame(facts), bootstrap=20, judged=people(answers))
    again = measure(frame(facts[::-1]), bootstrap=20, judged=people(answers[::-1]))
    assert first.equals(again)
    assert first["corrected"].any()
