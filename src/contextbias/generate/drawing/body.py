"""Build, arms, legs and hands. Figure coordinates: chin at y = 130, soles at y = 740, x = 0 middle.

Standing people are 740 units tall with a head of 132: a little more head than in life, so that
faces can be read in a wide picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from contextbias.generate.drawing.head import shape_of
from contextbias.generate.drawing.look import Look
from contextbias.generate.drawing.palette import COLORS
from contextbias.generate.drawing.svg import (
    Point,
    contrasting,
    darker,
    lighter,
    limb,
    line,
    mix,
    moved,
    oval,
    path,
)

HEAD_Y = 66.0
"""Where the middle of the head is."""

HIGHEST = -74.0
"""Above every hat, hairstyle and raised tool."""

LOW_TOP = -20.0
"""Above flat hair, tilted heads included."""

FLOOR = 740.0
"""Where a standing person's soles are."""

SITTING_FLOOR = 652.0
"""Where a sitting person's soles are: the trunk stays, the legs fold."""


class Build(NamedTuple):
    """Half widths of the trunk, and the girth of the limbs."""

    shoulder: float
    """At y = 192."""
    chest: float
    """At y = 262."""
    waist: float
    """At y = 352."""
    hip: float
    """At y = 440."""
    arm: float
    """Full width of the upper arm."""
    leg: float
    """Full width of the thigh."""
    neck: float
    """Half width of the neck."""


_BUILDS = {
    "slim": (80.0, 62.0, 54.0, 62.0, 33.0, 54.0),
    "average": (87.0, 71.0, 64.0, 72.0, 38.0, 62.0),
    "athletic": (98.0, 80.0, 61.0, 68.0, 46.0, 66.0),
    "stocky": (98.0, 92.0, 96.0, 94.0, 47.0, 76.0),
    "curvy": (86.0, 78.0, 64.0, 90.0, 40.0, 74.0),
}
_PRESENTED = {
    "female": (-7.0, -4.0, -8.0, 4.0, -4.0, 1.0),
    "male": (8.0, 5.0, 5.0, -1.0, 3.0, 0.0),
}


def build_of(look: Look) -> Build:
    """The build that goes with body type and presentation."""
    base = _BUILDS.get(look.body, _BUILDS["average"])
    shift = _PRESENTED.get(look.gender, (0.0,) * 6)
    widths = [a + b for a, b in zip(base, shift, strict=True)]
    return Build._make([*widths, shape_of(look).neck])


_NECKLINES = {
    "crew": (176.0, 22.0),
    "collar": (186.0, 0.0),
    "v": (234.0, 0.0),
    "scoop": (200.0, 30.0),
}


def torso(b: Build, neckline: str = "crew", ease: float = 0.0, hem: float = 440.0) -> str:
    """Path data of cloth over the trunk, from the neckline to `hem`, `ease` wider than the body."""
    nx, s, c = b.neck + 9, b.shoulder + ease * 0.5, b.chest + ease
    w, h = b.waist + ease, b.hip + ease
    depth, bow = _NECKLINES[neckline]
    half = f"C{nx + 16:.1f} 170 {s - 22:.1f} 168 {s:.1f} 194C{s + 3:.1f} 216 {c + 2:.1f} 232 {c:.1f} 262C{c:.1f} 300 {w:.1f} 318 {w:.1f} 352C{w:.1f} 384 {h:.1f} 404 {h:.1f} {hem:.1f}"
    back = f"L{-h:.1f} {hem:.1f}C{-h:.1f} 404 {-w:.1f} 384 {-w:.1f} 352C{-w:.1f} 318 {-c:.1f} 300 {-c:.1f} 262C{-c - 2:.1f} 232 {-s - 3:.1f} 216 {-s:.1f} 194C{-s + 22:.1f} 168 {-nx - 16:.1f} 170 {-nx:.1f} 156Z"
    if bow:
        top = f"M{-nx:.1f} 156C{-nx + 2:.1f} {depth + bow * 0.3:.1f} {nx - 2:.1f} {depth + bow * 0.3:.1f} {nx:.1f} 156"
    else:
        top = f"M{-nx:.1f} 156L0 {depth:.1f}L{nx:.1f} 156"
    return top + half + back


@dataclass(frozen=True, slots=True)
class Sleeve:
    """What covers an arm."""

    color: str
    """Paint of the sleeve."""
    length: float = 0.93
    """Part of the arm that is covered; 0 for none."""
    ease: float = 6.0
    """How much wider than the arm."""
    flare: float = 0.0
    """Extra width at the wrist."""
    cuff: str | None = None
    """Paint of the cuff."""
    band: str | None = None
    """Paint of a reflecting band."""
    checks: str | None = None
    """Paint of a woven check."""


