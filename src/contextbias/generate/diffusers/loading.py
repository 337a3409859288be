"""A pipeline loaded as the recipe says: dtype, device, fewer bits, offload, compilation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextbias.engines.accelerator import device_of, is_out_of_memory
from contextbias.errors import ConfigError, ContextBiasError, Incomplete, MissingPart, pip_install
from contextbias.generate.diffusers.hub import PipelineSource
from contextbias.generate.diffusers.options import DiffusersOptions
from contextbias.generate.diffusers.profiles import GENERIC, Profile, of_signature, pipeline_class
from contextbias.generate.diffusers.recipe import Recipe, recipe
from contextbias.weights import hub

_DENOISERS = ("transformer", "unet")
_WEIGHTS = re.compile(
    r"\w+(?:\.(?P<variant>[a-zA-Z]\w*))?(?:-\d+-of-\d+)?\.(?:safetensors|bin)", re.ASCII
)
_LARGE = 1_000_000_000  # parameters from which a text encoder is quantised as well


@dataclass(frozen=True, slots=True)
class Loaded:
    """A pipeline that is ready to draw."""

    pipeline: Any
    """Of diffusers."""
    recipe: Recipe
    """Completed by the pipeline's signature where the profile is generic."""
    device: str
    """``cuda``, ``mps`` or ``cpu``."""
    folder: Path
    """Its files."""
    facts: dict[str, Any]
    """Provenance that all its images share."""

    @property
    def denoiser(self) -> Any:
        """The UNet or transformer."""
        return _denoiser(self.pipeline)


def complete(options: DiffusersOptions, profile: Profile, folder: Path) -> Recipe:
    """The recipe, checked against the pipeline's signature where the profile is generic.

    Raises:
        ConfigError: An option has no effect with this pipeline, or is unknown to it.
        MissingPart: This version of diffusers has no such pipeline.
    """
    if profile.name != GENERIC:
        _is_of_its_kind(profile, folder)
        return recipe(options, profile)
    kind = _class(folder)
    parameters = inspect.signature(kind.__call__).parameters
    if "prompt" not in parameters:
        raise ConfigError(f"{kind.__name__} draws without a prompt", "name a text-to-image model")
    return recipe(options, of_signature(profile, parameters))


def _is_of_its_kind(profile: Profile, folder: Path) -> None:
    """Raise ConfigError where a folder holds another pipeline than the profile is about."""
    there = pipeline_class(folder)
    if there != profile.pipeline:
        raise ConfigError(
            f"the pipeline in {folder} is a {there}, and the profile {profile.name!r} is about"
            f" {profile.pipeline}",
            'leave the profile out, or write profile = "generic"',
        )


def load(options: DiffusersOptions, profile: Profile, source: PipelineSource) -> Loaded:
    """Load the pipeline, fetching it first if need be.

    Raises:
        ConfigError: An option cannot be had here.
        MissingPart: Weights or a package are not there.
        Incomplete: It does not fit into the memory.
    """
    quiet()
    folder = source.folder()
    made = complete(options, profile, folder)
    device = device_of(options.device)
    try:
        with _told(options, folder):
            pipeline = _from_pretrained(options, made, source, folder)
            _place(pipeline, options, made, device)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise Incomplete(
            f"{made.profile.title} does not fit into the memory of this {device} ({error})",
            'take offload = "model" or a quantization, or a smaller model',
        ) from None
    from contextbias.generate.diffusers.facts import facts

    shared = {**source.loaded(folder), **facts(pipeline, made, options, device)}
    return Loaded(pipeline, made, device, folder, shared)


def quiet() -> None:
    """No progress bars and hints of the libraries: what matters is told by errors and notes."""
    hub.quiet()  # first: diffusers loads the rest of transformers
    import diffusers

    diffusers.utils.logging.disable_progress_bar()
    diffusers.utils.logging.set_verbosity_error()


def _class(folder: Path) -> Any:
    quiet()
    import diffusers

    name = pipeline_class(folder)
    try:
        return getattr(diffusers, name)
    except AttributeError:
        raise MissingPart(
            f"diffusers {diffusers.__version__} has no {name}", pip_install("-U", "diffusers")
        ) from None


