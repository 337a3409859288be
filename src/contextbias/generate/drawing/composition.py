"""One picture: who stands where, what lies beside them, and the light on all of it."""

from __future__ import annotations

import io
import math
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
from contextbias.generate.drawing.look import Look, chance, look_of, people_in
from contextbias.generate.drawing.scene import background, rasterise, weather_in_front
from contextbias.generate.drawing.settings import palette_for, setting_for
from contextbias.generate.drawing.svg import Ink, lighter, moved, oval
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
        size=size,
    )
    picture = light.tinted(picture, temperature)
    wood = palette_for(place, setting, seed).wood
    _draw_foreground(picture, _cast(record, role, seed, frame), frame, wood, temperature)
    veil = weather_in_front(weather, seed % 3, size)
    if veil is not None:
        picture.paste(veil, (0, 0), veil)
    return light.in_mood(picture, _answer(record, "scene", "mood", "calm"))


def encode_png(image: Image.Image) -> bytes:
    """The image as a PNG file, compressed lightly: speed before size."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=2)
    return buffer.getvalue()


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
    crowd = bool(placed) or len(cast.looks) > 1
    reach = frame.size if crowd else _reach(cast)
    top = frame.top if _tall(cast) else body.HIGHEST
    people = "".join(parts)
    if people:
        _paste(picture, ink, people, frame, cast.shift, (reach, top, frame.bottom), temperature)
    if not frame.whole and any(not i.big for i in placed):
        _paste_ledge(picture, cast, frame, wood, temperature)


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
    bounds = (frame.size, ledge.y - 170, frame.bottom)
    _paste(picture, ink, things, frame, 0.0, bounds, temperature)


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


def _reach(cast: _Cast) -> float:
    """Half the width that the person takes, with what they hold."""
    look = cast.looks[0] if cast.looks else None
    half = body.build_of(look).shoulder + 62 if look else 0.0
    if look and look.pose == "hands_on_hips":
        half += 34
    return half + (150 if cast.held else 0)


def _tall(cast: _Cast) -> bool:
    return cast.held is not None and cast.held.hold == "grip"


def _paste(
    picture: Image.Image,
    ink: Ink,
    drawn: str,
    frame: Frame,
    shift: float,
    bounds: tuple[float, float, float],
    temperature: str,
) -> None:
    """Render only the part of the frame that is drawn on, and paste it.

    Args:
        picture: What is pasted on.
        ink: The gradients of `drawn`.
        drawn: SVG in figure units.
        frame: Which part of the figure's plane the picture shows.
        shift: The figure's distance from the middle.
        bounds: Half width, top and bottom of what is drawn, figure units.
        temperature: Of the light; people take half of it, so that skin stays skin.
    """
    size = picture.width
    scale = size / frame.size
    reach, top, bottom = bounds
    middle = size / 2 + shift * scale
    left = max(0, math.floor(middle - reach * scale))
    right = min(size, math.ceil(middle + reach * scale))
    upper = max(0, math.floor((top - frame.top) * scale))
    lower = min(size, math.ceil((bottom - frame.top) * scale))
    width, height = right - left, lower - upper
    view = ((left - middle) / scale, frame.top + upper / scale, width / scale, height / scale)
    layer = rasterise(ink.document(drawn, view, width, height))
    layer = light.shaped(layer, temperature)
    picture.paste(layer, (left, upper), layer)
