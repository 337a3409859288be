"""One request, sent until there is an answer, or a failure that stays one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from contextbias.ids import bytes_sha256, storable_text
from contextbias.providers.budget import Budget
from contextbias.providers.outcomes import (
    AGAIN,
    BLOCKED,
    ERROR,
    FATAL,
    ITEM,
    SLOWER,
    STOPPED,
    Failure,
    Reply,
    Usage,
    classify,
    is_block,
    of_status,
    one_line,
    words,
)
from contextbias.providers.pacing import Gate

Read = Callable[[bytes], Reply]
"""Turns the bytes of a 200 response into a reply: status, text, stop reason, usage, model."""

T = TypeVar("T")

_FEW = 8
# Requests in a row that may fail for reasons of their own.
_LOOK_EVERY = 0.01
# Seconds between two looks at a budget that has no room yet.
_DOWN = "run again when the service answers; only what is missing will be asked for"
_KEPT_HEADERS = (
    "openai-processing-ms",
    "openai-version",
    "x-ratelimit-limit-requests",
    "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-remaining-tokens",
)


@dataclass(slots=True)
class Tally:
    """Counts of an exchange; written in its event loop, read by anyone."""

    sent: int = 0
    """Requests sent, further sendings included."""
    unaccounted: int = 0
    """Sendings that may have been charged without an answer: cut connections, time-outs, 5xx."""
    slowed: int = 0
    """429s."""
    answered: int = 0
    """Requests with an answer."""
    fatal: Failure | None = None
    """The failure that ended the exchange."""
    fatal_words: str = ""
    """What the provider said about it."""
    reserved: int = 0
    """Requests that the budget had room for, and that are not charged yet."""
    over_budget: bool = False
    """The budget ended the exchange."""
    lost: int = 0
    """Sendings without an answer, after all retries, since the service last answered anybody."""
    heard_at: float = 0.0
    """When it did (monotonic)."""

    @property
    def is_down(self) -> bool:
        """Whether the service answered, and by now answers nobody: no fault of single requests."""
        return self.answered > 0 and self.lost > _FEW

    def hear(self) -> None:
        """Something came from the service, if only a refusal."""
        self.lost, self.heard_at = 0, time.monotonic()

    def silence(self) -> float:
        """Seconds since then."""
        return time.monotonic() - self.heard_at


@dataclass(slots=True)
class Line:
    """What a call sends its requests through: paced, sent again, counted."""

    client: Any
    """An ``openai.AsyncOpenAI``."""
    gate: Gate
    """Shared by all."""
    budget: Budget | None
    """Shared by all."""
    threads: Executor
    """For work that would hold up the event loop."""
    tally: Tally = field(default_factory=Tally)
    """Shared by all."""
    timeout: float | None = None
    """Seconds of one sending, to the last byte of its answer; None: as the client has it."""
    redact: Callable[[str], str] = str
    """Takes the key out of what a service says."""

    async def post(
        self,
        path: str,
        body: bytes,
        read: Read,
        *,
        tokens: float = 0.0,
        content_type: str = "application/json",
    ) -> Reply:
        """Send a request until it is answered; never raises for what a service does.

        Args:
            path: Below the base address: ``/chat/completions``.
            body: The encoded request.
            read: What a 200 response means; an exception of it is an invalid answer.
            tokens: How many it is expected to use, for tokens a minute.
            content_type: Of `body`.

        Returns:
            The reply. ``failure.kind`` is ``stopped`` where nothing (more) was sent because the
            exchange is ending, and ``fatal`` where this request ended it: its item stays pending.
        """
        headers = {"content-type": content_type}

        async def send() -> tuple[bytes, Mapping[str, str]]:
            response = await self.client.post(
                path, cast_to=_binary(), content=body, options={"headers": headers}
            )
            return response.content, response.response.headers

        return await self.attempt(send, read, tokens=tokens)

    async def attempt(
        self,
        send: Callable[[], Any],
        read: Read,
        *,
        tokens: float = 0.0,
    ) -> Reply:
        """As `post`, for a request of any kind.

        Args:
            send: Sends it once with `client`; gives the response's bytes and headers, and raises
                what the openai client raises.
            read: As in `post`.
            tokens: As in `post`.
        """
        tries: list[str] = []
        failures, began = 0, time.monotonic()
        while True:
            if not await self._may_spend():
                return _stopped(tries)
            try:
                sent_at = await self.gate.enter(tokens)
                if sent_at is None:
                    return _stopped(tries)
                reply = await self._once(send, read, tokens, sent_at)
            finally:
                self.tally.reserved -= 1
            failure = reply.failure
            if failure is None or failure.kind in (ITEM, FATAL):
                return replace(reply, attempt=len(tries) + 1, tries=tuple(tries))
            tries.append(failure.code)
            failures = 1 if failure.kind == SLOWER else failures + 1
            if self._gives_up(failure, failures, began) and not self._waits_out(failure):
                reply = self._out_of_patience(reply, failure)
                return replace(reply, attempt=len(tries), tries=tuple(tries[:-1]))
            if failure.kind != SLOWER or failure.after is None:
                await self.gate.back_off(min(len(tries), 8))

    async def thread(self, work: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Run `work` in a thread, so that decoding a picture holds up no other request."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.threads, partial(work, *args, **kwargs))

    async def _may_spend(self) -> bool:
        """Reserve what one request may cost; wait where those under way may leave room for it."""
        while self.budget is not None and not self.budget.allows(self.tally.reserved):
            if self.gate.closed:
                return False
            if not self.tally.reserved:
                self.tally.over_budget = True
                self.gate.close()
                return False
            await asyncio.sleep(_LOOK_EVERY)
        self.tally.reserved += 1
        return True

    async def _once(
        self, send: Callable[[], Any], read: Read, tokens: float, sent_at: float
    ) -> Reply:
        self.tally.sent += 1
        began = time.perf_counter()
        try:
            # The client's own limit is between two bytes: a server that sends a blank now and
            # then would hold a request for ever.
            async with asyncio.timeout(self.timeout):
                body, headers = await send()
        except Exception as error:  # whatever the client raises is an outcome
            return self._failed(error, sent_at)
        else:
            seconds = time.perf_counter() - began
            reply = answered(body, headers, read, seconds, self.redact)
            self._answered(reply, tokens, sent_at)
            return reply
        finally:
            self.gate.leave()

    def _answered(self, reply: Reply, tokens: float, sent_at: float) -> None:
        if reply.failure is not None and reply.failure.kind != ITEM:
            # An error in the clothes of a 200.
            self._note(reply.failure, reply.reason or "", sent_at)
        else:
            self.tally.answered += 1
            self.tally.hear()
            self.gate.succeeded(reply.usage.input + reply.usage.output - tokens)
        if self.budget is not None and (reply.failure is None or reply.usage != Usage()):
            self.budget.charge(reply)

    def _failed(self, error: Exception, sent_at: float) -> Reply:
        failure, said = classify(error), words(error, self.redact)
        status = BLOCKED if is_block(getattr(error, "body", None)) else ERROR
        failure = replace(
            failure,
            code=self.redact(failure.code),
            fix=self.redact(failure.fix),
            kind=ITEM if status == BLOCKED else failure.kind,
        )
        self._note(failure, said, sent_at)
        request_id = getattr(error, "request_id", None)
        return Reply(
            status=status,
            reason=f"{failure.code}: {said}" if said != failure.code else said,
            request_id=storable_text(request_id) if isinstance(request_id, str) else None,
            failure=failure if status == ERROR else None,
        )

    def _note(self, failure: Failure, said: str, sent_at: float) -> None:
        """Let all requests know of one's failure."""
        if failure.kind in (SLOWER, ITEM):
            self.tally.hear()
        self.tally.unaccounted += failure.maybe_billed
        if failure.kind == SLOWER:
            self.tally.slowed += 1
            self.gate.slowed(sent_at, failure.after)
        if failure.kind == AGAIN and failure.after is not None:
            self.gate.hold(failure.after)
        if failure.kind == FATAL:
            self._end(failure, said)

    def _end(self, failure: Failure, said: str) -> None:
        """Send nothing more, because of this failure; the first one is told."""
        if self.tally.fatal is None:
            self.tally.fatal, self.tally.fatal_words = failure, said
        self.gate.close()

    def _waits_out(self, failure: Failure) -> bool:
        """Whether to try on, since the service is down: for everybody, and not for long yet."""
        if failure.kind != AGAIN:
            return False
        self.tally.lost += 1
        if not self.tally.is_down or self.tally.silence() > self.gate.pacing.patience:
            return False
        self.gate.narrow(self.tally.lost - _FEW)
        return True

    def _out_of_patience(self, reply: Reply, failure: Failure) -> Reply:
        """The reply, as one that ends the exchange where the service stays down."""
        if failure.kind != AGAIN or not self.tally.is_down:
            return reply
        ended = replace(failure, kind=FATAL, fix=_DOWN)
        self._end(ended, f"no answer to anybody for {self.tally.silence():.0f} seconds")
        return replace(reply, failure=ended)

    def _gives_up(self, failure: Failure, failures: int, began: float) -> bool:
        if failure.kind == SLOWER:
            return time.monotonic() - began > self.gate.pacing.patience
        return failures > self.gate.pacing.retries


