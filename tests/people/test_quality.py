from __future__ import annotations

from typing import Any

import pytest

from contextbias.annotation_tables import (
    GOLD,
    SAMPLE,
    SET,
    AnnotationItemRow,
    AnnotationPlanRow,
    LabelRow,
)
from contextbias.config import AnnotateSection
from contextbias.people import Rules, excluded, qualities


def label(item: str = "i", dimension: str = "mood", **fields: Any) -> LabelRow:
    values: dict[str, Any] = {
        "annotator": "a1",
        "annotator_kind": "person",
        "item": item,
        "kind": SET,
        "purpose": SAMPLE,
        "repeat": 0,
        "generator": "g",
        "role": "r",
        "condition": "CF",
        "image_ids": ("x",),
        "dimension": dimension,
        "labels": ("calm",),
        "missing_reason": None,
        "count": 5,
        "version": 1,
        "seconds": 4.0,
        "created_at": "",
        "probability": 0.5,
        "weight": 2.0,
    }
    return LabelRow(**(values | fields))


def gold(item: str, known: dict[str, Any]) -> AnnotationItemRow:
    return AnnotationItemRow(
        item=item,
        plan="p",
        kind=SET,
        purpose=GOLD,
        generator="g",
        role="r",
        condition="CF",
        image_ids=("x",),
        probability=None,
        cell_images=1,
        cell_drawn=1,
        gold=known,
        created_at="",
    )


def quality(rows: list[LabelRow], items: list[AnnotationItemRow] | None = None, **rules: float):  # type: ignore[no-untyped-def]
    (found,) = qualities({"a1": rows}, items or [], Rules(**rules))
    return found


def test_time_and_unknown_of_the_sample_alone() -> None:
    rows = [label(f"i{n}", seconds=s) for n, s in enumerate((1.0, 2.0, 9.0))]
    rows += [
        label("i3", labels=(), missing_reason="unknown", count=None, seconds=3.0),
        label("i4", labels=(), missing_reason="not_applicable", count=None, seconds=4.0),
        label("g", purpose=GOLD, seconds=99.0),
        label("i0", repeat=1, seconds=99.0),
    ]
    found = quality(rows)
    assert found.answers == 5
    assert found.median_seconds == 3.0  # of 1, 2, 3, 4, 9
    assert found.unknown_share == 0.2  # not applicable is an answer
    assert found.repeats_equal == 1.0
    assert found.gold_right is None  # nothing is known about g


def test_gold_answers_right_and_near() -> None:
    items = [
        gold("g0", {"mood": {"labels": ["calm", "tense"], "count": 4}}),
        gold("g1", {"mood": {"labels": ["unknown"], "count": None}}),
        gold("g2", {"mood": {"labels": ["joyful"], "count": 9}}),
    ]
    rows = [
        label("g0", purpose=GOLD, labels=("tense",), count=7),  # right, but 3 off
        label("g1", purpose=GOLD, labels=(), missing_reason="unknown", count=None),
        label("g2", purpose=GOLD, labels=("calm",)),
        label("g2", "pose", purpose=GOLD, labels=("standing",)),  # nothing known
    ]
    found = quality(rows, items)
    assert found.gold_answers == 3
    assert found.gold_right == pytest.approx(2 / 3)
    assert found.gold_counts_near == 0.0


def test_repeats_compare_labels_and_reasons() -> None:
    rows = [label(f"i{n}") for n in range(4)]
    rows += [
        label("i0", repeat=1),
        label("i1", repeat=1, labels=("tense",)),
        label("i2", repeat=1, labels=(), missing_reason="unknown"),
        label("i9", repeat=1),  # the first time was skipped
    ]
    found = quality(rows)
    assert (found.repeated, found.repeats_equal) == (3, pytest.approx(1 / 3))


def test_each_rule_excludes_and_says_why() -> None:
    fast = [label(f"i{n}", seconds=0.4) for n in range(5)]
    found = quality(fast, faster_than=1.0)
    assert excluded([found]) == {"a1": ("median of 0.4 s an answer, below 1 s",)}
    unknown = [label(f"i{n}", labels=(), missing_reason="unknown") for n in range(5)]
    assert "100% unknown, above 50%" in quality(unknown, unknown_above=0.5).breaks
    items = [gold(f"g{n}", {"mood": {"labels": ["tense"], "count": 3}}) for n in range(5)]
    wrong = [label(f"g{n}", purpose=GOLD) for n in range(5)]
    assert "0% of gold items right, below 50%" in quality(wrong, items, gold_below=0.5).breaks
    fickle = [label(f"i{n}", repeat=r, labels=(str(r),)) for n in range(5) for r in (0, 1)]
    assert "0% the same when asked again, below 40%" in quality(fickle, repeats_below=0.4).breaks


def test_a_few_answers_exclude_nobody_and_none_is_no_fault() -> None:
    strict = {"faster_than": 9.0, "unknown_above": 0.0, "gold_below": 1.0, "repeats_below": 1.0}
    rows = [label(f"i{n}", labels=(), missing_reason="unknown") for n in range(4)]
    assert quality(rows, **strict).breaks == ()
    assert quality([], **strict).breaks == ()
    imported = [label(f"i{n}", seconds=0.0) for n in range(9)]  # no times are known
    assert quality(imported, faster_than=9.0).median_seconds is None
    assert quality(imported, faster_than=9.0).breaks == ()


def test_the_rules_are_those_of_the_plan() -> None:
    section = AnnotateSection(exclude_faster_than=2.5, exclude_gold_below=0.7)
    plan = AnnotationPlanRow(
        plan="p",
        settings={"annotate": section.model_dump(mode="json")},
        population=1,
        created_at="",
    )
    assert Rules.declared(plan) == Rules(2.5, 0.5, 0.7, 0.4)
    assert Rules.declared(None) == Rules(0.0, 1.0, 0.0, 0.0)
