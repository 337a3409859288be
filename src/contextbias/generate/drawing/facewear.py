"""What is worn on the face: glasses, beards, masks, earrings, headphones."""

from __future__ import annotations

from contextbias.generate.drawing.head import Shape, shape_of
from contextbias.generate.drawing.look import Look
from contextbias.generate.drawing.palette import COLORS
from contextbias.generate.drawing.svg import (
    Ink,
    both_sides,
    box,
    contrasting,
    darker,
    lighter,
    line,
    oval,
    path,
)


def facial_hair(ink: Ink, look: Look) -> str:
    """Beard, moustache and the like; drawn over the face and under glasses."""
    draw = _FACIAL_HAIR.get(look.facial_hair)
    return draw(ink, look, shape_of(look)) if draw else ""


def _mouth_gap(look: Look) -> float:
    return 7.0 if look.expression in ("happy", "surprised", "angry") else 0.0


def _mustache_shape(drop: float) -> str:
    return (
        f"M0 29C6 26 16 28 20 {36 + drop:.1f}C14 {37 + drop:.1f} 6 36 0 34.5"
        f"C-6 36 -14 {37 + drop:.1f} -20 {36 + drop:.1f}C-16 28 -6 26 0 29Z"
    )


def _mustache(ink: Ink, look: Look, _shape: Shape) -> str:
    return path(_mustache_shape(3), ink.soft(darker(look.beard, 0.12)))


def _beard(ink: Ink, look: Look, shape: Shape) -> str:
    j, gap = shape.jaw, _mouth_gap(look)
    d = (
        f"M-48 4C-47 24 {-j - 5:.1f} 44 {-j + 2:.1f} 56C-20 76 -8 80 0 80C8 80 20 76 {j - 2:.1f} 56"
        f"C{j + 5:.1f} 44 47 24 48 4L43 8C42 22 36 30 26 30C18 27 8 27 0 29C-8 27 -18 27 -26 30"
        f"C-36 30 -42 22 -43 8Z"
        f"M-15 {38 - gap * 0.3:.1f}Q0 34 15 {38 - gap * 0.3:.1f}Q17 {46 + gap:.1f} 0 {48 + gap:.1f}"
        f"Q-17 {46 + gap:.1f} -15 {38 - gap * 0.3:.1f}Z"
    )
    fine = line(
        "M-34 40C-30 54 -22 64 -16 70M34 40C30 54 22 64 16 70M-8 56L-6 74M8 56L6 74",
        darker(look.beard, 0.4), 1.6, 'stroke-opacity="0.45"',
    )  # fmt: skip
    return path(d, ink.linear(darker(look.beard, 0.05), darker(look.beard, 0.25)), _EVEN) + fine


_EVEN = 'fill-rule="evenodd"'


def _goatee(ink: Ink, look: Look, _shape: Shape) -> str:
    gap = _mouth_gap(look)
    chin = f"M-17 {46 + gap:.1f}Q0 {53 + gap:.1f} 17 {46 + gap:.1f}C18 64 10 76 0 77C-10 76 -18 64 -17 {46 + gap:.1f}Z"
    sides = f"M-20 35L-15 36L-14 {50 + gap:.1f}L-18 {50 + gap:.1f}ZM20 35L15 36L14 {50 + gap:.1f}L18 {50 + gap:.1f}Z"
    paint = ink.soft(darker(look.beard, 0.12))
    return path(chin + sides + _mustache_shape(2), paint)


def _stubble(_ink: Ink, look: Look, shape: Shape) -> str:
    j = shape.jaw
    d = (
        f"M-47 4C-47 20 {-j - 4:.1f} 30 {-j:.1f} 38C{-j + 4:.1f} 52 -20 {shape.drop:.1f} 0 {shape.drop:.1f}"
        f"C20 {shape.drop:.1f} {j - 4:.1f} 52 {j:.1f} 38C{j + 4:.1f} 30 47 20 47 4C44 22 36 30 26 30"
        f"C18 27 8 27 0 29C-8 27 -18 27 -26 30C-36 30 -44 22 -47 4ZM-14 38Q0 34 14 38Q14 48 0 48Q-14 48 -14 38Z"
    )
    return path(d, darker(look.beard, 0.3), _EVEN + ' fill-opacity="0.34"')


def _soul_patch(_ink: Ink, look: Look, _shape: Shape) -> str:
    drop = _mouth_gap(look)
    return path(
        f"M-6 {50 + drop:.1f}Q0 {52 + drop:.1f} 6 {50 + drop:.1f}L2.5 {61 + drop * 0.4:.1f}Q0 63 -2.5 {61 + drop * 0.4:.1f}Z",
        darker(look.beard, 0.2),
    )


