"""Backgrounds outdoors, one function each; see props.py for the units."""

from __future__ import annotations

from collections.abc import Callable

from contextbias.generate.drawing.props import (
    Pen,
    bench,
    building,
    ground,
    hills,
    lamp_post,
    sky,
    tree,
)
from contextbias.generate.drawing.svg import box, darker, lighter, line, mix, oval, path


def _street(pen: Pen) -> str:
    far = "".join(
        building(pen, x, 420, w, h, pen.far(tone, 0.5))
        for x, w, h, tone in (
            (170, 80, 220, pen.second),
            (250, 70, 280, pen.accent),
            (322, 90, 200, pen.wood),
            (404, 70, 250, pen.second),
        )
    )
    near = building(pen, -30, 436, 190, 380, pen.accent) + building(
        pen, 482, 436, 190, 350, pen.wood
    )
    shop = _awning(pen, 490, 300, 160, pen.second) + _awning(
        pen, -20, 310, 160, lighter(pen.second, 0.2)
    )
    road = path("M250 436H390L640 660H0Z", mix(pen.floor, "#50545c", 0.5)) + line(
        "M320 450V478M320 510V556M320 600V660", "#e9e2c8", 6
    )
    return (
        sky(pen)
        + far
        + near
        + shop
        + ground(pen, 434)
        + road
        + lamp_post(pen, 190, 452)
        + tree(pen, 470, 460, 0.62)
    )


def _awning(pen: Pen, x: float, y: float, w: float, color: str) -> str:
    glass = box(x + 8, y + 20, w - 16, 112, "#35434f", 3) + path(
        f"M{x + 20} {y + 24}h40l-30 104h-10Z", "#ffffff", 'fill-opacity="0.16"'
    )
    step = w / 8
    stripes = "".join(
        path(
            f"M{x + i * step:.1f} {y}h{step:.1f}v26a{step / 2:.1f} {step / 2:.1f} 0 0 1 {-step:.1f} 0Z",
            color if i % 2 else "#f6efe0",
        )
        for i in range(8)
    )
    del pen
    return glass + stripes


def _park(pen: Pen) -> str:
    walk = path(
        "M268 440C300 500 210 560 120 660H520C470 560 400 500 352 440Z",
        mix("#dcc7a0", pen.floor, 0.2 if pen.weather != "snow" else 0.0),
    )
    return (
        sky(pen) + hills(pen, 330, "#9cc2a4", 1) + hills(pen, 380, "#7fb07c", 2) + ground(pen, 420) + walk
        + tree(pen, 80, 450, 1.15, pen.accent) + tree(pen, 196, 436, 0.7, "#7aa865") + tree(pen, 560, 450, 1.2, "#6b9f5d") + tree(pen, 458, 436, 0.72, pen.accent)
        + bench(pen, 474, 478) + lamp_post(pen, 150, 478)
    )  # fmt: skip


def _farm_field(pen: Pen) -> str:
    rows = "".join(
        path(
            f"M{320 + x * 0.2:.0f} 420L{320 + x:.0f} 660H{320 + x + 70:.0f}L{320 + x * 0.2 + 12:.0f} 420Z",
            darker(pen.floor, 0.2),
        )
        for x in range(-900, 900, 150)
    )
    barn = (
        path("M440 380V270L500 216L560 270V380Z", pen.ink.soft("#b2463a")) + path("M428 276L500 208L572 276L562 284L500 226L438 284Z", "#6d3a33")
        + box(478, 310, 44, 70, "#f1e6d2") + line("M478 310L522 380M522 310L478 380", "#b2463a", 5)
        + box(574, 250, 36, 130, pen.ink.soft("#c9cfd2"), 4) + path("M574 254Q592 222 610 254Z", "#9aa4aa")
    )  # fmt: skip
    fence = line("M-20 400H200M-20 420H190M20 384V440M80 384V440M140 384V438", "#a3815c", 7)
    bales = oval(90, 430, 52, 34, pen.ink.soft("#dcb65a")) + oval(
        90, 430, 30, 19, "#c79c42", 'fill-opacity="0.6"'
    )
    return (
        sky(pen)
        + hills(pen, 320, "#a7c39a", 3)
        + hills(pen, 372, pen.accent, 1)
        + barn
        + ground(pen, 400)
        + ("" if pen.weather == "snow" else rows)
        + fence
        + bales
        + tree(pen, 40, 410, 0.8)
    )


