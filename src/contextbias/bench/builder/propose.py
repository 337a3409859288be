"""What a language model is asked to propose, and what its answers have to look like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contextbias.bench.builder.roles import WantedRole
from contextbias.bench.builder.subject import Subject
from contextbias.ids import content_hash
from contextbias.llm import Question
from contextbias.schema import DIMENSIONS

EACH = 6
"""Places, and activities, that are asked for a role."""

THEMES = (
    "outdoors and nature",
    "streets, squares and travel",
    "at home",
    "shops and services",
    "leisure and culture",
)
"""Parts of an everyday pool, each a question."""
_POOL_PLACES, _POOL_ACTIVITIES = 10, 20

RULES = """\
You write short contexts for prompts of text-to-image models. The prompts compare how a person in \
a role is pictured when the scene changes. So a context must say where the person is or what the \
person does, and nothing about how the person looks.

A context:
- names no clothing, tool, equipment worn or held for the job, colour, posture, facial expression, \
hair, body, age, gender, ethnicity, nationality, religion, disability, wealth, brand or name;
- names no other person and no other role;
- does not tie the scene to a season, the weather, a holiday, a time of day or an era;
- is plain, concrete and easy to draw, and can be pictured for any person whatever.
A place is a preposition, an article where the language has one, and a name: "in a hospital room". \
An activity is a phrase that follows the role: "examining a patient". It names the things that it \
needs only where it cannot be said without."""

_KINDS: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int
}  # fmt: skip
_TEXTS = {"type": "array", "items": {"type": "string"}}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_ACTIVITY = _object(text={"type": "string"}, at=_TEXTS, names_a_visible_thing={"type": "boolean"})
ROLE_SCHEMA = _object(
    forms={"type": "array", "items": _object(gender={"type": "string", "enum": ["", "m", "f", "n"]},
                                             text={"type": "string"})},
    soc={"type": "string"},
    work=_TEXTS,
    places=_TEXTS,
    activities={"type": "array", "items": _ACTIVITY},
)  # fmt: skip
"""Answer about a role."""
POOL_SCHEMA = _object(
    places={"type": "array", "items": _object(text={"type": "string"}, tags=_TEXTS)},
    activities={"type": "array", "items": _object(text={"type": "string"}, at=_TEXTS, tags=_TEXTS,
                                                  names_a_visible_thing={"type": "boolean"})},
)  # fmt: skip
"""Answer about one theme of an everyday pool."""
AXIS_SCHEMA = _object(values=_TEXTS, names=_TEXTS)
"""Answer about an axis."""

TEMPLATE = content_hash(["propose", RULES, ROLE_SCHEMA, POOL_SCHEMA, AXIS_SCHEMA, 1], length=12)
"""Hash of instructions and schemas; part of every key."""


def role_question(subject: Subject, role: WantedRole) -> Question:
    """Ask for the contexts of one role."""
    lines = [
        f"Role: {role.name}" + (f" ({role.about})" if role.about else ""),
        *_language_lines(subject),
        f"Give {EACH} places where this work is typically done, the most typical first, and "
        f"{EACH} activities that are part of it. Under `at` list for each activity the names of "
        "those of your places where it is plausible, without preposition and article. Let at least "
        "two activities fit the first place. `names_a_visible_thing`: whether the words name a "
        "thing that a picture would show.",
        "Under `forms` give the role's noun as it stands after the beginning of the sentence: "
        + _forms_line(subject),
        "Under `soc` give the major group of the 2018 Standard Occupational Classification, such "
        "as 29-0000; empty if it is no occupation.",
        "Under `work` list those of these kinds of work that belong to the role (names only):",
        *_tag_lines(subject),
    ]
    return _question("role_contexts", ROLE_SCHEMA, lines, 1200, role=role.name)


def pool_question(subject: Subject, theme: str) -> Question:
    """Ask for one theme of an everyday pool."""
    lines = [
        "Everyday contexts that belong to nobody's work in particular: anyone can be met there, "
        "doing that, on a free day.",
        f"Theme: {theme}",
        *_language_lines(subject),
        f"Give {_POOL_PLACES} places and {_POOL_ACTIVITIES} activities. Under `at` list for each "
        "activity the names of all of your places where people do it, without preposition and "
        "article. Let two activities or more fit each place. `names_a_visible_thing`: whether the "
        "words name a thing that a picture would show. Under `tags` list those of these kinds of "
        "work that the context could belong to, if any (names only):",
        *_tag_lines(subject),
    ]
    return _question("everyday_contexts", POOL_SCHEMA, lines, 2500, theme=theme)


def axis_question(subject: Subject, axis: str) -> Question:
    """Ask for the values of one axis."""
    lines = [
        f"A further axis of the prompts: {axis}. A value ends the sentence, after a place or "
        "without one, so it has to suit indoors and outdoors: for lighting 'at night', 'under "
        "soft light'.",
        *_language_lines(subject),
        "Of the rules, those about what the axis itself varies do not hold here.",
        "Give 4 to 6 `values`, clearly different from each other. Under `names` list those of "
        "these dimensions of the attribute schema that the values spell out:",
        ", ".join(DIMENSIONS),
    ]
    return _question("axis_values", AXIS_SCHEMA, lines, 400, axis=axis)


def shape_faults(question: Question, value: Any) -> list[str]:
    """What keeps an answer from being read at all; the rest is found candidate by candidate."""
    faults: list[str] = []
    _compare(question.schema, value, "the answer", faults)
    return faults


def _question(name: str, schema: dict[str, Any], lines: Sequence[str], tokens: int, **about: str
              ) -> Question:  # fmt: skip
    text = "\n".join(lines)
    return Question(
        key=content_hash(["propose", TEMPLATE, name, text]),
        messages=({"role": "system", "content": RULES}, {"role": "user", "content": text}),
        schema=schema,
        name=name,
        max_tokens=tokens,
        about=about,
    )


def _language_lines(subject: Subject) -> list[str]:
    language = subject.language
    lines = [
        f"Language: {language.name}. A sentence begins with {subject.phrasings[0]!r}.",
        f"A place begins with one of: {', '.join(sorted(language.prepositions))}.",
    ]
    if language.activity_ending:
        lines.append(f"An activity begins with a verb in -{language.activity_ending}.")
    if language.activity_beginnings:
        starts = " or ".join(map(repr, language.activity_beginnings))
        lines.append(f"An activity begins with {starts}.")
    if subject.shipped is not None:
        role = subject.shipped.entries[0]
        lines.append(
            f"As for the role {role.stem!r}: {'; '.join(place.text for place in role.places)}; "
            f"{'; '.join(activity.text for activity in role.activities)}."
        )
    return lines


def _forms_line(subject: Subject) -> str:
    if subject.language.form_names:
        return (
            "one form for each gender of the noun (m, f; n where there is a neutral one), with "
            "the indefinite article as the sentence needs it."
        )
    return (
        "one form, with an empty gender; as it is written in the middle of a sentence, without "
        "article where the language chooses it by rule."
    )


def _tag_lines(subject: Subject) -> list[str]:
    return [f"- {tag}: {meaning}" for tag, meaning in subject.example.tags.items()]


def _compare(schema: Mapping[str, Any], value: Any, where: str, faults: list[str]) -> None:
    """Hold a value against the part of JSON Schema that is used here."""
    kind = schema["type"]
    is_flag = isinstance(value, bool) and kind == "integer"
    if not isinstance(value, _KINDS[kind]) or is_flag:
        faults.append(f"{where} is no {kind}")
    elif kind == "object":
        for key in sorted(schema["properties"].keys() ^ value.keys()):
            what = "unknown" if key in value else "missing"
            faults.append(f"{where}: {key} is {what}")
        for key, part in schema["properties"].items():
            if key in value:
                _compare(part, value[key], f"{where}: {key}", faults)
    elif kind == "array":
        for number, each in enumerate(value, 1):
            _compare(schema["items"], each, f"{where} {number}", faults)
    elif value not in schema.get("enum", [value]):
        faults.append(f"{where} is {value!r}")
