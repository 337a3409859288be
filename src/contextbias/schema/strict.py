"""The codebook as a JSON schema that constrained decoders accept, and answers back into records.

The form is made for strict modes and grammar engines: every property is required, no further one
is allowed, lists and strings are bounded, and there are no references, defaults, unions or maps.
Within an object short closed answers come first and open lists last, so that an answer that is cut
off has lost the least, and a presence question is answered before its kind.

It differs from a record (see records.py) in one thing: a list that could not be read is
``["unknown"]`` there and ``"unknown"`` here, because strict modes want one type a property.
"""

from __future__ import annotations

from typing import Any

from contextbias.schema.codebook import COHORTS, EMPTY, UNKNOWN, Dimension, dimensions_of
from contextbias.schema.records import NOT_APPLICABLE, Record

SCHEMA_NAME = "picture_record"
"""What the schema is called where a service asks for a name."""

MOST_PEOPLE = 6
"""People that an answer may describe, unless told otherwise."""

OPEN_LABEL = "^[a-z0-9][a-z0-9 '/-]{0,39}$"
"""What an open label looks like: 40 characters of plain lower-case English at most. A pattern and
not a length, because some grammar engines let control characters into strings without one."""

_ORDER = ("camera", "scene", "people", "objects")
_MOST = {"items": 15, "activities": 4, "clothing_garment": 8, "accessories": 6}
_MOST_CLOSED = 5  # of a closed list: dominant colours, visual styles


def strict_schema(*, people: int = MOST_PEOPLE) -> dict[str, Any]:
    """The JSON schema of an answer about one picture.

    Args:
        people: How many people it may describe, 1 or more.

    Returns:
        A schema in the subset that strict modes take: 5 levels deep, 35 properties and 247
        enumerated values.
    """
    properties = {cohort: _cohort(cohort, people) for cohort in _ORDER}
    return _object(properties)


def _cohort(cohort: str, people: int) -> dict[str, Any]:
    answers = _object({d.name: _answer(d) for d in _shortest_first(cohort)})
    if cohort != "people":
        return answers
    return {"type": "array", "maxItems": people, "items": answers}


def _shortest_first(cohort: str) -> list[Dimension]:
    """Codebook order, single labels before closed lists before open ones."""
    return sorted(dimensions_of(cohort), key=lambda d: (d.is_open, d.kind == "many"))


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _answer(dimension: Dimension) -> dict[str, Any]:
    labels = [*dimension.vocabulary, UNKNOWN]
    if dimension.name == "weather":
        labels.insert(-1, NOT_APPLICABLE)
    label: dict[str, Any] = {"type": "string"}
    label |= {"pattern": OPEN_LABEL} if dimension.is_open else {"enum": labels}
    if dimension.kind == "one":
        return label
    return {"type": "array", "maxItems": _MOST.get(dimension.name, _MOST_CLOSED), "items": label}


def record_of_answer(answer: object) -> Record:
    """Bring an answer in the form of `strict_schema` into that of a record.

    Lists lose repetitions and, beside other labels, ``unknown``; a list of nothing but ``unknown``
    (or blanks) is ``"unknown"``. Spaces around labels go. Whatever is not of the form is passed on
    as it is: `records.check_record` says what is wrong with it.

    Args:
        answer: Parsed JSON.

    Returns:
        A record, to be checked.
    """
    if not isinstance(answer, dict):
        return answer  # type: ignore[return-value] # check_record names its type
    record: Record = dict(answer)
    for cohort in COHORTS:
        told = record.get(cohort)
        if cohort == "people" and isinstance(told, list):
            record[cohort] = [_answers(cohort, person) for person in told]
        elif cohort != "people":
            record[cohort] = _answers(cohort, told)
    return {key: value for key, value in record.items() if value is not None}


def _answers(cohort: str, told: Any) -> Any:
    if not isinstance(told, dict):
        return told
    many = {d.name: d for d in dimensions_of(cohort) if d.kind == "many"}
    return {
        name: _labels(many[name], value)
        if name in many and isinstance(value, list)
        else _trimmed(value)
        for name, value in told.items()
    }


def _labels(dimension: Dimension, told: list[Any]) -> Any:
    trimmed = [_trimmed(label) for label in told]
    if not all(isinstance(label, str) for label in trimmed):
        return trimmed
    found = list(dict.fromkeys(label for label in trimmed if label))
    known = [label for label in found if label != UNKNOWN]
    if told and not known:
        return UNKNOWN
    # Of an open question "none" means that there is nothing; of a closed one it is a label.
    return [] if dimension.is_open and known == [EMPTY] else known


def _trimmed(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value
