"""A server of OpenAI's images API on loopback, as strict as the real one, and able to misbehave.

What goes wrong is written in the prompt: ``429``, ``500``, ``slow``, ``cut``, ``moderated``,
``refused``, ``no picture``, ``not an image``, ``wrong size``, ``bad base64``, ``url``, ``broken
url``, ``odd`` (what JSON allows and UTF-8 does not) … once for each prompt where the word ``once``
is in it too, and always otherwise.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from PIL import Image

from tests.provider.http import HttpServer, Request, Response, error

SIZES = ("1024x1024", "1536x1024", "1024x1536", "auto")
WORDS = {
    "size": SIZES,
    "quality": ("low", "medium", "high", "auto"),
    "background": ("opaque", "transparent", "auto"),
    "output_format": ("png", "webp", "jpeg"),
    "moderation": ("low", "auto"),
}
NUMBERS = {"n": range(1, 11), "output_compression": range(101)}
MODELS = ("gpt-image-test", "gpt-image-1-mini")
TOKENS = {"low": 272, "medium": 1056, "high": 4160, "auto": 1056}


@dataclass
class ImagesServer:
    """Serves ``/v1/images/generations`` in a thread.

    Args:
        key: The API key that is asked for; None: none is.
        side: Pixels of the pictures for 1024 asked for: small ones are quicker to make.
        extra: Further parameters that this server takes, such as ``seed``.
        latency: Seconds that every answer takes.
        edit: Changes the body of an answer with a picture before it goes out.
    """

    key: str | None = "test-key"
    side: int = 1024
    extra: tuple[str, ...] = ()
    latency: float = 0.0
    edit: Callable[[dict[str, Any]], None] | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Bodies that were accepted, in order."""
    billed: list[int] = field(default_factory=list)
    """Output tokens charged, one for each picture."""
    refused: list[str] = field(default_factory=list)
    """Messages of 400s and 401s."""
    fetched: list[dict[str, str]] = field(default_factory=list)
    """Headers of requests for pictures."""

    def __post_init__(self) -> None:
        self.port = 0
        self._seen: set[tuple[str, str]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @contextmanager
    def running(self) -> Iterator[ImagesServer]:
        ready = threading.Event()
        thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        thread.start()
        assert ready.wait(10), "the images server did not start"
        try:
            yield self
        finally:
            assert self._loop is not None
            assert self._end is not None
            self._loop.call_soon_threadsafe(self._end.set)
            thread.join(10)

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        server = HttpServer(self.handle, largest=1_000_000)
        self.port = await server.start()
        ready.set()
        await self._end.wait()
        await server.stop()

    async def handle(self, request: Request) -> Response:
        if request.path.startswith("/pictures/"):
            return self._picture(request)
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            return self._no(401, "Incorrect API key provided", code="invalid_api_key")
        if request.path != "/v1/images/generations" or request.method != "POST":
            return error(404, f"Unknown request URL: {request.method} {request.path}")
        try:
            body = request.json()
        except ValueError:
            return self._no(400, "We could not parse the JSON body of your request.")
        return self._fault(body) or await self._answer(body)

    def _no(self, status: int, message: str, **more: str) -> Response:
        self.refused.append(message)
        return error(status, message, **more)

    def _fault(self, body: dict[str, Any]) -> Response | None:
        """What the real service would refuse."""
        known = {"model", "prompt", *WORDS, *NUMBERS, *self.extra}
        for name, value in body.items():
            if name not in known:
                message = f"Unknown parameter: '{name}'."
                return self._no(400, message, code="unknown_parameter", param=name)
            if name in WORDS and value not in WORDS[name]:
                message = f"Invalid value: '{value}'. Supported values are: {WORDS[name]}."
                return self._no(400, message, code="invalid_value", param=name)
            if name in NUMBERS and value not in NUMBERS[name]:
                return self._no(400, f"Invalid {name}.", code="invalid_value", param=name)
        if not isinstance(body.get("prompt"), str) or not body["prompt"]:
            return self._no(400, "Missing required parameter: 'prompt'.", param="prompt")
        if body.get("model") not in MODELS:
            message = f"The model '{body.get('model')}' does not exist."
            return error(404, message, code="model_not_found", param="model")
        if "output_compression" in body and body.get("output_format") not in ("webp", "jpeg"):
            return self._no(400, "Compression needs webp or jpeg.", param="output_compression")
        return None

    def _wants(self, word: str, prompt: str) -> bool:
        """Whether the prompt asks for a fault; with ``once``, only the first time."""
        if word not in prompt:
            return False
        first = (word, prompt) not in self._seen
        self._seen.add((word, prompt))
        return first or "once" not in prompt

    async def _answer(self, body: dict[str, Any]) -> Response:
        prompt = body["prompt"]
        await asyncio.sleep(self.latency)
        if self._wants("429", prompt):
            return error(429, "Rate limit reached", code="rate_limit_exceeded", retry_after="0.05")
        if self._wants("quota", prompt):
            return error(429, "You exceeded your quota", code="insufficient_quota")
        if self._wants("500", prompt):
            return error(500, "The server had an error")
        if self._wants("slow", prompt):
            await asyncio.sleep(5)
        if self._wants("moderated", prompt):
            message = "Your request was rejected by the safety system."
            return self._no(400, message, code="moderation_blocked")
        if self._wants("policy", prompt):
            message = "This request violates our content policy."
            return self._no(400, message, code="invalid_request")
        if self._wants("refused", prompt):
            return Response.of({"created": 1, "data": [{"error": "refused by content_filter"}]})
        if self._wants("odd refusal", prompt):
            return self._no(400, "Not this: \ud800")
        if self._wants("list answer", prompt):
            return Response.of([1, 2])
        if self._wants("object data", prompt):
            return Response.of({"created": 1, "data": {"url": "x"}})
        if self._wants("no picture", prompt):
            return Response.of({"created": 1, "data": []})
        if self._wants("no JSON", prompt):
            return Response(200, b"<html>busy</html>", {"content-type": "text/html"})
        self.asked.append(body)
        response = self._pictured(body)
        if self._wants("cut", prompt):
            response.cut_at = 200
        return response

    def _pictured(self, body: dict[str, Any]) -> Response:
        tokens = TOKENS[body.get("quality", "auto")]
        self.billed.append(tokens)
        usage = {
            "input_tokens": 20,
            "input_tokens_details": {"text_tokens": 20, "image_tokens": 0},
            "output_tokens": tokens,
            "total_tokens": tokens + 20,
        }
        prompt = body["prompt"]
        item: dict[str, Any] = {"revised_prompt": f"{prompt}, in detail"}
        if "url" in prompt:
            place = "gone" if "broken" in prompt else hashlib.sha256(prompt.encode()).hexdigest()
            item["url"] = f"http://127.0.0.1:{self.port}/pictures/{place}.png"
        elif "bad base64" in prompt:
            item["b64_json"] = "!!!"
        elif "wrapped" in prompt:
            item["b64_json"] = base64.encodebytes(self.picture(body)).decode()
        else:
            item["b64_json"] = base64.b64encode(self.picture(body)).decode()
        if "data:" in prompt:
            name = "url" if "url" in prompt else "b64_json"
            item = {name: "data:image/png;base64," + base64.b64encode(self.picture(body)).decode()}
        odd: dict[str, Any] = {}
        if "odd" in prompt:
            item["revised_prompt"] = "x \ud800"
            odd = {"model": "m\ud800", "background": float("nan")}
        answer = {
            "created": 1,
            **odd,
            "data": [item],
            "usage": usage,
            "size": body.get("size", "1024x1024"),
            "quality": body.get("quality", "medium"),
            "output_format": body.get("output_format", "png"),
        }
        if self.edit is not None:
            self.edit(answer)
        return Response.of(answer, x_request_id=f"req_{len(self.billed)}")

    def picture(self, body: dict[str, Any]) -> bytes:
        prompt = body["prompt"]
        if "not an image" in prompt:
            return b"<html>sorry</html>"
        width, height = self.side, self.side
        if body.get("size") == "1536x1024":
            width = self.side * 3 // 2
        if "wrong size" in prompt:
            width //= 2
        if "black" in prompt:
            image = Image.new("RGB", (width, height))
        else:
            seed = hashlib.sha256(f"{prompt} {len(self.billed)}".encode()).digest()
            image = Image.effect_noise((width, height), 60).convert("RGB")
            image.putpixel((0, 0), (seed[0], seed[1], seed[2]))
        buffer = io.BytesIO()
        kind = {"jpeg": "JPEG", "webp": "WEBP"}.get(body.get("output_format", "png"), "PNG")
        image.save(buffer, kind)
        return buffer.getvalue()

    def _picture(self, request: Request) -> Response:
        self.fetched.append(request.headers)
        if "gone" in request.path:
            return error(404, "gone")
        if self._wants("once", request.path) or len(self.fetched) == 1:
            return error(503, "busy")
        body = {"prompt": request.path, "size": "1024x1024"}
        return Response(200, self.picture(body), {"content-type": "image/png"})
