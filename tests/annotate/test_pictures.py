from __future__ import annotations

import io
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from contextbias.annotate.pictures import Pictures, encoded


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    """A PNG that says in its metadata what an annotator must not know."""
    path = tmp_path / "nurse_CA-U.png"
    said = PngInfo()
    said.add_text("parameters", "a photo of a nurse in a subway station")
    exif = Image.Exif()
    exif[0x010E] = "a photo of a nurse"
    Image.new("RGB", (900, 600), "teal").save(path, pnginfo=said, exif=exif)
    return path


@pytest.mark.parametrize(("edge", "size"), [(512, (512, 341)), (1600, (900, 600))])
def test_pixels_alone_and_never_larger(picture: Path, edge: int, size: tuple[int, int]) -> None:
    data = encoded(picture, edge)
    assert data is not None
    assert b"nurse" not in data
    with Image.open(io.BytesIO(data)) as shown:
        assert shown.format == "WEBP"
        assert shown.size == size


@pytest.mark.parametrize("mode", ["RGBA", "LA", "I;16"])
def test_people_see_what_readers_see(tmp_path: Path, mode: str) -> None:
    """Transparency is white, and 16 bits of grey are no white page."""
    values: dict[str, Any] = {"RGBA": (0, 0, 0, 0), "LA": (0, 0), "I;16": 0x8000}
    shades = {"RGBA": 255, "LA": 255, "I;16": 0x80}
    Image.new(mode, (8, 8), values[mode]).save(tmp_path / "x.png")
    data = encoded(tmp_path / "x.png", 512)
    assert data is not None
    with Image.open(io.BytesIO(data)) as shown:
        assert abs(shown.convert("RGB").getpixel((4, 4))[0] - shades[mode]) <= 2


def test_what_is_no_picture_is_none(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(b"no picture")
    assert encoded(tmp_path / "x.png", 512) is None
    assert encoded(tmp_path / "gone.png", 512) is None


def test_who_asks_meanwhile_waits_for_the_same_picture(picture: Path) -> None:
    asked: Counter[str] = Counter()
    begun, go = threading.Event(), threading.Event()

    def find(image: str) -> Path:
        asked[image] += 1
        begun.set()
        assert go.wait(10)
        return picture

    pictures = Pictures(find)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(pictures.get, "i", "small")
        assert begun.wait(10)
        others = [pool.submit(pictures.get, "i", "small") for _ in range(7)]
        go.set()
        assert {found.result() for found in (first, *others)} == {encoded(picture, 512)}
    assert asked == {"i": 1}


def test_a_fault_is_not_kept(picture: Path) -> None:
    places: list[Path | None] = [None, picture]
    pictures = Pictures(lambda _: places.pop(0))
    assert pictures.get("i", "small") is None
    assert pictures.get("i", "small") is not None
    assert pictures.get("i", "small") is not None  # from memory: `places` is empty


def test_the_longest_unused_go_first(picture: Path) -> None:
    made: list[str] = []

    def find(image: str) -> Path:
        made.append(image)
        return picture

    one = encoded(picture, 512)
    assert one is not None
    pictures = Pictures(find, budget=2 * len(one))
    for image in ("a", "b", "a", "c", "a", "b"):
        pictures.get(image, "small")
    assert made == ["a", "b", "c", "b"]
