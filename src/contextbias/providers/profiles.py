"""What each model allows, by its name: data in profiles.toml, which a user's file extends."""

from __future__ import annotations

import datetime
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from math import ceil, sqrt
from typing import Any

from contextbias.errors import ConfigError, nearest
from contextbias.providers.model_tables import (
    check_kinds,
    entries_of,
    matches,
    read_table,
    user_file,
)

SOON = 120
"""Days in which a study should be finished: a model that is shut down earlier is warned about."""

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
        # A part of a token is charged as a whole one; 0.1 is no binary number.
        return self.base + ceil(min(across * down, self.most) * self.factor - 1e-6)

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
    output: int | None = None
    """Most tokens of an answer."""
    batch: bool = False
    """Whether the Batch API takes it."""
    shutdown: datetime.date | None = None
    """When the provider turns it off, as announced."""
    successor: str | None = None
    """The model that the provider names in its place."""
    source: str = ""
    """Where these facts come from, and when they were looked up."""
    pattern: str = "*"
    """The entry's pattern, which the name matched."""

    def ending(self, today: datetime.date | None = None) -> str | None:
        """When it is, or was, shut down, and what comes in its place; None where that is not known.

        Args:
            today: None for the date of now.
        """
        if self.shutdown is None:
            return None
        gone = self.shutdown <= (today or datetime.date.today())
        said = f"{'was shut down' if gone else 'is to be shut down'} on {self.shutdown}"
        return f"{said}; its provider names {self.successor}" if self.successor else said

    def ends_soon(self, today: datetime.date | None = None) -> bool:
        """Whether that is within SOON days, or over."""
        if self.shutdown is None:
            return False
        return (self.shutdown - (today or datetime.date.today())).days < SOON


def profile(model: str, *, structured: str | None = None) -> ModelProfile:
    """The profile of a model: the first entry whose pattern its name matches, the user's first.

    Args:
        model: Its name, such as ``gpt-5.4-mini`` or ``Qwen/Qwen2.5-VL-7B-Instruct``.
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


def _user_entries() -> tuple[ModelProfile, ...]:
    path = user_file("profiles.toml")
    return _entries(read_table(path), str(path))


@cache
def _own_entries() -> tuple[ModelProfile, ...]:
    text = resources.files("contextbias.providers").joinpath("profiles.toml").read_text("utf-8")
    return _entries(tomllib.loads(text), "profiles.toml")


def _entries(table: dict[str, Any], where: str) -> tuple[ModelProfile, ...]:
    return tuple(_entry(each, where) for each in entries_of(table, "model", _KINDS, where))


_KINDS = {
    "pattern": "text", "token_limit": "text", "temperature": "yes or no",
    "efforts": "list of texts", "effort": "text", "structured": "text", "images": "table",
    "output": "whole number", "batch": "yes or no", "shutdown": "date", "successor": "text",
    "source": "text",
}  # fmt: skip
_IMAGE_KINDS = {
    "rule": "text", "side": "factor", "most": "factor", "base": "whole number", "factor": "factor",
}  # fmt: skip


def _entry(given: dict[str, Any], where: str) -> ModelProfile:
    if given.get("structured", "none") not in STRUCTURED:
        raise ConfigError(
            f"{where}: structured = {given['structured']!r}", f"take one of {', '.join(STRUCTURED)}"
        )
    if "images" in given:
        given["images"] = _images(given["images"], f"{where}: images of {given['pattern']!r}")
    given["efforts"] = tuple(given.get("efforts", ()))
    effort = given.get("effort")
    if effort is not None and effort not in given["efforts"]:
        raise ConfigError(f"{where}: effort = {effort!r} is none of efforts", "add it to them")
    return ModelProfile(model=given["pattern"], **given)


def _images(given: dict[str, Any], where: str) -> ImageTokens:
    check_kinds(given, _IMAGE_KINDS, where)
    if given.get("rule") not in ("patches", "tiles"):
        raise ConfigError(f"{where}: rule = {given.get('rule')!r}", "take patches or tiles")
    return ImageTokens(**given)
