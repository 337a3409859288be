"""Chat completions: a request from messages and a schema, and what its answer means."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from contextbias.errors import ConfigError
from contextbias.providers.line import Line
from contextbias.providers.outcomes import (
    AGAIN,
    BLOCKED,
    ERROR,
    INVALID,
    ITEM,
    REFUSED,
    TRUNCATED,
    Failure,
    Reply,
    Usage,
    is_block,
    of_status,
    whole_number,
)
from contextbias.providers.profiles import ModelProfile
from contextbias.tables import OK

PATH = "/chat/completions"
"""Where chat requests go, below the base address."""

Messages = Sequence[Mapping[str, Any]]
"""Of chat completions: ``{"role": …, "content": …}``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters of a request under neutral names; a profile gives them the service's own."""

    max_tokens: int | None = None
    """Most tokens of the answer, hidden reasoning included."""
    reasoning_effort: str | None = None
    """None: the profile's."""
    temperature: float | None = None
    """None: the service's default."""
    seed: int | None = None
    """For servers that know one."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request, as they are."""


def request_fields(
    schema: Mapping[str, Any] | None,
    profile: ModelProfile,
    params: Params,
    *,
    name: str = "answer",
) -> dict[str, Any]:
    """Every field of a request but its messages: what decides the answer beside them.

    Args:
        schema: JSON schema of the answer; None for prose.
        profile: What the model allows.
        params: What is asked for.
        name: Of the schema, as the provider shows it.

    Raises:
        ConfigError: A parameter that the model refuses.
    """
    fields: dict[str, Any] = {"model": profile.model}
    if params.max_tokens is not None:
        if profile.output is not None and params.max_tokens > profile.output:
            raise ConfigError(
                f"max_tokens = {params.max_tokens:,} is more than {profile.model!r} answers with",
                f"give at most {profile.output:,}",
            )
        fields[profile.token_limit] = params.max_tokens
    effort = params.reasoning_effort or profile.effort
    if params.reasoning_effort is not None and effort not in profile.efforts:
        known = ", ".join(profile.efforts) or "none: the model has no such parameter"
        raise ConfigError(
            f"reasoning_effort = {effort!r} is not one of {profile.model!r}", f"known: {known}"
        )
    if effort is not None:
        fields["reasoning_effort"] = effort
    if params.temperature is not None:
        if not profile.temperature:
            raise ConfigError(
                f"{profile.model!r} refuses a temperature, and {params.temperature:g} is set",
                "take temperature out",
            )
        fields["temperature"] = params.temperature
    if params.seed is not None:
        fields["seed"] = params.seed
    if schema is not None and (form := _response_format(schema, profile.structured, name)):
        fields["response_format"] = form
    return {**fields, **params.extra}


def encode(messages: Messages, fields: Mapping[str, Any]) -> bytes:
    """The request's bytes. Fields come before messages, so that a picture comes last."""
    body = {**fields, "messages": list(messages)}
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    # Half a surrogate pair becomes its escape, which is JSON as well.
    return text.encode("utf-8", "backslashreplace")


def with_schema(
    messages: Messages, schema: Mapping[str, Any], profile: ModelProfile
) -> list[Mapping[str, Any]]:
    """The messages, with the schema in words where the structured mode does not send it."""
    given = list(messages)
    if profile.structured not in ("json_object", "none"):
        return given
    text = json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
    order = f"Answer with one JSON object, and nothing else, that satisfies this schema: {text}"
    first = given[0] if given else None
    if first is not None and first["role"] == "system" and isinstance(first["content"], str):
        return [{**first, "content": f"{first['content']}\n\n{order}"}, *given[1:]]
    return [{"role": "system", "content": order}, *given]


async def complete(
    line: Line,
    messages: Messages,
    schema: Mapping[str, Any] | None,
    profile: ModelProfile,
    params: Params,
    *,
    tokens: float = 0.0,
) -> Reply:
    """Ask once and wait for the reply; never raises for what the service does.

    Args:
        line: From `exchange`.
        messages: The conversation.
        schema: JSON schema of the answer; None for prose.
        profile: The model, and what it allows.
        params: Parameters of the request.
        tokens: How many the request is expected to use, for tokens a minute.
    """
    shown = messages if schema is None else with_schema(messages, schema, profile)
    return await send(line, encode(shown, request_fields(schema, profile, params)), tokens=tokens)


async def send(line: Line, body: bytes, *, tokens: float = 0.0) -> Reply:
    """Send an encoded request (see `encode`) and read its answer."""
    return await line.post(PATH, body, read_completion, tokens=tokens)


