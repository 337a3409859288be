"""What the images API answers: a picture, a refusal in one of its forms, or something else."""

from __future__ import annotations

import base64
import binascii
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
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
        found = answer.get("data") or []
        first = found[0] if found and isinstance(found[0], dict) else {}
        usage = _usage(answer.get("usage"), pictures=1 if first else 0)
        self.revised_prompt = _text(first.get("revised_prompt"))
        self.echoed = {name: answer[name] for name in _ECHOED if answer.get(name) is not None}
        if isinstance(first.get("b64_json"), str) and first["b64_json"]:
            try:
                self.data = base64.b64decode(first["b64_json"], validate=True)
            except binascii.Error as error:
                return _not_understood(f"the picture is no base64 ({error})", usage)
            return Reply(status=OK, usage=usage, model=_text(answer.get("model")))
        if isinstance(first.get("url"), str) and first["url"]:
            self.url = first["url"]
            return Reply(status=OK, usage=usage, model=_text(answer.get("model")))
        return _without_picture(answer, first, usage)


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

    Raises:
        OSError: It cannot be had, or is larger than 256 MB; in words.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise OSError(f"the picture lies at {url[:80]!r}, which is no web address")
    failed: Exception | None = None
    for attempt in range(max(1, tries)):
        try:
            return _fetched(url, timeout)
        except HTTPError as error:
            failed = OSError(f"fetching the picture: HTTP {error.code}")
            error.close()
            if error.code < 500 and error.code not in (408, 429):
                break
        except (URLError, OSError, ValueError, EOFError) as error:
            failed = OSError(f"fetching the picture: {getattr(error, 'reason', None) or error}")
        if attempt + 1 < tries:
            time.sleep(pause * 2**attempt)
    assert failed is not None
    raise failed


def _fetched(url: str, timeout: float) -> bytes:
    request = Request(url, headers={"User-Agent": f"contextbias/{__version__}"})
    with urlopen(request, timeout=timeout) as response:
        parts, size = [], 0
        while part := response.read(_CHUNK):
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
