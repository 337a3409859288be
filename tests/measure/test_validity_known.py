"""Known prompts as estimates: right by construction, missing counted, groups compared."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from contextbias.measure.rows import Run, Settings
from contextbias.measure.validity_known import KNOWN_SCHEMA, known_estimates
from contextbias.stats.labelled import clustered_wilson

RUN = Run("", "paper", "primary", "1")


def row(image: str, label: str, read: list[str] | None, **other: Any) -> dict[str, Any]:
    values = {
        "reader": "r", "generator": "g", "role": "nurse", "condition": "CF",
        "prompt_id": f"{other.get('role', '')}{label}{other.get('present', True)}",
        "image_id": image, "dimension": "gender_presentation", "label": label, "present": True,
        "read": read, "reason": None if read is not None else "unknown", "shown": False,
        "truth": None, "gender_presentation": None, "skin_tone": None,
    }  # fmt: skip
    return values | other


def estimates(rows: list[dict[str, Any]], bootstrap: int = 50) -> pl.DataFrame:
    known = pl.DataFrame(rows, schema=KNOWN_SCHEMA)
    return known_estimates(known, RUN, Settings(bootstrap=bootstrap))


def one(frame: pl.DataFrame, estimand: str, **keys: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "generator": "g", "role": None, "condition": "all", "cohort": "all", "dimension": None,
        "label": None,
    } | keys  # fmt: skip
    rows = frame.filter(
        pl.col("estimand") == estimand, *(pl.col(k).eq_missing(v) for k, v in plain.items())
    )
    return rows.row(0, named=True) if rows.height == 1 else _fail(rows)


def _fail(rows: pl.DataFrame) -> dict[str, Any]:
    raise AssertionError(f"{rows.height} rows: {rows}")


PRESENTATION = [
    *(row(f"f{k}", "female", ["female"]) for k in range(7)),
    *(row(f"f{k}", "female", ["male"]) for k in range(7, 9)),
    row("f9", "female", ["nonbinary"]),  # a label that no prompt names: a miss, no false alarm
    *(row(f"m{k}", "male", ["male"]) for k in range(4)),
    row("m4", "male", ["female"]),
    row("m5", "male", None),
]


def test_counts_by_hand() -> None:
    found = estimates(PRESENTATION)
    accuracy = one(found, "known_accuracy")
    assert (accuracy["point"], accuracy["n"], accuracy["n_missing"]) == (11 / 15, 15, 1)
    # TP 11, FN 4, FP 3 (two read as male, one as female).
    assert one(found, "known_recall", method="wilson-clustered")["point"] == pytest.approx(11 / 15)
    assert one(found, "known_precision", method="wilson-clustered")["point"] == 11 / 14
    assert one(found, "known_f1", method="prompt-bootstrap")["point"] == pytest.approx(22 / 29)
    published = one(found, "known_f1", method="published")
    assert published["point"] == pytest.approx(2 * (11 / 15) / (1 + 11 / 15))
    female = one(found, "known_recall", cohort="people", dimension="gender_presentation",
                 label="female")  # fmt: skip
    assert (female["point"], female["note"]) == (0.7, "one_prompt")


def test_confusion_with_what_is_missing() -> None:
    found = estimates(PRESENTATION).filter(pl.col("estimand") == "known_read_as")
    shares = {(label, how): point for label, how, point in
              found.select("label", "method", "point").iter_rows()}  # fmt: skip
    assert shares["female", "read as male"] == 0.2
    assert shares["male", "read as missing: unknown"] == pytest.approx(1 / 6)
    assert sum(p for (label, _), p in shares.items() if label == "male") == pytest.approx(1)


def accessory(image: str, read: list[str], *, present: bool) -> dict[str, Any]:
    return row(image, "mask", read, dimension="accessories", present=present)


def test_of_lists_absence_is_the_negative() -> None:
    rows = [
        *(accessory(f"y{k}", ["mask", "watch"], present=True) for k in range(6)),
        *(accessory(f"y{k}", ["none"], present=True) for k in range(6, 8)),
        *(accessory(f"n{k}", ["watch"], present=False) for k in range(5)),
        accessory("n5", [], present=False),
        *(accessory(f"n{k}", ["mask"], present=False) for k in range(6, 8)),
    ]
    found = estimates(rows)
    assert one(found, "known_accuracy")["point"] == 12 / 16
    assert one(found, "known_precision", method="wilson-clustered")["point"] == 6 / 8
    assert one(found, "known_recall", method="wilson-clustered")["point"] == 6 / 8
    # F1 as published knows only the prompts that name a presence.
    assert one(found, "known_f1", method="published")["n"] == 8


def test_drawing_and_reading_stand_apart() -> None:
    rows = [
        *(row(f"a{k}", "female", ["female"], shown=True, truth=["female"]) for k in range(6)),
        row("b0", "female", ["male"], shown=True, truth=["female"]),  # misread
        row("c0", "female", ["male"], shown=True, truth=["male"]),  # did not comply
        row("d0", "female", ["female"], shown=True, truth=["male"]),  # two errors: right by luck
        row("e0", "female", ["female"], shown=True, truth=None),  # the picture does not tell
    ]
    found = estimates(rows)
    assert one(found, "known_accuracy")["point"] == 0.8
    assert one(found, "known_compliance")["point"] == 0.7
    assert one(found, "known_reader_accuracy")["point"] == 0.7
    without = estimates([row("x", "female", ["female"])])
    assert not without["estimand"].is_in(["known_compliance", "known_reader_accuracy"]).any()


def test_what_a_reader_cannot_read_is_no_part_of_it() -> None:
    rows = [row("a", "female", None, reason="not_readable"), row("b", "standing", ["standing"],
            dimension="pose")]  # fmt: skip
    assert set(estimates(rows)["dimension"].drop_nulls()) == {"pose"}
    assert estimates(rows[:1]).is_empty()


def test_nobody_answered() -> None:
    found = estimates([row(f"a{k}", "female", None) for k in range(4)])
    accuracy = one(found, "known_accuracy")
    assert (accuracy["point"], accuracy["n"], accuracy["n_missing"]) == (None, 0, 4)
    assert accuracy["note"] == "not_defined"


def test_macro_means_weigh_dimensions_alike() -> None:
    rows = [
        *(row(f"a{k}", "female", ["female"]) for k in range(30)),
        *(row(f"b{k}", "standing", [y], dimension="pose") for k, y in
          enumerate(["standing", "sitting"])),
    ]  # fmt: skip
    found = estimates(rows)
    macro = one(found, "known_recall", method="macro-dimensions")
    assert (macro["point"], macro["n"]) == (0.75, 2)


def grouped(errors: dict[str, float]) -> pl.DataFrame:
    """20 prompts of each role, 10 images; the same labels of four dimensions."""
    rows = []
    for role, rate in errors.items():
        for p in range(20):
            for k in range(10):
                wrong = k < round(10 * rate) + (p % 2)
                rows.append(
                    row(f"{role}{p}-{k}", "male", ["female" if wrong else "male"], role=role,
                        prompt_id=f"{role}-{p}", gender_presentation="female" if k % 2 else "male",
                        skin_tone="light")
                )  # fmt: skip
    return estimates(rows, bootstrap=500)


def p_of(found: pl.DataFrame, by: str) -> dict[str, Any]:
    rows = found.filter(pl.col("estimand") == "known_errors_p", pl.col("method") == f"by {by}")
    return rows.row(0, named=True)


def test_a_role_with_more_errors_is_found() -> None:
    differ = grouped({"nurse": 0.1, "welder": 0.5})
    assert p_of(differ, "role")["point"] < 0.01
    assert p_of(grouped({"nurse": 0.2, "welder": 0.2}), "role")["point"] > 0.2
    adjusted = differ.filter(pl.col("estimand") == "known_errors_q", pl.col("method") == "by role")
    # Of five comparisons one can be made: the others have one group, or name the dimension itself.
    assert adjusted["point"][0] == p_of(differ, "role")["point"]
    for by in ("condition", "generator", "gender_presentation", "skin_tone"):
        assert p_of(differ, by)["note"] == "not_defined"


def test_people_who_appear_otherwise_are_compared_inside_prompts() -> None:
    rows = [
        row(f"{p}-{k}", "sitting", ["standing" if k < 5 else "sitting"], dimension="pose",
            prompt_id=f"p{p}", gender_presentation="female" if k < 6 else "male")
        for p in range(10) for k in range(10)
    ]  # fmt: skip
    found = estimates(rows, bootstrap=500)
    assert p_of(found, "gender_presentation")["point"] < 0.01
    shares = found.filter(pl.col("estimand") == "known_accuracy_by_gender_presentation")
    assert dict(shares.select("label", "point").iter_rows()) == {
        "female": pytest.approx(1 / 6), "male": 1.0
    }  # fmt: skip


def test_several_generators_have_rows_together_and_alone() -> None:
    rows = [row("a", "male", ["male"]), row("b", "male", ["female"], generator="h")]
    found = estimates(rows)
    points = {g: one(found, "known_accuracy", generator=g)["point"] for g in (None, "g", "h")}
    assert points == {None: 0.5, "g": 1.0, "h": 0.0}


def test_precision_and_recall_have_the_interval_of_a_share() -> None:
    # Of male: TP 1 of 3 in prompt a and 3 of 3 in prompt b; c and d ask for female, and one of
    # their pictures is read as male.
    said = {
        "a": ("male", ["male", "female", "female"]), "b": ("male", ["male"] * 3),
        "c": ("female", ["female"] * 3), "d": ("female", ["male", "female", "female"]),
    }  # fmt: skip
    rows = [
        row(f"{prompt}{k}", label, [read], prompt_id=prompt)
        for prompt, (label, reads) in said.items()
        for k, read in enumerate(reads)
    ]
    found = estimates(rows, bootstrap=0)
    # TP by prompt 1, 3, 3, 2; FN 2, 0, 0, 1; FP, a label that another prompt names, the same.
    expected = clustered_wilson([1, 3, 3, 2], [3, 3, 3, 3])
    for name in ("known_recall", "known_precision"):
        score = one(found, name, method="wilson-clustered")
        ends = [score[end] for end in ("point", "low", "high")]
        assert ends == pytest.approx([expected.point, expected.low, expected.high])
    # Without an error there is an interval, too: as many images as prompts.
    right = estimates([row(p, p, [p]) for p in ("male", "female")], bootstrap=50)
    recall = one(right, "known_recall", method="wilson-clustered")
    score = one(right, "known_f1", method="prompt-bootstrap")
    assert (recall["point"], recall["high"], recall["note"]) == (1.0, 1.0, None)
    assert recall["low"] == pytest.approx(clustered_wilson([1, 1], [1, 1]).low)
    assert (score["low"], score["note"]) == (None, "degenerate")


def test_without_replicates_there_are_points_alone() -> None:
    found = estimates(PRESENTATION, bootstrap=0)
    scores = found.filter(pl.col("method") == "prompt-bootstrap")
    assert set(scores["estimand"]) == {"known_f1"}
    assert scores["low"].null_count() == scores.height
    assert p_of(found, "role")["point"] is None
    assert one(found, "known_accuracy")["low"] is not None
