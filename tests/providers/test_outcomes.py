from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import openai
import pytest

from contextbias.providers import outcomes
from contextbias.providers.outcomes import Reply, Usage, classify, retry_after

REQUEST = httpx.Request("POST", "http://127.0.0.1/v1/chat/completions")


def status_error(status: int, code: str | None = None, **headers: str) -> openai.APIStatusError:
    response = httpx.Response(
        status,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        request=REQUEST,
    )
    body = {"code": code, "message": "said  so"}
    return openai.APIStatusError("said so", response=response, body=body)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (429, "rate_limit_exceeded", "slower"),
        (429, None, "slower"),
        (429, "insufficient_quota", "fatal"),
        (401, "invalid_api_key", "fatal"),
        (403, None, "fatal"),
        (404, "model_not_found", "fatal"),
        (400, "unsupported_parameter", "fatal"),
        (400, "invalid_json_schema", "fatal"),
        (400, "invalid_image_format", "item"),
        (400, None, "item"),
        (413, None, "item"),
        (408, None, "again"),
        (500, None, "again"),
        (503, None, "again"),
        (529, None, "again"),
    ],
)
def test_what_a_status_means_for_the_rest(status: int, code: str | None, kind: str) -> None:
    failure = classify(status_error(status, code))
    assert failure.kind == kind
    assert failure.code == f"{status} {code or ''}".strip()
    assert bool(failure.fix) == (kind == "fatal")


def test_only_what_may_have_been_charged_counts_so() -> None:
    assert classify(status_error(500)).maybe_billed
    assert not classify(status_error(429)).maybe_billed
    assert classify(openai.APITimeoutError(request=REQUEST)).maybe_billed  # type: ignore[arg-type]


def test_a_connection_that_was_never_made_is_not_charged() -> None:
    error = openai.APIConnectionError(request=REQUEST)  # type: ignore[arg-type]
    error.__cause__ = httpx.ConnectError("refused")
    assert classify(error).code == "no connection"
    assert not classify(error).maybe_billed
    error.__cause__ = httpx.ReadError("cut")
    assert classify(error).code == "cut"
    assert classify(error).maybe_billed


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "3"}, 3.0),
        ({"retry-after": "whenever"}, None),
        ({"retry-after": "-1"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_retry_after_as_a_date() -> None:
    later = datetime.now(UTC) + timedelta(minutes=5)
    found = retry_after({"retry-after": format_datetime(later, usegmt=True)})
    assert found is not None
    assert 200 < found <= 300


def test_a_server_that_asks_for_hours_ends_the_exchange() -> None:
    failure = classify(status_error(429, "rate_limit_exceeded", retry_after="7200"))
    assert failure.kind == "fatal"
    assert failure.fix == "run again in 120 minutes"


def test_words_are_one_line_and_short() -> None:
    assert outcomes.words(status_error(500)) == "said so"
    error = status_error(422)
    error.body = {"detail": [{"loc": ["body", "size"], "msg": "too large"}]}
    assert outcomes.words(error) == '[{"loc": ["body", "size"], "msg": "too large"}]'
    error.body = {"detail": "no such size"}
    assert outcomes.words(error) == "no such size"
    assert outcomes.words(ValueError("a\nb" * 400)) == ("a b" * 400)[:300]


def test_usage_adds_up_and_comes_back() -> None:
    first = Usage(input=10, cached=4, output=3)
    both = first + Usage(output=1, reasoning=1)
    assert both == Usage(input=10, cached=4, output=4, reasoning=1)
    assert first.as_json() == {"input": 10, "cached": 4, "output": 3}
    assert Usage.from_json({**both.as_json(), "batch": True, "other": "x"}) == both


def test_a_repaired_reply_counts_what_it_replaces() -> None:
    first = Reply(status="invalid", usage=Usage(input=5, output=2))
    second = Reply(status="ok", usage=Usage(input=7, output=2), earlier=(first,))
    assert second.total_usage() == Usage(input=12, output=4)
