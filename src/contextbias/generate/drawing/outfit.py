"""An outfit: the garments of one person, resolved to cloth, sleeves, bottoms and details."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from contextbias.generate.drawing.body import Bottom, Build, Sleeve, shoe_color
from contextbias.generate.drawing.look import Look
from contextbias.generate.drawing.palette import COLORS
from contextbias.generate.drawing.svg import Ink

GARMENTS: tuple[str, ...] = (
    "t-shirt", "shirt", "flannel shirt", "sweater", "hoodie", "dress", "leotard", "scrubs",
    "uniform", "chef jacket", "overalls", "blazer", "suit", "jacket", "lab coat", "turnout coat",
    "judicial robe", "hi-vis vest", "apron", "leather apron",
)  # fmt: skip
"""Garments that are drawn, innermost first."""

# Words that stand for a garment of the list; the longest match wins.
_SYNONYMS = {
    "t shirt": "t-shirt", "tee": "t-shirt", "tank top": "t-shirt", "blouse": "shirt",
    "dress shirt": "shirt", "polo": "shirt", "plaid": "flannel shirt", "flannel": "flannel shirt",
    "pullover": "sweater", "cardigan": "sweater", "turtleneck": "sweater", "sweatshirt": "hoodie",
    "gown": "dress", "tutu": "leotard", "bodysuit": "leotard", "activewear": "leotard",
    "chef": "chef jacket", "dungarees": "overalls", "coveralls": "overalls", "business suit": "suit",
    "tuxedo": "suit", "coat": "jacket", "white coat": "lab coat", "parka": "jacket",
    "raincoat": "jacket", "bunker": "turnout coat", "firefighter": "turnout coat",
    "turnout": "turnout coat", "robe": "judicial robe", "vest": "hi-vis vest",
    "safety vest": "hi-vis vest", "high-visibility": "hi-vis vest",
}  # fmt: skip

# Garments that need something under them, and what that is when the record does not say.
_UNDER = {
    "overalls": "t-shirt", "blazer": "t-shirt", "suit": "shirt", "jacket": "t-shirt",
    "lab coat": "shirt", "turnout coat": "t-shirt", "judicial robe": "shirt",
    "hi-vis vest": "shirt", "apron": "shirt", "leather apron": "shirt",
}  # fmt: skip

_USUAL = {
    "t-shirt": "gray", "shirt": "blue", "flannel shirt": "red", "sweater": "teal",
    "hoodie": "gray", "dress": "red", "leotard": "black", "scrubs": "teal", "uniform": "navy",
    "chef jacket": "white", "overalls": "blue", "blazer": "navy", "suit": "navy",
    "jacket": "olive", "lab coat": "white", "turnout coat": "tan", "judicial robe": "black",
    "hi-vis vest": "orange", "apron": "beige", "leather apron": "brown",
}  # fmt: skip


@dataclass(slots=True)
class Outfit:
    """Pieces of clothing as SVG, in the order in which they are drawn."""

    sleeve: Sleeve
    """On both arms; the outermost garment with sleeves decides."""
    bottom: Bottom
    """On the legs."""
    collar_behind: list[str] = field(default_factory=list)
    """Behind the neck: the back of a collar or hood."""
    over_legs: list[str] = field(default_factory=list)
    """Coat tails, aprons, robes."""
    trunk: list[str] = field(default_factory=list)
    """On the trunk, innermost first."""
    details: list[str] = field(default_factory=list)
    """Over everything on the trunk, for example a tie."""
    neck_bare: bool = True
    """False when a high collar covers the base of the neck."""


@dataclass(frozen=True, slots=True)
class Cloth:
    """What a garment is cut from."""

    ink: Ink
    """The document's gradients."""
    look: Look
    """Who wears it."""
    build: Build
    """What it has to fit."""
    color: str
    """Paint of the garment."""
    trim: str
    """Paint of a second colour: lining, lapels, under-shirt."""


def named_garments(look: Look) -> list[str]:
    """The garments that are drawn, innermost first: at most one under-layer and one on top."""
    known = sorted({garment_for(word) for word in look.garments}, key=GARMENTS.index)
    if not known:
        return ["shirt"]
    top = known[-1]
    if top not in _UNDER:
        return [top]
    below = [g for g in known[:-1] if g not in _UNDER]
    middle = [g for g in known[:-1] if g == "overalls"]
    return [below[-1] if below else _UNDER[top], *middle[:1], top]


def garment_for(word: str) -> str:
    """The drawn garment that a free-text garment stands for; a shirt for an unknown word."""
    plain = word.replace("_", " ").strip().lower()
    if plain in GARMENTS:
        return plain
    matches = [k for k in (*GARMENTS, *_SYNONYMS) if k in plain]
    if not matches:
        return "shirt"
    best = max(matches, key=lambda word: (len(word), word in _SYNONYMS))
    return _SYNONYMS.get(best, best)


def paints(look: Look, worn: list[str]) -> tuple[dict[str, str], str]:
    """Colours of the worn garments and of the trousers.

    The first colour of the record is the outermost garment's, the next the layer's below, then the
    trousers'. Where the record names none, each garment has its usual colour.
    """
    given = [COLORS[c] for c in look.colors if c in COLORS]
    result = {}
    for garment in reversed(worn):
        result[garment] = given.pop(0) if given else COLORS[_USUAL[garment]]
    if len(worn) > 1 and not look.colors and worn[0] == "shirt":
        result["shirt"] = "#eef0f2" if worn[-1] in ("suit", "judicial robe") else "#a9c3dd"
    if len(worn) > 1 and worn[0] not in ("scrubs",) and result[worn[0]] == result[worn[-1]]:
        result[worn[0]] = "#f1ede4" if result[worn[-1]] != COLORS["white"] else "#a9c3dd"
    trousers = given[0] if given else _usual_trousers(look, worn, result)
    return result, trousers


def _usual_trousers(look: Look, worn: list[str], result: dict[str, str]) -> str:
    for matching in ("suit", "scrubs", "overalls", "turnout coat", "uniform"):
        if matching in worn:
            return result[matching]
    if "chef jacket" in worn or "apron" in worn:
        return "#3b3a44"
    return {"navy": "#3a4a63", "teal": "#4a5262", "gold": "#6a5a4a"}.get(look.accent, "#42506b")


def plain_outfit(look: Look, trousers: str) -> Outfit:
    """Trousers and shoes, before any garment is put on."""
    return Outfit(Sleeve(COLORS["gray"]), Bottom("trousers", trousers, shoe_color(look)))


def with_sleeve(outfit: Outfit, **changes: object) -> None:
    """Change some of the sleeve's fields."""
    outfit.sleeve = replace(outfit.sleeve, **changes)  # type: ignore[arg-type]
