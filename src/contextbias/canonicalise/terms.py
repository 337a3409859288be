"""What is known about terms without an encoder: their form, synonyms, and what is kept apart.

The knowledge is in ``terms.toml``, which says how to read it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from contextbias.canonicalise.cluster import Constraints, IntArray
from contextbias.canonicalise.text import normalise
from contextbias.ids import bytes_sha256

_ACTIVITIES = "activities"
_GARMENTS = "clothing_garment"
_SIBILANT = ("shes", "ches", "xes", "zes", "sses", "oes")
_SILENT = ("she", "che", "xe", "ze")
# Endings whose plural cannot be told from that of "sh", "ch", "x", "z".


@dataclass(frozen=True)
class Family:
    """Classes of terms that exclude one another."""

    name: str
    """What the classes are kinds of."""
    classes: dict[str, int]
    """Form of an ending or a beginning -> number of its class."""
    is_beginning: bool
    """Whether the classes go by the beginning of an activity."""


@dataclass(frozen=True)
class Terms:
    """The content of ``terms.toml``, by form."""

    version: str
    """Its version and hash."""
    words: dict[str, list[str]]
    """Replacements of words."""
    keep: frozenset[str]
    """Words that end in s for good."""
    irregular: dict[str, str]
    """Plural -> singular."""
    articles: frozenset[str]
    """Words that name nothing."""
    colours: frozenset[str]
    """Words for colours."""
    prepositions: frozenset[str]
    """Words that begin a complement."""
    same: dict[str, dict[str, int]]
    """``things`` or ``activities`` -> form -> number of its set of synonyms."""
    leading: dict[str, list[str]]
    """``things`` or ``activities`` -> first name of each set, normalised."""
    families: tuple[Family, ...]
    """What is kept apart."""
    missing: dict[str, str]
    """Normalised answer that names nothing -> ``unknown`` or ``none``."""

    def form_words(self, term: str) -> list[str]:
        """Words of a normalised term, without articles, in the singular, in one spelling.

        A term that has no other words keeps its articles.
        """
        words: list[str] = []
        for word in term.split():
            words.extend(self.words.get(word) or [word])
        kept = [word for word in words if word not in self.articles] or words
        return [single for word in kept for single in self._singular(word)]

    def _singular(self, word: str) -> list[str]:
        found = word
        if word in self.irregular:
            found = self.irregular[word]
        elif word in self.keep or len(word) < 4 or word.endswith(("ss", "us", "is")):
            return [_without_e(word)]
        elif word.endswith("ies") and len(word) > 4:
            found = word[:-3] + "y"
        elif word.endswith(_SIBILANT):
            found = word[:-1] if word[:-1] in self.words else word[:-2]
        elif word.endswith("s"):
            found = word[:-1]
        return [_without_e(each) for each in self.words.get(found) or [found]]


def no_answer(term: str) -> str | None:
    """``unknown`` or ``none``, where a normalised term is in words what these two say; else None.

    Readers without constrained decoding write "not visible" and "n/a" where they should say
    ``unknown``. Counted, that would be a label.
    """
    return terms().missing.get(term)


def form(term: str, dimension: str) -> str:
    """What is left of a term when articles, number, spacing and variants of spelling are.

    Args:
        term: A normalised term.
        dimension: Its dimension. Of garments, colours are taken off too, unless the term is a
            garment of its own with them ("white coat"), or nothing else.

    Returns:
        A key that terms of one form share; no text to show.
    """
    words = terms().form_words(term)
    key = "".join(words)
    if dimension == _GARMENTS and key not in terms().same["things"]:
        plain = [word for word in words if word not in terms().colours]
        return "".join(plain) or key
    return key


def synonym_set(term: str, dimension: str) -> int | None:
    """Number of the set of synonyms that a normalised term is in; None for none."""
    return terms().same[_scope(dimension)].get(form(term, dimension))


def starting_groups(names: Sequence[str], dimension: str, *, synonyms: bool = True) -> IntArray:
    """Terms of one form, and synonyms, as groups.

    Args:
        names: Normalised terms.
        dimension: Their dimension.
        synonyms: False for terms of one form only.

    Returns:
        (n,) number of the first term of each term's group.
    """
    first: dict[str | int, int] = {}
    groups = np.empty(len(names), np.int64)
    for place, name in enumerate(names):
        key = synonym_set(name, dimension) if synonyms else None
        groups[place] = first.setdefault(form(name, dimension) if key is None else key, place)
    return groups


def kept_apart(names: Sequence[str], dimension: str) -> Constraints:
    """What of `names` may not be one label.

    Args:
        names: Normalised terms.
        dimension: Their dimension.

    Returns:
        The class of each term in each family that any of them is in. Synonyms have the class of the
        first name of their set.
    """
    columns = []
    pieces = [terms().form_words(_leading(name, dimension)) for name in names]
    for family in terms().families:
        if family.is_beginning and dimension != _ACTIVITIES:
            continue
        column = np.array([_class(family, words, dimension) for words in pieces], np.int16)
        if (column >= 0).any():
            columns.append(column)
    classes = np.stack(columns, axis=1) if columns else np.full((len(names), 0), -1, np.int16)
    return Constraints(classes, np.empty((0, 2), np.int64))


@cache
def terms() -> Terms:
    """The table, read once."""
    data = files("contextbias.canonicalise").joinpath("terms.toml").read_bytes()
    table = tomllib.loads(data.decode())
    bare = Terms(
        version=f"{table['version']}-{bytes_sha256(data)[:12]}",
        words={word: text.split() for word, text in table["words"].items()},
        keep=frozenset(table["number"]["keep"]),
        irregular=table["number"]["irregular"],
        articles=frozenset(table["parts"]["articles"]),
        colours=frozenset(table["parts"]["colours"]),
        prepositions=frozenset(table["parts"]["prepositions"]),
        same={},
        leading={},
        families=(),
        missing={text: label for label, texts in table["missing"].items() for text in texts},
    )
    same = {
        scope: {
            "".join(bare.form_words(normalise(name))): number
            for number, names in enumerate(sets)
            for name in names
        }
        for scope, sets in table["same"].items()
    }
    return replace(
        bare,
        same=same,
        leading={scope: [normalise(n[0]) for n in sets] for scope, sets in table["same"].items()},
        families=_families(bare, table["distinct"]),
    )


def _without_e(word: str) -> str:
    """What singular and plural share: "siz" of "size" and "sizes"."""
    return word[:-1] if word.endswith(_SILENT) else word


def _families(bare: Terms, entries: Sequence[dict[str, Any]]) -> tuple[Family, ...]:
    """The families; those that are joined are one."""
    found: dict[tuple[str, bool], dict[str, int]] = {}
    for entry in entries:
        is_beginning = "beginning" in entry
        classes = found.setdefault((entry.get("joined", entry["name"]), is_beginning), {})
        for names in entry["beginning" if is_beginning else "ending"]:
            keys = [_key(bare, name) for name in names]
            shared = sorted({classes[key] for key in keys if key in classes})
            number = shared[0] if shared else 1 + max(classes.values(), default=-1)
            classes.update({key: number for key, old in classes.items() if old in shared})
            classes.update(dict.fromkeys(keys, number))
    return tuple(Family(name, classes, first) for (name, first), classes in found.items())


def _key(bare: Terms, name: str) -> str:
    """Form of a name of the table; ``=`` marks one that is the whole of a term."""
    return "=" * name.startswith("=") + "".join(bare.form_words(normalise(name)))


def _leading(name: str, dimension: str) -> str:
    number = synonym_set(name, dimension)
    return name if number is None else terms().leading[_scope(dimension)][number]


def _scope(dimension: str) -> str:
    return _ACTIVITIES if dimension == _ACTIVITIES else "things"


def _class(family: Family, words: list[str], dimension: str) -> int:
    """Class of the longest beginning or ending that the family knows; -1 for none."""
    if family.is_beginning:
        part = words
        runs = ["".join(words[:end]) for end in range(len(words), 0, -1)]
    else:
        part = _object(words) if dimension == _ACTIVITIES else _head(words)
        runs = ["".join(part[begin:]) for begin in range(len(part))]
    whole = "=" + "".join(part)
    return next((family.classes[run] for run in (whole, *runs) if run in family.classes), -1)


def _head(words: list[str]) -> list[str]:
    """A thing up to its first preposition: "pair" of "pair of gloves"."""
    for place, word in enumerate(words):
        if place and word in terms().prepositions:
            return words[:place]
    return words


def _object(words: list[str]) -> list[str]:
    """What an activity is done to; nothing where a preposition stands between."""
    return [] if terms().prepositions & set(words) else words[1:]
