"""From sRGB levels to light: linear values, luminance, and lightness against a picture's white."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LEVELS = np.arange(256) / 255.0

LINEAR: NDArray[np.float64] = np.where(
    _LEVELS <= 0.04045, _LEVELS / 12.92, ((_LEVELS + 0.055) / 1.055) ** 2.4
)
"""Linear light, 0 to 1, of each of the 256 levels (IEC 61966-2-1)."""

TO_XYZ: NDArray[np.float64] = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
)
"""Linear sRGB to CIE XYZ (D65); the middle row gives the luminance."""

WHITE_QUANTILE = 97.0
"""A picture's white is this percentile of its luminance: lamps and glints lie above it."""

_DARKEST_WHITE = 0.05


def luminance(rgb: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Relative luminance Y, 0 to 1, of sRGB pixels of shape (…, 3); the last axis goes."""
    return np.asarray(LINEAR[rgb] @ TO_XYZ[1])


def white_luminance(rgb: NDArray[np.uint8]) -> float:
    """Luminance that counts as white in a picture, at least 0.05 (a night scene stays dark)."""
    return max(float(np.percentile(luminance(rgb), WHITE_QUANTILE)), _DARKEST_WHITE)


def lightness(y: float, white: float = 1.0) -> float:
    """CIE lightness L* of a luminance against a white: 116 f(y / white) - 16 (CIE 15).

    f(t) is the cube root of t, and t / (3 (6/29)^2) + 4/29 below (6/29)^3. Values above 100 are cut
    to 100.
    """
    t = y / white
    f = t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29
    return min(116 * f - 16, 100.0)
