"""What a model needs and takes: for `contextbias plan` and `contextbias doctor`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from contextbias.engines import machine
from contextbias.errors import ContextBiasError, MissingPart, pip_install
from contextbias.extract.transformers.options import TransformersReaderOptions
from contextbias.extract.transformers.readings import USAGE
from contextbias.extract.transformers.weights import ModelSource, weight_bytes
from contextbias.forecast import Forecast, Requirement
from contextbias.progress import counted
from contextbias.weights.hub import has_token

_PACKAGES = ("torch", "transformers", "accelerate", "llguidance")
_EXTRA = "contextbias[transformers]"
_BYTES = {"float32": 4, "float64": 8}
_HALF = 2  # bytes of a number in the other types
_BESIDE = 2.0
"""Gigabytes beside the weights, for the pictures and the conversations of a batch."""
_SMALLER = "name a smaller model, or serve it and take the reader `openai`"
_READING = 2500  # bytes in the study
_FIRST = (
    "the first readings tell how long it takes: `contextbias extract STUDY --limit 20`, and plan"
    " again"
)


def installed() -> None:
    """Raise MissingPart where a package that every model needs is not installed."""
    machine.require(_PACKAGES, "the reader backend 'transformers'", pip_install(_EXTRA))


def forecast(options: TransformersReaderOptions, source: ModelSource, pictures: int) -> Forecast:
    """What can be said before any reading: no seconds, which depend on the device."""
    return Forecast(
        size=_READING * pictures,
        notes=(*_notes(options, source), _FIRST),
    )


def measured(
    options: TransformersReaderOptions,
    source: ModelSource,
    pictures: int,
    finished: Sequence[tuple[Mapping[str, Any], float]],
) -> Forecast:
    """The same from what finished readings took: their ``raw`` and seconds, 1 or more."""
    count = len(finished)
    seconds = sum(took for _, took in finished) / count * pictures
    used = [raw.get(USAGE, {}) for raw, _ in finished]
    # A picture that cannot be decoded saw no device.
    devices = sorted({str(raw["device"]) for raw, _ in finished if "device" in raw})
    on_gpu = bool(devices) and not {"cpu", "mps"} & set(devices)
    return Forecast(
        seconds=seconds,
        accelerator_seconds=seconds if on_gpu else None,
        tokens_in=round(sum(each.get("input", 0) for each in used) / count * pictures),
        tokens_out=round(sum(each.get("output", 0) for each in used) / count * pictures),
        basis=f"from {counted(count, 'finished reading')} on {', '.join(devices) or 'no device'}",
        notes=tuple(_notes(options, source)),
    )


def requirements(options: TransformersReaderOptions, source: ModelSource) -> Iterator[Requirement]:
    """What has to be there, for the doctor."""
    for package in _PACKAGES:
        yield machine.package(package, pip_install(_EXTRA))
    if machine.is_for_gpu(options.device):
        yield machine.gpu()
    try:
        yield from _weights(source)
        yield from _processor(source)
        if machine.is_for_gpu(options.device):
            yield from machine.gpu_memory(memory(options, source), _SMALLER)
    except ImportError:
        return  # the packages above say it


def _weights(source: ModelSource) -> Iterator[Requirement]:
    there = source.here() is not None
    yield machine.weights(source, there, holds="saved model", first="image is read")
    if source.is_folder:
        return
    if not there:
        # Which models are gated is not known without asking the hub.
        said = "set" if has_token() else "none is set; needed for gated models: HF_TOKEN"
        yield "access token", True, said, ""
    yield machine.pin(source)


def _processor(source: ModelSource) -> Iterator[Requirement]:
    """Whether texts and pictures can be prepared: some models need further packages for it."""
    folder = source.here()
    if folder is None:
        return
    from contextbias.extract.transformers.loading import load_processor

    try:
        processor = load_processor(folder)
    except ContextBiasError as error:
        yield "processor", False, error.problem, error.fix
        return
    yield "processor", True, type(processor).__name__, ""


def memory(options: TransformersReaderOptions, source: ModelSource) -> float | None:
    """Gigabytes that the weights and a small batch take; None where the weights are not here."""
    folder = source.here()
    if folder is None:
        return None
    scale = _width(options.dtype) / _width(_stored_as(folder))
    return weight_bytes(folder) * scale / 1e9 + _BESIDE


def _stored_as(folder: Path) -> str:
    """What the weights are saved in, as config.json says it."""
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return ""
    # Older models say torch_dtype, and some only in the part for texts.
    parts = [config, config.get("text_config") or {}]
    told = [part.get(key) for part in parts for key in ("dtype", "torch_dtype")]
    return next((str(each) for each in told if each), "")


def _width(dtype: str) -> int:
    return _BYTES.get(dtype, _HALF)


def _notes(options: TransformersReaderOptions, source: ModelSource) -> Iterator[str]:
    """What should be known before any work."""
    try:
        installed()
    except MissingPart as error:
        yield str(error)
        return
    if not source.is_folder:
        yield f"licence: see {source.page}"
    if source.here() is None:
        yield f"the weights of {source.location} are not on this machine"
    yield from source.warnings("readings")
    if machine.is_for_gpu(options.device):
        yield from machine.memory_notes(memory(options, source), _SMALLER)
