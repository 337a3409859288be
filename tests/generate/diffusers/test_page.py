"""docs/diffusers.md: its examples work, and its tables say what the package says."""

from __future__ import annotations

import re

import pytest
from tests.conftest import CHECKOUT

from contextbias.config import parse_config
from contextbias.generate.diffusers import DiffusersGenerator, needs
from contextbias.generate.diffusers.options import DiffusersOptions
from contextbias.generate.diffusers.profiles import GENERIC, profiles
from contextbias.generate.diffusers.recipe import recipe

PAGE = (CHECKOUT / "docs" / "diffusers.md").read_text("utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
NAMED = [profile for name, profile in profiles().items() if name != GENERIC]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_a_study_whose_generators_can_be_built(example: str) -> None:
    config = parse_config(example, where="example")
    assert config.generators
    for section in config.generators:
        generator = DiffusersGenerator(dict(section.options))
        assert generator.settings()["call"] is not None


def row(profile: str, table: int) -> list[str]:
    found = re.findall(rf"^\| `{re.escape(profile)}` \|(.*)\|$", PAGE, re.MULTILINE)
    return [cell.strip() for cell in found[table].split("|")]


@pytest.mark.parametrize("profile", NAMED, ids=lambda p: p.name)
def test_the_table_of_models_says_what_their_profiles_say(profile) -> None:
    _, licence, accept, pixels, steps, guidance, _ = row(profile.name, 0)
    assert licence.replace("\\", "") == profile.licence
    assert accept == ("yes" if profile.gated else "no")
    assert (int(pixels), int(steps)) == (profile.size[0], profile.steps)
    assert guidance == ("none" if profile.guidance_kind == "none" else f"{profile.guidance:g}")
    assert f"]({profile.page})" in PAGE


@pytest.mark.parametrize("profile", NAMED, ids=lambda p: p.name)
def test_the_table_of_memory_and_time_is_what_is_reckoned(profile) -> None:
    def memory(**options: str) -> str:
        given = DiffusersOptions.parse({"model": profile.name, **options}, backend="diffusers")
        return f"{needs.memory(recipe(given, profile), given):.0f}"

    given = DiffusersOptions.parse({"model": profile.name}, backend="diffusers")
    seconds = needs.seconds_each(recipe(given, profile))
    assert row(profile.name, 1) == [
        memory(),
        memory(offload="model"),
        memory(offload="sequential"),
        memory(quantization="fp8"),
        memory(quantization="bnb-4bit"),
        f"{seconds:.1f}",
        f"{seconds * 16_560 / 3600:.0f}",
    ]


def test_every_option_is_on_the_page() -> None:
    options = PAGE[PAGE.index("## Options") :]
    assert [name for name in DiffusersOptions.model_fields if f"`{name}`" not in options] == []
