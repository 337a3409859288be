"""Exchanges with the fake provider over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.conftest import CHECKOUT
from tests.provider import FakeProvider, Fault, always, first
from tests.providers.conftest import asking

from contextbias.errors import ConfigError, Incomplete, MissingPart
from contextbias.providers import Budget, Connection, Pacing, Reply, State, exchange, price
from contextbias.providers.line import Line

FAST = Pacing(concurrency=8, back_off=0.001)
PRICE = price("gpt-5-mini")
assert PRICE is not None


def ask(
    provider: FakeProvider, count: int = 20, pacing: Pacing = FAST, **options: Any
) -> Iterator[tuple[int, Reply]]:
    call = options.pop("call", None) or asking()
    return exchange(
        range(count), call, connection=Connection(provider.base_url), pacing=pacing, **options
    )


def collect(
    replies: Iterator[tuple[int, Reply]],
) -> tuple[dict[int, Reply], BaseException | None]:
    """Everything that is yielded, and what is raised after it."""
    found: dict[int, Reply] = {}
    try:
        for item, reply in replies:
            assert item not in found
            found[item] = reply
    except BaseException as error:
        return found, error
    return found, None


def test_every_request_is_answered_once() -> None:
    with FakeProvider().running() as provider:
        found, error = collect(ask(provider, 100))
    assert error is None
    assert sorted(found) == list(range(100))
    assert {reply.status for reply in found.values()} == {"ok"}
    assert len(provider.billed()) == 100
    one = found[7]
    assert json.loads(one.text or "") in ({"mood": "calm"}, {"mood": "tense"})
    assert one.model == "gpt-5-mini-2025-08-07"
    assert (one.attempt, one.tries) == (1, ())
    assert str(one.request_id).startswith("req_")
    assert one.headers == {"openai-processing-ms": "12"}
    assert one.sha256 is not None
    assert json.loads(one.body)["usage"]["prompt_tokens"] == one.usage.input
    assert one.seconds > 0


def test_no_more_are_in_flight_than_allowed() -> None:
    with FakeProvider(latency=0.005).running() as provider:
        collect(ask(provider, 60, Pacing(concurrency=3)))
    assert provider.peak == 3


def test_a_server_that_takes_few_at_a_time_gets_few() -> None:
    with FakeProvider(latency=0.005, most_in_flight=5).running() as provider:
        found, error = collect(ask(provider, 200, Pacing(concurrency=64, back_off=0.001)))
    assert error is None
    assert {reply.status for reply in found.values()} == {"ok"}
    assert len(provider.billed()) == 200


@pytest.mark.parametrize("kind", ["500", "503", "429", "cut_before", "cut_after"])
def test_what_passes_is_sent_again(kind: str) -> None:
    with FakeProvider(plan=first(10, kind)).running() as provider:
        found, error = collect(ask(provider, 10))
    assert error is None
    assert {reply.status for reply in found.values()} == {"ok"}
    assert sum(len(reply.tries) for reply in found.values()) == 10
    assert all(reply.attempt == len(reply.tries) + 1 for reply in found.values())
    # Only a connection that is cut after the work was done is paid for twice.
    assert len(provider.billed()) == (20 if kind == "cut_after" else 10)


def test_what_does_not_pass_is_an_error_of_its_item() -> None:
    with FakeProvider(plan=always("500")).running() as provider:
        found, error = collect(ask(provider, 3, Pacing(concurrency=2, back_off=0.001, retries=2)))
    assert error is None
    assert [reply.status for reply in found.values()] == ["error"] * 3
    assert {reply.attempt for reply in found.values()} == {3}
    assert {reply.tries for reply in found.values()} == {("500", "500")}
    assert "500: The server had an error" in str(found[0].reason)


def test_a_time_out_is_sent_again() -> None:
    def plan(number: int, _: Any) -> Fault | None:
        return Fault("", delay=30.0) if number == 0 else None

    with FakeProvider(plan=plan).running() as provider:
        connection = Connection(provider.base_url, timeout=0.5)
        found, error = collect(exchange([1], asking(), connection=connection, pacing=FAST))
    assert error is None
    assert found[1].status == "ok"
    assert found[1].tries[0] == "timeout"


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("refuse", "refused"), ("content_filter", "blocked"), ("truncate", "truncated"),
        ("empty", "invalid"), ("html", "error"), ("invalid_json", "ok"), ("off_schema", "ok"),
    ],
)  # fmt: skip
def test_answers_that_are_none_are_paid_for_once(kind: str, status: str) -> None:
    with FakeProvider(plan=always(kind)).running() as provider:
        found, error = collect(ask(provider, 5))
    assert error is None
    assert {reply.status for reply in found.values()} == {status}
    assert len(provider.billed()) == 5


def test_an_answer_cut_at_the_limit() -> None:
    with FakeProvider().running() as provider:
        found, _ = collect(ask(provider, 1, call=asking(max_tokens=65)))
    assert found[0].status == "truncated"
    assert found[0].stop_reason == "length"


def test_a_body_too_large_is_an_error_of_its_item() -> None:
    with FakeProvider(largest=2000).running() as provider:

        async def call(line: Line, item: int) -> Reply:
            return await asking()(line, "x" * 5000 if item == 1 else item)

        found, error = collect(ask(provider, 3, call=call))
    assert error is None
    assert [found[item].status for item in range(3)] == ["ok", "error", "ok"]


def test_a_wrong_key_stops_at_once_and_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with FakeProvider().running() as provider:
        found, error = collect(ask(provider, 500))
    assert found == {}
    assert isinstance(error, MissingPart)
    assert "401 invalid_api_key: Incorrect API key provided" in str(error)
    assert "check the key in OPENAI_API_KEY, which api_key_env names" in error.fix
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("kind", "said"), [("quota", "insufficient_quota"), ("403", "403"), ("401", "401")]
)
def test_a_failure_of_all_ends_it_and_keeps_what_was_answered(kind: str, said: str) -> None:
    def plan(number: int, _: Any) -> Fault | None:
        return Fault(kind) if number >= 30 else None

    with FakeProvider(plan=plan, latency=0.002).running() as provider:
        found, error = collect(ask(provider, 500))
    assert isinstance(error, Incomplete)
    assert said in str(error)
    assert len(found) == len(provider.billed()) == 30
    assert len(provider.log) < 60


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"extra": {"guided_json": {}}}, "unknown_parameter"),
        ({"extra": {"temperature": 0}}, "unsupported_value"),
        ({"extra": {"max_tokens": 5}}, "unsupported_parameter"),
    ],
)
def test_a_refused_parameter_ends_it_with_what_to_do(changed: dict[str, Any], said: str) -> None:
    with FakeProvider().running() as provider:
        found, error = collect(ask(provider, 200, call=asking(**changed)))
    assert found == {}
    assert isinstance(error, Incomplete)
    assert said in str(error)
    assert "profile" in error.fix
    assert provider.billed() == []


def test_a_model_that_is_not_there() -> None:
    with FakeProvider(models={"another"}).running() as provider:
        found, error = collect(ask(provider, 50))
    assert found == {}
    assert "model_not_found" in str(error)


def test_no_server_is_an_error_of_every_item() -> None:
    pacing = Pacing(concurrency=2, back_off=0.001, retries=1)
    connection = Connection("http://127.0.0.1:9/v1")
    found, error = collect(exchange(range(3), asking(), connection=connection, pacing=pacing))
    assert error is None
    assert all(str(reply.reason).startswith("no connection: ") for reply in found.values())


# ---- money


def test_the_budget_pauses_before_it_is_passed_and_counts_earlier_runs() -> None:
    with FakeProvider(latency=0.001).running() as provider:
        each = _cost_of_one(provider)
        budget = Budget(10.5 * each, PRICE.cost, spent=2 * each, expected=each)
        found, error = collect(ask(provider, 100, budget=budget))
        assert isinstance(error, Incomplete)
        assert "has no room for another request" in str(error)
        assert len(found) == 8
        assert budget.spent <= 10.5 * each
        more = Budget(20.5 * each, PRICE.cost, spent=budget.spent)
        found, _ = collect(ask(provider, 100, budget=more))
        assert len(found) == 10


def _cost_of_one(provider: FakeProvider) -> float:
    budget = Budget(None, PRICE.cost)
    collect(ask(provider, 1, budget=budget))
    return budget.spent


def test_what_was_spent_is_what_the_server_charged() -> None:
    budget = Budget(None, PRICE.cost)
    with FakeProvider(plan=first(30, "empty"), cached=0.5).running() as provider:
        found, _ = collect(ask(provider, 100, call=asking(repair=True), budget=budget))
    sent = sum(1 + len(reply.earlier) for reply in found.values())
    assert len(provider.billed()) == sent > 115
    total = sum((reply.total_usage().output for reply in found.values()), 0)
    assert total == provider.total("output")
    read = sum(reply.total_usage().cached for reply in found.values())
    assert read == provider.total("cached") > 0
    assert budget.spent == pytest.approx(sum(PRICE.of(r.total_usage()) for r in found.values()))


def test_a_repair_that_is_not_sent_leaves_the_first_answer() -> None:
    budget = Budget(1e-9, PRICE.cost)
    with FakeProvider(plan=always("empty")).running() as provider:
        found, error = collect(ask(provider, 1, call=asking(repair=True), budget=budget))
    assert isinstance(error, Incomplete)
    assert found[0].status == "invalid"
    assert len(provider.billed()) == 1


# ---- states


def test_states_tell_how_far_it_is() -> None:
    told: list[State] = []
    budget = Budget(None, PRICE.cost)
    with FakeProvider(plan=first(5, "refuse")).running() as provider:
        collect(ask(provider, 40, budget=budget, total=80, on_state=told.append))
    last = told[-1]
    assert (last.done, last.failed, last.in_flight) == (40, 5, 0)
    assert last.spent == budget.spent
    assert last.projected == pytest.approx(2 * budget.spent)
    money = f"{last.spent:.2f} USD spent, {last.projected:.2f} projected"
    assert last.words() == f"0 in flight, {money}"


def test_words_of_a_pause_and_of_an_end() -> None:
    base = State(
        done=1, failed=0, in_flight=3, limit=4, rate=1.0, spent=None, projected=None, paused=0.0,
        stopping=False,
    )  # fmt: skip
    assert base.words() == "3 in flight"
    from dataclasses import replace

    assert replace(base, paused=12.4).words() == "3 in flight, the service asks to wait 12 s"
    assert replace(base, stopping=True).words().startswith("stopping: 3 in flight")
    assert replace(base, batches=2).words().startswith("3 in 2 batches")


# ---- interruptions and faults


def test_requests_that_cannot_be_made_end_it_and_keep_what_was_answered() -> None:
    def requests() -> Iterator[int]:
        yield from range(10)
        raise ConfigError("no more", "stop")

    with FakeProvider().running() as provider:
        found, error = collect(
            exchange(
                requests(), asking(), connection=Connection(provider.base_url), pacing=FAST
            )
        )  # fmt: skip
    assert isinstance(error, ConfigError)
    assert 0 < len(found) == len(provider.billed()) <= 10


def test_a_call_that_fails_is_an_error_of_its_item() -> None:
    async def call(line: Line, item: int) -> Reply:
        if item == 2:
            raise ValueError("broken picture")
        return await asking()(line, item)

    with FakeProvider().running() as provider:
        found, error = collect(ask(provider, 4, call=call))
    assert error is None
    assert found[2].reason == "ValueError: broken picture"
    assert Counter(reply.status for reply in found.values()) == {"ok": 3, "error": 1}


def test_whoever_stops_taking_leaves_no_thread_behind() -> None:
    with FakeProvider(latency=0.01).running() as provider:
        replies = ask(provider, 1000)
        next(replies)
        replies.close()  # type: ignore[attr-defined]
        assert not [t for t in threading.enumerate() if t.name == "exchange"]
        assert provider.arrivals < 100


@pytest.mark.parametrize("where", ["taking", "yielded"])
def test_ctrl_c_yields_what_is_in_flight_and_raises_again(where: str) -> None:
    def plan(number: int, _: Any) -> Fault | None:
        if number == 20:
            # In the main thread, whatever it is at: waiting for a reply, or using one.
            os.kill(os.getpid(), signal.SIGINT)
        return None

    found: list[int] = []
    with FakeProvider(plan=plan, latency=0.02).running() as provider:

        def use(item: int) -> None:
            found.append(item)
            if where == "yielded":
                threading.Event().wait(0.002)

        with pytest.raises(KeyboardInterrupt):
            _use_all(ask(provider, 500), use)
        assert 20 <= len(found) == len(provider.billed()) < 500
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _use_all(replies: Iterator[tuple[int, Reply]], use: Callable[[int], None]) -> None:
    for item, reply in replies:
        assert reply.status == "ok"
        use(item)


def test_an_interruption_thrown_in_is_no_different() -> None:
    with FakeProvider(latency=0.01).running() as provider:
        replies: Any = ask(provider, 500)
        next(replies)
        got = [replies.throw(KeyboardInterrupt)]
        with pytest.raises(KeyboardInterrupt):
            got.extend(replies)
        assert len(got) + 1 == len(provider.billed())


_SECOND = """
import os, signal, sys, threading
sys.path.insert(0, {checkout!r})
from tests.provider import FakeProvider
from tests.providers.conftest import asking
from contextbias.providers import Connection, Pacing, exchange
with FakeProvider(latency=30.0).running() as provider:
    def twice():
        while provider.in_flight < 2: pass
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(0.3)
        print("still waiting", flush=True)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=twice, daemon=True).start()
    try:
        list(exchange(range(9), asking(), connection=Connection(provider.base_url),
                      pacing=Pacing()))
    except KeyboardInterrupt:
        print("ended", flush=True)
"""


def test_a_second_ctrl_c_ends_at_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SECOND.format(checkout=str(CHECKOUT))],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT / "src")},
    )
    assert done.stdout.split("\n")[:2] == ["still waiting", "ended"], done.stderr


def test_work_for_threads_runs_in_threads() -> None:
    names: set[str] = set()

    def prepare(item: int) -> int:
        names.add(threading.current_thread().name)
        return item

    async def call(line: Line, item: int) -> Reply:
        return await asking()(line, await line.thread(prepare, item))

    with FakeProvider().running() as provider:
        found, _ = collect(ask(provider, 10, call=call))
    assert len(found) == 10
    assert all(name.startswith("prepare") for name in names)


def test_a_slow_consumer_holds_back_the_requests() -> None:
    with FakeProvider().running() as provider:
        replies = ask(provider, 3000)
        next(replies)
        threading.Event().wait(1.0)
        assert provider.arrivals < 500
        replies.close()  # type: ignore[attr-defined]