def _sideburns(ink: Ink, look: Look, shape: Shape) -> str:
    j = shape.jaw
    d = f"M43 -14L49 -6C49 14 {j + 5:.1f} 28 {j + 2:.1f} 38C{j - 4:.1f} 42 {j - 10:.1f} 40 {j - 12:.1f} 34C38 26 41 10 43 -14Z"
    return both_sides(path(d, ink.soft(darker(look.beard, 0.15))))


_FACIAL_HAIR = {
    "mustache": _mustache,
    "beard": _beard,
    "goatee": _goatee,
    "stubble": _stubble,
    "soul_patch": _soul_patch,
    "sideburns": _sideburns,
}


def eyewear(ink: Ink, look: Look) -> str:
    """Glasses, goggles or a face shield, over hair at the temples and under a hat."""
    draw = _EYEWEAR.get(look.eyewear)
    return draw(ink, look) if draw else ""


_ARMS = "M35 2L50 -2M-35 2L-50 -2"


def _eyeglasses(_ink: Ink, look: Look) -> str:
    frame = "#33262a" if look.accent in ("navy", "teal", "gold") else "#7a2f34"
    round_lens = look.tilt > 0
    if round_lens:
        lenses = oval(-19.5, 5, 16, 15.5, "#ffffff", 'fill-opacity="0.22"') + oval(
            19.5, 5, 16, 15.5, "#ffffff", 'fill-opacity="0.22"'
        )
        rims = "M-35.5 5a16 15.5 0 1 0 32 0a16 15.5 0 1 0 -32 0M3.5 5a16 15.5 0 1 0 32 0a16 15.5 0 1 0 -32 0"
    else:
        lenses = box(-36, -7, 32, 24, "#ffffff", 7, 'fill-opacity="0.22"') + box(
            4, -7, 32, 24, "#ffffff", 7, 'fill-opacity="0.22"'
        )
        rims = "M-29 -7h18q7 0 7 7v9q0 8 -8 8h-16q-8 0 -8 -8v-9q0 -7 7 -7ZM11 -7h18q7 0 7 7v9q0 8 -8 8h-16q-8 0 -8 -8v-9q0 -7 7 -7Z"
    glint = line("M-29 12L-21 -3M10 12L18 -3", "#ffffff", 2.2, 'stroke-opacity="0.55"')
    return lenses + glint + line(rims + "M-4 2Q0 -1 4 2" + _ARMS, frame, 3.2)


def _sunglasses(ink: Ink, _look: Look) -> str:
    lens = "M-38 -6Q-20 -11 -4 -5C-4 10 -10 21 -20 21C-31 21 -37 12 -38 -6ZM38 -6Q20 -11 4 -5C4 10 10 21 20 21C31 21 37 12 38 -6Z"
    glint = line("M-31 9L-25 -3M10 9L16 -3", "#ffffff", 2.4, 'stroke-opacity="0.4"')
    bridge = line("M-5 -3Q0 -7 5 -3M36 -4L50 -4M-36 -4L-50 -4", "#1c1a20", 3.6)
    return path(lens, ink.linear("#17161c", "#4b3a46")) + glint + bridge


def _goggles(ink: Ink, look: Look) -> str:
    strap = path("M-51 -6L-37 -8L-37 14L-51 12ZM51 -6L37 -8L37 14L51 12Z", "#3c4650")
    frame = "M-40 -10Q0 -18 40 -10Q45 6 37 18Q22 26 6 17Q0 12 -6 17Q-22 26 -37 18Q-45 6 -40 -10Z"
    glass = "M-34 -6Q0 -13 34 -6Q38 6 32 14Q20 20 8 12Q0 7 -8 12Q-20 20 -32 14Q-38 6 -34 -6Z"
    rim = "#e08a2e" if look.accent in ("orange", "red", "gold") else "#4aa0a8"
    return (
        strap
        + path(frame + glass, rim, _EVEN)
        + path(glass, ink.linear("#dff3f5", "#9fd3dc"), 'fill-opacity="0.42"')
        + line("M-28 10L-20 -6M14 8L21 -6", "#ffffff", 2.6, 'stroke-opacity="0.75"')
    )


def _face_shield(ink: Ink, _look: Look) -> str:
    visor = "M-54 -40Q0 -52 54 -40L56 62Q30 88 0 88Q-30 88 -56 62Z"
    band = "M-54 -46Q0 -60 54 -46L55 -32Q0 -46 -55 -32Z"
    return (
        path(visor, ink.linear("#e8f6fb", "#a9d2e6", 0.6, 1), 'fill-opacity="0.38"')
        + line(visor, "#ffffff", 2.2, 'stroke-opacity="0.85"')
        + path("M-42 -30L-28 -33L-40 64L-48 56Z", "#ffffff", 'fill-opacity="0.42"')
        + path(band, ink.soft("#3f6f96"))
    )


def _monocle(_ink: Ink, _look: Look) -> str:
    return oval(19.5, 5, 15, 15, "#fff", 'fill-opacity="0.25"') + line(
        "M4.5 5a15 15 0 1 0 30 0a15 15 0 1 0 -30 0M30 16C36 40 30 60 38 90", "#b58a2c", 2.8
    )


