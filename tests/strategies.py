"""Strategies that several tests draw from."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from contextbias.schema import (
    COHORTS,
    DIMENSIONS,
    EMPTY,
    UNKNOWN,
    Dimension,
    Record,
    dimensions_of,
)

_PHRASES = st.text("abcdefghij ", min_size=1, max_size=12).filter(str.strip)
_PRESENCE = {
    "eyewear_present": "eyewear_type",
    "facial_hair_present": "facial_hair_style",
    "head_covering_present": "head_covering_type",
}


def answers(dim: Dimension) -> st.SearchStrategy[Any]:
    """Valid answers to one dimension, ``unknown`` included."""
    words = st.sampled_from(dim.vocabulary) if dim.vocabulary else _PHRASES
    if dim.kind == "one":
        return words | st.just(UNKNOWN)
    some = st.lists(words.filter(lambda word: word != EMPTY), max_size=3, unique=True)
    nothing = st.just([EMPTY]) if EMPTY in dim.vocabulary else st.nothing()
    return some | nothing | st.just(UNKNOWN)


@st.composite
def people(draw: st.DrawFn) -> dict[str, Any]:
    """One person whose answers do not contradict each other."""
    person = {dim.name: draw(answers(dim)) for dim in dimensions_of("people")}
    for present, kind in _PRESENCE.items():
        if person[present] == "no":
            person[kind] = draw(st.sampled_from([EMPTY, UNKNOWN]))
        elif person[present] == "yes" and person[kind] == EMPTY:
            person[kind] = UNKNOWN
    return person


@st.composite
def records(draw: st.DrawFn, *, max_people: int = 3) -> Record:
    """Valid records of schema version 1."""
    record: Record = {
        cohort: {dim.name: draw(answers(dim)) for dim in dimensions_of(cohort)}
        for cohort in COHORTS
        if cohort != "people"
    }
    record["people"] = draw(st.lists(people(), max_size=max_people))
    return record


def places(record: Record) -> list[tuple[dict[str, Any], Dimension]]:
    """Every (answers, dimension) of a record."""
    groups = [(record[c], c) for c in COHORTS if c != "people"]
    groups += [(person, "people") for person in record["people"]]
    return [(group, DIMENSIONS[d.name]) for group, c in groups for d in dimensions_of(c)]


@st.composite
def cell_counts(draw: st.DrawFn, *, smallest: int = 0, largest: int = 60) -> Any:
    """Images with a label and images read, by condition: shape (2, 3); x never above n."""
    n = [draw(st.integers(smallest, largest)) for _ in range(3)]
    x = [draw(st.integers(0, size)) for size in n]
    return np.array([x, n])
