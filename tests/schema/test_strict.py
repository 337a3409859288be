"""The schema that decoders are given, and answers in its form as records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from tests.strategies import records

from contextbias.schema import COHORTS, DIMENSIONS, UNKNOWN, check_record
from contextbias.schema.records import NOT_APPLICABLE
from contextbias.schema.strict import record_of_answer, strict_schema


def parts(schema: dict[str, Any], depth: int = 1) -> Iterator[tuple[int, dict[str, Any]]]:
    yield depth, schema
    for inner in schema.get("properties", {}).values():
        yield from parts(inner, depth + 1)
    if "items" in schema:
        yield from parts(schema["items"], depth + 1)


def test_it_keeps_to_what_strict_modes_take() -> None:
    found = list(parts(strict_schema()))
    objects = [part for _, part in found if part["type"] == "object"]
    assert all(part["additionalProperties"] is False for part in objects)
    assert all(part["required"] == list(part["properties"]) for part in objects)
    taken = {"type", "properties", "required", "additionalProperties", "items", "maxItems",
             "enum", "pattern"}  # fmt: skip
    assert {key for _, part in found for key in part} <= taken
    assert max(depth for depth, _ in found) == 5
    assert sum(len(part.get("properties", {})) for _, part in found) == 35
    assert sum(len(part.get("enum", [])) for _, part in found) == 247


def test_every_list_and_every_open_word_is_bounded() -> None:
    for _, part in parts(strict_schema(people=3)):
        if part["type"] == "array":
            assert 1 <= part["maxItems"] <= 15
        if part["type"] == "string":
            assert ("enum" in part) != ("pattern" in part)
    assert strict_schema(people=3)["properties"]["people"]["maxItems"] == 3


def test_it_asks_every_dimension_with_its_labels_and_nothing_else() -> None:
    schema = strict_schema()["properties"]
    groups = {**schema, "people": schema["people"]["items"]}
    asked = {name: (c, a) for c, group in groups.items() for name, a in group["properties"].items()}
    assert set(asked) == set(DIMENSIONS)
    for name, dimension in DIMENSIONS.items():
        cohort, answer = asked[name]
        assert cohort == dimension.cohort
        assert (answer["type"] == "array") == (dimension.kind == "many")
        labels = answer.get("items", answer).get("enum")
        extra = {UNKNOWN, NOT_APPLICABLE} if name == "weather" else {UNKNOWN}
        assert (
            labels is None if dimension.is_open else set(labels) == {*dimension.vocabulary, *extra}
        )


def test_short_answers_come_first_and_a_presence_before_its_kind() -> None:
    person = list(strict_schema()["properties"]["people"]["items"]["properties"])
    assert person[-2:] == ["activities", "clothing_garment"]
    assert person.index("eyewear_present") < person.index("eyewear_type")
    assert person.index("hair_present") < person.index("hair_style")


def in_strict_form(answers: dict[str, Any]) -> dict[str, Any]:
    """Answers of a record as the strict schema has them: a list is a list, also when unknown."""
    many = {name for name, dimension in DIMENSIONS.items() if dimension.kind == "many"}
    return {
        name: [UNKNOWN] if name in many and answer == UNKNOWN else answer
        for name, answer in answers.items()
    }


@given(records())
def test_a_record_in_the_schemas_form_is_the_same_record(record: Any) -> None:
    told = {cohort: in_strict_form(record[cohort]) for cohort in COHORTS if cohort != "people"}
    told["people"] = [in_strict_form(person) for person in record["people"]]
    before = json.dumps(told)
    back = record_of_answer(told)
    assert json.dumps(told) == before
    assert check_record(back) == []
    for cohort in ("scene", "camera"):
        assert back[cohort] == record[cohort]
    for person, same in zip(record["people"], back["people"], strict=True):
        assert {n: a for n, a in person.items() if not DIMENSIONS[n].is_open} == {
            n: a for n, a in same.items() if not DIMENSIONS[n].is_open
        }


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        (["red", "red", "blue"], ["red", "blue"]),
        (["unknown", "red"], ["red"]),
        (["unknown"], "unknown"),
        ([], []),
        (["  "], "unknown"),
        ("unknown", "unknown"),
    ],
)
def test_lists_lose_repetitions_and_unknown(told: Any, meant: Any) -> None:
    record = record_of_answer({"scene": {"dominant_colors": told}})
    assert record["scene"]["dominant_colors"] == meant


def test_none_of_an_open_list_is_an_empty_one_and_of_a_closed_one_a_label() -> None:
    told = {"objects": {"items": ["none"]}, "people": [{"accessories": ["none"]}]}
    record = record_of_answer(told)
    assert record["objects"]["items"] == []
    assert record["people"][0]["accessories"] == ["none"]


@pytest.mark.parametrize("told", [None, 3, "text", [], {"people": 1}, {"people": [1]}, {"x": {}}])
def test_what_is_not_of_the_form_is_passed_on_and_has_faults(told: Any) -> None:
    assert check_record(record_of_answer(told))


def test_a_grammar_engine_takes_it_and_holds_an_answer_to_it() -> None:
    engine = pytest.importorskip("llguidance")
    grammar = engine.LLMatcher.grammar_from_json_schema(
        strict_schema(), overrides={"whitespace_flexible": False}
    )
    assert not engine.LLMatcher.validate_grammar(grammar)
    tokens = engine.LLTokenizer("byte")

    def takes(text: str) -> bool:
        matcher = engine.LLMatcher(tokens, grammar, log_level=0)
        return bool(matcher.consume_tokens(tokens.tokenize_str(text)) and matcher.is_accepting())

    text = json.dumps(_instance(strict_schema()), separators=(",", ":"))
    assert check_record(record_of_answer(json.loads(text))) == []
    assert takes(text)
    assert not takes(text.replace('"tight"', '"odd"'))
    assert not takes(text.replace('"lamp"', '"LAMP"'))
    assert not takes(text.replace('"lamp"', f'"{"l" * 41}"'))
    assert not takes(text[:-1] + " }")
    assert not takes(text[:-1] + ',"more":1}')


def _instance(schema: dict[str, Any]) -> Any:
    """The first label everywhere, in the schema's order; of a kind the presence is unknown."""
    if schema["type"] == "object":
        told = {name: _instance(inner) for name, inner in schema["properties"].items()}
        return {name: UNKNOWN if name.endswith("_present") else v for name, v in told.items()}
    if schema["type"] == "array":
        return [_instance(schema["items"])]
    return schema["enum"][0] if "enum" in schema else "lamp"