def answered(
    body: bytes,
    headers: Mapping[str, str],
    read: Read,
    seconds: float,
    redact: Callable[[str], str] = str,
) -> Reply:
    """What a 200 response means: what `read` says, with time, headers and hash.

    Args:
        body: Of the response.
        headers: Of the response.
        read: What it means.
        seconds: What it took.
        redact: Takes the key out of a text.
    """
    try:
        reply = read(body)
    except Exception as error:  # a server may answer anything
        said = one_line(redact(_not_understood(error, body, headers)))
        reply = Reply(status=ERROR, reason=said, failure=Failure(kind=ITEM, code="answer"))

    def clean(text: str | None) -> str | None:
        return None if text is None else storable_text(redact(text))

    kept = {name: headers[name] for name in _KEPT_HEADERS if name in headers}
    return replace(
        reply,
        text=clean(reply.text),
        reason=clean(reply.reason),
        stop_reason=clean(reply.stop_reason),
        model=clean(reply.model),
        seconds=seconds,
        request_id=clean(headers.get("x-request-id")),
        headers={name: str(clean(text)) for name, text in kept.items()},
        body=body,
        sha256=bytes_sha256(body),
    )


def _not_understood(error: Exception, body: bytes, headers: Mapping[str, str]) -> str:
    if isinstance(error, ValueError):
        kind, begin = headers.get("content-type", ""), body[:40].decode("utf-8", "replace")
        return f"the answer is no JSON ({kind or 'of no type'}, begins {begin!r})"
    return f"the answer cannot be understood ({type(error).__name__}: {error})"


def refused(status: int, body: Any, redact: Callable[[str], str] = str) -> Reply:
    """What a response of another status means, where no exception tells (in batches)."""
    error = body.get("error") if isinstance(body, Mapping) else None
    found = error if isinstance(error, Mapping) else {}
    code, said = str(found.get("code") or ""), str(found.get("message") or "no reason given")
    shown = redact(of_status(status, code).code)
    reason = f"{shown}: {one_line(redact(said))}"
    if is_block(error):
        return Reply(status=BLOCKED, reason=reason)
    return Reply(status=ERROR, reason=reason, failure=Failure(kind=ITEM, code=shown))


def _stopped(tries: list[str]) -> Reply:
    return Reply(
        status=ERROR,
        reason="not sent",
        tries=tuple(tries),
        failure=Failure(kind=STOPPED, code="stopped"),
    )


def _binary() -> Any:
    import openai

    return openai.HttpxBinaryResponseContent
