"""What a model is told: every question, one text for all pictures, and nothing about a picture."""

from __future__ import annotations

import inspect
import json

from contextbias.extract.vision import instructions as module
from contextbias.extract.vision.instructions import MOST_FAULTS, Instructions, instructions
from contextbias.schema import DIMENSIONS


def test_every_question_is_asked_with_its_labels() -> None:
    text = instructions().text
    for dimension in DIMENSIONS.values():
        assert f"- {dimension.cohort}.{dimension.name}: {dimension.question}" in text
        assert ", ".join(dimension.vocabulary) in text


def test_it_speaks_of_apparent_presentation_in_a_generated_picture() -> None:
    text = instructions().text
    assert "generated pictures" in text
    assert "appear to be presented" in text
    assert "You do not identify anybody" in text


def test_nothing_of_a_picture_can_get_into_it() -> None:
    # No prompt, role, condition, generator or file: there is no argument that would carry it.
    assert set(inspect.signature(module.instructions).parameters) == {"people", "schema_in_text"}
    assert list(inspect.signature(Instructions.repair).parameters) == ["self", "faults"]


def test_the_text_is_the_same_every_time_and_its_hash_tells_a_change() -> None:
    assert instructions() == instructions()
    hashes = {
        instructions().hash,
        instructions(people=3).hash,
        instructions(schema_in_text=True).hash,
    }
    assert len(hashes) == 3


def test_the_schema_stands_in_the_text_where_the_service_takes_none() -> None:
    told = instructions(schema_in_text=True)
    start = told.text.index('{"type"')
    assert json.loads(told.text[start:]) == told.schema
    assert '{"type"' not in instructions().text


def test_a_repair_names_the_faults_and_not_too_many() -> None:
    few = instructions().repair(["framing has the label 'odd', not in its vocabulary"])
    assert "- framing has the label 'odd', not in its vocabulary\n" in few
    many = instructions().repair([f"fault {k}" for k in range(MOST_FAULTS + 3)])
    assert "and 3 more" in many
    assert f"fault {MOST_FAULTS}" not in many
    assert instructions().repair(["{braces} in a fault"]).count("{braces}") == 1
