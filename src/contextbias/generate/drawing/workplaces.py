"""Backgrounds of rooms where people work, one function each; see props.py for the units."""

from __future__ import annotations

from collections.abc import Callable

from contextbias.generate.drawing.props import (
    FLOOR_LINE,
    Pen,
    clock,
    cupboard,
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


def _hospital(pen: Pen) -> str:
    linen = "#f3f5f4"
    rail = line("M-10 96H250", "#c3ccd2", 6)
    curtain = "".join(
        path(
            f"M{x} 96H{x + 26}L{x + 28} 400H{x - 2}Z",
            pen.accent if i % 2 else lighter(pen.accent, 0.16),
        )
        for i, x in enumerate(range(-8, 96, 26))
    )
    bed = (
        box(430, 372, 230, 40, linen, 10)
        + path("M420 330Q420 312 440 312H500Q520 312 524 332L528 374H420Z", "#ffffff")
        + box(520, 352, 140, 30, lighter(pen.accent, 0.25), 8)
        + box(408, 280, 12, 170, "#aeb8c0", 5)
        + box(410, 408, 250, 14, "#c8d0d6", 4)
        + line("M440 424V486M620 424V486", "#9aa5ae", 8)
        + oval(440, 490, 9, 9, "#555d66")
    )
    drip = (
        line("M566 120V420M546 120H586", "#b9c2c9", 5)
        + path("M536 126h20v38q-10 10 -20 0Z", "#dff0f4")
        + line("M546 170C546 230 580 260 560 330", "#d4e2e8", 2.5)
    )
    monitor = (
        box(436, 150, 92, 66, "#39434d", 7)
        + box(443, 157, 78, 50, "#173038", 3)
        + line("M446 184H464L470 168L478 198L485 184H518", "#63e0a5", 3)
        + line("M482 216V250", "#b9c2c9", 7)
    )
    board = box(120, 150, 84, 60, "#fbfcfb", 4) + line(
        "M132 168H186M132 182H178M132 196H190", "#b8c6cc", 4
    )
    return (
        wall_and_floor(pen) + tiles(pen, opacity=0.25) + _dado(pen, 300)
        + board + rail + curtain + monitor + drip + bed
    )  # fmt: skip


def _dado(pen: Pen, y: float) -> str:
    return box(-20, y, 680, FLOOR_LINE - 9 - y, mix(pen.wall, pen.accent, 0.22)) + box(
        -20, y - 4, 680, 8, mix(pen.wall, pen.accent, 0.5)
    )


def _clinic(pen: Pen) -> str:
    chart = box(440, 110, 92, 140, "#fbfcfa", 5) + "".join(
        line(f"M{486 - s} {128 + i * 22}H{486 + s}", "#4a5966", max(2.5, 8 - i * 1.2))
        for i, s in enumerate((16, 22, 27, 31, 34))
    )
    couch = (
        box(-20, 372, 190, 26, pen.accent, 9)
        + path("M-20 372L60 318Q70 312 78 322L100 372Z", lighter(pen.accent, 0.14))
        + box(-20, 398, 180, 12, "#c2ccd2")
        + line("M20 410V470M140 410V470", "#a9b4bc", 9)
    )
    return (
        wall_and_floor(pen) + tiles(pen, opacity=0.25) + window(pen, 40, 90, 130, 150)
        + sunbeam(pen, 50, 240, 110) + chart + cupboard(pen, 556, 110, 110, 110, "#f1f4f3")
        + cupboard(pen, 430, 330, 240, 110, lighter(pen.wall, 0.4), 3)
        + _bottles(pen, 470, 325) + couch
    )  # fmt: skip


def _bottles(pen: Pen, x: float, y: float) -> str:
    return (
        box(x, y - 42, 20, 42, "#cfe3ea", 5) + box(x + 4, y - 52, 12, 12, pen.accent, 2)
        + box(x + 30, y - 30, 26, 30, "#e9c98a", 4) + box(x + 66, y - 50, 18, 50, pen.second, 5)
    )  # fmt: skip


def _kitchen(pen: Pen) -> str:
    hood = path("M468 -10H600V66L650 140H418L468 66Z", pen.ink.soft("#c3c9cd")) + box(
        412, 138, 244, 16, "#dfe3e5", 3
    )
    stove = (
        box(420, 330, 240, 120, pen.ink.soft("#8f979d"), 4)
        + box(410, 322, 260, 14, "#d5dadd", 3)
        + box(444, 360, 120, 66, "#3a4046", 6)
        + box(452, 368, 104, 30, "#e2954a", 4, 'fill-opacity="0.55"')
        + path("M470 286h74v28q-4 10 -12 10h-50q-12 0 -12 -10Z", pen.ink.soft("#b6bdc2"))
        + line("M470 296H452M544 296H562", "#7f878d", 6)
        + path(
            "M486 270q-8 -16 2 -30q8 -14 0 -30M516 272q-8 -16 2 -30q8 -14 0 -30",
            "none",
            'stroke="#ffffff" stroke-width="6" stroke-opacity="0.55" stroke-linecap="round"',
        )
    )
    rail = line("M20 168H240", "#9aa2a8", 5) + "".join(
        line(f"M{x} 168V{200}", "#9aa2a8", 4) + tool
        for x, tool in (
            (50, oval(50, 222, 20, 22, "#8b9399")),
            (104, path("M96 200h16l3 54q-11 10 -22 0Z", "#b98a52")),
            (158, oval(158, 226, 24, 24, "#6f777d")),
            (212, path("M206 200h12v30h10l-16 40l-16 -40h10Z", "#a7aeb3")),
        )
    )
    return (
        wall_and_floor(pen) + wall_tiles(pen) + tiles(pen) + rail + hood
        + cupboard(pen, -20, 336, 250, 110, pen.accent, 3)
        + box(-20, 324, 262, 14, lighter(pen.wood, 0.2), 3) + _loaves(pen, 24, 324) + stove
        + pendant(pen, 330 + pen.luck.randrange(40), 20, pen.second)
    )  # fmt: skip


def _loaves(pen: Pen, x: float, y: float) -> str:
    loaf = "M0 0C-6 -20 8 -34 26 -34H54C72 -34 86 -20 80 0Z"
    cut = "M20 -26q6 6 2 18M40 -28q6 6 2 18M60 -26q6 6 2 18"
    return "".join(
        f'<g transform="translate({x + i * 94} {y}) scale(0.92)">{path(loaf, pen.ink.soft("#c88a48"))}{line(cut, "#f0d3a0", 4)}</g>'
        for i in range(2)
    )


def _bakery(pen: Pen) -> str:
    oven = (
        path("M420 420V200Q420 110 520 110H660V420Z", pen.ink.soft("#b5674a"))
        + "".join(
            line(f"M420 {y}H660", "#8e4b36", 2, 'stroke-opacity="0.5"') for y in range(150, 420, 34)
        )
        + path("M470 350V290Q470 236 530 236Q590 236 590 290V350Z", "#2e211f")
        + path("M484 350Q490 300 512 320Q524 276 542 318Q562 300 578 350Z", "#f2a23c")
        + path("M504 350Q512 320 528 336Q544 316 556 350Z", "#ffdf82")
        + box(456, 350, 150, 12, "#6d3a2a", 2)
    )
    racks = shelf(pen, 10, 90, 190, 200, 3, "jars")
    return (
        wall_and_floor(pen) + tiles(pen) + racks + oven
        + table(pen, -20, 352, 240, 110) + _loaves(pen, 10, 352) + pendant(pen, 396, 30, pen.accent)
    )  # fmt: skip


def _workshop(pen: Pen) -> str:
    board = box(20, 96, 200, 170, lighter(pen.wood, 0.18), 4)
    holes = "".join(f"M{x} {y}h.1" for x in range(34, 214, 18) for y in range(110, 262, 18))
    steel = "#868e96"
    tools = (
        box(46, 120, 9, 92, "#a8703c", 3) + box(30, 114, 42, 18, steel, 4)
        + path("M96 124H110V196H96Z", "#c8482f") + path("M98 196H108V240H98Z", steel)
        + path("M132 130L196 150L196 170L132 162Z", "#b9c1c8") + oval(138, 148, 17, 19, "#a8703c") + oval(138, 148, 7, 9, lighter(pen.wood, 0.18))
        + line("M150 200L190 244M190 200L150 244", steel, 8)
    )  # fmt: skip
    logs = "".join(
        box(
            500 + i * 24,
            120 - (i % 3) * 30,
            20,
            320 + (i % 3) * 30,
            lighter("#c9955b", 0.06 * (i % 3)),
            2,
        )
        for i in range(6)
    )
    vise = box(70, 330, 56, 26, "#57606a", 4) + box(84, 312, 28, 22, "#6b757f", 3)
    return (
        wall_and_floor(pen, skirting=False) + _boarded(pen) + planks(pen) + board
        + line(holes, darker(pen.wood, 0.4), 3) + tools + window(pen, 410, 86, 84, 120) + logs
        + table(pen, -20, 354, 240, 120) + vise + _shavings() + pendant(pen, 262, 20, pen.accent)
    )  # fmt: skip


def _boarded(pen: Pen) -> str:
    return line(
        "".join(f"M{x} -20V422" for x in range(0, 660, 46)),
        darker(pen.wall, 0.16),
        2,
        'stroke-opacity="0.5"',
    )


def _shavings() -> str:
    curls = "M140 346q8 -12 16 0t16 0M176 350q6 -9 12 0t12 0M430 520q8 -10 16 0t16 0M500 560q8 -10 16 0t16 0M110 560q8 -10 16 0t16 0"
    return line(curls, "#e9c893", 4)


def _factory(pen: Pen) -> str:
    beams = path(
        "M-20 40H660V66H-20ZM80 66L110 66L110 430L80 430ZM540 66H570V430H540Z",
        darker(pen.wall, 0.3),
    )
    truss = line(
        "".join(f"M{x} 66L{x + 40} 40L{x + 80} 66" for x in range(-20, 660, 80)),
        darker(pen.wall, 0.42),
        4,
    )
    machine = (
        box(430, 250, 200, 190, pen.ink.soft(pen.accent), 8) + box(452, 276, 80, 56, "#2c363d", 5)
        + line("M460 312l14 -18l14 10l18 -22l16 16", "#7fe0b2", 3)
        + oval(566, 300, 17, 17, "#e7c14b") + oval(606, 300, 9, 9, "#c8402f")
        + box(420, 400, 220, 40, darker(pen.accent, 0.25), 4)
    )  # fmt: skip
    pipes = line("M-20 150H200V430M-20 190H160V430", "#a3abb1", 18) + line(
        "M-20 146H196", "#cdd3d7", 4
    )
    sparks = "M40 360l-12 -18M60 352l2 -24M84 362l16 -16M30 384l-22 -4"
    return (
        wall_and_floor(pen, skirting=False) + truss + beams + pipes + machine
        + table(pen, -20, 372, 170, 90, "#6b737b") + oval(60, 366, 70, 60, pen.ink.glow("#ffd27a", 0.8))
        + line(sparks, "#ffdf8f", 4) + pendant(pen, 230, 66, "#4b545c")
    )  # fmt: skip


def _office(pen: Pen) -> str:
    skyline = "".join(
        box(x, 250 - h, 34, h, mix("#9fb4c6", "#dfe9ef", (x % 90) / 110))
        for x, h in ((40, 90), (76, 130), (112, 70), (150, 110), (186, 84))
    )
    desk = table(pen, 400, 350, 260, 110)
    screen = (
        box(470, 268, 118, 74, "#2f343c", 6)
        + box(477, 275, 104, 58, pen.ink.linear("#a9d3e6", "#5f93bb"))
        + box(520, 342, 18, 10, "#555c66")
    )
    code = line("M486 290H530M486 302H556M494 314H540", "#eef6fa", 4)
    lamp = line("M624 350L608 296L636 262", "#3d434c", 5) + path(
        "M622 268L646 250L656 272Z", pen.second
    )
    blinds = line("".join(f"M26 {y}H240" for y in range(96, 160, 9)), lighter(pen.wall, 0.5), 4)
    return (
        wall_and_floor(pen) + planks(pen) + window(pen, 30, 90, 206, 164, bars=3) + skyline + blinds
        + sunbeam(pen, 60, 260, 150) + shelf(pen, 440, 90, 190, 120, 2, "books") + desk + screen + code + lamp
        + plant(pen, 70, 470, 0.8)
    )  # fmt: skip


def _meeting(pen: Pen) -> str:
    board = (
        box(400, 90, 230, 150, "#fbfbf8", 4)
        + '<rect x="400" y="90" width="230" height="150" fill="none" stroke="#b5bcc2" stroke-width="6"/>'
        + line("M424 208L464 176L500 190L548 136L600 122", pen.accent, 5)
        + "".join(
            box(432 + i * 30, 222 - h, 18, h, pen.second, 2, 'fill-opacity="0.7"')
            for i, h in enumerate((22, 34, 28, 52))
        )
    )
    chairs = "".join(
        path(
            f"M{x} 400V318Q{x} 300 {x + 18} 300H{x + 50}Q{x + 68} 300 {x + 68} 318V400Z",
            pen.ink.soft(darker(pen.accent, 0.2)),
        )
        for x in (10, 100, 470, 560)
    )
    top = path(
        "M-20 392H660L660 430H-20Z", pen.ink.linear(lighter(pen.wood, 0.2), darker(pen.wood, 0.05))
    )
    return (
        wall_and_floor(pen)
        + planks(pen)
        + window(pen, 20, 76, 210, 176, bars=3)
        + board
        + chairs
        + top
        + pendant(pen, 246, 24, "#3d434c")
    )


def _courtroom(pen: Pen) -> str:
    panels = "".join(
        box(x, 60, 96, 350, darker(pen.wood, 0.12), 3)
        + box(x + 12, 76, 72, 318, lighter(pen.wood, 0.06), 2)
        for x in range(-16, 640, 110)
    )
    seal = (
        oval(422, 110, 46, 46, pen.ink.linear("#ecd28a", "#b58a35"))
        + oval(422, 110, 36, 36, darker(pen.wood, 0.3))
        + path("M422 82l7 18l18 2l-14 12l5 18l-16 -11l-16 11l5 -18l-14 -12l18 -2Z", "#ecd28a")
    )
    columns = "".join(
        box(x, 30, 46, 400, pen.ink.linear("#f0e8da", "#c9bca8", 1, 0))
        + box(x - 8, 20, 62, 18, "#e6dccb", 3)
        + box(x - 8, 400, 62, 24, "#d9cdb9", 3)
        for x in (110, 484)
    )
    flags = "".join(
        line(f"M{x} 90V420", "#b58a35", 5)
        + path(f"M{x} 96C{x + s * 40} 110 {x + s * 34} 200 {x + s * 50} 300L{x} 280Z", tone)
        for x, s, tone in ((50, 1, pen.accent), (592, -1, pen.second))
    )
    bench = box(-20, 396, 680, 50, pen.ink.soft(darker(pen.wood, 0.1))) + box(
        -20, 386, 680, 14, lighter(pen.wood, 0.16)
    )
    return wall_and_floor(pen, skirting=False) + panels + columns + seal + flags + bench


def _laboratory(pen: Pen) -> str:
    flasks = (
        path("M452 340L470 296V270H486V296L504 340Z", "#dff0f3") + path("M458 326L466 308H490L498 326L504 340H452Z", pen.accent)
        + box(528, 276, 14, 64, "#dff0f3", 6) + box(528, 306, 14, 34, pen.second, 6) + box(550, 276, 14, 64, "#dff0f3", 6) + box(550, 290, 14, 50, "#d9a441", 6)
        + oval(610, 316, 26, 26, "#dff0f3") + path("M585 320A26 26 0 0 0 635 320Z", "#7aa7d8") + box(603, 270, 14, 26, "#dff0f3")
    )  # fmt: skip
    scope = path(
        "M70 350H150V338H120C140 320 146 290 130 270L118 244L96 254L110 286C120 304 110 326 96 338H70Z",
        "#4a545e",
    ) + box(92, 226, 22, 44, "#333b44", 5)
    return (
        wall_and_floor(pen) + tiles(pen, opacity=0.25) + cupboard(pen, 20, 80, 180, 100, lighter(pen.wall, 0.5), 2)
        + shelf(pen, 440, 90, 200, 130, 2, "bottles") + cupboard(pen, -20, 352, 240, 96, pen.accent, 3) + cupboard(pen, 420, 342, 240, 104, pen.accent, 3)
        + flasks + scope
    )  # fmt: skip


def _classroom(pen: Pen) -> str:
    board = (
        box(30, 90, 580, 180, "#3f5f52", 4)
        + '<rect x="30" y="90" width="580" height="180" fill="none" stroke="#b98a58" stroke-width="9"/>'
    )
    chalk = line(
        "M60 130H150M60 156H130M470 130q20 -24 40 0t40 0M470 200H570M60 220l30 -30l30 30Z",
        "#eef3ee",
        4,
        'stroke-opacity="0.75"',
    )
    return (
        wall_and_floor(pen)
        + planks(pen)
        + board
        + chalk
        + table(pen, -20, 366, 200, 90)
        + table(pen, 460, 366, 200, 90)
        + _stack(pen, 40, 366)
        + clock(pen, 580, 50)
    )


def _stack(pen: Pen, x: float, y: float) -> str:
    return (
        box(x, y - 14, 70, 14, pen.accent, 3)
        + box(x + 6, y - 27, 60, 13, pen.second, 3)
        + box(x + 2, y - 39, 64, 12, "#d8b45a", 3)
    )


def _fire_station(pen: Pen) -> str:
    gate = box(30, 60, 250, 370, lighter(pen.wall, 0.3)) + line(
        "".join(f"M30 {y}H280" for y in range(86, 430, 26)), darker(pen.wall, 0.16), 3
    )
    red = pen.accent
    engine = (
        path("M396 404V236Q396 204 430 204H660V404Z", pen.ink.soft(red))
        + box(414, 226, 108, 84, "#2f3d49", 8)
        + path("M424 234h34l-26 68h-8Z", "#ffffff", 'fill-opacity="0.2"')
        + box(548, 226, 92, 84, "#2f3d49", 8)
        + box(396, 326, 264, 16, "#f0ead8") + box(396, 346, 264, 7, "#e6c23f")
        + box(384, 388, 276, 22, "#c3c8cc", 4) + oval(420, 366, 14, 12, "#fff1bf")
        + box(440, 184, 60, 20, "#4f86c8", 8) + box(506, 184, 40, 20, "#e8e2d6", 8)
        + oval(470, 412, 36, 36, "#2b2d33") + oval(470, 412, 16, 16, "#aab1b7")
        + oval(610, 412, 36, 36, "#2b2d33") + oval(610, 412, 16, 16, "#aab1b7")
    )  # fmt: skip
    hooks = line("M20 190H190", "#8d949a", 6) + "".join(
        path(f"M{x} 196q18 -8 36 0l8 96q-26 10 -52 0Z", "#bd9366") + box(x - 6, 252, 48, 9, "#e6e04a")
        + path(f"M{x - 2} 182q20 -30 40 0Z", red)
        for x in (30, 86, 142)
    )  # fmt: skip
    return wall_and_floor(pen, skirting=False) + gate + tiles(pen, opacity=0.2) + hooks + engine


WORKPLACES: dict[str, Callable[[Pen], str]] = {
    "hospital": _hospital,
    "clinic": _clinic,
    "kitchen": _kitchen,
    "bakery": _bakery,
    "workshop": _workshop,
    "factory": _factory,
    "office": _office,
    "meeting_room": _meeting,
    "courtroom": _courtroom,
    "fire_station": _fire_station,
    "laboratory": _laboratory,
    "classroom": _classroom,
}
"""Archetype -> the function that draws it."""
