"""Name colours with the schema's vocabulary, by rules on lightness, chroma and hue.

Rules rather than nearest prototypes: with prototypes, dark and greyish pixels fall to whichever
prototype happens to be dull (tan, brown), because people name dull colours by lightness and vivid
ones by hue. ``silver`` and ``gold`` are materials: no rule on colour tells them from grey and
yellow, so they are never given.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

NAMED = (
    "white",
    "black",
    "gray",
    "beige",
    "brown",
    "tan",
    "cream",
    "red",
    "orange",
    "yellow",
    "green",
    "teal",
    "blue",
    "navy",
    "purple",
    "pink",
    "olive",
)
"""The names that can be given: the schema's colours without ``silver`` and ``gold``."""

# Upper ends of the hue ranges, in degrees, for vivid colours of middle lightness.
_HUES = (
    (22.0, "pink"),
    (46.0, "red"),
    (75.0, "orange"),
    (112.0, "yellow"),
    (176.0, "green"),
    (222.0, "teal"),
    (307.0, "blue"),
    (343.0, "purple"),
    (math.inf, "pink"),  # a hue just below 0 is 360.0 after the modulus
)


def to_lab(rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    """CIE L*a*b* (D65) of sRGB pixels; L* from 0 to 100. The shape stays, (…, 3)."""
    flat = np.ascontiguousarray(rgb.reshape(1, -1, 3), dtype=np.float32) / np.float32(255)
    lab = cv2.cvtColor(flat, cv2.COLOR_RGB2LAB)
    return np.asarray(lab, dtype=np.float32).reshape(rgb.shape)


def name_colors(lab: NDArray[np.float32]) -> NDArray[np.int64]:
    """Name every colour.

    Args:
        lab: CIE L*a*b* values, shape (n, 3).

    Returns:
        Shape (n,): index into NAMED.
    """
    light, a, b = (lab[:, axis].astype(np.float64) for axis in range(3))
    chroma = np.hypot(a, b)
    hue = np.degrees(np.arctan2(b, a)) % 360
    names = _by_hue(light, chroma, hue)
    names = np.where(_earthy(hue), _earth_tones(light, chroma, hue, names), names)
    return _dull(light, chroma, hue, names)


def _index(name: str) -> int:
    return NAMED.index(name)


def _by_hue(
    light: NDArray[np.float64], chroma: NDArray[np.float64], hue: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Names of vivid colours; pale reds are pink, dark blues are navy."""
    ends = [end for end, _ in _HUES]
    names = np.array([_index(name) for _, name in _HUES])[np.searchsorted(ends, hue, side="right")]
    reddish = (hue < 46) | (hue >= 343)
    names = np.where(reddish, _index("red"), names)
    pale = reddish & ((light >= 62) | (((hue < 15) | (hue >= 343)) & (light >= 52)))
    names = np.where(pale, _index("pink"), names)
    blue = (hue >= 222) & (hue < 307)
    # Pure blue has L* 32; below it a blue is navy unless it is very vivid.
    names = np.where(blue & (light < np.where(chroma < 75, 30, 20)), _index("navy"), names)
    names = np.where(blue & (hue >= 302) & (light >= 40), _index("purple"), names)
    return np.where((hue >= 307) & (hue < 343) & (light >= 68), _index("pink"), names)


def _earthy(hue: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (hue >= 20) & (hue < 130)


def _earth_tones(
    light: NDArray[np.float64],
    chroma: NDArray[np.float64],
    hue: NDArray[np.float64],
    names: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Between red and green, a colour's name depends on how light and how vivid it is."""
    brown = (hue < 88) & (light < 58) & ((chroma < 48) | ((hue >= 46) & (light < 52)))
    names = np.where(brown, _index("brown"), names)
    olive = (hue >= 88) & (light < 65) & (chroma >= 12)
    names = np.where(olive, _index("olive"), names)
    tan = (hue >= 40) & (hue < 95) & (light >= 58) & (light < 85) & (chroma < 46)
    names = np.where(tan, _index("tan"), names)
    beige = (hue >= 40) & (hue < 115) & (light >= 70) & (light < 92) & (chroma < 22)
    names = np.where(beige, _index("beige"), names)
    cream = (hue >= 60) & (hue < 115) & (light >= 90) & (chroma < 32)
    return np.where(cream, _index("cream"), names)


def _dull(
    light: NDArray[np.float64],
    chroma: NDArray[np.float64],
    hue: NDArray[np.float64],
    names: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Colours without enough chroma for a hue are grey, black or white."""
    warm = (hue >= 40) & (hue < 110)
    limit = np.where(warm, 8, np.where(light < 45, 13, 10))
    names = np.where(chroma < limit, _index("gray"), names)
    names = np.where((light >= 92) & (chroma < 6), _index("white"), names)
    return np.where((light < 10) | ((light < 22) & (chroma < 14)), _index("black"), names)
