"""How a prompt names a label: the phrases of ``wording.toml``, said and understood.

Bench puts them into prompts whose truth is known, and the simulated generator reads them out of
its prompt, as a model that understands text would. A dimension is *verifiable* when it has phrases
here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from contextbias.schema.codebook import DIMENSIONS, EMPTY

ROLE = "{}"
"""Where the role stands in a phrase."""

OPENING = "a photo of"
"""How a prompt that names a label begins."""

_LABEL = "LABEL"
_WITH_ARTICLE = f"a {_LABEL}"


@dataclass(frozen=True, slots=True, order=True)
class Named:
    """One label that a prompt names."""

    dimension: str
    """Name in the codebook."""
    label: str
    """Which label of it."""
    present: bool = True
    """False: the prompt says that it is not there (lists alone; elsewhere that is a label)."""


def verifiable() -> tuple[str, ...]:
    """Dimensions with phrases, in codebook order."""
    known = _table()
    return tuple(name for name in DIMENSIONS if name in known["one"] or name in known["many"])


def phrase_of(named: Named, with_article: Callable[[str], str]) -> str | None:
    """The phrase that names a label, with `ROLE` where the role belongs.

    Args:
        named: What is named.
        with_article: Gives an open label its article: ``apron`` -> ``an apron``.

    Returns:
        Such as ``{} wearing a mask``, or None where no phrase names it.
    """
    known = _table()
    if named.dimension in known["one"]:
        phrase = known["one"][named.dimension].get(named.label)
        return str(phrase) if phrase is not None and named.present else None
    entry = known["many"].get(named.dimension)
    if entry is None or named.label == EMPTY:
        return None
    template = str(entry["with" if named.present else "without"])
    words = entry.get("words")
    if words is not None:
        word = words.get(named.label)
        return None if word is None else template.replace(_LABEL, word)
    return template.replace(_WITH_ARTICLE, with_article(named.label)).replace(_LABEL, named.label)


def named_in(text: str, *, role: str, location: str | None) -> Named | None:
    """What a prompt names of its role's person, as bench's explicit prompts say it.

    Two forms are understood: without a place, ``a photo of a male nurse``, ``a photo of a nurse
    wearing a mask``; with one, ``a photo of a male nurse in a park``, ``a photo of a nurse in a
    park, wearing a mask``.

    Args:
        text: The prompt.
        role: Its role, in any letter case.
        location: Its location; None for none.

    Returns:
        None where it names nothing that is known here, as prompts of a bank do.
    """
    spaced = r"[\s_-]+".join(map(re.escape, role.split()))
    match = re.fullmatch(rf"{OPENING} (?:an? )?(.*?)\b{spaced}\b(.*)", text, re.IGNORECASE)
    if match is None:
        return None
    before, after = match[1].strip(), match[2].strip()
    if location is not None:
        after = after.rpartition(", ")[2] if ", " in after else ""
    if bool(before) == bool(after):
        return None
    said = f"{before} {ROLE}" if before else f"{ROLE} {after}"
    return _closed().get(said) or _open(said)


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(files("contextbias.schema").joinpath("wording.toml").read_text("utf-8"))


@cache
def _closed() -> Mapping[str, Named]:
    """Phrase -> what it names, of closed vocabularies."""
    found: dict[str, Named] = {}
    for name, phrases in _table()["one"].items():
        found |= {phrase: Named(name, label) for label, phrase in phrases.items()}
    for name, entry in _table()["many"].items():
        for label in entry.get("words", ()):
            for present in (True, False):
                named = Named(name, label, present)
                found[str(phrase_of(named, str))] = named
    return found


def _open(said: str) -> Named | None:
    for name, entry in _table()["many"].items():
        if "words" in entry:
            continue
        for key, present in (("without", False), ("with", True)):
            pattern = re.escape(entry[key]).replace(re.escape(_WITH_ARTICLE), r"(?:an? )?LABEL")
            match = re.fullmatch(pattern.replace(_LABEL, "(.+)"), said)
            if match is not None:
                return Named(name, match[1], present)
    return None
