"""What a strict provider refuses, written down apart from the code that is to keep to it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from tests.provider.http import Response, error

KNOWN = {
    "model", "messages", "response_format", "max_tokens", "max_completion_tokens", "temperature",
    "top_p", "n", "stop", "seed", "reasoning_effort", "verbosity", "metadata", "user", "store",
    "service_tier", "prompt_cache_key", "safety_identifier", "stream", "logprobs",
}  # fmt: skip
_REASONING = ("gpt-5", "gpt-6", "o1", "o3", "o4")
_EFFORTS = {"minimal", "low", "medium", "high"}
_IMAGE_STARTS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF", b"GIF8")
_ALLOWED_KEYWORDS = {
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf",
    "description", "title", "$ref", "$defs", "definitions", "pattern", "format", "minimum",
    "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems",
}  # fmt: skip


def refusal_of(body: Any, models: set[str] | None) -> Response | None:
    """The 400 or 404 that a chat request deserves; None for a good one."""
    if not isinstance(body, dict):
        return error(400, "We could not parse the JSON body of your request.")
    for name in body:
        if name not in KNOWN:
            return error(
                400, f"Unrecognized request argument supplied: {name}",
                code="unknown_parameter", param=name,
            )  # fmt: skip
    model = body.get("model")
    if not isinstance(model, str) or not model:
        return error(400, "you must provide a model parameter", param="model")
    if models is not None and model not in models:
        return error(404, f"The model `{model}` does not exist", code="model_not_found")
    return _of_parameters(model, body) or _of_messages(body.get("messages")) or _of_format(body)


def _of_parameters(model: str, body: dict[str, Any]) -> Response | None:
    reasons = model.startswith(_REASONING)
    if reasons and "max_tokens" in body:
        return error(
            400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            code="unsupported_parameter", param="max_tokens",
        )  # fmt: skip
    if reasons and body.get("temperature", 1) != 1:
        return error(
            400, "Unsupported value: 'temperature' does not support this value; only 1 is.",
            code="unsupported_value", param="temperature",
        )  # fmt: skip
    effort = body.get("reasoning_effort")
    if effort is not None and (not reasons or effort not in _EFFORTS):
        return error(
            400, f"Unsupported value: 'reasoning_effort' = {effort!r}",
            code="unsupported_value", param="reasoning_effort",
        )  # fmt: skip
    return None


def _of_messages(messages: Any) -> Response | None:
    if not isinstance(messages, list) or not messages:
        return error(400, "'messages' must be a non-empty array", param="messages")
    for message in messages:
        if message.get("role") not in ("system", "developer", "user", "assistant"):
            return error(400, f"Invalid role {message.get('role')!r}", param="messages")
        content = message.get("content")
        if not isinstance(content, (str, list)):
            return error(400, "Invalid content", param="messages")
    for url in image_urls(messages):
        if not url.startswith("data:image/"):
            return error(400, "Failed to download the image", code="invalid_image_url")
        head, _, data = url.partition(";base64,")
        try:
            start = base64.b64decode(data[:64], validate=True)
        except (binascii.Error, ValueError):
            return error(400, "The image is not valid base64", code="invalid_base64")
        if not start.startswith(_IMAGE_STARTS) or head == url:
            return error(400, "unsupported image", code="invalid_image_format")
    return None


def image_urls(messages: Any) -> Iterator[str]:
    """Addresses of all pictures of a conversation."""
    for message in messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if part.get("type") == "image_url":
                yield part["image_url"]["url"]


def _of_format(body: dict[str, Any]) -> Response | None:
    form = body.get("response_format")
    if form is None or form.get("type") in ("text", "json_object"):
        return None
    inner = form.get("json_schema")
    if form.get("type") != "json_schema" or not isinstance(inner, dict):
        return error(400, "Invalid response_format", param="response_format")
    if set(inner) - {"name", "strict", "schema", "description"} or not inner.get("name"):
        return error(400, "Invalid response_format.json_schema", param="response_format")
    found = schema_fault(inner.get("schema")) if inner.get("strict") else None
    if found is None:
        return None
    return error(
        400, f"Invalid schema for response_format '{inner['name']}': {found}",
        code="invalid_json_schema", param="response_format",
    )  # fmt: skip


def schema_fault(schema: Any) -> str | None:
    """The first rule of strict mode that a schema breaks."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "schema must be a JSON Schema of 'type: \"object\"'"
    counts = {"properties": 0, "enum": 0, "characters": 0}
    fault = _walk(schema, (), 1, counts)
    if fault is not None:
        return fault
    if counts["properties"] > 5000:
        return "too many properties"
    if counts["enum"] > 1000:
        return "too many enum values"
    if counts["characters"] > 120_000:
        return "names and values are too long"
    return None


def _walk(node: Any, path: tuple[str, ...], depth: int, counts: dict[str, int]) -> str | None:
    where = f"In context={path}"
    if not isinstance(node, dict):
        return f"{where}, schema is not an object"
    if depth > 10:
        return f"{where}, {depth} levels of nesting exceed the limit of 10"
    for name in node:
        if name not in _ALLOWED_KEYWORDS:
            return f"{where}, '{name}' is not permitted"
    if "enum" in node:
        values = node["enum"]
        size = sum(len(str(value)) for value in values)
        counts["enum"] += len(values)
        counts["characters"] += size
        if len(values) > 250 and size > 15_000:
            return f"{where}, the enum is too long"
    if node.get("type") == "object":
        properties = node.get("properties")
        if node.get("additionalProperties") is not False:
            return f"{where}, 'additionalProperties' is required to be supplied and to be false"
        if not isinstance(properties, dict) or set(node.get("required", ())) != set(properties):
            return f"{where}, 'required' is required to include every key in properties"
        counts["properties"] += len(properties)
        counts["characters"] += sum(len(name) for name in properties)
        for name, child in properties.items():
            if (fault := _walk(child, (*path, "properties", name), depth + 1, counts)) is not None:
                return fault
    elif node.get("type") == "array":
        if "items" not in node:
            return f"{where}, array schema missing items"
        return _walk(node["items"], (*path, "items"), depth + 1, counts)
    elif not {"type", "enum", "const", "anyOf", "$ref"} & set(node):
        return f"{where}, schema must have a 'type' key"
    for name, child in {**node.get("$defs", {}), **node.get("definitions", {})}.items():
        if (fault := _walk(child, (*path, "$defs", name), depth, counts)) is not None:
            return fault
    for child in node.get("anyOf", ()):
        if (fault := _walk(child, (*path, "anyOf"), depth, counts)) is not None:
            return fault
    return None
