"""A reply as a reading: its status, and everything that was said, kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contextbias.extract.openai.asking import Asked
from contextbias.extract.protocol import RawReading
from contextbias.extract.vision.answers import is_blank_loop, summed_up
from contextbias.extract.vision.instructions import TEMPLATE_VERSION
from contextbias.extract.vision.kept import ANSWERS, packed
from contextbias.providers.outcomes import BLOCKED, ERROR, INVALID, TRUNCATED, Reply, Usage
from contextbias.providers.session import USAGE
from contextbias.tables import FILTERED, OK

_STATUS = {BLOCKED: FILTERED}
# A filter of the reader's service is another reason than a generator that refuses its prompt.


@dataclass(frozen=True, slots=True)
class Common:
    """What all readings of a reader have in common, and each of them stores."""

    server: str
    """Host and port of the service."""
    structured: str
    """How JSON was asked for."""
    request: Mapping[str, Any]
    """Parameters of every request."""
    instructions: str
    """Hash of the words and the schema."""

    def reading(
        self, asked: Asked, reply: Reply, earlier: Usage | None = None, *, batch: bool = False
    ) -> RawReading:
        """The reading that a reply makes.

        Args:
            asked: The picture, and what became of the answer's text.
            reply: From `Asking`.
            earlier: Usage of a request that belongs to no picture (the self-test), to be counted
                with this one; None for none.
            batch: Whether it came by the Batch API.
        """
        status, reason = _status(asked, reply)
        turns = [*reply.earlier, reply]
        answered = [turn for turn in turns if turn.failure is None and turn.sha256]
        raw: dict[str, Any] = {
            "server": self.server,
            "structured": self.structured,
            "request": dict(self.request),
            "template": {"version": TEMPLATE_VERSION, "hash": self.instructions},
        }
        if asked.payload is not None:
            raw["picture"] = _picture(asked)
        if answered:
            raw["model"] = answered[-1].model
            raw[ANSWERS] = packed([turn.text or "" for turn in answered])
        raw["turns"] = [_turn(turn) for turn in turns if turn.sha256 or turn.failure is not None]
        if asked.not_repaired is not None:
            raw["not_repaired"] = asked.not_repaired
        usage = reply.total_usage() + (earlier or Usage())
        raw[USAGE] = usage.as_json() | ({"batch": True} if batch else {})
        if earlier is not None:
            raw["self_test_usage"] = earlier.as_json()
        record = asked.answer.record if status == OK and asked.answer else None
        seconds = sum(turn.seconds for turn in turns)
        return RawReading(
            status=status, reason=reason, record=record, raw=raw, seconds=round(seconds, 4)
        )


def _status(asked: Asked, reply: Reply) -> tuple[str, str | None]:
    """The stop reason comes first: only a whole answer is looked at for faults."""
    if reply.failure is not None:
        return ERROR, reply.reason
    if reply.status == TRUNCATED:
        return TRUNCATED, _cut(reply)
    if reply.status not in (OK, INVALID) or asked.answer is None:
        return _STATUS.get(reply.status, reply.status), reply.reason
    if asked.answer.record is not None:
        return OK, None
    return INVALID, summed_up(asked.answer.faults, asked.not_repaired)


def _cut(reply: Reply) -> str:
    said = reply.reason or "cut at the token limit"
    if is_blank_loop(reply.text or ""):
        return f"{said}: it ends in blanks without end; switch them off in the server's grammar"
    if not (reply.text or "").strip():
        return (
            f"{said}: nothing was left for the answer; lower reasoning_effort or raise max_tokens"
        )
    return said


def _picture(asked: Asked) -> dict[str, Any]:
    sent = asked.payload
    assert sent is not None  # the caller looked
    return {"sha256": sent.sha256, "mime": sent.mime, "width": sent.width, "height": sent.height}


def _turn(reply: Reply) -> dict[str, Any]:
    """What is stored of one request, without what is not there."""
    told = {
        "status": reply.status,
        "reason": reply.reason,
        "stop_reason": reply.stop_reason,
        "seconds": round(reply.seconds, 4),
        "attempt": reply.attempt,
        "tries": list(reply.tries),
        "request_id": reply.request_id,
        "response_sha256": reply.sha256,
        "usage": reply.usage.as_json(),
        "headers": dict(reply.headers),
    }
    return {name: value for name, value in told.items() if value not in (None, [], {})}
