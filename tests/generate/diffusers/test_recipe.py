"""Options become arguments with an effect, or an error that says what to do."""

from __future__ import annotations

from typing import Any

import pytest

from contextbias.errors import ConfigError
from contextbias.generate.diffusers import DiffusersGenerator
from contextbias.generate.diffusers.options import NEGATIVE_PROMPT, DiffusersOptions
from contextbias.generate.diffusers.profiles import profile_for, profiles
from contextbias.generate.diffusers.recipe import Recipe, recipe
from contextbias.ids import content_hash


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


def _skipping(layers: list[int], **further: float) -> dict[str, Any]:
    """Options that skip layers of SD 3.5 in some of the steps."""
    given = {f"skip_layer_guidance_{name}": value for name, value in further.items()}
    return {"arguments": {"skip_guidance_layers": layers, **given}}


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
        ("sdxl", {"size": 0}, "size = 0.*take 8"),
        ("sdxl", {"guidance": 0}, "guidance = 0 would do the same as 1"),
        ("sdxl", {"guidance": 0.5}, "guidance = 0.5 would do the same as 1"),
        ("sd3.5-large", {"guidance": 0.5}, "guidance = 0.5 would do the same as 1"),
        ("sd3.5-large-turbo", {"guidance": 1}, "guidance = 1 would do the same as 0"),
        ("qwen-image", {"guidance": 0.5}, "guidance = 0.5 would do the same as 1"),
        ("flux-dev", {"true_cfg_scale": 0.5}, "true_cfg_scale = 0.5 would do the same as 1"),
        ("flux-dev", {"true_cfg_scale": 0}, "true_cfg_scale = 0 would do the same as 1"),
        ("sdxl", {"arguments": {"eta": 0.9}}, "eta.*no effect"),
        ("sdxl", {"arguments": {"denoising_end": 0.0}}, "denoising_end.*second model"),
        ("sd3.5-large", {"arguments": {"mu": 0.9}}, "mu.*no effect"),
        ("sdxl", {"arguments": {"guidance_rescale": 0.7}, "guidance": 1}, "no effect without cl"),
        ("sdxl", {"arguments": {"guidance_rescale": 0}}, "guidance_rescale = 0 has no effect"),
        ("sdxl", {"arguments": {"guidance_rescale": "x"}}, "guidance_rescale = 'x' has no effect"),
        ("sdxl", {"arguments": {"negative_target_size": [8, 8]}}, "without arguments.negative_or"),
        (
            "sd3.5-large",
            {"arguments": {"skip_layer_guidance_scale": 2.8}},
            "without arguments.skip_guidance_layers",
        ),
        (
            "sd3.5-large",
            {"arguments": {"skip_guidance_layers": [1]}, "guidance": 1},
            "without classifier-free guidance",
        ),
        ("sdxl", {"arguments": {"clip_skip": 0}}, "clip_skip = 0 has no effect.*1 or more"),
        ("sd3.5-large", {"arguments": {"clip_skip": 0}}, "clip_skip = 0 has no effect"),
        ("sd3.5-large", _skipping([]), r"skip_guidance_layers = \[\] has no effect"),
        ("sd3.5-large", _skipping([7, 38]), "numbered from 0 to 37"),
        ("sd3.5-medium", _skipping([-1]), "numbered from 0 to 23"),
        ("sd3.5-large", _skipping([7], scale=0), "skip_layer_guidance_scale = 0 has no effect"),
        ("sd3.5-large", _skipping([7], start=0.5, stop=0.4), "none of the 28 steps"),
        ("sd3.5-large-turbo", {**_skipping([7]), "guidance": 2}, "none of the 4 steps is between"),
        ("sdxl", {"arguments": {"sigmas": [1.0, 0.5]}, "steps": 7}, "steps = 7 has no effect"),
        ("sdxl", {"arguments": {"timesteps": [9, 5]}, "steps": 2}, "steps = 2 has no effect"),
        ("sdxl", {"arguments": {"sigmas": [1.0], "timesteps": [9]}}, "exclude each other"),
        ("sdxl", {"arguments": {"sigmas": "x"}}, "sigmas = 'x' is no list of numbers"),
        ("sdxl", {"batching": "strict", "batch": 8}, "batch = 8 has no effect"),
        ("sdxl", {"device": "cpu", "offload": "model"}, 'offload = "model" has no effect'),
        ("sdxl", {"device": "cpu", "quantization": "bnb-8bit"}, "needs a GPU"),
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


def test_a_schedule_is_the_steps() -> None:
    made = of("sdxl", arguments={"sigmas": [14.6, 3.0, 0.5]})
    assert made.call["num_inference_steps"] == 3


_OTHER: dict[str, Any] = {
    "revision": "of June",
    "size": 512,
    "steps": 7,
    "guidance": 1.5,
    "true_cfg_scale": 2.5,
    "negative_prompt": "blurry",
    "style": "an oil painting",
    "max_sequence_length": 64,
    "dtype": "float32",
    "quantization": "fp8",
    "compile": True,
    "watermark": True,
    "arguments": {"sigmas": [1.0, 0.5]},
    "batching": "mixed",
    "batch": 2,
    "offload": "model",
    "device": "cpu",
    "overlong": "truncate",
}
"""Every option but `model` and `profile` -> another value than the one that is left out."""

_NOWHERE = {"batch", "offload", "device", "overlong"}
"""Options that decide where and how fast."""


@pytest.mark.parametrize("option", sorted(_OTHER))
@pytest.mark.parametrize("profile", [*profiles()])
def test_every_option_makes_another_generator_or_is_refused(profile: str, option: str) -> None:
    """A folder that is gone: for the generic profile nothing but the options is known."""
    base = {"model": "/gone/model", "profile": profile}
    plain = DiffusersGenerator(base)
    try:
        other = DiffusersGenerator({**base, option: _OTHER[option]})
    except ConfigError:
        assert profile != "generic" or option == "watermark"
        return
    same = content_hash(other.settings()) == content_hash(plain.settings())
    assert same == (option in _NOWHERE)


def test_that_table_has_every_option() -> None:
    assert set(_OTHER) == set(DiffusersOptions.model_fields) - {"model", "profile"}


def test_two_values_of_guidance_are_two_generators_before_the_pipeline_is_known() -> None:
    base = {"model": "/gone/model", "profile": "generic"}
    found = [DiffusersGenerator({**base, "guidance": g}).settings() for g in (0.3, 1.0, 7.5)]
    assert len({content_hash(each) for each in found}) == 3


@pytest.mark.parametrize(
    "model",
    ["stabilityai/stable-diffusion-xl-base-1.0", "StabilityAI/Stable-Diffusion-XL-base-1.0"],
)
def test_a_name_and_its_repository_are_one_generator(model: str) -> None:
    assert DiffusersGenerator({"model": model}).settings() == settings()
    assert settings()["revision"] == "462165984030d82259a11f4367a4eed129e94a7b"
