"""The fake provider: chat completions, files, batches and models, as strict as the real ones."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.provider.answers import (
    Answer,
    Question,
    as_text,
    completion,
    instance_of_schema,
    tokens_of,
)
from tests.provider.batches import Batches
from tests.provider.faults import Fault, Plan
from tests.provider.http import HttpServer, Request, Response, error
from tests.provider.strict import refusal_of

SNAPSHOTS = {"gpt-5-mini": "gpt-5-mini-2025-08-07", "gpt-6-luna": "gpt-6-luna-2026-10-14"}
"""Alias -> dated model; any other model answers under its own name."""


@dataclass(slots=True)
class Entry:
    """One request, in the server's own log."""

    number: int
    """Of arrival, from 0."""
    key: str
    """Who was asked about; see `Question.key`."""
    fault: str
    """What went wrong; empty for nothing."""
    status: int
    """HTTP status that was (to be) sent."""
    usage: dict[str, int] | None
    """What was charged; None: nothing."""
    whole: bool
    """The response was sent whole."""
    batch: str | None = None
    """Id of the batch that it came in."""


@dataclass
class FakeProvider:
    """A provider on loopback, in a thread of its own.

    Args:
        answer: What the model says.
        plan: What goes wrong.
        key: The API key that is asked for; None: none is.
        models: Names that exist; None: any does.
        largest: Bytes of a request's body.
        latency: Seconds that every answer takes.
        most_in_flight: More requests at a time are answered with 429.
        cached: Share of the words that count as cached from the second request on.
    """

    answer: Answer = instance_of_schema
    plan: Plan | None = None
    key: str | None = "test-key"
    models: set[str] | None = None
    largest: int = 20_000_000
    latency: float = 0.0
    most_in_flight: int | None = None
    keep_log: bool = True
    cached: float = 0.0
    batches: Batches = field(default_factory=Batches)

    def __post_init__(self) -> None:
        self.log: list[Entry] = []
        self.in_flight = self.peak = self.arrivals = 0
        self.port = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self.batches.ask = self._in_batch

    # ---- running

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @contextmanager
    def running(self) -> Iterator[FakeProvider]:
        """Serve in a thread."""
        ready = threading.Event()
        thread = threading.Thread(target=lambda: asyncio.run(self.serve(ready)), daemon=True)
        thread.start()
        assert ready.wait(10), "the fake provider did not start"
        try:
            yield self
        finally:
            assert self._loop is not None
            assert self._end is not None
            self._loop.call_soon_threadsafe(self._end.set)
            thread.join(10)

    async def serve(self, ready: threading.Event | None = None, port: int = 0) -> None:
        """Serve until ended."""
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        server = HttpServer(self.handle, largest=self.largest)
        self.port = await server.start(port)
        if ready is not None:
            ready.set()
        await self._end.wait()
        await server.stop()

    # ---- what was charged

    def billed(self) -> list[Entry]:
        """All charged requests."""
        return [entry for entry in self.log if entry.usage is not None]

    def total(self, name: str) -> int:
        """Tokens charged: ``input``, ``output`` …"""
        return sum(entry.usage.get(name, 0) for entry in self.billed() if entry.usage)

    # ---- answering

    async def handle(self, request: Request) -> Response:
        if request.path == "/_log":
            return Response.of({"billed": len(self.billed()), "arrivals": self.arrivals})
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            return error(401, "Incorrect API key provided", code="invalid_api_key")
        if request.path == "/v1/chat/completions" and request.method == "POST":
            return await self._chat(request)
        if request.path == "/v1/models":
            names = sorted(self.models or {"gpt-5-mini"})
            return Response.of({"object": "list", "data": [{"id": name} for name in names]})
        found = self.batches.handle(request)
        return found or error(404, f"Unknown request URL: {request.method} {request.path}")

    async def _chat(self, request: Request) -> Response:
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            if self.most_in_flight is not None and self.in_flight > self.most_in_flight:
                return error(
                    429, "Rate limit reached", code="rate_limit_exceeded", retry_after="0.02"
                )
            try:
                body = request.json()
            except ValueError:
                return error(400, "We could not parse the JSON body of your request.")
            return await self._answer(body)
        finally:
            self.in_flight -= 1

    async def _answer(self, body: Any) -> Response:
        refused = refusal_of(body, self.models)
        if refused is not None:
            return refused
        question = Question(body)
        number, self.arrivals = self.arrivals, self.arrivals + 1
        fault = (self.plan(number, question) if self.plan else None) or Fault()
        if delay := self.latency + fault.delay:
            await asyncio.sleep(delay)
        response, usage = self._outcome(question, fault, number)
        self._note(question, fault, number, response, usage)
        return response

    def _note(
        self, question: Question, fault: Fault, number: int, response: Response,
        usage: dict[str, int] | None, batch: str | None = None,
    ) -> None:  # fmt: skip
        if self.keep_log:
            whole = response.cut_at is None
            entry = Entry(number, question.key(), fault.kind, response.status, usage, whole, batch)
            self.log.append(entry)

    def _outcome(
        self, question: Question, fault: Fault, number: int
    ) -> tuple[Response, dict[str, int] | None]:
        headers = {} if fault.after is None else {"retry_after": str(fault.after)}
        match fault.kind:
            case "429":
                said = "Rate limit reached for requests per min"
                return error(429, said, code="rate_limit_exceeded", **headers), None
            case "500" | "503":
                return error(int(fault.kind), "The server had an error", **headers), None
            case "quota":
                said = "You exceeded your current quota"
                return error(429, said, code="insufficient_quota"), None
            case "401":
                return error(401, "Incorrect API key provided", code="invalid_api_key"), None
            case "403":
                return error(403, "Your project may not use this model"), None
            case "402":
                return error(402, "Insufficient Balance", code="invalid_request_error"), None
            case "in_200":
                inner = {"message": "Provider returned error", "code": fault.code}
                return Response.of({"error": inner}), None
            case "echo":
                said = f"no good: Authorization: Bearer {self.key} was sent"
                if fault.code == 200:
                    return Response.of({"error": {"message": said}}), None
                return error(fault.code, said, code=f"why {self.key}"), None
            case "page":
                page = b"<html>Blocked by " + b"the proxy " * 400 + b"</html>"
                return Response(403, page, {"content-type": "text/html"}), None
            case "cut_before":
                return Response(cut_at=0), None
        response, usage = self._billed_outcome(question, fault.kind, number)
        if fault.kind == "edited" and fault.edit is not None:
            told = json.loads(response.body)
            fault.edit(told)
            response.body = json.dumps(told).encode()
        if fault.kind == "drip":
            response.drip = 0.02
        return response, usage

    def _billed_outcome(
        self, question: Question, kind: str, number: int
    ) -> tuple[Response, dict[str, int]]:
        text: str | None = as_text(self.answer(question))
        assert text is not None
        stop, refusal = "stop", None
        limit = question.body.get("max_completion_tokens", question.body.get("max_tokens"))
        usage = tokens_of(question, text)
        if self.cached and number:
            usage["cached"] = int(-(-len(question.text) // 4) * self.cached)
        if kind == "truncate" or (limit is not None and usage["output"] > limit):
            text, stop = text[: len(text) // 2], "length"
            usage["output"] = limit or usage["output"]
        if kind == "refuse":
            text, refusal = None, "I'm sorry, I can't help with that."
        if kind == "content_filter":
            text, stop = None, "content_filter"
        text = {
            "empty": "", "invalid_json": '{"scene": [', "off_schema": '{"nonsense": 1}',
            "whitespace": "{" + "\n" * 200,
        }.get(kind, text)  # fmt: skip
        model = SNAPSHOTS.get(question.body["model"], question.body["model"])
        body = completion(text, model=model, usage=usage, stop=stop, refusal=refusal, number=number)
        headers = {"x_request_id": f"req_{number}", "openai_processing_ms": "12"}
        response = Response.of(body, **headers)
        if kind == "html":
            response = Response(200, b"<html>Bad gateway</html>", {"content-type": "text/html"})
        if kind == "cut_after":
            response.cut_at = 40 + len(response.body) // 2
        return response, usage

    def _in_batch(self, body: dict[str, Any], batch: str) -> tuple[int, dict[str, Any]]:
        """Answer one line of a batch: (status code, body)."""
        refused = refusal_of(body, self.models)
        if refused is not None:
            return refused.status, json.loads(refused.body)
        question = Question(body)
        number, self.arrivals = self.arrivals, self.arrivals + 1
        fault = (self.plan(number, question) if self.plan else None) or Fault()
        if fault.kind in ("html", "cut_after", "cut_before", "429"):
            fault = Fault()
        response, usage = self._outcome(question, fault, number)
        self._note(question, fault, number, response, usage, batch)
        return response.status, json.loads(response.body)
