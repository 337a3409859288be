"""Where things stand that nobody holds, and where a bystander stands."""

from __future__ import annotations

from contextbias.generate.drawing import body
from contextbias.generate.drawing.figure import figure
from contextbias.generate.drawing.frames import Frame
from contextbias.generate.drawing.items import Item
from contextbias.generate.drawing.layers import Bounds
from contextbias.generate.drawing.look import Look
from contextbias.generate.drawing.svg import Ink, box, darker, lighter, line, moved, oval

_SHADOW = "#1d1630"


class Ledge:
    """The edge of a table in front of a person whose legs are not in the picture."""

    def __init__(self, frame: Frame) -> None:
        self.half = frame.size / 2
        self.y = frame.bottom - 0.095 * frame.size
        self.scale = 0.62 if frame.lift else 0.92
        self.bottom = frame.bottom

    def places(self, items: list[Item], side: int) -> list[tuple[Item, float, float]]:
        """Small things, from the picture's edges inwards, left and right in turn.

        Returns:
            Each thing with its middle's x and half of what it takes of the ledge.
        """
        used = {1: 8.0, -1: 8.0}
        found = []
        for index, item in enumerate([i for i in items if not i.big][:4]):
            where = side if index % 2 == 0 else -side
            reach = item.half * self.scale
            found.append((item, where * (self.half - used[where] - reach), reach))
            used[where] += reach * 2 + 10
        return found

    def bounds(self, items: list[Item], side: int) -> Bounds:
        """What the things on the ledge take of the picture."""
        places = self.places(items, side)
        return Bounds(
            min(x - _beside(item, reach) for item, x, reach in places),
            max(x + _beside(item, reach) for item, x, reach in places),
            self.y - self.scale * max(_height(item) for item, _, _ in places),
            self.bottom,
        )


def _beside(item: Item, reach: float) -> float:
    """What a thing takes from its middle, hoses and cables included."""
    return reach * 2.5 if item.lay or item.half > 75 else reach + 14


def _height(item: Item) -> float:
    """At least the height of a thing that stands or lies."""
    return max(114.0, item.half * 1.2) if item.lay else item.foot + 114


def bystander(ink: Ink, look: Look, frame: Frame, side: int) -> str:
    """A second person, smaller and further back."""
    drawn = figure(ink, look, None, whole=frame.whole, lift=0.0, stethoscope=False)
    scale = 0.80
    x = side * frame.size * 0.33
    y = body.FLOOR * (1 - scale) - 26 if frame.whole else 70.0
    down = body.FLOOR - body.SITTING_FLOOR if frame.whole and look.pose == "sitting" else 0.0
    shade = ink.glow(_SHADOW, 0.5)
    shadow = oval(0, body.FLOOR - 2, 130, 16, shade) if frame.whole else ""
    return moved(shadow + moved(drawn, 0, down), x, y, 0, f"{scale}")


def far_items(items: list[Item], frame: Frame, side: int) -> str:
    """Things that stand on the floor, beside or behind the person."""
    parts = []
    for index, item in enumerate([i for i in items if i.big][:2]):
        where = side if index == 0 else -side
        if frame.whole:
            shadow = oval(where * (140 + item.half), body.FLOOR - 14, item.half, 9, _SHADOW, _FAINT)
            parts.append(shadow + standing(item, where * (140 + item.half), body.FLOOR - 14, 1.0))
        else:
            scale = min(1.0, frame.size * 0.24 / item.half)
            edge = frame.size / 2 - item.half * scale * 0.95
            parts.append(standing(item, where * edge, frame.bottom - 0.03 * frame.size, scale))
    return "".join(parts)


_FAINT = 'fill-opacity="0.22"'


def ledge_items(items: list[Item], ledge: Ledge, side: int) -> str:
    """Small things on the ledge, each with its shadow."""
    parts = []
    for item, x, reach in ledge.places(items, side):
        y = ledge.y + 5
        shade = oval(x, y, reach, 5, _SHADOW, _FAINT)
        parts.append(shade + standing(item, x, y, ledge.scale))
    return "".join(parts)


def standing(item: Item, x: float, y: float, scale: float) -> str:
    """An object with its foot at (x, y), lying when that is how it rests."""
    if item.big and item.hold == "grip":
        return moved(item.svg, x, y - item.rest * scale, item.lay, f"{scale:.3f}")
    if item.lay:
        aside = item.rest if item.lay > 0 else -item.rest
        return moved(item.svg, x + aside * scale, y - item.foot * scale, item.lay, f"{scale:.3f}")
    return moved(item.svg, x, y - item.foot * scale, 0.0, f"{scale:.3f}")


def side_table(ink: Ink, items: list[Item], wood: str, side: int) -> str:
    """A small table beside a whole figure, with the small things on it; empty without any."""
    small = [i for i in items if not i.big][:4]
    if not small:
        return ""
    width = max(170.0, sum(i.half * 1.7 + 14 for i in small) + 24)
    x, y = side * (142 + width / 2), 566.0
    left = x - width / 2
    foot = body.FLOOR - 10
    feet = f"M{left + 18:.0f} {y}V{foot}M{left + width - 18:.0f} {y}V{foot}"
    parts = [
        oval(x, body.FLOOR - 6, width * 0.55, 12, ink.glow(_SHADOW, 0.45)),
        line(feet, darker(wood, 0.35), 13),
        box(left + 10, y + 14, width - 20, 20, darker(wood, 0.22)),
        box(left, y, width, 16, lighter(wood, 0.16), 4),
    ]
    at = left + 20
    for item in small:
        reach = item.half * 0.85
        parts.append(standing(item, at + reach, y + 3, 0.85))
        at += reach * 2 + 12
    return "".join(parts)