class Arm(NamedTuple):
    """Where one arm goes; x is for the picture's right side."""

    elbow: Point
    wrist: Point
    hand: str
    """relaxed, fist, hip, flat, cup or hidden."""
    turn: float
    """Degrees that the hand is turned; 0 hangs down."""


def arm_for(b: Build, kind: str, lift: float = 0.0, apart: float = 0.0) -> Arm:
    """The posture of an arm on the right side of the picture.

    Args:
        b: Build of the person.
        kind: Name of the posture.
        lift: How far a working hand is raised.
        apart: Half the distance of two hands that hold something between them.
    """
    s, up = b.shoulder, lift
    return {
        "relaxed": Arm((s + 15, 316), (s + 9, 418), "relaxed", 6),
        "hang": Arm((s + 16, 316), (s + 17, 414), "fist", 0),
        "hip": Arm((s + 58, 306 - up * 0.6), (b.waist + 22, 374 - up), "hip", 62),
        "grip": Arm((s + 28, 328 - up / 3), (s + 36, 272 - up / 4), "fist", 180),
        "hug": Arm((s + 20, 326 - up / 3), (64, 330 - up), "flat", 98),
        "both": Arm((s + 22, 322 - up / 3), (apart + 12, 342 - up), "cup", 110),
        "crossed_over": Arm((s + 10, 314 - up * 0.7), (-34, 292 - up * 0.7), "flat", 104),
        "crossed_under": Arm((s + 10, 316 - up * 0.7), (-40, 310 - up * 0.7), "hidden", 0),
        "lap": Arm((s + 22, 326), (50, 424), "flat", 40),
    }[kind]


def arm(look: Look, b: Build, sleeve: Sleeve, pose: Arm) -> str:
    """One arm on the right side, without its hand: skin, then the sleeve, with a shade beside it."""
    joints = ((b.shoulder - 13, 204.0), pose.elbow, pose.wrist)
    bare = (b.arm, b.arm * 0.80, b.arm * 0.56)
    parts = []
    if sleeve.length < 0.85:
        skin = look.skin
        parts.append(path(limb(joints, bare), mix(skin.base, skin.shade, 0.12)))
        if look.tattoo:
            parts.append(_forearm_tattoo(pose))
    if sleeve.length > 0:
        parts += _sleeve(sleeve, joints, bare)
    return "".join(parts)


def _sleeve(
    sleeve: Sleeve, joints: tuple[Point, Point, Point], bare: tuple[float, ...]
) -> list[str]:
    e = sleeve.ease
    widths = (bare[0] + e, bare[1] + e + sleeve.flare * 0.5, bare[2] + e + 2 + sleeve.flare)
    outline = limb(joints, widths, until=sleeve.length)
    shade = f'<g transform="translate(-5 3)">{path(outline, darker(sleeve.color, 0.45), "fill-opacity=" + chr(34) + "0.35" + chr(34))}</g>'
    parts = [
        shade,
        path(outline, darker(sleeve.color, 0.03)),
    ]
    if sleeve.checks:
        bands = "".join(
            limb(joints, widths, start=u, until=u + 0.045) for u in (0.14, 0.32, 0.5, 0.68, 0.84)
        )
        parts.append(path(bands, sleeve.checks, 'fill-opacity="0.5"'))
    if sleeve.band:
        parts.append(path(limb(joints, widths, start=0.7, until=0.8), sleeve.band))
    if sleeve.cuff:
        low = max(sleeve.length - 0.07, 0.05)
        cuff = (widths[0] + 2, widths[1] + 2, widths[2] + 3)
        parts.append(path(limb(joints, cuff, start=low, until=sleeve.length), sleeve.cuff))
    return parts


def _forearm_tattoo(pose: Arm) -> str:
    (ex, ey), (wx, wy) = pose.elbow, pose.wrist
    at = [(ex + (wx - ex) * u, ey + (wy - ey) * u) for u in (0.3, 0.5, 0.7)]
    marks = "".join(
        f"M{x - 6:.1f} {y:.1f}q6 -9 12 0q-6 9 -12 0M{x - 2:.1f} {y:.1f}h4" for x, y in at
    )
    return line(marks, "#2d4452", 2.4, 'stroke-opacity="0.85"')


def hand(look: Look, pose: Arm) -> tuple[str, str]:
    """The hand in two layers: what lies behind a held thing, and the fingers in front of it."""
    if pose.hand == "hidden":
        return "", ""
    tone, shade = _hand_tones(look)
    paint = mix(tone, shade, 0.12)
    scale = f"{_HAND_SCALE.get(look.gender, 1.0):.2f}"
    back, front = _HANDS[pose.hand](paint, shade)
    x, y = pose.wrist
    placed = [moved(p, x, y, pose.turn, scale) if p else "" for p in (back, front)]
    return placed[0], placed[1]


