"""What the images API answers: a picture, a refusal in one of its forms, or something else."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote_to_bytes, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from contextbias import __version__
from contextbias.generate.protocol import Job
from contextbias.providers.chat import error_in_answer
from contextbias.providers.connection import Connection
from contextbias.providers.outcomes import (
    BLOCKED,
    ERROR,
    ITEM,
    Failure,
    Reply,
    Usage,
    one_line,
    whole_number,
)
from contextbias.tables import OK

_LARGEST = 1 << 28
_CHUNK = 1 << 20
_WORDS_OF_A_FILTER = re.compile(
    r"safety system|content[ _-]?polic|content[ _-]?filter|moderation[ _]blocked", re.IGNORECASE
)
_FLAGS = {
    "flagged": True, "filtered": True, "nsfw": True, "has_nsfw_concepts": True,
    "respect_moderation": False,
}  # fmt: skip
"""What services say, beside or in the place of a picture, that their filter has stopped."""
_REASONS = {"raifilteredreason", "rai_reason"}
_OF_THE_PROMPT = {"prompt", "revised_prompt"}
_ECHOED = ("size", "quality", "background", "output_format")
_IN_ADDRESSES = "!#$%&'()*+,/:;=?@[]~"
_OWN_WORDS = "answer"
_NO_PICTURE = Failure(kind=ITEM, code=_OWN_WORDS)


@dataclass(slots=True)
class Asked:
    """One job on its way, and what came back."""

    job: Job
    """The job."""
    has_token_price: bool = False
    """Whether an answer that does not say how many tokens it took leaves its charge unknown."""
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
        given = answer.get("data")
        listed = given if isinstance(given, list) else []
        items = [each for each in listed if isinstance(each, dict)]
        pictured = [each for each in items if _text(each.get("b64_json")) or _text(each.get("url"))]
        usage = self._usage(answer.get("usage"), pictures=len(pictured))
        if not pictured:
            return _without_picture(answer, items[0] if items else answer, usage)
        first = pictured[0]
        self.revised_prompt = _text(first.get("revised_prompt"))
        self.echoed = {name: answer[name] for name in _ECHOED if answer.get(name) is not None}
        if encoded := _text(first.get("b64_json")):
            try:
                self.data = _decoded(encoded)
            except ValueError as error:
                return _not_understood(f"the picture is no base64 ({error})", usage)
        else:
            self.url = first["url"].strip()
        return Reply(status=OK, usage=usage, model=_text(answer.get("model")))

    def _usage(self, given: Any, *, pictures: int) -> Usage:
        known = given if isinstance(given, dict) else {}
        details = known.get("input_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else 0
        sent, received = (whole_number(known.get(f"{way}_tokens")) for way in ("input", "output"))
        is_open = self.has_token_price and bool(pictures) and (sent is None or received is None)
        return Usage(
            input=sent or 0,
            cached=min(whole_number(cached) or 0, sent or 0),
            output=received or 0,
            images=pictures,
            unknown=int(is_open),
        )


def _decoded(text: str) -> bytes:
    """The bytes of base64 in either alphabet, with line ends, padding and the head of a ``data:``
    address or without.

    Raises:
        ValueError: It is no base64.
    """
    if text.lstrip()[:5].lower() == "data:":
        head, _, text = text.partition(",")
        if not head.lower().rstrip().endswith("base64"):
            return unquote_to_bytes(text)
    plain = "".join(text.split()).rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)


def as_block(reply: Reply) -> Reply:
    """The reply, as a block where a failed request was stopped by a filter under another code."""
    if (
        reply.failure is not None
        and reply.failure.kind == ITEM
        and reply.failure.code != _OWN_WORDS
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
        except (URLError, OSError, HTTPException, ValueError, EOFError) as error:
            said = one_line(str(getattr(error, "reason", None) or error))
            failed = OSError(f"fetching the picture: {said or type(error).__name__}")
        if time.monotonic() + pause * 2**attempt >= end:
            break
        if attempt + 1 < tries:
            time.sleep(pause * 2**attempt)
    assert failed is not None
    raise failed


def _fetched(url: str, end: float) -> bytes:
    """Fetch it before the clock (time.monotonic) says `end`."""
    timeout = max(0.1, end - time.monotonic())
    with _open(url, timeout) as response:
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


def _open(url: str, timeout: float) -> Any:
    # As for requests to the service: a proxy does not reach this machine.
    handlers = [ProxyHandler({})] if Connection(url).is_local else []
    request = Request(quote(url, safe=_IN_ADDRESSES))
    request.add_header("User-Agent", f"contextbias/{__version__}")
    return build_opener(*handlers).open(request, timeout=timeout)


def _without_picture(answer: Mapping[str, Any], found: Mapping[str, Any], usage: Usage) -> Reply:
    """A 200 without a picture: an error, or what some services answer when a filter stopped it."""
    if error := answer.get("error"):
        told = error if isinstance(error, dict) else {"message": str(error)}
        unnamed = Failure(kind=ITEM, code="error")
        failed = error_in_answer(told, "the answer has no picture", unnamed)
        return replace(failed, usage=usage)
    told = {k: v for k, v in found.items() if v is not None and k not in _OF_THE_PROMPT}
    said = json.dumps(told)[:300]
    if _is_stopped(answer):
        return Reply(status=BLOCKED, reason=said, usage=usage)
    return _not_understood(f"the answer has no picture: {said}", usage)


def _is_stopped(told: Any, name: str = "") -> bool:
    """Whether an answer says anywhere that a filter, or the model itself, has stopped a picture.

    Args:
        told: The answer, or a part of it.
        name: Of the field that it stands in.
    """
    if isinstance(told, dict):
        # A prompt may well have "refuse" in it.
        parts = ((key.lower(), part) for key, part in told.items())
        return any(_is_stopped(part, key) for key, part in parts if key not in _OF_THE_PROMPT)
    if isinstance(told, list):
        return any(_is_stopped(part, name) for part in told)
    if isinstance(told, bool):
        return _FLAGS.get(name) is told
    if not isinstance(told, str) or not told:
        return False
    return name in _REASONS or "refus" in told.lower() or bool(_WORDS_OF_A_FILTER.search(told))


def _not_understood(reason: str, usage: Usage) -> Reply:
    return Reply(status=ERROR, reason=reason, usage=usage, failure=_NO_PICTURE)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
