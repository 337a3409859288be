"""The simulated generator: pictures with their truth, decided by the seed."""

import subprocess
import sys

import pytest
from tests import rows

from contextbias.errors import ConfigError
from contextbias.generate import drawing
from contextbias.generate.planted_answers import questions
from contextbias.generate.planted_tables import known_roles, table
from contextbias.generate.protocol import Job
from contextbias.generate.simulated import SimulatedGenerator
from contextbias.ids import bytes_sha256, content_hash
from contextbias.schema.codebook import DIMENSIONS
from contextbias.schema.records import check_record


def job(number: int = 0, **fields: object) -> Job:
    defaults = {
        "image_id": f"i{number}", "role": "nurse", "condition": "CA-U", "text": "…",
        "location": "park", "activity": None, "prompt_id": "p", "seed": number,
    }  # fmt: skip
    return Job(**(defaults | fields))  # type: ignore[arg-type]


def test_a_picture_comes_with_its_truth() -> None:
    (made,) = SimulatedGenerator({"size": 96}).generate([job()])
    assert (made.image_id, made.status, made.data) == ("i0", "ok", None)
    assert (made.image.mode, made.image.size) == ("RGB", (96, 96))
    assert check_record(made.truth) == []
    assert made.provenance == {"follows": "role"}


def test_the_seed_alone_decides() -> None:
    jobs = [job(0), job(1, role="judge"), job(2, condition="CF", location=None)]
    generator = SimulatedGenerator({"model": "context-sensitive", "size": 96})
    forward = {m.image_id: (m.image.tobytes(), m.truth) for m in generator.generate(jobs)}
    fresh = SimulatedGenerator({"model": "context-sensitive", "size": 96})
    backward = {m.image_id: (m.image.tobytes(), m.truth) for m in fresh.generate(jobs[::-1])}
    assert forward == backward


def test_another_process_makes_the_same_pixels() -> None:
    script = (
        "from contextbias.generate.protocol import Job\n"
        "from contextbias.generate.simulated import SimulatedGenerator\n"
        "from contextbias.ids import bytes_sha256\n"
        "job = Job(image_id='i', role='baker', condition='CA-U', text='…', location='park',"
        " activity=None, prompt_id='p', seed=11)\n"
        "(made,) = SimulatedGenerator({'size': 96}).generate([job])\n"
        "print(bytes_sha256(made.image.tobytes()))\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    (made,) = SimulatedGenerator({"size": 96}).generate([job(11, role="baker")])
    assert run.stdout.strip() == bytes_sha256(made.image.tobytes())


def test_the_two_models_differ_where_the_place_is_unrelated() -> None:
    def scrubs(model: str, condition: str) -> int:
        generator = SimulatedGenerator({"model": model, "size": 64})
        made = generator.generate([job(n, condition=condition) for n in range(40)])
        return sum("scrubs" in m.truth["people"][0]["clothing_garment"] for m in made)  # type: ignore[index]

    # A nurse of the tables always wears scrubs; an unrelated place leaves 10% of them.
    assert scrubs("context-immune", "CA-U") == 40
    assert scrubs("context-sensitive", "CA-R") == 40
    assert scrubs("context-sensitive", "CA-U") < 15


def test_settings_name_what_decides_the_pixels() -> None:
    plain = SimulatedGenerator({}).settings()
    assert set(plain) == {
        "model", "sensitivity", "related_weight", "rho", "size", "tables", "drawing"
    }  # fmt: skip
    assert plain["sensitivity"] == 0.0
    assert SimulatedGenerator({"model": "context-sensitive"}).settings()["sensitivity"] == 0.9
    assert SimulatedGenerator({"sensitivity": 0.0}).settings() == plain
    others = [{"rho": 0.5}, {"size": 256}, {"sensitivity": 0.2}, {"related_weight": 0.1}]
    hashes = {content_hash(SimulatedGenerator(options).settings()) for options in [{}, *others]}
    assert len(hashes) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sensitivty": 0.5}, "did you mean 'sensitivity'"),
        ({"sensitivity": 1.5}, "sensitivity = 1.5"),
        ({"model": "context-imune"}, "model = 'context-imune'"),
        ({"size": 10}, "size = 10"),
        ({"rho": "much"}, "rho = 'much'"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SimulatedGenerator(options)


def test_planted_frame_has_what_the_pictures_show() -> None:
    generator = SimulatedGenerator({"model": "context-sensitive"})
    frame = generator.planted([rows.prompt("p1", condition="CA-U", location="park")])
    mixed = 0.1 * 0.985 + 0.9 * 0.49
    female = frame.filter(dimension="gender_presentation", label="female")
    assert female["p"].item() == pytest.approx(mixed)


def test_everything_planted_is_drawn() -> None:
    shown = drawing.shows()
    derived = {"eyewear_present", "facial_hair_present", "head_covering_present", "hair_present"}
    backgrounds = [place["drawn"][0].replace("_", " ") for place in table("places").values()]
    asked = [rows.prompt(role=role, condition="CF", location=None) for role in known_roles()]
    asked += [rows.prompt(condition="CA-U", location=location) for location in backgrounds]
    frame = SimulatedGenerator({"sensitivity": 0.5}).planted(asked)
    planted = frame.select("dimension", "label").unique().iter_rows()
    for dimension, label in planted:
        if dimension not in derived and label != "none":
            assert label in shown[dimension], dimension


def test_every_dimension_has_a_truth_or_is_unknown() -> None:
    network = SimulatedGenerator({}).model.network("nurse", "CA-R", "park")
    asked = {question.dimension for question in questions(network)}
    # dominant_colors come from the drawing's background, not from the network.
    assert set(DIMENSIONS) - asked == {
        "aesthetic_qualities", "dominant_colors", "perspective", "activities"
    }  # fmt: skip
