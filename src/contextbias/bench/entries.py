"""A prompt list made elsewhere, read entry by entry: JSON, JSON lines or CSV, in several shapes.

The shape of the paper's released lists is an array of objects with ``role``, ``context`` (``CF``,
``CA-R``, ``CA-U``), ``prompt`` and ``seeds_by_model``. Also read: such arrays by role and by
condition, an object around them, one object a line, and what ``contextbias prompts`` writes,
as CSV or JSON lines. Keys that are not known are left alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from contextbias.bench.listing import PROMPTED_SEPARATOR
from contextbias.config import RESERVED_NAMES
from contextbias.errors import InputError, nearest
from contextbias.schema import DIMENSIONS
from contextbias.sheets import Sheet

KEYS = {
    "role": ("role", "job", "occupation", "profession"),
    "condition": ("context", "condition", "context_type"),
    "text": ("prompt", "text", "caption"),
    "seeds": ("seeds_by_model", "seeds"),
}
"""What an entry says -> the keys that it may stand under, the first one found counts."""

ANY_MODEL = "*"
"""Stands for every model where seeds are a plain list."""

_AROUND = ("prompts", "entries", "items", "data")
_MAXIMUM_SEED = 2**63 - 1
_CONDITIONS = {
    "cf": "CF", "contextfree": "CF", "contextfreecf": "CF",
    "car": "CA-R", "related": "CA-R", "contextawarerelated": "CA-R",
    "contextawarerelatedcar": "CA-R",
    "cau": "CA-U", "unrelated": "CA-U", "contextawareunrelated": "CA-U",
    "contextawareunrelatedcau": "CA-U",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPrompt:
    """One entry of a list."""

    where: str
    """Where it stands, for messages: ``entry 12``."""
    role: str
    """Lower case, with spaces."""
    condition: str
    """``CF``, ``CA-R`` or ``CA-U``."""
    text: str
    """The sentence."""
    seeds: Mapping[str, tuple[int, ...]]
    """Model -> its seeds, in order."""
    base: str | None = None
    """Base prompt, where the entry says so."""
    variant: str | None = None
    """Variant, where the entry says so."""
    location: str | None = None
    """Location, where the entry says so."""
    activity: str | None = None
    """Activity, where the entry says so."""
    prompted: tuple[str, ...] = ()
    """Dimensions that the sentence names, where the entry says so."""


@dataclass(frozen=True, slots=True)
class _At:
    where: str
    role: str | None = None
    condition: str | None = None


def read_entries(text: str, name: str) -> list[ListedPrompt]:
    """Read all entries of a list.

    Args:
        text: The file's content.
        name: Its name, for messages; one that ends in ``.csv`` is read as CSV with a header.

    Raises:
        InputError: It is neither JSON nor CSV, has no entry, or an entry lacks a key or has a wrong
            value; the message names both.
    """
    is_csv = name.lower().endswith(".csv")
    found = list(_walk(_rows(text, name) if is_csv else _parsed(text, name), _At(name)))
    if not found:
        raise InputError(f"{name} has no prompt", 'write [{"role": …, "context": …, "prompt": …}]')
    return found


def _parsed(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2 or not lines[0].lstrip().startswith("{"):
            raise InputError(f"{name} is not valid JSON: {error}", "correct it") from None
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except ValueError as error:
                raise InputError(
                    f"{name} line {number} is not valid JSON: {error}", "correct it"
                ) from None
    return rows


def _rows(text: str, name: str) -> list[dict[str, Any]]:
    """The rows of a CSV; empty fields are left out, lists are parted by semicolons or spaces."""
    sheet = Sheet(text, name, needed=(), known=sorted(_all_keys()))
    rows: list[dict[str, Any]] = [
        {key: value for key, value in row.items() if value.strip()} for _, row in sheet.rows()
    ]
    for row in rows:
        if "prompted" in row:
            row["prompted"] = [word for word in row["prompted"].split(PROMPTED_SEPARATOR) if word]
        if "seeds" in row:
            row["seeds"] = [_number(word) for word in re.split(r"[;\s]+", row["seeds"].strip())]
    return rows


def _number(word: str) -> int | str:
    return int(word) if word.isdecimal() else word


def _walk(value: Any, at: _At) -> Iterator[ListedPrompt]:
    """Go down to the entries; keys on the way say role or condition."""
    if isinstance(value, list):
        for number, each in enumerate(value, 1):
            yield from _walk(each, replace(at, where=f"{at.where} entry {number}"))
    elif isinstance(value, str):
        yield _entry({"prompt": value}, at)
    elif not isinstance(value, dict):
        raise InputError(
            f"{at.where} is {value!r}", "write an object with role, context and prompt"
        )
    elif _is_entry(value):
        yield _entry(value, at)
    else:
        around = [key for key in _AROUND if isinstance(value.get(key), list | dict)]
        for key, each in ((around[0], value[around[0]]),) if around else value.items():
            yield from _walk(each, at if around else _below(at, key))


def _is_entry(value: dict[str, Any]) -> bool:
    """An object that says what only entries say, be it in part."""
    keys = (*KEYS["role"], *KEYS["condition"], *KEYS["text"])
    return any(isinstance(value.get(key), str) for key in keys)


def _below(at: _At, key: str) -> _At:
    condition = condition_of(key)
    where = f"{at.where}, {key!r}"
    if condition is not None:
        return replace(at, where=where, condition=condition)
    if at.role is None:
        return replace(at, where=where, role=key)
    raise InputError(f"{where} is no condition", "conditions are CF, CA-R and CA-U")


def condition_of(word: str) -> str | None:
    """``CF``, ``CA-R`` or ``CA-U`` for a condition in any of its spellings; None for no such."""
    return _CONDITIONS.get(re.sub(r"[^a-z]", "", word.lower()))


def _entry(value: dict[str, Any], at: _At) -> ListedPrompt:
    role = _required(value, "role", at, at.role)
    named = _required(value, "condition", at, at.condition)
    condition = condition_of(named)
    if condition is None:
        raise InputError(f"{at.where}: context is {named!r}", "conditions are CF, CA-R and CA-U")
    optional = {
        key: _text(value[key], key, at)
        for key in ("base", "variant", "location", "activity")
        if value.get(key) not in (None, "")
    }
    return ListedPrompt(
        where=at.where,
        role=_role_name(role, at),
        condition=condition,
        text=_required(value, "text", at, None),
        seeds=_seeds(value, at),
        prompted=_prompted(value, at),
        **optional,
    )


def _required(value: dict[str, Any], what: str, at: _At, known: str | None) -> str:
    for key in KEYS[what]:
        if key in value:
            return _text(value[key], key, at)
    if known is not None:
        return known
    wanted = KEYS[what][0]
    near = {key: nearest(key, list(KEYS[what])) for key in value if key not in _all_keys()}
    hint = next((f"{key!r}: {n}" for key, n in near.items() if n), "")
    raise InputError(f"{at.where} has no key {wanted!r}", hint or f"add {wanted!r}")


def _all_keys() -> set[str]:
    return {key for keys in KEYS.values() for key in keys}


def _text(value: Any, key: str, at: _At) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{at.where}: {key} is {value!r}", "write a text")
    text = " ".join(value.split())
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{at.where}: {key} is not Unicode text", "correct it") from None
    if not text.isprintable():
        raise InputError(f"{at.where}: {key} is {text!r}", "take out what cannot be printed")
    return text


def _role_name(role: str, at: _At) -> str:
    name = " ".join(role.replace("_", " ").split()).lower()
    if name in RESERVED_NAMES or "," in name or not name:
        raise InputError(
            f"{at.where}: the role {role!r} has a comma or a meaning of its own in the tables",
            "take another name",
        )
    return name


def _seeds(value: dict[str, Any], at: _At) -> dict[str, tuple[int, ...]]:
    key = next((key for key in KEYS["seeds"] if value.get(key) is not None), None)
    if key is None:
        return {}
    given = value[key]
    by_model = given if isinstance(given, dict) else {ANY_MODEL: given}
    return {
        str(model): _seed_list(seeds, f"{at.where}: {key}") for model, seeds in by_model.items()
    }


def _seed_list(given: Any, where: str) -> tuple[int, ...]:
    seeds = given if isinstance(given, list) else [given]
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= _MAXIMUM_SEED:
            raise InputError(f"{where} has {seed!r}", "seeds are whole numbers from 0 to 2**63 - 1")
        if seeds.count(seed) > 1:
            raise InputError(f"{where} has the seed {seed} twice", "one image would be made twice")
    return tuple(seeds)


def _prompted(value: dict[str, Any], at: _At) -> tuple[str, ...]:
    named = value.get("prompted") or []
    if not isinstance(named, list):
        raise InputError(f"{at.where}: prompted is {named!r}", "write a list of dimensions")
    for name in named:
        if name not in DIMENSIONS:
            hint = nearest(str(name), list(DIMENSIONS)) or "see the attribute schema"
            raise InputError(f"{at.where}: prompted has {name!r}, which is no dimension", hint)
    return tuple(named)