def _barn(pen: Pen) -> str:
    wall = box(
        -20, -20, 680, 460, pen.ink.linear(lighter(pen.wall, 0.1), darker(pen.wall, 0.2))
    ) + line("".join(f"M{x} -20V440" for x in range(-6, 660, 40)), darker(pen.wall, 0.35), 3)
    beams = box(-20, 60, 680, 22, darker(pen.wall, 0.4)) + path(
        "M70 82H96V440H70ZM544 82H570V440H544ZM96 82L180 82L96 170ZM544 82L460 82L544 170Z",
        darker(pen.wall, 0.36),
    )
    door = (
        box(236, 120, 168, 310, "#e8eef0")
        + path("M236 330q50 -30 90 -6t78 -8V430H236Z", "#9cbf86")
        + path("M236 120H404V430H236Z", pen.ink.fade("#fff0c4", 0.7, 0.1))
    )
    bales = "".join(
        box(x, y, 120, 54, pen.ink.soft("#dcb65a"), 6) + line(f"M{x + 36} {y}v54M{x + 84} {y}v54", "#b98d3a", 3)
        for x, y in ((-20, 380), (-4, 326), (500, 380), (560, 326))
    )  # fmt: skip
    return (
        wall
        + door
        + beams
        + box(-20, 430, 680, 240, pen.ink.linear(darker(pen.floor, 0.15), pen.floor))
        + bales
    )


def _construction(pen: Pen) -> str:
    tower = "".join(
        box(x, y, 120, 12, "#9aa0a6") for x in (470,) for y in (170, 240, 310, 380)
    ) + line("M476 170V440M530 170V440M586 170V440", "#8b9198", 11)
    scaffold = line(
        "M20 130V440M90 130V440M160 130V440M10 200H170M10 280H170M10 360H170M20 280L90 200M90 360L160 280M20 440L90 360",
        "#7c858d",
        6,
    )
    brick = box(28, 214, 124, 220, pen.ink.soft(pen.accent)) + line(
        "".join(f"M28 {y}H152" for y in range(228, 434, 16)),
        lighter(pen.accent, 0.3),
        2,
        'stroke-opacity="0.6"',
    )
    crane = (
        line("M392 430V70M300 92H560M392 70L300 92M392 70L540 92", "#e0a52f", 8)
        + line("M520 96V170", "#6a6f76", 3)
        + box(506, 170, 28, 18, "#8c5a3c")
        + box(382, 86, 22, 26, "#c98d22", 3)
    )
    cones = "".join(
        path(f"M{x} {y}l-18 0l14 -52h8l14 52Z", "#e8702a")
        + path(f"M{x - 12} {y - 22}l3 -12h16l3 12Z", "#f8efe2")
        + box(x - 24, y - 2, 46, 8, "#c95a1e", 2)
        for x, y in ((120, 500), (560, 490))
    )
    barrier = (
        box(440, 420, 150, 22, "#f3ece0", 4)
        + "".join(path(f"M{x} 420h18l-10 22h-18Z", "#d8452f") for x in range(452, 590, 36))
        + line("M460 442V490M570 442V490", "#8b9198", 8)
    )
    return sky(pen) + crane + tower + brick + scaffold + ground(pen, 434) + barrier + cones


def _flames(pen: Pen, x: float, y: float, scale: float) -> str:
    outer = (
        "M-26 0C-40 -30 -20 -44 -24 -72C-6 -62 -4 -44 0 -34C6 -56 4 -76 16 -92C20 -66 36 -46 28 0Z"
    )
    inner = (
        "M-14 0C-20 -20 -8 -28 -8 -46C2 -36 2 -24 6 -18C10 -28 10 -36 14 -44C20 -28 20 -12 14 0Z"
    )
    shapes = path(outer, pen.ink.linear("#f08a2c", "#d9432a")) + path(inner, "#ffd56b")
    return f'<g transform="translate({x} {y}) scale({scale})">{shapes}</g>'


def _burning_building(pen: Pen) -> str:
    smoke = "".join(
        oval(x, y, r, r * 0.8, "#4a4550", 'fill-opacity="0.42"')
        for x, y, r in ((90, 70, 80), (170, 30, 90), (40, 20, 90), (540, 60, 90), (470, 20, 80), (610, 20, 90), (310, 6, 80))
    )  # fmt: skip
    left = building(pen, -20, 436, 216, 330, pen.accent)
    right = building(pen, 452, 436, 220, 300, pen.second)
    glow = oval(90, 230, 210, 200, pen.ink.glow("#ff9a3f", 0.6)) + oval(
        560, 250, 190, 180, pen.ink.glow("#ff9a3f", 0.55)
    )
    fire = "".join(
        _flames(pen, x, y, s)
        for x, y, s in ((30, 200, 0.9), (92, 166, 1.2), (150, 214, 0.9), (60, 300, 0.8), (136, 310, 0.9), (500, 214, 1.0), (566, 176, 1.2), (620, 230, 0.9), (530, 320, 0.8))
    )  # fmt: skip
    hose = line("M-20 540C120 500 160 580 300 540S520 500 660 560", "#c9a24b", 13)
    sparks = "M210 120l4 -8M250 190l-3 -9M400 150l5 -7M430 90l-4 -8M230 280l5 -6M420 250l4 -8"
    return (
        sky(pen) + smoke + left + right + glow + fire + ground(pen, 434) + hose
        + line(sparks, "#ffcf6b", 4)
    )  # fmt: skip


