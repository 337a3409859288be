"""Things worn on the body: badge, tie, belt, bag, watch, bracelet, tools, safety gear."""

from __future__ import annotations

import math

from contextbias.generate.drawing.body import Arm, Build
from contextbias.generate.drawing.look import Look
from contextbias.generate.drawing.palette import COLORS
from contextbias.generate.drawing.svg import (
    Ink,
    box,
    darker,
    lighter,
    line,
    moved,
    oval,
    path,
)


def behind(ink: Ink, look: Look, build: Build) -> str:
    """Straps and packs behind the trunk."""
    if "bag" not in look.accessories:
        return ""
    color = "#8a5a3c"
    x = build.hip + 24
    body = f"M{-x - 34:.1f} 396Q{-x:.1f} 384 {-x + 40:.1f} 396V470Q{-x + 38:.1f} 486 {-x + 20:.1f} 486H{-x - 20:.1f}Q{-x - 38:.1f} 486 {-x - 36:.1f} 470Z"
    return path(body, ink.soft(color)) + line(
        f"M{-x - 32:.1f} 416H{-x + 40:.1f}", darker(color, 0.35), 3
    )


def on_trunk(ink: Ink, look: Look, build: Build, *, stethoscope: bool = False) -> str:
    """Everything in front of the clothes and behind the arms."""
    worn = look.accessories | ({"medical"} if stethoscope else set())
    return "".join(draw(ink, look, build) for name, draw in _ON_TRUNK.items() if name in worn)


def on_wrist(look: Look, build: Build, pose: Arm) -> str:
    """Watch and bracelet on the arm on the picture's right, where its cuff ends."""
    (ex, ey), (wx, wy) = pose.elbow, pose.wrist
    parts = []
    along = ((wx - ex) * 0.1, (wy - ey) * 0.1)
    half = build.arm * 0.36
    turn = _angle(pose)
    if "watch" in look.accessories:
        strap = box(-half, -5, 2 * half, 10, "#2f2a2d", 3)
        dial = (
            oval(0, 0, 9.5, 9.5, "#d8b45a")
            + oval(0, 0, 7, 7, "#fbf8f0")
            + line("M0 -4V0L3 2", "#33302f", 1.4)
        )
        parts.append(moved(strap + dial, wx - along[0], wy - along[1], turn))
    if "bracelet" in look.accessories or "jewelry" in look.accessories:
        beads = line(f"M{-half:.1f} 0Q0 5 {half:.1f} 0", "#e0b54e", 5) + line(
            f"M{-half:.1f} 7Q0 12 {half:.1f} 7", "#4fa3a5", 3.6
        )
        parts.append(moved(beads, wx - along[0] * 2, wy - along[1] * 2, turn))
    return "".join(parts)


def _angle(pose: Arm) -> float:
    (ex, ey), (wx, wy) = pose.elbow, pose.wrist
    return math.degrees(math.atan2(wy - ey, wx - ex)) - 90


def _badge(ink: Ink, _look: Look, build: Build) -> str:
    n = build.neck
    cord = line(f"M{-n - 10:.1f} 164L-20 282M{n + 10:.1f} 164L-16 282", "#3c6fae", 4)
    card = box(-42, 280, 48, 62, "#fbfaf6", 5) + box(-42, 280, 48, 15, "#3c6fae", 4)
    face = box(-35, 301, 15, 19, "#c9ced6", 2) + line(
        "M-14 304H0M-14 312H0M-34 328H0", "#8b93a0", 2.6
    )
    del ink
    return cord + card + face


def _tie(ink: Ink, look: Look, build: Build) -> str:
    del build
    color = COLORS[look.accent]
    blade = "M-7 206H7L15 338L0 358L-15 338Z"
    stripes = line(
        "M-9 250L10 236M-11 276L12 260M-12 302L13 284M-13 326L14 308", lighter(color, 0.4), 4
    )
    return (
        path(blade, ink.linear(lighter(color, 0.1), darker(color, 0.2), 1, 0))
        + stripes
        + path("M-10 186H10L7 208H-7Z", darker(color, 0.12))
    )


