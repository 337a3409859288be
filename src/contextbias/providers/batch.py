"""Requests by way of a Batch API: cheaper, within a day, and collected by a later run if need be.

The call that asks about an item one request at a time is used here as it is (see `exchange`). It
is given a line that answers from what has come back; a request that has no answer yet ends the
call there, and goes into the next batch. When its answer is back, the call is made anew, finds it,
and goes on: so a second turn about a faulty answer is simply a request of the next batch.

Requests are told apart by a hash of the item's key and of their place in the call, never by their
order: results that are shuffled, doubled or missing do no harm.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from pydantic import Field

from contextbias.engines.devices import cores
from contextbias.errors import Incomplete
from contextbias.ids import content_hash
from contextbias.options import Options
from contextbias.providers.batch_records import Records
from contextbias.providers.batch_sending import Limits, Sender
from contextbias.providers.budget import Budget
from contextbias.providers.connection import Connection
from contextbias.providers.exchange import State, exchange, over_budget
from contextbias.providers.line import Line, Read, T, answered, refused
from contextbias.providers.outcomes import ERROR, ITEM, Failure, Reply
from contextbias.providers.pacing import Pacing
from contextbias.providers.session import Session
from contextbias.tables import OK

R = TypeVar("R")

_DEFERRED = "deferred"
_ROUNDS = 3
# How often a request is sent that comes back without an answer.
_USED_EVERY = 200


class BatchOptions(Options):
    """Options of backends that can use a provider's Batch API."""

    batch: bool = False
    """Always use the Batch API, as `--batch` does for one run."""
    batch_requests: int = Field(default=50_000, ge=1)
    """Most requests of one batch."""
    batch_megabytes: float = Field(default=190.0, gt=0)
    """Most megabytes of one file of requests; OpenAI takes 200."""
    batch_tokens: int | None = Field(default=None, ge=1)
    """Most tokens that may be enqueued, over all batches: the account's limit. Left out: found out,
    by what the provider refuses."""
    batch_poll: float = Field(default=30.0, gt=0)
    """Seconds between two looks at what is with the provider."""

    def limits(self) -> Limits:
        """The limits of batches."""
        size = int(self.batch_megabytes * 1e6)
        return Limits(requests=self.batch_requests, size=size, tokens=self.batch_tokens)


class _Deferred(BaseException):
    """A request without an answer yet. Not an Exception: no call is to catch it by chance."""

    def __init__(self, custom_id: str, path: str, body: bytes, tokens: float) -> None:
        super().__init__(custom_id)
        self.request = custom_id, path, body, tokens


