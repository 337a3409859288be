"""Questions are asked once, answers checked, a fault is repaired once, and all is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contextbias.errors import Incomplete, InputError
from contextbias.llm import Answer, Journal, Question, Settler, estimated_tokens
from tests.llm.fake import FakeModel, Said

SCHEMA = {"type": "object"}


def question(word: str) -> Question:
    return Question(word, ({"role": "user", "content": word},), SCHEMA, "a_word")


def echo(asked: Question) -> Said:
    return {"word": asked.messages[0]["content"]}


def is_right(asked: Question, value: Any) -> list[str]:
    if not isinstance(value, dict):
        return ["it is no object"]
    wanted = asked.messages[0]["content"]
    return [] if value.get("word") == wanted else [f"word is {value.get('word')!r}"]


def settler(model: FakeModel, path: Path | None = None) -> Settler:
    return Settler(Journal(path), model.settings(), model)


def statuses(of: Settler, *words: str) -> list[str]:
    return [s.status for s in of.settle([question(word) for word in words], is_right)]


def test_answers_come_back_in_the_order_of_questions(tmp_path: Path) -> None:
    model = FakeModel(echo, backwards=True)
    found = settler(model, tmp_path / "j").settle([question(w) for w in "abc"], is_right)
    assert [s.value["word"] for s in found] == ["a", "b", "c"]
    assert all(s.kept is not None and s.kept.answer.model == "fake-2026-01-01" for s in found)


def test_what_is_kept_is_not_asked_again(tmp_path: Path) -> None:
    model = FakeModel(echo)
    assert statuses(settler(model, tmp_path / "a" / "j"), "x", "y", "x") == ["ok", "ok"]
    again = FakeModel(echo)
    of = settler(again, tmp_path / "a" / "j")
    assert statuses(of, "y", "z", "x") == ["ok", "ok", "ok"]
    assert [q.key for q in again.asked] == ["z"]
    assert of.journal.tokens() == {"input": 300, "output": 9}
    assert len(of.journal) == 3


def test_another_model_is_asked_anew(tmp_path: Path) -> None:
    assert statuses(settler(FakeModel(echo), tmp_path / "j"), "x") == ["ok"]
    other = FakeModel(echo, name="other")
    assert statuses(settler(other, tmp_path / "j"), "x") == ["ok"]
    assert len(other.asked) == 1


def test_a_fault_is_repaired_once(tmp_path: Path) -> None:
    model = FakeModel(lambda q: echo(q) if len(q.messages) == 3 else {"word": "wrong"})
    of = settler(model, tmp_path / "j")
    assert statuses(of, "x") == ["repaired"]
    first, second = model.asked
    assert second.messages[1] == {"role": "assistant", "content": '{"word": "wrong"}'}
    assert "word is 'wrong'" in second.messages[2]["content"]
    assert statuses(settler(FakeModel(echo), tmp_path / "j"), "x") == ["repaired"]
    assert first.key != second.key


@pytest.mark.parametrize("said", ["", "{", "null", "[]", '"x"', '{"word": "y"}', "NaN"])
def test_nonsense_stays_invalid_and_is_paid_for_twice_at_most(said: str, tmp_path: Path) -> None:
    model = FakeModel(lambda q: said)
    for _ in range(2):
        assert statuses(settler(model, tmp_path / "j"), "x") == ["invalid"]
    assert len(model.asked) == 2


@pytest.mark.parametrize("status", ["refused", "truncated", "blocked"])
def test_no_answer_is_final_and_not_repaired(status: str, tmp_path: Path) -> None:
    model = FakeModel(lambda q: Answer(status, "why"))
    (found,) = settler(model, tmp_path / "j").settle([question("x")], is_right)
    assert (found.status, found.problem, found.value) == (status, "why", None)
    assert statuses(settler(model, tmp_path / "j"), "x") == [status]
    assert len(model.asked) == 1


def test_an_error_is_asked_again(tmp_path: Path) -> None:
    model = FakeModel(lambda q: Answer("error", "cut off"))
    assert statuses(settler(model, tmp_path / "j"), "x") == ["error"]
    assert statuses(settler(FakeModel(echo), tmp_path / "j"), "x") == ["ok"]


def test_a_pause_keeps_what_came(tmp_path: Path) -> None:
    with pytest.raises(Incomplete):
        statuses(settler(FakeModel(echo, until=2), tmp_path / "j"), *"abcd")
    rest = FakeModel(echo)
    assert statuses(settler(rest, tmp_path / "j"), *"abcd") == ["ok"] * 4
    assert [q.key for q in rest.asked] == ["c", "d"]


def test_without_an_asker_only_the_journal_counts(tmp_path: Path) -> None:
    model = FakeModel(echo)
    statuses(settler(model, tmp_path / "j"), "a")
    of = Settler(Journal(tmp_path / "j"), model.settings())
    assert statuses(of, "a", "b") == ["ok", "unasked"]
    assert [q.key for q in of.open([question("a"), question("b"), question("b")])] == ["b"]


def test_half_a_line_of_a_kill_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "j"
    statuses(settler(FakeModel(echo), path), "a", "b")
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    model = FakeModel(echo)
    assert statuses(settler(model, path), "a", "b") == ["ok", "ok"]
    assert [q.key for q in model.asked] == ["b"]
    assert path.read_bytes().count(b"\n") == 2
    assert len(Journal(path)) == 2


@pytest.mark.parametrize("line", ["x", "{}", "[]", '{"key": 1}'])
def test_a_damaged_journal_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "j"
    statuses(settler(FakeModel(echo), path), "a")
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError, match="line 2 is no answer"):
        Journal(path)


def test_two_programs_cannot_hold_one_journal(tmp_path: Path) -> None:
    with (
        Journal(tmp_path / "j").locked(),
        pytest.raises(InputError, match="another"),
        Journal(tmp_path / "j").locked(),
    ):
        pass


def test_tokens_are_estimated_from_text_and_schema() -> None:
    # 8 letters are 2 tokens, {"type": "object"} has 18 and is 5.
    assert estimated_tokens([question("abcdefgh")]) == 7
