"""Furniture, plants, buildings: the parts from which the backgrounds are built.

A background is 640 x 640 units, the floor of a room begins at y = `FLOOR_LINE`, and the person
stands in the middle: what tells the place apart is at the left and the right, at eye level.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from contextbias.generate.drawing.svg import (
    Ink,
    box,
    darker,
    lighter,
    line,
    mix,
    oval,
    path,
)

FLOOR_LINE = 430.0
"""y at which wall and floor meet."""

SIZE = 640.0
"""Width and height of a background in its own units."""


@dataclass(frozen=True, slots=True)
class Pen:
    """Everything that the drawing of one background may use."""

    ink: Ink
    """The document's gradients."""
    wall: str
    """Paint of walls, or of what is far outdoors."""
    floor: str
    """Paint of floor or ground."""
    accent: str
    """Paint of the main coloured things."""
    second: str
    """Paint of a second kind of coloured things."""
    wood: str
    """Paint of furniture."""
    weather: str
    """A label of the codebook; for what is seen through windows too."""
    luck: random.Random
    """Small variations."""

    def far(self, color: str, share: float = 0.35) -> str:
        """The colour of a distant thing: air between it and the eye."""
        return mix(color, self.wall, share)


def wall_and_floor(pen: Pen, *, skirting: bool = True) -> str:
    """A wall, a floor, and a skirting board between them; the light comes later."""
    wall = box(-20, -20, 680, 470, lighter(pen.wall, 0.2))
    floor = box(-20, FLOOR_LINE, 680, 240, pen.floor)
    board = box(-20, FLOOR_LINE - 9, 680, 10, lighter(pen.wall, 0.45)) if skirting else ""
    return wall + floor + board


def tiles(pen: Pen, *, opacity: float = 0.4) -> str:
    """Floor tiles in perspective."""
    rays = "".join(
        f"M{320 + x * 0.62:.0f} 430L{320 + x * 1.9:.0f} 650" for x in range(-520, 521, 104)
    )
    rows = "".join(f"M-20 {y}H660" for y in (446, 470, 506, 560, 632))
    return line(rays + rows, darker(pen.floor, 0.22), 1.6, f'stroke-opacity="{opacity}"')


def wall_tiles(pen: Pen) -> str:
    """Staggered wall tiles."""
    grid = "".join(f"M-20 {y}H660" for y in range(20, 420, 36))
    ups = "".join(
        f"M{x + (18 if (y // 36) % 2 else 0)} {y}v36"
        for y in range(20, 400, 36)
        for x in range(-10, 660, 72)
    )
    return line(grid + ups, lighter(pen.wall, 0.4), 1.8, 'stroke-opacity="0.55"')


def planks(pen: Pen) -> str:
    """Floor boards in perspective."""
    rays = "".join(
        f"M{320 + x * 0.62:.0f} 430L{320 + x * 1.9:.0f} 650" for x in range(-520, 521, 58)
    )
    ends = "M100 452h30M420 470h44M220 500h50M520 530h60M40 560h70M330 590h80"
    return line(rays + ends, darker(pen.floor, 0.24), 1.8, 'stroke-opacity="0.45"')


def sky_paint(pen: Pen) -> str:
    """What fills a window pane: the sky of the weather outside."""
    top, low = {
        "sunny": ("#8fcbee", "#fdf0cf"),
        "rain": ("#7d8fa3", "#b8c3cc"),
        "snow": ("#b6c6d8", "#eef3f7"),
        "fog": ("#c3ccd2", "#e3e7e8"),
    }.get(pen.weather, ("#a3d0ea", "#eaf4f4"))
    return pen.ink.linear(top, low)


def window(pen: Pen, x: float, y: float, w: float, h: float, *, bars: int = 2) -> str:
    """A window with panes, sill and a distant view."""
    frame = lighter(pen.wall, 0.6)
    view = box(x, y, w, h, sky_paint(pen))
    hill = path(
        f"M{x} {y + h * 0.72}q{w * 0.25} {-h * 0.16} {w * 0.5} {-h * 0.02}t{w * 0.5} {-h * 0.06}V{y + h}H{x}Z",
        mix("#7fae8c", "#dfeee6", 0.35),
    )
    rails = (
        "".join(f"M{x + w * i / bars:.0f} {y}v{h}" for i in range(1, bars))
        + f"M{x} {y + h * 0.42:.0f}h{w}"
    )
    rim = f'<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="none" stroke="{frame}" stroke-width="9"/>'
    sill = box(x - 10, y + h, w + 20, 10, lighter(frame, 0.1)) + box(
        x - 8, y + h + 10, w + 16, 4, darker(pen.wall, 0.2)
    )
    return view + hill + line(rails, frame, 5) + rim + sill


