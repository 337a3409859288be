"""Light on the finished picture: colour temperature and mood."""

from __future__ import annotations

from functools import lru_cache

from PIL import Image, ImageChops, ImageEnhance

# Gains of red, green and blue.
_TEMPERATURES = {"warm": (1.06, 0.99, 0.82), "cool": (0.85, 0.97, 1.09), "neutral": (1.0, 1.0, 1.0)}

# Mood -> (brightness, contrast, saturation, darkness of the corners).
_MOODS = {
    "calm": (1.0, 1.0, 1.0, 0.12),
    "joyful": (1.07, 1.04, 1.22, 0.0),
    "dramatic": (0.90, 1.32, 1.0, 0.62),
    "melancholic": (0.90, 0.90, 0.42, 0.28),
    "mysterious": (0.70, 1.08, 0.80, 0.55),
}

MOODS = tuple(_MOODS)
"""Moods that change the light."""

TEMPERATURES = (*_TEMPERATURES, "mixed")
"""Colour temperatures that change the light."""


def lit(image: Image.Image, *, temperature: str, mood: str) -> Image.Image:
    """The picture in the light of a colour temperature and a mood; unknown words change nothing."""
    brightness, contrast, saturation, corners = _MOODS.get(mood, _MOODS["calm"])
    if saturation != 1.0:
        image = ImageEnhance.Color(image).enhance(saturation)
    gains = _TEMPERATURES.get(temperature, _TEMPERATURES["neutral"])
    image = image.point(_curve(gains, brightness, contrast))
    if temperature == "mixed":
        image = ImageChops.multiply(image, _two_lights(image.width))
    if corners:
        image = ImageChops.multiply(image, _vignette(image.width, corners))
    return image


@lru_cache(maxsize=64)
def _curve(gains: tuple[float, ...], brightness: float, contrast: float) -> list[int]:
    return [
        max(0, min(255, round(((v - 128) * contrast + 128) * gain * brightness)))
        for gain in gains
        for v in range(256)
    ]


@lru_cache(maxsize=16)
def _vignette(size: int, corners: float) -> Image.Image:
    radial = Image.radial_gradient("L").point(
        [round(255 * (1 - corners * max(0.0, v / 255 - 0.42) ** 1.4 * 1.6)) for v in range(256)]
    )
    return Image.merge("RGB", [radial.resize((size, size), Image.Resampling.BICUBIC)] * 3)


@lru_cache(maxsize=4)
def _two_lights(size: int) -> Image.Image:
    across = Image.linear_gradient("L").rotate(90).resize((size, size))
    warm, cool = _TEMPERATURES["warm"], _TEMPERATURES["cool"]
    strongest = max(*warm, *cool)
    bands = [
        across.point([round(255 * (w + (c - w) * v / 255) / strongest) for v in range(256)])
        for w, c in zip(warm, cool, strict=True)
    ]
    return Image.merge("RGB", bands)