def _from_pretrained(
    options: DiffusersOptions, made: Recipe, source: PipelineSource, folder: Path
) -> Any:
    import torch
    from diffusers import DiffusionPipeline

    variant = _variant(folder) if source.is_folder else source.variant
    given: dict[str, Any] = {"dtype": getattr(torch, made.dtype), "variant": variant}
    if made.profile.family == "sdxl":
        # Left to itself it adds the watermark wherever the package happens to be installed.
        given["add_watermarker"] = options.watermark
    if options.quantization.startswith("bnb"):
        given["quantization_config"] = _bitsandbytes(options.quantization, made.dtype, folder)
    return DiffusionPipeline.from_pretrained(str(folder), **given)


def _variant(folder: Path) -> str | None:
    """The suffix of the files of a part that has no others, as in ``model.fp16.safetensors``."""
    found: dict[str, set[str | None]] = {}
    for path in folder.glob("*/*"):
        if match := _WEIGHTS.fullmatch(path.name):
            found.setdefault(path.parent.name, set()).add(match["variant"])
    only = {variant for variants in found.values() if None not in variants for variant in variants}
    return only.pop() if len(only) == 1 else None


@contextmanager
def _told(options: DiffusersOptions, folder: Path) -> Iterator[None]:
    """Turn what can go wrong with files and packages into errors that say what to do."""
    try:
        yield
    except ContextBiasError:
        raise
    except ImportError as error:
        problem = f"model = {options.model!r} needs a package that is not installed ({error})"
        raise MissingPart(problem, "install it") from None
    except Exception as error:  # whatever it is: without a model there is nothing to go on with
        if is_out_of_memory(error):
            raise
        said = f"{type(error).__name__}: {error}"
        if "huggingface.co" in said:
            # What the library says of any file in a folder that it cannot make sense of.
            said = "a file is missing, or is not what it should be"
        raise MissingPart(
            f"the pipeline in {folder} cannot be loaded ({said})",
            "fetch or save it anew",
        ) from None


def _bitsandbytes(quantization: str, dtype: str, folder: Path) -> Any:
    import torch
    from diffusers import PipelineQuantizationConfig

    bits = quantization.removeprefix("bnb-").removesuffix("bit")
    given: dict[str, Any] = {f"load_in_{bits}bit": True}
    if bits == "4":
        given |= {"bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": getattr(torch, dtype)}
    parts = [name for name in (*_DENOISERS, *_large_encoders(folder)) if (folder / name).is_dir()]
    return PipelineQuantizationConfig(
        quant_backend=f"bitsandbytes_{bits}bit", quant_kwargs=given, components_to_quantize=parts
    )


def _large_encoders(folder: Path) -> list[str]:
    """Text encoders of more than a thousand million parameters, judged by their files."""
    return [
        path.name
        for path in sorted(folder.glob("text_encoder*"))
        if sum(file.stat().st_size for file in path.glob("*.safetensors")) > 2 * _LARGE
    ]


def _place(pipeline: Any, options: DiffusersOptions, made: Recipe, device: str) -> None:
    import torch

    pipeline.set_progress_bar_config(disable=True)
    if hasattr(pipeline, "upcast_vae"):
        # What it does itself, without its warning at every call.
        pipeline.upcast_vae = lambda: pipeline.vae.to(dtype=torch.float32)
    if options.quantization == "fp8":
        _denoiser(pipeline).enable_layerwise_casting(
            storage_dtype=torch.float8_e4m3fn, compute_dtype=getattr(torch, made.dtype)
        )
    if options.offload != "none" and device == "cpu":
        raise ConfigError(
            f"offload = {options.offload!r} has no effect without a GPU", "leave it out"
        )
    if options.offload == "model":
        pipeline.enable_model_cpu_offload(device=device)
    elif options.offload == "sequential":
        pipeline.enable_sequential_cpu_offload(device=device)
    else:
        pipeline.to(device)
    if device != "cpu" and hasattr(getattr(pipeline, "vae", None), "enable_slicing"):
        pipeline.vae.enable_slicing()  # decodes one by one: the peak of memory is there
    if options.compile:
        _denoiser(pipeline).compile()


def _denoiser(pipeline: Any) -> Any:
    found = [part for name in _DENOISERS if (part := getattr(pipeline, name, None)) is not None]
    return found[0] if found else None
