from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from tests import rows
from tests.report.made_study import frame_of

from contextbias.errors import StudyError
from contextbias.report import inputs_of, render
from contextbias.store import Study
from contextbias.tables import AttributeRow, EstimateRow

CONFIG = """
[study]
name = "Two nurses"

[[generators]]
name = "g"
backend = "simulated"

[[readers]]
name = "r"
backend = "simulated"
"""


@pytest.fixture
def study(tmp_path: Path) -> Study:
    opened = Study.create(tmp_path / "study", CONFIG)
    opened.append_prompts([rows.prompt("p1"), rows.prompt("p2", text="never drawn")])
    opened.append_generators([rows.generator("g", "f1"), rows.generator("g", "old")])
    images = [
        rows.image("i1", generator_fingerprint="f1"),
        rows.image("older", generator_fingerprint="old"),
    ]
    opened.append_images(images)
    (opened.root / "images").mkdir(exist_ok=True)
    Image.new("RGB", (20, 20)).save(opened.root / "images" / "i1.png")
    return opened


def test_a_study_without_estimates_is_told_what_to_run(study: Study) -> None:
    with study, pytest.raises(StudyError, match="contextbias measure"):
        inputs_of(study, [])


def test_only_measured_images_and_their_settings_are_shown(study: Study) -> None:
    fact = {"image_id": "i1", "reader": "r", "dimension": "mood", "label": "calm"}
    number = {
        "estimand": "prevalence", "reader": "r", "generator": "g", "role": "nurse",
        "condition": "CA-R", "dimension": "mood", "label": "calm", "point": 1.0, "n": 1,
        "preset": "strict",
    }  # fmt: skip
    with study:
        study.write_attributes(frame_of(AttributeRow, [fact]), "a")
        study.write_estimates(frame_of(EstimateRow, [number]), "e")

        inputs = inputs_of(study, [rows.reader("r")])
        page = study.write_report(render(inputs))

    assert [image.image_id for image in inputs.images] == ["i1"]
    assert Path(str(inputs.images[0].path)).is_file()
    assert [prompt.prompt_id for prompt in inputs.prompts] == ["p1"]
    assert [row.fingerprint for row in inputs.facts.generators] == ["f1"]
    assert [row.reader for row in inputs.facts.readers] == ["r"]
    assert inputs.facts.preset == "strict"
    assert page == study.root / "report" / "index.html"
    text = page.read_text("utf-8")
    assert "Two nurses" in text
    assert "Simulated study." in text
    assert "../images/i1.png" in text
    assert (page.parent / "tables" / "associations.csv").is_file()
