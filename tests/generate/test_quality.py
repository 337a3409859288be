"""Blank pictures are found, kept, marked and retried; so are duplicates."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image
from tests import rows
from typer.testing import CliRunner

from contextbias import pipeline
from contextbias.cli.main import app
from contextbias.errors import Incomplete
from contextbias.generate.duplicates import Duplicates, duplicates
from contextbias.generate.protocol import Job, Made
from contextbias.generate.quality import blemish, not_numbers, pixels_sha256
from contextbias.registry import GENERATORS, READERS, Entry
from contextbias.store import Study

NOISE = np.random.default_rng(1).integers(0, 256, (64, 64, 3), np.uint8)


def flat(*levels: int) -> Image.Image:
    return Image.new(
        "RGB" if len(levels) == 3 else "L", (64, 64), levels if levels[1:] else levels[0]
    )


def speckled(levels: tuple[int, int, int], specks: int) -> Image.Image:
    array = np.full((100, 100, 3), levels, np.uint8)
    array.reshape(-1, 3)[:specks] = 255 - np.array(levels)
    return Image.fromarray(array)


def grainy(level: int, spread: int) -> Image.Image:
    grain = np.random.default_rng(2).integers(-spread, spread + 1, (64, 64, 3))
    return Image.fromarray((level + grain).clip(0, 255).astype(np.uint8))


@pytest.mark.parametrize(
    ("image", "fault"),
    [
        (flat(0, 0, 0), "black"),
        (flat(8, 3, 0), "black"),
        (flat(0), "black"),
        (speckled((0, 0, 0), 9), "black"),  # fewer than one pixel in a thousand
        (flat(255, 255, 255), "one colour (255, 255, 255)"),
        (flat(127, 127, 127), "one colour (127, 127, 127)"),
        (flat(10, 200, 30), "one colour (10, 200, 30)"),
        (grainy(128, 8), "one colour (128, 128, 128)"),
        (Image.new("RGBA", (8, 8), (9, 9, 9, 0)), "fully transparent"),
        (Image.new("LA", (8, 8), (9, 0)), "fully transparent"),
        (Image.new("I;16", (8, 8), 20), "black"),
        (Image.new("1", (8, 8), 1), "one colour"),
    ],
)
def test_there_is_nothing_to_see(image: Image.Image, fault: str) -> None:
    found = blemish(image)
    assert found is not None
    assert found.startswith(fault.split(" (12")[0])


@pytest.mark.parametrize(
    "image",
    [
        Image.fromarray(NOISE),
        Image.fromarray(NOISE // 12),  # a very dark picture: levels up to 21
        speckled((0, 0, 0), 11),
        speckled((255, 255, 255), 11),
        grainy(128, 20),
        Image.linear_gradient("L"),
        Image.linear_gradient("L").quantize(8),
        Image.new("RGB", (64, 64), "red")
        .convert("L", (0.3, 0.3, 0.3, 0))
        .convert("RGB")
        .rotate(45),
    ],
)
def test_there_is_something_to_see(image: Image.Image) -> None:
    assert blemish(image) is None


def test_values_that_are_no_numbers() -> None:
    floats = NOISE / np.float32(255)
    assert not_numbers(floats) is None
    assert not_numbers(NOISE) is None
    floats[0, 0, 0] = np.inf
    assert not_numbers(floats) == "0.01% of its values are not numbers"
    floats[:32] = np.nan
    floats[40] = -np.inf
    floats[41] = np.inf
    assert str(not_numbers(floats)).startswith("53.")


def test_equal_pixels_have_equal_hashes_whatever_the_file() -> None:
    image = Image.fromarray(NOISE)
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=9)
    assert pixels_sha256(Image.open(buffer)) == pixels_sha256(image)
    assert pixels_sha256(image.resize((32, 128))) != pixels_sha256(image)
    # The same bytes in another shape are another picture.
    assert pixels_sha256(Image.new("L", (2, 8))) != pixels_sha256(Image.new("L", (8, 2)))


# ---- duplicates


def row(name: str, pixels: str, **fields: Any) -> Any:
    return rows.image(name, provenance={"pixels": pixels}, **fields)


def test_a_later_image_with_the_pixels_of_an_earlier_one_is_marked() -> None:
    seen = Duplicates([row("a", "1")])
    assert seen.marked(row("b", "2")).provenance == {"pixels": "2"}
    assert seen.marked(row("c", "1")).provenance["marks"] == ["duplicate of a"]
    assert seen.marked(row("a", "1", attempt=2)).provenance == {"pixels": "1"}
    assert "marks" not in seen.marked(row("d", "1", generator="other")).provenance


def test_blank_failed_and_imported_images_are_no_duplicates() -> None:
    of_no_use = [row("a", "1", status="blank"), row("b", "1", status="blank")]
    imported = [rows.image("c", provenance={}), rows.image("d", provenance={})]
    assert duplicates([*of_no_use, *imported]) == 0
    assert duplicates([row("a", "1"), row("b", "1"), row("c", "1"), row("d", "2")]) == 2


# ---- through a study


class Painter:
    """A generator that makes what its option `makes` says, by the seed's remainder."""

    batch_size = 4
    parallel = "none"

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def settings(self) -> dict[str, Any]:
        return {"model": "painter", "makes": self.options.get("makes")}

    def generate(self, jobs: Sequence[Job]) -> Iterator[Made]:
        for job in jobs:
            yield Made(image_id=job.image_id, image=self.paint(job))

    def paint(self, job: Job) -> Any:
        noise = np.random.default_rng(job.seed).integers(0, 256, (16, 16, 3), np.uint8)
        here = job.condition == "CF" or self.options.get("everywhere")
        makes = self.options["makes"] if here else "noise"
        return {
            "noise": noise,
            "black": np.zeros_like(noise),
            "same": NOISE[:16, :16],
            "nan": np.full(noise.shape, np.nan, np.float32),
            "text": np.zeros((3, 3), np.uint8),
        }[makes]


