"""Texts as models send them, good and bad."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextbias.extract.vision.answers import is_blank_loop, parse_answer, summed_up
from contextbias.schema import empty_person, empty_record


def answer(**person: Any) -> dict[str, Any]:
    return empty_record() | {"people": [empty_person() | person]}


def test_a_good_answer_is_a_record_without_faults() -> None:
    found = parse_answer(json.dumps(answer(age_range="teen")))
    assert found.faults == []
    assert found.record is not None
    assert found.record["people"][0]["age_range"] == "teen"


@pytest.mark.parametrize(
    "around",
    ["{}", "```json\n{}\n```", "```\n{}```", "<think>a hat? {{no}}</think>\n{}", "\n  {}\t\n"],
)
def test_what_stands_around_an_answer_is_taken_away(around: str) -> None:
    text = around.replace("{{", "{").replace("}}", "}")
    text = text.replace("{}", json.dumps(answer()))
    assert parse_answer(text).record is not None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("I cannot say.", "not JSON: Expecting value at character 0, near 'I cannot say.'"),
        ('{"scene": {', "not JSON"),
        ("[1, 2]", "the record is list, not an object"),
        ("null", "the record is NoneType"),
        ("[" * 100_000, "nested too deeply"),
        ('{"camera": {}}', "record lacks scene"),
    ],
)
def test_what_is_no_answer_says_why(text: str, fault: str) -> None:
    found = parse_answer(text)
    assert found.record is None
    assert any(fault in each for each in found.faults), found.faults


def test_valid_json_off_schema_names_the_answers() -> None:
    told = answer(framing="x")
    told["camera"]["framing"] = "somewhere"
    assert parse_answer(json.dumps(told)).faults == [
        "camera.framing has the label 'somewhere', not in its vocabulary",
        "people[0] has an unknown key 'framing'",
    ]


@pytest.mark.parametrize(
    ("present", "kind", "fault"),
    [
        ("no", "sunglasses", "eyewear_present is 'no' but eyewear_type is 'sunglasses'"),
        ("yes", "none", "eyewear_present is 'yes' but eyewear_type is 'none'"),
    ],
)
def test_answers_that_contradict_each_other_are_faults(present: str, kind: str, fault: str) -> None:
    found = parse_answer(json.dumps(answer(eyewear_present=present, eyewear_type=kind)))
    assert found.record is None
    assert found.faults == [f"people[0]: {fault}"]


@given(st.text(max_size=60) | st.recursive(st.none() | st.text(max_size=5) | st.integers(),
       lambda inner: st.lists(inner, max_size=3)
       | st.dictionaries(st.sampled_from(["people", "scene", "camera", "objects", "x"]), inner),
       max_leaves=8).map(json.dumps))  # fmt: skip
def test_no_text_breaks_the_parser(text: str) -> None:
    found = parse_answer(text)
    assert (found.record is None) == bool(found.faults)


def test_blanks_without_end_are_told_from_an_answer() -> None:
    assert is_blank_loop('{"scene": ' + "\n" * 300)
    assert not is_blank_loop('{"scene": {}}\n')


def test_faults_are_summed_up_in_a_line() -> None:
    assert summed_up(["a", "b"]) == "a; b"
    assert summed_up(list("abcdefg")) == "a; b; c; d; e; and 2 more"
    assert summed_up(["a"], "no time") == "a (and asking once more failed: no time)"
