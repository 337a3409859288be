"""Counted answers under both label rules."""

from __future__ import annotations

import random

from tests.rows import frequency

from contextbias.canonicalise import LabelMapping
from contextbias.canonicalise.frequencies import LABEL_COUNT_SCHEMA, label_counts
from contextbias.schema import DIMENSIONS

MAPPING = LabelMapping({"items": {"tool box": "toolbox"}})


def test_both_spellings_and_the_reason_where_there_is_no_label() -> None:
    counts = (
        ("objects", "items", "Tool-Box", 2),
        ("objects", "items", "None", 1),
        ("objects", "items", "none", 1),
        ("objects", "items", "null", 1),
        ("objects", "items", "Unknown", 1),
        ("objects", "items", "not visible", 1),
        ("objects", "items", "Nothing", 1),
        ("people", "age_range", "Young Adult", 3),
        ("scene_appearance", "weather", "not_applicable", 4),
        ("scene_appearance", "weather", "None", 1),
    )
    found = label_counts([frequency(counts=counts)], MAPPING)
    seen = {
        (row["dimension"], row["surface"]): (
            row["label"],
            row["missing_reason"],
            row["released_label"],
        )
        for row in found.iter_rows(named=True)
    }
    assert seen == {
        ("items", "Tool-Box"): ("toolbox", None, "tool_box"),
        ("items", "None"): (None, "empty", ""),
        ("items", "none"): (None, "empty", "none"),
        ("items", "null"): (None, "unknown", ""),
        ("items", "Unknown"): (None, "unknown", None),
        ("items", "not visible"): (None, "unknown", "not_visible"),
        ("items", "Nothing"): (None, "empty", "nothing"),
        ("age_range", "Young Adult"): ("young_adult", None, "young_adult"),
        ("weather", "not_applicable"): (None, "not_applicable", "not_applicable"),
        ("weather", "None"): ("none", None, ""),
    }
    assert found.schema == LABEL_COUNT_SCHEMA
    assert set(found["cohort"]) == {"scene", "objects", "people"}


def test_images_are_those_of_the_file_or_the_largest_sum() -> None:
    counts = (
        ("scene_appearance", "mood", "calm", 4),
        ("scene_appearance", "mood", "unknown", 3),
        ("camera", "framing", "wide", 6),
        ("people", "pose", "standing", 9),
        ("people", "pose", "sitting", 9),
    )
    assert label_counts([frequency(images=8, counts=counts)], MAPPING)["images"][0] == 8
    # 4 + 3 images answer for the mood; 9 of a single answer show that there are 9.
    assert label_counts([frequency(images=None, counts=counts)], MAPPING)["images"][0] == 9


def test_questions_of_another_codebook_are_left_out() -> None:
    counts = (("people", "shoe_size", "42", 3),)
    assert label_counts([frequency(counts=counts)], MAPPING).is_empty()
    assert label_counts([], MAPPING).schema == LABEL_COUNT_SCHEMA


def test_order_does_not_matter() -> None:
    rng = random.Random(2)
    rows = [
        frequency(
            frequency_id=str(number),
            role=rng.choice("ab"),
            prompt_id=str(number),
            counts=tuple(
                (dimension.cohort, name, f"label {rng.randint(0, 3)}", rng.randint(1, 5))
                for name, dimension in DIMENSIONS.items()
            ),
        )
        for number in range(12)
    ]
    first = label_counts(rows, MAPPING)
    rng.shuffle(rows)
    assert label_counts(rows, MAPPING).equals(first)
