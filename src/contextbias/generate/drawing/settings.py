"""Which background a prompt's location gets."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from contextbias.generate.drawing.look import chance

STUDIO = "studio"
"""The backdrop of a picture without a place."""

_FALLBACK = "room"


@dataclass(frozen=True, slots=True)
class Palette:
    """Five paints that go together."""

    wall: str
    """Walls, or what is far outdoors."""
    floor: str
    """Floor or ground."""
    accent: str
    """Main coloured things."""
    second: str
    """Other coloured things."""
    wood: str
    """Furniture."""
    dominant: tuple[str, ...]
    """The schema colours that cover most of the background."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One archetype of a place."""

    name: str
    """Key of the drawing function."""
    indoor: bool
    """True when the weather is not visible."""
    keywords: tuple[str, ...]
    """Words of a location that lead here."""
    palettes: tuple[Palette, ...]
    """Its variants."""


@cache
def settings() -> Mapping[str, Setting]:
    """All archetypes by name, read from ``data/settings.toml``."""
    text = files("contextbias.generate.drawing").joinpath("data/settings.toml").read_text("utf-8")
    return {
        name: Setting(
            name,
            row["indoor"],
            tuple(row["keywords"]),
            tuple(Palette(**{**p, "dominant": tuple(p["dominant"])}) for p in row["palettes"]),
        )
        for name, row in tomllib.loads(text).items()
    }


@lru_cache(maxsize=4096)
def setting_for(location: str | None) -> Setting:
    """The archetype of a location: the one whose longest keyword occurs in it as whole words.

    None is the studio backdrop; a location that no keyword fits is a plain room.
    """
    if location is None or not location.strip():
        return settings()[STUDIO]
    padded = f" {location.lower().replace('-', ' ').replace(',', ' ')} "
    best, length = settings()[_FALLBACK], 0
    for setting in settings().values():
        for keyword in setting.keywords:
            word = keyword.replace("-", " ")
            if len(word) > length and (f" {word} " in padded or f" {word}s " in padded):
                best, length = setting, len(word)
    return best


def palette_for(setting: Setting, location: str | None, seed: int) -> Palette:
    """The palette of one picture."""
    return chance("palette", location, seed).choice(setting.palettes)


def palette_colors(location: str | None, seed: int) -> tuple[str, ...]:
    """The schema colours that cover most of the background drawn for `location` and `seed`."""
    setting = setting_for(location)
    return palette_for(setting, location, seed).dominant


def is_indoor(location: str | None) -> bool:
    """True when the background drawn for `location` shows no weather."""
    return setting_for(location).indoor
