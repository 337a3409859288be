"""What a model needs and takes: for `contextbias plan` and `contextbias doctor`."""

from __future__ import annotations

from collections.abc import Iterator

from contextbias.engines import machine
from contextbias.errors import pip_install
from contextbias.forecast import Forecast, Requirement
from contextbias.generate.diffusers.hub import PipelineSource
from contextbias.generate.diffusers.options import DiffusersOptions
from contextbias.generate.diffusers.profiles import Profile
from contextbias.generate.diffusers.recipe import Recipe
from contextbias.weights.hub import has_token

_RATE = 150.0
"""Teraflops a second that plans reckon with: about half of what an A100 can do at most in 16
bits."""

_BYTES_A_PIXEL = 1.6
"""Of a photograph as PNG."""

_BYTES = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0}
_BYTES_QUANTIZED = {"fp8": 1.0, "bnb-8bit": 1.05, "bnb-4bit": 0.55}
_LARGE = 1.0
"""Thousand million parameters from which bitsandbytes quantises a text encoder too."""

_SEQUENTIAL = 2.0
"""Gigabytes for the layers at work, where one is brought in after the other."""

_PACKAGES = ("torch", "diffusers", "transformers", "accelerate")
_EXTRA = "contextbias[diffusers]"
_LESS = 'take offload = "model", or a quantization'


def forecast(made: Recipe, images: int, notes: tuple[str, ...]) -> Forecast:
    """What `images` take, reckoned from the operations of the architecture."""
    seconds = seconds_each(made)
    size = made.size
    all_of_it = None if seconds is None else seconds * images
    return Forecast(
        seconds=all_of_it,
        accelerator_seconds=all_of_it,
        size=None if size is None else round(_BYTES_A_PIXEL * size[0] * size[1]) * images,
        pixels=size,
        basis=f"reckoned at {_RATE:.0f} teraflops a second, half of an A100's most; not measured",
        notes=notes,
    )


def seconds_each(made: Recipe) -> float | None:
    """Seconds an image on a GPU of `_RATE`; None where the model's operations are not known.

    steps x passes x operations of a pass, and the decoding, all scaled by the pixels.
    """
    profile, scale = made.profile, made.scale
    if profile.teraflops is None or scale is None:
        return None
    steps = int(made.call["num_inference_steps"]) * (2 if made.guided else 1)
    return scale * (steps * profile.teraflops + profile.decoding) / _RATE


def memory(made: Recipe, options: DiffusersOptions) -> float | None:
    """Gigabytes on the GPU for the weights and one image; None where it is not known."""
    profile = made.profile
    if profile.denoiser is None:
        return None
    whole = _BYTES[made.dtype]
    small = _BYTES_QUANTIZED.get(options.quantization, whole)
    bits = options.quantization.startswith("bnb")
    parts = [
        profile.denoiser * small,
        *(n * (small if bits and n > _LARGE else whole) for n in profile.encoders),
        profile.vae * whole,
    ]
    weights = {"none": sum(parts), "model": max(parts), "sequential": _SEQUENTIAL}
    return weights[options.offload] + made.activations


def installed(options: DiffusersOptions) -> None:
    """Raise MissingPart where a package is not installed that the options need."""
    machine.require(_PACKAGES, "the generator backend 'diffusers'", pip_install(_EXTRA))
    if options.quantization.startswith("bnb"):
        machine.require(
            ["bitsandbytes"],
            f'quantization = "{options.quantization}"',
            f'take quantization = "fp8", or run `{pip_install("bitsandbytes")}`',
        )
    if options.watermark:
        machine.require(
            ["imwatermark"],
            "watermark = true",
            f"run `{pip_install('invisible-watermark')}`, or leave the option out",
        )


def notes(options: DiffusersOptions, made: Recipe, source: PipelineSource) -> Iterator[str]:
    """What should be known before any spend."""
    profile = made.profile
    if not source.is_folder:
        yield from _licence(profile, source)
    yield from source.warnings("images")
    if options.negative_prompt is None and made.negative is None and profile.cfg_argument:
        yield f"no negative prompt: it would have no effect with {profile.title} as it is set"
    if made.guided and profile.guidance_kind == "embedded":
        yield "a negative prompt doubles the time of an image"
    if options.quantization != "none":
        yield f"quantised ({options.quantization}): not the generator that its makers published"
    if machine.is_for_gpu(options.device):
        yield from machine.memory_notes(memory(made, options), _LESS)


def requirements(
    options: DiffusersOptions, made: Recipe, source: PipelineSource
) -> Iterator[Requirement]:
    """What has to be there, for the doctor."""
    for package in _PACKAGES:
        yield machine.package(package, pip_install(_EXTRA))
    if options.quantization.startswith("bnb"):
        yield machine.package("bitsandbytes", pip_install("bitsandbytes"))
    if options.watermark:
        yield machine.package("invisible-watermark", pip_install("invisible-watermark"))
    yield from _weights(source, made.profile)
    if machine.is_for_gpu(options.device):
        yield machine.gpu()
        yield from machine.gpu_memory(memory(made, options), _LESS)


def _weights(source: PipelineSource, profile: Profile) -> Iterator[Requirement]:
    try:
        there = source.is_here()
    except ImportError:
        return  # the packages above say it
    yield machine.weights(source, there, holds="pipeline", first="image is made")
    if source.is_folder:
        return
    if profile.gated:
        found = "an access token is set" if has_token() else "gated, and no access token is set"
        fix = f"accept the licence at {source.page} and set HF_TOKEN"
        yield "access", there or has_token(), found, fix
    yield machine.pin(source)


def _licence(profile: Profile, source: PipelineSource) -> Iterator[str]:
    if not profile.licence:
        yield f"licence: see {source.page}"
        return
    yield f"licence: {profile.licence} ({source.page})"
    if not profile.gated:
        return
    try:
        lacking = not has_token() and not source.is_here()
    except ImportError:
        lacking = True
    if lacking:
        yield f"gated: accept the licence at {source.page}, and set HF_TOKEN: none is set"