def sunbeam(pen: Pen, x: float, y: float, w: float) -> str:
    """Light that falls from a window on the floor."""
    d = f"M{x} {y}h{w}L{x + w + 170} 650H{x + 110}Z"
    return path(d, pen.ink.fade("#fff3cf", 0.30, 0.03))


def pendant(pen: Pen, x: float, drop: float, color: str) -> str:
    """A hanging lamp and its light."""
    shade = f"M{x - 9} {drop}H{x + 9}L{x + 34} {drop + 34}Q{x} {drop + 42} {x - 34} {drop + 34}Z"
    return (
        oval(x, drop + 70, 110, 90, pen.ink.glow("#ffe9b0", 0.55))
        + line(f"M{x} -10V{drop}", darker(pen.wall, 0.5), 3)
        + path(shade, pen.ink.soft(color))
        + oval(x, drop + 38, 22, 6, "#fff4d2")
    )


def plant(pen: Pen, x: float, y: float, size: float = 1.0) -> str:
    """A big potted plant standing at (x, y)."""
    green = mix("#4f8f5a", pen.wall, 0.12)
    leaves = (
        "M0 -60C-10 -130 -60 -150 -84 -190C-40 -190 -8 -150 0 -90C0 -150 20 -210 44 -230"
        "C54 -180 30 -130 4 -80C30 -120 60 -140 96 -140C80 -100 40 -76 4 -60C-30 -90 -60 -96 -96 -88C-70 -60 -30 -56 0 -50Z"
    )
    veins = "M0 -60C-16 -120 -50 -150 -74 -182M2 -70C8 -140 26 -190 41 -220M4 -64C34 -100 60 -124 86 -134"
    pot = "M-38 -62H38L30 0H-30Z"
    return (
        f'<g transform="translate({x} {y}) scale({size})">'
        + oval(0, 2, 46, 8, "#000000", 'fill-opacity="0.14"')
        + path(leaves, pen.ink.linear(lighter(green, 0.2), darker(green, 0.25)))
        + line(veins, darker(green, 0.3), 3, 'stroke-opacity="0.5"')
        + path(pot, pen.ink.soft(pen.second))
        + box(-42, -68, 84, 14, lighter(pen.second, 0.12), 4)
        + "</g>"
    )


def shelf(pen: Pen, x: float, y: float, w: float, h: float, rows: int, fill: str) -> str:
    """A set of shelves filled with books, boxes, jars or bottles."""
    back = box(x, y, w, h, darker(pen.wood, 0.32), 3)
    gap = h / rows
    goods = "".join(
        _goods(pen, fill, x + 7, y + gap * (r + 1) - 5, w - 14, gap - 14) for r in range(rows)
    )
    boards = "".join(
        box(x, y + gap * (r + 1) - 5, w, 6, lighter(pen.wood, 0.1)) for r in range(rows)
    )
    rim = box(x - 5, y - 5, w + 10, 8, lighter(pen.wood, 0.12), 2)
    sides = box(x - 5, y, 7, h, pen.wood) + box(x + w - 2, y, 7, h, darker(pen.wood, 0.15))
    return back + goods + boards + rim + sides


_GOODS = {
    "books": (7, 13, 0.62, 0.98, 1.0),
    "boxes": (20, 36, 0.5, 0.95, 2.0),
    "jars": (15, 22, 0.5, 0.85, 6.0),
    "bottles": (9, 13, 0.55, 0.98, 4.0),
}


def _goods(pen: Pen, kind: str, x: float, base: float, w: float, h: float) -> str:
    narrow, wide, low, high, round_ = _GOODS[kind]
    tones = [pen.accent, pen.second, "#c96f4a", "#e3c27a", "#6f8fa8", "#f0e6d2", "#7d9a6d"]
    paths: dict[str, str] = {}
    at = x
    while at < x + w - narrow:
        width = min(pen.luck.uniform(narrow, wide), x + w - at)
        height = h * pen.luck.uniform(low, high)
        tone = pen.far(pen.luck.choice(tones), 0.22)
        r = min(round_, width / 3)
        piece = f"M{at:.1f} {base:.1f}v{-height + r:.1f}q0 {-r} {r} {-r}h{width - 2 * r:.1f}q{r} 0 {r} {r}v{height - r:.1f}Z"
        paths[tone] = paths.get(tone, "") + piece
        at += width + (2.5 if kind != "books" else 0.8)
    return "".join(path(d, tone) for tone, d in paths.items())


def table(pen: Pen, x: float, y: float, w: float, h: float, color: str | None = None) -> str:
    """A table seen from the front; y is its top."""
    wood = color or pen.wood
    top = box(x, y, w, 11, lighter(wood, 0.16), 3)
    edge = box(x + 4, y + 11, w - 8, 9, darker(wood, 0.22))
    feet = box(x + 10, y + 20, 12, h - 20, darker(wood, 0.12)) + box(
        x + w - 22, y + 20, 12, h - 20, darker(wood, 0.25)
    )
    shade = oval(x + w / 2, y + h, w * 0.52, 8, "#000000", 'fill-opacity="0.14"')
    return shade + feet + edge + top


