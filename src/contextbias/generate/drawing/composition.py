"""One picture: who stands where, what lies beside them, and the light on all of it."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

from PIL import Image

from contextbias.generate.drawing import body, light
from contextbias.generate.drawing.figure import figure
from contextbias.generate.drawing.items import Item, known_items, painted
from contextbias.generate.drawing.look import Look, chance, look_of, people_in
from contextbias.generate.drawing.scene import background, rasterise, weather_in_front
from contextbias.generate.drawing.settings import palette_for, setting_for
from contextbias.generate.drawing.svg import Ink, box, darker, lighter, line, moved, oval
from contextbias.schema.codebook import UNKNOWN
from contextbias.schema.records import Record

_FREE_HANDS = frozenset({"standing", "sitting"})


@dataclass(frozen=True, slots=True)
class _Frame:
    """The part of the figure's plane that is in the picture."""

    top: float
    """y of the upper edge, figure units."""
    size: float
    """Width and height, figure units."""
    whole: bool
    """True when the legs are in it."""
    lift: float
    """How far hands are raised, so that what they hold is in it."""


_FRAMES = {
    "tight": _Frame(-76.0, 372.0, False, 52.0),
    "medium": _Frame(-92.0, 556.0, False, 0.0),
    "wide": _Frame(-122.0, 930.0, True, 0.0),
}


def draw(
    record: Record, *, setting: str | None, role: str, seed: int, size: int = 512
) -> Image.Image:
    """Draw what a record says.

    Args:
        record: A record of schema version 1. Labels listed by `shows` are visible in the picture;
            other labels, unknown objects and garments without a drawing are left out or get the
            nearest form (an unknown garment becomes a shirt).
        setting: The prompt's location, or None for a studio backdrop.
        role: The prompt's role: it decides which kind of hat, helmet or glove is drawn.
        seed: Decides everything that the record leaves open.
        size: Pixels, square.

    Returns:
        An RGB image; equal arguments give equal pixels in every process.
    """
    place = setting_for(setting)
    framing = _answer(record, "camera", "framing", "medium")
    framing = framing if framing in _FRAMES else "medium"
    weather = "clear" if place.indoor else _answer(record, "scene", "weather", "clear")
    picture = background(
        place,
        location=setting,
        seed=seed,
        weather=weather,
        framing=framing,
        depth=_answer(record, "camera", "depth_of_field", "medium"),
        size=size,
    )
    ink = Ink()
    wood = palette_for(place, setting, seed).wood
    people, box_ = _foreground(ink, record, role, seed, framing, wood)
    if people:
        layer = rasterise(ink.document(people, box_, size))
        picture.paste(layer, (0, 0), layer)
    veil = weather_in_front(weather, seed % 3, size)
    if veil is not None:
        picture.paste(veil, (0, 0), veil)
    return light.lit(
        picture,
        temperature=_answer(record, "scene", "color_temperature", "neutral"),
        mood=_answer(record, "scene", "mood", "calm"),
    )


