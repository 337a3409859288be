"""What pixels alone tell: colour temperature, dominant colours, depth of field, framing.

The thresholds are named here with where they come from; those marked *set on the pictures* were
chosen on the same pictures that docs/local-reader.md reports on, so that its figures for them are
optimistic.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from contextbias.extract.local.color_names import NAMED, name_colors, to_lab
from contextbias.extract.local.light import LINEAR, TO_XYZ
from contextbias.schema import UNKNOWN

WARM_BELOW = 4600.0
"""Kelvin; set on the pictures."""
COOL_ABOVE = 6700.0
"""Kelvin; a little above daylight (6504 K), the white of sRGB."""
OFF_LOCUS = 0.05
"""Distance from the Planckian locus (CIE 1960 u, v) beyond which a colour temperature is not
defined (CIE 15)."""
DOMINANT_SHARE = 0.10
"""A colour that covers less of the picture is not dominant."""
DOMINANT_COUNT = 5
"""At most so many dominant colours."""
SHALLOW_BELOW = 1.5
"""Ratio of fine to coarse gradients (1 out of focus, 2 sharp edges); set on the pictures."""
DEEP_FROM = 1.75
"""Ratio of fine to coarse gradients; set on the pictures."""
SMALLEST_FOR_DEPTH = 640
"""Pixels of the longer side below which blur cannot be told from lack of pixels."""
TIGHT_ABOVE = 0.25
"""Height of the largest face / height of the picture."""
WIDE_BELOW = 0.08
"""Height of the largest face / height of the picture."""
COLOR_SIDE = 160
"""Pixels of the longer side at which colours are counted."""
BLANK_BELOW = 1.5
"""Standard deviation of L* below which a picture shows nothing."""

_ANALYSIS_SIDE = 768
_TILES = 8
_COARSE = 4
_TEXTURE = 2.0
_QUANTILE = 25.0


@dataclass(frozen=True, slots=True)
class PixelReading:
    """What the pixels of one picture say."""

    color_temperature: str
    """``warm``, ``neutral``, ``cool`` or ``unknown``."""
    dominant_colors: list[str]
    """Names of the colours that cover most, the largest share first."""
    depth_of_field: str
    """``shallow``, ``medium``, ``deep`` or ``unknown``."""
    blank: bool
    """True when the picture shows nothing at all."""
    cct: float | None
    """Correlated colour temperature in kelvin; None when it is not defined."""
    focus_ratio: float | None
    """See `focus_ratio`; None when the picture has too little texture or too few pixels."""
    shares: dict[str, float]
    """Share of the picture for each colour name, the largest first."""


def read_pixels(rgb: NDArray[np.uint8]) -> PixelReading:
    """Read a picture's pixels; `rgb` has the shape (height, width, 3)."""
    analysed = reduce_to(rgb, _ANALYSIS_SIDE)
    lab = to_lab(reduce_to(rgb, COLOR_SIDE))
    blank = float(lab[..., 0].std()) < BLANK_BELOW
    cct = None if blank else color_temperature(analysed)
    ratio = focus_ratio(analysed) if max(rgb.shape) >= SMALLEST_FOR_DEPTH else None
    shares = color_shares(lab)
    return PixelReading(
        color_temperature=_temperature_label(cct),
        dominant_colors=_dominant(shares),
        depth_of_field=_depth_label(ratio),
        blank=blank,
        cct=cct,
        focus_ratio=ratio,
        shares=shares,
    )


def reduce_to(rgb: NDArray[np.uint8], long_side: int) -> NDArray[np.uint8]:
    """The picture with at most `long_side` pixels on its longer side; never enlarged."""
    height, width = rgb.shape[:2]
    scale = long_side / max(height, width)
    if scale >= 1:
        return rgb
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def color_temperature(rgb: NDArray[np.uint8]) -> float | None:
    """Correlated colour temperature of a picture's mean colour.

    With x, y the chromaticity of the mean XYZ: n = (x - 0.3320) / (0.1858 - y) and
    CCT = 449 n^3 + 3525 n^2 + 6823.3 n + 5520.33 (McCamy 1992).

    Returns:
        Kelvin, or None when the picture is black or its mean colour is farther from the Planckian
        locus than OFF_LOCUS (green or purple pictures, for example).
    """
    histogram = [np.bincount(rgb[..., band].ravel(), minlength=256) for band in range(3)]
    xyz = TO_XYZ @ np.array([counts @ LINEAR / counts.sum() for counts in histogram])
    if xyz.sum() < 1e-6:
        return None
    x, y = xyz[0] / xyz.sum(), xyz[1] / xyz.sum()
    n = (x - 0.3320) / (0.1858 - y)
    cct = float(449 * n**3 + 3525 * n**2 + 6823.3 * n + 5520.33)
    if not 1000 <= cct <= 15000:  # where the approximation of the locus holds
        return None
    divisor = -2 * x + 12 * y + 3
    distance = np.hypot(*(np.array([4 * x, 6 * y]) / divisor - _planckian(cct)))
    return cct if distance <= OFF_LOCUS else None


