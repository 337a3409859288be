"""What image models allow: data in models.toml."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from contextbias.errors import ConfigError, nearest

_SIZE = re.compile(r"([1-9][0-9]{1,4})x([1-9][0-9]{1,4})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageModel:
    """What a model takes; an empty tuple or None where it is not known, and anything is sent."""

    pattern: str = "*"
    """The entry's pattern, which the model's name matched."""
    sizes: tuple[str, ...] = ()
    """Values of ``size``."""
    step: int | None = None
    """Any size whose sides are multiples of this."""
    pixels: int | None = None
    """At most so many pixels, with `step`."""
    ratio: float | None = None
    """The longer side is at most so many times the shorter, with `step`."""
    qualities: tuple[str, ...] = ()
    """Values of ``quality``."""
    formats: tuple[str, ...] = ()
    """Values of ``output_format``."""
    backgrounds: tuple[str, ...] = ()
    """Values of ``background``."""
    moderation: tuple[str, ...] = ()
    """Values of ``moderation``."""
    per_image: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Quality -> size -> USD."""
    shutdown: datetime.date | None = None
    """When OpenAI ends, or ended, it."""
    source: str = ""
    """Where this was read."""


def image_model(name: str) -> ImageModel:
    """What the model `name` allows."""
    for entry in _entries():
        if fnmatchcase(name.lower(), entry.pattern):
            return entry
    return ImageModel()


def check_size(name: str, model: ImageModel, size: str) -> None:
    """Refuse a size that the model does not make.

    Raises:
        ConfigError: It is none of its sizes, or breaks its rule.
    """
    if size in model.sizes or size == "auto":
        return
    sides = pixels_of(size)
    if sides is None:
        raise ConfigError(f"size = {size!r} is no size", 'write it as "1024x1024"')
    if model.sizes:
        raise ConfigError(
            f"size = {size!r} is not one that {name!r} makes", f"take {', '.join(model.sizes)}"
        )
    if model.step is not None and any(side % model.step for side in sides):
        raise ConfigError(
            f"size = {size!r}: the sides have to be multiples of {model.step} for {name!r}",
            "change it",
        )
    if model.ratio is not None and max(sides) > model.ratio * min(sides):
        raise ConfigError(
            f"size = {size!r}: {name!r} makes nothing longer than {model.ratio:g}:1", "change it"
        )
    if model.pixels is not None and sides[0] * sides[1] > model.pixels:
        raise ConfigError(
            f"size = {size!r} has more than the {model.pixels:,} pixels of {name!r}", "change it"
        )


def check_word(name: str, option: str, value: str, known: Sequence[str]) -> None:
    """Refuse a word that the model does not know.

    Raises:
        ConfigError: Names the nearest known one.
    """
    if known and value not in known:
        raise ConfigError(
            f"{option} = {value!r} is not one that {name!r} knows",
            nearest(value, list(known)) or f"take {', '.join(known)}",
        )


def pixels_of(size: str | None) -> tuple[int, int] | None:
    """Width and height that a size asks for; None where it leaves them open."""
    match = _SIZE.fullmatch(size or "")
    return None if match is None else (int(match[1]), int(match[2]))


@cache
def _entries() -> tuple[ImageModel, ...]:
    text = files("contextbias.generate.openai_images").joinpath("models.toml").read_text("utf-8")
    return tuple(_entry(each) for each in tomllib.loads(text)["model"])


def _entry(given: dict[str, Any]) -> ImageModel:
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
    }
    return ImageModel(**fields)
