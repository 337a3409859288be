"""The simulated generator honours prompts that name a label, as often as it complies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contextbias.bench import build_prompts, load_bank
from contextbias.bench.explicit import Explicit, explicit_prompts, frames_of
from contextbias.errors import ConfigError
from contextbias.generate.planted import PlantedModel, draw_record
from contextbias.generate.protocol import Job
from contextbias.generate.simulated import SimulatedGenerator
from contextbias.schema import DIMENSIONS, check_record
from contextbias.schema.wording import Named, _table, verifiable

MODEL = PlantedModel(name="context-immune", sensitivity=0.0)
ROLES = ["nurse", "welder"]
PROMPTS = build_prompts(load_bank("contextbench"), ROLES)


def every_prompt() -> list[Explicit]:
    shares = {
        (role, name): list(
            _table()["one"].get(name) or _table()["many"][name].get("words") or ["apron", "scrubs"]
        )
        for role in ROLES
        for name in verifiable()
    }
    return explicit_prompts(shares, frames_of(PROMPTS), 9999, can_tell=lambda *_: True)


def answer(record: dict[str, object], named: Named) -> object:
    cohort = DIMENSIONS[named.dimension].cohort
    home = record["people"][0] if cohort == "people" else record[cohort]  # type: ignore[index]
    return home[named.dimension]  # type: ignore[index]


def is_shown(record: dict[str, object], named: Named) -> bool:
    said = answer(record, named)
    return (named.label in said) == named.present if isinstance(said, list) else said == named.label


def test_every_named_label_can_be_shown_in_a_valid_record() -> None:
    prompts = every_prompt()
    assert len(prompts) > 300
    for number, each in enumerate(prompts):
        drawn = draw_record(
            MODEL, role=each.role, condition=each.condition, location=each.location,
            prompt_id=each.text, seed=number, named=each.named, compliance=1.0,
        )  # fmt: skip
        assert check_record(drawn.record) == [], each.text
        assert is_shown(drawn.record, each.named), each.text


def share(named: Named, compliance: float, role: str = "nurse") -> float:
    shown = [
        is_shown(
            draw_record(
                MODEL, role=role, condition="CF", location=None, prompt_id="p", seed=seed,
                named=named, compliance=compliance,
            ).record,
            named,
        )
        for seed in range(600)
    ]  # fmt: skip
    return sum(shown) / len(shown)


def test_the_rest_is_drawn_as_if_nothing_was_named() -> None:
    # c + (1 - c) p, with p the share of the role's pictures that show it anyway.
    named = Named("gender_presentation", "male")
    p = share(named, 0.0)
    assert p < 0.2
    assert share(named, 0.7) == pytest.approx(0.7 + 0.3 * p, abs=0.05)
    assert share(named, 1.0) == 1.0


def test_what_depends_on_a_presentation_is_drawn_after_it() -> None:
    named = Named("gender_presentation", "male")
    styles = {
        draw_record(
            MODEL, role="nurse", condition="CF", location=None, prompt_id="p", seed=seed,
            named=named,
        ).record["people"][0]["facial_hair_style"]
        for seed in range(80)
    }  # fmt: skip
    assert len(styles) > 2  # women of the tables have none


def job(text: str) -> Job:
    return Job(
        image_id="i", role="nurse", condition="CF", text=text, location=None, activity=None,
        prompt_id=text, seed=4,
    )  # fmt: skip


def test_the_generator_reads_its_prompt() -> None:
    generator = SimulatedGenerator({"size": 64, "compliance": 1})
    (made,) = generator.generate([job("a photo of a nurse wearing sunglasses")])
    assert made.truth is not None
    person = made.truth["people"][0]
    assert (person["eyewear_type"], person["eyewear_present"]) == ("sunglasses", "yes")
    (other,) = generator.generate([job("a photo of a bald nurse")])
    assert other.truth is not None
    assert other.truth["people"][0]["hair_color"] == "unknown"


def test_the_usual_compliance_leaves_the_ids_of_earlier_images() -> None:
    plain = SimulatedGenerator({}).settings()
    assert "compliance" not in plain
    assert SimulatedGenerator({"compliance": 0.9}).settings() == plain
    assert SimulatedGenerator({"compliance": 0.5}).settings()["compliance"] == 0.5
    with pytest.raises(ConfigError, match="compliance"):
        SimulatedGenerator({"compliance": 1.5})


def test_what_is_planted_leaves_named_prompts_out() -> None:
    generator = SimulatedGenerator({})
    named = replace(PROMPTS[0], text="a photo of a male nurse", prompt_id="x")
    assert generator.planted([*PROMPTS, named]).equals(generator.planted(PROMPTS))
    assert generator.planted([named]).is_empty()
