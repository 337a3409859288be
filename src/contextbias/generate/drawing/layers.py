"""Drawn things on a background: only the part that is drawn on is rendered and pasted."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PIL import Image

from contextbias.generate.drawing import body, light
from contextbias.generate.drawing.frames import Frame
from contextbias.generate.drawing.items import Item
from contextbias.generate.drawing.look import Look
from contextbias.generate.drawing.scene import rasterise
from contextbias.generate.drawing.svg import Ink

# Pose -> what elbows, sleeves and chairs take beside the shoulders; then what robes and bags add.
_BESIDE_SHOULDERS = {"hands_on_hips": 86.0, "sitting": 54.0}
_BESIDE_OTHERWISE, _ROBE, _BAG = 48.0, 10.0, 36.0
_GROUND_SHADOW = (130.0, 158.0)
_TALL_HAIR = frozenset({"bun", "updo", "afro", "mohawk", "curly", "ponytail"})
_BREADTH, _BREADTH_WHOLE = 0.78, 0.40
_LOW_COVERINGS = frozenset({"none", "headband"})


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a layer may draw on, figure units."""

    left: float
    """Least x."""
    right: float
    """Greatest x."""
    top: float
    """Least y."""
    bottom: float
    """Greatest y."""

    def joined(self, other: Bounds) -> Bounds:
        """The smallest bounds that hold both."""
        return Bounds(
            min(self.left, other.left),
            max(self.right, other.right),
            min(self.top, other.top),
            max(self.bottom, other.bottom),
        )


def person_bounds(look: Look, held: Item | None, frame: Frame) -> Bounds:
    """Bounds of a person with what they hold, a few units wider than anything drawn there."""
    shoulder = body.build_of(look).shoulder
    left = right = shoulder + _beside_shoulders(look)
    top = body.LOW_TOP if _is_low(look) else body.HIGHEST
    if held is not None and held.hold == "grip":
        right = max(right, shoulder + 36 + max(86.0, held.half * 0.97))
        top = frame.top if frame.lift else body.HIGHEST
    elif held is not None and held.hold == "both":
        left = max(left, shoulder + 58, held.half * 1.7)
        right = max(right, shoulder + 58, held.half * 1.9)
    elif held is not None and held.hold == "hang":
        right = max(right, shoulder + 20 + held.half)
    bottom = body.FLOOR + 24 if frame.whole else frame.bottom
    if frame.whole:
        left, right = max(left, _GROUND_SHADOW[0]), max(right, _GROUND_SHADOW[1])
    if frame.whole and look.pose == "sitting":
        top += body.FLOOR - body.SITTING_FLOOR
        bottom = frame.bottom
    return Bounds(-left, right, top, bottom)


def _beside_shoulders(look: Look) -> float:
    robe = _ROBE if any("robe" in garment for garment in look.garments) else 0.0
    bag = _BAG if "bag" in look.accessories else 0.0
    return _BESIDE_SHOULDERS.get(look.pose, _BESIDE_OTHERWISE) + robe + bag


def _is_low(look: Look) -> bool:
    hair = look.hair_style not in _TALL_HAIR
    return hair and look.covering in _LOW_COVERINGS and "headphones" not in look.accessories


def paste(
    picture: Image.Image,
    ink: Ink,
    drawn: str,
    frame: Frame,
    shift: float,
    bounds: Bounds,
    temperature: str,
) -> None:
    """Render what is drawn inside `bounds` and paste it on `picture`.

    Args:
        picture: What is pasted on, square.
        ink: The gradients of `drawn`.
        drawn: SVG in figure units.
        frame: Which part of the figure's plane the picture shows.
        shift: The figure's distance from the middle, figure units.
        bounds: The rest of the frame is not rendered.
        temperature: Of the light; people take a part of it, so that skin stays skin.
    """
    size = picture.width
    scale = size / frame.size
    middle = size / 2 + shift * scale
    left = max(0, math.floor(middle + bounds.left * scale))
    right = min(size, math.ceil(middle + bounds.right * scale))
    upper = max(0, math.floor((bounds.top - frame.top) * scale))
    lower = min(size, math.ceil((bounds.bottom - frame.top) * scale))
    width, height = right - left, lower - upper
    if width <= 0 or height <= 0:
        return
    view = ((left - middle) / scale, frame.top + upper / scale, width / scale, height / scale)
    layer = light.shaped(
        rasterise(ink.document(drawn, view, width, height)),
        temperature,
        at=(left, upper),
        size=size,
        breadth=_BREADTH_WHOLE if frame.whole else _BREADTH,
    )
    picture.paste(layer, (left, upper), layer)
