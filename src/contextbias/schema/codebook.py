"""Schema version 1: four cohorts, 31 dimensions, their vocabularies and how they are read.

The table itself is ``codebook.toml`` beside this file, so that it can be read and cited without
Python. Source: the paper's schema (Table 6) and the vocabularies of its released code.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Literal

CODEBOOK_VERSION = "1"
"""Version of dimensions and vocabularies; a column of every estimate."""

COHORTS = ("scene", "camera", "objects", "people")
"""The four cohorts, in the order of every table and figure."""

UNKNOWN = "unknown"
"""A reader's answer when the picture does not show enough; never a label."""

EMPTY = "none"
"""Of a dimension that has it in its vocabulary: looked, and there is nothing of the kind."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One question about an image, or about each person in it."""

    name: str
    """Unique over all cohorts."""
    cohort: Literal["scene", "camera", "objects", "people"]
    """Where it belongs; ``people`` dimensions are asked for each person."""
    kind: Literal["one", "many"]
    """``one``: a single label. ``many``: a list of labels, possibly empty."""
    vocabulary: tuple[str, ...]
    """The closed vocabulary without ``unknown``; empty when the vocabulary is open."""
    question: str
    """What is asked, in words that a reader or an annotator sees."""

    @property
    def is_open(self) -> bool:
        """True when any short phrase may be a label."""
        return not self.vocabulary

    @property
    def per_person(self) -> bool:
        """True when the question is asked for each person."""
        return self.cohort == "people"


@cache
def _load() -> Mapping[str, Dimension]:
    text = files("contextbias.schema").joinpath("codebook.toml").read_text("utf-8")
    table = tomllib.loads(text)
    shared = table["vocabularies"]
    found = {}
    for row in table["dimensions"]:
        words = row.get("vocabulary", [])
        vocabulary = tuple(shared[words] if isinstance(words, str) else words)
        found[row["name"]] = Dimension(
            row["name"], row["cohort"], row["kind"], vocabulary, row["question"]
        )
    return MappingProxyType(found)


DIMENSIONS: Mapping[str, Dimension] = _load()
"""All dimensions by name, in codebook order."""


def dimension(name: str) -> Dimension:
    """Look a dimension up.

    Raises:
        KeyError: No such dimension.
    """
    return DIMENSIONS[name]


def dimensions_of(cohort: str) -> tuple[Dimension, ...]:
    """The dimensions of one cohort, in codebook order."""
    return tuple(d for d in DIMENSIONS.values() if d.cohort == cohort)
