"""Backgrounds of public rooms and of homes, one function each; see props.py for the units."""

from __future__ import annotations

from collections.abc import Callable

from contextbias.generate.drawing.props import (
    Pen,
    clock,
    cupboard,
    frame,
    pendant,
    planks,
    plant,
    shelf,
    sunbeam,
    table,
    tiles,
    wall_and_floor,
    wall_tiles,
    window,
)
from contextbias.generate.drawing.svg import box, darker, lighter, line, mix, oval, path


def _library(pen: Pen) -> str:
    left = shelf(pen, -14, 30, 220, 394, 6, "books")
    right = shelf(pen, 434, 30, 220, 394, 6, "books")
    arch = path(
        "M226 430V190Q226 90 320 90Q414 90 414 190V430Z",
        pen.ink.linear(lighter(pen.wall, 0.4), lighter(pen.wall, 0.05)),
    )
    ladder = line(
        "M180 60L214 430M160 60L190 430"
        + "".join(f"M{162 + i * 5} {90 + i * 55}h22" for i in range(6)),
        "#a8794c",
        5,
    )
    return (
        wall_and_floor(pen)
        + planks(pen)
        + arch
        + left
        + right
        + ladder
        + pendant(pen, 246, 44, pen.accent)
    )


def _supermarket(pen: Pen) -> str:
    left = shelf(pen, -14, 110, 216, 314, 5, "boxes")
    right = shelf(pen, 438, 110, 216, 314, 5, "jars")
    signs = (
        box(40, 44, 120, 40, pen.accent, 6)
        + box(480, 44, 120, 40, pen.second, 6)
        + line("M70 64H130M510 64H570", "#ffffff", 7)
    )
    aisle = path("M202 430L262 240H378L438 430Z", lighter(pen.wall, 0.3)) + path(
        "M202 424L262 236V420ZM438 424L378 236V420Z", darker(pen.wall, 0.12)
    )
    lights = path("M230 0H410L372 60H268Z", "#fffdf2", 'fill-opacity="0.75"')
    return wall_and_floor(pen, skirting=False) + tiles(pen) + lights + aisle + left + right + signs


def _living_room(pen: Pen) -> str:
    sofa = (
        path("M-20 300Q-20 280 0 280H180Q204 280 204 304V400H-20Z", pen.ink.soft(pen.accent))
        + box(-20, 350, 214, 74, pen.ink.soft(lighter(pen.accent, 0.08)), 14)
        + box(176, 322, 46, 104, pen.ink.soft(darker(pen.accent, 0.12)), 18)
        + path("M40 300l46 -10l10 46l-46 10Z", pen.second)
        + box(0, 424, 12, 20, pen.wood)
        + box(190, 424, 12, 20, pen.wood)
    )
    lamp = (
        line("M590 440V210", darker(pen.wood, 0.3), 6)
        + oval(590, 200, 110, 100, pen.ink.glow("#ffe3a3", 0.6))
        + path("M556 220L570 150H610L624 220Z", "#f6e3b8")
    )
    rug = oval(320, 560, 300, 56, mix(pen.accent, pen.floor, 0.55))
    return (
        wall_and_floor(pen) + planks(pen) + rug + frame(pen, 40, 110, 120, 96) + window(pen, 410, 80, 130, 180)
        + sunbeam(pen, 420, 264, 110) + lamp + sofa + plant(pen, 500, 474, 0.9)
    )  # fmt: skip


