"""Small pieces of SVG: colours that are mixed, gradients that are shared, tapered limbs.

Everything is text. Numbers are written with one decimal, so that the same record gives the same
document and therefore the same pixels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

Point = tuple[float, float]
"""x to the right, y down."""

_SHADOW = "#2b1f4a"
_LIGHT = "#fff1d6"


@lru_cache(maxsize=4096)
def mix(first: str, second: str, share: float) -> str:
    """Blend two ``#rrggbb`` colours; `share` in [0, 1] is the part of the second one."""
    pairs = ((int(first[i : i + 2], 16), int(second[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def darker(color: str, share: float = 0.2) -> str:
    """Move a colour towards a violet shadow, which keeps shade lively where black would dull it."""
    return mix(color, _SHADOW, share)


def lighter(color: str, share: float = 0.2) -> str:
    """Move a colour towards warm light."""
    return mix(color, _LIGHT, share)


def luminance(color: str) -> float:
    """Relative brightness of a ``#rrggbb`` colour in [0, 1], Rec. 601 weights without gamma."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255


def contrasting(color: str, share: float = 0.3) -> str:
    """A line colour that stays visible on `color`: darker on light cloth, lighter on dark cloth."""
    return lighter(color, share) if luminance(color) < 0.25 else darker(color, share)


class Ink:
    """Gradient definitions of one document; equal gradients are defined once."""

    def __init__(self) -> None:
        self._defs: dict[str, str] = {}
        self._paints: dict[str, str] = {}

    def linear(self, start: str, end: str, x2: float = 0.0, y2: float = 1.0) -> str:
        """A linear gradient over the shape's box from (0, 0) to (`x2`, `y2`); returns a paint."""
        body = (
            f'x1="0" y1="0" x2="{x2}" y2="{y2}"><stop offset="0" stop-color="{start}"/>'
            f'<stop offset="1" stop-color="{end}"/>'
        )
        return self._define("linearGradient", body)

    def glow(self, color: str, opacity: float) -> str:
        """A radial gradient from `color` at `opacity` in the middle to nothing at the rim."""
        body = (
            f'><stop offset="0" stop-color="{color}" stop-opacity="{opacity}"/>'
            f'<stop offset="1" stop-color="{color}" stop-opacity="0"/>'
        )
        return self._define("radialGradient", body)

    def fade(self, color: str, start: float, end: float, x2: float = 0.0, y2: float = 1.0) -> str:
        """One colour whose opacity runs from `start` to `end` over the shape's box."""
        body = (
            f'x1="0" y1="0" x2="{x2}" y2="{y2}"><stop offset="0" stop-color="{color}" '
            f'stop-opacity="{start}"/><stop offset="1" stop-color="{color}" stop-opacity="{end}"/>'
        )
        return self._define("linearGradient", body)

    def soft(self, color: str) -> str:
        """The usual paint of a surface: light from the upper left, shade to the lower right."""
        return self.linear(lighter(color, 0.10), darker(color, 0.13), 0.8, 1.0)

    def _define(self, tag: str, body: str) -> str:
        key = tag + body
        if key not in self._paints:
            gap = "" if body.startswith(">") else " "
            name = f"g{len(self._defs)}"
            self._defs[key] = f'<{tag} id="{name}"{gap}{body}</{tag}>'
            self._paints[key] = f"url(#{name})"
        return self._paints[key]

    def document(
        self, body: str, view: tuple[float, float, float, float], width: int, height: int
    ) -> str:
        """The whole SVG: `view` is x, y, width, height in drawing units, the rest is in pixels."""
        shown = " ".join(f"{v:.3f}" for v in view)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{shown}" width="{width}" '
            f'height="{height}"><defs>{"".join(self._defs.values())}</defs>{body}</svg>'
        )


def path(d: str, fill: str, extra: str = "") -> str:
    """A filled path."""
    return f'<path d="{d}" fill="{fill}" {extra}/>'


def line(d: str, stroke: str, width: float = 2.0, extra: str = "") -> str:
    """A stroked path with round ends."""
    return (
        f'<path d="{d}" fill="none" stroke="{stroke}" stroke-width="{width:.1f}" '
        f'stroke-linecap="round" stroke-linejoin="round" {extra}/>'
    )


def oval(x: float, y: float, rx: float, ry: float, fill: str, extra: str = "") -> str:
    """A filled ellipse."""
    return f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{rx:.1f}" ry="{ry:.1f}" fill="{fill}" {extra}/>'


def box(
    x: float, y: float, w: float, h: float, fill: str, radius: float = 0.0, extra: str = ""
) -> str:
    """A filled rectangle, its corners rounded by `radius`."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="{radius:.1f}" '
        f'fill="{fill}" {extra}/>'
    )


def moved(body: str, x: float, y: float, turn: float = 0.0, scale: str = "1") -> str:
    """A group moved to (x, y), then turned by `turn` degrees, then scaled."""
    return f'<g transform="translate({x:.1f} {y:.1f}) rotate({turn:.1f}) scale({scale})">{body}</g>'


def both_sides(body: str) -> str:
    """The body and its mirror image about x = 0."""
    return f'{body}<g transform="scale(-1 1)">{body}</g>'


@lru_cache(maxsize=4096)
def limb(
    joints: tuple[Point, Point, Point],
    widths: tuple[float, float, float],
    *,
    until: float = 1.0,
    start: float = 0.0,
) -> str:
    """Outline of an arm or a leg through three joints, tapering, its middle joint rounded.

    Args:
        joints: Shoulder, elbow, wrist; or hip, knee, ankle.
        widths: Full width at each joint.
        until: The part of the length that is drawn, in (0, 1]; 0.5 ends at the middle joint.
        start: Where the part begins.

    Returns:
        Path data, closed, with a round cap at the first joint.
    """
    steps = [u for u in _STEPS if start < u < until]
    samples = [start, *steps, until]
    left: list[Point] = []
    right: list[Point] = []
    for u in samples:
        (x, y), (tx, ty) = _along(joints, u), _tangent(joints, u)
        half = _width(widths, u) / 2
        left.append((x - ty * half, y + tx * half))
        right.append((x + ty * half, y - tx * half))
    rim = _width(widths, start) / 2 if start == 0 else 0.0
    turn = " ".join(f"L{x:.1f} {y:.1f}" for x, y in [*left[1:], *reversed(right)])
    cap = "" if start else f"A{rim:.1f} {rim:.1f} 0 0 0 {left[0][0]:.1f} {left[0][1]:.1f}"
    return f"M{left[0][0]:.1f} {left[0][1]:.1f}{turn}{cap}Z"


_STEPS = (0.18, 0.34, 0.40, 0.44, 0.48, 0.52, 0.56, 0.60, 0.66, 0.82)
_CORNER = 0.18


def _along(joints: tuple[Point, Point, Point], u: float) -> Point:
    first, middle, last = joints
    low, high = 0.5 - _CORNER, 0.5 + _CORNER
    if u <= low:
        return _between(first, middle, u / 0.5)
    if u >= high:
        return _between(middle, last, (u - 0.5) / 0.5)
    enter, leave = _between(first, middle, low / 0.5), _between(middle, last, _CORNER / 0.5)
    t = (u - low) / (high - low)
    return _between(_between(enter, middle, t), _between(middle, leave, t), t)


def _tangent(joints: tuple[Point, Point, Point], u: float) -> Point:
    before, after = _along(joints, max(0.0, u - 0.02)), _along(joints, min(1.0, u + 0.02))
    dx, dy = after[0] - before[0], after[1] - before[1]
    length = math.hypot(dx, dy) or 1.0
    return dx / length, dy / length


def _between(first: Point, second: Point, t: float) -> Point:
    return first[0] + (second[0] - first[0]) * t, first[1] + (second[1] - first[1]) * t


def _width(widths: Sequence[float], u: float) -> float:
    first, middle, last = widths
    return first + (middle - first) * u * 2 if u < 0.5 else middle + (last - middle) * (u - 0.5) * 2
