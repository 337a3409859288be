"""What a check found in a bank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contextbias.bench.bank import Bank, Context


@dataclass(frozen=True, slots=True)
class Fault:
    """One breach of one rule."""

    rule: str
    """Short name of the rule, as the documentation lists it."""
    message: str
    """What is wrong and the words seen, one sentence without a final stop."""
    line: int
    """Line of the bank's file, counted from 1."""
    path: str
    """The bank's file."""

    def __str__(self) -> str:
        """``file:line: rule: message``."""
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One context of a bank with where it stands."""

    context: Context
    """The place or the activity."""
    role: int | None
    """Index of the role that it belongs to; None in the everyday pool."""
    line: int
    """Line of the bank's file."""

    def fault(self, bank: Bank, rule: str, message: str) -> Fault:
        """A fault of this entry."""
        return Fault(rule, message, self.line, bank.source.path)


def entries(bank: Bank) -> Iterator[Entry]:
    """Every context of a bank: the everyday pool, then role by role."""
    for context in bank.everyday:
        yield Entry(context, None, bank.source.line(value=context.text))
    for index, role in enumerate(bank.roles):
        for context in role.related:
            yield Entry(context, index, bank.source.role(index, context.text))