def read_completion(body: bytes) -> Reply:
    """What a 200 response of chat completions means. The stop reason is looked at first.

    Raises:
        ValueError: It is no chat completion.
    """
    found = json.loads(body)
    choice = _choice(found)
    if choice is None:
        return _without_choice(found, body)
    message = _object(choice.get("message"))
    usage = read_usage(found.get("usage"))
    stop = _word(choice.get("finish_reason"))
    if stop == "error":
        # OpenRouter's: the model's own host broke off, and what came is no answer.
        broken = error_in_answer(_object(choice.get("error")), "the answer broke off", Failure(
            kind=AGAIN, code="broken off", maybe_billed=True
        ))  # fmt: skip
        return replace(broken, usage=usage)
    text, refusal = _text(message.get("content")), _text(message.get("refusal"))
    status, reason = _meaning(stop, text, refusal, usage)
    if status == INVALID and message.get("tool_calls"):
        reason = "the answer is empty: the model called a tool, and was given none"
    return Reply(
        status=status,
        text=refusal if status == REFUSED else text,
        reason=reason,
        stop_reason=stop,
        usage=usage,
        model=_word(found.get("model")),
    )


def read_usage(found: object) -> Usage:
    """Usage as chat completions report it.

    A detail that a server leaves out is 0. Where it does not say how many tokens were sent and
    received, or says what is no number of tokens, the usage is ``unknown``.
    """
    told = _object(found)
    sent = whole_number(told.get("prompt_tokens"))
    received = whole_number(told.get("completion_tokens"))
    cached = whole_number(_object(told.get("prompt_tokens_details")).get("cached_tokens"))
    hidden = _object(told.get("completion_tokens_details")).get("reasoning_tokens")
    return Usage(
        input=sent or 0,
        cached=min(cached or 0, sent or 0),
        output=received or 0,
        reasoning=min(whole_number(hidden) or 0, received or 0),
        unknown=int(sent is None or received is None),
    )


def _choice(found: object) -> Mapping[str, Any] | None:
    choices = _object(found).get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else None


def _without_choice(found: object, body: bytes) -> Reply:
    """An answer that is no completion: perhaps an error, which some services send with a 200."""
    error = _object(found).get("error")
    if error is not None:
        told = error if isinstance(error, dict) else {"message": error}
        return error_in_answer(told, "the server answered without a choice", _NO_CHOICE)
    begin = body[:60].decode("utf-8", "replace")
    why = f"the server answered without a choice: it begins {begin!r}"
    return Reply(status=ERROR, reason=why, failure=_NO_CHOICE)


_NO_CHOICE = Failure(kind=ITEM, code="no choice")


def error_in_answer(told: Mapping[str, Any], what: str, otherwise: Failure) -> Reply:
    """The reply of an error that stands in an answer: its code may be an HTTP status.

    Args:
        told: The error.
        what: Happened, in words.
        otherwise: What it means without a code.
    """
    code, said = told.get("code"), told.get("message")
    why = f"{what}: {said if isinstance(said, str) and said else 'no reason given'}"
    if is_block(told):
        return Reply(status=BLOCKED, reason=why)
    status = whole_number(code)
    if status is not None and 400 <= status < 600:
        failure = of_status(status)
    elif isinstance(code, str) and code:
        failure = of_status(_STATUS_OF.get(code, 400), code)
    else:
        return Reply(status=ERROR, reason=why, failure=otherwise)
    return Reply(status=ERROR, reason=f"{failure.code}: {why}", failure=failure)


_STATUS_OF = {"rate_limit_exceeded": 429, "server_error": 500, "invalid_api_key": 401}


def _object(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, dict) else {}


def _word(found: object) -> str | None:
    return found if isinstance(found, str) else None


def _meaning(
    stop: str | None, text: str | None, refusal: str | None, usage: Usage
) -> tuple[str, str | None]:
    if refusal:
        return REFUSED, f"the model declined: {refusal}"
    if stop == "content_filter":
        return BLOCKED, "the provider's content filter stopped the answer"
    if stop == "length":
        said = f"cut at the token limit ({usage.output:,} tokens out"
        said += f", {usage.reasoning:,} of them reasoning" if usage.reasoning else ""
        return TRUNCATED, said + ")"
    if text is None or not text.strip():
        return INVALID, "the answer is empty"
    return OK, None


def _text(content: Any) -> str | None:
    """Text of a content that is a string, or a list of parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str)) or None
    return content if isinstance(content, str) else None


def _response_format(
    schema: Mapping[str, Any], structured: str, name: str
) -> dict[str, Any] | None:
    if structured == "json_schema":
        inner = {"name": name, "strict": True, "schema": schema}
        return {"type": "json_schema", "json_schema": inner}
    if structured == "json_object_schema":
        return {"type": "json_object", "schema": schema}
    return {"type": "json_object"} if structured == "json_object" else None
