"""What is asked of a language model, what comes back, and who can be asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

OK, INVALID, ERROR = "ok", "invalid", "error"
"""Statuses with a meaning here. ``error`` is one that may pass (a cut connection, a busy server):
it is not kept, and asked again. Others, such as ``refused`` and ``truncated``, are final."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request in text with a schema for its answer."""

    key: str
    """Content hash of what is asked; with the model's settings, what an answer is kept under."""
    messages: tuple[Mapping[str, str], ...]
    """``role`` and ``content``, as chat completions have them."""
    schema: Mapping[str, Any]
    """JSON schema of the answer: objects with all keys required and no others."""
    name: str
    """Name of the schema: letters, digits and underscores."""
    max_tokens: int = 1024
    """Largest length of the answer, hidden reasoning not included."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What is kept beside the answer: what was shown, for one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: str
    """``ok``: there is a text. ``refused``, ``truncated``, ``blocked``, ``error`` …: none that can
    be used."""
    text: str = ""
    """The answer as it came, or the reason where there is none."""
    model: str = ""
    """The model's dated snapshot, as the server names it."""
    usage: Mapping[str, int] = field(default_factory=dict)
    """Tokens: ``input``, ``cached``, ``output``."""
    request: str = ""
    """The server's own name of the request."""


class Asker(Protocol):
    """A language model behind any transport."""

    def settings(self) -> Mapping[str, Any]:
        """Everything that decides an answer beside the question: model, parameters, address."""

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[Question, Answer]]:
        """Ask, and yield as answers come, in any order; each question once.

        Raises:
            Incomplete: A budget is spent or a quota is; what was yielded is to be kept.
            MissingPart: A key or a package is missing.
        """
