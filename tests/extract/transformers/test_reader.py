"""The reader with a miniature model: batches, second turns, failures, what is kept."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from contextbias.errors import ConfigError, Incomplete
from contextbias.extract.protocol import Picture, RawReading
from contextbias.extract.transformers import TransformersReader
from contextbias.extract.transformers.loading import VERSIONS
from contextbias.extract.vision.answers import parse_answer
from contextbias.extract.vision.instructions import TEMPLATE_VERSION, instructions
from contextbias.extract.vision.kept import opened
from contextbias.registry import load_reader
from contextbias.schema import DIMENSIONS, check_record

Readers = Callable[..., TransformersReader]
Pictures = Callable[[int], list[Picture]]


def sizes(reading: RawReading) -> list[int]:
    return [turn["batch"]["size"] for turn in reading.raw["turns"]]


# ---- reading


def test_a_batch_is_read_as_each_picture_alone(reader: Readers, pictures: Pictures) -> None:
    batched, alone = reader(batch=4), reader(batch=1)
    shown = pictures(4)
    together = dict(batched.read_many(shown))
    assert list(together) == [picture.image_id for picture in shown]
    assert sizes(together["image-0"]) == [4, 4]  # every first answer contradicts itself
    for picture in shown:
        single = alone.read(picture)
        assert opened(single.raw) == opened(together[picture.image_id].raw)
        assert single.record == together[picture.image_id].record
        assert sizes(single) == [1, 1]
    # The pictures are different and are looked at; so are the questions of the second turn long.
    assert len({opened(each.raw)[1] for each in together.values()}) > 1


def test_a_batch_of_questions_of_different_lengths(reader: Readers, tmp_path: Path) -> None:
    tiny = importlib.import_module("tests.extract.transformers.tiny")
    tiling = reader(model=str(tiny.save_tiling(tmp_path / "tiling")))
    shown = []
    for number, size in enumerate([(64, 48), (64, 20), (64, 64)]):
        path = tmp_path / f"{number}.png"
        Image.effect_noise(size, 50 + number).convert("RGB").save(path)
        shown.append(Picture(image_id=str(number), path=path))
    together = dict(tiling.read_many(shown))
    asked = [read.raw["turns"][0]["input"] for read in together.values()]
    assert asked[1] < asked[0]  # fewer tiles
    for picture in shown:
        assert opened(tiling.read(picture).raw) == opened(together[picture.image_id].raw)
        assert together[picture.image_id].status in ("ok", "invalid")
    # Where only the longer ones leave no room, they alone stay without an answer.
    answering = tiling.answering
    answering._loaded = replace(answering._loaded, context=asked[1] + 1500)
    alone = dict(tiling.read_many(shown))
    assert [alone[key].status for key in "02"] == ["error", "error"]
    assert "the model takes" in str(alone["0"].reason)
    assert opened(alone["1"].raw)[0] == opened(together["1"].raw)[0]


def test_the_same_again_in_another_reader(reader: Readers, pictures: Pictures) -> None:
    (picture,) = pictures(1)
    assert opened(reader().read(picture).raw) == opened(reader().read(picture).raw)


def test_an_answer_that_contradicts_itself_is_asked_for_again(
    reader: Readers, pictures: Pictures
) -> None:
    (picture,) = pictures(1)
    read = reader().read(picture)
    first, second = opened(read.raw)
    assert parse_answer(first).faults
    assert read.status == "ok"
    assert read.reason is None
    assert read.record == parse_answer(second).record
    assert check_record(read.record) == []
    not_again = reader(repair=False).read(picture)
    assert opened(not_again.raw) == [first]
    assert not_again.status == "invalid"
    assert not_again.record is None
    assert not_again.reason == parse_answer(first).faults[0]


def test_half_precision(reader: Readers, pictures: Pictures) -> None:
    read = reader(dtype="bfloat16").read(*pictures(1))
    assert read.status in ("ok", "invalid")
    assert read.raw["dtype"] == "bfloat16"


def test_drawn_answers_come_from_the_images_id_and_the_seed(
    reader: Readers, pictures: Pictures
) -> None:
    (picture,) = pictures(1)
    other = Picture(image_id="image-0/repeat-1", path=picture.path)
    drawing = reader(temperature=1.0, repair=False)
    told = dict(drawing.read_many([picture, other]))
    first, second = (opened(told[each.image_id].raw) for each in (picture, other))
    assert first != second
    assert opened(drawing.read(picture).raw) == first
    reseeded = reader(temperature=1.0, repair=False, seed=1)
    assert opened(reseeded.read(picture).raw) != first


def test_what_is_kept(reader: Readers, pictures: Pictures, folder: Path) -> None:
    (picture,) = pictures(1)
    read = reader().read(picture)
    raw = read.raw
    assert json.loads(json.dumps(raw)) == raw
    assert raw["model"] == str(folder.resolve())
    assert raw["revision"].startswith("files ")
    assert (raw["dtype"], raw["device"]) == ("float32", "cpu")
    assert set(raw["versions"]) == set(VERSIONS)
    assert raw["request"] == {"max_tokens": 1500, "temperature": 0.0}
    assert raw["template"] == {"version": TEMPLATE_VERSION, "hash": instructions(people=1).hash}
    assert (raw["picture"]["width"], raw["picture"]["height"]) == (64, 48)
    turns = raw["turns"]
    assert raw["usage"] == {key: sum(turn[key] for turn in turns) for key in ("input", "output")}
    assert turns[1]["input"] > turns[0]["input"] + turns[0]["output"]
    assert read.seconds == pytest.approx(sum(turn["seconds"] for turn in turns), abs=1e-3)


# ---- failures are rows


def test_an_answer_that_is_cut(reader: Readers, pictures: Pictures) -> None:
    (picture,) = pictures(1)
    read = reader(max_tokens=40).read(picture)
    assert (read.status, read.reason, read.record) == ("truncated", "cut at 40 tokens", None)
    assert opened(read.raw)[0].startswith('{"camera":')


def test_pictures_that_cannot_be_read_harm_no_others(
    reader: Readers, pictures: Pictures, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    good, *_ = pictures(1)
    shown = [
        Picture(image_id="broken", path=broken),
        good,
        Picture(image_id="gone", path=tmp_path / "gone.png"),
    ]
    told = dict(reader().read_many(shown))
    assert {key: read.status for key, read in told.items()} == {
        "broken": "corrupt", "image-0": "ok", "gone": "error",
    }  # fmt: skip
    assert "No such file" in str(told["gone"].reason)


class Short:
    """A ``generate`` that has memory for so many answers at a time."""

    def __init__(self, model: Any, room: int, error: Exception) -> None:
        self.real, self.room, self.error = model.generate, room, error
        self.tried: list[int] = []

    def __call__(self, **given: Any) -> Any:
        rows = len(given["input_ids"])
        self.tried.append(rows)
        if rows > self.room:
            raise self.error
        return self.real(**given)


def short_of_memory(
    made: TransformersReader, monkeypatch: pytest.MonkeyPatch, room: int, error: Exception
) -> Short:
    model = made.answering._loaded.model
    short = Short(model, room, error)
    monkeypatch.setattr(model, "generate", short)
    return short


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_a_batch_that_does_not_fit_is_halved(
    reader: Readers, pictures: Pictures, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    made = reader(batch=6, repair=False, max_tokens=30)
    short = short_of_memory(made, monkeypatch, 1, error)
    told = dict(made.read_many(pictures(6)))
    assert [read.status for read in told.values()] == ["truncated"] * 6
    assert short.tried == [6, 3, 1, 1, 1, 1, 1, 1]
    assert made.answering.most == 1


def test_one_picture_that_does_not_fit(
    reader: Readers, pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = reader()
    short_of_memory(made, monkeypatch, 0, torch.OutOfMemoryError("CUDA out of memory"))
    read = made.read(*pictures(1))
    assert read.status == "error"
    assert "does not fit into the memory" in str(read.reason)


def test_a_failing_call_is_rows(
    reader: Readers, pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = reader(batch=2)
    short_of_memory(made, monkeypatch, 0, RuntimeError("an illegal address"))
    told = dict(made.read_many(pictures(2)))
    assert {read.reason for read in told.values()} == {"RuntimeError: an illegal address"}
    assert {read.status for read in told.values()} == {"error"}


def test_a_second_turn_that_fails_leaves_the_first(
    reader: Readers, pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = reader()
    model = made.answering._loaded.model
    real, calls = model.generate, iter([True])

    def once(**given: Any) -> Any:
        if next(calls, False):
            return real(**given)
        raise RuntimeError("too much")

    monkeypatch.setattr(model, "generate", once)
    read = made.read(*pictures(1))
    assert read.status == "invalid"
    assert str(read.reason).endswith("(and asking once more failed: RuntimeError: too much)")
    assert read.raw["not_repaired"] == "RuntimeError: too much"
    assert len(opened(read.raw)) == 1


def test_weights_that_overflow_are_no_answer(reader: Readers, pictures: Pictures) -> None:
    made = reader()
    with torch.no_grad():
        made.answering._loaded.model.get_output_embeddings().weight[0, 0] = torch.nan
    read = made.read(*pictures(1))
    assert read.status == "error"
    assert read.reason == "the model computed values that are no numbers"


def test_a_question_that_leaves_no_room_is_refused_at_the_start(
    save: Callable[..., Path], tmp_path: Path, reader: Readers, pictures: Pictures
) -> None:
    small = str(save(tmp_path / "small", context=2000))
    with pytest.raises(
        ConfigError, match=r"max_tokens = 1500: text and picture take 1,\d{3}"
    ) as no:
        _ = reader(model=small).answering
    most = int(no.value.fix.removeprefix("take at most "))
    made = reader(model=small, max_tokens=most)
    read = made.read(*pictures(1))
    assert read.status == "invalid"  # and for the second turn there is no room
    assert "the model takes 2,000 in all" in read.raw["not_repaired"]


# ---- options


def test_settings_are_what_decides_the_answers(reader: Readers) -> None:
    base = reader().settings()
    for same in ({"batch": 3}, {"device": "cpu"}, {"seed": 4}):
        assert reader(**same).settings() == base
    for other in (
        {"model": "x/y"}, {"revision": "v2"}, {"dtype": "bfloat16"}, {"size": 32}, {"people": 2},
        {"max_tokens": 99}, {"temperature": 0.5}, {"repair": False},
    ):  # fmt: skip
        assert reader(**other).settings() != base
    assert reader(temperature=1.0).settings() != reader(temperature=1.0, seed=4).settings()


def test_it_reads_everything_and_stands_in_the_registry(folder: Path) -> None:
    found = load_reader("transformers", {"model": str(folder), "batch": 3})
    assert isinstance(found, TransformersReader)
    assert found.readable() == dict.fromkeys(DIMENSIONS)
    assert (found.parallel, found.batch_size) == ("devices", 3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"modle": "x"}, "did you mean 'model'"),
        ({}, "model"),
        ({"model": "x", "batch": 0}, "batch"),
        ({"model": "x", "dtype": "int4"}, "dtype"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        TransformersReader(options)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_here(reader: Readers) -> None:
    with pytest.raises(ConfigError, match="'cuda' is not here"):
        _ = reader(device="cuda").answering


def test_a_model_that_does_not_fit(reader: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import AutoModelForImageTextToText

    def too_large(*_: Any, **__: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(AutoModelForImageTextToText, "from_pretrained", too_large)
    with pytest.raises(Incomplete, match="does not fit into the memory of this cpu"):
        _ = reader().answering
