"""From questions to decisions: ask what is not known, check, let a faulty answer be repaired once.

What comes out depends on the questions and the journal alone, not on the order of answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contextbias.ids import content_hash, storable
from contextbias.llm.journal import Journal, Kept
from contextbias.llm.question import ERROR, INVALID, OK, Answer, Asker, Question

Check = Callable[[Question, Any], Sequence[str]]
"""Faults of a parsed answer, one sentence each; none where it can be used."""

_LETTERS_A_TOKEN = 4
_MOST_FAULTS = 12


@dataclass(frozen=True, slots=True)
class Settled:
    """How a question ended."""

    question: Question
    """What was asked."""
    status: str
    """``ok``, ``repaired``, or why there is no value: ``invalid``, ``refused``, ``truncated``,
    ``blocked``, ``error``; ``unasked`` where it is not in the journal and nobody was asked."""
    value: Any = None
    """The answer, parsed and without fault; None without."""
    problem: str = ""
    """Why there is none, in words."""
    kept: Kept | None = None
    """The answer that decided, in the journal; None for ``error`` and ``unasked``."""


@dataclass(frozen=True, slots=True)
class Settler:
    """Settles questions with one model and one journal."""

    journal: Journal
    """Where answers are kept."""
    settings: Mapping[str, Any]
    """Of the model; part of what an answer is kept under."""
    asker: Asker | None = None
    """Who is asked; None: only what the journal holds counts."""

    def kept(self, key: str) -> Kept | None:
        """What the journal holds for the question of this key, asked with these settings."""
        return self.journal.get(content_hash(["answer", dict(self.settings), key]))

    def keep(self, question: Question, answer: Answer) -> None:
        """Write an answer into the journal."""
        key = content_hash(["answer", dict(self.settings), question.key])
        about = {"schema": question.name, **question.about}
        self.journal.keep(key, answer, settings=self.settings, about=about)

    def open(self, questions: Sequence[Question]) -> list[Question]:
        """Questions that the journal does not answer yet; repairs not counted."""
        return [q for q in _distinct(questions) if self.kept(q.key) is None]

    def settle(
        self,
        questions: Sequence[Question],
        check: Check,
        *,
        on_answer: Callable[[], None] = lambda: None,
    ) -> list[Settled]:
        """Ask and check.

        Args:
            questions: Of equal ones only the first is asked.
            check: Says what is wrong with an answer.

        Returns:
            One for each of the distinct questions, in their order.

        Raises:
            Incomplete: The asker pauses; what came is in the journal.
        """
        distinct = _distinct(questions)
        passing = self._ask(distinct, on_answer)
        first = [self._settled(question, check, passing) for question in distinct]
        faulty = {s.question.key: _repair(s) for s in first if s.status == INVALID}
        passing |= self._ask(list(faulty.values()), lambda: None)
        return [
            self._second(settled, faulty[settled.question.key], check, passing)
            if settled.question.key in faulty
            else settled
            for settled in first
        ]

    def _ask(self, questions: Sequence[Question], on_answer: Callable[[], None]) -> dict[str, str]:
        """Ask what is open; returns why questions stay open, by key."""
        todo = self.open(questions)
        passing: dict[str, str] = {}
        if self.asker is None or not todo:
            return passing
        for question, answer in self.asker.ask(todo):
            if answer.status == ERROR:
                passing[question.key] = answer.text or "no answer"
            else:
                self.keep(question, answer)
            on_answer()
        return passing

    def _settled(self, question: Question, check: Check, passing: Mapping[str, str]) -> Settled:
        kept = self.kept(question.key)
        if kept is None:
            why = passing.get(question.key)
            if why is None:
                return Settled(question, "unasked", problem="not asked yet")
            return Settled(question, ERROR, problem=why)
        if kept.answer.status != OK:
            return Settled(question, kept.answer.status, problem=kept.answer.text, kept=kept)
        value, faults = _parsed(kept.answer)
        faults = faults or list(check(question, value))
        if faults:
            return Settled(question, INVALID, problem="; ".join(faults[:_MOST_FAULTS]), kept=kept)
        return Settled(question, OK, value, kept=kept)

    def _second(
        self, first: Settled, repair: Question, check: Check, passing: Mapping[str, str]
    ) -> Settled:
        """How the repair ended, for the first question; its fault where it cannot be repaired."""
        second = self._settled(repair, check, passing)
        if second.status == OK:
            return replace(second, question=first.question, status="repaired")
        if second.status in (ERROR, "unasked"):
            return replace(second, question=first.question)
        return first


def _distinct(questions: Sequence[Question]) -> list[Question]:
    return list({question.key: question for question in reversed(questions)}.values())[::-1]


def _parsed(answer: Answer) -> tuple[Any, list[str]]:
    try:
        return storable(json.loads(answer.text)), []
    except (ValueError, RecursionError) as error:
        said = "nested too deeply" if isinstance(error, RecursionError) else error
        return None, [f"it is not JSON: {said}"]


def _repair(settled: Settled) -> Question:
    """The question again, with the answer and what is wrong with it."""
    question, kept = settled.question, settled.kept
    text = "" if kept is None else kept.answer.text
    wrong = f"That answer cannot be used: {settled.problem}. Answer again, whole and corrected."
    key = content_hash(["repair", question.key, text, wrong])
    if not text.strip():
        # An empty turn of the model's is refused by some servers: asked in the same words again.
        return replace(question, key=key)
    return replace(
        question,
        key=key,
        messages=(
            *question.messages,
            {"role": "assistant", "content": text},
            {"role": "user", "content": wrong},
        ),
    )


def estimated_tokens(questions: Sequence[Question]) -> int:
    """Tokens that questions send, estimated at one for each four letters begun, schema included."""
    return sum(
        -(-sum(len(m["content"]) for m in q.messages) // _LETTERS_A_TOKEN)
        + -(-len(json.dumps(q.schema)) // _LETTERS_A_TOKEN)
        for q in questions
    )
