"""Many requests at once, as an ordinary iterator: requests in, replies out as they finish.

The requests run in an event loop in a thread of its own. The consumer's thread only takes what is
finished, so that it may be slow, or interrupted, without harm to what is under way.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from contextbias.engines.devices import cores
from contextbias.errors import ContextBiasError, Incomplete, MissingPart
from contextbias.interrupts import Interrupts
from contextbias.progress import counted
from contextbias.providers.budget import Budget
from contextbias.providers.connection import Connection
from contextbias.providers.line import Line, Tally
from contextbias.providers.outcomes import (
    CHECK_KEY,
    ERROR,
    FATAL,
    ITEM,
    STOPPED,
    Failure,
    Reply,
    one_line,
)
from contextbias.providers.pacing import Gate, Pacing
from contextbias.tables import OK

R = TypeVar("R")
Call = Callable[[Line, R], Awaitable[Reply]]
"""Asks about one item: one request, or several in sequence, through the line it is given."""

_AHEAD = 8
# Calls under way beyond those that may be in flight: their pictures are decoded meanwhile.
_WAITING = 16
# Replies that wait for the consumer before calls are held back: a crash loses no more than these,
# and what is in flight.
_STATE_EVERY = 0.25
_PROJECT_AFTER = 20
_END = None


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Where an exchange stands."""

    done: int
    """Items with a final reply, failed ones included."""
    failed: int
    """Of these, not ``ok``."""
    in_flight: int
    """Requests without an answer yet."""
    limit: int
    """How many may be in flight now."""
    rate: float
    """Items a second, since the start."""
    spent: float | None
    """Of all runs, in USD (or the currency of the user's prices); None where no price is known."""
    projected: float | None
    """What all items will have cost, from 20 items on; None before, or without a total."""
    paused: float
    """Seconds that the server still asks to wait."""
    stopping: bool
    """Nothing more is sent; what is in flight is waited for."""
    batches: int = 0
    """With the provider; 0 where requests are sent one by one."""
    unknown: int = 0
    """Replies of which the service did not say what they used: `spent` has them as expected."""
    unaccounted: int = 0
    """Sendings without an answer (cut, timed out, 5xx) that may be charged; not in `spent`."""
    silent: float = 0.0
    """Seconds for which a service that had answered has answered nobody; 0 where it does."""

    def words(self) -> str:
        """``16 in flight, 0.42 USD spent, 1.90 projected``."""
        if self.stopping:
            return f"stopping: {self.in_flight} in flight (Ctrl-C again gives them up)"
        parts = [f"{self.in_flight:,} in flight"]
        if self.batches:
            many = "batches" if self.batches > 1 else "batch"
            parts = [f"{self.in_flight:,} in {self.batches} {many} (Ctrl-C: collect them later)"]
        if self.silent:
            parts.append(f"no answer to anybody for {self.silent:.0f} s, trying on")
        elif self.paused > 1:
            parts.append(f"the service asks to wait {self.paused:.0f} s")
        if self.spent is not None:
            parts.append(f"{self.spent:.2f} USD spent")
        if self.projected is not None:
            parts.append(f"{self.projected:.2f} projected")
        if self.unknown and self.spent is not None:
            parts.append(f"{counted(self.unknown, 'answer')} without usage, taken as expected")
        if self.unaccounted and self.spent is not None:
            parts.append(
                f"{counted(self.unaccounted, 'sending')} without an answer, perhaps charged"
            )
        return ", ".join(parts)


def exchange(
    requests: Iterable[R],
    call: Callable[[Line, R], Awaitable[Reply]],
    *,
    connection: Connection,
    pacing: Pacing,
    budget: Budget | None = None,
    total: int | None = None,
    on_state: Callable[[State], None] | None = None,
) -> Iterator[tuple[R, Reply]]:
    """Ask about every request, many at a time, and yield replies as they finish.

    Args:
        requests: Taken as they are needed, in the thread of the event loop.
        call: Asks about one of them: one request, or several in sequence, through the line that it
            is given (see `Line`). An exception of it is a reply with status ``error``.
        connection: Whom to ask.
        pacing: How fast.
        budget: How much may be spent, and what was; None: it is not counted.
        total: How many requests there are, for the projection.
        on_state: Told a few times a second, in the consumer's thread.

    Yields:
        (request, its reply), in any order. A request that was not answered because the exchange
        ended is not among them.

    Raises:
        KeyboardInterrupt: After nothing more was sent and what was in flight was yielded. The
            first Ctrl-C is noted wherever in the consumer's thread it comes; a second ends at once.
        Incomplete: The budget is used up, or a failure that every request would share came (a
            quota, a parameter); after what was in flight was yielded.
        MissingPart: No key, or the server refuses it before anything was answered.
    """
    run = _Run(requests, call, connection, pacing, budget)
    watch = _Watch(run, total, on_state)
    with Interrupts(run.interrupt):
        run.start()
        try:
            yield from _replies(run, watch)
        finally:
            run.abandon()
    if run.interrupted:
        raise KeyboardInterrupt
    if (end := _end(run)) is not None:
        raise end


def _replies(run: _Run[R], watch: _Watch) -> Iterator[tuple[R, Reply]]:
    while True:
        try:
            item = run.replies.get(timeout=_STATE_EVERY)
        except queue.Empty:
            watch.look()
            continue
        except KeyboardInterrupt:
            run.interrupt()
            continue
        if item is _END:
            watch.look(at_once=True)
            return
        watch.count(item[1])
        try:
            yield item
        except KeyboardInterrupt:
            run.interrupt()
        watch.look()


