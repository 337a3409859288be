"""A model and its processor, loaded as the options say and ready to answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from contextbias.engines.accelerator import device_name, device_of, is_out_of_memory
from contextbias.errors import ContextBiasError, Incomplete, MissingPart
from contextbias.extract.transformers.options import TransformersReaderOptions
from contextbias.extract.transformers.weights import ModelSource
from contextbias.weights.hub import quiet

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


def load(options: TransformersReaderOptions, source: ModelSource) -> Loaded:
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
            **source.loaded(folder),
            "dtype": options.dtype,
            "device": device_name(device),
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
