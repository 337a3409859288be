"""What the drawing can show, so that nothing is planted that no reader could see."""

from __future__ import annotations

from contextbias.generate.drawing.items import item_names
from contextbias.generate.drawing.light import MOODS, TEMPERATURES
from contextbias.generate.drawing.outfit import GARMENTS
from contextbias.generate.drawing.settings import settings
from contextbias.schema.codebook import DIMENSIONS

DRAWING_VERSION = "2"
"""Part of a simulated generator's settings; changes whenever any pixel may change."""


def _all_but(name: str, *left_out: str) -> tuple[str, ...]:
    return tuple(w for w in DIMENSIONS[name].vocabulary if w not in left_out)


def _background_colors() -> tuple[str, ...]:
    seen = {c for s in settings().values() for p in s.palettes for c in p.dominant}
    return tuple(w for w in DIMENSIONS["dominant_colors"].vocabulary if w in seen)


def shows() -> dict[str, tuple[str, ...]]:
    """Dimension -> the labels whose presence changes the picture.

    Not every framing shows everything: in a tight picture (head and shoulders) trousers, belts and
    hips are outside, and in one that shows less than the whole figure so are shoes and seats. Hair
    is out of sight under a hijab, a hood or a turban; a mask hides the mouth. ``weather`` shows
    outdoors only. ``dominant_colors`` are not drawn as the record says: they follow from the
    background, and `palette_colors` tells which they are.
    """
    return {
        "mood": MOODS,
        "color_temperature": TEMPERATURES,
        "dominant_colors": _background_colors(),
        "weather": ("clear", "sunny", "cloudy", "overcast", "rain", "storm", "snow", "fog"),
        "depth_of_field": ("shallow", "medium", "deep"),
        "framing": ("tight", "medium", "wide"),
        "items": item_names(),
        "accessories": _all_but("accessories"),
        "age_range": ("young_adult", "middle_aged", "older_adult"),
        "body_type": _all_but("body_type"),
        "clothing_garment": GARMENTS,
        "clothing_color": _all_but("clothing_color"),
        "eyewear_present": ("yes", "no"),
        "eyewear_type": _all_but("eyewear_type"),
        "facial_hair_present": ("yes", "no"),
        "facial_hair_style": _all_but("facial_hair_style"),
        "facial_hair_color": _all_but("facial_hair_color"),
        "gender_presentation": _all_but("gender_presentation"),
        "gaze_direction": ("left", "right", "up", "down", "toward_camera"),
        "hair_present": ("yes", "no"),
        "hair_color": _all_but("hair_color"),
        "hair_style": _all_but("hair_style"),
        "tattoo_present": ("yes", "no"),
        "head_covering_present": ("yes", "no"),
        "head_covering_type": _all_but("head_covering_type"),
        "pose": ("standing", "sitting", "arms_crossed", "hands_on_hips"),
        "expression": _all_but("expression"),
        "skin_tone": _all_but("skin_tone"),
    }
