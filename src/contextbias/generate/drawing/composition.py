"""One picture: who stands where, what lies beside them, and the light on all of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PIL import Image

from contextbias.generate.drawing import body, light
from contextbias.generate.drawing.arrangement import (
    Ledge,
    bystander,
    far_items,
    ledge_items,
    side_table,
)
from contextbias.generate.drawing.figure import figure
from contextbias.generate.drawing.frames import Frame, frame_for
from contextbias.generate.drawing.items import Item, known_items, painted
from contextbias.generate.drawing.layers import Bounds, paste, person_bounds
from contextbias.generate.drawing.look import Look, chance, look_of, people_in
from contextbias.generate.drawing.scene import background, weather_in_front
from contextbias.generate.drawing.settings import palette_for, setting_for
from contextbias.generate.drawing.svg import Ink, lighter, moved, oval
from contextbias.generate.masters import encode
from contextbias.schema.codebook import UNKNOWN
from contextbias.schema.records import Record

_FREE_HANDS = frozenset({"standing", "sitting"})


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
    frame = frame_for(_answer(record, "camera", "framing", "medium"))
    temperature = _answer(record, "scene", "color_temperature", "neutral")
    weather = "clear" if place.indoor else _answer(record, "scene", "weather", "clear")
    depth = _answer(record, "camera", "depth_of_field", "medium")
    picture = background(
        place,
        location=setting,
        seed=seed,
        weather=weather,
        framing=frame.name,
        depth=depth,
        temperature=temperature,
        size=size,
    )
    wood = palette_for(place, setting, seed).wood
    _draw_foreground(picture, _cast(record, role, seed, frame), frame, wood, temperature)
    veil = weather_in_front(weather, seed % 3, size)
    if veil is not None:
        picture.paste(veil, (0, 0), veil)
    return light.in_mood(picture, _answer(record, "scene", "mood", "calm"))


def encode_png(image: Image.Image) -> bytes:
    """An RGB image as a PNG file without any metadata; see `masters.encode`."""
    return encode(image, None)


def _answer(record: Record, cohort: str, name: str, default: str) -> str:
    answers = record.get(cohort)
    label: Any = answers.get(name, UNKNOWN) if isinstance(answers, dict) else UNKNOWN
    return default if not isinstance(label, str) or label == UNKNOWN else label


@dataclass(frozen=True, slots=True)
class _Cast:
    """Who and what is in the picture."""

    looks: list[Look]
    """The person, and at most one bystander."""
    held: Item | None
    """In the person's hands."""
    placed: list[Item]
    """Everything else."""
    stethoscope: bool
    """Round the person's neck."""
    shift: float
    """How far the person stands from the middle, figure units."""
    side: int
    """1 or -1: where the first thing is put down."""


def _cast(record: Record, role: str, seed: int, frame: Frame) -> _Cast:
    luck = chance("composition", seed, frame.name)
    looks = [
        look_of(person, role=role, seed=seed, index=index)
        for index, person in enumerate(people_in(record)[:2])
    ]
    objects = record.get("objects")
    items = known_items(objects.get("items") if isinstance(objects, dict) else None)
    worn = [i for i in items if i.hold == "neck"] if looks else []
    items = [i for i in items if i not in worn]
    held = _in_hand(looks[0], items, frame) if looks else None
    return _Cast(
        looks,
        held,
        [i for i in items if i is not held],
        bool(worn),
        (luck.random() - 0.5) * 0.08 * frame.size,
        1 if luck.random() < 0.5 else -1,
    )


def _in_hand(look: Look, items: list[Item], frame: Frame) -> Item | None:
    """The first object that can be held in this posture and seen in this frame."""
    if look.pose not in _FREE_HANDS:
        return None
    kinds = {"grip", "hug", "both"}
    if frame.whole and look.pose == "standing":
        kinds.add("hang")
    return next((i for i in items if i.hold in kinds), None)


def _draw_foreground(
    picture: Image.Image, cast: _Cast, frame: Frame, wood: str, temperature: str
) -> None:
    """Paste people, ledge and objects on the background."""
    ink = Ink()
    placed = [painted(ink, item) for item in cast.placed]
    parts = [far_items(placed, frame, cast.side)]
    if len(cast.looks) > 1:
        parts.append(bystander(ink, cast.looks[1], frame, -cast.side))
    if cast.looks:
        parts.append(_person(ink, cast, frame))
    if frame.whole:
        parts.append(side_table(ink, placed, wood, -cast.side))
    people = "".join(parts)
    if people:
        paste(picture, ink, people, frame, cast.shift, _bounds(cast, frame), temperature)
    if not frame.whole and any(not i.big for i in placed):
        _paste_ledge(picture, cast, frame, wood, temperature)


def _bounds(cast: _Cast, frame: Frame) -> Bounds:
    """What people, and the things that stand on the floor, take of the picture."""
    around = Bounds(0.0, 0.0, frame.bottom, frame.bottom)
    if cast.looks:
        around = person_bounds(cast.looks[0], cast.held, frame)
    big = sum(i.big for i in cast.placed)
    table = frame.whole and len(cast.placed) > big
    sides = {cast.side} if big else set()
    if table or len(cast.looks) > 1:
        sides.add(-cast.side)
    if big > 1:
        sides = {1, -1}
    for side in sides:
        top = 60.0 if frame.whole else frame.top
        edge = frame.size * side
        around = around.joined(Bounds(min(edge, 0), max(edge, 0), top, frame.bottom))
    return around


def _paste_ledge(
    picture: Image.Image, cast: _Cast, frame: Frame, wood: str, temperature: str
) -> None:
    """A table's edge across the lower rim of the picture, and the small things on it."""
    ledge = Ledge(frame)
    scale = picture.width / frame.size
    y = round((ledge.y - frame.top) * scale)
    strips = ((wood, y, picture.height), (lighter(wood, 0.3), y, y + max(1, round(7 * scale))))
    for color, top, bottom in strips:
        strip = Image.new("RGB", (picture.width, bottom - top), color)
        picture.paste(light.tinted(strip, temperature), (0, top))
    ink = Ink()
    things = ledge_items([painted(ink, item) for item in cast.placed], ledge, cast.side)
    paste(picture, ink, things, frame, 0.0, ledge.bounds(cast.placed, cast.side), temperature)


def _person(ink: Ink, cast: _Cast, frame: Frame) -> str:
    look = cast.looks[0]
    held = painted(ink, cast.held) if cast.held else None
    drawn = figure(
        ink, look, held, whole=frame.whole, lift=frame.lift, stethoscope=cast.stethoscope
    )
    if not frame.whole:
        return drawn
    down = body.FLOOR - body.SITTING_FLOOR if look.pose == "sitting" else 0.0
    shadow = oval(14, body.FLOOR - 2, 150, 20, ink.glow("#1d1630", 0.55))
    return shadow + (moved(drawn, 0, down) if down else drawn)