def _headset(ink: Ink, _look: Look) -> str:
    return (
        path("M-52 -12L52 -12L52 8L-52 8Z", "#2d2f36")
        + box(-42, -18, 84, 40, ink.linear("#4a4e58", "#22242a"), 14)
        + line("M-30 -8Q0 -12 30 -8", "#8fd0e6", 2.6)
    )


def _ski_goggles(ink: Ink, _look: Look) -> str:
    return (
        path("M-52 -8L52 -8L52 12L-52 12Z", "#c4473f")
        + box(-42, -18, 84, 40, "#efeae2", 18)
        + box(-37, -13, 74, 29, ink.linear("#f0a64a", "#7c4b9c", 1, 0.4), 13)
        + line("M-26 8L-16 -8", "#ffffff", 3, 'stroke-opacity="0.6"')
    )


def _swim_goggles(ink: Ink, _look: Look) -> str:
    lens = ink.linear("#7fd0e0", "#2e78a8")
    return (
        line("M-34 4L-50 0M34 4L50 0M-6 4H6", "#1f3d59", 4)
        + oval(-20, 5, 15, 11, "#1f3d59") + oval(20, 5, 15, 11, "#1f3d59")
        + oval(-20, 5, 11.5, 8, lens) + oval(20, 5, 11.5, 8, lens)
    )  # fmt: skip


_EYEWEAR = {
    "eyeglasses": _eyeglasses,
    "sunglasses": _sunglasses,
    "safety_goggles": _goggles,
    "protective_face_shield": _face_shield,
    "monocle": _monocle,
    "vr_headset": _headset,
    "ski_goggles": _ski_goggles,
    "swim_goggles": _swim_goggles,
}


def mask(ink: Ink, look: Look) -> str:
    """A medical mask over nose, mouth and chin."""
    if "mask" not in look.accessories:
        return ""
    j = shape_of(look).jaw
    d = f"M{-j - 4:.1f} 18Q-18 12 0 8Q18 12 {j + 4:.1f} 18L{j - 1:.1f} 50Q20 70 0 70Q-20 70 {1 - j:.1f} 50Z"
    folds = f"M{-j + 4:.1f} 34Q0 38 {j - 4:.1f} 34M{-j + 6:.1f} 46Q0 51 {j - 6:.1f} 46"
    loops = f"M{-j - 3:.1f} 19L-49 4M{j + 3:.1f} 19L49 4M{-j:.1f} 48L-48 20M{j:.1f} 48L48 20"
    return (
        line(loops, "#e9edf0", 2)
        + path(d, ink.linear("#d8ecf2", "#9cc4d4", 0.5, 1))
        + line(folds, "#7faabd", 1.8)
    )


def ear_wear(ink: Ink, look: Look) -> str:
    """Earrings and headphones."""
    parts = []
    if "earrings" in look.accessories or "jewelry" in look.accessories:
        gold = ink.linear("#f4d57a", "#b9832a")
        parts.append(both_sides(oval(50, 26, 4, 4, gold) + path("M50 29L56 40L50 50L44 40Z", gold)))
    if "headphones" in look.accessories:
        band = line("M-56 4C-62 -96 62 -96 56 4", "#2f3440", 8)
        shine = line("M-48 -40C-36 -68 -14 -74 4 -73", lighter("#2f3440", 0.4), 2.4)
        cup = box(46, -14, 19, 40, ink.soft("#c8553d"), 9) + box(44, -10, 8, 32, "#2a2d35", 4)
        parts.append(band + shine + both_sides(cup))
    return "".join(parts)


def neck_wear(ink: Ink, look: Look) -> str:
    """A scarf or a necklace, over the collar and under the chin."""
    parts = []
    color = COLORS[look.accent]
    if "necklace" in look.accessories or "jewelry" in look.accessories:
        parts.append(line("M-27 98C-20 132 20 132 27 98", "#d9ae46", 3.4))
        parts.append(path("M0 121l8 9l-8 11l-8 -11Z", ink.linear("#bfe6ea", "#3f9aa8")))
    if "scarf" in look.accessories:
        wrap = "M-40 78C-30 68 30 68 40 78C48 92 44 108 34 112C14 120 -14 120 -34 112C-44 108 -48 92 -40 78Z"
        tail = "M10 104L38 100C44 130 44 160 40 186L14 184C18 160 16 130 10 104Z"
        parts.append(path(tail, ink.linear(color, darker(color, 0.28))))
        parts.append(path(wrap, ink.soft(color)))
        fold = (
            "M-36 88C-16 98 16 98 38 86M-32 102C-12 110 14 110 34 100M16 176v12M24 176v12M32 176v12"
        )
        parts.append(line(fold, contrasting(color, 0.32), 2.2))
    return "".join(parts)
