"""Light: colour temperature, the shape that it gives to a figure, mood."""

from __future__ import annotations

from functools import lru_cache

from PIL import Image, ImageChops, ImageEnhance

# Gains of red, green and blue on the background.
_TEMPERATURES = {"warm": (1.06, 0.98, 0.80), "cool": (0.84, 0.97, 1.10), "neutral": (1.0, 1.0, 1.0)}

# The part of a gain that reaches people.
_ON_PEOPLE = 0.30

# Mood -> (brightness, contrast, saturation, darkness of the corners).
_MOODS = {
    "calm": (1.0, 1.0, 1.0, 0.0),
    "joyful": (1.07, 1.04, 1.22, 0.0),
    "dramatic": (0.90, 1.32, 1.0, 0.62),
    "melancholic": (0.90, 0.92, 0.5, 0.30),
    "mysterious": (0.70, 1.08, 0.80, 0.55),
}

MOODS = tuple(_MOODS)
"""Moods that change the light."""

TEMPERATURES = (*_TEMPERATURES, "mixed")
"""Colour temperatures that change the light."""


def tinted(image: Image.Image, temperature: str) -> Image.Image:
    """An RGB image in light of a colour temperature; unknown words change nothing."""
    if temperature == "mixed":
        return ImageChops.multiply(image, _two_lights(image.size))
    gains = _TEMPERATURES.get(temperature)
    return image.point(_gain_curve(gains)) if gains and temperature != "neutral" else image


def shaped(
    layer: Image.Image, temperature: str, *, at: tuple[int, int], size: int, breadth: float
) -> Image.Image:
    """An RGBA layer lit from the upper left, with part of the colour of the light on it.

    Args:
        layer: Part of a picture.
        temperature: Colour temperature of the light.
        at: Where the layer's upper left corner is in the picture.
        size: Width and height of the picture.
        breadth: The part of the picture's width, about its middle, over which light turns to shade.
    """
    gains = _TEMPERATURES.get(temperature, _TEMPERATURES["neutral"])
    soft = tuple(1 + (g - 1) * _ON_PEOPLE for g in gains)
    left, top = at
    box = (left, top, left + layer.width, top + layer.height)
    return ImageChops.multiply(layer, _form(size, breadth, soft).crop(box))


def in_mood(image: Image.Image, mood: str) -> Image.Image:
    """An RGB image in the light of a mood; unknown words change nothing."""
    brightness, contrast, saturation, corners = _MOODS.get(mood, _MOODS["calm"])
    if saturation != 1.0:
        image = ImageEnhance.Color(image).enhance(saturation)
    if brightness != 1.0 or contrast != 1.0:
        image = image.point(_mood_curve(brightness, contrast))
    return ImageChops.multiply(image, vignette(image.width, corners)) if corners else image


def _clip(value: float) -> int:
    return max(0, min(255, round(value)))


@lru_cache(maxsize=16)
def _gain_curve(gains: tuple[float, ...]) -> list[int]:
    return [_clip(v * gain) for gain in gains for v in range(256)]


@lru_cache(maxsize=16)
def _mood_curve(brightness: float, contrast: float) -> list[int]:
    return [_clip(((v - 128) * contrast + 128) * brightness) for v in range(256)] * 3


@lru_cache(maxsize=4)
def slope(size: tuple[int, int]) -> Image.Image:
    """A factor image: light falls into a room from the upper left, and thins towards the floor."""
    curves = [
        [_clip(255 * (1 - dark * v / 255)) for v in range(256)] for dark in (0.17, 0.18, 0.13)
    ]
    ramp = Image.blend(_across(size), _down(size), 0.5)
    return Image.merge("RGB", [ramp.point(curve) for curve in curves])


def _across(size: tuple[int, int]) -> Image.Image:
    return Image.linear_gradient("L").rotate(90).resize(size, Image.Resampling.BICUBIC)


def _down(size: tuple[int, int]) -> Image.Image:
    return Image.linear_gradient("L").resize(size, Image.Resampling.BICUBIC)


@lru_cache(maxsize=32)
def _form(size: int, breadth: float, gains: tuple[float, ...]) -> Image.Image:
    """Full light at the upper left, four fifths of it at the lower right, violet in the shade."""
    middle = round(size * breadth)
    across = Image.new("L", (size, size), 255)
    across.paste(0, (0, 0, (size - middle) // 2, size))
    across.paste(_across((middle, size)), ((size - middle) // 2, 0))
    ramp = Image.blend(across, _down((size, size)), 0.45)
    top = max(1.0, *gains)
    shades = zip(gains, (0.17, 0.20, 0.12), strict=True)
    bands = [ramp.point(_shade_curve(gain / top, dark)) for gain, dark in shades]
    return Image.merge("RGBA", [*bands, Image.new("L", (size, size), 255)])


@lru_cache(maxsize=32)
def _shade_curve(gain: float, dark: float) -> list[int]:
    return [_clip(255 * gain * (1 - dark * _smooth(v / 255))) for v in range(256)]


def _smooth(t: float) -> float:
    u = max(0.0, min(1.0, (t - 0.22) / 0.62))
    return u * u * (3 - 2 * u)


@lru_cache(maxsize=16)
def vignette(size: int, corners: float) -> Image.Image:
    """A factor image that is dark towards the corners by up to about `corners`."""
    radial = Image.radial_gradient("L").point(
        [round(255 * (1 - corners * max(0.0, v / 255 - 0.42) ** 1.4 * 1.6)) for v in range(256)]
    )
    return Image.merge("RGB", [radial.resize((size, size), Image.Resampling.BICUBIC)] * 3)


@lru_cache(maxsize=8)
def _two_lights(size: tuple[int, int]) -> Image.Image:
    across = Image.linear_gradient("L").rotate(90).resize(size)
    warm, cool = _TEMPERATURES["warm"], _TEMPERATURES["cool"]
    strongest = max(*warm, *cool)
    bands = [
        across.point([_clip(255 * (w + (c - w) * v / 255) / strongest) for v in range(256)])
        for w, c in zip(warm, cool, strict=True)
    ]
    return Image.merge("RGB", bands)
