"""The packaged table: its form rules, and that it does not contradict itself."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextbias.canonicalise.terms import (
    form,
    kept_apart,
    no_answer,
    starting_groups,
    synonym_set,
    terms,
)
from contextbias.canonicalise.text import normalise

TABLE = tomllib.loads(files("contextbias.canonicalise").joinpath("terms.toml").read_text("utf-8"))


def key(name: str) -> str:
    return "".join(terms().form_words(normalise(name)))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("glove", "gloves"), ("a pair", "pair"), ("tool box", "toolbox"), ("watches", "watch"),
        ("grey hat", "gray hats"), ("knives", "knife"), ("bow tie", "bowties"),
        ("tv", "television"), ("holding a clipboard", "holding clipboard"),
        ("berries", "berry"), ("shoe", "shoes"), ("size", "sizes"), ("pick axe", "pickaxes"),
        ("mustache", "moustaches"), ("canoe", "canoes"), ("brownie", "brownies"),
        ("fibre cable", "fiber cables"), ("hand sanitiser", "hand sanitizers"),
        ("king size bed", "kingsize beds"), ("fuse", "fuses"), ("house", "houses"),
    ],
)  # fmt: skip
def test_one_form(one: str, two: str) -> None:
    assert form(one, "items") == form(two, "items")


@pytest.mark.parametrize(
    ("one", "two"),
    [("glass", "glasses"), ("overall", "overalls"), ("scrub", "scrubs"), ("short", "shorts"),
     ("dress", "dres"), ("bus", "bu"), ("red car", "car")],
)  # fmt: skip
def test_two_forms(one: str, two: str) -> None:
    assert form(one, "items") != form(two, "items")


def test_words_for_no_answer() -> None:
    assert no_answer(normalise("N/A")) == no_answer(normalise("Not visible.")) == "unknown"
    assert no_answer(normalise("No visible items")) == "none"
    assert no_answer("invisible cloak") is no_answer("no entry sign") is no_answer("") is None
    for label, texts in TABLE["missing"].items():
        assert label in ("unknown", "none")
        assert all(text == normalise(text) for text in texts)
    assert not set(terms().missing) & {name for sets in TABLE["same"].values() for s in sets
                                       for name in s}  # fmt: skip


def test_colours_make_no_garment() -> None:
    assert form("blue shirt", "clothing_garment") == form("shirt", "clothing_garment")
    assert form("blue shirt", "items") != form("shirt", "items")
    # A white coat is a laboratory coat; a colour alone stays what it is.
    assert form("white coat", "clothing_garment") != form("coat", "clothing_garment")
    assert synonym_set("white coat", "clothing_garment") == synonym_set("lab coats", "items")
    assert form("white", "clothing_garment") == "white"
    assert form("the", "items") == "the"


@given(st.text(max_size=20))
def test_every_text_has_a_form(text: str) -> None:
    term = normalise(text)
    for dimension in ("items", "clothing_garment", "activities"):
        assert bool(form(term, dimension)) == bool(term)


@pytest.mark.parametrize("scope", ["things", "activities"])
def test_no_name_is_in_two_sets(scope: str) -> None:
    owner: dict[str, int] = {}
    for number, names in enumerate(TABLE["same"][scope]):
        assert len(names) >= 2, names
        for name in names:
            assert owner.setdefault(key(name), number) == number, name


@pytest.mark.parametrize("family", TABLE["distinct"], ids=lambda family: family["name"])
def test_no_name_is_in_two_classes(family: dict[str, object]) -> None:
    owner: dict[str, int] = {}
    classes = family.get("ending") or family["beginning"]
    assert isinstance(classes, list)
    for number, names in enumerate(classes):
        for name in names:
            assert owner.setdefault(key(name), number) == number, name


@pytest.mark.parametrize(
    ("dimension", "one", "two"),
    [
        ("clothing_garment", "chef jacket", "chef hat"),
        ("clothing_garment", "worn leather jacket", "denim jacket"),
        ("clothing_garment", "black t-shirt", "striped dress shirt"),
        ("clothing_garment", "hard hat", "bicycle helmet"),
        ("items", "glasses", "sunglasses"),
        ("items", "bottle of water", "glass of water"),
        ("activities", "riding a horse", "riding a bike"),
        ("activities", "holding a cup", "holding a clipboard"),
        ("activities", "sitting at desk", "standing at desk"),
    ],
)
def test_kept_apart(dimension: str, one: str, two: str) -> None:
    classes = kept_apart([normalise(one), normalise(two)], dimension).classes
    assert any(a >= 0 and b >= 0 and a != b for a, b in classes.T.tolist())


def test_synonyms_have_one_class() -> None:
    for scope, dimension in (("things", "items"), ("activities", "activities")):
        for names in TABLE["same"][scope]:
            classes = kept_apart([normalise(name) for name in names], dimension).classes
            assert (classes == classes[:1]).all(), names


def test_groups_to_start_from() -> None:
    names = ["apron", "hard hat", "hard hats", "safety helmet", "kitchen apron", "bread"]
    assert starting_groups(names, "items").tolist() == [0, 1, 1, 1, 0, 5]
    assert starting_groups(names, "items", synonyms=False).tolist() == [0, 1, 1, 3, 4, 5]
    assert kept_apart([], "items").classes.shape == (0, 0)
