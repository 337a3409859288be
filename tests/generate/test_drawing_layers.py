from __future__ import annotations

import io
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops

from contextbias.generate.drawing import body, encode_png, shows
from contextbias.generate.drawing.arrangement import Ledge, ledge_items
from contextbias.generate.drawing.figure import figure
from contextbias.generate.drawing.frames import FRAMES, Frame
from contextbias.generate.drawing.items import Item, item_names, known_items, painted
from contextbias.generate.drawing.layers import Bounds, person_bounds
from contextbias.generate.drawing.look import Look, look_of
from contextbias.generate.drawing.scene import rasterise
from contextbias.generate.drawing.svg import Ink, moved

PIXELS = 128
FAINT = 24
"""Of 255: what an edge may lose without being seen."""


def drawn_bounds(ink: Ink, drawn: str, frame: Frame) -> Bounds:
    """Where the drawing is more than faint, to a pixel, in twice the frame's width."""
    view = (-frame.size, frame.top, 2 * frame.size, frame.size)
    image = rasterise(ink.document(drawn, view, 2 * PIXELS, PIXELS)).getchannel("A")
    box = image.point([0] * FAINT + [255] * (256 - FAINT)).getbbox()
    assert box is not None
    unit = frame.size / PIXELS
    left, top, right, bottom = (v * unit for v in box)
    return Bounds(left - frame.size, right - frame.size, top + frame.top, bottom + frame.top)


def assert_inside(inner: Bounds, outer: Bounds, frame: Frame) -> None:
    pixel = frame.size / PIXELS
    assert inner.left >= outer.left - pixel
    assert inner.right <= outer.right + pixel
    assert inner.top >= outer.top - pixel
    assert inner.bottom <= outer.bottom + pixel


def any_look(luck: random.Random, garment: str, pose: str) -> Look:
    visible = shows()
    person = {
        "gender_presentation": luck.choice(visible["gender_presentation"]),
        "body_type": luck.choice(visible["body_type"]),
        "hair_style": luck.choice(visible["hair_style"]),
        "head_covering_type": luck.choice(["none", *visible["head_covering_type"]]),
        "accessories": luck.sample(visible["accessories"], 2),
        "clothing_garment": [garment],
        "pose": pose,
    }
    role = luck.choice(["baker", "judge", "farmer", "firefighter", "welder", "person"])
    return look_of(person, role=role, seed=luck.randrange(99))


def in_place(ink: Ink, look: Look, held: Item | None, frame: Frame) -> str:
    drawn = figure(ink, look, held, whole=frame.whole, lift=frame.lift, stethoscope=False)
    sits = frame.whole and look.pose == "sitting"
    return moved(drawn, 0, body.FLOOR - body.SITTING_FLOOR) if sits else drawn


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("pose", shows()["pose"])
def test_nothing_of_a_person_is_cut(frame: Frame, pose: str) -> None:
    luck = random.Random(f"{frame.name} {pose}")
    for garment in shows()["clothing_garment"]:
        look = any_look(luck, garment, pose)
        ink = Ink()
        inner = drawn_bounds(ink, in_place(ink, look, None, frame), frame)
        assert_inside(inner, person_bounds(look, None, frame), frame)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_nothing_that_is_held_is_cut(frame: Frame) -> None:
    luck = random.Random(frame.name)
    for item in known_items(list(item_names())):
        if item.hold in ("neck", "floor") or (item.hold == "hang" and not frame.whole):
            continue
        look = any_look(luck, "shirt", "standing")
        ink = Ink()
        inner = drawn_bounds(ink, in_place(ink, look, painted(ink, item), frame), frame)
        assert_inside(inner, person_bounds(look, item, frame), frame)


@pytest.mark.parametrize("name", ["tight", "medium"])
def test_nothing_on_the_ledge_is_cut(name: str) -> None:
    frame = FRAMES[name]
    ledge = Ledge(frame)
    for item in known_items(list(item_names())):
        if item.big or item.hold == "neck":
            continue
        for side in (1, -1):
            ink = Ink()
            drawn = ledge_items([painted(ink, item)], ledge, side)
            inner = drawn_bounds(ink, drawn, frame)
            assert_inside(inner, ledge.bounds([item], side), frame)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), width=st.integers(1, 40), height=st.integers(1, 40))
def test_png_keeps_every_pixel(data: st.DataObject, width: int, height: int) -> None:
    size = width * height * 3
    image = Image.frombytes(
        "RGB", (width, height), data.draw(st.binary(min_size=size, max_size=size))
    )
    read = Image.open(io.BytesIO(encode_png(image)))
    read.load()
    assert (read.format, read.mode) == ("PNG", "RGB")
    assert ImageChops.difference(read, image).getbbox() is None
