from __future__ import annotations

import pytest

from contextbias.schema import COHORTS, DIMENSIONS, EMPTY, UNKNOWN, dimension, dimensions_of

# The paper's schema as the method page lists it: how many dimensions, and which are lists.
LISTS = {
    "aesthetic_qualities", "dominant_colors", "items", "accessories", "activities",
    "clothing_garment", "clothing_color",
}  # fmt: skip
OPEN = {"items", "activities", "clothing_garment"}


def test_31_dimensions_in_four_cohorts() -> None:
    assert {cohort: len(dimensions_of(cohort)) for cohort in COHORTS} == {
        "scene": 5,
        "camera": 3,
        "objects": 1,
        "people": 22,
    }
    assert len(DIMENSIONS) == 31
    assert [d.name for cohort in COHORTS for d in dimensions_of(cohort)] == list(DIMENSIONS)


def test_lists_and_open_vocabularies() -> None:
    assert {d.name for d in DIMENSIONS.values() if d.kind == "many"} == LISTS
    assert {d.name for d in DIMENSIONS.values() if d.is_open} == OPEN
    assert all(d.per_person == (d.cohort == "people") for d in DIMENSIONS.values())


@pytest.mark.parametrize("name", DIMENSIONS)
def test_labels_are_canonical_words(name: str) -> None:
    words = dimension(name).vocabulary
    assert len(set(words)) == len(words)
    assert UNKNOWN not in words
    assert all(word == word.strip().lower().replace(" ", "_") for word in words)
    assert dimension(name).question.endswith((".", "?", ")"))


@pytest.mark.parametrize("name", ["eyewear_type", "facial_hair_style", "head_covering_type"])
def test_kinds_of_a_presence_question_can_say_none(name: str) -> None:
    assert EMPTY in dimension(name).vocabulary


def test_an_unknown_dimension_is_an_error() -> None:
    with pytest.raises(KeyError):
        dimension("charisma")
