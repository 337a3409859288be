"""What the images API answers: a picture, a refusal in one of its forms, or something else."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote_to_bytes, urlsplit
from urllib.request import Request, urlopen

from contextbias import __version__
from contextbias.generate.protocol import Job
from contextbias.providers.outcomes import BLOCKED, ERROR, ITEM, Failure, Reply, Usage
from contextbias.tables import OK

_LARGEST = 1 << 28
_CHUNK = 1 << 20
_WORDS_OF_A_FILTER = re.compile(
    r"safety system|content[ _-]?polic|content[ _-]?filter|moderation[ _]blocked", re.IGNORECASE
)
_ECHOED = ("size", "quality", "background", "output_format")


@dataclass(slots=True)
class Asked:
    """One job on its way, and what came back."""

    job: Job
    """The job."""
    data: bytes | None = None
    """The picture's file."""
    url: str | None = None
    """Where the picture lies, if it did not come with the answer."""
    revised_prompt: str | None = None
    """What the service made of the prompt before it drew."""
    echoed: dict[str, Any] = field(default_factory=dict)
    """Size, quality, background and format that the service says it used."""
    parameter_fault: str | None = None
    """What the service says about a parameter that every request has."""

    def read(self, body: bytes) -> Reply:
        """Take a 200 response apart; see `providers.line.Read`."""
        answer = json.loads(body)
        if not isinstance(answer, dict):
            return _not_understood(f"the answer has no picture: {str(answer)[:300]}", Usage())
        found = answer.get("data")
        first = found[0] if isinstance(found, list) and found else {}
        first = first if isinstance(first, dict) else {}
        usage = _usage(answer.get("usage"), pictures=1 if first else 0)
        self.revised_prompt = _text(first.get("revised_prompt"))
        self.echoed = {name: answer[name] for name in _ECHOED if answer.get(name) is not None}
        if isinstance(first.get("b64_json"), str) and first["b64_json"]:
            try:
                self.data = _decoded(first["b64_json"])
            except ValueError as error:
                return _not_understood(f"the picture is no base64 ({error})", usage)
            return Reply(status=OK, usage=usage, model=_text(answer.get("model")))
        if isinstance(first.get("url"), str) and first["url"]:
            self.url = first["url"].strip()
            return Reply(status=OK, usage=usage, model=_text(answer.get("model")))
        return _without_picture(answer, first, usage)


def _decoded(text: str) -> bytes:
    """The bytes of base64, with line ends and the head of a ``data:`` address or without.

    Raises:
        ValueError: It is no base64.
    """
    if text.lstrip()[:5].lower() == "data:":
        head, _, text = text.partition(",")
        if not head.lower().rstrip().endswith("base64"):
            return unquote_to_bytes(text)
    return base64.b64decode("".join(text.split()), validate=True)


def as_block(reply: Reply) -> Reply:
    """The reply, as a block where a failed request was stopped by a filter under another code."""
    if (
        reply.failure is not None
        and reply.failure.kind == ITEM
        and _WORDS_OF_A_FILTER.search(reply.reason or "")
    ):
        return Reply(
            status=BLOCKED,
            reason=reply.reason,
            usage=reply.usage,
            seconds=reply.seconds,
            attempt=reply.attempt,
            tries=reply.tries,
            request_id=reply.request_id,
        )
    return reply


def download(url: str, *, timeout: float, tries: int, pause: float = 0.5) -> bytes:
    """Fetch a picture that a service has put somewhere. No key is sent there.

    Args:
        url: Where it is; may be a ``data:`` address, which holds it.
        timeout: Seconds for all tries together.
        tries: How often it is asked for.
        pause: Seconds before the second try; doubled before each further one.

    Raises:
        OSError: It cannot be had in that time, or is larger than 256 MB; in words.
    """
    if url[:5].lower() == "data:":
        try:
            return _decoded(url)
        except ValueError as error:
            raise OSError(f"the picture in the answer is no base64 ({error})") from None
    if urlsplit(url).scheme not in ("http", "https"):
        raise OSError(f"the picture lies at {url[:80]!r}, which is no web address")
    failed: Exception | None = None
    end = time.monotonic() + timeout
    for attempt in range(max(1, tries)):
        try:
            return _fetched(url, end)
        except HTTPError as error:
            failed = OSError(f"fetching the picture: HTTP {error.code}")
            error.close()
            if error.code < 500 and error.code not in (408, 429):
                break
        except (URLError, OSError, ValueError, EOFError) as error:
            failed = OSError(f"fetching the picture: {getattr(error, 'reason', None) or error}")
        if time.monotonic() + pause * 2**attempt >= end:
            break
        if attempt + 1 < tries:
            time.sleep(pause * 2**attempt)
    assert failed is not None
    raise failed


def _fetched(url: str, end: float) -> bytes:
    """Fetch it before the clock (time.monotonic) says `end`."""
    timeout = max(0.1, end - time.monotonic())
    request = Request(url, headers={"User-Agent": f"contextbias/{__version__}"})
    with urlopen(request, timeout=timeout) as response:
        parts, size = [], 0
        # What has come so far: a server that sends a byte a second must not hold it for ever.
        while part := response.read1(_CHUNK):
            if time.monotonic() > end:
                raise TimeoutError("it took too long")
            parts.append(part)
            size += len(part)
            if size > _LARGEST:
                raise ValueError("it is larger than 256 MB")
        expected = response.headers.get("content-length")
        if expected is not None and expected.isdigit() and size < int(expected):
            raise EOFError("it was cut off")
        return b"".join(parts)


def _without_picture(answer: Mapping[str, Any], first: Mapping[str, Any], usage: Usage) -> Reply:
    """A 200 without a picture: some servers answer so when a filter has stopped it."""
    said = json.dumps({k: v for k, v in (first or answer).items() if v is not None})[:300]
    if _WORDS_OF_A_FILTER.search(said) or "refus" in said.lower():
        return Reply(status=BLOCKED, reason=said, usage=usage)
    return _not_understood(f"the answer has no picture: {said}", usage)


def _not_understood(reason: str, usage: Usage) -> Reply:
    return Reply(
        status=ERROR, reason=reason, usage=usage, failure=Failure(kind=ITEM, code="answer")
    )


def _usage(given: Any, *, pictures: int) -> Usage:
    known = given if isinstance(given, dict) else {}
    details = known.get("input_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return Usage(
        input=_whole(known.get("input_tokens")),
        cached=_whole(cached),
        output=_whole(known.get("output_tokens")),
        images=pictures,
    )


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
