"""The reader against a provider on loopback: readings, self-test, budget, interruptions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.extract.openai.stub import good
from tests.extract.openai.truthful import strict_answer
from tests.provider import FakeProvider, Question, always, first
from tests.provider.faults import Fault

from contextbias.errors import ConfigError, Incomplete, MissingPart
from contextbias.extract.openai import OpenAIReader
from contextbias.extract.openai.selftest import Proofs
from contextbias.extract.protocol import Picture
from contextbias.extract.vision.kept import opened
from contextbias.providers import Session, Usage

TEST = "kilo-41"


def answer(question: Question) -> dict[str, Any] | str:
    """A good answer about any picture, and to the self-test."""
    if question.pictures():
        return strict_answer(good(age_range="teen"))
    return {"color": TEST}


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(answer=answer).running() as running:
        yield running


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")


@pytest.fixture
def pictures(tmp_path: Path) -> list[Picture]:
    found = []
    for number in range(6):
        path = tmp_path / f"{number}.png"
        Image.new("RGB", (32, 24), (40 * number, 90, 20)).save(path)
        found.append(Picture(image_id=f"i{number}", path=path))
    return found


def reader(provider: FakeProvider, **options: Any) -> OpenAIReader:
    given = {"model": "gpt-5-mini", "base_url": provider.base_url, "size": 32, **options}
    return OpenAIReader(given)


def session(folder: Path, **fields: Any) -> Session:
    return Session(folder=folder, name="seer", **fields)


def test_every_picture_is_read_with_one_request(
    provider: FakeProvider, pictures: list[Picture]
) -> None:
    found = dict(reader(provider).read_many(pictures))
    assert set(found) == {picture.image_id for picture in pictures}
    assert {reading.status for reading in found.values()} == {"ok"}
    assert len(provider.log) == len(pictures) + 1  # and the self-test
    assert found["i0"].raw["model"] == "gpt-5-mini-2025-08-07"
    assert found["i0"].raw["request"] == {
        "model": "gpt-5-mini", "max_completion_tokens": 4096, "reasoning_effort": "low",
    }  # fmt: skip
    used = sum((Usage.from_json(reading.raw["usage"]) for reading in found.values()), Usage())
    assert used.input == provider.total("input")
    assert used.output == provider.total("output")


def test_pictures_are_asked_for_as_they_are_needed(
    provider: FakeProvider, pictures: list[Picture], tmp_path: Path
) -> None:
    taken = 0

    def endless() -> Iterator[Picture]:
        nonlocal taken
        while True:
            taken += 1
            yield replace(pictures[0], image_id=f"i{taken}", key=f"k{taken}")

    seer = reader(provider, self_test=False, concurrency=2)
    seer.begin(session(tmp_path, items=10_000))
    found = seer.read_many(endless())
    assert [next(found)[1].status for _ in range(5)] == ["ok"] * 5
    found.close()
    assert taken < 100


def test_one_picture_alone(provider: FakeProvider, pictures: list[Picture]) -> None:
    assert reader(provider).read(pictures[0]).status == "ok"


def test_it_reads_what_it_can_and_says_the_rest(
    provider: FakeProvider, pictures: list[Picture]
) -> None:
    pictures[1].path.write_bytes(b"broken")
    pictures[2].path.unlink()
    found = dict(reader(provider).read_many(pictures))
    statuses = [found[f"i{k}"].status for k in range(6)]
    assert statuses == ["ok", "corrupt", "error", "ok", "ok", "ok"]
    assert "FileNotFoundError" in (found["i2"].reason or "")


@pytest.mark.parametrize(
    ("fault", "status", "requests"),
    [
        ("refuse", "refused", 1), ("content_filter", "filtered", 1), ("truncate", "truncated", 1),
        ("empty", "invalid", 2), ("invalid_json", "invalid", 2), ("off_schema", "invalid", 2),
        ("html", "error", 1),
    ],
)  # fmt: skip
def test_every_kind_of_answer_has_its_status(
    pictures: list[Picture], fault: str, status: str, requests: int
) -> None:
    with FakeProvider(answer=answer, plan=always(fault)).running() as provider:
        ((_, reading),) = reader(provider, self_test=False).read_many(pictures[:1])
        assert (reading.status, len(provider.log)) == (status, requests)
        if status != "error":
            assert len(opened(reading.raw)) == requests


def test_the_second_turn_puts_a_first_answer_right(pictures: list[Picture]) -> None:
    plan = first(1, "off_schema")
    with FakeProvider(answer=answer, plan=plan).running() as provider:
        ((_, reading),) = reader(provider, self_test=False).read_many(pictures[:1])
    assert reading.status == "ok"
    assert json.loads(opened(reading.raw)[0]) == {"nonsense": 1}


# ---- the self-test


@pytest.mark.parametrize(
    ("said", "mode", "fault"),
    [
        ("Grass is green.", "json_schema", "which is no JSON"),
        ({"color": "green"}, "json_schema", "it answered"),
        ({"color": TEST, "more": 1}, "json_schema", "it answered"),
        (["green"], "json_schema", "no object"),
        ({"color": "green"}, "json_object_schema", "it answered"),
        ("Grass is green.", "json_object", "no JSON"),
    ],
)
def test_a_server_that_is_not_bound_is_refused_before_the_first_picture(
    pictures: list[Picture], said: Any, mode: str, fault: str
) -> None:
    told = said if isinstance(said, str) else json.dumps(said)
    with FakeProvider(answer=lambda _: told).running() as provider:
        with pytest.raises(ConfigError, match=fault) as caught:
            list(reader(provider, structured=mode, model="llama").read_many(pictures))
        assert len(provider.log) == 1
    assert f"structured = {mode!r}" in str(caught.value)
    assert "take structured" in str(caught.value).lower()


def test_any_object_passes_where_only_objects_are_promised(pictures: list[Picture]) -> None:
    def bound(question: Question) -> dict[str, Any]:
        return strict_answer(good()) if question.pictures() else {"grass": "green"}

    with FakeProvider(answer=bound).running() as provider:
        found = list(reader(provider, structured="json_object", model="llama").read_many(pictures))
    assert {reading.status for _, reading in found} == {"ok"}


def test_it_can_be_skipped_and_there_is_none_where_nothing_binds(
    provider: FakeProvider, pictures: list[Picture]
) -> None:
    list(reader(provider, self_test=False).read_many(pictures[:1]))
    assert len(provider.log) == 1
    list(reader(provider, structured="none", model="llama").read_many(pictures[:1]))
    assert len(provider.log) == 2


def test_what_was_proved_is_remembered_for_the_study(
    provider: FakeProvider, pictures: list[Picture], tmp_path: Path
) -> None:
    for _ in range(2):
        again = reader(provider)
        again.begin(session(tmp_path))
        list(again.read_many(pictures[:1]))
    assert len(provider.log) == 3  # one test and two pictures
    other = reader(provider, model="gpt-5-mini-2025-08-07")
    other.begin(session(tmp_path))
    list(other.read_many(pictures[:1]))
    assert len(provider.log) == 5  # another model is another test
    elsewhere = reader(provider)
    elsewhere.begin(session(tmp_path / "elsewhere"))
    list(elsewhere.read_many(pictures[:1]))
    assert len(provider.log) == 7


def test_a_lost_or_broken_memory_costs_one_request(
    provider: FakeProvider, pictures: list[Picture], tmp_path: Path
) -> None:
    for content in ("{ broken", "[]"):
        path = Proofs.of(tmp_path).path
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        again = reader(provider)
        again.begin(session(tmp_path))
        list(again.read_many(pictures[:1]))
    assert len(provider.log) == 4


def test_a_test_without_an_answer_stops_the_reading(pictures: list[Picture]) -> None:
    with FakeProvider(answer=answer, plan=always("refuse")).running() as provider:
        with pytest.raises(Incomplete, match=r"refused.*self_test = false"):
            list(reader(provider).read_many(pictures))
        assert len(provider.log) == 1


# ---- what stops it


def test_a_key_that_is_missing_or_wrong_is_said_without_the_key(
    pictures: list[Picture], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_KEY", "sk-secret-1234")
    with FakeProvider(answer=answer).running() as provider:
        with pytest.raises(MissingPart, match="api_key_env") as caught:
            list(reader(provider, api_key_env="OTHER_KEY").read_many(pictures))
        assert "sk-secret" not in str(caught.value)
        assert provider.billed() == []


def test_a_quota_that_is_used_up_pauses_and_keeps_what_came(pictures: list[Picture]) -> None:
    def plan(number: int, _: Question) -> Fault | None:
        return Fault("quota") if number >= 3 else None

    with FakeProvider(answer=answer, plan=plan).running() as provider:
        kept: list[Any] = []
        with pytest.raises(Incomplete, match="insufficient_quota"):
            kept.extend(reader(provider, self_test=False, concurrency=1).read_many(pictures))
    assert [reading.status for _, reading in kept] == ["ok"] * 3


def test_a_budget_holds_over_runs(
    provider: FakeProvider, pictures: list[Picture], tmp_path: Path
) -> None:
    options = {"price_input": 1000.0, "price_output": 0.0, "self_test": False, "concurrency": 1}
    first_run = reader(provider, **options)
    each = Usage.from_json(dict(first_run.read_many(pictures[:1]))["i0"].raw["usage"])
    cost = each.input / 1000  # 1,000 USD a million tokens
    budget = {**options, "budget": 3.5 * cost}
    kept: list[Any] = []
    second = reader(provider, **budget)
    second.begin(session(tmp_path, usage=each))
    with pytest.raises(Incomplete, match="budget"):
        kept.extend(second.read_many(pictures))
    assert len(kept) == 2  # three in all, and the fourth would go over


# ---- options and settings


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "model"),
        ({"model": ""}, "model"),
        ({"model": "m", "base_url": "localhost:8000"}, "not an address"),
        ({"model": "m", "sizee": 3}, "did you mean 'size'"),
        ({"model": "m", "structured": "grammar"}, "structured"),
        ({"model": "m", "people": 0}, "people"),
        ({"model": "gpt-5-mini", "temperature": 0}, "refuses a temperature"),
        ({"model": "gpt-5-mini", "reasoning_effort": "huge"}, "minimal, low"),
        ({"model": "m", "budget": 5}, "price"),
        ({"model": "m", "max_tokens": 10}, "max_tokens"),
        ({"model": "m", "extra": {"response_format": {}}}, "options of their own"),
        ({"model": "m", "extra": {"stream": True}}, "'stream' is no further field"),
    ],
)
def test_bad_options_are_refused_when_the_reader_is_built(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        OpenAIReader(options)


def test_settings_are_what_decides_an_answer() -> None:
    def settings(**options: Any) -> str:
        found = OpenAIReader({"model": "m", **options}).settings()
        return json.dumps(found, sort_keys=True)

    base = settings()
    for changed in (
        {"model": "n"}, {"revision": "q4"}, {"size": 512}, {"encoding": "png"}, {"quality": 80},
        {"people": 3}, {"structured": "none"}, {"temperature": 0}, {"seed": 1},
        {"max_tokens": 900}, {"extra": {"top_p": 0.5}}, {"repair": False}, {"detail": "low"},
    ):  # fmt: skip
        assert settings(**changed) != base, changed
    for same in (
        {"base_url": "http://localhost:1/v1"}, {"concurrency": 2}, {"timeout": 5},
        {"api_key_env": "X"}, {"price_input": 1, "price_output": 1}, {"self_test": False},
        {"headers": {"x": "y"}}, {"requests_per_minute": 9}, {"retries": 1},
    ):  # fmt: skip
        assert settings(**same) == base, same


def test_it_can_read_every_dimension() -> None:
    assert len(OpenAIReader({"model": "m"}).readable()) == 31


# ---- what it will take


def test_the_plan_is_calls_tokens_money_and_time() -> None:
    plan = OpenAIReader({"model": "gpt-5-mini"}).plan(1000, (1328, 1328))
    assert plan.calls == 1000
    # 1024 x 1024 after resizing: 1,024 patches, times 1.62, is 1,659; and the words.
    assert plan.tokens_in is not None
    words = plan.tokens_in / 1000 - 1659
    assert 2000 < words < 4000
    assert plan.tokens_out == 1000 * (550 + 500)
    assert plan.money == pytest.approx((plan.tokens_in * 0.25 + plan.tokens_out * 2) / 1e6)
    assert any("--batch" in note for note in plan.notes)
    assert any("shut down on 2026-12-11" in note for note in plan.notes)
    smaller = OpenAIReader({"model": "gpt-5-mini", "size": 512}).plan(1000, (1328, 1328))
    assert smaller.tokens_in == plan.tokens_in - 1000 * (1659 - 415)


def test_the_plan_of_batches_is_cheaper_and_says_how_long() -> None:
    one = OpenAIReader({"model": "gpt-5-mini"}).plan(100, None)
    many = OpenAIReader({"model": "gpt-5-mini", "batch": True}).plan(100, None)
    assert one.money is not None
    assert many.money == pytest.approx(one.money / 2)
    assert any("24 hours" in note for note in many.notes)


def test_an_unknown_model_has_no_price_and_says_so() -> None:
    plan = OpenAIReader({"model": "m"}).plan(10, None)
    assert plan.money is None
    assert any("price_input" in note for note in plan.notes)
    assert plan.tokens_out == 5500
    priced = {"model": "m", "price_input": 1.0, "price_output": 2.0}
    assert OpenAIReader(priced).plan(10, None).money is not None


def test_limits_a_minute_are_counted_in() -> None:
    free = OpenAIReader({"model": "m"}).plan(600, None)
    slow = OpenAIReader({"model": "m", "requests_per_minute": 60}).plan(600, None)
    assert free.seconds is not None
    assert slow.seconds == 64 * 600  # a request a second, whatever the 64 connections
    assert free.seconds < slow.seconds


def test_requirements_name_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    found = {what: (ok, fix) for what, ok, _, fix in
             OpenAIReader({"model": "gpt-5-mini"}).requirements()}  # fmt: skip
    assert found["openai"] == (True, "")
    assert found["key OPENAI_API_KEY"] == (False, "export OPENAI_API_KEY=…")
    assert found["gpt-5-mini"][0] is False
    local = OpenAIReader({"model": "m", "base_url": "http://localhost:8000/v1"}).requirements()
    assert [what for what, *_ in local] == ["openai"]


def test_what_was_measured_replaces_what_was_guessed() -> None:
    built = OpenAIReader({"model": "gpt-5-mini", "concurrency": 4})
    raw = {"usage": {"input": 3000, "cached": 1000, "output": 800}, "turns": [{}]}
    repaired = {"usage": {"input": 6000, "cached": 2000, "output": 1600}, "turns": [{}, {}]}
    plan = built.plan_after(100, [(raw, 5.0)] * 3 + [(repaired, 9.0)])
    assert plan.calls == 125
    assert (plan.tokens_in, plan.tokens_out) == (375_000, 100_000)
    # A quarter of 100 pictures each: (2000 * .25 + 1000 * .025 + 800 * 2) / 1e6 = .002125 of a
    # single one, twice that of the repaired one.
    assert plan.money == pytest.approx(75 * 0.002125 + 25 * 0.00425)
    assert plan.seconds == 600
    assert plan.basis == "from 4 finished readings"
    # Where the service does not say what it used, a reading counts for nothing, not as 0 tokens.
    silent = {"usage": {"unknown": 1}, "turns": [{}]}
    again = built.plan_after(100, [(raw, 5.0)] * 3 + [(repaired, 9.0)] + [(silent, 1.0)] * 4)
    assert (again.tokens_in, again.money) == (plan.tokens_in, plan.money)
    guessed = built.plan_after(100, [(silent, 3.0)] * 20)
    assert guessed.money == built.plan(100, None).money
    assert guessed.seconds == 300
