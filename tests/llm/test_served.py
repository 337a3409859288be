"""A language model over HTTP: what is sent, what each kind of answer becomes, keys and budgets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from contextbias.errors import ConfigError, Incomplete, MissingPart
from contextbias.llm import Answer, Journal, Question, Settler
from contextbias.llm.served import ServedModel
from tests.provider import FakeProvider, always, first

SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}


def questions(*words: str) -> list[Question]:
    return [
        Question(word, ({"role": "user", "content": word},), SCHEMA, "a_word", 50) for word in words
    ]


def served(provider: FakeProvider, **options: Any) -> ServedModel:
    given = {"model": "gpt-5-mini", "base_url": provider.base_url, "retries": 2} | options
    return ServedModel(given, where="a test")


def ask(model: ServedModel, asked: Sequence[Question]) -> dict[str, Answer]:
    return {question.key: answer for question, answer in model.ask(asked)}


def test_answers_with_snapshot_and_usage() -> None:
    with FakeProvider(key=None).running() as provider:
        found = ask(served(provider), questions("a", "b"))
    assert {key: answer.status for key, answer in found.items()} == {"a": "ok", "b": "ok"}
    assert found["a"].text == '{"word": "word"}'
    assert found["a"].model == "gpt-5-mini-2025-08-07"
    assert found["a"].usage["output"] == provider.total("output") / 2
    assert found["a"].request.startswith("req_")


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("refuse", "refused"),
        ("truncate", "truncated"),
        ("content_filter", "blocked"),
        ("empty", "ok"),
        ("invalid_json", "ok"),
    ],
)
def test_what_goes_wrong_with_an_answer(kind: str, status: str) -> None:
    with FakeProvider(key=None, plan=always(kind)).running() as provider:
        found = ask(served(provider), questions("a"))
    # What can be read is looked at by the checks, and repaired once.
    assert found["a"].status == status


def test_an_empty_answer_is_repaired(tmp_path: Path) -> None:
    with FakeProvider(key=None, plan=first(1, "empty")).running() as provider:
        model = served(provider)
        settler = Settler(Journal(tmp_path / "j"), model.settings(), model)
        (found,) = settler.settle(questions("a"), lambda q, value: [])
    assert found.status == "repaired"
    assert len(provider.billed()) == 2


def test_what_passes_is_sent_again() -> None:
    with FakeProvider(key=None, plan=first(2, "500")).running() as provider:
        found = ask(served(provider, concurrency=1), questions("a"))
    assert found["a"].status == "ok"
    assert len(provider.billed()) == 1


def test_a_server_that_is_down_is_an_error_that_is_asked_again(tmp_path: Path) -> None:
    with FakeProvider(key=None, plan=always("500")).running() as provider:
        model = served(provider, retries=0)
        settler = Settler(Journal(tmp_path / "j"), model.settings(), model)
        (found,) = settler.settle(questions("a"), lambda q, value: [])
        assert found.status == "error"
        assert len(Journal(tmp_path / "j")) == 0


def test_a_spent_budget_pauses(tmp_path: Path) -> None:
    # 64 hidden and 4 other tokens an answer at 1 USD a token.
    prices = {"price_input": 0.0, "price_output": 1e6, "budget": 150.0, "reasoning_tokens": 0}
    with FakeProvider(key=None).running() as provider:
        model = served(provider, concurrency=1, **prices)
        settler = Settler(Journal(tmp_path / "j"), model.settings(), model)
        with pytest.raises(Incomplete, match="budget"):
            settler.settle(questions(*"abcdefgh"), lambda q, value: [])
        journal = Journal(tmp_path / "j")
        assert 0 < len(journal) < 8
        assert len(journal) == len(provider.billed())
        assert journal.tokens("gpt-5-mini")["output"] == provider.total("output")
        spent = journal.tokens("gpt-5-mini")
        again = ServedModel(dict(model.options), where="a test", spent=spent)
        with pytest.raises(Incomplete, match="budget"):
            ask(again, questions("z"))


def test_a_forecast_knows_the_budget_and_what_was_spent() -> None:
    options = {"model": "m", "price_input": 0.0, "price_output": 1e6, "budget": 1000.0}
    model = ServedModel(options, where="a test", spent={"output": 10})
    found = model.forecast(questions(*"abcd"))
    assert (found.budget, found.spent) == (1000.0, 10.0)
    assert ServedModel({"model": "m"}, where="a test").forecast([]).budget is None


def test_a_wrong_key_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    with (
        FakeProvider(key="right").running() as provider,
        pytest.raises((Incomplete, MissingPart), match="401"),
    ):
        ask(served(provider), questions("a"))
    monkeypatch.delenv("OPENAI_API_KEY")
    with FakeProvider(key="right").running() as provider, pytest.raises(MissingPart) as caught:
        ask(served(provider), questions("a"))
    assert "OPENAI_API_KEY is not set: export OPENAI_API_KEY=" in caught.value.fix
    with pytest.raises(MissingPart, match="MY_KEY"):
        ask(
            ServedModel(
                {"model": "m", "base_url": "https://example.invalid/v1", "api_key_env": "MY_KEY"},
                where="a test",
            ),
            questions("a"),
        )


@pytest.mark.parametrize("structured", ["json_object_schema", "json_object", "none"])
def test_servers_without_strict_schemas(structured: str) -> None:
    with FakeProvider(key=None, answer=lambda q: {"word": "x"}).running() as provider:
        model = served(provider, model="local", structured=structured)
        assert ask(model, questions("a"))["a"].status == "ok"


def test_settings_are_what_decides_an_answer() -> None:
    plain = ServedModel({"model": "gpt-5-mini"}, where="a test").settings()
    assert plain["model"] == "gpt-5-mini"
    assert "base_url" not in plain
    paced = {"model": "gpt-5-mini", "concurrency": 2, "budget": 3.0, "timeout": 9.0}
    assert ServedModel(paced, where="a test").settings() == plain
    other = {"model": "gpt-5-mini", "base_url": "http://localhost:1/v1"}
    assert ServedModel(other, where="a test").settings() != plain


def test_a_forecast_counts_questions_tokens_and_money() -> None:
    given = {"model": "m", "price_input": 2.0, "price_output": 10.0}
    expected = ServedModel(given, where="a test").forecast(questions("a" * 400, "b"))
    # 100 + 1 tokens of text and the schema twice; half of 50 tokens for each answer.
    schema = -(-len('{"type": "object", "properties": {"word": {"type": "string"}}, "required": '
                    '["word"], "additionalProperties": false}') // 4)  # fmt: skip
    assert (expected.calls, expected.tokens_in, expected.tokens_out) == (2, 101 + 2 * schema, 50)
    assert expected.money == pytest.approx((expected.tokens_in * 2 + 50 * 10) / 1e6)
    unknown = ServedModel({"model": "nobody-knows"}, where="a test").forecast(questions("a"))
    assert unknown.money is None
    assert "not known" in unknown.notes[0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "names no model"),
        ({"model": ""}, "model"),
        ({"model": "m", "modle": 1}, "modle"),
        ({"model": "gpt-5-mini", "temperature": 0.5}, "temperature"),
        ({"model": "m", "structured": "xml"}, "structured"),
        ({"model": "gpt-5-mini", "reasoning_effort": "huge"}, "reasoning_effort"),
        ({"model": "m", "budget": 1}, "price"),
    ],
)
def test_wrong_options(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ServedModel(options, where="a test")
