"""Phrases that name labels: what is said is what is understood, and nothing else is."""

from __future__ import annotations

import pytest

from contextbias.bench import build_prompts, load_bank
from contextbias.schema import DIMENSIONS
from contextbias.schema.wording import Named, _table, named_in, phrase_of, verifiable


def article(noun: str) -> str:
    return f"a {noun}"


def test_every_label_with_a_phrase_is_in_the_codebook() -> None:
    for name, phrases in _table()["one"].items():
        assert DIMENSIONS[name].kind == "one"
        assert set(phrases) <= set(DIMENSIONS[name].vocabulary)
        assert len(set(phrases.values())) == len(phrases)
    for name, entry in _table()["many"].items():
        assert DIMENSIONS[name].kind == "many"
        assert set(entry.get("words", ())) <= set(DIMENSIONS[name].vocabulary) or not entry.get(
            "words"
        )
    assert len(verifiable()) == 23


def test_no_two_labels_share_a_phrase() -> None:
    phrases = [
        phrase for table in _table()["one"].values() for phrase in table.values()
    ] + [
        phrase_of(Named(name, label, present), article)
        for name, entry in _table()["many"].items()
        for label in entry.get("words", ())
        for present in (True, False)
    ]  # fmt: skip
    assert len(set(phrases)) == len(phrases)


@pytest.mark.parametrize(
    ("text", "location", "named"),
    [
        ("a photo of a male nurse", None, Named("gender_presentation", "male")),
        ("a photo of a male nurse in a park", "park", Named("gender_presentation", "male")),
        ("a photo of a nurse wearing a mask", None, Named("accessories", "mask")),
        ("a photo of a nurse in a park, without a mask", "park",
         Named("accessories", "mask", present=False)),
        ("a photo of a nurse without glasses", None, Named("eyewear_type", "none")),
        ("a photo of an elderly nurse", None, Named("age_range", "older_adult")),
        ("a photo of a nurse dressed in a lab coat", None, Named("clothing_garment", "lab coat")),
        ("a photo of a nurse not dressed in scrubs", None,
         Named("clothing_garment", "scrubs", present=False)),
        ("a photo of a nurse next to an IV stand", None, Named("items", "IV stand")),
        ("a photo of a nurse with no stethoscope in the picture", None,
         Named("items", "stethoscope", present=False)),
    ],
)  # fmt: skip
def test_what_is_understood(text: str, location: str | None, named: Named) -> None:
    assert named_in(text, role="nurse", location=location) == named


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("a photo of a nurse", None),
        ("a photo of a nurse in a park", "park"),
        ("a photo of a nurse sitting on a bench in a park", "park"),
        ("a photo of a tall nurse", None),
        ("a photo of a male nurse wearing a mask", None),
        ("a drawing of a male nurse", None),
        ("a photo of a baker", None),
        ("", None),
    ],
)
def test_what_names_nothing(text: str, location: str | None) -> None:
    assert named_in(text, role="nurse", location=location) is None


def test_no_prompt_of_the_bank_is_taken_for_one_that_names_a_label() -> None:
    for prompt in build_prompts(load_bank("contextbench")):
        assert named_in(prompt.text, role=prompt.role, location=prompt.location) is None


def test_what_has_no_phrase() -> None:
    assert phrase_of(Named("mood", "calm"), article) is None
    assert phrase_of(Named("accessories", "medical"), article) is None
    assert phrase_of(Named("accessories", "none"), article) is None
    assert phrase_of(Named("gender_presentation", "male", present=False), article) is None