def _belt(ink: Ink, _look: Look, build: Build) -> str:
    w = build.waist + 6
    strap = f"M{-w:.1f} 382Q0 396 {w:.1f} 382V402Q0 416 {-w:.1f} 402Z"
    buckle = box(-15, 386, 30, 24, ink.linear("#f0d488", "#b5862f"), 4) + box(
        -9, 391, 18, 14, "#5a3a26", 2
    )
    return path(strap, "#5a3a26") + buckle


def _bag(ink: Ink, look: Look, build: Build) -> str:
    del ink, look
    x = build.hip + 8
    s = build.neck + 34
    return line(f"M{s:.1f} 172L{-x:.1f} 412", "#6f452c", 9) + line(
        f"M{s:.1f} 172L{-x:.1f} 412", "#94643f", 3
    )


def _tool(ink: Ink, _look: Look, build: Build) -> str:
    w = build.waist + 7
    belt = f"M{-w:.1f} 384Q0 398 {w:.1f} 384V402Q0 416 {-w:.1f} 402Z"
    pouch = f"M{-w - 4:.1f} 396H{-w + 44:.1f}V442Q{-w + 20:.1f} 456 {-w - 4:.1f} 442Z"
    handles = line(
        f"M{-w + 8:.1f} 396V368M{-w + 22:.1f} 396V362M{-w + 34:.1f} 396V374", "#c8482f", 7
    )
    pencil = (
        path("M40 246h7v28h-7Z", "#e3b23c")
        + path("M40 246l3.500 -9l3.500 9Z", "#f0d9b0")
        + path("M32 262H60V300H32Z", "#5d6470", 'fill-opacity="0.55"')
    )
    driver = box(50, 236, 8, 22, "#c8482f", 3) + box(52.5, 256, 3, 12, "#c9ced3")
    return path(belt, "#6f4a2c") + handles + path(pouch, ink.soft("#8a5c37")) + driver + pencil


def _safety_gear(ink: Ink, look: Look, build: Build) -> str:
    del look
    n, w = build.neck, build.waist + 6
    straps = line(
        f"M{-n - 26:.1f} 172L0 290L{n + 26:.1f} 172M0 290L{-w:.1f} 378M0 290L{w:.1f} 378",
        "#e2762c",
        11,
    )
    ring = oval(0, 290, 13, 13, "#4a4d55") + oval(0, 290, 7, 7, ink.linear("#dfe3e7", "#9aa1a9"))
    return straps + ring + line(f"M{-w:.1f} 380Q0 396 {w:.1f} 380", "#e2762c", 11)


def _medical(ink: Ink, look: Look, build: Build) -> str:
    del look
    n = build.neck
    tube = f"M{-n - 12:.1f} 152C{-n - 26:.1f} 220 -34 246 -26 286M{n + 12:.1f} 152C{n + 26:.1f} 220 36 240 30 262"
    fork = "M-26 286C-40 300 -40 318 -36 322M-26 286C-14 300 -14 316 -18 322"
    disc = oval(30, 274, 13, 13, ink.linear("#eceff2", "#9aa3ad")) + oval(
        30, 274, 7.5, 7.5, "#5e6873"
    )
    return line(tube, "#2e3440", 6.5) + line(fork, "#aeb6bf", 4.5) + disc


def _religious(ink: Ink, look: Look, build: Build) -> str:
    del look
    n = build.neck
    cord = line(f"M{-n - 6:.1f} 160Q0 276 {n + 6:.1f} 160", "#6b4a33", 3)
    beads = "".join(
        oval(x, y, 4.4, 4.4, "#a9744a") for x, y in ((-18, 210), (-10, 218), (10, 218), (18, 210))
    )
    return cord + beads + oval(0, 228, 9, 9, ink.linear("#f0d488", "#b5862f"))


_ON_TRUNK = {
    "tie": _tie,
    "medical": _medical,
    "belt": _belt,
    "safety_gear": _safety_gear,
    "tool": _tool,
    "badge": _badge,
    "religious": _religious,
    "bag": _bag,
}
"""Accessories on the trunk, in drawing order."""
