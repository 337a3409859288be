"""What the fake model answers: an instance of the schema, decided by the question alone."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.provider.strict import image_urls


@dataclass(slots=True)
class Question:
    """A chat request, as an answering function sees it."""

    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]

    @property
    def schema(self) -> dict[str, Any] | None:
        """The schema of the answer, where one was sent."""
        form = self.body.get("response_format") or {}
        found = (form.get("json_schema") or {}).get("schema", form.get("schema"))
        return found if isinstance(found, dict) else None

    @property
    def text(self) -> str:
        """All words of the conversation."""
        parts: list[str] = []
        for message in self.messages:
            content = message["content"]
            if isinstance(content, str):
                parts.append(content)
            else:
                parts += [part["text"] for part in content if part.get("type") == "text"]
        return "\n".join(parts)

    def pictures(self) -> list[bytes]:
        """All pictures, decoded."""
        urls = image_urls(self.messages)
        return [base64.b64decode(url.partition(";base64,")[2]) for url in urls]

    def key(self) -> str:
        """Hash of the pictures' addresses, or of the words where there is none: who was asked
        about."""
        urls = list(image_urls(self.messages))
        return hashlib.sha256("\n".join(urls or [self.text]).encode()).hexdigest()[:20]


Answer = Callable[[Question], "dict[str, Any] | str"]
"""The answer to a question, as JSON or as text."""


def instance_of_schema(question: Question) -> dict[str, Any] | str:
    """The default: a small instance of the schema, or a few words where there is none."""
    schema = question.schema
    if schema is None:
        return "A person stands in a room."
    return dict(_instance(schema, schema, question.key()))


def _instance(node: dict[str, Any], root: dict[str, Any], seed: str) -> Any:
    if "$ref" in node:
        found: Any = root
        for part in node["$ref"].lstrip("#/").split("/"):
            found = found[part]
        return _instance(found, root, seed)
    if "const" in node:
        return node["const"]
    if "enum" in node:
        return node["enum"][_number(seed) % len(node["enum"])]
    if "anyOf" in node:
        return _instance(node["anyOf"][0], root, seed)
    kind = node["type"][0] if isinstance(node["type"], list) else node["type"]
    if kind == "object":
        return {
            name: _instance(child, root, seed + name)
            for name, child in node.get("properties", {}).items()
        }
    if kind == "array":
        size = max(node.get("minItems", 0), min(1, node.get("maxItems", 1)))
        return [_instance(node["items"], root, f"{seed}{index}") for index in range(size)]
    if kind == "string":
        return "word"
    if kind in ("integer", "number"):
        return node.get("minimum", 0)
    return kind == "boolean" and bool(_number(seed) % 2) if kind == "boolean" else None


def _number(seed: str) -> int:
    return int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4], "big")


def completion(
    text: str | None, *, model: str, usage: dict[str, int], stop: str = "stop",
    refusal: str | None = None, number: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """The body of a chat completion."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": stop}],
        "usage": {
            "prompt_tokens": usage["input"],
            "completion_tokens": usage["output"],
            "total_tokens": usage["input"] + usage["output"],
            "prompt_tokens_details": {"cached_tokens": usage.get("cached", 0)},
            "completion_tokens_details": {"reasoning_tokens": usage.get("reasoning", 0)},
        },
    }


def tokens_of(question: Question, answer: str) -> dict[str, int]:
    """Usage by a rule that a test can do over: 4 characters a token, 1,000 a picture, 64 hidden."""
    pictures = sum(1 for _ in image_urls(question.messages))
    received = -(-len(answer) // 4)
    reasons = str(question.body["model"]).startswith(("gpt-5", "gpt-6", "o"))
    return {
        "input": -(-len(question.text) // 4) + 1000 * pictures,
        "output": received + 64 * reasons,
        "reasoning": 64 * reasons,
    }


def as_text(answer: dict[str, Any] | str) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer)
