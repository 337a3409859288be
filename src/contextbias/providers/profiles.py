"""What each model allows, by its name: data in profiles.toml, which a user's file extends."""

from __future__ import annotations

import datetime
import os
import tomllib
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from math import ceil, sqrt
from pathlib import Path
from typing import Any

from contextbias.errors import ConfigError, nearest
from contextbias.files import unreadable

USER_FOLDER = "contextbias"
"""Folder of the user's own ``profiles.toml`` and ``prices.toml``, below the configuration home."""

STRUCTURED = ("json_schema", "json_object_schema", "json_object", "none")
"""Ways of asking for JSON: a strict schema; llama-cpp-python's form of one; any JSON object, with
the schema in words; no constraint at all, with the schema in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageTokens:
    """How many tokens a picture counts for.

    ``patches``: the picture is covered with squares of `side` pixels, made smaller first where
    there would be more than `most`; each counts for `factor` tokens. ``tiles``: it is fitted into
    2048 pixels, then its shorter side into 768; `base` tokens, and `factor` for each square of 512.
    """

    rule: str
    """``patches`` or ``tiles``."""
    side: int = 32
    """Pixels of a patch's side."""
    most: int = 1536
    """Patches."""
    base: int = 0
    """Tokens of a picture, whatever its size."""
    factor: float = 1.0
    """Tokens of a patch or a tile."""

    def count(self, width: int, height: int) -> int:
        """Tokens of a picture of so many pixels."""
        return self._tiles(width, height) if self.rule == "tiles" else self._patches(width, height)

    def _patches(self, width: int, height: int) -> int:
        side = self.side
        across, down = ceil(width / side), ceil(height / side)
        if across * down > self.most:
            shrink = sqrt(self.most * side * side / (width * height))
            wide, high = width * shrink / side, height * shrink / side
            shrink *= min(int(wide) / wide, int(high) / high)
            # What was shrunk to whole patches is so up to rounding.
            across, down = ceil(width * shrink / side - 1e-9), ceil(height * shrink / side - 1e-9)
        return self.base + round(min(across * down, self.most) * self.factor)

    def _tiles(self, width: int, height: int) -> int:
        shrink = min(1.0, 2048 / max(width, height))
        shrink = min(shrink, 768 / min(width, height))
        across, down = ceil(width * shrink / 512 - 1e-9), ceil(height * shrink / 512 - 1e-9)
        return self.base + round(across * down * self.factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """One model, and what it allows."""

    model: str
    """Name, as it is asked for."""
    token_limit: str = "max_tokens"
    """Parameter that limits the answer's tokens."""
    temperature: bool = True
    """Whether a temperature may be set."""
    efforts: tuple[str, ...] = ()
    """Values of ``reasoning_effort``; empty where there is no such parameter."""
    effort: str | None = None
    """The one that is sent unless another is asked for."""
    structured: str = "json_schema"
    """How JSON is asked for, one of STRUCTURED."""
    images: ImageTokens | None = None
    """How pictures are counted; None where it is not known."""
    context: int | None = None
    """Most tokens of a request with its answer."""
    output: int | None = None
    """Most tokens of an answer."""
    batch: bool = False
    """Whether the Batch API takes it."""
    shutdown: datetime.date | None = None
    """When the provider turns it off, as announced."""
    source: str = ""
    """Where these facts come from, and when they were looked up."""
    pattern: str = "*"
    """The entry's pattern, which the name matched."""
    notes: tuple[str, ...] = field(default=())
    """What a user should know."""


def profile(model: str, *, structured: str | None = None) -> ModelProfile:
    """The profile of a model: the first entry whose pattern its name matches, the user's first.

    Args:
        model: Its name, such as ``gpt-5-mini`` or ``Qwen/Qwen2.5-VL-7B-Instruct``.
        structured: Another way of asking for JSON than the entry's.

    Raises:
        ConfigError: A user's file that cannot be understood, or an unknown structured mode.
    """
    if structured is not None and structured not in STRUCTURED:
        raise ConfigError(
            f"structured = {structured!r} is no way of asking for JSON",
            nearest(structured, list(STRUCTURED)) or f"known: {', '.join(STRUCTURED)}",
        )
    for entry in (*_user_entries(), *_own_entries()):
        if matches(model, entry.pattern):
            return replace(entry, model=model, structured=structured or entry.structured)
    return ModelProfile(model=model, structured=structured or "json_schema")


def matches(model: str, pattern: str) -> bool:
    """Whether a model's name is meant by a pattern: one or more, separated by blanks, with ``*``,
    ``?`` and ``[...]``; the case does not matter."""
    return any(fnmatchcase(model.lower(), each.lower()) for each in pattern.split())


def user_file(name: str) -> Path:
    """Where a user's own table may stand: ``~/.config/contextbias/<name>``."""
    home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(home) / USER_FOLDER / name


def read_table(path: Path) -> dict[str, Any]:
    """A user's table; empty where there is no such file.

    Raises:
        ConfigError: It is no TOML.
        InputError: It cannot be read.
    """
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no TOML: {error}", "correct it") from None
    except OSError as error:
        raise unreadable(path, error) from None


def _user_entries() -> tuple[ModelProfile, ...]:
    path = user_file("profiles.toml")
    return _entries(read_table(path), str(path))


@cache
def _own_entries() -> tuple[ModelProfile, ...]:
    text = resources.files("contextbias.providers").joinpath("profiles.toml").read_text("utf-8")
    return _entries(tomllib.loads(text), "profiles.toml")


_FIELDS = {name for name in ModelProfile.__dataclass_fields__ if name not in ("model",)}


def _entries(table: dict[str, Any], where: str) -> tuple[ModelProfile, ...]:
    return tuple(_entry(dict(each), where) for each in table.get("model", []))


def _entry(given: dict[str, Any], where: str) -> ModelProfile:
    for name in given:
        if name not in _FIELDS:
            hint = nearest(name, sorted(_FIELDS)) or f"known: {', '.join(sorted(_FIELDS))}"
            raise ConfigError(f"{where} has an unknown key {name!r}", hint)
    if "pattern" not in given:
        raise ConfigError(f"{where} has an entry without a pattern", 'add pattern = "NAME*"')
    if given.get("structured", "none") not in STRUCTURED:
        raise ConfigError(
            f"{where}: structured = {given['structured']!r}", f"take one of {', '.join(STRUCTURED)}"
        )
    if "images" in given:
        given["images"] = _images(given["images"], f"{where}: images of {given['pattern']!r}")
    for name in ("efforts", "notes"):
        if name in given:
            given[name] = tuple(given[name])
    return ModelProfile(model=given["pattern"], **given)


def _images(given: dict[str, Any], where: str) -> ImageTokens:
    if given.get("rule") not in ("patches", "tiles"):
        raise ConfigError(f"{where}: rule = {given.get('rule')!r}", "take patches or tiles")
    try:
        return ImageTokens(**given)
    except TypeError as error:
        known = ", ".join(ImageTokens.__dataclass_fields__)
        raise ConfigError(f"{where}: {error}", f"known: {known}") from None