@dataclass(slots=True)
class BatchLine:
    """What a call sends its requests through: it answers from batches, or ends the call."""

    line: Line
    """For its threads."""
    key: str
    """Of the item."""
    records: Records
    """What came back."""
    given_up: set[str]
    """Requests that came back without an answer too often."""
    used: list[str] = field(default_factory=list)
    """Requests of this call that have an answer."""

    async def post(self, path: str, body: bytes, read: Read, *, tokens: float = 0.0) -> Reply:
        """The answer to a request, if it is back; see `Line.post`."""
        custom_id = request_id(self.key, len(self.used))
        found = self.records.answer(custom_id)
        if found is None and custom_id in self.given_up:
            why = f"{_ROUNDS} batches came back without an answer to it"
            return Reply(status=ERROR, reason=why, failure=Failure(kind=ITEM, code="batch"))
        if found is None:
            raise _Deferred(custom_id, path, body, tokens)
        self.used.append(custom_id)
        return _reply(found["response"], read, self.line.redact)

    async def thread(self, work: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """As `Line.thread`."""
        return await self.line.thread(work, *args, **kwargs)


def request_id(key: str, turn: int) -> str:
    """The custom_id of the `turn`-th request (from 0) about the item with that key."""
    return content_hash(["request", key, turn], length=40)


def batches(
    requests: Iterable[R],
    call: Callable[[Any, R], Awaitable[Reply]],
    *,
    key: Callable[[R], str],
    connection: Connection,
    options: BatchOptions,
    session: Session,
    budget: Budget | None = None,
    on_state: Callable[[State], None] | None = None,
) -> Iterator[tuple[R, Reply]]:
    """Ask about every request by batches, and yield replies as batches come back.

    Args:
        requests: All of them; kept in memory, so they should be small.
        call: As for `exchange`. It may be made several times for one request, and must ask the
            same again.
        key: Tells items apart, for good: a hash of the item and of everything that decides its
            answer.
        connection: Whom to ask.
        options: Limits of a batch.
        session: Where ids and answers are kept.
        budget: How much may be spent; its cost is that of batches.
        on_state: Told where it stands.

    Yields:
        (request, its reply), in any order.

    Raises:
        KeyboardInterrupt: At once; what is with the provider is collected by a later run.
        Incomplete: The budget is used up, or the provider refuses what every batch shares.
        MissingPart: No key, or one that the provider refuses.
    """
    work = _Work(list(requests), call, key, connection, options, session, budget, on_state)
    try:
        yield from work.run()
    finally:
        work.close()


def refuse_twice(keys: Iterable[str], connection: Connection, session: Session) -> None:
    """Refuse to ask one by one for what is in a batch: it would be paid for twice.

    Args:
        keys: Of the items that would be asked about; see `batches`. Not looked at where nothing of
            the study is in batches.
        connection: Whom.
        session: The study.

    Raises:
        Incomplete: Some of them are in batches, or their answers are here and no rows yet.
    """
    records = Records(session.folder, connection.base_url)
    records.load()
    held = {each for record in records.open.values() for each in record.ids}
    found = sum(request_id(key, 0) in held for key in keys) if held else 0
    if found:
        raise Incomplete(
            f"{found:,} of what {session.name!r} is to be asked is in batches already",
            f"collect them with --batch, or give them up: delete {records.place}",
        )


class _Work(Generic[R]):
    """The items that have no final reply yet, and the batches that they wait for."""

    def __init__(
        self,
        items: Sequence[R],
        call: Callable[[Any, R], Awaitable[Reply]],
        key: Callable[[R], str],
        connection: Connection,
        options: BatchOptions,
        session: Session,
        budget: Budget | None,
        on_state: Callable[[State], None] | None,
    ) -> None:
        self._items, self._call, self._tell = items, call, on_state
        self._connection, self._budget, self._poll = connection, budget, options.batch_poll
        self._keys = [key(item) for item in items]
        self._waits_for = {i: request_id(name, 0) for i, name in enumerate(self._keys)}
        # Position of each item without a final reply -> the request that it waits for.
        self._records = Records(session.folder, connection.base_url)
        self._sender = Sender(self._records, connection, options.limits(), budget)
        self._asked: Counter[str] = Counter()
        self._given_up: set[str] = set()
        self._lines: dict[int, BatchLine] = {}
        self._used: set[str] = set()
        self._done = self._failed = 0
        self._began = time.monotonic()
        self._spent_before = budget.spent if budget else 0.0

    def close(self) -> None:
        """Keep what is left of the answers, and nothing of what was not sent."""
        self._forget_used()
        self._sender.close()

    def run(self) -> Iterator[tuple[R, Reply]]:
        """See `batches`."""
        self._records.load()
        self._sender.settle()
        while self._waits_for:
            self._asked.subtract(self._sender.collect())
            yield from self._ask([i for i, w in self._waits_for.items() if self._is_back(w)])
            yield from self._send()
            self._show()
            self._wait()

    def _wait(self) -> None:
        """Until it is worth another look; an error where nothing more will come."""
        mine, sender = set(self._waits_for.values()), self._sender
        if not mine:
            return
        if not sender.waits_for(mine):
            if sender.over_budget and self._budget is not None:
                raise over_budget(self._budget)
            sender.refuse_lost(mine)
        # Batches of other settings are waited for as well: they take room in the queue.
        if sender.waits_for(self._records.away()):
            time.sleep(self._poll)

    def _is_back(self, custom_id: str) -> bool:
        return self._records.has(custom_id) or custom_id in self._given_up

    def _send(self) -> Iterator[tuple[R, Reply]]:
        """Make the calls that have asked for nothing yet, as far as limits allow."""
        away = self._sender.under_way()
        if not self._sender.is_full:
            yield from self._ask([i for i, w in self._waits_for.items() if w not in away])
        self._sender.flush()

    def _ask(self, positions: Sequence[int]) -> Iterator[tuple[R, Reply]]:
        """Make the calls of some items: each ends in a reply, or in a request for a batch."""
        if not positions:
            return
        pacing = Pacing(concurrency=cores())
        away = self._sender.under_way()
        for i, reply in exchange(positions, self._call_of, connection=self._connection,
                                 pacing=pacing):  # fmt: skip
            if reply.stop_reason == _DEFERRED:
                self._defer(i, reply, away)
                if self._sender.is_full:
                    return
                continue
            yield self._finish(i, reply)
            self._used.update(self._lines.pop(i).used)
            if len(self._used) >= _USED_EVERY:
                self._forget_used()

    async def _call_of(self, line: Line, i: int) -> Reply:
        batch_line = self._lines[i] = BatchLine(line, self._keys[i], self._records, self._given_up)
        try:
            return await self._call(batch_line, self._items[i])
        except _Deferred as deferred:
            custom_id, path, body, tokens = deferred.request
            return Reply(
                status=ERROR, stop_reason=_DEFERRED, request_id=custom_id, text=path, body=body,
                seconds=tokens,
            )  # fmt: skip

    def _defer(self, i: int, asked: Reply, away: set[str]) -> None:
        """Put a request into a batch, unless it is in one."""
        custom_id = str(asked.request_id)
        self._waits_for[i] = custom_id
        if custom_id in away:
            return
        if self._asked[custom_id] >= _ROUNDS:
            self._given_up.add(custom_id)
        elif self._sender.add(custom_id, str(asked.text), asked.body, asked.seconds):
            self._asked[custom_id] += 1
            away.add(custom_id)

    def _finish(self, i: int, reply: Reply) -> tuple[R, Reply]:
        del self._waits_for[i]
        self._done += 1
        self._failed += reply.status != OK
        if self._budget is not None and reply.failure is None:
            for each in (*reply.earlier, reply):
                self._budget.charge(each)
        return self._items[i], reply

    def _forget_used(self) -> None:
        self._records.used(self._used)
        self._used = set()

    def _show(self) -> None:
        if self._tell is None:
            return
        budget, away = self._budget, self._records.away()
        spent = budget.spent if budget and budget.knows else None
        total = self._done + len(self._waits_for)
        projected = None
        if spent is not None and self._done:
            projected = self._spent_before + (spent - self._spent_before) / self._done * total
        state = State(
            done=self._done,
            failed=self._failed,
            in_flight=len(away),
            limit=0,
            rate=self._done / max(time.monotonic() - self._began, 1e-9),
            spent=spent,
            projected=projected,
            paused=0.0,
            stopping=False,
            batches=self._records.count_away(),
            unknown=budget.unknown if budget else 0,
        )
        self._tell(state)


def _reply(response: dict[str, Any], read: Read, redact: Callable[[str], str]) -> Reply:
    text = json.dumps(response.get("body"), separators=(",", ":"), ensure_ascii=False)
    headers = {"x-request-id": str(response.get("request_id") or "")}
    if response["status_code"] != 200:
        return refused(response["status_code"], response.get("body"), redact)
    reply = answered(text.encode("utf-8", "backslashreplace"), headers, read, 0.0, redact)
    if reply.failure is None or reply.failure.kind == ITEM:
        return reply
    # It came back, and says nothing about what is sent now.
    return replace(reply, failure=replace(reply.failure, kind=ITEM))
