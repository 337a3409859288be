"""What became of a request: a reply with its usage, or a failure and what it means for the rest.

A refusal, a block or a cut answer is a reply with a status of its own. It is looked at before the
text is: a refusal pushed through a JSON parser is an "invalid" that hides its cause.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from contextbias.ids import storable_text

REFUSED = "refused"
"""The model declined, in words of its own."""
TRUNCATED = "truncated"
"""The answer was cut at the token limit."""
BLOCKED = "blocked"
"""A filter of the service stopped the request or the answer."""
INVALID = "invalid"
"""There is an answer, but not the one that was asked for."""
ERROR = "error"
"""No answer: the request failed."""

AGAIN = "again"
"""A failure that may pass by itself: 5xx, a time-out, a cut connection."""
SLOWER = "slower"
"""A failure that says: send less (429)."""
ITEM = "item"
"""A failure of this one request."""
FATAL = "fatal"
"""A failure that every further request would share: a key, a quota, a parameter, a model."""
STOPPED = "stopped"
"""The request was not sent, since the exchange is stopping; its item stays pending."""


BLOCK_CODES = {
    "content_filter",
    "content_policy_violation",
    "moderation_blocked",
    "safety_violation",
}
"""Error codes of requests that a filter stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a reply was charged for."""

    input: int = 0
    """Tokens sent, cached ones and pictures included."""
    cached: int = 0
    """Of `input`, those that the provider had in its cache."""
    output: int = 0
    """Tokens received, hidden reasoning included."""
    reasoning: int = 0
    """Of `output`, hidden reasoning."""
    images: int = 0
    """Pictures made."""
    unknown: int = 0
    """Replies of which the server did not say, or not in numbers, what they were charged for. A
    budget counts each as what was expected."""

    def __add__(self, other: Usage) -> Usage:
        """Sums, field by field."""
        return Usage(
            input=self.input + other.input,
            cached=self.cached + other.cached,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
            images=self.images + other.images,
            unknown=self.unknown + other.unknown,
        )

    def as_json(self) -> dict[str, int]:
        """The fields that are not 0; `from_json` reads them back."""
        return {name: value for name in _USAGE_FIELDS if (value := getattr(self, name)) != 0}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Usage:
        """What `as_json` gave; whatever else is there is passed over."""
        return cls(**{name: whole_number(stored.get(name)) or 0 for name in _USAGE_FIELDS})


_USAGE_FIELDS = ("input", "cached", "output", "reasoning", "images", "unknown")
_MOST_TOKENS = 10**12
# More than anybody was charged for at once.


def whole_number(told: object) -> int | None:
    """A count that a server told, as an int, a whole float or digits; None for anything else.

    Negative numbers, NaN, infinity and absurdly large ones are no counts.
    """
    if isinstance(told, str):
        told = int(told) if told.isascii() and told.isdecimal() and len(told) <= 12 else None
    if isinstance(told, bool) or not isinstance(told, (int, float)) or not math.isfinite(told):
        return None
    return int(told) if 0 <= told <= _MOST_TOKENS and told == int(told) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why there is no answer."""

    kind: str
    """``again``, ``slower``, ``item``, ``fatal`` or ``stopped``."""
    code: str
    """Short and fixed: ``500``, ``429 rate_limit_exceeded``, ``timeout``, ``cut`` …"""
    after: float | None = None
    """Seconds to wait, as the server asked (Retry-After)."""
    fix: str = ""
    """What the user can do; for fatal ones."""
    maybe_billed: bool = False
    """The request had reached the server, so it may be charged although no answer came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back for one request."""

    status: str
    """``ok``, ``refused``, ``truncated``, ``blocked``, ``invalid`` or ``error``."""
    text: str | None = None
    """The answer's text, or the refusal's; None where there is none."""
    reason: str | None = None
    """Why not ``ok``, in words."""
    stop_reason: str | None = None
    """The provider's own word: ``stop``, ``length``, ``content_filter`` …"""
    usage: Usage = field(default_factory=Usage)
    """What this reply was charged for, by the server's own account."""
    seconds: float = 0.0
    """From sending to the last byte, of the request that was answered."""
    attempt: int = 1
    """Which sending of the request was answered; earlier ones failed."""
    tries: tuple[str, ...] = ()
    """Codes of the failures of the earlier sendings."""
    request_id: str | None = None
    """The provider's id of the request."""
    model: str | None = None
    """The dated snapshot that answered, as the provider names it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers worth keeping: rate limits, processing time, version."""
    body: bytes = b""
    """The response's bytes."""
    sha256: str | None = None
    """Hash of `body`, 64 hex digits."""
    failure: Failure | None = None
    """Set where `status` is ``error``."""
    earlier: tuple[Reply, ...] = ()
    """Replies that this one replaces (a repair turn): paid for, and kept."""

    def total_usage(self) -> Usage:
        """Usage of this reply and of those that it replaces."""
        return sum((reply.usage for reply in self.earlier), self.usage)


def classify(error: Exception) -> Failure:
    """What an exception of the openai client, or of the network below it, means.

    Args:
        error: What sending raised.
    """
    import openai

    # TimeoutError: the whole request took too long, though something came now and then.
    if isinstance(error, (openai.APITimeoutError, TimeoutError)):
        return Failure(kind=AGAIN, code="timeout", maybe_billed=True)
    if isinstance(error, openai.APIStatusError):
        return _of_status(error)
    if isinstance(error, openai.APIConnectionError):
        return _of_connection(error)
    return Failure(kind=ITEM, code=f"{type(error).__name__}: {error}"[:300])


