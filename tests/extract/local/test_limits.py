"""What the local reader must not answer: backs of heads, crowds, and drawings of both.

The regions of the shared pictures were chosen by eye: they show people from behind, some so far
turned that a cheek is seen, and no face that is turned to the viewer.
"""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from contextbias.extract.local import LocalReader
from contextbias.extract.protocol import Picture

pytestmark = pytest.mark.weights

# Picture and region: left, top, right, bottom as shares of width and height.
FROM_BEHIND = [
    ("whisk_inclusive_1", (0.0, 0.55, 0.45, 1.0)),
    ("whisk_inclusive_1", (0.5, 0.6, 1.0, 1.0)),
    ("whisk_neutral_1", (0.0, 0.5, 0.5, 1.0)),
    ("whisk_neutral_1", (0.5, 0.5, 1.0, 1.0)),
    ("whisk_neutral_7", (0.0, 0.5, 0.45, 1.0)),
    ("midjourney_inclusive_5", (0.0, 0.3, 0.35, 1.0)),
]
CLOTHES = [
    ("midjourney_inclusive_6", (0.0, 0.42, 0.4, 1.0)),
    ("midjourney_neutral_3", (0.0, 0.4, 0.3, 0.9)),
]
SKINS = [(236, 196, 170), (172, 118, 84), (96, 62, 44)]
HAIRS = [(30, 24, 22), (110, 74, 44), (212, 178, 110)]


@pytest.fixture(scope="module")
def reader() -> LocalReader:
    return LocalReader({})


def _person_answers(reader: LocalReader, picture: Image.Image) -> set[str]:
    """Every answer about every person of a picture."""
    picture.convert("RGB").save("a.png")
    reading = reader.read(Picture(image_id="a", path=Path("a.png").absolute()))
    assert reading.record is not None
    assert reading.record["people"]  # nobody's face is not nobody
    return {value for person in reading.record["people"] for value in person.values()}


def _region(
    shared: Path, name: str, region: tuple[float, float, float, float], scale: float
) -> Image.Image:
    picture = Image.open(shared / "images" / f"{name}.jpg")
    left, top, right, bottom = region
    w, h = picture.size
    cut = picture.crop((round(left * w), round(top * h), round(right * w), round(bottom * h)))
    return cut.resize(
        (round(cut.width * scale), round(cut.height * scale)), Image.Resampling.BICUBIC
    )


@pytest.mark.shared
@pytest.mark.parametrize(("name", "region"), [*FROM_BEHIND, *CLOTHES])
@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_people_from_behind(
    reader: LocalReader,
    shared: Path,
    name: str,
    region: tuple[float, float, float, float],
    scale: float,
) -> None:
    assert _person_answers(reader, _region(shared, name, region, scale)) == {"unknown"}


@pytest.mark.shared
@pytest.mark.parametrize("cells", [8, 12])
def test_crowds_of_real_faces(reader: LocalReader, shared: Path, cells: int) -> None:
    # The whole scenes side by side, each so small that its largest faces have about 30 pixels.
    paths = sorted((shared / "images").glob("*.jpg"))
    side = 960 // cells
    crowd = Image.new("RGB", (960, 960))
    for place in range(cells * cells):
        scene = Image.open(paths[place % len(paths)]).resize((side, side))
        crowd.paste(scene, (side * (place % cells), side * (place // cells)))
    assert _person_answers(reader, crowd) == {"unknown"}


@pytest.mark.shared
def test_a_crowd_of_cut_out_faces(reader: LocalReader, shared: Path) -> None:
    # 50 portraits, 40 pixels each: below the smallest face that is read.
    crowd = Image.new("RGB", (400, 400))
    portraits = sorted((shared / "images" / "portraits").glob("*.jpg"))
    for place in range(100):
        face = Image.open(portraits[place % len(portraits)]).resize((40, 40))
        crowd.paste(face, (40 * (place % 10), 40 * (place // 10)))
    assert _person_answers(reader, crowd) == {"unknown"}


def _grained(picture: Image.Image, seed: int) -> Image.Image:
    """With the grain of a photograph, so that it is not its flatness that gives it away."""
    noise = np.random.default_rng(seed).normal(0, 14, (picture.height, picture.width, 1))
    levels: NDArray[np.float64] = np.asarray(picture, dtype=np.float64) + noise
    return Image.fromarray(np.clip(levels, 0, 255).astype(np.uint8))


def _back_of_a_head(skin: tuple[int, int, int], hair: tuple[int, int, int]) -> Image.Image:
    picture = Image.new("RGB", (512, 512), (150, 160, 170))
    pen = ImageDraw.Draw(picture)
    pen.rectangle((216, 280, 296, 400), fill=skin)  # neck
    pen.ellipse((120, 370, 392, 620), fill=(60, 80, 120))  # shoulders
    pen.ellipse((150, 190, 180, 250), fill=skin)  # ears
    pen.ellipse((332, 190, 362, 250), fill=skin)
    pen.ellipse((160, 80, 352, 330), fill=hair)
    return picture


@pytest.mark.parametrize("skin", SKINS)
@pytest.mark.parametrize("hair", HAIRS)
@pytest.mark.parametrize("grained", [False, True])
def test_drawn_backs_of_heads(
    reader: LocalReader, skin: tuple[int, int, int], hair: tuple[int, int, int], *, grained: bool
) -> None:
    picture = _back_of_a_head(skin, hair)
    shown = _grained(picture, 1) if grained else picture
    assert _person_answers(reader, shown) == {"unknown"}


def _draw_face(pen: ImageDraw.ImageDraw, x: int, y: int, side: int, number: int) -> None:
    def box(left: float, top: float, right: float, bottom: float) -> tuple[float, ...]:
        return (x + left * side, y + top * side, x + right * side, y + bottom * side)

    pen.ellipse(box(0.1, 0.0, 0.9, 0.8), fill=HAIRS[number % 3])
    pen.ellipse(box(0.2, 0.1, 0.8, 0.95), fill=SKINS[number // 3 % 3])
    for left in (0.33, 0.57):
        pen.ellipse(box(left, 0.4, left + 0.1, 0.48), fill=(20, 20, 20))
    pen.line(box(0.5, 0.5, 0.48, 0.62), fill=(120, 80, 60), width=max(1, side // 40))
    pen.arc(box(0.36, 0.55, 0.64, 0.8), 20, 160, fill=(150, 50, 50), width=max(1, side // 24))


def _crowd(side: int) -> Image.Image:
    """Rows of drawn faces, `side` pixels each, with eyes and a mouth."""
    picture = Image.new("RGB", (640, 640), (90, 110, 130))
    pen = ImageDraw.Draw(picture)
    places = [(x, y) for y in range(0, 640, side) for x in range(0, 640, side)]
    for number, (x, y) in enumerate(places):
        _draw_face(pen, x, y, side, number)
    return picture


@pytest.mark.parametrize("side", [20, 40, 80, 160])
@pytest.mark.parametrize("grained", [False, True])
def test_drawn_crowds(reader: LocalReader, side: int, *, grained: bool) -> None:
    picture = _crowd(side)
    shown = _grained(picture, 2) if grained else picture
    assert _person_answers(reader, shown) == {"unknown"}