def _planckian(kelvin: float) -> NDArray[np.float64]:
    """CIE 1960 (u, v) of a black body (Krystek 1985; 1000 to 15000 K)."""
    t = kelvin
    u = (0.860117757 + 1.54118254e-4 * t + 1.28641212e-7 * t * t) / (
        1 + 8.42420235e-4 * t + 7.08145163e-7 * t * t
    )
    v = (0.317398726 + 4.22806245e-5 * t + 4.20481691e-8 * t * t) / (
        1 - 2.89741816e-5 * t + 1.61456053e-7 * t * t
    )
    return np.array([u, v])


def color_shares(lab: NDArray[np.float32]) -> dict[str, float]:
    """Share of the pixels that each colour name covers, the largest first; zero shares left out.

    Args:
        lab: CIE L*a*b* values, shape (height, width, 3).
    """
    counts = np.bincount(name_colors(lab.reshape(-1, 3)), minlength=len(NAMED))
    order = np.argsort(-counts, kind="stable")
    return {NAMED[i]: float(counts[i] / counts.sum()) for i in order if counts[i]}


def focus_ratio(rgb: NDArray[np.uint8]) -> float | None:
    """How sharp the picture's softest parts are: fine over coarse gradients.

    In each of 8 x 8 tiles: root mean square of the gradient between neighbouring pixels, divided by
    that of the picture reduced four times, per original pixel. Blur over several pixels leaves both
    alike, ratio 1; across a sharp edge of height h the squared gradients add up to h^2 / 2 for each
    pixel of its length, and to h^2 / 8 when reduced, ratio 2. The 25th percentile over the tiles
    with texture speaks for the background. A 3 x 3 median comes first, because film grain looks
    like detail.

    Args:
        rgb: The picture, already reduced to the analysis size.

    Returns:
        The ratio, or None when fewer than a quarter of the tiles have any texture.
    """
    gray = cv2.medianBlur(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), 3).astype(np.float32)
    if min(gray.shape) < _TILES * _COARSE:
        return None
    reduced = cv2.resize(gray, None, fx=1 / _COARSE, fy=1 / _COARSE, interpolation=cv2.INTER_AREA)
    fine, coarse = (
        cv2.resize(_squared_gradient(level), (_TILES, _TILES), interpolation=cv2.INTER_AREA)
        for level in (gray, np.asarray(reduced, dtype=np.float32))
    )
    textured = coarse > _TEXTURE**2
    if textured.mean() < 0.25:
        return None
    ratios = np.sqrt(fine[textured] / coarse[textured]) * _COARSE
    return float(np.percentile(ratios, _QUANTILE))


def framing(face_height: float | None) -> str:
    """Framing by the height of the largest face as a share of the picture's height.

    Returns:
        ``tight``, ``medium`` or ``wide``; ``unknown`` for None (no face).
    """
    if face_height is None:
        return UNKNOWN
    if face_height > TIGHT_ABOVE:
        return "tight"
    return "wide" if face_height < WIDE_BELOW else "medium"


def _squared_gradient(gray: NDArray[np.float32]) -> NDArray[np.float32]:
    """Squared gradient in grey levels a pixel (Sobel, scaled to unit step)."""
    across = cv2.Sobel(gray, cv2.CV_32F, 1, 0, scale=1 / 8)
    down = cv2.Sobel(gray, cv2.CV_32F, 0, 1, scale=1 / 8)
    return np.asarray(across**2 + down**2, dtype=np.float32)


def _temperature_label(cct: float | None) -> str:
    if cct is None:
        return UNKNOWN
    if cct < WARM_BELOW:
        return "warm"
    return "cool" if cct > COOL_ABOVE else "neutral"


def _depth_label(ratio: float | None) -> str:
    if ratio is None:
        return UNKNOWN
    if ratio < SHALLOW_BELOW:
        return "shallow"
    return "deep" if ratio >= DEEP_FROM else "medium"


def _dominant(shares: dict[str, float]) -> list[str]:
    """Names with at least DOMINANT_SHARE; the largest share alone when none has that much."""
    large = [name for name, share in shares.items() if share >= DOMINANT_SHARE]
    return large[:DOMINANT_COUNT] or list(shares)[:1]
