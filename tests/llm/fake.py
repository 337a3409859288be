"""A language model that answers by a function, and counts what it was asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from contextbias.errors import Incomplete
from contextbias.llm import Answer, Question

Said = Answer | str | dict[str, Any]


class FakeModel:
    """Answers with what `reply` returns: an `Answer`, a text, or an object as JSON.

    Args:
        reply: From a question to what is said.
        backwards: Answers come in the reverse order.
        until: After so many answers it pauses, as a spent budget does.
    """

    def __init__(
        self,
        reply: Callable[[Question], Said],
        *,
        backwards: bool = False,
        until: int | None = None,
        name: str = "fake-2026-01-01",
    ) -> None:
        self.asked: list[Question] = []
        self._reply, self._backwards, self._until, self._name = reply, backwards, until, name

    def settings(self) -> Mapping[str, Any]:
        return {"model": self._name}

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[Question, Answer]]:
        for question in reversed(questions) if self._backwards else questions:
            if self._until is not None and len(self.asked) >= self._until:
                raise Incomplete("the budget is spent", "raise it, and run again")
            self.asked.append(question)
            yield question, self._answer(self._reply(question))

    def _answer(self, said: Said) -> Answer:
        if isinstance(said, Answer):
            return said
        text = said if isinstance(said, str) else json.dumps(said)
        usage = {"input": 100, "output": len(text) // 4}
        return Answer("ok", text, model=self._name, usage=usage, request="r1")
