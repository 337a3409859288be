"""How the simulated generator follows a prompt that names a label.

With the probability `compliance` the picture shows what was named; otherwise it is drawn as if the
label had not been named, which may show it all the same. What depends on the label is put right
with it, so that the record is one that a picture can have: a named pair of glasses makes
``eyewear_present`` "yes", a named build is not hidden by a tight frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextbias.generate.planted_answers import HIDES_HAIR
from contextbias.schema.codebook import DIMENSIONS, EMPTY, UNKNOWN
from contextbias.schema.records import Record
from contextbias.schema.wording import Named

_HIDDEN_WHEN_TIGHT = frozenset({"body_type", "pose", "accessories", "items"})
_KINDS = {
    "eyewear_present": ("eyewear_type", "eyeglasses"),
    "facial_hair_present": ("facial_hair_style", "beard"),
    "head_covering_present": ("head_covering_type", "hat"),
}
_OF_HAIR = frozenset({"hair_present", "hair_color", "hair_style"})


def nodes_for(named: Named) -> Mapping[str, str]:
    """Nodes of the planted network (planted_nodes.py) that a named label settles.

    What depends on them is drawn after them; the rest of the label is put in by `show`.
    """
    settled: dict[str, str] = {}
    if named.dimension == "gender_presentation":
        settled[named.dimension] = named.label
    if named.dimension in _HIDDEN_WHEN_TIGHT:
        settled["framing"] = "medium"
    return settled


def show(record: Record, named: Named) -> None:
    """Change a record of one person so that it shows what was named."""
    cohort = DIMENSIONS[named.dimension].cohort
    home = record["people"][0] if cohort == "people" else record[cohort]
    if DIMENSIONS[named.dimension].kind == "many":
        home[named.dimension] = _list(home[named.dimension], named)
    else:
        home[named.dimension] = named.label
    if cohort == "people":
        _settle_kinds(home, named)
        _settle_hair(home, named)


def _list(labels: list[str] | str, named: Named) -> list[str]:
    there = [] if isinstance(labels, str) else [y for y in labels if y not in (named.label, EMPTY)]
    return [named.label, *there] if named.present else there


def _settle_kinds(person: dict[str, Any], named: Named) -> None:
    """Bring a presence question and its kind together."""
    for present, (kind, usual) in _KINDS.items():
        if named.dimension == present:
            if named.label == "no":
                person[kind] = EMPTY
            elif person[kind] in (EMPTY, UNKNOWN):
                person[kind] = usual
        elif named.dimension == kind:
            person[present] = "no" if named.label == EMPTY else "yes"
    if named.dimension == "facial_hair_color" and person["facial_hair_present"] != "yes":
        person["facial_hair_present"], person["facial_hair_style"] = "yes", "beard"
    if person["facial_hair_present"] == "no":
        person["facial_hair_color"] = UNKNOWN
    elif person["facial_hair_color"] == UNKNOWN:
        person["facial_hair_color"] = person["hair_color"]


def _settle_hair(person: dict[str, Any], named: Named) -> None:
    """Hair that is named is seen; hair under a covering, or none at all, has neither colour nor
    style."""
    hidden = person["head_covering_type"] in HIDES_HAIR
    if named.dimension in _OF_HAIR and hidden:
        person["head_covering_present"], person["head_covering_type"] = "no", EMPTY
    if named.dimension in ("hair_color", "hair_style"):
        person["hair_present"] = "yes"
    elif named.dimension in ("head_covering_present", "head_covering_type"):
        person["hair_present"] = "no" if hidden else "yes"
    if person["hair_present"] == "no":
        person["hair_color"] = person["hair_style"] = UNKNOWN