def _beach(pen: Pen) -> str:
    sea = box(-20, 290, 680, 130, pen.ink.linear("#3f97b8", "#9fd6d8"))
    foam = path("M-20 408q60 -14 120 0t120 0t120 0t120 0t120 0t100 0V440H-20Z", "#f4fafa") + line(
        "M40 320h70M200 344h90M420 326h110M520 364h80M90 372h80",
        "#d8f0f0",
        4,
        'stroke-opacity="0.7"',
    )
    brolly = (
        line("M520 480L548 250", "#efe6d6", 7)
        + path(
            "M440 292Q470 200 556 214Q630 228 640 316Q606 290 588 306Q560 280 538 296Q510 268 488 288Q460 276 440 292Z",
            pen.ink.soft(pen.accent),
        )
        + path("M488 288Q512 226 552 216Q540 250 538 296Q510 268 488 288Z", "#f8f0e0")
    )
    boat = path("M90 300L150 300L142 316H100Z", "#f5f2ea") + path(
        "M118 296V232L156 292Z", pen.second
    )
    towel = path("M40 520L180 500L220 548L60 574Z", pen.second) + path(
        "M60 517L84 514L112 566L84 570Z", "#f8f0e0"
    )
    return sky(pen) + sea + boat + foam + ground(pen, 420) + towel + brolly


def _bus_stop(pen: Pen) -> str:
    city = "".join(
        building(pen, x, 420, w, h, pen.far(t, 0.45))
        for x, w, h, t in (
            (190, 90, 240, pen.accent),
            (284, 70, 190, pen.second),
            (356, 80, 270, pen.wood),
        )
    )
    shelter = (
        box(-20, 130, 220, 18, pen.ink.soft("#4a535c"), 4) + line("M10 148V460M186 148V460", "#59636c", 9) + box(18, 156, 162, 250, "#d8eaef", 2, 'fill-opacity="0.45"')
        + box(34, 190, 70, 110, pen.accent, 3) + path("M34 262q30 -40 70 -10v48h-70Z", pen.second) + box(20, 388, 160, 13, pen.wood, 4) + line("M40 400V450M160 400V450", "#59636c", 7)
    )  # fmt: skip
    bus = (
        box(440, 190, 260, 230, pen.ink.soft(pen.second), 22) + box(458, 216, 70, 92, "#33424e", 9) + box(538, 216, 130, 92, "#33424e", 9) + path("M466 224h30l-24 76h-6Z", "#fff", 'fill-opacity="0.2"')
        + box(440, 344, 260, 18, lighter(pen.second, 0.4)) + oval(520, 424, 36, 36, "#2d3036") + oval(520, 424, 16, 16, "#9ba3aa") + oval(456, 384, 10, 8, "#fff0b8")
    )  # fmt: skip
    sign = (
        line("M214 460V190", "#59636c", 7)
        + oval(214, 184, 28, 28, "#2f6fb0")
        + box(202, 174, 24, 16, "#f5f7f8", 3)
    )
    kerb = box(-20, 456, 680, 12, lighter(pen.floor, 0.3))
    return sky(pen) + city + ground(pen, 424) + bus + kerb + shelter + sign


def _playground(pen: Pen) -> str:
    slide = (
        path("M60 240H130L230 440H196L116 268H60Z", pen.ink.soft("#e8b93a"))
        + line(
            "M66 240V446M120 250V446" + "".join(f"M66 {y}H120" for y in range(280, 440, 36)),
            "#5a86b8",
            8,
        )
        + path("M50 180L93 140L136 180Z", pen.accent)
    )
    swing = (
        line("M450 440L490 190M590 190L630 440M490 190H590", "#c8553d", 10)
        + line("M520 194L516 360M562 194L566 360", "#8d959c", 3)
        + box(508, 358, 66, 10, "#3f7f8f", 4)
    )
    return (
        sky(pen)
        + hills(pen, 360, "#8fbb86", 2)
        + tree(pen, 300, 420, 0.6)
        + tree(pen, 404, 430, 0.7, "#6fa862")
        + ground(pen, 424)
        + slide
        + swing
        + oval(320, 560, 300, 50, "#e6cf9c", 'fill-opacity="0.7"')
    )


