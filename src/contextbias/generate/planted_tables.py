"""The tables of the planted model: what a role, an everyday person and a place look like.

Read from ``data/planted.toml``, ``data/roles.toml`` and ``data/places.toml``; a role inherits from
its family, a family from the defaults. Every distribution is checked when it is read.
"""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

from contextbias.generate.drawing.settings import setting_for
from contextbias.ids import content_hash

Distribution: TypeAlias = Mapping[str, float]
"""Label -> probability; sums to one, except for independent presences (items, accessories)."""

GENDERS = ("female", "male", "nonbinary")
"""Values of gender_presentation that are drawn; other traits may depend on them."""

PERSON_TRAITS = (
    "age_range",
    "body_type",
    "skin_tone",
    "hair_style",
    "facial_hair_style",
    "head_covering_type",
    "eyewear_type",
    "tattoo_present",
    "expression",
    "pose",
    "gaze_direction",
)
"""Traits with one distribution for each gender_presentation (often the same one)."""

SCENE_TRAITS = ("mood", "color_temperature")
"""What a role brings to a scene of its own."""

_STRANGERS_FEMALE = (0.04, 0.12, 0.35, 0.60, 0.88, 0.96)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outfit:
    """Garments that are worn together, the outermost first."""

    weight: float
    """Relative frequency among the outfits that the person's presentation allows."""
    garments: tuple[str, ...]
    """Names as in clothing_garment."""
    colors: tuple[tuple[str, ...], ...]
    """Equally likely colourings, each in the order of `garments`; what is left over trims."""
    accessories: Distribution
    """Accessory -> probability that it comes with this outfit."""
    presented: tuple[str, ...]
    """Presentations that wear it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a role, or the everyday person, is pictured."""

    gender: Distribution
    """gender_presentation."""
    traits: Mapping[str, Mapping[str, Distribution]]
    """PERSON_TRAITS -> gender_presentation -> distribution."""
    outfits: tuple[Outfit, ...]
    """What may be worn."""
    items: Distribution
    """Item -> probability; the first listed is the first to be held."""
    scene: Mapping[str, Distribution]
    """SCENE_TRAITS -> distribution."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Place:
    """A kind of place, told from the prompt's location."""

    name: str
    """Its key in places.toml."""
    outdoor: bool
    """Whether there is weather."""
    color_temperature: Distribution
    """Light; empty where the role decides."""
    weather: Distribution
    """Weather; empty indoors."""
    wardrobe: str
    """Which of planted.toml's wardrobes the everyday person wears here."""
    carried: Distribution
    """Item -> probability that the everyday person has it here."""
    around: Distribution
    """Item -> probability that it stands in the scene."""


@cache
def table(name: str) -> dict[str, Any]:
    """One of the TOML files: ``planted``, ``roles`` or ``places``."""
    return tomllib.loads(_text(name))


@cache
def tables_hash() -> str:
    """Content hash of all three files: part of every simulated image's identity."""
    return content_hash([_text(name) for name in ("planted", "roles", "places")])


def known_roles() -> tuple[str, ...]:
    """The roles with an entry of their own, in file order."""
    return tuple(table("roles")["roles"])


@cache
def role_look(role: str) -> Look:
    """How a role is pictured when nothing overrides it.

    Args:
        role: Any name. One that roles.toml does not list takes a family and a presentation that
            a hash of the name decides.
    """
    roles = table("roles")
    own = roles["roles"].get(role.lower()) or _stranger(role.lower(), tuple(roles["families"]))
    family = roles["families"][own["family"]]
    merged = _merge(_merge(table("planted")["defaults"], family), own)
    return _look(merged, _outfits(merged["outfits"]))


@cache
def everyday_look(place: Place) -> Look:
    """The everyday person of a place."""
    planted = table("planted")
    merged = _merge(planted["defaults"], planted["everyday"]) | {"items": place.carried}
    return _look(merged, _outfits(planted["wardrobes"][place.wardrobe]))


@cache
def place_of(location: str | None) -> Place:
    """The kind of place that a prompt's location names: the one whose background is drawn.

    Args:
        location: As in the prompt; None (condition CF) is the studio.
    """
    background = setting_for(location).name
    return _place(next(name for name, row in table("places").items() if background in row["drawn"]))


@cache
def hair_color(age: str, skin: str) -> Distribution:
    """hair_color given age_range and skin_tone."""
    return _distribution(f"hair_color.{age}.{skin}", table("planted")["hair_color"][age][skin])


def jewellery(gender: str) -> Distribution:
    """Accessories that do not come with the outfit, given gender_presentation."""
    found: Distribution = table("planted")["accessories"][gender]
    return found


def _text(name: str) -> str:
    return files("contextbias.generate").joinpath("data", f"{name}.toml").read_text("utf-8")


def _stranger(role: str, families: tuple[str, ...]) -> dict[str, Any]:
    digest = hashlib.sha256(role.encode()).digest()
    female = _STRANGERS_FEMALE[digest[1] % len(_STRANGERS_FEMALE)]
    gender = {"female": female, "male": 0.99 - female, "nonbinary": 0.01}
    return {"family": families[digest[0] % len(families)], "gender_presentation": gender}


def _merge(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """`change` over `base`; a trait given by presentation replaces those presentations only."""
    merged = dict(base)
    for key, value in change.items():
        old = base.get(key)
        if isinstance(value, dict) and _by_gender(value) and isinstance(old, dict):
            old = old if _by_gender(old) else dict.fromkeys(GENDERS, old)
            merged[key] = {**old, **value}
        else:
            merged[key] = value
    return merged


def _by_gender(value: Mapping[str, Any]) -> bool:
    return (
        bool(value) and set(value) <= set(GENDERS) and isinstance(next(iter(value.values())), dict)
    )


def _look(merged: dict[str, Any], outfits: tuple[Outfit, ...]) -> Look:
    traits = {}
    for name in PERSON_TRAITS:
        value = merged[name]
        each = value if _by_gender(value) else dict.fromkeys(GENDERS, value)
        traits[name] = {g: _distribution(f"{name}.{g}", each[g]) for g in GENDERS}
    return Look(
        gender=_distribution("gender_presentation", merged["gender_presentation"]),
        traits=traits,
        outfits=outfits,
        items=merged["items"],
        scene={name: _distribution(name, merged[name]) for name in SCENE_TRAITS},
    )


def _outfits(rows: list[dict[str, Any]]) -> tuple[Outfit, ...]:
    return tuple(
        Outfit(
            weight=row["weight"],
            garments=tuple(row["garments"]),
            colors=tuple(tuple(colors) for colors in row["colors"]),
            accessories=row.get("accessories", {}),
            presented=tuple(row.get("presented", GENDERS)),
        )
        for row in rows
    )


@cache
def _place(name: str) -> Place:
    row = table("places")[name]
    outdoor = row.get("outdoor", False)
    light = row.get("color_temperature", {})
    return Place(
        name=name,
        outdoor=outdoor,
        color_temperature=_distribution(f"{name}.color_temperature", light) if light else {},
        weather=_distribution(f"{name}.weather", row["weather"]) if outdoor else {},
        wardrobe=row["wardrobe"],
        carried=row["carried"],
        around=row.get("around", {}),
    )


def _distribution(where: str, value: Distribution) -> Distribution:
    if not math.isclose(sum(value.values()), 1, abs_tol=1e-9):
        raise ValueError(f"{where} sums to {sum(value.values()):g}, not 1: {dict(value)}")
    return value