class Curing(Painter):
    def cure(self, job: Job, fault: str) -> Made | None:
        if self.options.get("cure") == "fails":
            raise RuntimeError("no memory left")
        if self.options.get("cure") == "none":
            return None
        image = self.paint(job) if self.options.get("cure") == "same" else NOISE[:20, :20]
        return Made(image_id=job.image_id, image=image, provenance={"vae": f"fp32 for {fault}"})


STUDY = """
[study]
images_per_prompt = 1
seeds = "independent"
masters = "{masters}"
[bench]
roles = ["nurse"]
[[generators]]
name = "painter"
backend = "{backend}"
options = {options}
[[readers]]
name = "reader"
backend = "nobody"
[measure]
bootstrap = 0
"""


class Nobody:
    """A reader that knows nothing; it remembers what it was given: image id, path, content."""

    parallel = "none"
    given: ClassVar[list[tuple[str, Path, bytes]]] = []

    def __init__(self, options: dict[str, Any]) -> None: ...

    def settings(self) -> dict[str, Any]:
        return {}

    def readable(self) -> dict[str, None]:
        return {}

    def read(self, picture: Any) -> Any:
        from contextbias.extract.protocol import RawReading
        from contextbias.schema.records import empty_record

        self.given.append((picture.image_id, picture.path, picture.path.read_bytes()))
        return RawReading(record=empty_record())


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, kind in (("painter", "Painter"), ("curing", "Curing")):
        monkeypatch.setitem(GENERATORS, name, Entry(f"{__name__}:{kind}"))
    monkeypatch.setitem(READERS, "nobody", Entry(f"{__name__}:Nobody"))
    monkeypatch.setattr(Nobody, "given", [])

    def make(options: str, backend: str = "painter", masters: str = "png") -> Path:
        root = tmp_path / "study"
        text = STUDY.format(backend=backend, options=options, masters=masters)
        Study.create(root, text).close()
        return root

    return make


def run(root: Path, *stages: str) -> list[str]:
    with Study.open(root, writing=True) as opened:
        done = pipeline.run(opened, stages or ("bench", "generate"), pipeline.Options())
    return [each.note for each in done]


def images(root: Path) -> list[Any]:
    with Study.open(root) as opened:
        return [i for i in opened.images() if i.condition == "CF"]


@pytest.mark.parametrize(
    ("makes", "reason"), [("black", "black"), ("nan", "100.00% of its values are not numbers")]
)
def test_a_blank_image_is_kept_and_not_read(study: Any, makes: str, reason: str) -> None:
    root = study(f'{{ makes = "{makes}" }}')
    notes = run(root, "bench", "generate", "extract", "canonicalise")
    found = images(root)
    assert {(i.status, i.reason) for i in found} == {("blank", reason)}
    for image in found:
        with Image.open(root / image.path) as kept:
            assert kept.size == (16, 16) == (image.width, image.height)
    assert "18 images, 18 new, 3 failed" in notes[1]
    # Read are the other 15, and the three are missing with their reason; a new run leaves them.
    assert len(Nobody.given) == 15
    with Study.open(root) as opened:
        table = opened.attributes()
        assert table is not None
        lost = table.filter(condition="CF")
        assert set(lost["missing_reason"]) == {"blank"}
        assert lost["image_path"].null_count() == 0
        assert pipeline.status(opened)["images"] == {"wanted": 18, "blank": 3, "ok": 15}
    assert "nothing to do" in run(root)[1]
    assert "3 blank, 15 ok" in CliRunner().invoke(app, ["status", str(root)]).stdout


