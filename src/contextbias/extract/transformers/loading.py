"""A model and its processor, loaded as the options say and ready to answer."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from contextbias.errors import ConfigError, ContextBiasError, Incomplete, MissingPart
from contextbias.extract.transformers.options import TransformersReaderOptions
from contextbias.extract.transformers.weights import Source

VERSIONS = ("torch", "transformers", "llguidance")
"""Packages whose versions every reading tells."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that is ready to answer."""

    model: Any
    """Of transformers, on its device."""
    processor: Any
    """Makes tensors of texts and pictures; pads on the left."""
    device: str
    """``cuda``, ``mps`` or ``cpu``."""
    dtype: Any
    """Of torch."""
    ends: tuple[int, ...]
    """Ids of the tokens that end an answer."""
    vocabulary: int
    """Tokens that the model has a score for."""
    context: int | None
    """Most tokens of a conversation, the answer included; None: not known."""
    facts: dict[str, Any]
    """Provenance that all its readings share."""


def load(options: TransformersReaderOptions, source: Source) -> Loaded:
    """Load the model, fetching it first if need be.

    Raises:
        ConfigError: The device is not here.
        MissingPart: Weights or a package are not there, or it is no model of the kind.
        Incomplete: It does not fit into the memory.
    """
    import torch

    quiet()
    device = device_of(options.device)
    folder = source.folder()
    processor = load_processor(folder)
    dtype = getattr(torch, options.dtype)
    model = _model(folder, dtype, device)
    ends = _ends(model, processor.tokenizer)
    _answer_plainly(model, processor.tokenizer, ends, options.max_tokens)
    text = model.config.get_text_config()
    return Loaded(
        model=model,
        processor=processor,
        device=device,
        dtype=dtype,
        ends=ends,
        vocabulary=model.get_output_embeddings().weight.shape[0],
        context=getattr(text, "max_position_embeddings", None),
        facts={
            **source.identity(folder),
            "dtype": options.dtype,
            "device": _device_name(device),
            "versions": {package: version(package) for package in VERSIONS},
        },
    )


def load_processor(folder: Path) -> Any:
    """The part that makes tensors of texts and pictures.

    Raises:
        MissingPart: It cannot be loaded; says why.
    """
    quiet()
    from transformers import AutoProcessor

    with _told(folder):
        processor = AutoProcessor.from_pretrained(str(folder))
    tokenizer = getattr(processor, "tokenizer", None)
    if tokenizer is None or not hasattr(processor, "image_processor"):
        raise MissingPart(
            f"the model in {folder} does not take texts with pictures",
            "name a vision-language model",
        )
    tokenizer.padding_side = "left"  # answers begin where the padded texts end
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return processor


def device_of(asked: str) -> str:
    """The device to run on.

    Raises:
        ConfigError: The one that was asked for is not there.
    """
    import torch

    there = {"cuda": torch.cuda.is_available, "mps": torch.backends.mps.is_available}
    if asked == "auto":
        return next((name for name, is_there in there.items() if is_there()), "cpu")
    if asked in there and not there[asked]():
        raise ConfigError(f"device = {asked!r} is not here", 'take "auto", or see `nvidia-smi`')
    return asked


def quiet() -> None:
    """No progress bars and hints of the libraries: what matters is told by errors and notes."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


def is_out_of_memory(error: Exception) -> bool:
    """Whether something did not fit into the memory of the device, or of this machine."""
    import torch

    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    said = str(error).lower()
    return isinstance(error, RuntimeError) and any(text in said for text in _NO_MEMORY)


_NO_MEMORY = ("out of memory", "cublas_status_alloc_failed", "can't allocate memory")


def _model(folder: Path, dtype: Any, device: str) -> Any:
    from transformers import AutoModelForImageTextToText

    try:
        with _told(folder):
            model = AutoModelForImageTextToText.from_pretrained(str(folder), dtype=dtype)
        return model.to(device).eval()
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise Incomplete(
            f"the model in {folder} does not fit into the memory of this {device} ({error})",
            "name a smaller model, or serve it elsewhere and take the reader `openai`",
        ) from None


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """Turn what can go wrong with files and packages into errors that say what to do."""
    try:
        yield
    except ContextBiasError:
        raise
    except ImportError as error:
        raise _lacking(folder, error) from None
    except Exception as error:  # of transformers, of safetensors, of JSON
        if is_out_of_memory(error):
            raise
        raise MissingPart(
            f"the model in {folder} cannot be loaded ({type(error).__name__}: {error})",
            "fetch it anew, or name a vision-language model that this transformers knows",
        ) from None


def _lacking(folder: Path, error: ImportError) -> MissingPart:
    if "torchvision" in str(error).lower():
        return MissingPart(
            f"the processor of the model in {folder} needs torchvision, which is not installed",
            "install the torchvision that belongs to this torch, or serve the model and take the "
            "reader `openai` (docs/readers.md)",
        )
    first = str(error).strip().splitlines()[0]
    return MissingPart(
        f"the model in {folder} needs a package that is not installed ({first})", "install it"
    )


def _ends(model: Any, tokenizer: Any) -> tuple[int, ...]:
    told = getattr(model.generation_config, "eos_token_id", None)
    told = tokenizer.eos_token_id if told is None else told
    if told is None:
        raise MissingPart(
            "the model has no token that ends an answer", "name a model tuned for instructions"
        )
    return tuple(told) if isinstance(told, list) else (told,)


def _answer_plainly(model: Any, tokenizer: Any, ends: tuple[int, ...], most: int) -> None:
    """Replace how the model's makers let it talk: penalties on repetition spoil JSON."""
    from transformers import GenerationConfig

    model.generation_config = GenerationConfig(
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=list(ends),
        pad_token_id=tokenizer.pad_token_id,
        do_sample=False,
        max_new_tokens=most,
    )


def _device_name(device: str) -> str:
    import torch

    return torch.cuda.get_device_name() if device == "cuda" else device
