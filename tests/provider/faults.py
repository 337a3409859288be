"""What can go wrong with a request, and plans of what goes wrong when."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.provider.answers import Question

BEFORE_BILLING = {
    "429", "500", "503", "cut_before", "quota", "401", "402", "403", "in_200", "echo", "page",
}  # fmt: skip
"""Kinds that end a request before anything is charged."""
BILLED = {
    "cut_after", "truncate", "refuse", "content_filter", "empty", "invalid_json", "off_schema",
    "html", "whitespace", "edited", "drip",
}  # fmt: skip
"""Kinds that are charged."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong."""

    kind: str = ""
    """One of the above; empty for a good answer (perhaps a late one)."""
    delay: float = 0.0
    """Seconds before anything is sent."""
    after: float | None = None
    """Retry-After of a 429 or 503, in seconds."""
    code: Any = None
    """Of the error that ``in_200`` sends with status 200; status of an ``echo`` of the key."""
    edit: Callable[[dict[str, Any]], None] | None = None
    """What ``edited`` does to the body of a good answer."""


Plan = Callable[[int, Question], Fault | None]
"""(number of the arrival from 0, the question) -> what goes wrong; None: nothing."""


def always(kind: str, **details: Any) -> Plan:
    """Every request fails alike."""
    return lambda _number, _question: Fault(kind, **details)


def first(count: int, kind: str, **details: Any) -> Plan:
    """The first so many requests fail."""
    return lambda number, _question: Fault(kind, **details) if number < count else None


def by_key(kinds: dict[str, str]) -> Plan:
    """Fault by the question's key."""
    return lambda _number, question: Fault(kinds.get(question.key(), ""))


@dataclass
class Storm:
    """Everything at once, from a seed: rates for each arrival, and bursts of 429."""

    seed: int = 0
    rates: dict[str, float] = field(
        default_factory=lambda: {
            "429": 0.05, "500": 0.03, "503": 0.02, "cut_before": 0.02, "cut_after": 0.02,
            "truncate": 0.02, "refuse": 0.02, "content_filter": 0.02, "empty": 0.02,
            "invalid_json": 0.02, "off_schema": 0.02, "html": 0.01,
        }
    )  # fmt: skip
    burst_every: int = 300
    burst_length: int = 25
    delay: float = 0.01

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def __call__(self, number: int, question: Question) -> Fault | None:
        draw, delay = self._random.random(), self._random.random() * self.delay
        if number % self.burst_every >= self.burst_every - self.burst_length:
            return Fault("429", after=0.02)
        for kind, rate in self.rates.items():
            if draw < rate:
                after = 0.02 if kind == "429" and draw < rate / 2 else None
                return Fault(kind, delay=delay, after=after)
            draw -= rate
        return Fault("", delay=delay)
