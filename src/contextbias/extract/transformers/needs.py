"""What a model needs and takes: for `contextbias plan` and `contextbias doctor`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from contextbias.engines.devices import gpus
from contextbias.errors import ContextBiasError, MissingPart
from contextbias.extract.transformers.options import TransformersReaderOptions
from contextbias.extract.transformers.readings import USAGE
from contextbias.extract.transformers.weights import Source, has_token, weight_bytes
from contextbias.forecast import Forecast

Requirement = tuple[str, bool, str, str]
"""What was looked at, whether it will do, what was found, and what to do where it will not."""

_PACKAGES = ("torch", "transformers", "accelerate", "llguidance")
_EXTRA = "pip install 'contextbias[transformers]'"
_BYTES = {"float32": 4, "float64": 8}
_HALF = 2  # bytes of a number in the other types
_BESIDE = 2.0
"""Gigabytes beside the weights, for the pictures and the conversations of a batch."""
_READING = 2500  # bytes in the study
_FIRST = (
    "the first readings tell how long it takes: `contextbias extract STUDY --limit 20`, and plan"
    " again"
)


def installed() -> None:
    """Raise MissingPart where a package that every model needs is not installed."""
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise MissingPart(
                f"the reader backend 'transformers' needs {package}, which is not installed",
                _EXTRA,
            )


def forecast(options: TransformersReaderOptions, source: Source, pictures: int) -> Forecast:
    """What can be said before any reading: no seconds, which depend on the device."""
    return Forecast(
        size=_READING * pictures,
        notes=(*_notes(options, source), _FIRST),
    )


def measured(
    options: TransformersReaderOptions,
    source: Source,
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
        basis=f"from {count:,} finished readings on {', '.join(devices) or 'no device'}",
        notes=tuple(_notes(options, source)),
    )


def requirements(options: TransformersReaderOptions, source: Source) -> Iterator[Requirement]:
    """What has to be there, for the doctor."""
    for package in _PACKAGES:
        found = _version(package)
        yield package, found is not None, found or "missing", "" if found else _EXTRA
    here = gpus()
    names = ", ".join(f"{gpu.name} ({gpu.memory})" for gpu in here)
    fix = "" if here else "run it on a machine with one: without, full-size models take very long"
    yield "GPU", bool(here), names or "none that nvidia-smi lists", fix
    try:
        yield from _weights(source)
        yield from _processor(source)
        yield from _memory(options, source)
    except ImportError:
        return  # the packages above say it


def _weights(source: Source) -> Iterator[Requirement]:
    what = f"weights {source.location}"
    there = source.here() is not None
    state = "on this machine" if there else "not on this machine"
    if source.is_folder:
        yield what, there, state, "" if there else "the folder holds no saved model"
        return
    yield what, there, state, "" if there else "fetched when the first image is read"
    if not there:
        # Which models are gated is not known without asking the hub.
        said = "set" if has_token() else "none is set; needed for gated models: HF_TOKEN"
        yield "access token", True, said, ""
    found = source.revision if source.is_pinned else f"{source.revision!r} may change"
    yield "revision", source.is_pinned, found, "" if source.is_pinned else "write a commit"


def _processor(source: Source) -> Iterator[Requirement]:
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


def _memory(options: TransformersReaderOptions, source: Source) -> Iterator[Requirement]:
    needed, here = memory(options, source), gpus()
    if needed is None or not here:
        return
    most = max(_gigabytes(gpu.memory) for gpu in here)
    fix = "" if needed <= most else "name a smaller model, or serve it and take the reader `openai`"
    yield "GPU memory", needed <= most, f"{needed:.0f} GB expected, {most:.0f} GB there", fix


def memory(options: TransformersReaderOptions, source: Source) -> float | None:
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


def _notes(options: TransformersReaderOptions, source: Source) -> Iterator[str]:
    """What should be known before any work."""
    try:
        installed()
    except MissingPart as error:
        yield str(error)
        return
    there = source.here() is not None
    if not source.is_folder:
        yield f"licence: see https://huggingface.co/{source.location}"
    if not there:
        yield f"the weights of {source.location} are not on this machine"
    if not source.is_pinned:
        yield (
            f"revision {source.revision!r} of {source.location} is not pinned: it may change while"
            " the study runs; write the commit that the first readings name"
        )
    needed, here = memory(options, source), gpus()
    if not here:
        yield "no GPU is seen here: full-size models take very long without"
    elif needed is not None:
        most = max(_gigabytes(gpu.memory) for gpu in here)
        yield f"about {needed:.0f} GB of GPU memory expected, {most:.0f} GB there"


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
