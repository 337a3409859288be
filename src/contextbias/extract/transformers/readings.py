"""Answers as a reading: its status, and everything that was said, kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from contextbias.extract.protocol import RawReading
from contextbias.extract.vision.answers import summed_up
from contextbias.extract.vision.kept import ANSWERS, packed
from contextbias.ids import bytes_sha256
from contextbias.tables import OK

if TYPE_CHECKING:
    from contextbias.extract.transformers.answering import Asked, Turn

USAGE = "usage"
"""Key of the tokens in ``raw``, all turns together."""


def reading(asked: Asked, facts: Mapping[str, Any]) -> RawReading:
    """The reading that a picture's answers make.

    Args:
        asked: The picture and its answers, at least one.
        facts: What all readings of the reader have in common.
    """
    status, reason = _status(asked)
    turns = asked.turns
    raw: dict[str, Any] = {
        **facts,
        "picture": {
            "sha256": bytes_sha256(asked.image.tobytes()),
            "width": asked.image.width,
            "height": asked.image.height,
        },
        "turns": [_turn(turn) for turn in turns],
        USAGE: {
            "input": sum(turn.input for turn in turns),
            "output": sum(turn.output for turn in turns),
        },
    }
    if any(turn.output for turn in turns):
        raw[ANSWERS] = packed([turn.text for turn in turns])
    if asked.not_repaired is not None:
        raw["not_repaired"] = asked.not_repaired
    record = asked.answer.record if status == OK and asked.answer is not None else None
    seconds = round(sum(turn.seconds for turn in turns), 4)
    return RawReading(status=status, reason=reason, record=record, raw=raw, seconds=seconds)


def _status(asked: Asked) -> tuple[str, str | None]:
    """Whether it came to its end comes first: only a whole answer is looked at for faults."""
    last = asked.turns[-1]
    if last.status != OK or asked.answer is None:
        return last.status, last.reason
    if asked.answer.record is not None:
        return OK, None
    return "invalid", summed_up(asked.answer.faults, asked.not_repaired)


def _turn(turn: Turn) -> dict[str, Any]:
    """What is stored of one answer, without what is not there."""
    size, index = turn.batch
    told = {
        "status": turn.status,
        "reason": turn.reason,
        "seconds": round(turn.seconds, 4),
        "batch": {"size": size, "index": index},
        "input": turn.input,
        "output": turn.output,
        "response_sha256": bytes_sha256(turn.text.encode()),
    }
    return {name: value for name, value in told.items() if value is not None}
