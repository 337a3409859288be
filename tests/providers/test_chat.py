from __future__ import annotations

import json
from typing import Any

import pytest
from tests.provider import completion
from tests.providers.conftest import SCHEMA

from contextbias.errors import ConfigError
from contextbias.providers import Params, profile
from contextbias.providers.chat import encode, read_completion, request_fields, with_schema

USAGE = {"input": 100, "output": 20, "cached": 40, "reasoning": 5}


def body(text: str | None, **details: Any) -> bytes:
    told = {"model": "gpt-5-mini-2025-08-07", "usage": USAGE, **details}
    return json.dumps(completion(text, **told)).encode()


def test_a_good_answer() -> None:
    reply = read_completion(body('{"mood": "calm"}'))
    assert (reply.status, reply.text, reply.reason) == ("ok", '{"mood": "calm"}', None)
    assert reply.model == "gpt-5-mini-2025-08-07"
    assert reply.usage.as_json() == USAGE


@pytest.mark.parametrize(
    ("text", "details", "status", "said"),
    [
        (None, {"refusal": "I cannot."}, "refused", "declined: I cannot."),
        (None, {"stop": "content_filter"}, "blocked", "content filter"),
        ('{"mood": "c', {"stop": "length"}, "truncated", "20 tokens out, 5 of them reasoning"),
        ("", {"stop": "length"}, "truncated", "cut at the token limit"),
        ("", {}, "invalid", "empty"),
        (None, {}, "invalid", "empty"),
        ("\n \t", {}, "invalid", "empty"),
    ],
)
def test_the_stop_reason_comes_before_the_text(
    text: str | None, details: dict[str, Any], status: str, said: str
) -> None:
    reply = read_completion(body(text, **details))
    assert reply.status == status
    assert said in str(reply.reason)
    assert reply.usage.output == 20  # charged all the same


def test_a_refusal_keeps_its_words() -> None:
    assert read_completion(body(None, refusal="No.")).text == "No."


def test_servers_that_leave_things_out() -> None:
    reply = read_completion(b'{"choices": [{"message": {"content": "hello"}}]}')
    assert (reply.status, reply.text, reply.usage.as_json()) == ("ok", "hello", {"unknown": 1})
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "other"}]
    told = {"choices": [{"message": {"content": parts}}], "usage": None}
    assert read_completion(json.dumps(told).encode()).text == "ab"


@pytest.mark.parametrize("text", [b'{"error": {"message": "no such model"}}', b"[]", b"{}"])
def test_a_200_that_is_no_completion_is_an_error(text: bytes) -> None:
    reply = read_completion(text)
    assert reply.status == "error"
    assert reply.failure is not None
    assert "without a choice" in str(reply.reason)


def test_a_reasoning_model_gets_its_own_names() -> None:
    fields = request_fields(SCHEMA, profile("gpt-5-mini"), Params(max_tokens=500))
    assert fields["max_completion_tokens"] == 500
    assert fields["reasoning_effort"] == "low"
    assert "max_tokens" not in fields
    assert "temperature" not in fields
    assert fields["response_format"]["json_schema"]["strict"] is True


def test_an_ordinary_one_others() -> None:
    given = Params(max_tokens=500, temperature=0.0, seed=1, extra={"top_k": 1})
    fields = request_fields(None, profile("llava"), given)
    told = {"model": "llava", "max_tokens": 500, "temperature": 0.0, "seed": 1, "top_k": 1}
    assert fields == told


def test_what_the_model_refuses_is_an_error_before_any_spend() -> None:
    with pytest.raises(ConfigError, match="refuses a temperature, and 0 is set"):
        request_fields(None, profile("gpt-5-mini"), Params(temperature=0.0))
    with pytest.raises(ConfigError, match="Known: minimal, low, medium, high"):
        request_fields(None, profile("gpt-5-mini"), Params(reasoning_effort="xhigh"))
    with pytest.raises(ConfigError, match="no such parameter"):
        request_fields(None, profile("llava"), Params(reasoning_effort="low"))


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("json_object_schema", "json_object"), ("json_object", "json_object"), ("none", None)],
)
def test_other_ways_of_asking_for_json(mode: str, kind: str | None) -> None:
    model = profile("llava", structured=mode)
    form = request_fields(SCHEMA, model, Params()).get("response_format")
    assert (form or {}).get("type") == kind
    assert ((form or {}).get("schema") == SCHEMA) == (mode == "json_object_schema")
    messages = [{"role": "system", "content": "Look."}, {"role": "user", "content": "?"}]
    shown = with_schema(messages, SCHEMA, model)
    in_words = '"mood"' in shown[0]["content"]
    assert in_words == (mode != "json_object_schema")
    assert shown[0]["content"].startswith("Look.")
    assert messages[0]["content"] == "Look."


def test_the_schema_in_words_without_a_system_message() -> None:
    shown = with_schema([{"role": "user", "content": "?"}], SCHEMA, profile("x", structured="none"))
    assert [message["role"] for message in shown] == ["system", "user"]


def test_a_request_is_plain_json_with_the_picture_last() -> None:
    sent = encode([{"role": "user", "content": "Größe"}], {"model": "m", "seed": 1})
    assert json.loads(sent) == {
        "model": "m",
        "seed": 1,
        "messages": [{"role": "user", "content": "Größe"}],
    }
    assert list(json.loads(sent))[-1] == "messages"