def _garden(pen: Pen) -> str:
    fence = "".join(
        path(f"M{x} 440V300L{x + 14} 284L{x + 28} 300V440Z", lighter(pen.wood, 0.45))
        for x in range(-14, 660, 36)
    ) + line("M-20 330H660M-20 400H660", lighter(pen.wood, 0.3), 8)
    leaf = mix("#5b9a58", "#eef2f5", 0.6) if pen.weather == "snow" else "#5b9a58"
    beds = path(
        "M-20 460Q60 380 200 470V520H-20ZM660 460Q580 370 430 470V520H660Z",
        pen.ink.linear(lighter(leaf, 0.15), darker(leaf, 0.2)),
    )
    tones = (pen.accent, pen.second, "#f0c24b", "#f5efe6")
    blooms = "".join(
        oval(x, y, 10, 10, tones[i % 4]) + oval(x, y, 4, 4, "#f7e2a0")
        for i, (x, y) in enumerate([(18, 444), (52, 424), (92, 430), (128, 444), (162, 462), (66, 456), (110, 474), (470, 462), (504, 436), (546, 420), (590, 430), (624, 444), (520, 470), (576, 462)])
    )  # fmt: skip
    shed = (
        box(470, 180, 170, 140, pen.ink.soft(pen.wood))
        + path("M450 190L556 120L660 190Z", darker(pen.wood, 0.35))
        + box(530, 220, 52, 100, darker(pen.wood, 0.2), 2)
    )
    return (
        sky(pen)
        + tree(pen, 90, 420, 1.15)
        + tree(pen, 390, 410, 0.7, "#7fae6b")
        + shed
        + fence
        + ground(pen, 436)
        + beds
        + blooms
    )


def _parking(pen: Pen) -> str:
    front = (
        building(pen, 360, 430, 320, 250, pen.second)
        + box(400, 330, 120, 100, "#3a4854", 3)
        + box(540, 330, 90, 100, "#3a4854", 3)
    )
    car = (
        path("M10 400C14 366 40 360 60 358L92 316Q98 310 108 310H172Q182 310 190 318L224 358C250 362 262 372 262 402Q262 414 250 414H20Q10 414 10 400Z", pen.ink.soft(pen.accent))
        + path("M80 356L104 324H138V356ZM146 356V324H170L198 356Z", "#2f3d48") + oval(66, 414, 27, 27, "#2d3036") + oval(66, 414, 12, 12, "#a8b0b6") + oval(204, 414, 27, 27, "#2d3036") + oval(204, 414, 12, 12, "#a8b0b6")
        + oval(252, 386, 8, 7, "#fff0b8")
    )  # fmt: skip
    marks = line("M330 452L300 660M460 452L520 660M200 452L90 660", "#efe9da", 7)
    return (
        sky(pen)
        + hills(pen, 380, "#8fb18b", 1)
        + front
        + tree(pen, 300, 430, 0.6)
        + ground(pen, 430)
        + marks
        + car
    )


def _mountain(pen: Pen) -> str:
    peaks = path(
        "M-20 420L120 170L220 330L330 120L470 340L560 210L660 360V440H-20Z",
        pen.ink.linear(mix("#7d93ab", pen.accent, 0.15), "#b3c2c9"),
    ) + path(
        "M120 170L156 234L124 224L98 240L88 228ZM330 120L378 196L340 182L312 206L286 198ZM560 210L590 262L560 250L536 262L528 256Z",
        "#f5f8f9",
    )
    pines = "".join(
        path(f"M{x} {y - 130 * s:.0f}l{34 * s:.0f} {60 * s:.0f}h{-14 * s:.0f}l{26 * s:.0f} {56 * s:.0f}h{-92 * s:.0f}l{26 * s:.0f} {-56 * s:.0f}h{-14 * s:.0f}Z", mix("#3f6f57", "#eef2f5", 0.5 if pen.weather == "snow" else 0.06))
        for x, y, s in ((40, 450, 1.5), (120, 440, 1.1), (190, 434, 0.8), (460, 436, 0.9), (540, 444, 1.25), (620, 452, 1.6))
    )  # fmt: skip
    return sky(pen) + peaks + hills(pen, 396, "#86a98a", 2) + ground(pen, 426) + pines


EXTERIORS: dict[str, Callable[[Pen], str]] = {
    "street": _street,
    "park": _park,
    "farm_field": _farm_field,
    "barn": _barn,
    "construction": _construction,
    "burning_building": _burning_building,
    "beach": _beach,
    "bus_stop": _bus_stop,
    "playground": _playground,
    "garden": _garden,
    "parking": _parking,
    "mountain": _mountain,
}
"""Archetype -> the function that draws it."""