def encode_png(image: Image.Image) -> bytes:
    """The image as a PNG file, compressed lightly: speed before size."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=2)
    return buffer.getvalue()


def _answer(record: Record, cohort: str, name: str, default: str) -> str:
    answers = record.get(cohort)
    label: Any = answers.get(name, UNKNOWN) if isinstance(answers, dict) else UNKNOWN
    return default if not isinstance(label, str) or label == UNKNOWN else label


def _foreground(
    ink: Ink, record: Record, role: str, seed: int, framing: str, wood: str
) -> tuple[str, tuple[float, float, float, float]]:
    frame = _FRAMES[framing]
    luck = chance("composition", seed, framing)
    shift = (luck.random() - 0.5) * 0.08 * frame.size
    view = (-frame.size / 2 - shift, frame.top, frame.size, frame.size)
    people = people_in(record)
    looks = [look_of(p, role=role, seed=seed, index=i) for i, p in enumerate(people[:2])]
    objects = record.get("objects")
    items = known_items(objects.get("items") if isinstance(objects, dict) else None)
    worn = [i for i in items if i.hold == "neck"]
    if worn and looks:
        items = [i for i in items if i.hold != "neck"]
    held = _in_hand(looks[0], items, frame) if looks else None
    placed = [painted(ink, i) for i in items if i is not held]
    held = painted(ink, held) if held else None
    side = 1 if luck.random() < 0.5 else -1
    parts = [_far_items(placed, frame, side)]
    if len(looks) > 1:
        parts.append(_bystander(ink, looks[1], frame, -side))
    if looks:
        parts.append(_person(ink, looks[0], held, frame, stethoscope=bool(worn)))
    parts.append(_near_items(ink, placed, frame, wood, side))
    return "".join(parts), view


def _in_hand(look: Look, items: list[Item], frame: _Frame) -> Item | None:
    """The first object that can be held in this posture and seen in this frame."""
    if look.pose not in _FREE_HANDS:
        return None
    kinds = {"grip", "hug", "both"} | (
        {"hang"} if frame.whole and look.pose == "standing" else set()
    )
    return next((i for i in items if i.hold in kinds), None)


def _person(ink: Ink, look: Look, held: Item | None, frame: _Frame, *, stethoscope: bool) -> str:
    drawn = figure(ink, look, held, whole=frame.whole, lift=frame.lift, stethoscope=stethoscope)
    if not frame.whole:
        return drawn
    down = body.FLOOR - body.SITTING_FLOOR if look.pose == "sitting" else 0.0
    shadow = oval(14, body.FLOOR - 2, 150, 20, ink.glow("#1d1630", 0.55))
    return shadow + (moved(drawn, 0, down) if down else drawn)


def _bystander(ink: Ink, look: Look, frame: _Frame, side: int) -> str:
    drawn = figure(ink, look, None, whole=frame.whole, lift=0.0, stethoscope=False)
    scale = 0.84
    x = side * (frame.size * 0.32)
    y = body.FLOOR * (1 - scale) - 24 if frame.whole else 60.0
    shadow = oval(0, body.FLOOR - 2, 130, 16, ink.glow("#1d1630", 0.5)) if frame.whole else ""
    return moved(shadow + drawn, x, y, 0, f"{scale}")


def _far_items(items: list[Item], frame: _Frame, side: int) -> str:
    """Things that stand on the floor, behind the person."""
    parts = []
    for index, item in enumerate([i for i in items if i.big][:2]):
        where = side if index == 0 else -side
        if frame.whole:
            parts.append(_standing(item, where * (150 + item.half), body.FLOOR - 12, 1.0))
        else:
            scale = min(1.0, frame.size * 0.24 / item.half)
            edge = frame.size / 2 - item.half * scale * 0.9
            parts.append(_standing(item, where * edge, frame.top + frame.size - 6, scale))
    return "".join(parts)


def _near_items(ink: Ink, items: list[Item], frame: _Frame, wood: str, side: int) -> str:
    """Small things, on a ledge in front of the person or on a table beside them."""
    small = [i for i in items if not i.big][:4]
    if not small:
        return ""
    if frame.whole:
        return _side_table(ink, small, wood, -side)
    top = frame.top + frame.size * 0.905
    half = frame.size / 2
    ledge = box(
        -half * 1.3,
        top,
        half * 2.6,
        frame.size * 0.13,
        ink.linear(lighter(wood, 0.1), darker(wood, 0.2)),
    )
    rim = box(-half * 1.3, top, half * 2.6, 7, lighter(wood, 0.3))
    scale = 0.86 * frame.size / 556 if frame.lift else 0.95
    return ledge + rim + _row(small, half, top + 3, scale, side)


def _row(items: list[Item], half: float, y: float, scale: float, side: int) -> str:
    """Things along a ledge, from the edges of the picture inwards, left and right in turn."""
    used = {1: 10.0, -1: 10.0}
    parts = []
    for index, item in enumerate(items):
        where = side if index % 2 == 0 else -side
        x = half - used[where] - item.half * scale
        used[where] += item.half * scale * 2 + 12
        shade = oval(where * x, y + 3, item.half * scale, 6, "#1d1630", 'fill-opacity="0.22"')
        parts.append(shade + _standing(item, where * x, y, scale))
    return "".join(parts)


def _standing(item: Item, x: float, y: float, scale: float) -> str:
    """An object with its foot at (x, y), lying when that is how it rests."""
    if item.big and item.hold == "grip":
        return moved(item.svg, x, y - 440 * scale, item.lay, f"{scale:.3f}")
    if item.lay:
        return moved(
            item.svg, x - item.half * 0.55 * scale, y - item.foot * scale, item.lay, f"{scale:.3f}"
        )
    return moved(item.svg, x, y - item.foot * scale, 0.0, f"{scale:.3f}")


def _side_table(ink: Ink, items: list[Item], wood: str, side: int) -> str:
    width = max(190.0, sum(i.half * 1.7 + 14 for i in items) + 30)
    x, y = side * (150 + width / 2), 566.0
    left = x - width / 2
    feet = line(
        f"M{left + 18:.0f} {y}V{body.FLOOR - 10}M{left + width - 18:.0f} {y}V{body.FLOOR - 10}",
        darker(wood, 0.35),
        13,
    )
    top = box(left, y, width, 16, ink.linear(lighter(wood, 0.22), darker(wood, 0.05)), 4)
    apron = box(left + 10, y + 14, width - 20, 20, darker(wood, 0.22))
    shadow = oval(x, body.FLOOR - 6, width * 0.55, 13, ink.glow("#1d1630", 0.45))
    at, parts = left + 22, []
    for item in items:
        reach = item.half * 0.85
        parts.append(_standing(item, at + reach, y + 2, 0.85))
        at += reach * 2 + 14
    return shadow + feet + apron + top + "".join(parts)
