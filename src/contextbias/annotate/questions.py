"""What is asked about an item, with every choice, its key on the keyboard, and the guidelines."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from contextbias.annotation_tables import SET
from contextbias.schema import DIMENSIONS, EMPTY, Dimension
from contextbias.tables import EMPTY_LIST

UNKNOWN, NO_PERSON, NOT_APPLICABLE = "unknown", "no_person", "not_applicable"

LONGEST = 80
"""Characters of a typed answer."""

_MOST_LABELS = 20
_KEYS = "123456789acdefghijklmopqrvwy"
# Keys of the vocabulary, in order; the letters left out are commands of the page, or those below.
_REASON_KEYS = {UNKNOWN: "u", NO_PERSON: "n", NOT_APPLICABLE: "x", EMPTY_LIST: "0"}
_WITHOUT_HAIR = ("hair_color", "hair_style", "facial_hair_color")


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer that can be chosen."""

    value: str
    """A label of the vocabulary, or a reason of missing."""
    text: str
    """What the annotator reads."""
    key: str
    """Key on the keyboard."""
    is_reason: bool
    """True when the answer is no label."""


@dataclass(frozen=True, slots=True)
class Question:
    """One dimension, asked about a set or a single picture."""

    dimension: str
    """Name in the codebook."""
    title: str
    """The name in words."""
    text: str
    """The question itself."""
    hint: str
    """What the guidelines say about it."""
    is_open: bool
    """True when any short phrase is an answer."""
    several: bool
    """True when several labels may be chosen: lists, of a single picture."""
    choices: tuple[Choice, ...]
    """Labels, unless the question is open, then reasons of missing."""
    suggestions: tuple[str, ...]
    """Words offered while typing."""
    reserved: tuple[str, ...] = ()
    """What is no phrase, since it is a reason, in small letters without signs."""

    def as_json(self) -> dict[str, Any]:
        """Everything that the page needs."""
        return asdict(self)

    def fault(self, labels: Sequence[str], reason: str | None) -> str | None:
        """Say what is wrong with an answer; None when it can be stored."""
        reasons = {choice.value for choice in self.choices if choice.is_reason}
        if reason is not None:
            return None if reason in reasons and not labels else f"{reason!r} is no reason here"
        if not labels:
            return "there is no answer"
        if len(labels) > 1 and not self.several:
            return "one answer is asked for"
        if len(labels) > 1 and EMPTY in labels:
            return f"{EMPTY!r} stands beside other answers"
        if len(labels) > _MOST_LABELS:
            return f"{len(labels)} answers; {_MOST_LABELS} at most"
        if self.is_open:
            wrong = [word for word in labels if not _is_phrase(word)]
            named = [word for word in labels if _plain(word) in self.reserved]
            if named:
                return f"{named[0][:LONGEST]!r} is typed; choose it from the list instead"
            if not wrong and (signs := next((w for w in labels if not _has_letter(w)), None)):
                return f"{signs!r} has no letter: a word is asked for"
        else:
            known = {choice.value for choice in self.choices if not choice.is_reason}
            wrong = [word for word in labels if word not in known]
        return f"{wrong[0][:LONGEST]!r} is no answer here" if wrong else None


def _is_phrase(word: str) -> bool:
    """Whether what was typed can be an answer; a bar divides several labels in exported tables."""
    return len(word.strip()) > 0 and len(word) <= LONGEST and word.isprintable() and "|" not in word


def _has_letter(word: str) -> bool:
    """Whether it has a letter, of any alphabet."""
    return any(sign.isalpha() for sign in word)


def _plain(word: str) -> str:
    """A word in small letters, its letters and digits alone: ``No_Person!`` is ``no person``."""
    return " ".join(re.sub(r"[\W_]+", " ", word.lower()).split())


@cache
def _reserved() -> tuple[str, ...]:
    """Names and texts of all reasons, whichever questions have them, and their short forms."""
    found = {"not visible", "nobody", "nothing", "none"}
    for dim in DIMENSIONS.values():
        for choice in _reasons(dim):
            found |= {_plain(choice.value), _plain(choice.text)}
    return tuple(sorted(found))


def asked(leave_out: Collection[str]) -> tuple[str, ...]:
    """The dimensions that are asked, in codebook order."""
    return tuple(name for name in DIMENSIONS if name not in leave_out)


@cache
def question(dimension: str, kind: str) -> Question:
    """The question about `dimension` of an item of `kind` (``set`` or ``image``)."""
    dim = DIMENSIONS[dimension]
    table = _table()
    return Question(
        dimension=dimension,
        title=words(dimension),
        text=_text(dim, kind),
        hint=table["hints"][dimension],
        is_open=dim.is_open,
        several=dim.kind == "many" and kind != SET,
        choices=_labels(dim) + _reasons(dim),
        suggestions=tuple(sorted(table["suggestions"].get(dimension, ()))),
        reserved=_reserved() if dim.is_open else (),
    )


def words(label: str) -> str:
    """A label as one reads it: ``young_adult`` is ``young adult``."""
    return label.replace("_", " ")


def _text(dim: Dimension, kind: str) -> str:
    if kind == SET:
        return str(_table()["sets"][dim.name])
    text = dim.question.split(" (")[0].replace("colour", "color")  # one spelling on all pages
    if dim.per_person:
        text = text.replace("this depicted person", "the main person")
        text = text.replace("this person's", "the main person's")
        text = text.replace("this person", "the main person")
    return text


def _labels(dim: Dimension) -> tuple[Choice, ...]:
    texts = _table()["texts"]
    return tuple(
        Choice(label, texts.get(label, words(label)), key, False)
        for label, key in zip(dim.vocabulary, _KEYS, strict=False)
    )


def _reasons(dim: Dimension) -> tuple[Choice, ...]:
    texts = {UNKNOWN: "unknown / not visible"}
    if dim.kind == "many" and EMPTY not in dim.vocabulary:
        texts[EMPTY_LIST] = "nothing of the kind"
    if dim.name == "weather":
        texts[NOT_APPLICABLE] = "not applicable: indoors"
    if dim.name in _WITHOUT_HAIR:
        texts[NOT_APPLICABLE] = "not applicable: no hair"
    if dim.per_person:
        texts[NO_PERSON] = "nobody visible"
    return tuple(Choice(value, text, _REASON_KEYS[value], True) for value, text in texts.items())


@cache
def _table() -> dict[str, Any]:
    text = files("contextbias.annotate").joinpath("guidelines.toml").read_text("utf-8")
    return tomllib.loads(text)
