from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from contextbias.providers import Params, Reply, chat, profile
from contextbias.providers.line import Line

SCHEMA = {
    "type": "object",
    "properties": {"mood": {"type": "string", "enum": ["calm", "tense"]}},
    "required": ["mood"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")


def words_about(item: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"about {item}"}]


def asking(repair: bool = False, **params: Any) -> Callable[[Line, Any], Awaitable[Reply]]:
    """A call that asks for a mood; an empty or faulty answer is asked for again, if it is to."""
    given = Params(**{"max_tokens": 1000, **params})
    fields = chat.request_fields(SCHEMA, profile("gpt-5-mini"), given)

    async def call(line: Line, item: Any) -> Reply:
        first = await chat.send(line, chat.encode(words_about(item), fields), tokens=100)
        if not repair or first.failure is not None or _is_mood(first):
            return first
        again = [*words_about(item), {"role": "user", "content": "once more"}]
        second = await chat.send(line, chat.encode(again, fields), tokens=100)
        return first if second.failure is not None else replace(second, earlier=(first,))

    return call


def _is_mood(reply: Reply) -> bool:
    return reply.status not in ("ok", "invalid") or (reply.text or "").startswith('{"mood"')
