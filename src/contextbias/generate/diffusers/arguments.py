"""Further arguments of a pipeline's call: which are set elsewhere, and which need what."""

from __future__ import annotations

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


def is_positive(value: Any) -> bool:
    """Whether it is a number above 0."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def are_numbers(values: Any) -> bool:
    """Whether it is a list of numbers with something in it."""
    return (
        isinstance(values, list)
        and bool(values)
        and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    )