def _transit(pen: Pen) -> str:
    train = (
        box(380, 150, 300, 260, pen.ink.soft("#c9d0d6"), 22) + box(380, 330, 300, 26, pen.accent)
        + box(404, 186, 92, 100, "#34414d", 12) + box(524, 176, 66, 226, "#9fabb5", 6) + box(532, 190, 50, 100, "#34414d", 8)
        + box(610, 186, 60, 100, "#34414d", 12) + path("M412 194h40l-34 84h-6Z", "#ffffff", 'fill-opacity="0.18"')
    )  # fmt: skip
    pillars = box(
        92, 40, 44, 390, pen.ink.linear(lighter(pen.second, 0.2), darker(pen.second, 0.2), 1, 0)
    ) + box(84, 40, 60, 20, darker(pen.second, 0.2))
    sign = (
        box(10, 96, 190, 40, "#27323d", 5)
        + oval(36, 116, 13, 13, pen.accent)
        + line("M62 110H170M62 123H140", "#f4f6f6", 6)
    )
    lights = "".join(path(f"M{x} 10h90l-12 18h-66Z", "#fffbe6") for x in (40, 220, 400, 560))
    edge = box(-20, 424, 680, 14, "#e5c14c")
    return (
        wall_and_floor(pen, skirting=False)
        + wall_tiles(pen)
        + tiles(pen)
        + lights
        + train
        + pillars
        + sign
        + edge
    )


def _gym(pen: Pen) -> str:
    mirror = box(-10, 80, 230, 240, pen.ink.linear("#d5e4ea", "#a9c0cb", 1, 1), 4) + path(
        "M20 320L130 80H170L60 320Z", "#ffffff", 'fill-opacity="0.3"'
    )
    rack = (
        box(430, 150, 210, 12, "#454c55", 3)
        + box(430, 250, 210, 12, "#454c55", 3)
        + box(430, 350, 210, 12, "#454c55", 3)
        + line("M440 130V440M630 130V440", "#343a42", 10)
    )
    bells = "".join(
        box(x, y - 34, 12, 34, tone, 4) + box(x + 32, y - 34, 12, 34, tone, 4) + box(x + 10, y - 22, 24, 9, "#9aa2a9")
        for y in (150, 250, 350) for x, tone in ((452, pen.accent), (514, "#33373e"), (576, pen.second))
    )  # fmt: skip
    ball = oval(80, 400, 56, 56, pen.ink.soft(pen.second)) + oval(
        60, 376, 16, 12, "#ffffff", 'fill-opacity="0.4"'
    )
    return (
        wall_and_floor(pen)
        + mirror
        + planks(pen)
        + rack
        + bells
        + ball
        + box(-20, 30, 680, 18, pen.accent)
    )


def _cafe(pen: Pen) -> str:
    counter = cupboard(pen, 400, 320, 260, 124, darker(pen.wood, 0.1), 4) + box(
        390, 308, 280, 16, lighter(pen.wood, 0.25), 4
    )
    machine = (
        box(440, 240, 120, 70, pen.ink.soft("#b8bec4"), 8)
        + box(452, 262, 96, 30, "#3a3f46", 4)
        + line("M476 292V302M524 292V302", "#55595f", 6)
        + box(440, 230, 120, 14, pen.accent, 5)
    )
    menu = box(420, 70, 210, 110, "#38403d", 5) + line(
        "M440 96H520M440 116H500M440 136H512M550 96H606M550 116H594M550 136H600",
        "#e8e2d2",
        4,
        'stroke-opacity="0.8"',
    )
    cups = "".join(path(f"M{x} 290h22l-3 18h-16Z", "#fbf6ea") for x in (580, 610))
    stool = table(pen, 20, 366, 120, 100) + path("M62 340h26v22q-13 8 -26 0Z", "#fbf6ea")
    return (
        wall_and_floor(pen) + planks(pen) + window(pen, 20, 76, 180, 190, bars=2) + sunbeam(pen, 30, 266, 160) + menu
        + counter + machine + cups + stool + pendant(pen, 240, 30, pen.accent) + pendant(pen, 380, 50, pen.second)
    )  # fmt: skip


