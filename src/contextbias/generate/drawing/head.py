"""The face: its shape, ears, neck and features. Drawn about (0, 0), the middle of the head."""

from __future__ import annotations

from typing import NamedTuple

from contextbias.generate.drawing.look import Look
from contextbias.generate.drawing.svg import (
    Ink,
    both_sides,
    darker,
    lighter,
    line,
    luminance,
    mix,
    oval,
    path,
)

_GAZE = {
    "left": (-5.0, 0.5),
    "right": (5.0, 0.5),
    "up": (0.0, -4.5),
    "down": (0.0, 5.0),
    "away": (8.0, -1.0),
}


class Shape(NamedTuple):
    """Half widths of a face and what goes with them."""

    jaw: float
    """Half width at the height of the mouth."""
    chin: float
    """Half width of the chin."""
    drop: float
    """y of the chin's lowest point."""
    neck: float
    """Half width of the neck."""
    brow: float
    """Thickness of the brows."""
    lashes: float
    """Length of the lashes; 0 for none."""
    lips: float
    """Fullness of the lips."""


_SHAPES = {
    "female": Shape(34.0, 12.0, 63.0, 19.0, 3.0, 3.4, 0.9),
    "nonbinary": Shape(37.5, 16.5, 64.0, 22.5, 4.0, 2.0, 0.55),
    "male": Shape(41.0, 22.0, 66.0, 27.0, 5.2, 0.0, 0.2),
}


def shape_of(look: Look) -> Shape:
    """The face shape that goes with presentation, build and age."""
    shape = _SHAPES.get(look.gender, _SHAPES["nonbinary"])
    width = {"stocky": 3.0, "curvy": 2.0, "slim": -1.5}.get(look.body, 0.0)
    width += 1.5 if look.age == "older_adult" else 0.0
    if look.age in ("child", "teen"):
        shape = shape._replace(drop=shape.drop - 3, neck=shape.neck - 4, brow=shape.brow - 0.6)
        width += 1.5
    return shape._replace(jaw=shape.jaw + width, neck=shape.neck + width)


def face_outline(shape: Shape) -> str:
    """Path data of the face from crown to chin."""
    j, c, d = shape.jaw, shape.chin, shape.drop
    return (
        f"M-47 -8C-47 -46 -28 -66 0 -66C28 -66 47 -46 47 -8C47 12 {j + 5:.1f} 24 {j:.1f} 37"
        f"C{j - 4:.1f} 50 {c + 5:.1f} {d:.1f} 0 {d:.1f}C{-c - 5:.1f} {d:.1f} {4 - j:.1f} 50 {-j:.1f} 37"
        f"C{-j - 5:.1f} 24 -47 12 -47 -8Z"
    )


def neck(ink: Ink, look: Look) -> str:
    """Neck with the shade that the chin throws on it; reaches down to y = 116."""
    shape, skin = shape_of(look), look.skin
    n = shape.neck
    column = (
        f"M{-n:.1f} 30L{-n:.1f} 80C{-n - 2:.1f} 92 {-n - 16:.1f} 98 {-n - 30:.1f} 104L0 128"
        f"L{n + 30:.1f} 104C{n + 16:.1f} 98 {n + 2:.1f} 92 {n:.1f} 80L{n:.1f} 30Z"
    )
    shade = f"M{-n:.1f} 40L{n:.1f} 40L{n:.1f} 72C{n * 0.5:.1f} 88 {-n * 0.6:.1f} 86 {-n:.1f} 66Z"
    lines = f"M-5 112Q-13 108 {-n - 14:.1f} 106M5 112Q13 108 {n + 14:.1f} 106"
    return (
        path(column, ink.linear(skin.base, mix(skin.base, skin.shade, 0.35), 0.6, 1.0))
        + path(shade, mix(skin.base, skin.shade, 0.8))
        + line(lines, skin.shade, 1.8, 'stroke-opacity="0.5"')
        + (_neck_tattoo(n) if look.tattoo else "")
    )


def _neck_tattoo(n: float) -> str:
    x = n - 7
    leaf = (
        f"M{x:.1f} 96C{x - 4:.1f} 86 {x + 3:.1f} 78 {x - 1:.1f} 66"
        f"M{x:.1f} 90q-8 -1 -9 -8q8 0 9 8M{x + 1:.1f} 83q8 -3 7 -10q-8 2 -7 10"
        f"M{x:.1f} 76q-8 -2 -8 -8q8 1 8 8"
    )
    return line(leaf, "#2d4452", 2.2, 'stroke-opacity="0.85"')


