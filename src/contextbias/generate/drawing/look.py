"""From a record's labels to what is drawn: every open choice settled by the seed."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from contextbias.generate.drawing.palette import HAIR, IRISES, SKINS, Skin
from contextbias.schema.codebook import EMPTY, UNKNOWN
from contextbias.schema.records import Record


def chance(*key: object) -> random.Random:
    """A random source that depends on `key` alone: not on the process, nor on earlier calls."""
    digest = hashlib.sha256(repr(key).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One person as drawn."""

    gender: str
    """female, male or nonbinary: the presentation, told by several soft cues."""
    age: str
    """child to older_adult."""
    body: str
    """Build."""
    skin: Skin
    """Complexion."""
    hair_style: str
    """A label of the codebook, or ``none`` for a bald head."""
    hair: str
    """Paint of the hair."""
    eyewear: str
    """A label of the codebook or ``none``."""
    facial_hair: str
    """A label of the codebook or ``none``."""
    beard: str
    """Paint of the facial hair."""
    covering: str
    """A label of the codebook or ``none``."""
    expression: str
    """A label of the codebook."""
    gaze: str
    """A label of the codebook; left and right are the picture's."""
    pose: str
    """A label of the codebook."""
    tattoo: bool
    """Ink on the neck and the forearm."""
    accessories: frozenset[str]
    """Labels of the codebook."""
    garments: tuple[str, ...]
    """As answered, lower case."""
    colors: tuple[str, ...]
    """Schema colours of the clothes, the outermost garment's first; may be empty."""
    iris: str
    """Paint of the irises."""
    tilt: float
    """Degrees by which the head leans."""
    accent: str
    """Schema colour of small things: scarf, bag, headband."""
    role: str
    """The prompt's role; decides which kind of hat or helmet a "hat" is."""


def people_in(record: Record) -> list[dict[str, Any]]:
    """The record's people that can be drawn."""
    people = record.get("people", [])
    return [p for p in people if isinstance(p, dict)] if isinstance(people, list) else []


def look_of(person: dict[str, Any], *, role: str, seed: int, index: int = 0) -> Look:
    """Settle every choice of one person; `index` keeps two people of one picture apart."""
    luck = chance("look", role, seed, index)
    draws = {name: luck.random() for name in ("skin", "shade", "iris", "tilt", "accent", "hair")}
    tone = _one(person, "skin_tone", _pick(tuple(SKINS), draws["skin"]))
    hair = HAIR.get(_one(person, "hair_color", "brown"), HAIR["brown"])
    covered = _one(person, "head_covering_present", "no") == "yes"
    glasses = _one(person, "eyewear_present", "no") == "yes"
    bearded = _one(person, "facial_hair_present", "no") == "yes"
    bald = _one(person, "hair_present", "yes") == "no"
    return Look(
        gender=_one(person, "gender_presentation", "nonbinary"),
        age=_one(person, "age_range", "young_adult"),
        body=_one(person, "body_type", "average"),
        skin=_pick(SKINS.get(tone, SKINS["medium"]), draws["shade"]),
        hair_style=EMPTY if bald else _one(person, "hair_style", "short"),
        hair=hair,
        eyewear=_one(person, "eyewear_type", "eyeglasses" if glasses else EMPTY),
        facial_hair=_one(person, "facial_hair_style", "beard" if bearded else EMPTY),
        beard=HAIR.get(_one(person, "facial_hair_color", ""), hair),
        covering=_one(person, "head_covering_type", "hat" if covered else EMPTY),
        expression=_one(person, "expression", "neutral"),
        gaze=_one(person, "gaze_direction", "toward_camera"),
        pose=_one(person, "pose", "standing"),
        tattoo=_one(person, "tattoo_present", "no") == "yes",
        accessories=frozenset(_many(person, "accessories")) - {EMPTY},
        garments=tuple(w.lower() for w in _many(person, "clothing_garment")),
        colors=tuple(_many(person, "clothing_color")),
        iris=_pick(IRISES if tone == "light" else IRISES[:3], draws["iris"]),
        tilt=round(draws["tilt"] * 8 - 4, 1),
        accent=_pick(("red", "teal", "gold", "navy", "pink", "orange"), draws["accent"]),
        role=role,
    )


def _pick(choices: Sequence[Any], draw: float) -> Any:
    return choices[min(int(draw * len(choices)), len(choices) - 1)]


def _one(person: dict[str, Any], name: str, default: str) -> str:
    label = person.get(name, UNKNOWN)
    return default if not isinstance(label, str) or label == UNKNOWN else label


def _many(person: dict[str, Any], name: str) -> list[str]:
    labels = person.get(name, UNKNOWN)
    return [w for w in labels if isinstance(w, str)] if isinstance(labels, list) else []