def is_block(told: object) -> bool:
    """Whether an error says that a filter stopped this request's content, whatever its status.

    Args:
        told: The error as the service sends it.
    """
    if not isinstance(told, Mapping):
        return False
    about = told.get("metadata")  # of OpenRouter's, which come with status 403
    is_flagged = isinstance(about, Mapping) and "flagged_input" in about
    return is_flagged or str(told.get("code")) in BLOCK_CODES


def words(error: Exception, redact: Callable[[str], str] = str) -> str:
    """What the provider said, in one line of at most 300 characters.

    Args:
        error: What sending raised.
        redact: Takes the key out of what is said; before it is cut, so that no half of it stays.
    """
    body = getattr(error, "body", None)
    # FastAPI's servers say `detail`, which may be a list of faults.
    message = body.get("message", body.get("detail")) if isinstance(body, Mapping) else body
    if isinstance(message, Sequence | Mapping) and not isinstance(message, str):
        message = json.dumps(message)
    text = message if isinstance(message, str) else str(error) or type(error).__name__
    if isinstance(error, TimeoutError):
        text = "no whole answer in time"
    elif body is None and (page := _page(error)):
        text = f"no JSON, but {page!r}"
    elif body is None and (below := str(error.__cause__ or "")):
        # "Connection error." alone hides an unknown host, or a certificate that is refused.
        text = below
    return one_line(redact(text))


def _page(error: Exception) -> str:
    """How the text of an error response begins that is no JSON: of a proxy, or a login page."""
    response = getattr(error, "response", None)
    try:
        text = response.text if response is not None else ""
    except Exception:  # a stream that nobody read
        return ""
    return " ".join(str(text)[:_BEGINNING].split())


def one_line(text: str) -> str:
    """A text without line ends and other control characters, of at most 300 characters."""
    shown = "".join(letter if letter.isprintable() else " " for letter in storable_text(text))
    return " ".join(shown.split())[:300]


_LONGEST_WAIT = 900.0
# A server that asks to wait for longer than this asks for another day.
_BEGINNING = 100
# Letters of a page.
_NEVER = 1e7
# Seconds, a third of a year: whoever asks to wait for longer has said nothing.
_NEVER_SENT = {"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError"}
_CREDIT = "add credit or raise the limit at the provider, then run again"
CHECK_KEY = "check the key in the environment variable that api_key_env names, and its rights"
"""What to do about a 401 or 403, where it is not known which variable that is."""
_REDIRECT = "write the address that it redirects to into base_url, up to and with /v1"
_FIXES = {
    "insufficient_quota": _CREDIT,
    "billing_hard_limit_reached": "raise the limit at the provider, then run again",
    "model_not_found": "correct the model's name, or take one that the key may use",
    "unsupported_parameter": "take the option out, or correct the model's profile",
    "unsupported_value": "correct the option, or the model's profile",
    "unknown_parameter": "take the option out, or correct the model's profile",
    "invalid_json_schema": "take another structured mode, or report this schema",
}


def _of_status(error: Any) -> Failure:
    after = retry_after(error.response.headers)
    failure = of_status(int(error.status_code), str(error.code or ""), after)
    if error.response.has_redirect_location:
        place = one_line(error.response.headers["location"].partition("?")[0])
        return replace(failure, fix=f"{failure.fix}: {place}")
    return failure


def of_status(status: int, code: str = "", after: float | None = None) -> Failure:
    """What an HTTP status and an error's code mean, wherever they stand.

    Args:
        status: As HTTP has them.
        code: The provider's own word; empty for none.
        after: Seconds that the server asks to wait; None where it does not.
    """
    # vLLM repeats the status as the code.
    shown = str(status) if code in ("", str(status)) else f"{status} {one_line(code)}"
    if code in _FIXES:
        return Failure(kind=FATAL, code=shown, fix=_FIXES[code])
    if 300 <= status < 400:
        return Failure(kind=FATAL, code=shown, fix=_REDIRECT)
    if status in (401, 403):
        return Failure(kind=FATAL, code=shown, fix=CHECK_KEY)
    if status == 402:
        return Failure(kind=FATAL, code=shown, fix=_CREDIT)
    if status == 404:
        return Failure(kind=FATAL, code=shown, fix="correct base_url and the model's name")
    if after is not None and after > _LONGEST_WAIT:
        return Failure(kind=FATAL, code=shown, fix=f"run again in {after / 60:.0f} minutes")
    if status == 429:
        return Failure(kind=SLOWER, code=shown, after=after)
    if status in (408, 409) or status >= 500:
        return Failure(kind=AGAIN, code=shown, after=after, maybe_billed=status >= 500)
    return Failure(kind=ITEM, code=shown)


def _of_connection(error: Exception) -> Failure:
    # By name: which HTTP library is below the client depends on the client's version.
    if type(error.__cause__).__name__ in _NEVER_SENT:
        return Failure(kind=AGAIN, code="no connection", fix="check base_url and the network")
    return Failure(kind=AGAIN, code="cut", maybe_billed=True)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait (``retry-after-ms``, ``Retry-After``); None if none."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) / unit
        except ValueError:
            seconds = _until(value)
        if 0 <= seconds < _NEVER:
            return seconds
    return None


def _until(date: str) -> float:
    """Seconds until an HTTP date; -1 for what is none."""
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return -1.0
