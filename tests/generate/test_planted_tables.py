"""What roles, everyday people and places look like."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextbias.generate.drawing.settings import settings
from contextbias.generate.planted_tables import (
    GENDERS,
    PERSON_TRAITS,
    everyday_look,
    hair_color,
    known_roles,
    place_of,
    role_look,
    table,
    tables_hash,
)
from contextbias.schema.codebook import DIMENSIONS


def test_every_role_of_the_paper_has_an_entry(shared: Path) -> None:
    roles = (shared / "data" / "roles.txt").read_text().split("\n")
    assert set(known_roles()) == {role for role in roles if role}


@pytest.mark.parametrize("role", known_roles())
def test_a_role_speaks_the_codebook(role: str) -> None:
    look = role_look(role)
    for name in PERSON_TRAITS:
        labels = {label for g in GENDERS for label in look.traits[name][g]}
        assert labels <= set(DIMENSIONS[name].vocabulary), name
    for outfit in look.outfits:
        assert set(outfit.accessories) <= set(DIMENSIONS["accessories"].vocabulary)
        for colors in outfit.colors:
            # One a garment; further ones are trims (the stripes of a turnout coat).
            assert len(colors) >= len(outfit.garments)
            assert set(colors) <= set(DIMENSIONS["clothing_color"].vocabulary)
    for gender in GENDERS:
        assert any(gender in outfit.presented for outfit in look.outfits)


@pytest.mark.parametrize("name", list(settings()))
def test_every_background_belongs_to_one_place(name: str) -> None:
    homes = [place for place, row in table("places").items() if name in row["drawn"]]
    (home,) = homes
    assert table("places")[home].get("outdoor", False) != settings()[name].indoor


@pytest.mark.parametrize("name", list(table("places")))
def test_a_place_speaks_the_codebook(name: str) -> None:
    drawn = table("places")[name]["drawn"]
    assert set(drawn) <= set(settings())
    keywords = settings()[drawn[0]].keywords
    place = place_of(None if name == "studio" else keywords[0])
    assert place.name == name
    assert set(place.color_temperature) <= set(DIMENSIONS["color_temperature"].vocabulary)
    assert set(place.weather) <= set(DIMENSIONS["weather"].vocabulary)
    assert bool(place.weather) == place.outdoor
    assert everyday_look(place).items == place.carried


def test_places_are_told_from_the_location() -> None:
    assert place_of("a busy construction site").name == "building-site"
    assert place_of("hospital ward").name == "medical"
    assert place_of("nowhere that anyone has heard of").name == "elsewhere"
    assert place_of(None).name == "studio"


def test_a_role_overrides_its_family_and_the_defaults() -> None:
    # baker: kitchen family (hats), its own light and tools, the default hair.
    baker = role_look("baker")
    assert baker.traits["head_covering_type"]["male"] == {"hat": 0.84, "none": 0.16}
    assert baker.scene["color_temperature"] == {"warm": 0.98, "neutral": 0.02}
    assert list(baker.items) == ["bread", "rolling pin"]
    assert baker.traits["hair_style"]["male"] == table("planted")["defaults"]["hair_style"]["male"]
    assert role_look("Baker") == baker


def test_hair_greys_with_age() -> None:
    for skin in ("light", "medium", "dark"):
        young, old = hair_color("young_adult", skin), hair_color("older_adult", skin)
        assert young.get("grey", 0) + young.get("white", 0) == 0
        assert old["grey"] + old["white"] >= 0.8


@given(st.text(max_size=20))
def test_any_name_is_a_role(role: str) -> None:
    look = role_look(role)
    assert sum(look.gender.values()) == pytest.approx(1)
    assert role_look(role) is look


def test_unknown_roles_differ_from_each_other() -> None:
    looks = {tuple(role_look(f"role number {i}").gender.values()) for i in range(40)}
    assert len(looks) >= 5


def test_the_hash_is_stable_within_a_version() -> None:
    assert tables_hash() == tables_hash()
    assert len(tables_hash()) == 20
