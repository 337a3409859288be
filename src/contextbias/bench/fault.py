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
    """The place, the activity or the value of an axis."""
    role: int | None
    """``[[roles]]`` that it belongs to, from 0; None in the everyday pool and in an axis."""
    line: int
    """Line of the bank's file."""

    def fault(self, bank: Bank, rule: str, message: str) -> Fault:
        """A fault of this entry."""
        return Fault(rule, message, self.line, bank.source.path)


def entries(bank: Bank) -> Iterator[Entry]:
    """Every context of a bank: the everyday pool, the axes, then role by role."""
    for context in bank.everyday:
        yield Entry(context, None, bank.source.line(value=context.text))
    for index, axis in enumerate(bank.axes):
        for value in axis.values:
            line = bank.source.line(table="axes", index=index, value=value.text)
            yield Entry(value, None, line)
    for role in bank.entries:
        for context in role.related:
            line = bank.source.role(role.entry, context.text)
            yield Entry(context, role.entry, line)
