"""What a backend should be tested for: pictures, identity, bad options, failures as rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from contextbias_example.generator import Cards
from contextbias_example.reader import Warmth
from PIL import Image

from contextbias.errors import ConfigError
from contextbias.extract.protocol import Picture
from contextbias.generate.protocol import Job
from contextbias.schema import check_record


def job(text: str = "a photo of a nurse", seed: int = 1) -> Job:
    return Job(
        image_id=f"i{seed}", role="nurse", condition="CF", text=text, location=None,
        activity=None, prompt_id="p", seed=seed,
    )  # fmt: skip


def test_the_seed_decides_the_picture() -> None:
    first, again, other = Cards({}).generate([job(), job(), job(seed=2)])
    assert first.image.tobytes() == again.image.tobytes() != other.image.tobytes()


def test_a_refusal_is_a_row() -> None:
    (made,) = Cards({}).generate([job("a photo of nobody")])
    assert (made.status, made.reason) == ("blocked", "cards show somebody")


def test_options_are_checked_and_are_part_of_the_identity() -> None:
    assert Cards({"size": 32}).settings() != Cards({}).settings()
    with pytest.raises(ConfigError, match="did you mean 'size'"):
        Cards({"sizes": 32})
    with pytest.raises(ConfigError, match="margin = -1"):
        Warmth({"margin": -1})


@pytest.mark.parametrize(
    ("color", "label"), [("red", "warm"), ("blue", "cool"), ("gray", "neutral")]
)
def test_warm_and_cool_are_told_apart(tmp_path: Path, color: str, label: str) -> None:
    path = tmp_path / "a.png"
    Image.new("RGB", (8, 8), color).save(path)
    reading = Warmth({}).read(Picture(image_id="i", path=path))
    assert check_record(reading.record) == []
    assert reading.record is not None
    assert reading.record["scene"]["color_temperature"] == label


def test_a_broken_file_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_text("no picture")
    assert Warmth({}).read(Picture(image_id="i", path=path)).status == "corrupt"
