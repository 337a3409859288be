"""What is known of each model agrees with the library, and is complete."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path

import diffusers
import pytest

from contextbias.errors import ConfigError
from contextbias.generate.diffusers.arguments import SKIPPED
from contextbias.generate.diffusers.profiles import GENERIC, of_signature, profile_for, profiles

NAMED = [profile for profile in profiles().values() if profile.name != GENERIC]


@pytest.mark.parametrize("profile", NAMED, ids=lambda p: p.name)
def test_its_arguments_are_those_of_the_pipeline(profile) -> None:
    parameters = inspect.signature(getattr(diffusers, profile.pipeline).__call__).parameters
    own = {profile.guidance_argument, profile.cfg_argument, *profile.arguments}
    assert own <= set(parameters)
    assert ("max_sequence_length" in parameters) == (profile.max_sequence_length is not None)


def test_layers_are_skipped_in_the_steps_that_the_library_says() -> None:
    parameters = inspect.signature(diffusers.StableDiffusion3Pipeline.__call__).parameters
    assert {name: parameters[name].default for name in SKIPPED} == SKIPPED


@pytest.mark.parametrize("profile", NAMED, ids=lambda p: p.name)
def test_it_is_pinned_and_says_on_which_conditions_it_can_be_had(profile) -> None:
    assert len(profile.revision) == 40
    assert set(profile.revision) <= set("0123456789abcdef")
    assert profile.licence
    assert profile.page == f"https://huggingface.co/{profile.repository}"
    assert profile.parameters > 1
    assert all(side % profile.multiple == 0 for side in profile.size)


def test_the_four_models_of_the_paper_and_their_variants_are_known() -> None:
    assert [p.name for p in NAMED] == [
        "sdxl",
        "sd3.5-medium",
        "sd3.5-large",
        "sd3.5-large-turbo",
        "flux-dev",
        "flux-schnell",
        "qwen-image",
    ]
    assert [p.name for p in NAMED if p.gated] == [
        "sd3.5-medium",
        "sd3.5-large",
        "sd3.5-large-turbo",
        "flux-dev",
        "flux-schnell",
    ]


def test_a_model_is_found_by_name_by_repository_and_by_its_folder(tmp_path: Path) -> None:
    assert profile_for("flux-dev", None).title == "FLUX.1 [dev]"
    assert profile_for("qwen/qwen-image", None).name == "qwen-image"
    assert profile_for("someone/something", None).name == GENERIC
    assert profile_for("someone/something", "sdxl").name == "sdxl"
    (tmp_path / "model_index.json").write_text(json.dumps({"_class_name": "FluxPipeline"}))
    assert profile_for(str(tmp_path), None).name == "flux-dev"
    (tmp_path / "model_index.json").write_text(json.dumps({"_class_name": "AnyPipeline"}))
    assert profile_for(str(tmp_path), None).name == GENERIC


def test_a_folder_is_told_from_its_relatives_by_its_transformer(folder, tmp_path: Path) -> None:
    assert profile_for(str(folder("schnell")), None).name == "flux-schnell"
    assert profile_for(str(folder("flux")), None).name == "flux-dev"
    index = {"_class_name": "StableDiffusion3Pipeline"}
    (tmp_path / "model_index.json").write_text(json.dumps(index))
    assert profile_for(str(tmp_path), None).name == "sd3.5-medium"
    (tmp_path / "transformer").mkdir()
    config = tmp_path / "transformer" / "config.json"
    config.write_text(json.dumps({"num_layers": 38}))
    assert profile_for(str(tmp_path), None).name == "sd3.5-large"
    for broken in ("[1", "[1]"):
        config.write_text(broken)
        assert profile_for(str(tmp_path), None).name == "sd3.5-medium"


@pytest.mark.parametrize(
    ("model", "named", "told"),
    [
        ("sdlx", None, r"no model 'sdlx'. Did you mean 'sdxl'"),
        ("zzz", None, r"no model 'zzz'. Known: sdxl, .*owner/name, or a folder"),
        ("sdxl", "flux", r"no profile 'flux'"),
        ("sdxl", "flux-dev", r"profile = 'flux-dev' beside model = 'sdxl'.*of its own"),
        ("sdxl", "generic", r"profile = 'generic' beside model = 'sdxl'"),
        ("a/b/c", None, "is no folder of this machine"),
        ("generic", None, "names no model"),
        ("/nowhere/at-all", None, "is no folder of this machine.*add the option `profile`"),
        (".", None, "has no model_index.json"),
    ],
)
def test_a_wrong_name_is_told_what_there_is(model: str, named: str | None, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        profile_for(model, named)


def test_a_folder_that_has_gone_still_has_settings_where_its_profile_is_named() -> None:
    assert profile_for("/nowhere/at-all", "sdxl").name == "sdxl"


def test_a_broken_table_of_contents_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "model_index.json").write_text("{")
    with pytest.raises(ConfigError, match="cannot be read"):
        profile_for(str(tmp_path), None)


def test_a_signature_tells_which_argument_carries_the_guidance() -> None:
    generic = profiles()[GENERIC]

    def plain(prompt, guidance_scale=7.5, negative_prompt=None, num_inference_steps=50): ...
    def distilled(
        prompt, guidance_scale=3.5, true_cfg_scale=1.0, negative_prompt=None, generator=None
    ): ...
    def bare(prompt, **kwargs): ...

    found = of_signature(generic, inspect.signature(plain).parameters)
    assert (found.guidance_argument, found.guidance_kind, found.cfg) == (
        "guidance_scale",
        "cfg",
        7.5,
    )
    found = of_signature(generic, inspect.signature(distilled).parameters)
    assert (found.guidance_kind, found.cfg_argument, found.cfg) == (
        "embedded",
        "true_cfg_scale",
        1.0,
    )
    assert found.cfg_needs_negative
    found = of_signature(generic, inspect.signature(bare).parameters)
    assert (found.guidance_argument, found.cfg_argument) == (None, None)
    assert found.arguments == ("prompt",)


def test_the_module_loads_without_torch() -> None:
    import subprocess

    code = """
import sys
from contextbias.registry import load_generator
generator = load_generator("diffusers", {"model": "sdxl"})
generator.settings(); generator.batch_size; generator.together
heavy = {"torch", "diffusers", "transformers"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True)