def face(ink: Ink, look: Look) -> str:
    """Ears, face, light and shade on it, and all features, the gaze turning them slightly."""
    shape, skin = shape_of(look), look.skin
    outline = face_outline(shape)
    dx, dy = _GAZE.get(look.gaze, (0.0, 0.0))
    side = path(
        f"M47 -8C47 12 {shape.jaw + 5:.1f} 24 {shape.jaw:.1f} 37C{shape.jaw - 4:.1f} 50 "
        f"{shape.chin + 5:.1f} {shape.drop:.1f} 0 {shape.drop:.1f}C24 56 30 38 33 14C35 -8 37 -30 32 -50"
        f"C42 -40 47 -26 47 -8Z",
        skin.shade,
        'fill-opacity="0.28"',
    )
    parts = [
        _ears(look),
        path(
            outline, ink.linear(lighter(skin.base, 0.12), mix(skin.base, skin.shade, 0.25), 0.7, 1)
        ),
        side,
        _blush(ink, look, dx, dy),
        f'<g transform="translate({dx:.1f} {dy:.1f})">{_features(look, shape)}</g>',
    ]
    return "".join(parts)


def _ears(look: Look) -> str:
    skin = look.skin
    ear = "M44 -4C52 -12 60 -4 57 8C55 18 50 25 44 22Z"
    inner = "M48 1C53 -1 54 6 51 12"
    left = f'<g transform="scale(-1 1)">{path(ear, mix(skin.base, skin.blush, 0.2))}'
    left += f"{line(inner, skin.shade, 2)}</g>"
    return left + path(ear, mix(skin.base, skin.shade, 0.45)) + line(inner, skin.shade, 2)


def _blush(ink: Ink, look: Look, dx: float, dy: float) -> str:
    strength = 0.55 if look.expression in ("smiling", "happy") else 0.36
    if look.gender == "male":
        strength -= 0.12
    paint = ink.glow(look.skin.blush, strength)
    return oval(-26 + dx, 25 + dy, 15, 11, paint) + oval(26 + dx, 25 + dy, 15, 11, paint)


class _Mien(NamedTuple):
    """How an expression moves the features."""

    brow_in: float
    brow_out: float
    lid: float
    mouth: str


_MIENS = {
    "neutral": _Mien(0, 0, 0.0, "rest"),
    "smiling": _Mien(-1, 0, 0.12, "smile"),
    "happy": _Mien(-3, -2, 0.25, "laugh"),
    "frowning": _Mien(4, -1, 0.12, "frown"),
    "serious": _Mien(3.5, 1.5, 0.1, "flat"),
    "focused": _Mien(4, 0, 0.28, "small"),
    "surprised": _Mien(-8, -7, -0.3, "round"),
    "angry": _Mien(8, -4, 0.15, "grit"),
    "sad": _Mien(-6, 4, 0.2, "sad"),
    "tired": _Mien(-1, 3, 0.5, "slack"),
}


def _features(look: Look, shape: Shape) -> str:
    mien = _MIENS.get(look.expression, _MIENS["neutral"])
    parts = [
        _wrinkles(look),
        _eye(look, shape, mien, -19.0, -1),
        _eye(look, shape, mien, 19.0, 1),
        _brows(look, shape, mien),
        _nose(look),
    ]
    if "mask" not in look.accessories:
        parts.append(_mouth(look, shape, mien))
    return "".join(parts)


