from __future__ import annotations

import pytest

from contextbias.annotate.questions import asked, question
from contextbias.annotation_tables import IMAGE, SET
from contextbias.config import AnnotateSection
from contextbias.schema import DIMENSIONS

KINDS = (SET, IMAGE)


def test_23_of_31_questions_are_asked_by_default() -> None:
    left_out = AnnotateSection().leave_out
    assert len(set(left_out)) == 8
    assert len(asked(left_out)) == 23
    assert asked(()) == tuple(DIMENSIONS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", DIMENSIONS)
def test_every_question_has_every_label_once_and_keys_of_its_own(name: str, kind: str) -> None:
    one = question(name, kind)
    labels = [c.value for c in one.choices if not c.is_reason]
    keys = [c.key for c in one.choices]
    assert labels == list(DIMENSIONS[name].vocabulary)
    assert len(set(keys)) == len(keys)
    assert not set(keys) & set("bsz?t")  # commands of the page
    assert "unknown" in {c.value for c in one.choices if c.is_reason}
    assert one.hint
    assert one.text.endswith(("?", "."))
    assert "colour" not in one.text + one.hint  # one spelling on all pages
    assert len({c.text for c in one.choices}) == len(one.choices)
    assert "this person" not in one.text  # of several people the main one is meant
    assert bool(one.suggestions) == one.is_open
    assert one.several == (DIMENSIONS[name].kind == "many" and kind == IMAGE)


def test_reasons_fit_their_questions() -> None:
    def reasons(name: str) -> set[str]:
        return {c.value for c in question(name, SET).choices if c.is_reason}

    assert reasons("mood") == {"unknown"}
    assert reasons("weather") == {"unknown", "not_applicable"}
    assert reasons("hair_color") == {"unknown", "not_applicable", "no_person"}
    assert reasons("items") == {"unknown", "empty"}
    assert reasons("accessories") == {"unknown", "no_person"}  # has "none" among its labels


@pytest.mark.parametrize(
    ("name", "kind", "labels", "reason", "says"),
    [
        ("mood", SET, ("calm",), None, None),
        ("mood", SET, (), "unknown", None),
        ("mood", SET, (), None, "no answer"),
        ("mood", SET, ("calm", "tense"), None, "one answer"),
        ("mood", SET, ("nice",), None, "no answer here"),
        ("mood", SET, (), "no_person", "no reason here"),
        ("mood", SET, ("calm",), "unknown", "no reason here"),
        ("clothing_color", SET, ("red", "blue"), None, "one answer"),
        ("clothing_color", IMAGE, ("red", "blue"), None, None),
        ("accessories", IMAGE, ("none", "bag"), None, "'none' stands beside other answers"),
        ("items", SET, ("café cup",), None, None),
        ("items", SET, ("",), None, "no answer here"),
        ("items", SET, ("a|b",), None, "no answer here"),
        ("items", SET, ("a\nb",), None, "no answer here"),
        ("items", SET, ("x" * 81,), None, "no answer here"),
        ("items", IMAGE, ("cup", "table"), None, None),
        ("items", IMAGE, tuple(f"cup {n}" for n in range(21)), None, "21 answers; 20 at most"),
        ("items", SET, ("17",), None, "'17' has no letter"),
        ("items", IMAGE, ("cup", "…"), None, "'…' has no letter"),
        ("items", SET, ("3d printer",), None, None),
        ("items", SET, ("чашка",), None, None),
        ("items", SET, ("茶",), None, None),
    ],
)
def test_what_is_an_answer(
    name: str, kind: str, labels: tuple[str, ...], reason: str | None, says: str | None
) -> None:
    fault = question(name, kind).fault(labels, reason)
    assert (fault is None) if says is None else (says in str(fault))
