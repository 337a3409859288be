"""What is stored with every image about how it was made."""

from __future__ import annotations

import inspect
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from contextbias.engines.accelerator import device_name
from contextbias.generate.diffusers.options import DiffusersOptions
from contextbias.generate.diffusers.recipe import Recipe
from contextbias.ids import canonical_json

_PACKAGES = ("accelerate", "bitsandbytes", "diffusers", "torch", "transformers")


def facts(pipeline: Any, made: Recipe, options: DiffusersOptions, device: str) -> dict[str, Any]:
    """What all images of one loaded pipeline share: effective values, not asked ones."""
    return {
        "pipeline": type(pipeline).__name__,
        "steps": made.call.get("num_inference_steps"),
        "guidance": guidance(made),
        "scheduler": scheduler(pipeline.scheduler) if hasattr(pipeline, "scheduler") else None,
        "dtype": made.dtype,
        "quantization": options.quantization,
        "compiled": options.compile,
        "offload": options.offload,
        "attention": attention(pipeline),
        "watermark": getattr(pipeline, "watermark", None) is not None,
        "device": device_name(device),
        "versions": versions(),
    }


def guidance(made: Recipe) -> dict[str, Any]:
    """The guidance that is in effect, and how."""
    names = {made.profile.guidance_argument, made.profile.cfg_argument} - {None}
    given = {name: made.call[name] for name in sorted(map(str, names)) if name in made.call}
    return {
        **given,
        "classifier_free": made.guided,
        "negative_prompt": made.negative if made.guided else None,
    }


def scheduler(scheduler: Any) -> dict[str, Any]:
    """Its class, and the values that differ from the class's own."""
    defaults = inspect.signature(type(scheduler).__init__).parameters
    own = {
        name: value
        for name, value in scheduler.config.items()
        if name in defaults and _differs(value, defaults[name].default)
    }
    return {"class": type(scheduler).__name__, **own}


def attention(pipeline: Any) -> list[str]:
    """Kinds of attention that the denoiser uses."""
    for name in ("transformer", "unet"):
        processors = getattr(getattr(pipeline, name, None), "attn_processors", None)
        if processors:
            return sorted({type(each).__name__ for each in processors.values()})
    return []


def versions() -> dict[str, str]:
    """Of the libraries that decide pixels, and of CUDA where there is one."""
    import torch

    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return {**found, **({"cuda": torch.version.cuda} if torch.version.cuda else {})}


def _differs(value: Any, default: Any) -> bool:
    try:
        return bool(canonical_json(value) != canonical_json(default))
    except (TypeError, ValueError):
        return False
