from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import places, records

from contextbias.schema import Record, check_record, empty_person, empty_record


def whole() -> Record:
    """A record with one person in which everything is unknown."""
    record = empty_record()
    record["people"] = [empty_person()]
    return record


def with_person(**answers: Any) -> Record:
    record = whole()
    record["people"][0] |= answers
    return record


def test_nothing_seen_is_valid() -> None:
    assert check_record(empty_record()) == []
    assert check_record(whole()) == []


@given(records())
def test_valid_records_pass(record: Record) -> None:
    assert check_record(record) == []


@given(records(), st.data())
def test_one_wrong_answer_is_one_fault_that_names_it(record: Record, data: st.DataObject) -> None:
    group, dim = data.draw(st.sampled_from(places(record)))
    group[dim.name] = 7 if dim.kind == "one" else "not a list"
    faults = check_record(record)
    assert any(dim.name in fault for fault in faults)


@given(records(), st.data())
def test_a_lacking_answer_is_named(record: Record, data: st.DataObject) -> None:
    group, dim = data.draw(st.sampled_from(places(record)))
    del group[dim.name]
    assert [f for f in check_record(record) if f.endswith(f"lacks {dim.name}")]


@given(records(max_people=1))
def test_checking_changes_nothing(record: Record) -> None:
    before = copy.deepcopy(record)
    check_record(record)
    assert record == before


@given(st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(
    st.sampled_from(["scene", "camera", "objects", "people", "x"]), x)))  # fmt: skip
def test_anything_else_is_a_fault_and_never_an_exception(value: object) -> None:
    assert check_record(value)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"camera": None}, "camera is not an object"),
        ({"people": {}}, "people is not a list"),
        ({"people": ["somebody"]}, "people[0] is not an object"),
        ({"sound": {}}, "record has an unknown key 'sound'"),
    ],
)
def test_shape(change: dict[str, Any], fault: str) -> None:
    assert check_record(whole() | change) == [fault]


def test_a_lacking_cohort() -> None:
    record = whole()
    del record["objects"]
    assert check_record(record) == ["record lacks objects"]


@pytest.mark.parametrize(
    ("answers", "fault"),
    [
        ({"skin_tone": "pale"}, "people[0].skin_tone has the label 'pale', not in its vocabulary"),
        ({"skin_tone": ["light"]}, "people[0].skin_tone has the label ['light'], not a word"),
        ({"skin_tone": None}, "people[0].skin_tone has the label None, not a word"),
        ({"activities": [" "]}, "people[0].activities has the label ' ', not a word"),
        ({"activities": "reading"}, "people[0].activities is not a list"),
        (
            {"accessories": ["none", "belt"]},
            "people[0].accessories has 'none' beside other labels",
        ),
        (
            {"eyewear_present": "no", "eyewear_type": "sunglasses"},
            "people[0]: eyewear_present is 'no' but eyewear_type is 'sunglasses'",
        ),
        (
            {"eyewear_present": "yes", "eyewear_type": "none"},
            "people[0]: eyewear_present is 'yes' but eyewear_type is 'none'",
        ),
        (
            {"facial_hair_present": "no", "facial_hair_style": "beard"},
            "people[0]: facial_hair_present is 'no' but facial_hair_style is 'beard'",
        ),
        (
            {"head_covering_present": "no", "head_covering_type": "hat"},
            "people[0]: head_covering_present is 'no' but head_covering_type is 'hat'",
        ),
        ({"charisma": "high"}, "people[0] has an unknown key 'charisma'"),
    ],
)
def test_each_rule_about_a_person(answers: dict[str, Any], fault: str) -> None:
    assert check_record(with_person(**answers)) == [fault]


@pytest.mark.parametrize(
    "answers",
    [
        {"eyewear_present": "no", "eyewear_type": "none"},
        {"eyewear_present": "no", "eyewear_type": "unknown"},
        {"eyewear_present": "yes", "eyewear_type": "unknown"},
        {"eyewear_present": "unknown", "eyewear_type": "none"},
        {"activities": []},
        {"accessories": ["none"]},
        {"clothing_garment": ["lab coat", "scrubs"]},
    ],
)
def test_what_is_no_contradiction(answers: dict[str, Any]) -> None:
    assert check_record(with_person(**answers)) == []


def test_not_applicable_is_for_weather_alone() -> None:
    record = whole()
    record["scene"]["weather"] = "not_applicable"
    assert check_record(record) == []
    record["scene"]["mood"] = "not_applicable"
    assert check_record(record) == [
        "scene.mood has the label 'not_applicable', not in its vocabulary"
    ]
