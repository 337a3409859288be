"""How fast requests are sent: as many at a time as the service takes, and no more.

One pacing is shared by all requests of an exchange. The number of requests in flight grows with
every success (doubling each round trip until the first 429, by one a round trip after it) and is
halved once for a burst of 429: those that were sent before the last halving say nothing new.
Requests and tokens a minute, and the server's Retry-After, hold back what is not sent yet.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import Field

from contextbias.options import Options

_START = 4
_LONGEST_BACK_OFF = 60.0


class PacingOptions(Options):
    """Options of every backend that sends many requests."""

    concurrency: int = Field(default=64, ge=1, le=1000)
    """At most so many requests at a time. How many there are adapts to what the service takes."""
    requests_per_minute: float | None = Field(default=None, gt=0)
    """At most so many requests a minute; left out: as many as the service takes."""
    tokens_per_minute: float | None = Field(default=None, gt=0)
    """At most so many tokens a minute, sent and received; left out: as many as the service
    takes."""
    retries: int = Field(default=5, ge=0)
    """How often a request is sent again after a 5xx, a time-out or a cut connection."""
    patience: float = Field(default=900.0, gt=0)
    """Seconds for which one request is sent again after 429, before it counts as failed; and for
    which a service that answers nobody any more is waited for, before the run ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """The limits; `Gate` holds to them."""

    concurrency: int = 64
    """Most requests in flight."""
    requests_per_minute: float | None = None
    """None: no limit of our own."""
    tokens_per_minute: float | None = None
    """None: no limit of our own."""
    retries: int = 5
    """Further sendings after failures that may pass."""
    patience: float = 900.0
    """Seconds of 429 for one request, or without an answer to any."""
    back_off: float = 0.5
    """Seconds before the first further sending; doubled each time, with jitter."""

    @classmethod
    def of(cls, options: PacingOptions) -> Pacing:
        """The pacing that options describe."""
        return cls(
            concurrency=options.concurrency,
            requests_per_minute=options.requests_per_minute,
            tokens_per_minute=options.tokens_per_minute,
            retries=options.retries,
            patience=options.patience,
        )

    def wait_before(self, failures: int, random_number: float) -> float:
        """Seconds to wait after the `failures`-th failure in a row.

        Half of back_off * 2^(failures - 1), at most a minute, and a random share of the other
        half: many requests that failed together do not come back together.
        """
        longest = min(_LONGEST_BACK_OFF, self.back_off * 2.0 ** (failures - 1))
        return longest * (0.5 + 0.5 * random_number)


class Bucket:
    """So many units a minute, evenly: each use books the next free moment.

    Args:
        per_minute: Units; None for no limit.
        clock: Seconds, monotonic.
    """

    def __init__(
        self, per_minute: float | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds_a_unit = 0.0 if per_minute is None else 60.0 / per_minute
        self._clock = clock
        self._free_at = 0.0

    def book(self, units: float) -> float:
        """Book `units` and return how many seconds to wait before they may be used."""
        if not self._seconds_a_unit:
            return 0.0
        now = self._clock()
        start = max(now, self._free_at)
        self._free_at = start + units * self._seconds_a_unit
        return start - now

    def correct(self, units: float) -> None:
        """Book `units` more (or fewer) than was booked: what a reply turned out to use."""
        if units > 0:
            # What was not expected is used now, not at some earlier time.
            self._free_at = max(self._free_at, self._clock())
        self._free_at += units * self._seconds_a_unit


class Gate:
    """Lets requests through one by one; used from one event loop only.

    Args:
        pacing: The limits.
        clock: Seconds, monotonic.
    """

    def __init__(self, pacing: Pacing, clock: Callable[[], float] = time.monotonic) -> None:
        self.pacing = pacing
        self.limit = float(min(_START, pacing.concurrency))
        """How many requests may be in flight now."""
        self.in_flight = 0
        """How many are."""
        self.closed = False
        """Nothing more is sent."""
        self._clock = clock
        self._requests = Bucket(pacing.requests_per_minute, clock)
        self._tokens = Bucket(pacing.tokens_per_minute, clock)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._not_before = 0.0
        self._cut_at = float("-inf")
        self._was_cut = False
        self._random = random.Random()

    async def enter(self, tokens: float) -> float | None:
        """Wait for a place.

        Args:
            tokens: How many the request is expected to use, sent and received.

        Returns:
            The moment of sending; None when nothing more is sent.
        """
        while not self._ended() and self.in_flight >= int(self.limit):
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            await place
        if self._ended():
            self._wake()
            return None
        self.in_flight += 1
        booked = max(self._requests.book(1), self._tokens.book(tokens))
        await self._sleep_until(self._clock() + booked)
        while not self._ended() and self._not_before > self._clock():
            # Not all at once when the pause is over.
            spread = min(1.0, 0.25 * (self._not_before - self._clock())) * self._random.random()
            await self._sleep_until(self._not_before + spread)
        if self._ended():
            self.leave()
            return None
        return self._clock()

    def _ended(self) -> bool:
        return self.closed

    def leave(self) -> None:
        """Give a place back."""
        self.in_flight -= 1
        self._wake()

    def succeeded(self, tokens_more: float) -> None:
        """A reply came; it used `tokens_more` more tokens than expected."""
        self._tokens.correct(tokens_more)
        step = 1.0 / self.limit if self._was_cut else 1.0
        self.limit = min(float(self.pacing.concurrency), self.limit + step)

    def slowed(self, sent_at: float, after: float | None) -> None:
        """A 429 came for a request that was sent at `sent_at`."""
        if sent_at > self._cut_at:
            self._cut_at = self._clock()
            self._was_cut = True
            self.limit = max(1.0, self.limit / 2)
        if after is not None:
            self.hold(after)

    def hold(self, seconds: float) -> None:
        """Send nothing for so long, as the server asked."""
        self._not_before = max(self._not_before, self._clock() + seconds)

    def narrow(self, failures: int) -> None:
        """Nobody is answered: let one request at a time try it, after growing pauses."""
        self.limit = 1.0
        self.hold(self.pacing.wait_before(min(failures, 8), self._random.random()))

    def paused(self) -> float:
        """Seconds until the pause that the server asked for is over; 0 when there is none."""
        return max(0.0, self._not_before - self._clock())

    async def back_off(self, failures: int) -> None:
        """Wait, without a place, after the `failures`-th failure in a row of a request."""
        wait = self.pacing.wait_before(failures, self._random.random())
        await self._sleep_until(self._clock() + wait)

    def close(self) -> None:
        """Send nothing more; whoever waits is let go."""
        self.closed = True
        self._wake(all_of_them=True)

    async def _sleep_until(self, moment: float) -> None:
        # In short pieces, so that closing ends a long wait.
        while not self.closed and (left := moment - self._clock()) > 0:
            await asyncio.sleep(min(left, 0.2))

    def _wake(self, *, all_of_them: bool = False) -> None:
        room = max(1, int(self.limit) - self.in_flight)
        if all_of_them or self.closed:
            room = len(self._waiting)
        while self._waiting and room > 0:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                room -= 1