def _cabin(pen: Pen) -> str:
    panes = "".join(
        box(x, 176, 54, 76, lighter(pen.wall, 0.5), 24)
        + box(x + 7, 184, 40, 60, pen.ink.linear("#7fc0e8", "#e6f3f8"), 18)
        for x in (20, 118, 470, 568)
    )
    bins = path(
        "M-20 20H220L236 120H-20ZM660 20H420L404 120H660Z",
        pen.ink.linear(lighter(pen.wall, 0.5), darker(pen.wall, 0.1)),
    )
    seams = line("M90 24L100 118M550 24L540 118", darker(pen.wall, 0.2), 3)
    seats = "".join(
        path(
            f"M{x} 440V316Q{x} 286 {x + 28} 286H{x + 62}Q{x + 90} 286 {x + 90} 316V440Z",
            pen.ink.soft(pen.accent),
        )
        + box(x + 16, 292, 58, 36, lighter(pen.second, 0.4), 10)
        for x in (-20, 84, 470, 574)
    )
    aisle = path("M214 430L280 200H360L426 430Z", mix(pen.floor, pen.wall, 0.4)) + box(
        280, 120, 80, 90, pen.ink.linear(lighter(pen.wall, 0.3), darker(pen.wall, 0.15)), 4
    )
    return (
        wall_and_floor(pen, skirting=False)
        + panes
        + bins
        + seams
        + aisle
        + seats
        + box(268, 0, 104, 12, "#fffbe8", 6)
    )


def _airport(pen: Pen) -> str:
    glass = box(-20, 60, 680, 270, pen.ink.linear("#9fcdea", "#e9f3f4")) + line(
        "".join(f"M{x} 60V330" for x in range(60, 640, 130)) + "M-20 190H660",
        lighter(pen.wall, 0.5),
        7,
    )
    plane = (
        path(
            "M400 250C420 226 520 222 640 226L660 262C560 276 440 276 400 250ZM560 228L600 170H624L616 228Z",
            "#f8fafa",
        )
        + path("M470 256L560 300L520 256Z", "#c9d3d9")
        + box(470, 238, 120, 6, pen.accent, 3)
    )
    board = (
        box(20, 84, 180, 86, "#25303a", 5)
        + line("M36 106H120M36 126H110M36 146H128", "#f1c95a", 5)
        + line("M140 106H184M140 126H184M140 146H184", "#dfe7ea", 5)
    )
    seats = "".join(
        box(x, 350, 62, 50, pen.ink.soft(pen.second), 10)
        + box(x + 2, 396, 58, 14, darker(pen.second, 0.2), 6)
        for x in (0, 70, 470, 540, 610)
    )
    return (
        wall_and_floor(pen, skirting=False)
        + glass
        + plane
        + tiles(pen, opacity=0.25)
        + board
        + seats
    )


def _stage(pen: Pen) -> str:
    drapes = "".join(
        path(
            f"M{x} -20H{x + 34}C{x + 40} 150 {x + 28} 300 {x + 36} 430H{x - 4}C{x + 4} 300 {x - 6} 150 {x} -20Z",
            darker(pen.accent, 0.12 + 0.16 * (i % 2)),
        )
        for i, x in enumerate([*range(-20, 160, 32), *range(480, 660, 32)])
    )
    spots = path("M230 -20H270L420 640H60Z", pen.ink.fade("#fff1c4", 0.4, 0.02)) + path(
        "M410 -20H380L240 640H600Z", pen.ink.fade("#fff1c4", 0.32, 0.02)
    )
    valance = path(
        "M-20 -20H660V50Q620 84 580 50Q540 84 500 50Q460 84 420 50Q380 84 340 50Q300 84 260 50Q220 84 180 50Q140 84 100 50Q60 84 20 50L-20 60Z",
        pen.accent,
    )
    return wall_and_floor(pen, skirting=False) + planks(pen) + drapes + spots + valance