_HAND_SCALE = {"female": 0.94, "male": 1.08}


def _hand_tones(look: Look) -> tuple[str, str]:
    if "gloves" not in look.accessories:
        return look.skin.base, look.skin.shade
    glove = (
        "#7d5a34"
        if any(w in look.role for w in ("weld", "farm", "carpent", "fire", "build"))
        else "#5a8fc7"
    )
    return glove, darker(glove, 0.3)


def _relaxed(paint: str, shade: str) -> tuple[str, str]:
    palm = "M-11 -6C-14 8 -15 20 -12 30C-10 40 -5 45 1 44C7 44 11 38 12 28C13 14 11 4 11 -6Z"
    thumb = "M-10 4C-18 10 -20 22 -16 30C-12 32 -9 26 -9 18Z"
    fine = "M-5 28L-4 41M1 29L2 43M7 27L7 38"
    return path(palm, paint) + path(thumb, paint) + line(fine, shade, 1.6), ""


def _fist(paint: str, shade: str) -> tuple[str, str]:
    palm = "M-11 -6C-15 4 -17 14 -15 24C-13 34 13 34 15 24C17 14 14 4 11 -6Z"
    fingers = (
        "M-13 8H11a4.500 4.500 0 0 1 0 9H-13a4.500 4.500 0 0 1 0 -9ZM-14 16H12a4.500 4.500 0 0 1 0 9H-14a4.500 4.500 0 0 1 0 -9Z"
        "M-12 24H10a4.300 4.300 0 0 1 0 8.500H-12a4.300 4.300 0 0 1 0 -8.500Z"
    )
    gaps = "M-15 16.500H13M-16 24.500H13"
    thumb = "M11 -2C18 4 18 14 10 18C4 18 2 14 4 10C8 8 9 4 11 -2Z"
    return path(palm, paint), path(fingers, paint) + line(gaps, shade, 1.6) + path(
        thumb, paint
    ) + line("M4 11Q6 17 12 16", shade, 1.4)


def _hip(paint: str, shade: str) -> tuple[str, str]:
    palm = "M-10 -6C-13 6 -12 18 -9 30L-4 38Q4 40 9 32C13 22 12 6 10 -6Z"
    return path(palm, paint) + line("M-4 24L-1 36M3 24L5 35", shade, 1.6), ""


def _flat(paint: str, shade: str) -> tuple[str, str]:
    palm = "M-11 -8C-14 4 -14 14 -12 22L-10 42Q-7 47 -3 43L-2 45Q2 49 5 44L7 43Q11 43 11 37L13 20C14 10 12 2 11 -8Z"
    thumb = "M-10 2C-18 4 -23 14 -22 24C-18 27 -14 22 -12 14Z"
    return "", path(palm, paint) + path(thumb, paint) + line("M-4 26L-3 42M3 26L4 43", shade, 1.6)


def _cup(paint: str, shade: str) -> tuple[str, str]:
    palm = "M-11 -8C-15 4 -15 20 -11 34Q0 42 10 34C14 20 13 4 11 -8Z"
    fingers = "M-11 14C-6 10 8 10 13 16L11 36Q4 44 -4 40Q-12 36 -11 14Z"
    return path(palm, paint), path(fingers, paint) + line("M-4 18L-3 38M4 18L4 39", shade, 1.6)


_HANDS = {"relaxed": _relaxed, "fist": _fist, "hip": _hip, "flat": _flat, "cup": _cup}


@dataclass(slots=True)
class Bottom:
    """What covers the legs."""

    kind: str
    """trousers, skirt, tights."""
    color: str
    """Paint."""
    shoes: str
    """Paint of the shoes."""


def hips(b: Build, bottom: Bottom) -> str:
    """What shows of the legs' clothing in a picture that ends below the waist."""
    return _pelvis(b, bottom.color) if bottom.kind != "tights" else ""


