"""The attribute record: the form in which every reader, machine or human, answers.

A record is plain JSON::

    {"scene":   {"mood": "calm", "dominant_colors": ["blue", "white"], ...},
     "camera":  {"framing": "medium", ...},
     "objects": {"items": ["stethoscope", "clipboard"]},
     "people":  [{"gender_presentation": "female", "clothing_garment": ["scrubs"], ...}, ...]}

``people`` is ordered by prominence: the first person is the primary one. An empty list there means
that nobody is visible. A dimension that could not be read is the string ``"unknown"``, whatever its
kind; a ``many`` dimension that was read and found nothing is ``[]``.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from contextbias.schema.codebook import COHORTS, DIMENSIONS, EMPTY, UNKNOWN, dimensions_of

Record: TypeAlias = dict[str, Any]
"""One reader's answers about one image; see the module's docstring."""

NOT_APPLICABLE = "not_applicable"
"""Allowed for ``weather`` alone: the scene is indoors. Missing, with its own reason."""

# A presence question and the questions that its "no" settles.
_IMPLIED_BY_NO = {
    "eyewear_present": ("eyewear_type",),
    "facial_hair_present": ("facial_hair_style",),
    "head_covering_present": ("head_covering_type",),
}


def empty_person() -> dict[str, Any]:
    """A person of whom nothing could be read: every dimension ``unknown``."""
    return {d.name: UNKNOWN for d in dimensions_of("people")}


def empty_record() -> Record:
    """A record in which nothing could be read and nobody is visible."""
    record: Record = {
        cohort: {d.name: UNKNOWN for d in dimensions_of(cohort)}
        for cohort in COHORTS
        if cohort != "people"
    }
    record["people"] = []
    return record


def check_record(record: object) -> list[str]:
    """List everything in which `record` departs from schema version 1; empty when it is valid.

    Checked: cohorts and dimensions are exactly those of the codebook, each answer has its
    dimension's kind, closed labels are in the vocabulary, and answers about one person do not
    contradict each other (``eyewear_present`` "no" with an ``eyewear_type``, or the reverse).
    """
    if not isinstance(record, dict):
        return [f"the record is {type(record).__name__}, not an object"]
    faults = _differences("record", set(record), set(COHORTS))
    for cohort in COHORTS:
        if cohort != "people" and isinstance(record.get(cohort), dict):
            faults += _check_answers(cohort, cohort, record[cohort])
        elif cohort != "people" and cohort in record:
            faults.append(f"{cohort} is not an object")
    people = record.get("people", [])
    if not isinstance(people, list):
        return [*faults, "people is not a list"]
    for index, person in enumerate(people):
        if not isinstance(person, dict):
            faults.append(f"people[{index}] is not an object")
            continue
        faults += _check_answers("people", f"people[{index}]", person)
        faults += _contradictions(f"people[{index}]", person)
    return faults


def _differences(where: str, seen: set[str], expected: set[str]) -> list[str]:
    return [f"{where} lacks {name}" for name in sorted(expected - seen)] + [
        f"{where} has an unknown key {name!r}" for name in sorted(map(str, seen - expected))
    ]


def _check_answers(cohort: str, where: str, answers: dict[str, Any]) -> list[str]:
    expected = {d.name for d in dimensions_of(cohort)}
    faults = _differences(where, set(answers), expected)
    for name in sorted(expected & set(answers)):
        faults += _check_answer(f"{where}.{name}", name, answers[name])
    return faults


def _check_answer(where: str, name: str, answer: object) -> list[str]:
    dim = DIMENSIONS[name]
    if answer == UNKNOWN or (name == "weather" and answer == NOT_APPLICABLE):
        return []
    if dim.kind == "one":
        labels = [answer]
    elif isinstance(answer, list):
        labels = answer
    else:
        return [f"{where} is not a list"]
    faults = []
    for label in labels:
        if not isinstance(label, str) or not label.strip():
            faults.append(f"{where} has the label {label!r}, not a word")
        elif not dim.is_open and label not in dim.vocabulary:
            faults.append(f"{where} has the label {label!r}, not in its vocabulary")
    if EMPTY in labels and len(labels) > 1:
        faults.append(f"{where} has {EMPTY!r} beside other labels")
    return faults


def _contradictions(where: str, person: dict[str, Any]) -> list[str]:
    faults = []
    for present, implied in _IMPLIED_BY_NO.items():
        for name in implied:
            kind = person.get(name)
            if person.get(present) == "no" and kind not in (EMPTY, UNKNOWN):
                faults.append(f"{where}: {present} is 'no' but {name} is {kind!r}")
            if person.get(present) == "yes" and kind == EMPTY:
                faults.append(f"{where}: {present} is 'yes' but {name} is {EMPTY!r}")
    return faults