def _dance_studio(pen: Pen) -> str:
    mirror = (
        box(20, 70, 600, 330, pen.ink.linear("#dfe9ec", "#b5c7cf", 1, 1), 3)
        + line("M220 70V400M420 70V400", "#c9d5da", 4)
        + path(
            "M60 400L210 70H250L100 400ZM470 400L600 110V150L500 400Z",
            "#ffffff",
            'fill-opacity="0.25"',
        )
    )
    barre = line("M-20 300H660", pen.wood, 9) + line(
        "M90 300V340M550 300V340", darker(pen.wood, 0.2), 7
    )
    return wall_and_floor(pen) + mirror + planks(pen) + barre + pendant(pen, 420, 10, pen.accent)


def _museum(pen: Pen) -> str:
    big = frame(pen, 30, 96, 160, 200) + frame(pen, 452, 120, 150, 120)
    bust = box(540, 340, 70, 100, lighter(pen.wall, 0.4)) + path(
        "M552 340Q552 306 566 300Q556 270 575 258Q596 270 586 300Q600 306 600 340Z", "#f4efe5"
    )
    rope = line("M30 430V360M190 430V360", "#c9a24b", 7) + line(
        "M30 366Q110 420 190 366", pen.accent, 7
    )
    spots = path("M110 -20L40 96H180ZM527 -20L460 120H596Z", pen.ink.fade("#fff4d0", 0.5, 0.08))
    return wall_and_floor(pen) + planks(pen) + spots + big + bust + rope


def _laundromat(pen: Pen) -> str:
    washers = "".join(
        box(x, 290, 104, 140, pen.ink.soft("#eef0ef"), 6) + oval(x + 52, 370, 38, 38, "#aab4bb") + oval(x + 52, 370, 29, 29, "#3d5968")
        + path(f"M{x + 25} 374q14 -14 27 0t27 0q-2 24 -27 25q-25 -1 -27 -25Z", pen.accent if i % 2 else pen.second)
        + box(x + 12, 302, 34, 12, "#c9d1d5", 3) + oval(x + 84, 308, 7, 7, "#8d979e")
        for i, x in enumerate((-14, 98, 442, 554))
    )  # fmt: skip
    dryers = "".join(
        box(x, 140, 104, 140, pen.ink.soft("#dfe3e4"), 6)
        + oval(x + 52, 214, 34, 34, "#8b969d")
        + oval(x + 52, 214, 26, 26, "#52656f")
        for x in (-14, 98, 442, 554)
    )
    return (
        wall_and_floor(pen, skirting=False)
        + tiles(pen)
        + dryers
        + washers
        + box(-20, 60, 680, 44, pen.accent)
        + clock(pen, 260, 180)
    )


def _studio(pen: Pen) -> str:
    sweep = box(
        -20, -20, 680, 680, pen.ink.linear(lighter(pen.wall, 0.42), darker(pen.wall, 0.06), 0.5, 1)
    )
    pool = oval(320, 250, 340, 320, pen.ink.glow("#fffaf0", 0.65))
    floor = path("M-20 480Q320 430 660 480V660H-20Z", pen.ink.fade(darker(pen.wall, 0.3), 0.0, 0.3))
    return sweep + pool + floor


def _room(pen: Pen) -> str:
    return (
        wall_and_floor(pen) + planks(pen) + window(pen, 40, 90, 140, 170) + sunbeam(pen, 50, 264, 120) + frame(pen, 470, 110, 120, 100)
        + cupboard(pen, 450, 340, 180, 104, pen.wood, 2) + plant(pen, 90, 474, 0.9) + pendant(pen, 226, 24, pen.accent)
    )  # fmt: skip


ROOMS: dict[str, Callable[[Pen], str]] = {
    "library": _library,
    "supermarket": _supermarket,
    "living_room": _living_room,
    "transit": _transit,
    "gym": _gym,
    "cafe": _cafe,
    "cabin": _cabin,
    "airport": _airport,
    "stage": _stage,
    "dance_studio": _dance_studio,
    "museum": _museum,
    "laundromat": _laundromat,
    "studio": _studio,
    "room": _room,
}
"""Archetype -> the function that draws it."""
