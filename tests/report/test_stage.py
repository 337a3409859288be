from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from tests import rows
from tests.report.made_study import frame_of

from contextbias.errors import StudyError
from contextbias.ids import image_seed
from contextbias.report import RunFacts, inputs_of, render
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


LISTED = CONFIG.replace("[[generators]]", '[bench]\nbank = "mine.json"\n\n[[generators]]', 1)
FACT = {"reader": "r", "dimension": "mood", "label": "calm"}
NUMBER = {"estimand": "images", "reader": "r", "generator": "g", "preset": "paper"}


def facts_of(folder: Path, config: str, seeds: list[tuple[str, int]], bank: str) -> RunFacts:
    """What the page states of a study with these prompts and seeds."""
    with Study.create(folder / "study", config) as study:
        names = sorted({name for name, _ in seeds})
        study.append_prompts([rows.prompt(name, text=name, bank=bank) for name in names])
        study.append_generators([rows.generator("g", "f1")])
        images = [
            rows.image(f"i{k}", prompt_id=name, generator_fingerprint="f1", seed=seed)
            for k, (name, seed) in enumerate(seeds)
        ]
        study.append_images(images)
        attributes = [FACT | {"image_id": image.image_id} for image in images]
        study.write_attributes(frame_of(AttributeRow, attributes), "a")
        study.write_estimates(frame_of(EstimateRow, [NUMBER]), "e")
        return inputs_of(study, []).facts


def test_a_prompt_list_is_called_one_and_its_seeds_are_named(tmp_path: Path) -> None:
    seeds = [("p1", 11), ("p1", 12), ("p2", 11)]

    facts = facts_of(tmp_path, LISTED, seeds, "mine 12ab34cd")

    assert facts.listed
    assert facts.bank == "prompt list: mine 12ab34cd; contexts as listed"
    assert facts.seeds == "1 to 2 images a prompt; seeds of the list: g 11, 12"


def test_seeds_that_the_list_does_not_give_are_the_studys(tmp_path: Path) -> None:
    derived = image_seed(1, "nurse", 0)  # the study seed is 1 by default

    facts = facts_of(tmp_path, LISTED, [("p1", 11), ("p2", derived)], "mine 12ab34cd")

    assert facts.seeds == (
        "1 image a prompt; seeds of the list: g 11; where the list gives none, the same in "
        "every condition and generator"
    )


def test_many_seeds_of_a_list_are_counted(tmp_path: Path) -> None:
    seeds = [("p1", seed) for seed in range(100, 120)]

    facts = facts_of(tmp_path, LISTED, seeds, "mine 12ab34cd")

    assert facts.seeds.endswith("g 20 different ones between 100 and 119")


@pytest.mark.parametrize(
    ("bank", "stated"),
    [("contextbench", "bank contextbench 1; "), ("mine.toml", "bank mine 1-ab12 (mine.toml); ")],
)
def test_a_bank_is_named_with_its_version(tmp_path: Path, bank: str, stated: str) -> None:
    config = LISTED.replace("mine.json", bank)
    label = stated.split(" (")[0].removeprefix("bank ").removesuffix("; ")

    facts = facts_of(tmp_path, config, [("p1", 5)], label)

    assert facts.bank.startswith(stated)
    assert not facts.listed
