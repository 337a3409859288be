"""From the text of an answer to a record, or to what is wrong with it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from contextbias.ids import storable
from contextbias.schema.records import Record, check_record
from contextbias.schema.strict import record_of_answer

_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
# Blanks without end are what a grammar allows between two tokens of JSON; some models stay there.
_LOOP = 200
_MOST_FAULTS = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one text."""

    record: Record | None = None
    """A record that `check_record` has nothing against; None when there are faults."""
    faults: list[str] = field(default_factory=list)
    """What is wrong, in words that a model can act on; empty for a good answer."""


def parse_answer(text: str) -> Answer:
    """Parse and check an answer.

    A code fence around it and a block of thoughts before it are taken away: servers without
    constrained decoding put them there, and they say nothing about the picture.

    Args:
        text: As it came.

    Returns:
        A record or faults, never both.
    """
    if not text.strip():
        return Answer(faults=["the answer is empty"])
    try:
        told = json.loads(_bare(text))
    except (ValueError, RecursionError) as error:
        return Answer(faults=[f"the answer is not JSON: {_where(error, text)}"])
    record = record_of_answer(told)
    faults = check_record(record)
    # Labels of half a surrogate pair: JSON has them, and no file can.
    return Answer(faults=storable(faults)) if faults else Answer(storable(record))


def summed_up(faults: list[str], not_repaired: str | None = None) -> str:
    """Why an answer is invalid, in one line.

    Args:
        faults: What is wrong with it, 1 or more.
        not_repaired: Why asking once more brought no answer; None where it did, or was not tried.
    """
    said = "; ".join(faults[:_MOST_FAULTS])
    if len(faults) > _MOST_FAULTS:
        said += f"; and {len(faults) - _MOST_FAULTS} more"
    if not_repaired is not None:
        said += f" (and asking once more failed: {not_repaired})"
    return said


def is_blank_loop(text: str) -> bool:
    """Whether a text ends in blanks without end, as constrained decoding can."""
    return len(text) - len(text.rstrip()) >= _LOOP


def _bare(text: str) -> str:
    bare = _THOUGHTS.sub("", text)
    fenced = _FENCE.match(bare)
    return fenced.group(1) if fenced else bare


def _where(error: Exception, text: str) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    near: Any = _bare(text)[max(0, error.pos - 10) : error.pos + 20]
    return f"{error.msg} at character {error.pos}, near {near!r}"