def cupboard(pen: Pen, x: float, y: float, w: float, h: float, color: str, doors: int = 2) -> str:
    """A closed cupboard with doors and handles."""
    body = box(x, y, w, h, pen.ink.soft(color), 3)
    each = w / doors
    seams = "".join(f"M{x + each * i:.1f} {y + 5}v{h - 10}" for i in range(1, doors))
    inner = "".join(
        f"M{x + each * i + 8:.1f} {y + 9}h{each - 16:.1f}v{h - 18}h{16 - each:.1f}Z"
        for i in range(doors)
    )
    grips = "".join(
        f"M{x + each * i + each - 15:.1f} {y + h * 0.45:.1f}v{min(22, h * 0.2):.1f}"
        for i in range(doors)
    )
    return (
        body
        + line(seams + inner, darker(color, 0.2), 1.8, 'stroke-opacity="0.7"')
        + line(grips, darker(color, 0.5), 4)
        + box(x - 3, y - 5, w + 6, 8, lighter(color, 0.25), 2)
    )


def frame(pen: Pen, x: float, y: float, w: float, h: float) -> str:
    """A framed abstract picture."""
    inner = box(x + 9, y + 9, w - 18, h - 18, lighter(pen.wall, 0.55))
    hill = path(
        f"M{x + 9} {y + h * 0.66}q{w * 0.22} {-h * 0.3} {w * 0.42} {-h * 0.04}t{w * 0.4} {-h * 0.1}V{y + h - 9}H{x + 9}Z",
        pen.far(pen.accent, 0.15),
    )
    sun = oval(x + w * 0.66, y + h * 0.33, w * 0.1, w * 0.1, pen.far(pen.second, 0.1))
    return box(x, y, w, h, pen.wood, 2) + inner + sun + hill


def clock(pen: Pen, x: float, y: float, r: float = 24.0) -> str:
    """A round wall clock."""
    return (
        oval(x, y, r, r, darker(pen.wall, 0.45))
        + oval(x, y, r * 0.84, r * 0.84, "#fbf8f0")
        + line(f"M{x} {y - r * 0.55:.1f}V{y}L{x + r * 0.4:.1f} {y + r * 0.2:.1f}", "#3a3a42", 3)
    )


def ground(pen: Pen, y: float = FLOOR_LINE) -> str:
    """Ground outdoors; white when it snows."""
    color = mix(pen.floor, "#f4f6f8", 0.78) if pen.weather == "snow" else pen.floor
    color = mix(color, "#5d6b78", 0.25) if pen.weather in ("rain", "overcast") else color
    return box(-20, y, 680, 660 - y, pen.ink.linear(darker(color, 0.06), lighter(color, 0.14)))


_SKIES = {
    "sunny": ("#5fb2e6", "#fbeccb"),
    "clear": ("#68b0e0", "#dcebf2"),
    "cloudy": ("#8fb6d2", "#e6ecee"),
    "overcast": ("#9aa5b0", "#cfd5d8"),
    "rain": ("#67788a", "#a9b5be"),
    "storm": ("#454f63", "#8a93a3"),
    "snow": ("#a9bccf", "#e9eef3"),
    "fog": ("#b9c3c9", "#e1e5e6"),
}


def sky(pen: Pen) -> str:
    """The sky of the weather: gradient, sun, clouds."""
    top, low = _SKIES.get(pen.weather, _SKIES["clear"])
    parts = [box(-20, -20, 680, 470, pen.ink.linear(top, low))]
    sun_x = 96 + pen.luck.random() * 40
    if pen.weather == "sunny":
        parts.append(oval(sun_x, 92, 190, 190, pen.ink.glow("#fff2c0", 0.9)))
        parts.append(oval(sun_x, 92, 40, 40, "#fff6d6"))
    clouds = {"sunny": 1, "clear": 0, "cloudy": 6, "overcast": 8, "rain": 7, "storm": 8, "snow": 5}
    tone = {"rain": "#8a98a6", "overcast": "#b3bcc4", "storm": "#5d6679"}.get(
        pen.weather, "#ffffff"
    )
    for index in range(clouds.get(pen.weather, 0)):
        x = (index * 173 + pen.luck.randrange(90)) % 640
        y = 40 + (index * 67 + pen.luck.randrange(40)) % 190
        parts.append(cloud(x, y, 0.7 + pen.luck.random() * 0.8, tone))
    return "".join(parts)


