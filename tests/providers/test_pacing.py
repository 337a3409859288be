"""The gate, with a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from contextbias.errors import ConfigError
from contextbias.providers.pacing import Bucket, Gate, Pacing, PacingOptions


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock, sleep = Clock(), asyncio.sleep

    async def pass_time(seconds: float) -> None:
        clock.now += seconds
        await sleep(0)

    monkeypatch.setattr("contextbias.providers.pacing.asyncio.sleep", pass_time)
    return clock


def run(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 10))  # type: ignore[arg-type]


def test_the_limit_doubles_a_round_trip_until_the_first_429(clock: Clock) -> None:
    async def work() -> None:
        gate = Gate(Pacing(concurrency=100), clock)
        assert int(gate.limit) == 4
        for _ in range(4):
            gate.succeeded(0)
        assert int(gate.limit) == 8

    run(work)


def test_a_burst_of_429_halves_it_once(clock: Clock) -> None:
    async def work() -> None:
        gate = Gate(Pacing(concurrency=100), clock)
        for _ in range(28):
            gate.succeeded(0)
        assert int(gate.limit) == 32
        sent = clock.now
        clock.now += 1
        for _ in range(30):
            gate.slowed(sent, None)
        assert int(gate.limit) == 16
        # Sent after the halving: that is news.
        clock.now += 1
        gate.slowed(clock.now, None)
        assert int(gate.limit) == 8

    run(work)


def test_after_a_429_it_grows_by_one_a_round_trip(clock: Clock) -> None:
    async def work() -> None:
        gate = Gate(Pacing(concurrency=100), clock)
        gate.slowed(clock.now, None)
        assert gate.limit == 2
        gate.succeeded(0)
        gate.succeeded(0)
        # 2 + 1/2 + 1/2.5
        assert gate.limit == pytest.approx(2.9)

    run(work)


def test_it_never_falls_below_one_nor_rises_above_the_most(clock: Clock) -> None:
    async def work() -> None:
        gate = Gate(Pacing(concurrency=6), clock)
        for _ in range(20):
            gate.succeeded(0)
        assert gate.limit == 6
        for _ in range(20):
            clock.now += 1
            gate.slowed(clock.now, None)
        assert gate.limit == 1

    run(work)


def test_retry_after_holds_back_everybody(clock: Clock) -> None:
    async def work() -> None:
        gate = Gate(Pacing(), clock)
        gate.slowed(clock.now, 30.0)
        assert gate.paused() == 30.0
        began = clock.now
        sent = await gate.enter(0)
        assert sent is not None
        assert sent - began >= 30.0
        assert gate.paused() == 0.0

    run(work)


def test_requests_a_minute_are_spread_evenly(clock: Clock) -> None:
    async def work() -> None:
        gate = Gate(Pacing(requests_per_minute=60), clock)
        began = clock.now
        moments = []
        for _ in range(4):
            moments.append((await gate.enter(0) or 0) - began)
            gate.leave()
        assert moments == pytest.approx([0, 1, 2, 3])

    run(work)


def test_tokens_a_minute_count_what_replies_turn_out_to_use(clock: Clock) -> None:
    bucket = Bucket(6000, clock)  # 100 a second
    assert bucket.book(500) == 0
    assert bucket.book(500) == pytest.approx(5)
    bucket.correct(1000)
    assert bucket.book(100) == pytest.approx(20)
    bucket.correct(-600)
    assert bucket.book(0) == pytest.approx(15)
    clock.now += 1000
    bucket.correct(300)  # nothing was expected: it counts from now on
    assert bucket.book(0) == pytest.approx(3)
    assert Bucket(None, clock).book(10**9) == 0


def test_waiting_requests_are_let_in_one_for_one(clock: Clock) -> None:
    async def work() -> None:
        gate = Gate(Pacing(concurrency=2), clock)
        order: list[int] = []

        async def one(number: int) -> None:
            await gate.enter(0)
            order.append(number)
            assert gate.in_flight <= 2
            await asyncio.sleep(0)
            gate.leave()

        await asyncio.gather(*(one(number) for number in range(50)))
        assert sorted(order) == list(range(50))
        assert gate.in_flight == 0

    run(work)


def test_a_cancelled_wait_loses_nobody_their_place(clock: Clock) -> None:
    async def work() -> None:
        gate = Gate(Pacing(concurrency=1), clock)
        await gate.enter(0)
        tasks = [asyncio.create_task(gate.enter(0)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.sleep(0)
        gate.leave()
        done, _ = await asyncio.wait(tasks[1:], return_when=asyncio.FIRST_COMPLETED)
        assert len(done) == 1
        gate.close()
        await asyncio.gather(*tasks, return_exceptions=True)

    run(work)


def test_closing_lets_everybody_go(clock: Clock) -> None:
    async def work() -> None:
        gate = Gate(Pacing(concurrency=1), clock)
        await gate.enter(0)
        waiting = [asyncio.create_task(gate.enter(0)) for _ in range(5)]
        await asyncio.sleep(0)
        gate.close()
        assert await asyncio.gather(*waiting) == [None] * 5
        assert gate.in_flight == 1

    run(work)


@pytest.mark.parametrize("failures", [1, 2, 3, 20])
def test_back_off_doubles_with_jitter_up_to_a_minute(failures: int) -> None:
    pacing = Pacing(back_off=0.5)
    longest = min(60.0, 0.5 * 2 ** (failures - 1))
    assert pacing.wait_before(failures, 0.0) == longest / 2
    assert pacing.wait_before(failures, 1.0) == longest


@pytest.mark.parametrize(
    "wrong", [{"concurrency": 0}, {"requests_per_minute": 0}, {"retries": -1}, {"patience": 0}]
)
def test_wrong_options_are_named(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        PacingOptions.parse(wrong, backend="openai")
