"""Further arguments of a pipeline's call: which are set elsewhere, and which need what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

OWN_OPTION = {
    "prompt": "the study's prompts",
    "negative_prompt": "the option negative_prompt",
    "height": "the option size",
    "width": "the option size",
    "num_inference_steps": "the option steps",
    "guidance_scale": "the option guidance",
    "true_cfg_scale": "the option true_cfg_scale, or guidance",
    "max_sequence_length": "the option max_sequence_length",
    "generator": "the study's seeds",
    "latents": "the study's seeds",
    "num_images_per_prompt": "images_per_prompt of the study",
    "output_type": "the backend",
    "return_dict": "the backend",
    "prompt_embeds": "the backend",
}
"""Arguments of a call that are set elsewhere, and where."""

WITHOUT_EFFECT = {
    "eta": "the model's sampler has none, so it has no effect",
    "mu": "the model's sampler does not shift by it, so it has no effect",
    "denoising_end": "it is for a second model that goes on from there, and there is none",
}
"""Arguments that pipelines with a profile take and do nothing with."""

SCHEDULES = ("sigmas", "timesteps")
"""Arguments that are the denoising steps, one by one."""

OF_CFG = (
    "guidance_rescale", "skip_guidance_layers", "negative_original_size",
    "negative_crops_coords_top_left", "negative_target_size",
)  # fmt: skip
"""Arguments that change the pass with the negative prompt, or what is made of it."""

WITH = {
    "skip_layer_guidance_scale": ("skip_guidance_layers",),
    "skip_layer_guidance_stop": ("skip_guidance_layers",),
    "skip_layer_guidance_start": ("skip_guidance_layers",),
    "negative_original_size": ("negative_target_size",),
    "negative_target_size": ("negative_original_size",),
    "negative_crops_coords_top_left": ("negative_original_size", "negative_target_size"),
}
"""Arguments that the pipeline looks at only where others are given as well."""


SKIPPED = {"skip_layer_guidance_start": 0.01, "skip_layer_guidance_stop": 0.2}
"""Between which shares of the steps layers are skipped, where nothing else is given."""


def idle(
    arguments: Mapping[str, Any], *, steps: int, layers: int | None
) -> Iterator[tuple[str, str]]:
    """Arguments with a value that draws what is drawn without it, and what to write instead.

    Args:
        arguments: Those of study.toml.
        steps: Denoising steps.
        layers: Blocks of the transformer; None: not known.
    """
    if "clip_skip" in arguments and arguments["clip_skip"] == 0:
        yield "clip_skip", "take 1 or more, or leave it out"
    if "guidance_rescale" in arguments and not is_positive(arguments["guidance_rescale"]):
        yield "guidance_rescale", "take a number above 0"
    if "skip_guidance_layers" not in arguments:
        return
    if not _are_layers(arguments["skip_guidance_layers"], layers):
        most = "" if layers is None else f" to {layers - 1}"
        yield "skip_guidance_layers", f"take a list of layers, numbered from 0{most}"
    if arguments.get("skip_layer_guidance_scale", 1) == 0:
        yield "skip_layer_guidance_scale", "take another number than 0"
    start, stop = (arguments.get(name, usual) for name, usual in SKIPPED.items())
    numbers = is_number(start) and is_number(stop)
    if numbers and not any(steps * start < step < steps * stop for step in range(steps)):
        yield (
            "skip_guidance_layers",
            f"none of the {steps} steps is between {start} and {stop} of them: give"
            " arguments.skip_layer_guidance_start and _stop",
        )


def _are_layers(value: Any, count: int | None) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(type(each) is int and each >= 0 and (count is None or each < count)
               for each in value)  # fmt: skip


def is_number(value: Any) -> bool:
    """Whether it is a number; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_positive(value: Any) -> bool:
    """Whether it is a number above 0."""
    return is_number(value) and value > 0


def are_numbers(values: Any) -> bool:
    """Whether it is a list of numbers with something in it."""
    return isinstance(values, list) and bool(values) and all(map(is_number, values))