def cloud(x: float, y: float, scale: float, tone: str) -> str:
    """A soft flat-bottomed cloud."""
    d = "M-80 20C-96 20 -96 -6 -74 -8C-70 -34 -34 -40 -22 -22C-10 -52 40 -48 44 -16C70 -22 88 0 76 14Q72 20 60 20Z"
    return f'<g transform="translate({x} {y:.0f}) scale({scale:.2f})">{path(d, tone, "fill-opacity=" + chr(34) + "0.8" + chr(34))}</g>'


def _leafage(pen: Pen, color: str) -> str:
    return mix(color, "#eef2f5", 0.6) if pen.weather == "snow" else color


def tree(pen: Pen, x: float, y: float, size: float = 1.0, color: str = "#5f9a5c") -> str:
    """A round tree standing at (x, y)."""
    leaf = _leafage(pen, color)
    crown = "M0 -250C50 -262 84 -226 78 -190C108 -172 104 -116 66 -104C50 -76 14 -78 0 -88C-14 -78 -50 -76 -66 -104C-104 -116 -108 -172 -78 -190C-84 -226 -50 -262 0 -250Z"
    light = "M-14 -236C-54 -240 -72 -206 -64 -182C-88 -166 -84 -132 -60 -124C-66 -160 -50 -200 -14 -236Z"
    trunk = "M-9 -110H9L15 0H-15Z"
    branch = "M0 -60L-30 -110M0 -80L28 -126"
    return (
        f'<g transform="translate({x} {y}) scale({size})">'
        + oval(0, 2, 70, 9, "#000000", 'fill-opacity="0.13"')
        + path(trunk, pen.ink.linear("#8a6244", "#634430", 1, 0))
        + path(crown, pen.ink.linear(lighter(leaf, 0.18), darker(leaf, 0.26), 0.7, 1))
        + line(branch, "#6b4a35", 5, 'stroke-opacity="0.6"')
        + path(light, lighter(leaf, 0.35), 'fill-opacity="0.55"')
        + "</g>"
    )


def hills(pen: Pen, y: float, color: str, seed: int = 0) -> str:
    """A line of hills."""
    tone = _leafage(pen, color)
    shift = (seed * 53 + pen.luck.randrange(60)) % 120
    d = f"M-20 {y + 30}C{60 + shift} {y - 50} {150 + shift} {y - 30} {230 + shift} {y}S{420 + shift} {y - 56} 660 {y - 10}V460H-20Z"
    return path(d, pen.ink.linear(lighter(tone, 0.1), darker(tone, 0.06)))


def building(pen: Pen, x: float, y: float, w: float, h: float, color: str) -> str:
    """A house front with windows; y is its foot."""
    wall = box(x, y - h, w, h, pen.ink.linear(lighter(color, 0.1), darker(color, 0.15), 0.8, 1))
    across = max(2, int(w // 42))
    step = w / across
    panes = "".join(
        f"M{x + step * (i + 0.27):.1f} {top:.1f}h{step * 0.46:.1f}v26h{-step * 0.46:.1f}Z"
        for i in range(across)
        for top in _rows(y - h + 22, y - 74, 48)
    )
    lit = (
        mix("#ffe9b5", color, 0.2)
        if pen.weather in ("rain", "fog", "snow", "overcast")
        else "#d8e9ef"
    )
    roof = box(x - 4, y - h - 6, w + 8, 10, darker(color, 0.25))
    return wall + path(panes, lit, 'fill-opacity="0.85"') + roof


def _rows(start: float, stop: float, step: float) -> list[float]:
    rows, at = [], start
    while at < stop:
        rows.append(at)
        at += step
    return rows


def bench(pen: Pen, x: float, y: float) -> str:
    """A park bench whose feet are at y."""
    slats = "".join(box(x, y - 92 + i * 17, 150, 11, lighter(pen.wood, 0.05), 4) for i in range(3))
    seat = box(x - 6, y - 38, 162, 12, pen.wood, 4)
    iron = line(
        f"M{x + 14} {y}V{y - 96}M{x + 136} {y}V{y - 96}M{x + 2} {y}V{y - 30}M{x + 148} {y}V{y - 30}",
        "#3d4148",
        6,
    )
    return iron + slats + seat


def lamp_post(pen: Pen, x: float, y: float) -> str:
    """A street lamp standing at (x, y)."""
    return (
        oval(x, y - 262, 60, 60, pen.ink.glow("#fff0bf", 0.5))
        + line(f"M{x} {y}V{y - 236}", "#3c424b", 7)
        + path(f"M{x - 14} {y - 236}H{x + 14}L{x + 19} {y - 276}H{x - 19}Z", "#fff2cc")
        + path(f"M{x - 22} {y - 274}L{x} {y - 296}L{x + 22} {y - 274}Z", "#3c424b")
        + box(x - 12, y - 8, 24, 10, "#3c424b", 3)
    )
