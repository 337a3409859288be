"""How the paper's released code spells labels, and the form of its per-image records.

Its rules decide which answers it counts as one, so the preset ``reference`` needs them as they are,
oddities included. Ours are in canonicalise/.
"""

from __future__ import annotations

import re
from typing import Any

from contextbias.schema.codebook import (
    COHORTS,
    EMPTY,
    UNKNOWN,
    Dimension,
    dimensions_of,
)
from contextbias.schema.records import Record

RELEASED_SCENE = "scene_appearance"
"""Its name of the cohort ``scene``; the others are called as here."""

RELEASED_IMAGES = 10
"""Images a prompt: every prompt with an answer counts as so many, and sums are cut there."""

READ_AS_EMPTY = frozenset(
    ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
     "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]
)  # fmt: skip
"""Texts of a CSV that pandas reads as missing unless told otherwise; its code does not tell it, and
turns them into an empty label, which then counts as one."""

_GAPS = re.compile(r"[\s-]+")
# Of this model it leaves out labels with a bar in them, which come from answers like
# "hat|colors=white".
_WITHOUT_BARS = "SDXL"


def released_spelling(text: str) -> str:
    """Lower case, spaces around taken away, runs of space and hyphen as one underscore."""
    return _GAPS.sub("_", text.strip().lower())


def released_label(surface: str, generator: str) -> str | None:
    """The label that the released code makes of an answer.

    Args:
        surface: The answer as the CSV has it.
        generator: End of the generator folder's name.

    Returns:
        The label, possibly empty; None when it is left out: ``unknown``, and of SDXL alone labels
        with a bar.
    """
    label = "" if surface in READ_AS_EMPTY else released_spelling(surface)
    if label == UNKNOWN or (generator == _WITHOUT_BARS and "|" in label):
        return None
    return label


def record_of_released(cohorts: dict[str, Any]) -> tuple[Record, list[str]]:
    """Turn the object ``cohorts`` of a released record into a record of ours.

    Labels of closed vocabularies are spelt as there, lists lose ``unknown`` and repetitions, and
    what is left out is ``unknown``. An empty list stays one: that form has no other word for
    "looked, and there is nothing". Whether the labels are those of the vocabularies is for
    `check_record` to say.

    Args:
        cohorts: As in the file.

    Returns:
        The record, and what cannot be put into our form.
    """
    faults: list[str] = []
    record: Record = {}
    for cohort in COHORTS:
        told = cohorts.get(RELEASED_SCENE if cohort == "scene" else cohort)
        if told is not None and not isinstance(told, dict):
            faults.append(f"{cohort} is not an object")
        holder = told if isinstance(told, dict) else {}
        if cohort == "people":
            record[cohort] = _people(holder.get("persons"), faults)
        else:
            record[cohort] = {d.name: _answer(d, holder.get(d.name)) for d in dimensions_of(cohort)}
    return record, faults


def _people(persons: object, faults: list[str]) -> list[dict[str, Any]]:
    if persons is None:
        return []
    if not isinstance(persons, list) or not all(isinstance(person, dict) for person in persons):
        faults.append("people.persons is not a list of objects")
        return []
    return [_person(person) for person in persons]


def _person(person: dict[str, Any]) -> dict[str, Any]:
    """One person; garments and their colours are two lists there, in one object a garment."""
    clothing = person.get("clothing")
    worn: dict[str, Any] = {}
    if isinstance(clothing, list):
        pieces = [piece for piece in clothing if isinstance(piece, dict)]
        for name in ("clothing_garment", "clothing_color"):
            told = [label for piece in pieces for label in _as_list(piece.get(name))]
            # Garments of which no colour is told are not garments without colour.
            worn[name] = told if told or not pieces else UNKNOWN
    answers = worn | person
    return {d.name: _answer(d, answers.get(d.name)) for d in dimensions_of("people")}


def _answer(dimension: Dimension, told: object) -> Any:
    if told is None or told == "":
        return UNKNOWN
    if dimension.kind == "one":
        return _label(dimension, told)
    labels = list(dict.fromkeys(_label(dimension, label) for label in _as_list(told)))
    known = [label for label in labels if label != UNKNOWN]
    if labels and not known:
        return UNKNOWN
    return [label for label in known if label != EMPTY] or known


def _label(dimension: Dimension, told: object) -> Any:
    if not isinstance(told, str):
        return told if isinstance(told, int | float) else str(told)
    spelt = released_spelling(told)
    return told.strip() if dimension.is_open and spelt != UNKNOWN else spelt


def _as_list(value: object) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