class _Run(Generic[R]):
    """The thread with the event loop, and what both threads look at."""

    def __init__(
        self,
        requests: Iterable[R],
        call: Callable[[Line, R], Awaitable[Reply]],
        connection: Connection,
        pacing: Pacing,
        budget: Budget | None,
    ) -> None:
        self.replies: queue.SimpleQueue[tuple[R, Reply] | None] = queue.SimpleQueue()
        self.gate, self.tally, self.budget = Gate(pacing), Tally(), budget
        self.connection = connection
        self.interrupted = False
        self.fault: BaseException | None = None
        self._requests, self._call = iter(requests), call
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._thread = threading.Thread(target=self._work, name="exchange", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def interrupt(self) -> None:
        """Send nothing more, and finish what is in flight; the second time, stop waiting."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
        self._in_loop(self.gate.close)

    def abandon(self) -> None:
        """End the thread, whatever is in flight."""
        if self._thread.is_alive():
            self._in_loop(self._cancel)
            self._thread.join(timeout=5)

    def _in_loop(self, what: Callable[[], None]) -> None:
        # The loop may not have begun, or have ended.
        self.gate.closed = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(what)

    def _cancel(self) -> None:
        self.gate.close()
        for task in self._tasks:
            task.cancel()

    def _work(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:  # raised again in the consumer's thread
            self.fault = error
        finally:
            self.replies.put(_END)

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        workers = self.gate.pacing.concurrency + _AHEAD
        with ThreadPoolExecutor(cores(), thread_name_prefix="prepare") as threads:
            async with self.connection.open(connections=workers) as client:
                line = Line(
                    client, self.gate, self.budget, threads, self.tally,
                    self.connection.timeout, self.connection.redact,
                )  # fmt: skip
                self._tasks = [asyncio.create_task(self._answer(line)) for _ in range(workers)]
                await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(self, line: Line) -> None:
        while not self.gate.closed:
            while self.replies.qsize() > _WAITING and not self.gate.closed:
                await asyncio.sleep(0.01)
            try:
                request = next(self._requests)
            except StopIteration:
                return
            except Exception as error:  # raised again in the consumer's thread
                self.fault = error
                self.gate.close()
                return
            reply = await self._reply(line, request)
            if reply.failure is None or reply.failure.kind not in (STOPPED, FATAL):
                self.replies.put((request, reply))

    async def _reply(self, line: Line, request: R) -> Reply:
        try:
            return await self._call(line, request)
        except ContextBiasError as error:
            self.fault = error
            self.gate.close()
            return Reply(status=ERROR, failure=Failure(kind=STOPPED, code="stopped"))
        except Exception as error:  # a failing item is a row, whatever failed
            reason = one_line(self.connection.redact(f"{type(error).__name__}: {error}"))
            return Reply(status=ERROR, reason=reason, failure=Failure(kind=ITEM, code="call"))


class _Watch:
    """Counts what is yielded, and tells `on_state` now and then."""

    def __init__(
        self, run: _Run[Any], total: int | None, on_state: Callable[[State], None] | None
    ) -> None:
        self._run, self._total, self._tell = run, total, on_state
        self._done = self._failed = 0
        self._began = self._told = time.monotonic()
        self._spent_before = run.budget.spent if run.budget else 0.0

    def count(self, reply: Reply) -> None:
        self._done += 1
        self._failed += reply.status != OK

    def look(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if self._tell is None or (now - self._told < _STATE_EVERY and not at_once):
            return
        self._told = now
        self._tell(self._state(max(now - self._began, 1e-9)))

    def _state(self, seconds: float) -> State:
        gate, budget, tally = self._run.gate, self._run.budget, self._run.tally
        spent = budget.spent if budget and budget.knows else None
        projected = None
        if spent is not None and self._total and self._done >= _PROJECT_AFTER:
            each = (spent - self._spent_before) / self._done
            projected = self._spent_before + each * self._total
        return State(
            done=self._done,
            failed=self._failed,
            in_flight=gate.in_flight,
            limit=int(gate.limit),
            rate=self._done / seconds,
            spent=spent,
            projected=projected,
            paused=gate.paused(),
            stopping=gate.closed and gate.in_flight > 0,
            unknown=budget.unknown if budget else 0,
            unaccounted=tally.unaccounted,
            silent=tally.silence() if tally.is_down else 0.0,
        )


def _end(run: _Run[Any]) -> BaseException | None:
    """Why the exchange ended before its requests did; None when it did not."""
    if run.fault is not None:
        return run.fault
    tally = run.tally
    if tally.fatal is not None:
        said = f": {tally.fatal_words}" if tally.fatal_words else ""
        problem = f"{run.connection.base_url} answers {tally.fatal.code}{said}".rstrip(".")
        is_key = tally.fatal.code.startswith(("401", "403"))
        kind = MissingPart if is_key and not tally.answered else Incomplete
        fix = tally.fatal.fix
        return kind(problem, run.connection.key_advice() if fix == CHECK_KEY else fix)
    if tally.over_budget and run.budget is not None:
        return over_budget(run.budget)
    return None


def over_budget(budget: Budget) -> Incomplete:
    """The pause of a budget that has no room for another request."""
    said = f"{budget.spent:.4g} spent"
    if budget.unknown:
        said += f"; {counted(budget.unknown, 'answer')} came without usage, taken as expected"
    return Incomplete(
        f"the budget of {budget.limit or 0:g} USD has no room for another request ({said})",
        "raise budget in study.toml and run again; only what is missing will be asked for",
    )
