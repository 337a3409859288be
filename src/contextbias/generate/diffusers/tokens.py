"""How many tokens a prompt has for each text encoder, and which prompts would be cut.

A cut prompt loses its end, which is where the place and the activity are, and no pipeline stops
for that. So tokens are counted before anything is made, with the model's tokenizers alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from contextbias.errors import ConfigError, MissingPart
from contextbias.generate.diffusers.recipe import Recipe
from contextbias.generate.protocol import Job
from contextbias.weights.hub import quiet

_NO_LIMIT = 10**6  # tokenizers without a limit have an astronomical one
_LISTED = 3  # prompts that the error quotes
_QUOTED = 60  # characters of each end of a long one


@dataclass(frozen=True, slots=True)
class Encoder:
    """One text encoder's view of a prompt."""

    name: str
    """Of its tokenizer in the pipeline."""
    limit: int | None
    """The most tokens that it takes, marks of beginning and end included; None: not known."""
    count: Callable[[str], int]
    """Tokens of a text, uncut, those marks included."""


def encoders(folder: Path, recipe: Recipe) -> tuple[Encoder, ...]:
    """The tokenizers of a saved pipeline, and what their encoders take.

    Args:
        folder: With model_index.json and the tokenizers' folders.
        recipe: Says how many tokens the long encoder takes.

    Raises:
        MissingPart: A tokenizer is not there or cannot be loaded.
    """
    quiet()
    index = json.loads((folder / "model_index.json").read_text("utf-8"))
    found = []
    for name, entry in sorted(index.items()):
        if name.startswith("tokenizer") and isinstance(entry, list) and entry[0] is not None:
            tokenizer = _tokenizer(folder / name, entry[1])
            count: Callable[[str], int] = partial(_tokens, tokenizer)
            if recipe.profile.family == "qwen":
                count = _templated(tokenizer)
            found.append(Encoder(name, _limit(tokenizer, entry[1], recipe), count))
    return tuple(found)


def counts(encoders: Iterable[Encoder], text: str) -> dict[str, int]:
    """Encoder -> tokens of `text`."""
    return {encoder.name: encoder.count(text) for encoder in encoders}


def cut(encoders: Iterable[Encoder], text: str) -> dict[str, tuple[int, int]]:
    """Encoders that would cut `text` -> its tokens, and what they take."""
    counted = ((e, e.count(text)) for e in encoders if e.limit is not None)
    return {e.name: (n, e.limit) for e, n in counted if e.limit is not None and n > e.limit}


def refuse_cut(encoders: Iterable[Encoder], texts: Mapping[str, str]) -> None:
    """Raise where a text would be cut.

    Args:
        encoders: Of the model.
        texts: What the model is given -> what the user wrote, for the message.

    Raises:
        ConfigError: Lists the first of those texts, and by how much they are too long.
    """
    encoders = tuple(encoders)
    found = {given: over for given in texts if (over := cut(encoders, given))}
    if not found:
        return
    listed = [_too_long(texts[given], over) for given, over in list(found.items())[:_LISTED]]
    more = f" and {len(found) - _LISTED:,} more" if len(found) > _LISTED else ""
    raise ConfigError(
        f"the end of {len(found):,} of {len(texts):,} texts would be cut off: {'; '.join(listed)}"
        f"{more}",
        "shorten them or the option style, raise max_sequence_length where there is one, or"
        ' accept it by overlong = "truncate"',
    )


def _too_long(written: str, over: Mapping[str, tuple[int, int]]) -> str:
    told = (f"{count} tokens, {name} takes {most}" for name, (count, most) in sorted(over.items()))
    return f"{_quoted(written)} ({', '.join(told)})"


def _quoted(text: str) -> str:
    """A text by its beginning and its end, which is what would be cut off."""
    if len(text) <= 2 * _QUOTED:
        return repr(text)
    return f"{text[:_QUOTED]!r} … {text[-_QUOTED:]!r}"


def texts(recipe: Recipe, jobs: Iterable[Job]) -> dict[str, str]:
    """Every text that the encoders are given for `jobs` -> what the user wrote."""
    given = {recipe.prompt(job.text): job.text for job in jobs}
    return given | ({recipe.negative: recipe.negative} if recipe.negative else {})


def _tokenizer(folder: Path, class_name: str) -> Any:
    import transformers

    if not folder.is_dir():
        raise MissingPart(
            f"model_index.json names a tokenizer that is not there: {folder}",
            "fetch or save the model anew",
        )
    # Not as a default of getattr: to look it up loads torch.
    named = hasattr(transformers, class_name)
    kind = getattr(transformers, class_name if named else "AutoTokenizer")
    try:
        return kind.from_pretrained(folder)
    except Exception as error:
        raise MissingPart(
            f"the tokenizer in {folder} cannot be loaded ({type(error).__name__}: {error})",
            "fetch or save the model anew",
        ) from None


def _tokens(tokenizer: Any, text: str) -> int:
    # Quiet: it would warn of long texts, which is what is being looked for.
    return len(tokenizer(text, truncation=False, verbose=False).input_ids)


def _templated(tokenizer: Any) -> Callable[[str], int]:
    """Qwen-Image wraps the prompt in a conversation and drops a fixed number of tokens."""
    from diffusers import QwenImagePipeline

    pipeline = QwenImagePipeline(None, None, None, None, None)
    template: str = pipeline.prompt_template_encode
    dropped: int = pipeline.prompt_template_encode_start_idx
    return lambda text: _tokens(tokenizer, template.format(text)) - dropped


def _limit(tokenizer: Any, class_name: str, recipe: Recipe) -> int | None:
    own = int(min(tokenizer.model_max_length, _NO_LIMIT))
    if class_name.startswith("CLIP"):
        return own
    longest = recipe.longest
    if longest is not None:
        return longest
    return own if own < _NO_LIMIT else None
