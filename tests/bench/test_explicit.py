"""Prompts that name a label: pairs, turns, articles, places."""

from __future__ import annotations

from collections import Counter

import pytest

from contextbias.bench import build_prompts, load_bank
from contextbias.bench.explicit import Explicit, explicit_prompts, frames_of
from contextbias.errors import InputError
from contextbias.schema import DIMENSIONS
from contextbias.schema.wording import Named, named_in

ROLES = ["nurse", "ceo", "farmer"]
FRAMES = frames_of(build_prompts(load_bank("contextbench"), ROLES))
SHARES = {
    (role, name): labels
    for role in ROLES
    for name, labels in {
        "gender_presentation": ("female", "male"),
        "eyewear_type": ("none", "eyeglasses"),
        "accessories": ("none", "mask", "watch"),
        "clothing_garment": ("apron", "overalls"),
        "mood": ("calm",),
    }.items()
}


def build(
    count: int, *, context_free: bool = False, told: frozenset[str] | None = None
) -> list[Explicit]:
    return explicit_prompts(
        SHARES,
        FRAMES,
        count,
        can_tell=lambda name, _: told is None or name in told,
        context_free=context_free,
    )


def texts(prompts: list[Explicit], role: str) -> set[str]:
    return {each.text for each in prompts if each.role == role}


def test_pairs_in_words() -> None:
    found = texts(build(100, context_free=True), "nurse")
    assert {
        "a photo of a female nurse",
        "a photo of a male nurse",
        "a photo of a nurse without glasses",
        "a photo of a nurse wearing eyeglasses",
        "a photo of a nurse wearing a mask",
        "a photo of a nurse without a mask",
        "a photo of a nurse dressed in an apron",
        "a photo of a nurse not dressed in overalls",
    } <= found
    assert "a photo of a male CEO" in texts(build(100, context_free=True), "ceo")


def test_every_positive_has_its_negative() -> None:
    prompts = build(100, context_free=True)
    named = {(each.role, each.named) for each in prompts}
    for role, each in named:
        if DIMENSIONS[each.dimension].kind == "many":
            assert (role, Named(each.dimension, each.label, not each.present)) in named
        else:
            others = {n.label for r, n in named if r == role and n.dimension == each.dimension}
            assert len(others) >= 2
    assert len({each.text for each in prompts}) == len(prompts)
    assert len({(each.role, each.variant) for each in prompts}) == len(prompts)


def test_places_are_those_of_the_study_and_spread() -> None:
    prompts = build(24)
    related = [each for each in prompts if each.condition == "CA-R" and each.role == "nurse"]
    assert {each.location for each in related} == {"hospital room"}
    assert all(" nurse in a hospital room" in each.text for each in related)
    conditions = Counter(each.condition for each in prompts)
    assert set(conditions) == {"CF", "CA-R", "CA-U"}
    for each in prompts:
        assert (each.location is None) == (each.condition == "CF")
        assert named_in(each.text, role=each.role, location=each.location) == each.named


def test_a_beginning_is_spread_over_roles_and_dimensions() -> None:
    few = build(12)
    assert len(few) == 12
    assert {each.role for each in few} == set(ROLES)
    assert len({each.named.dimension for each in few}) >= 3
    assert build(100)[:12] == few


def test_only_what_a_reader_can_tell_is_asked() -> None:
    prompts = build(100, told=frozenset({"gender_presentation"}))
    assert {each.named.dimension for each in prompts} == {"gender_presentation"}
    with pytest.raises(InputError, match="none of the labels"):
        build(10, told=frozenset())


def test_roles_without_an_english_sentence_are_left_out() -> None:
    german = build_prompts(load_bank("contextbench-de"))
    assert frames_of(german) == {}
    with pytest.raises(InputError, match="none of the labels"):
        explicit_prompts(SHARES, {}, 10, can_tell=lambda *_: True)


def test_articles() -> None:
    shares = {("nurse", "items"): ("umbrella", "gloves", "dress", "bread", "unicorn", "bus")}
    made = explicit_prompts(shares, FRAMES, 99, can_tell=lambda *_: True, context_free=True)
    said = {each.text.removeprefix("a photo of a nurse next to ") for each in made}
    assert {"an umbrella", "gloves", "a dress", "bread", "a unicorn", "a bus"} <= said