def _eye(look: Look, shape: Shape, mien: _Mien, x: float, side: int) -> str:
    gaze_x, gaze_y = (v * 0.62 for v in _GAZE.get(look.gaze, (0.0, 0.0)))
    young = 1.0 if look.age in ("child", "teen") else 0.0
    open_y = (6.3 + 0.7 * (shape.lashes > 3) + young) * (1 - mien.lid)
    low_y = 4.6 + young - (1.4 if mien.mouth == "laugh" else 0.0)
    top = 4 - open_y
    radius = 4.7 + 0.5 * young
    iris_y = min(max(4 + gaze_y * 0.75, top + 2.6), 4 + low_y - 1.8)
    ink_line = mix("#241a1c", look.skin.shade, 0.12)
    white = f"M{x - 10:.1f} 4.6Q{x:.1f} {top - open_y * 0.85 + 2:.1f} {x + 10:.1f} 4.6Q{x:.1f} {4 + low_y * 1.9:.1f} {x - 10:.1f} 4.6Z"
    lid = f"M{x - 10.5:.1f} 5Q{x:.1f} {top - open_y * 0.85 + 2:.1f} {x + 10.5:.1f} 5"
    crease = f"M{x - 8:.1f} {top - 1.5:.1f}Q{x:.1f} {top - 6.5:.1f} {x + 8:.1f} {top - 1.5:.1f}"
    parts = [
        path(white, "#fbf7f2"),
        oval(x + gaze_x, iris_y, radius, min(radius, open_y + 0.6), look.iris),
        oval(x + gaze_x, iris_y, radius * 0.52, min(radius * 0.52, open_y), "#17110f"),
        oval(x + gaze_x - 1.5, iris_y - 1.6, 1.3, 1.3, "#ffffff"),
        line(lid, ink_line, 2.3 + 0.25 * shape.lashes),
        line(crease, look.skin.shade, 1.4, 'stroke-opacity="0.8"'),
    ]
    if shape.lashes:
        reach = shape.lashes
        outer = x + side * 10
        lash = (
            f"M{outer:.1f} 4.6l{side * reach:.1f} {-reach * 0.8:.1f}"
            f"M{outer - side * 3:.1f} 1.4l{side * reach * 0.7:.1f} {-reach * 0.8:.1f}"
        )
        parts.append(line(lash, ink_line, 1.7))
    if look.expression == "tired":
        parts.append(line(f"M{x - 8:.1f} 13Q{x:.1f} 18 {x + 8:.1f} 13", look.skin.shade, 2.2))
    return "".join(parts)


def _brow_color(look: Look) -> str:
    base = darker(look.hair, 0.28)
    return mix(base, "#3a2c26", 0.35) if luminance(base) > 0.6 else base


def _brows(look: Look, shape: Shape, mien: _Mien) -> str:
    w = shape.brow
    arch = 3.5 if look.gender == "female" else 1.5
    inner, outer = -11.5 + mien.brow_in, -11.5 + mien.brow_out
    top = min(inner, outer) - arch - 2
    right = (
        f"M8.5 {inner + w * 0.5:.1f}Q19 {top + w * 0.3:.1f} 32 {outer + 1.5:.1f}"
        f"Q20 {top - w * 0.7:.1f} 8.5 {inner - w * 0.6:.1f}Z"
    )
    return both_sides(path(right, _brow_color(look)))


def _nose(look: Look) -> str:
    skin = look.skin
    wide = {"female": 6.0, "male": 8.5}.get(look.gender, 7.2)
    bridge = f"M5 -2C5 8 {wide + 1:.1f} 16 {wide + 1.5:.1f} 21C{wide + 1:.1f} 26 2 26 0 26C3 20 3 8 5 -2Z"
    under = f"M{-wide:.1f} 22.5Q{-wide + 2:.1f} 26 -2 25.5Q0 28 2 25.5Q{wide - 2:.1f} 26 {wide:.1f} 22.5"
    return path(bridge, skin.shade, 'fill-opacity="0.42"') + line(
        under, darker(skin.shade, 0.12), 2
    )


def _lip(look: Look) -> str:
    if look.gender == "female":
        return mix(look.skin.lips, "#b3263f", 0.38)
    return mix(look.skin.lips, look.skin.shade, 0.35)


def _mouth(look: Look, shape: Shape, mien: _Mien) -> str:
    full, lip = shape.lips, _lip(look)
    dark = darker(mix(lip, "#5a1f26", 0.5), 0.25)
    if mien.mouth == "laugh":
        return (
            path("M-17 35Q0 40 17 35Q14 54 0 54Q-14 54 -17 35Z", dark)
            + path("M-14.5 36.5Q0 41 14.5 36.5L13 42Q0 46 -13 42Z", "#fdfaf5")
            + oval(0, 51, 7, 2.6, "#c9605f")
            + line("M-18 34.5Q0 40 18 34.5", lip, 1.8 + full)
        )
    if mien.mouth == "round":
        return oval(0, 43, 7.0, 8.5, lip) + oval(0, 43, 4.8, 6.4, dark)
    if mien.mouth == "grit":
        return path("M-13 42Q0 35 13 42L12 47Q0 42 -12 47Z", "#fdfaf5") + line(
            "M-13 42Q0 35 13 42L12 47Q0 42 -12 47ZM-5 39v5.5M1 38.5v5.5M7 39.5v5.5", dark, 1.7
        )
    return _closed_mouth(mien.mouth, full, lip, dark)