def test_a_cure_replaces_what_is_blank_and_both_are_kept(study: Any) -> None:
    root = study('{ makes = "black" }', backend="curing")
    run(root)
    for image in images(root):
        assert (image.status, image.width) == ("ok", 20)
        assert image.provenance["cured"] == "black"
        assert image.provenance["vae"] == "fp32 for black"
        first = (root / image.path).with_suffix(".blank.png")
        with Image.open(first) as kept:
            assert blemish(kept) == "black"


@pytest.mark.parametrize("cure", ["fails", "none", "same"])
def test_a_cure_that_does_not_help_leaves_the_blank_image(study: Any, cure: str) -> None:
    root = study(f'{{ makes = "black", cure = "{cure}" }}', backend="curing")
    run(root)
    found = images(root)
    assert {i.status for i in found} == {"blank"}
    failed = [i.provenance.get("cure_failed") for i in found]
    assert failed == [("RuntimeError: no memory left" if cure == "fails" else None)] * len(found)


def test_duplicates_are_marked_and_told(study: Any) -> None:
    root = study('{ makes = "same" }')
    notes = run(root)
    assert "18 images, 18 new, 0 failed; 2 images with the pixels of another one" in notes[1]
    found = images(root)
    assert {i.status for i in found} == {"ok"}
    marks = [mark for i in found for mark in i.provenance.get("marks", [])]
    (first,) = {mark.removeprefix("duplicate of ") for mark in marks}
    assert len(marks) == 2
    assert first in {i.image_id for i in found if "marks" not in i.provenance}
    with Study.open(root) as opened:
        assert pipeline.status(opened)["duplicates"] == 2
    assert "2 images with the pixels" in run(root)[1]
    said = CliRunner().invoke(app, ["status", str(root)]).stdout
    assert "2 have the pixels of another one by the same generator" in said


def test_a_generator_that_makes_nothing_but_black_is_stopped(study: Any) -> None:
    root = study('{ makes = "black", everywhere = true }')
    text = (root / "study.toml").read_text()
    (root / "study.toml").write_text(text.replace("images_per_prompt = 1", "images_per_prompt = 2"))
    with pytest.raises(Incomplete, match=r"the first 20 images of painter all failed \(black\)"):
        run(root)
    assert {i.status for i in images(root)} == {"blank"}


def test_where_no_image_is_of_use_each_is_listed_with_its_reason(study: Any) -> None:
    root = study('{ makes = "black", everywhere = true }')
    done = CliRunner().invoke(app, ["run", str(root)])
    assert isinstance(done.exception, Incomplete)
    assert "of 18 images, all failed or show nothing" in str(done.exception)
    listed = [line for line in done.stderr.splitlines() if line.startswith("  blank: images/")]
    assert len(listed) == 18
    assert all(line.endswith(": black") for line in listed)
    said = CliRunner().invoke(app, ["status", str(root)]).stdout
    assert "18 blank; 18 wanted\n            blank: black\n" in said


def test_what_is_no_picture_is_an_error(study: Any) -> None:
    root = study('{ makes = "text" }')
    run(root)
    reasons = {(i.status, i.reason, i.path) for i in images(root)}
    assert reasons == {
        (
            "error",
            "no picture came: an array of shape (3, 3) is no picture (height, width, 3)",
            None,
        )
    }


@pytest.mark.parametrize("masters", ["png", "webp"])
def test_nothing_of_the_prompt_is_in_what_a_reader_is_given(study: Any, masters: str) -> None:
    root = study('{ makes = "noise" }', masters=masters)
    run(root, "bench", "generate", "extract")
    with Study.open(root) as opened:
        prompts = {prompt.prompt_id: prompt for prompt in opened.prompts()}
        asked = {image.image_id: prompts[image.prompt_id] for image in opened.images()}
    assert len(Nobody.given) == 18
    for image_id, path, data in Nobody.given:
        prompt = asked[image_id]
        assert path.suffix == f".{masters}"
        assert b"trainedAlgorithmicMedia" in data
        assert image_id.encode() in data
        said = [prompt.text, prompt.role, prompt.condition, prompt.prompt_id, prompt.location]
        assert not [word for word in said if word and word.encode() in data]
        assert not {prompt.role, prompt.condition, prompt.prompt_id} & set(path.parts)


def test_simulated_images_say_that_no_model_was_trained(tmp_path: Path) -> None:
    text = STUDY.format(backend="simulated", options="{ size = 64 }", masters="png")
    Study.create(
        tmp_path / "s", text.replace('backend = "nobody"', 'backend = "simulated"')
    ).close()
    run(tmp_path / "s")
    (one, *rest) = sorted((tmp_path / "s" / "images").rglob("*.png"))
    assert len(rest) == 17
    assert b"digitalsourcetype/algorithmicMedia" in one.read_bytes()
    assert b"trained" not in one.read_bytes()
