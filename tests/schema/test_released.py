"""The released code's spelling of labels, and the form of its records."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.released import RECORD

from contextbias.schema import check_record
from contextbias.schema.released import record_of_released, released_label, released_spelling


@pytest.mark.parametrize(
    ("surface", "label"),
    [
        ("Tool-box", "tool_box"),
        ("  tool - box ", "tool_box"),
        ("T shirt", "t_shirt"),
        ("unknown", None),
        ("UNKNOWN", None),
        ("None", ""),
        ("NA", ""),
        ("null", ""),
        ("", ""),
        ("none", "none"),
        ("na", "na"),
    ],
)
def test_labels(surface: str, label: str | None) -> None:
    assert released_label(surface, "Flux") == label


def test_bars_are_left_out_for_one_model_only() -> None:
    assert released_label("hat|colors=white", "SDXL") is None
    assert released_label("hat|colors=white", "Qwen") == "hat|colors=white"


@given(st.text())
def test_spelling_is_idempotent(text: str) -> None:
    once = released_spelling(text)
    assert released_spelling(once) == once


def changed(**people: Any) -> dict[str, Any]:
    cohorts = copy.deepcopy(RECORD["cohorts"])
    cohorts["people"]["persons"][0].update(people)
    return dict(cohorts)


def person(**people: Any) -> dict[str, Any]:
    record, faults = record_of_released(changed(**people))
    assert faults == []
    return dict(record["people"][0])


def test_a_record_is_one_of_ours() -> None:
    record, faults = record_of_released(RECORD["cohorts"])
    assert faults + check_record(record) == []
    assert record["scene"]["weather"] == "unknown"
    assert record["objects"] == {"items": ["stethoscope"]}
    assert record["people"][0]["clothing_garment"] == ["scrubs", "cap"]
    assert record["people"][0]["clothing_color"] == ["blue", "white"]


@pytest.mark.shared
def test_the_given_record(shared: Path) -> None:
    content = json.loads((shared / "data" / "reference_record.json").read_text())
    record, faults = record_of_released(content["cohorts"])
    assert faults + check_record(record) == []
    assert record["people"][0]["gender_presentation"] == "female"
    assert record["objects"]["items"] == ["stethoscope", "scaffold", "clipboard"]


def test_lists_lose_unknown_and_repetitions() -> None:
    assert person(accessories=["badge", "unknown", "badge"])["accessories"] == ["badge"]
    assert person(accessories=["unknown"])["accessories"] == "unknown"
    assert person(accessories=[])["accessories"] == []
    assert person(accessories=["none"])["accessories"] == ["none"]
    assert person(accessories=["none", "badge"])["accessories"] == ["badge"]
    assert person(accessories="badge")["accessories"] == ["badge"]
    assert person(accessories=None)["accessories"] == "unknown"


def test_closed_labels_are_spelt_as_the_vocabulary() -> None:
    assert person(age_range="Young Adult")["age_range"] == "young_adult"
    assert person(activities=["Holding a Tray"])["activities"] == ["Holding a Tray"]


def test_garments_without_colours() -> None:
    worn = person(clothing=[{"clothing_garment": "coat"}])
    assert (worn["clothing_garment"], worn["clothing_color"]) == (["coat"], "unknown")
    bare = person(clothing=[])
    assert (bare["clothing_garment"], bare["clothing_color"]) == ([], [])


def test_what_is_left_out_is_unknown() -> None:
    record, faults = record_of_released({})
    assert faults == []
    assert record["people"] == []
    assert set(record["scene"].values()) == {"unknown"}
    record, _ = record_of_released({"people": {"persons": [{}]}})
    assert set(record["people"][0].values()) == {"unknown"}


@pytest.mark.parametrize(
    ("cohorts", "word"),
    [
        ({"camera": []}, "camera is not an object"),
        ({"people": {"persons": {}}}, "persons is not a list"),
        ({"people": {"persons": ["p"]}}, "persons is not a list"),
    ],
)
def test_what_is_no_record_is_said(cohorts: dict[str, Any], word: str) -> None:
    _, faults = record_of_released(cohorts)
    assert word in faults[0]


def test_labels_off_the_vocabulary_are_left_for_the_check() -> None:
    record, faults = record_of_released(changed(pose="leaning", gaze_direction=3))
    found = check_record(record)
    assert faults == []
    assert len(found) == 2
    assert "leaning" in " ".join(found)