# Mouth line: half width, y of the corners, y of the curve's control point.
_CURVES = {
    "rest": (11.5, 40.5, 42.5),
    "smile": (15.5, 36.5, 48.0),
    "frown": (12.5, 43.5, 37.0),
    "flat": (12.0, 41.0, 41.0),
    "small": (8.0, 41.0, 40.0),
    "sad": (10.5, 44.5, 37.5),
    "slack": (10.5, 42.5, 40.0),
}


def _closed_mouth(kind: str, full: float, lip: str, dark: str) -> str:
    half, corner, bend = _CURVES[kind]
    middle = (corner + bend) / 2
    upper = (
        f"M{-half:.1f} {corner:.1f}Q{-half * 0.4:.1f} {middle - 4 - 3 * full:.1f} 0 "
        f"{middle - 1.2 - 2 * full:.1f}Q{half * 0.4:.1f} {middle - 4 - 3 * full:.1f} {half:.1f} {corner:.1f}"
        f"Q0 {bend:.1f} {-half:.1f} {corner:.1f}Z"
    )
    lower = (
        f"M{-half * 0.8:.1f} {corner + (middle - corner) * 0.5:.1f}Q0 {bend:.1f} {half * 0.8:.1f} "
        f"{corner + (middle - corner) * 0.5:.1f}Q0 {bend + 7 + 5 * full:.1f} {-half * 0.8:.1f} "
        f"{corner + (middle - corner) * 0.5:.1f}Z"
    )
    seam = f"M{-half - 1:.1f} {corner:.1f}Q0 {bend:.1f} {half + 1:.1f} {corner:.1f}"
    parts = [path(lower, lip), path(upper, darker(lip, 0.08))] if full > 0.4 else []
    if full <= 0.4:
        parts = [path(lower, lip, 'fill-opacity="0.55"')]
    if kind == "smile":
        parts.append(
            line("M-18.5 33q-2.5 3 -.5 6M18.5 33q2.5 3 .5 6", dark, 1.6, 'stroke-opacity="0.6"')
        )
    return "".join(parts) + line(seam, dark, 2.2)


def _wrinkles(look: Look) -> str:
    shade = darker(look.skin.shade, 0.10)
    if look.age == "middle_aged":
        folds = "M-13 26C-18 30 -20 36 -19 42M13 26C18 30 20 36 19 42"
        brow = "M-17 -28Q0 -31 17 -28M31 2l6 -3M32 6l6 2M-31 2l-6 -3M-32 6l-6 2"
        return line(folds + brow, shade, 1.8, 'stroke-opacity="0.8"')
    if look.age != "older_adult":
        return ""
    folds = "M-13 25C-20 29 -23 38 -21 46M13 25C20 29 23 38 21 46"
    brow = "M-21 -25Q0 -30 21 -25M-17 -32Q0 -36 17 -32M-12 -39Q0 -42 12 -39M-3 -9v-6M3 -9v-6"
    feet = "M31 0l7 -4M32 4.500l8 0M31 9l7 4M-31 0l-7 -4M-32 4.500l-8 0M-31 9l-7 4"
    bags = "M-28 13Q-19 20 -10 13M28 13Q19 20 10 13"
    lips = "M-17 47C-20 51 -20 54 -18 57M17 47C20 51 20 54 18 57"
    hollows = path(
        "M-33 20C-30 28 -26 34 -25 42C-30 38 -34 30 -33 20ZM33 20C30 28 26 34 25 42C30 38 34 30 33 20Z",
        shade,
        'fill-opacity="0.3"',
    )
    return hollows + line(folds + brow + feet + bags + lips, shade, 2.0, 'stroke-opacity="0.85"')
