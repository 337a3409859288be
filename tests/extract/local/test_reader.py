from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from contextbias.errors import ConfigError, MissingPart
from contextbias.extract.local import READABLE, LocalReader
from contextbias.extract.local.networks import MODELS
from contextbias.extract.protocol import Picture
from contextbias.generate.drawing import draw
from contextbias.registry import load_reader
from contextbias.schema import DIMENSIONS, check_record, empty_person, empty_record


def _picture(path: Path) -> Picture:
    return Picture(image_id=path.stem, path=path.absolute())


def _saved(array: np.ndarray, name: str = "a.png") -> Picture:
    Image.fromarray(array).save(name)
    return _picture(Path(name))


@pytest.fixture
def reader() -> LocalReader:
    return LocalReader({})


def test_missing_weights_are_one_message_with_the_command() -> None:
    with pytest.raises(MissingPart, match="centerface") as raised:
        load_reader("local", {})
    assert "contextbias models fetch" in raised.value.fix
    assert str(raised.value).count("\n") == 0


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"confidense": 0.9}, "confidence"),
        ({"confidence": 0.4}, "0.4"),
        ({"smallest_face": "big"}, "big"),
        ({"weights": 3}, "weights"),
    ],
)
def test_wrong_options(options: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        LocalReader(options)


def test_readable_labels_are_in_the_schema() -> None:
    for name, labels in READABLE.items():
        assert set(labels) <= set(DIMENSIONS[name].vocabulary)
        assert len(labels) >= 2  # one label alone would read as 100%


@pytest.mark.weights
def test_settings_name_what_decides_the_answers(reader: LocalReader) -> None:
    other = LocalReader({"confidence": 0.8})
    assert reader.settings() != other.settings()
    assert set(reader.settings()["weights"]) == set(MODELS)
    assert set(reader.settings()["readable"]) == set(READABLE)
    assert reader.settings() == LocalReader({}).settings()


@pytest.mark.weights
def test_a_blank_picture_shows_nobody(reader: LocalReader) -> None:
    reading = reader.read(_saved(np.full((700, 700, 3), 255, dtype=np.uint8)))
    assert reading.record is not None
    assert reading.record["people"] == []
    assert reading.record["scene"]["dominant_colors"] == ["white"]
    assert reading.record["scene"]["color_temperature"] == "unknown"
    assert reading.raw["faces"] == []


@pytest.mark.weights
def test_no_face_found_is_a_person_of_whom_nothing_is_known(reader: LocalReader) -> None:
    noise = np.random.default_rng(4).integers(0, 256, (200, 300, 3), dtype=np.uint8)
    reading = reader.read(_saved(noise))
    assert reading.record is not None
    assert check_record(reading.record) == []
    (person,) = reading.record["people"]
    assert set(person.values()) == {"unknown"}
    assert reading.record["camera"]["framing"] == "unknown"


@pytest.mark.weights
@pytest.mark.parametrize("size", [(1, 1), (3, 900), (16, 16)])
def test_odd_sizes(reader: LocalReader, size: tuple[int, int]) -> None:
    reading = reader.read(_saved(np.full((*size, 3), 90, dtype=np.uint8)))
    assert reading.status == "ok"
    assert check_record(reading.record) == []


@pytest.mark.weights
def test_a_file_that_cannot_be_decoded_is_a_row(reader: LocalReader) -> None:
    Path("a.png").write_text("no picture")
    reading = reader.read(_picture(Path("a.png")))
    assert (reading.status, reading.record) == ("corrupt", None)
    assert "decoded" in (reading.reason or "")
    gone = reader.read(_picture(Path("nowhere.png")))
    assert (gone.status, gone.record) == ("error", None)
    assert "opened" in (gone.reason or "")


@pytest.mark.weights
@pytest.mark.shared
def test_real_pictures_give_valid_and_stable_records(reader: LocalReader, shared: Path) -> None:
    for path in sorted((shared / "images").glob("*.jpg"))[::8]:
        reading = reader.read(_picture(path))
        assert reading.status == "ok"
        assert check_record(reading.record) == []
        assert reader.read(_picture(path)) == reading
        _check_agreement(reading.record, reading.raw)


def _check_agreement(record: Any, raw: dict[str, Any]) -> None:
    """The record answers only what can be read, and its people are the faces of the raw reading."""
    assert len(record["people"]) == max(len(raw["faces"]), 1)
    for person, face in zip(record["people"], raw["faces"], strict=False):
        left, top, right, bottom = face["box"]
        assert 0 <= left < right <= 1
        assert 0 <= top < bottom <= 1
        if face["gate"]["faults"]:
            assert set(person.values()) == {"unknown"}
    answers = {**record["scene"], **record["camera"], **record["objects"]}
    for name, value in [*answers.items(), *(p for q in record["people"] for p in q.items())]:
        labels = value if isinstance(value, list) else [value]
        assert set(labels) <= {"unknown", *READABLE.get(name, ())}


@pytest.mark.weights
def test_readable_and_probes_are_part_of_the_fingerprint(
    reader: LocalReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = reader.settings()
    monkeypatch.setitem(READABLE, "skin_tone", ("light", "dark"))  # type: ignore[arg-type]
    assert reader.settings() != before
    monkeypatch.undo()
    monkeypatch.setattr("contextbias.extract.local.reader.probes_sha256", lambda: "other")
    assert reader.settings() != before


@pytest.mark.weights
def test_drawn_people_are_unknown(reader: LocalReader) -> None:
    # 24 scenes of the simulated generator, drawn people in front of drawn rooms.
    for seed, garment in enumerate(["t-shirt", "dress", "jacket", "sweater"] * 6):
        person = {
            **empty_person(),
            "clothing_garment": [garment],
            "gender_presentation": ("female", "male")[seed % 2],
            "skin_tone": ("light", "medium", "dark")[seed % 3],
        }
        record = {**empty_record(), "people": [person]}
        record["camera"]["framing"] = "tight"
        drawing = draw(record, setting="office", role="teacher", seed=seed)
        reading = reader.read(_saved(np.asarray(drawing.convert("RGB"))))
        assert reading.record is not None
        for seen in reading.record["people"]:
            assert set(seen.values()) == {"unknown"}


@pytest.mark.weights
@pytest.mark.shared
def test_tiny_faces_and_silhouettes_are_unknown(reader: LocalReader, shared: Path) -> None:
    for path in sorted((shared / "images").glob("*.jpg"))[::4]:
        scene = Image.open(path).convert("RGB")
        tiny = np.asarray(scene.resize((scene.width // 16, scene.height // 16)))
        dark = (np.asarray(scene.convert("L")) > 128).astype(np.uint8) * 255
        for picture in (tiny, np.repeat(dark[..., None], 3, axis=2)):
            reading = reader.read(_saved(picture))
            assert reading.record is not None
            for person in reading.record["people"]:
                assert set(person.values()) == {"unknown"}