def legs(look: Look, b: Build, bottom: Bottom, *, sitting: bool) -> str:
    """Both legs with shoes; a skirt is drawn over bare legs."""
    if sitting:
        return _sitting_legs(look, b, bottom)
    x = b.hip * 0.5
    joints = ((x, 446.0), (x + 4, 590.0), (x + 1, 722.0))
    bare = bottom.kind == "skirt"
    color = look.skin.base if bare else bottom.color
    slim = bare or bottom.kind == "tights"
    widths = (
        (b.leg * 0.86, b.leg * 0.60, b.leg * 0.36)
        if slim
        else (b.leg + 12, b.leg * 0.84, b.leg * 0.68)
    )
    shape = path(limb(joints, widths), darker(color, 0.1))
    other = f'<g transform="scale(-1 1)">{path(limb(joints, widths), color)}</g>'
    pelvis = _pelvis(b, color)
    shoe = _shoes(bottom.shoes, x + 1, 722, widths[2])
    seam = (
        ""
        if slim
        else line(
            f"M0 452V486M{x + 3:.1f} 480L{x + 5:.1f} 700M{-x - 3:.1f} 480L{-x - 5:.1f} 700",
            contrasting(color, 0.25),
            1.6,
            'stroke-opacity="0.5"',
        )
    )
    skirt = _skirt(b, bottom.color) if bare else ""
    return shoe + other + shape + pelvis + seam + skirt


def _pelvis(b: Build, color: str) -> str:
    w, h = b.waist, b.hip
    d = f"M{-w:.1f} 372L{w:.1f} 372C{w + 3:.1f} 400 {h + 3:.1f} 420 {h + 3:.1f} 452C{h:.1f} 478 20 500 0 496C-20 500 {-h:.1f} 478 {-h - 3:.1f} 452C{-h - 3:.1f} 420 {-w - 3:.1f} 400 {-w:.1f} 372Z"
    return path(d, darker(color, 0.04))


def _skirt(b: Build, color: str) -> str:
    w, h = b.waist + 1, b.hip + 4
    d = f"M{-w:.1f} 370L{w:.1f} 370C{w + 4:.1f} 400 {h:.1f} 420 {h + 4:.1f} 460L{h + 12:.1f} 590Q0 604 {-h - 12:.1f} 590L{-h - 4:.1f} 460C{-h:.1f} 420 {-w - 4:.1f} 400 {-w:.1f} 370Z"
    folds = line("M-26 470L-32 588M22 460L30 592", darker(color, 0.3), 2, 'stroke-opacity="0.5"')
    return path(d, color) + folds


def _shoes(color: str, x: float, y: float, width: float) -> str:
    r = width / 2 + 3
    d = f"M{x - r:.1f} {y - 10:.1f}L{x + r:.1f} {y - 10:.1f}C{x + r + 2:.1f} {y} {x + r + 13:.1f} {y + 4} {x + r + 12:.1f} {y + 16}Q{x:.1f} {y + 21} {x - r - 4:.1f} {y + 16}C{x - r - 4:.1f} {y + 4} {x - r:.1f} {y} {x - r:.1f} {y - 10}Z"
    sole = f"M{x - r - 4:.1f} {y + 13}Q{x:.1f} {y + 19} {x + r + 12:.1f} {y + 13}L{x + r + 12:.1f} {y + 18}Q{x:.1f} {y + 23} {x - r - 4:.1f} {y + 18}Z"
    one = path(d, color) + path(sole, darker(color, 0.5))
    return one + f'<g transform="scale(-1 1)">{one}</g>'


def _sitting_legs(look: Look, b: Build, bottom: Bottom) -> str:
    bare = bottom.kind == "skirt"
    color = look.skin.base if bare else bottom.color
    x = b.hip * 0.66
    shin = ((x, 506.0), (x - 3, 572.0), (x - 6, 636.0))
    slim = bare or bottom.kind == "tights"
    widths = (
        (b.leg * 0.72, b.leg * 0.62, b.leg * 0.38)
        if slim
        else (b.leg * 0.9, b.leg * 0.78, b.leg * 0.62)
    )
    lower = path(limb(shin, widths), darker(color, 0.12))
    top = bottom.color
    thigh = f"M4 432L{b.hip + 4:.1f} 428C{b.hip + 18:.1f} 456 {x + b.leg * 0.62:.1f} 496 {x + b.leg * 0.52:.1f} 522C{x + 10:.1f} 544 {x - 22:.1f} 540 {x - b.leg * 0.5:.1f} 516C4 500 2 460 4 432Z"
    upper = path(thigh, top)
    knee = oval(x, 514, b.leg * 0.34, 17, lighter(top, 0.16), 'fill-opacity="0.35"')
    one = lower + upper + knee
    shoe = _shoes(bottom.shoes, x - 6, 634, widths[2])
    lap = path(
        f"M{-b.hip - 2:.1f} 420L{b.hip + 2:.1f} 420L16 494Q0 504 -16 494Z", darker(top, 0.14)
    )
    return shoe + lap + one + f'<g transform="scale(-1 1)">{one}</g>'


def shoe_color(look: Look) -> str:
    """A quiet shoe colour that goes with the clothes."""
    return {"female": "#5b3b3a", "male": "#4a3a33"}.get(look.gender, COLORS["black"])
