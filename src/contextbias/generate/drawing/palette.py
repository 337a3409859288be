"""Colours: the schema's colour names, skin, hair, and what light does to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

COLORS: Mapping[str, str] = {
    "white": "#f4f1ea",
    "black": "#2a2830",
    "gray": "#8d9097",
    "silver": "#bfc5cc",
    "gold": "#c99a2e",
    "beige": "#dccbb0",
    "brown": "#76492f",
    "tan": "#bd9366",
    "cream": "#f2e6c8",
    "red": "#bf3b38",
    "orange": "#e0782f",
    "yellow": "#ecc13f",
    "green": "#4f9158",
    "teal": "#2f8f8f",
    "blue": "#4a80c4",
    "navy": "#2b3d66",
    "purple": "#77519c",
    "pink": "#e295a8",
    "olive": "#7d7f42",
}
"""The codebook's colours as they are painted on cloth."""


class Skin(NamedTuple):
    """One complexion."""

    base: str
    """Lit skin."""
    shade: str
    """Skin in shadow."""
    blush: str
    """Cheeks, ears, knuckles."""
    lips: str
    """Lips without make-up."""


SKINS: Mapping[str, tuple[Skin, ...]] = {
    "light": (
        Skin("#f6d3b8", "#dba98a", "#ea9a86", "#cf7a70"),
        Skin("#f3c9a6", "#d6a07a", "#e58f74", "#c66f62"),
        Skin("#f9dcc8", "#dfb09a", "#ef9f94", "#d27f7c"),
    ),
    "medium": (
        Skin("#d19e70", "#ad754c", "#c87350", "#ac5a4a"),
        Skin("#c68f5f", "#a06a41", "#bd6746", "#a25344"),
        Skin("#dcab7e", "#b88258", "#d07f5c", "#b36352"),
    ),
    "dark": (
        Skin("#7d4f34", "#5a3423", "#8d4534", "#803c37"),
        Skin("#6a412b", "#4a2a1c", "#7b392c", "#71332f"),
        Skin("#8e5b3c", "#683e29", "#9c4f3a", "#8a443c"),
    ),
}
"""skin_tone -> shades within it."""

HAIR: Mapping[str, str] = {
    "black": "#2a2429",
    "brown": "#6b4129",
    "blonde": "#dcb25f",
    "red": "#a8472a",
    "grey": "#9a9a9f",
    "white": "#e6e4e0",
    "blue": "#3f6cb5",
    "green": "#4b8f5c",
    "pink": "#de7ca0",
    "purple": "#7a4fa3",
}
"""hair_color -> paint."""

IRISES = ("#5a3b22", "#3f2a1a", "#6d5a2e", "#4c6a86", "#4d7258")
"""Eye colours; the schema does not ask for them."""
