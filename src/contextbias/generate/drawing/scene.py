"""Backgrounds as pixels: drawn once a process, then cropped, blurred and mirrored."""

from __future__ import annotations

import io
from functools import lru_cache

import resvg_py
from PIL import Image, ImageChops, ImageFilter, ImageOps

from contextbias.generate.drawing import light
from contextbias.generate.drawing.exteriors import EXTERIORS
from contextbias.generate.drawing.look import chance
from contextbias.generate.drawing.props import SIZE, Pen
from contextbias.generate.drawing.rooms import ROOMS
from contextbias.generate.drawing.settings import Setting, palette_for, settings
from contextbias.generate.drawing.svg import Ink, box, line, oval
from contextbias.generate.drawing.workplaces import WORKPLACES

_DRAWN_BY = WORKPLACES | ROOMS | EXTERIORS

_LAYOUTS = 2
_CORNERS = 0.12

_DRAWN_AT = 585
"""Pixels of a whole background: the part seen in a medium picture is then 512 pixels wide."""

# Framing -> the part of the background that is seen: left, top, right, bottom in its pixels.
_WINDOWS = {
    "wide": (0, 0, 585, 585),
    "medium": (37, 5, 549, 517),
    "tight": (77, 22, 508, 453),
}

# Depth of field -> (the background is first reduced by, then blurred by).
_BLURS = {"shallow": (4, 2.6), "medium": (2, 1.5)}


def rasterise(svg: str) -> Image.Image:
    """Render a document; the result has an alpha channel."""
    return _decoded(_rendered(svg))


def _rendered(svg: str) -> bytes:
    """A document as the renderer's PNG file."""
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True))


def _decoded(png: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(png))
    image.load()
    return image


def background(
    setting: Setting,
    *,
    location: str | None,
    seed: int,
    weather: str,
    framing: str,
    depth: str,
    temperature: str,
    size: int,
) -> Image.Image:
    """The picture without anybody in it: RGB, `size` pixels square; a copy to draw on.

    A location has few looks (palette, layout, side), so that most pictures find theirs drawn.
    Blurred views stay small until the light is on them: they are cheap to keep and to tint.
    """
    luck = chance("background", location, seed)
    palette = setting.palettes.index(palette_for(setting, location, seed))
    layout = luck.randrange(_LAYOUTS) if setting.indoor else 0
    mirrored = chance("mirror", location, palette, layout).random() < 0.5
    scene = (setting.name, palette, layout, weather)
    if depth in _BLURS:
        view = _blurred(scene, framing, depth, mirrored, size)
        lit = light.tinted(view, temperature)
        return lit.resize((size, size), Image.Resampling.BICUBIC)
    return light.tinted(_sharp(scene, framing, mirrored, size).copy(), temperature)


_Scene = tuple[str, int, int, str]
"""Archetype, palette, layout, weather."""


@lru_cache(maxsize=384)
def _blurred(scene: _Scene, framing: str, depth: str, mirrored: bool, size: int) -> Image.Image:
    factor, radius = _BLURS[depth]
    half = _reduced(scene)
    window = tuple(v * half.width / _DRAWN_AT for v in _WINDOWS[framing])
    view = _cut(half, window, max(size // factor, 1))
    view = view.filter(ImageFilter.GaussianBlur(radius * size / 512))
    return _finished(view, mirrored)


@lru_cache(maxsize=48)
def _sharp(scene: _Scene, framing: str, mirrored: bool, size: int) -> Image.Image:
    return _finished(_cut(_lit(scene), _WINDOWS[framing], size), mirrored)


def _cut(whole: Image.Image, window: tuple[float, ...], size: int) -> Image.Image:
    left, top, right, bottom = window
    return whole.resize(
        (size, size), Image.Resampling.BICUBIC, box=(left, top, right, bottom), reducing_gap=2.0
    )


def _finished(view: Image.Image, mirrored: bool) -> Image.Image:
    view = ImageOps.mirror(view) if mirrored else view
    return ImageChops.multiply(view, light.vignette(view.width, _CORNERS))


@lru_cache(maxsize=192)
def _reduced(scene: _Scene) -> Image.Image:
    """The whole background at half size, for blurred views."""
    return _lit(scene).reduce(2)


def _lit(scene: _Scene) -> Image.Image:
    """The whole background at full size."""
    image = _decoded(_drawn(scene)).convert("RGB")
    return (
        ImageChops.multiply(image, light.slope(image.size))
        if settings()[scene[0]].indoor
        else image
    )


@lru_cache(maxsize=512)
def _drawn(scene: _Scene) -> bytes:
    """The whole background as the renderer's file: a twentieth of the pixels' memory."""
    name, palette, layout, weather = scene
    paints = settings()[name].palettes[palette]
    ink = Ink()
    pen = Pen(
        ink,
        paints.wall,
        paints.floor,
        paints.accent,
        paints.second,
        paints.wood,
        weather,
        chance("scene", name, palette, layout),
    )
    drawn = _DRAWN_BY[name](pen)
    if weather == "fog":
        drawn += box(-20, -20, 680, 680, ink.fade("#dfe4e6", 0.78, 0.45))
    return _rendered(ink.document(drawn, (0, 0, SIZE, SIZE), _DRAWN_AT, _DRAWN_AT))


@lru_cache(maxsize=32)
def weather_in_front(weather: str, variant: int, size: int) -> Image.Image | None:
    """Rain, snow or fog between the eye and the person; None for other weather."""
    luck = chance("weather", weather, variant)
    ink = Ink()
    if weather in ("rain", "storm"):
        drops = "".join(
            f"M{luck.uniform(-40, 540):.0f} {luck.uniform(-30, 512):.0f}l-7 {luck.uniform(18, 34):.0f}"
            for _ in range(130)
        )
        body = line(drops, "#eaf2f8", 1.7, 'stroke-opacity="0.55"')
    elif weather == "snow":
        body = "".join(
            oval(luck.uniform(0, 512), luck.uniform(0, 512), r, r, "#ffffff", 'fill-opacity="0.85"')
            for r in (luck.uniform(1.4, 4.6) for _ in range(120))
        )
    elif weather == "fog":
        paint = ink.fade("#e6eaec", 0.34, 0.12)
        body = f'<rect width="512" height="512" fill="{paint}"/>'
    else:
        return None
    return rasterise(ink.document(body, (0, 0, 512, 512), size, size)).convert("RGBA")
