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
_DRAWN_AT = 576
_CORNERS = 0.12

# Framing -> the part of the background that is seen: left, top, right, bottom in its own units.
_WINDOWS = {
    "wide": (0.0, 0.0, 640.0, 640.0),
    "medium": (40.0, 6.0, 600.0, 566.0),
    "tight": (84.0, 24.0, 556.0, 496.0),
}

# Depth of field -> (the background is first reduced by, then blurred by).
_BLURS = {"shallow": (4, 2.6), "medium": (2, 1.5)}


def rasterise(svg: str) -> Image.Image:
    """Render a document; the result has an alpha channel."""
    data = resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True)
    image = Image.open(io.BytesIO(bytes(data)))
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
    """
    luck = chance("background", location, seed)
    palette = setting.palettes.index(palette_for(setting, location, seed))
    layout = luck.randrange(_LAYOUTS) if setting.indoor else 0
    mirrored = chance("mirror", location, palette, layout).random() < 0.5
    view = _viewed(setting.name, palette, layout, weather, framing, depth, mirrored, size)
    return light.tinted(view, temperature) if temperature != "neutral" else view.copy()


@lru_cache(maxsize=96)
def _viewed(
    name: str,
    palette: int,
    layout: int,
    weather: str,
    framing: str,
    depth: str,
    mirrored: bool,
    size: int,
) -> Image.Image:
    whole = _drawn(name, palette, layout, weather)
    left, top, right, bottom = (v * _DRAWN_AT / SIZE for v in _WINDOWS[framing])
    factor, radius = _BLURS.get(depth, (1, 0.0))
    small = max(size // factor, 1)
    view = whole.resize(
        (small, small),
        Image.Resampling.BICUBIC,
        box=(left, top, right, bottom),
        reducing_gap=2.0,
    )
    if radius:
        view = view.filter(ImageFilter.GaussianBlur(radius * size / 512))
        view = view.resize((size, size), Image.Resampling.BICUBIC)
    view = ImageOps.mirror(view) if mirrored else view
    return ImageChops.multiply(view, light.vignette(size, _CORNERS))


@lru_cache(maxsize=64)
def _drawn(name: str, palette: int, layout: int, weather: str) -> Image.Image:
    setting = settings()[name]
    paints = setting.palettes[palette]
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
    draw = _DRAWN_BY[name]
    drawn = draw(pen)
    if weather == "fog":
        drawn += box(-20, -20, 680, 680, ink.fade("#dfe4e6", 0.78, 0.45))
    image = rasterise(ink.document(drawn, (0, 0, SIZE, SIZE), _DRAWN_AT, _DRAWN_AT)).convert("RGB")
    return ImageChops.multiply(image, light.slope(image.size)) if setting.indoor else image


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
