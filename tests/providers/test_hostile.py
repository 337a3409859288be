"""Services that say what no service should: odd texts, odd numbers, keys, errors in a 200."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest
from tests.provider import FakeProvider, Fault, always, first
from tests.provider.http import Response
from tests.providers.conftest import asking
from tests.providers.test_exchange import FAST, PRICE, ask, collect

from contextbias.errors import ConfigError, Incomplete, MissingPart
from contextbias.ids import canonical_json
from contextbias.providers import (
    Budget,
    Connection,
    ConnectionOptions,
    Pacing,
    State,
    Usage,
    exchange,
)
from contextbias.providers.chat import encode, read_completion, read_usage
from contextbias.providers.line import answered, refused
from contextbias.providers.outcomes import one_line, whole_number, words

KEY = "sk-a-key-of-nobody-123456"
HALF = "\ud83d"


def set_at(*path: Any) -> Callable[[dict[str, Any]], None]:
    """Puts the last of `path` where the others lead."""

    def edit(body: dict[str, Any]) -> None:
        found: Any = body
        for part in path[:-2]:
            found = found[part]
        found[path[-2]] = path[-1]

    return edit


MESSAGE = ("choices", 0, "message")
ODD = {
    "text": set_at(*MESSAGE, "content", f"{HALF} broken"),
    "refusal": set_at(*MESSAGE, "refusal", f"no {HALF}\x00\x1b[31m"),
    "model": set_at("model", f"m{HALF}"),
    "model that is an object": set_at("model", {"a": HALF}),
    "stop reason": set_at("choices", 0, "finish_reason", f"stop{HALF}"),
    "stop reason that is an object": set_at("choices", 0, "finish_reason", {"a": 1}),
    "usage that is infinite": set_at("usage", "prompt_tokens", float("inf")),
    "usage that is a list": set_at("usage", [1]),
    "details that are a list": set_at("usage", "prompt_tokens_details", [1]),
    "message that is a list": set_at("choices", 0, "message", [1]),
    "choice that is a text": set_at("choices", ["x"]),
    "choices that are an object": set_at("choices", {"0": 1}),
    "no choice": set_at("choices", []),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_is_a_reply_that_can_be_stored(name: str) -> None:
    with FakeProvider(plan=always("edited", edit=ODD[name])).running() as provider:
        found, error = collect(ask(provider, 2, call=asking(repair=True)))
    assert error is None
    assert len(found) == 2
    for reply in found.values():
        said = [reply.status, reply.text, reply.reason, reply.stop_reason, reply.model]
        canonical_json([said, reply.usage.as_json(), dict(reply.headers)]).encode()
        encode([{"role": "user", "content": reply.text}], {})


def test_half_a_surrogate_pair_stands_as_its_escape() -> None:
    body = json.dumps({"choices": [{"message": {"content": f"x{HALF}"}}]}).encode()
    reply = answered(body, {"x-request-id": f"r{HALF}"}, read_completion, 0.0)
    assert (reply.status, reply.text, reply.request_id) == ("ok", "x\\ud83d", "r\\ud83d")
    # And JSON that is sent has it as an escape, which is JSON too.
    assert json.loads(encode([{"role": "user", "content": HALF}], {}))["messages"][0] == {
        "role": "user", "content": HALF,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("told", "number"),
    [
        (500, 500), (0, 0), ("500", 500), (1234.0, 1234), (10**12, 10**12),
        (-1, None), (-0.5, None), (1.5, None), (float("nan"), None), (float("inf"), None),
        ("-5", None), ("5e3", None), ("٥", None), ("9" * 5000, None), (10**30, None), (True, None),
        (None, None), ([], None), ({}, None),
    ],
)  # fmt: skip
def test_counts_that_servers_tell(told: object, number: int | None) -> None:
    assert whole_number(told) == number
    usage = read_usage({"prompt_tokens": told, "completion_tokens": 7})
    assert usage == Usage(input=number or 0, output=7, unknown=int(number is None))
    assert Usage.from_json({"input": told}).input == (number or 0)


@pytest.mark.parametrize("told", [None, {}, [], "much", {"prompt_tokens": 5}, {"total_tokens": 5}])
def test_usage_that_is_not_told_is_unknown(told: object) -> None:
    assert read_usage(told).unknown == 1


def test_more_cached_than_sent_is_not_believed() -> None:
    told = {
        "prompt_tokens": 10, "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 900},
        "completion_tokens_details": {"reasoning_tokens": 900},
    }  # fmt: skip
    assert read_usage(told) == Usage(input=10, cached=10, output=5, reasoning=5)


@pytest.mark.parametrize(
    "edit",
    [
        set_at("usage", None),
        set_at("usage", "prompt_tokens", -5_000_000),
        set_at("usage", "completion_tokens", "many"),
    ],
)
def test_a_budget_binds_where_the_service_does_not_say_what_it_charges(
    edit: Callable[[dict[str, Any]], None],
) -> None:
    with FakeProvider(plan=always("edited", edit=edit)).running() as provider:
        budget = Budget(0.01, PRICE.cost, expected=0.002)
        states: list[Any] = []
        found, error = collect(ask(provider, 50, budget=budget, on_state=states.append))
    assert len(found) == len(provider.log) == 5
    assert isinstance(error, Incomplete)
    assert "5 answers came without usage" in str(error)
    assert "5 answers without usage, taken as expected" in states[-1].words()
    # The next run knows, from the stored rows.
    used = sum((reply.usage for reply in found.values()), Usage())
    stored = Usage.from_json(json.loads(json.dumps(used.as_json())))
    again = Budget(0.01, PRICE.cost, expected=0.002, unknown=stored.unknown)
    assert not again.allows(0)


@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
def test_a_key_that_the_service_repeats_is_not_shown(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    pacing = Pacing(concurrency=2, back_off=0.001, retries=1, patience=0.05)
    with FakeProvider(key=KEY, plan=always("echo", code=status)).running() as provider:
        found, error = collect(ask(provider, 3, pacing))
    said = repr(
        [(reply.reason, reply.text, reply.tries, reply.failure) for reply in found.values()]
    )
    assert KEY not in said + str(error)
    assert "no good: Authorization: Bearer … was sent" in said + str(error)


def test_nor_one_in_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def edit(body: dict[str, Any]) -> None:
        body["choices"][0]["message"]["content"] = f"your key is {KEY}"
        body["model"] = f"m {KEY}"

    with FakeProvider(key=KEY, plan=always("edited", edit=edit)).running() as provider:
        found, _ = collect(ask(provider, 1))
    assert (found[0].text, found[0].model) == ("your key is …", "m …")


def test_nor_half_of_one_where_words_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("tests.provider.server.error", lambda *a, **k: _long_error(*a, **k))
    with FakeProvider(key=KEY, plan=always("echo", code=400)).running() as provider:
        found, _ = collect(ask(provider, 1))
    assert KEY[:8] not in str(found[0].reason)


def _long_error(status: int, message: str, **details: Any) -> Any:
    from tests.provider.http import error

    return error(status, f"{'x' * 285} {message.split('Bearer ')[-1]}", **details)


def test_a_short_word_is_no_secret_and_stays_in_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    assert Connection().redact("an EMPTY room") == "an EMPTY room"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert Connection().redact("a room") == "a room"


@pytest.mark.parametrize("key", ["sk-…", "sk-a b", "sk-a\nb", "sk-\ud83d"])
def test_a_key_that_no_header_can_carry_is_told_before_any_request(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As os.environ gives back bytes that are no UTF-8.
    monkeypatch.setattr("os.environ", {"OPENAI_API_KEY": key})
    with pytest.raises(MissingPart, match="variable OPENAI_API_KEY holds what is no key") as error:
        Connection().key()
    assert key not in str(error.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"api_key_env": KEY}, "not the name of a variable"),
        ({"api_key_env": "gsk_" + "x" * 60}, "not the name of a variable"),
        ({"base_url": f"https://x.org/v1?key={KEY}"}, "must not hold a key"),
        ({"base_url": f"https://x.org/v1#{KEY}"}, "must not hold a key"),
        ({"base_url": f"https://me:{KEY}@x.org/v1"}, "must not hold a key"),
        ({"base_url": f"https://x.org:{KEY}/v1"}, "not an address"),
        ({"base_url": "https://[x/v1"}, "not an address"),
        ({"headers": {"Authorization": f"Basic {KEY}"}}, "Authorization holds a key"),
        ({"headers": {"X-API-Key": KEY}}, "X-API-Key holds a key"),
        ({"headers": {"X-Other": f"Bearer {KEY}"}}, "X-Other holds a key"),
        ({"headers": {"X-Other": "a\nb"}}, "is no header"),
        ({"headers": {"X Other": "a"}}, "is no header"),
        ({"headers": {"X-Other": "ü"}}, "is no header"),
    ],
)
def test_a_key_in_the_wrong_place_is_refused_and_not_shown(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said) as error:
        ConnectionOptions.parse(options, backend="openai")
    assert KEY not in str(error.value)
    assert "x" * 60 not in str(error.value)


def test_no_name_of_a_variable_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    # TOML has no null: this is how a server elsewhere on the network is said to need none.
    options = ConnectionOptions(base_url="http://192.168.1.7:8000/v1", api_key_env="")
    assert options.api_key_env is None
    assert Connection.of(options).key() == "none"


def test_a_server_that_only_drips_does_not_hold_a_request() -> None:
    with FakeProvider(plan=first(1, "drip")).running() as provider:
        connection = Connection(provider.base_url, timeout=0.4)
        found, error = collect(exchange([1], asking(), connection=connection, pacing=FAST))
    assert error is None
    assert found[1].status == "ok"
    assert found[1].tries[0] == "timeout"


def test_no_credit_ends_it() -> None:
    with FakeProvider(plan=always("402")).running() as provider:
        found, error = collect(ask(provider, 100))
    assert isinstance(error, Incomplete)
    assert "Insufficient Balance" in str(error)
    assert "redit" in str(error)
    assert not found
    assert len(provider.log) <= 4


@pytest.mark.parametrize(
    ("code", "tries"),
    [
        (502, "502"),
        ("503", "503"),
        (429, "429"),
        ("rate_limit_exceeded", "429 rate_limit_exceeded"),
    ],
)
def test_an_error_that_comes_with_a_200_and_may_pass_is_sent_again(code: Any, tries: str) -> None:
    with FakeProvider(plan=first(3, "in_200", code=code)).running() as provider:
        found, error = collect(ask(provider, 3))
    assert error is None
    assert {reply.status for reply in found.values()} == {"ok"}
    assert {each for reply in found.values() for each in reply.tries} == {tries}


@pytest.mark.parametrize("code", [401, 402, "insufficient_quota", "model_not_found"])
def test_one_that_all_would_share_ends_it(code: Any) -> None:
    with FakeProvider(plan=always("in_200", code=code)).running() as provider:
        found, error = collect(ask(provider, 50))
    assert isinstance(error, (Incomplete, MissingPart))
    assert not found
    assert len(provider.log) <= 4


@pytest.mark.parametrize("code", [None, 400, "odd", 7, 1.5, True, [1]])
def test_any_other_is_an_error_of_its_item(code: Any) -> None:
    with FakeProvider(plan=always("in_200", code=code)).running() as provider:
        found, error = collect(ask(provider, 2))
    assert error is None
    assert {reply.status for reply in found.values()} == {"error"}
    assert "Provider returned error" in str(found[0].reason)
    assert len(provider.log) == 2


def test_a_filter_is_a_filter_there_too() -> None:
    with FakeProvider(plan=always("in_200", code="content_filter")).running() as provider:
        found, _ = collect(ask(provider, 1))
    assert found[0].status == "blocked"


def test_an_answer_that_broke_off_is_asked_for_again_and_paid_for() -> None:
    def broken(body: dict[str, Any]) -> None:
        body["choices"][0]["finish_reason"] = "error"
        body["choices"][0]["message"]["content"] = '{"mo'

    def plan(number: int, _: Any) -> Fault | None:
        return Fault("edited", edit=broken) if number == 0 else None

    with FakeProvider(plan=plan).running() as provider:
        budget = Budget(None, PRICE.cost)
        found, error = collect(ask(provider, 1, budget=budget, call=asking(repair=True)))
    assert error is None
    assert (found[0].status, found[0].tries) == ("ok", ("broken off",))
    charged = sum(PRICE.of(Usage(**entry.usage)) for entry in provider.log if entry.usage)
    assert budget.spent == pytest.approx(charged)


def test_pages_instead_of_json_are_shown_by_their_beginning() -> None:
    with FakeProvider(plan=always("html")).running() as provider:
        found, _ = collect(ask(provider, 1))
    said = "the answer is no JSON (text/html, begins '<html>Bad gateway</html>')"
    assert found[0].reason == said
    with FakeProvider(plan=always("page")).running() as provider:
        _, error = collect(ask(provider, 1))
    assert "<html>Blocked by the proxy" in str(error)


def test_words_hold_no_control_characters() -> None:
    assert one_line("a\x1b[31mb\r\nc\x00\ud800" + "d" * 400).startswith("a [31mb c \\ud800ddd")


# ---- where requests go, and where they do not arrive


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed_and_says_where_it_leads(status: int) -> None:
    other, provider = FakeProvider(key=None), FakeProvider()

    async def lead_away(_: Any) -> Response:
        place = f"http://localhost:{other.port}/v1/chat/completions"
        return Response(status, b"", {"location": f"{place}?key=x"})

    provider.handle = lead_away  # type: ignore[method-assign]
    with other.running(), provider.running():
        found, error = collect(ask(provider, 30))
        assert isinstance(error, Incomplete)
        assert f"http://localhost:{other.port}/v1/chat/completions" in error.fix
        assert "key=x" not in error.fix
    assert (found, other.arrivals) == ({}, 0)


def test_the_cause_of_a_failed_connection_is_said() -> None:
    error = openai.APIConnectionError(request=httpx.Request("POST", "http://x"))  # type: ignore[arg-type]
    assert words(error) == "Connection error."  # the client's own words, which hide the cause
    error.__cause__ = OSError(-2, "Name or service not known")
    assert words(error) == "[Errno -2] Name or service not known"


def test_a_proxy_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "gopher://proxy.example.org")
    with pytest.raises(MissingPart, match="HTTPS_PROXY"):
        Connection("https://models.example.org/v1").open()


def test_a_request_that_is_flagged_is_blocked_and_the_key_not_blamed() -> None:
    """As OpenRouter says it: with status 403, which is of the key otherwise."""
    told = {"code": 403, "message": "flagged", "metadata": {"flagged_input": "a", "reasons": []}}

    provider = FakeProvider()
    answer = provider.handle

    async def flag(request: Any) -> Response:
        if b"about 1" in request.body:
            return Response.of({"error": told}, 403)
        return await answer(request)

    provider.handle = flag  # type: ignore[method-assign]
    with provider.running():
        found, error = collect(ask(provider, 3))
    assert error is None
    assert [found[item].status for item in range(3)] == ["ok", "blocked", "ok"]
    assert read_completion(json.dumps({"error": told}).encode()).status == "blocked"
    assert refused(403, {"error": told}).status == "blocked"


def test_a_tool_call_in_the_place_of_an_answer_is_said() -> None:
    def edit(body: dict[str, Any]) -> None:
        call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        body["choices"][0]["message"].update(content=None, tool_calls=[call])

    with FakeProvider(plan=always("edited", edit=edit)).running() as provider:
        found, _ = collect(ask(provider, 1))
    assert found[0].status == "invalid"
    assert "the model called a tool" in str(found[0].reason)


# ---- a service that is down


def test_a_service_that_is_down_for_a_while_costs_few_items() -> None:
    """As when a network goes: everything fails for a while, and then nothing does."""

    def plan(number: int, _: Any) -> Fault | None:
        return Fault("503") if 40 <= number < 90 else None

    pacing = Pacing(concurrency=8, back_off=0.001, retries=1)
    states: list[State] = []
    with FakeProvider(plan=plan).running() as provider:
        found, error = collect(ask(provider, 200, pacing, on_state=states.append))
    assert error is None
    statuses = Counter(reply.status for reply in found.values())
    assert sum(statuses.values()) == 200
    assert statuses["error"] <= 8  # each for itself; then it is the service
    assert len(provider.billed()) == statuses["ok"]


def test_a_service_that_stays_down_ends_it_and_leaves_the_rest_pending() -> None:
    def plan(number: int, _: Any) -> Fault | None:
        return Fault("503") if number >= 40 else None

    pacing = Pacing(concurrency=8, back_off=0.001, retries=1, patience=0.3)
    states: list[State] = []
    with FakeProvider(plan=plan).running() as provider:
        found, error = collect(
            ask(provider, 500, pacing, on_state=states.append, budget=Budget(None, PRICE.cost))
        )
    assert isinstance(error, Incomplete)
    assert "answers 503: no answer to anybody for" in str(error)
    assert "run again when the service answers" in error.fix
    assert 40 <= len(found) <= 48
    assert states[-1].unaccounted == len(provider.log) - len(provider.billed())
    assert "perhaps charged" in states[-1].words() or states[-1].stopping


def test_words_of_a_service_that_is_down() -> None:
    state = State(
        done=1, failed=0, in_flight=1, limit=1, rate=1.0, spent=None, projected=None, paused=30.0,
        stopping=False, silent=41.0,
    )  # fmt: skip
    assert state.words() == "1 in flight, no answer to anybody for 41 s, trying on"
