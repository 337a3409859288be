"""Options become arguments with an effect, or an error that says what to do."""

from __future__ import annotations

from typing import Any

import pytest

from contextbias.errors import ConfigError
from contextbias.generate.diffusers import DiffusersGenerator
from contextbias.generate.diffusers.options import NEGATIVE_PROMPT, DiffusersOptions
from contextbias.generate.diffusers.profiles import profile_for
from contextbias.generate.diffusers.recipe import Recipe, recipe


def of(model: str, **options: Any) -> Recipe:
    given = DiffusersOptions.parse({"model": model, **options}, backend="diffusers")
    return recipe(given, profile_for(model, None))


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("sdxl", {"guidance_scale": 5.0, "num_inference_steps": 50}),
        ("sd3.5-medium", {"guidance_scale": 4.5, "num_inference_steps": 40}),
        ("sd3.5-large", {"guidance_scale": 3.5, "num_inference_steps": 28}),
        ("sd3.5-large-turbo", {"guidance_scale": 0.0, "num_inference_steps": 4}),
        ("flux-dev", {"guidance_scale": 3.5, "true_cfg_scale": 1.0, "max_sequence_length": 512}),
        ("flux-schnell", {"guidance_scale": 0.0, "true_cfg_scale": 1.0, "num_inference_steps": 4}),
        ("qwen-image", {"true_cfg_scale": 4.0, "num_inference_steps": 50, "width": 1328}),
    ],
)
def test_each_model_is_called_as_its_makers_do(model: str, expected: dict[str, Any]) -> None:
    call = of(model).call
    assert {name: call[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("model", "options", "negative", "guided"),
    [
        ("sdxl", {}, NEGATIVE_PROMPT, True),
        ("sdxl", {"negative_prompt": ""}, None, True),
        ("sdxl", {"negative_prompt": "blurry"}, "blurry", True),
        ("sdxl", {"guidance": 1.0}, None, False),
        ("sd3.5-large", {}, NEGATIVE_PROMPT, True),
        ("sd3.5-large-turbo", {}, None, False),
        ("flux-dev", {}, None, False),
        ("flux-dev", {"true_cfg_scale": 2.0}, NEGATIVE_PROMPT, True),
        ("flux-schnell", {}, None, False),
        ("qwen-image", {}, NEGATIVE_PROMPT, True),
        ("qwen-image", {"negative_prompt": " "}, " ", True),
        ("qwen-image", {"negative_prompt": ""}, None, False),
        ("qwen-image", {"guidance": 1.0}, None, False),
    ],
)
def test_the_negative_prompt_is_passed_where_it_has_an_effect(
    model: str, options: dict[str, Any], negative: str | None, guided: bool
) -> None:
    made = of(model, **options)
    assert (made.negative, made.guided) == (negative, guided)


def test_what_is_off_is_passed_as_off() -> None:
    assert of("qwen-image", negative_prompt="").call["true_cfg_scale"] == 1.0
    assert of("flux-dev", true_cfg_scale=2.0).call["true_cfg_scale"] == 2.0
    assert of("qwen-image", guidance=6.0).call["true_cfg_scale"] == 6.0


@pytest.mark.parametrize(
    ("model", "options", "told"),
    [
        ("flux-dev", {"negative_prompt": "blurry"}, "no effect while true_cfg_scale is 1"),
        ("flux-dev", {"negative_prompt": "", "true_cfg_scale": 2.0}, "without a negative prompt"),
        ("flux-schnell", {"guidance": 3.0}, "guidance = 3 has no effect"),
        ("flux-schnell", {"max_sequence_length": 512}, "too long.*256 at most"),
        ("sdxl", {"negative_prompt": "blurry", "guidance": 1.0}, "while guidance_scale is 1"),
        ("sd3.5-large-turbo", {"negative_prompt": "x"}, "no effect.*set guidance above 1"),
        ("qwen-image", {"guidance": 4.0, "negative_prompt": ""}, 'negative_prompt = " "'),
        ("qwen-image", {"true_cfg_scale": 4.0}, "write guidance instead"),
        ("sdxl", {"true_cfg_scale": 4.0}, "is FLUX's.*write guidance instead"),
        ("sdxl", {"max_sequence_length": 77}, "no effect"),
        ("qwen-image", {"max_sequence_length": 1025}, "1024 at most"),
        ("sdxl", {"arguments": {"guidance_rescal": 0.7}}, "did you mean 'guidance_rescale'"),
        ("sdxl", {"arguments": {"strength": 0.7}}, "no argument of the pipeline.*known: clip_skip"),
        ("sdxl", {"arguments": {"height": 512}}, "set by the option size"),
        ("sdxl", {"arguments": {"generator": 1}}, "set by the study's seeds"),
        ("sd3.5-large", {"size": 1000}, "no multiple of 16.*take 992"),
        ("flux-dev", {"size": [1024, 60]}, "size = 60.*take 64"),
        ("sdxl", {"size": 4}, "no multiple of 8.*take 8"),
        ("flux-dev", {"watermark": True}, "only SDXL has one"),
        ("sdxl", {"steps": 0}, "steps = 0"),
        ("sdxl", {"guidance": -1}, "guidance = -1"),
        ("sdxl", {"batch": 0}, "batch"),
        ("sdxl", {"dtype": "int4"}, "dtype = 'int4'"),
        ("sdxl", {"negativ_prompt": "x"}, "did you mean 'negative_prompt'"),
        ("sdxl", {"model": ""}, "model = ''"),
    ],
)
def test_what_would_have_no_effect_is_an_error(
    model: str, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigError, match=f"(?i){told}"):
        DiffusersGenerator({"model": model, **options})


def test_the_style_is_appended_once_the_same_for_every_model() -> None:
    assert of("sdxl").prompt("a photo of a nurse.") == "a photo of a nurse, photorealistic"
    assert of("flux-dev").prompt("a photo of a nurse") == "a photo of a nurse, photorealistic"
    assert of("flux-dev", style=" ").prompt("a nurse.") == "a nurse."


def settings(**options: Any) -> dict[str, Any]:
    return DiffusersGenerator({"model": "sdxl", **options}).settings()


@pytest.mark.parametrize(
    "options",
    [
        {"steps": 49},
        {"guidance": 5.5},
        {"negative_prompt": ""},
        {"style": ""},
        {"dtype": "bfloat16"},
        {"size": 768},
        {"quantization": "fp8"},
        {"compile": True},
        {"watermark": True},
        {"revision": "main"},
        {"batching": "strict"},
        {"arguments": {"guidance_rescale": 0.7}},
        {"model": "someone/fine-tuned", "profile": "sdxl"},
    ],
)
def test_what_decides_pixels_makes_another_generator(options: dict[str, Any]) -> None:
    assert settings(**options) != settings()


@pytest.mark.parametrize(
    "options",
    [{"batch": 2}, {"offload": "model"}, {"device": "cpu"}, {"overlong": "truncate"}],
)
def test_what_decides_only_where_and_how_fast_makes_none(options: dict[str, Any]) -> None:
    assert settings(**options) == settings()


def test_a_name_and_its_repository_are_one_generator() -> None:
    same = DiffusersGenerator({"model": "stabilityai/stable-diffusion-xl-base-1.0"}).settings()
    assert same == settings()
    assert settings()["revision"] == "462165984030d82259a11f4367a4eed129e94a7b"
