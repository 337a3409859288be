"""A line without a network: replies from a script, requests kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from contextbias.ids import bytes_sha256
from contextbias.providers.chat import read_completion
from contextbias.providers.outcomes import Reply
from contextbias.schema import empty_person, empty_record


def good(**person: Any) -> dict[str, Any]:
    """An answer about one person, as the strict schema has it."""
    record = empty_record()
    record["camera"]["framing"] = "tight"
    record["objects"]["items"] = ["lamp"]
    record["people"] = [empty_person() | person]
    return record


def completion(text: Any, stop: str = "stop", refusal: str | None = None, **usage: int) -> bytes:
    """The body of a chat completion."""
    content = text if text is None or isinstance(text, str) else json.dumps(text)
    message = {"role": "assistant", "content": content, "refusal": refusal}
    return json.dumps(
        {
            "model": "seer-1-2026-01-01",
            "choices": [{"message": message, "finish_reason": stop}],
            "usage": {"prompt_tokens": 2000, "completion_tokens": 300, **usage},
        }
    ).encode()


@dataclass
class StubLine:
    """Gives one scripted reply a request: the body of a 200, or a reply."""

    script: list[bytes | Reply]
    requests: list[dict[str, Any]] = field(default_factory=list)

    async def post(self, path: str, body: bytes, read: Callable[[bytes], Reply], **_: Any) -> Reply:
        assert path == "/chat/completions"
        self.requests.append(json.loads(body))
        told = self.script.pop(0)
        if isinstance(told, Reply):
            return told
        reply = read(told)
        assert read is read_completion
        return replace(reply, seconds=1.5, request_id="r1", body=told, sha256=bytes_sha256(told))

    async def thread(self, work: Callable[..., Any], *args: Any) -> Any:
        return work(*args)
