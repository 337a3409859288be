from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests import rows
from tests.report.made_study import MakeStudy

from contextbias.report.thumbnails import EDGE, embed
from contextbias.tables import ImageRow

BUDGET = 10_000_000


def image_file(path: Path, picture: Image.Image, **options: object) -> ImageRow:
    picture.save(path, **options)  # type: ignore[arg-type]
    return rows.image(path.stem, path=str(path))


def opened(data: bytes | None) -> Image.Image:
    assert data is not None
    return Image.open(io.BytesIO(data))


def test_a_thumbnail_keeps_the_shape_of_its_image(tmp_path: Path) -> None:
    row = image_file(tmp_path / "wide.png", Image.new("RGB", (1024, 512), (10, 200, 30)))

    small = opened(embed([row], budget=BUDGET).webp[0])

    assert (small.format, small.size) == ("WEBP", (EDGE, EDGE // 2))
    red, green, blue = small.convert("RGB").getpixel((60, 30))  # type: ignore[misc]
    assert (abs(red - 10), abs(green - 200), abs(blue - 30)) < (12, 12, 12)


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "I;16"])
def test_every_kind_of_image_becomes_a_thumbnail(tmp_path: Path, mode: str) -> None:
    kind = "tif" if mode == "CMYK" else "png"
    row = image_file(tmp_path / f"a.{kind}", Image.new(mode, (300, 300)))

    assert opened(embed([row], budget=BUDGET).webp[0]).size == (EDGE, EDGE)


@pytest.mark.parametrize(
    ("mode", "value", "shade"), [("RGBA", (0, 0, 0, 0), 255), ("I;16", 0x8000, 0x80)]
)
def test_a_thumbnail_shows_what_readers_see(
    tmp_path: Path, mode: str, value: Any, shade: int
) -> None:
    row = image_file(tmp_path / "a.png", Image.new(mode, (300, 300), value))

    seen = opened(embed([row], budget=BUDGET).webp[0]).convert("RGB").getpixel((9, 9))

    assert isinstance(seen, tuple)
    assert abs(seen[0] - shade) <= 2


def test_a_turned_photograph_stands_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # orientation: rotate by 90 degrees
    row = image_file(tmp_path / "turned.jpg", Image.new("RGB", (400, 200)), exif=exif)

    assert opened(embed([row], budget=BUDGET).webp[0]).size == (EDGE // 2, EDGE)


def test_an_image_without_a_readable_file_has_no_thumbnail(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("no picture")
    bad = [
        rows.image("text", path=str(tmp_path / "text.png")),
        rows.image("gone", path=str(tmp_path / "gone.png")),
        rows.image("blocked", path=None, status="blocked"),
    ]

    made = embed(bad, budget=BUDGET)

    assert len(made.images) == 3
    assert made.webp == (None, None, None)
    assert made.complete


def test_over_budget_every_cell_shows_equally_many_images_of_different_prompts(
    make_study: MakeStudy,
) -> None:
    images = make_study(broken=False, prompts_each=3, seeds=4).inputs().images
    whole = embed(images, budget=BUDGET)
    spent = sum(-(-len(data or b"") // 3) * 4 for data in whole.webp)

    part = embed(images, budget=spent // 3)

    assert whole.complete
    assert not part.complete
    kept = Counter((i.generator, i.role, i.condition) for i in part.images)
    assert set(kept.values()) == {3} or set(kept.values()) == {4}
    cells = len(kept)
    assert cells == 18
    first = [(i.generator, i.role, i.condition, i.prompt_id) for i in part.images[: 3 * cells]]
    assert len(set(first)) == 3 * cells


def test_the_choice_depends_on_nothing_but_the_rows(make_study: MakeStudy) -> None:
    images = list(make_study(broken=False).inputs().images)

    forward, backward = embed(images, budget=BUDGET), embed(images[::-1], budget=BUDGET)

    assert forward == backward


def test_a_budget_of_nothing_still_shows_one_image_a_cell(make_study: MakeStudy) -> None:
    images = make_study(broken=False).inputs().images

    assert len(embed(images, budget=0).images) == 18


def test_no_image_is_no_error() -> None:
    assert embed([], budget=BUDGET).images == ()


def test_a_failed_image_takes_its_turn(make_study: MakeStudy) -> None:
    images = [replace(i, status="error", path=None) for i in make_study().inputs().images]

    made = embed(images, budget=0)

    assert made.complete
    assert set(made.webp) == {None}
