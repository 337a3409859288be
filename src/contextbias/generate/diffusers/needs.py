"""What a model needs and takes: for `contextbias plan` and `contextbias doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from contextbias.engines.devices import gpus
from contextbias.errors import MissingPart
from contextbias.forecast import Forecast
from contextbias.generate.diffusers.hub import Source, token
from contextbias.generate.diffusers.options import DiffusersOptions
from contextbias.generate.diffusers.profiles import Profile
from contextbias.generate.diffusers.recipe import Recipe

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

Requirement = tuple[str, bool, str, str]
"""What was looked at, whether it will do, what was found, and what to do where it will not."""


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
    profile, size = made.profile, made.size
    if profile.teraflops is None or size is None or profile.size is None:
        return None
    pixels = size[0] * size[1] / (profile.size[0] * profile.size[1])
    steps = int(made.call["num_inference_steps"]) * (2 if made.guided else 1)
    return pixels * (steps * profile.teraflops + profile.decoding) / _RATE


def memory(profile: Profile, options: DiffusersOptions, dtype: str) -> float | None:
    """Gigabytes on the GPU for the weights and one image; None where it is not known."""
    if profile.denoiser is None:
        return None
    whole = _BYTES[dtype]
    small = _BYTES_QUANTIZED.get(options.quantization, whole)
    bits = options.quantization.startswith("bnb")
    parts = [
        profile.denoiser * small,
        *(n * (small if bits and n > _LARGE else whole) for n in profile.encoders),
        profile.vae * whole,
    ]
    weights = {"none": sum(parts), "model": max(parts), "sequential": _SEQUENTIAL}
    return weights[options.offload] + profile.activations


def installed(options: DiffusersOptions) -> None:
    """Raise MissingPart where a package is not installed that the options need."""
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise MissingPart(
                f"the generator backend 'diffusers' needs {package}, which is not installed",
                "pip install 'contextbias[diffusers]'",
            )
    if options.quantization.startswith("bnb") and find_spec("bitsandbytes") is None:
        raise MissingPart(
            f'quantization = "{options.quantization}" needs the package bitsandbytes, which is not'
            " installed",
            'take quantization = "fp8", or run `pip install bitsandbytes`',
        )
    if options.watermark and find_spec("imwatermark") is None:
        raise MissingPart(
            "watermark = true needs the package invisible-watermark, which is not installed",
            "run `pip install invisible-watermark`, or leave the option out",
        )


def notes(options: DiffusersOptions, made: Recipe, source: Source) -> Iterator[str]:
    """What should be known before any spend."""
    profile = made.profile
    if not source.local:
        yield from _licence(profile, source)
    if not source.pinned:
        yield (
            f"revision {source.revision!r} of {source.location} is not pinned: it may change while"
            " the study runs; write the commit that the first images name"
        )
    if options.negative_prompt is None and made.negative is None and profile.cfg_argument:
        yield f"no negative prompt: it would have no effect with {profile.title} as it is set"
    if made.guided and profile.guidance_kind == "embedded":
        yield "a negative prompt doubles the time of an image"
    if options.quantization != "none":
        yield f"quantised ({options.quantization}): not the generator that its makers published"
    yield from _fits(options, made)


def requirements(options: DiffusersOptions, made: Recipe, source: Source) -> Iterator[Requirement]:
    """What has to be there, for the doctor."""
    for package in _PACKAGES:
        found = _version(package)
        fix = "" if found else "pip install 'contextbias[diffusers]'"
        yield package, found is not None, found or "missing", fix
    if options.quantization.startswith("bnb"):
        found = _version("bitsandbytes")
        yield "bitsandbytes", found is not None, found or "missing", "pip install bitsandbytes"
    if options.watermark:
        found = _version("invisible-watermark")
        fix = "pip install invisible-watermark"
        yield "invisible-watermark", found is not None, found or "missing", fix
    yield from _weights(source, made.profile)
    here = gpus()
    names = ", ".join(f"{gpu.name} ({gpu.memory})" for gpu in here)
    fix = "" if here else "run it on a machine with one: without, full-size models take very long"
    yield "GPU", bool(here), names or "none that nvidia-smi lists", fix
    needed = memory(made.profile, options, made.dtype)
    if needed is not None and here:
        most = max(_gigabytes(gpu.memory) for gpu in here)
        fix = "" if needed <= most else 'take offload = "model", or a quantization'
        yield "GPU memory", needed <= most, f"{needed:.0f} GB expected, {most:.0f} GB there", fix


def _weights(source: Source, profile: Profile) -> Iterator[Requirement]:
    try:
        there = source.in_cache()
    except ImportError:
        return
    state = "on this machine" if there else "not on this machine"
    fix = "the folder holds no pipeline" if source.local else "fetched when the first image is made"
    yield f"weights {source.location}", there, state, "" if there else fix
    if source.local:
        return
    if profile.gated:
        has_token = token() is not None
        fix = f"accept the licence at {source.page} and set HF_TOKEN"
        found = "an access token is set" if has_token else "gated, and no access token is set"
        yield "access", there or has_token, found, "" if there or has_token else fix
    found = source.revision if source.pinned else f"{source.revision!r} may change"
    yield "revision", source.pinned, found, "" if source.pinned else "write a commit"


def _licence(profile: Profile, source: Source) -> Iterator[str]:
    if not profile.licence:
        yield f"licence: see {source.page}"
        return
    yield f"licence: {profile.licence} ({source.page})"
    if not profile.gated:
        return
    try:
        lacking = token() is None and not source.in_cache()
    except ImportError:
        lacking = True
    if lacking:
        yield f"gated: accept the licence at {source.page}, and set HF_TOKEN: none is set"


def _fits(options: DiffusersOptions, made: Recipe) -> Iterator[str]:
    needed = memory(made.profile, options, made.dtype)
    if needed is None:
        return
    here = gpus()
    most = max((_gigabytes(gpu.memory) for gpu in here), default=None)
    told = f"about {needed:.0f} GB of GPU memory expected"
    if most is None:
        yield f"{told}; no GPU is seen here"
    elif needed > most:
        yield f'{told}, {most:.0f} GB there: take offload = "model", or a quantization'
    else:
        yield f"{told}, {most:.0f} GB there"


def _gigabytes(told: str) -> float:
    """``143771 MiB`` -> 150.8; what cannot be read is 0."""
    number, _, unit = told.partition(" ")
    try:
        return float(number) * {"MiB": 2**20, "GiB": 2**30}.get(unit, 0) / 1e9
    except ValueError:
        return 0.0


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
