"""The simulated reader: the truth, through a confusion model with known rates."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from tests.strategies import records

from contextbias.errors import ConfigError
from contextbias.extract.protocol import Picture
from contextbias.extract.simulated import SimulatedReader
from contextbias.ids import content_hash
from contextbias.schema.codebook import DIMENSIONS, UNKNOWN
from contextbias.schema.records import Record, check_record, empty_person, empty_record

NOISELESS = SimulatedReader({"preset": "noiseless"})


def person(**answers: Any) -> Record:
    record = empty_record()
    record["people"] = [{**empty_person(), **answers}]
    return record


@pytest.fixture
def png(tmp_path: Path) -> Path:
    path = tmp_path / "picture.png"
    Image.new("RGB", (8, 8), "teal").save(path)
    return path


def with_truth(path: Path, record: Record, image_id: str = "i") -> Picture:
    path.with_suffix(".truth.json").write_text(json.dumps(record))
    return Picture(image_id=image_id, path=path)


def answers(reader: SimulatedReader, path: Path, name: str, times: int = 2000) -> Counter[str]:
    """How often each answer is given to one question about one picture, over many image ids."""
    said: Counter[str] = Counter()
    for number in range(times):
        record = reader.read(Picture(image_id=f"i{number}", path=path)).record
        assert record is not None
        found = record["people"][0][name]
        said.update([found] if isinstance(found, str) else found)
    return said


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(truth=records())
def test_noiseless_is_the_truth(png: Path, truth: Record) -> None:
    consistent = repaired(truth)
    reading = NOISELESS.read(with_truth(png, consistent))
    assert (reading.status, reading.record) == ("ok", consistent)
    assert reading.raw == {"answer": consistent}


def repaired(truth: Record) -> Record:
    """The truth as the planted model writes it: what a "no" settles is settled."""
    for each in truth["people"]:
        for present, kind in (
            ("eyewear_present", "eyewear_type"),
            ("facial_hair_present", "facial_hair_style"),
            ("head_covering_present", "head_covering_type"),
        ):
            if each[present] == "no":
                each[kind] = "none"
        if each["facial_hair_present"] == "no":
            each["facial_hair_color"] = UNKNOWN
        if each["hair_present"] == "no":
            each["hair_color"] = each["hair_style"] = UNKNOWN
    return truth


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(truth=records(), rate=st.sampled_from([0.2, 0.6, 1.0]), seed=st.integers(0, 10**6))
def test_noise_never_breaks_the_schema(png: Path, truth: Record, rate: float, seed: int) -> None:
    reader = SimulatedReader(
        {"error_rate": rate, "unknown_rate": rate / 4, "drop_rate": rate, "add_rate": rate,
         "refusal_rate": 0, "invalid_rate": 0, "seed": seed}
    )  # fmt: skip
    picture = with_truth(png, truth)
    reading = reader.read(picture)
    assert reading.status == "ok"
    assert check_record(reading.record) == []
    assert reader.read(picture) == reading


def test_one_label_is_misread_at_its_rate(png: Path) -> None:
    # 2,000 images: standard errors .009 (error), .007 (unknown) at most; four of them allowed.
    reader = SimulatedReader(
        {"preset": "noiseless",
         "dimensions": {"age_range": {"error_rate": 0.2, "unknown_rate": 0.1}}}
    )  # fmt: skip
    with_truth(png, person(age_range="older_adult", skin_tone="dark"))
    said = answers(reader, png, "age_range")
    # Unknown first, then errors among the rest: .1, .9 * .2 = .18, .72; one likely confusion.
    assert set(said) == {"unknown", "middle_aged", "older_adult"}
    assert said["unknown"] / 2000 == pytest.approx(0.10, abs=0.028)
    assert said["middle_aged"] / 2000 == pytest.approx(0.18, abs=0.036)
    assert answers(reader, png, "skin_tone", 50) == {"dark": 50}


def test_lists_lose_and_gain_labels_at_their_rates(png: Path) -> None:
    rates = {"drop_rate": 0.3, "add_rate": 0.2}
    reader = SimulatedReader({"preset": "noiseless", "dimensions": {"clothing_color": rates}})
    with_truth(png, person(clothing_color=["navy", "white"]))
    said = answers(reader, png, "clothing_color")
    assert said["navy"] / 2000 == pytest.approx(0.7, abs=0.042)
    assert said["white"] / 2000 == pytest.approx(0.7, abs=0.042)
    added = sum(said.values()) - said["navy"] - said["white"]
    assert added / 2000 == pytest.approx(0.2, abs=0.036)
    assert set(said) == set(DIMENSIONS["clothing_color"].vocabulary)


def test_refusals_and_invalid_answers_come_at_their_rates(png: Path) -> None:
    reader = SimulatedReader({"refusal_rate": 0.1, "invalid_rate": 0.2})
    with_truth(png, person())
    readings = [reader.read(Picture(image_id=f"i{n}", path=png)) for n in range(2000)]
    status = Counter(reading.status for reading in readings)
    assert status["refused"] / 2000 == pytest.approx(0.1, abs=0.028)
    assert status["invalid"] / 2000 == pytest.approx(0.9 * 0.2, abs=0.036)
    for reading in readings:
        assert (reading.record is None) == (reading.status != "ok")
        assert (reading.reason is None) == (reading.status == "ok")
        if reading.status == "invalid":
            assert check_record(reading.raw["answer"]) == [reading.reason]


def test_presence_wins_over_its_details(png: Path) -> None:
    always = {"error_rate": 1.0}
    truth = person(
        eyewear_present="yes", eyewear_type="eyeglasses", facial_hair_present="yes",
        facial_hair_style="beard", facial_hair_color="grey", hair_present="yes",
        hair_style="short", hair_color="grey",
    )  # fmt: skip
    presence = ("eyewear_present", "facial_hair_present", "hair_present")
    reader = SimulatedReader({"preset": "noiseless", "dimensions": dict.fromkeys(presence, always)})
    record = reader.read(with_truth(png, truth)).record
    assert record is not None
    (said,) = record["people"]
    assert (said["eyewear_present"], said["eyewear_type"]) == ("no", "none")
    assert (said["facial_hair_style"], said["facial_hair_color"]) == ("none", UNKNOWN)
    assert (said["hair_style"], said["hair_color"]) == (UNKNOWN, UNKNOWN)


def test_what_is_unknown_in_the_truth_stays_unknown(png: Path) -> None:
    reader = SimulatedReader({"error_rate": 1.0, "add_rate": 1.0, "refusal_rate": 0})
    record = reader.read(with_truth(png, person())).record
    assert record == person()


def test_other_seeds_err_elsewhere(png: Path) -> None:
    picture = with_truth(png, person(pose="standing", expression="smiling", skin_tone="light"))
    said = {
        content_hash(SimulatedReader({"error_rate": 0.5, "seed": seed}).read(picture).record)
        for seed in range(20)
    }
    assert len(said) > 3


def test_pictures_without_truth_or_pixels(png: Path) -> None:
    picture = Picture(image_id="i", path=png)
    reading = NOISELESS.read(picture)
    assert reading.status == "error"
    assert "no picture.truth.json beside the picture" in str(reading.reason)
    png.with_suffix(".truth.json").write_text("{")
    assert "picture.truth.json cannot be read" in str(NOISELESS.read(picture).reason)
    png.with_suffix(".truth.json").write_text("{}")
    assert "picture.truth.json is no record: record lacks camera" in str(
        NOISELESS.read(picture).reason
    )
    with_truth(png, person())
    png.write_bytes(png.read_bytes()[:-20])
    assert NOISELESS.read(picture).status == "corrupt"
    gone = NOISELESS.read(Picture(image_id="i", path=png.with_name("none.png")))
    # It may be there another time; corrupt would be final.
    assert (gone.status, gone.reason) == ("error", "cannot be opened: No such file or directory")


def test_settings_and_readable() -> None:
    assert NOISELESS.readable() == dict.fromkeys(DIMENSIONS)
    noiseless = NOISELESS.settings()
    assert set(noiseless["rates"]) == set(DIMENSIONS)
    assert all(rate == 0 for rates in noiseless["rates"].values() for rate in rates.values())
    typical = SimulatedReader({}).settings()
    assert typical["rates"]["facial_hair_style"] == {"error_rate": 0.14, "unknown_rate": 0.02}
    assert typical["rates"]["items"]["drop_rate"] == 0.1
    assert SimulatedReader({"refusal_rate": 0.0}).settings() != typical
    # A global rate replaces the preset's, a dimension's own replaces both.
    mixed = SimulatedReader(
        {"error_rate": 0.5, "dimensions": {"pose": {"error_rate": 0.0}}}
    ).settings()["rates"]
    assert (mixed["mood"]["error_rate"], mixed["pose"]["error_rate"]) == (0.5, 0.0)
    assert mixed["pose"]["unknown_rate"] == typical["rates"]["pose"]["unknown_rate"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"error_rat": 0.1}, "did you mean 'error_rate'"),
        ({"error_rate": 2}, "error_rate = 2"),
        ({"preset": "perfect"}, "preset = 'perfect'"),
        ({"dimensions": {"posee": {"error_rate": 0.1}}}, "did you mean 'pose'"),
        ({"dimensions": {"pose": {"drop_rate": 0.1}}}, "drop_rate"),
        ({"dimensions": {"items": {"error_rate": 0.1}}}, "error_rate"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SimulatedReader(options)
