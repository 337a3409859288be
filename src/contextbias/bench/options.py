"""What may be asked of a bank beside roles: another kind of unrelated, balance, phrasings, axes.

Every option changes the label that its prompts carry (``contextbench 1 (deranged)``), so that
results of two options are never taken for results of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from contextbias.bench.bank import Axis, Bank
from contextbias.errors import BankError, nearest
from contextbias.ids import content_hash

_HASH_LENGTH = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """How prompts are built from a bank; the defaults are the paper's 18 a role."""

    unrelated: Literal["everyday", "deranged"] = "everyday"
    """``everyday``: contexts from the bank's pool. ``deranged``: the related contexts of another
    role (see ``derangement.py``)."""
    balanced: bool = False
    """The same number of prompts in each condition."""
    phrasings: tuple[str, ...] = ()
    """Beginnings of a sentence instead of the bank's own, the base one first; empty: the bank's."""
    axes: tuple[str, ...] = ()
    """Axes of the bank that vary beside place and activity, by name."""

    def label(self, bank: Bank) -> str:
        """The bank's label, and in brackets what differs from its defaults."""
        parts: list[str] = [self.unrelated] if self.unrelated != "everyday" else []
        parts += ["balanced"] if self.balanced else []
        if self.phrasings and self.phrasings != bank.phrasings:
            parts.append(f"phrasings {content_hash(list(self.phrasings), length=_HASH_LENGTH)}")
        parts += [axis.name for axis in self.axes_of(bank)]
        return f"{bank.label} ({', '.join(parts)})" if parts else bank.label

    def phrasings_of(self, bank: Bank) -> tuple[str, ...]:
        """The phrasings of every base prompt.

        Raises:
            BankError: One of them is there twice, is empty, has stray spaces or ends in an article.
        """
        asked = self.phrasings
        for phrasing in asked:
            if asked.count(phrasing) > 1 or phrasing != " ".join(phrasing.split()) or not phrasing:
                raise BankError(
                    f"the phrasing {phrasing!r} is there twice, is empty or has stray spaces",
                    f"write each one once, such as {bank.phrasings[0]!r}",
                )
            first, _, last = phrasing.rpartition(" ")
            if first and last.lower() in (*bank.language.articles, "an"):
                raise BankError(
                    f"the phrasing {phrasing!r} ends in an article, and the role brings its own",
                    f"write {first!r}",
                )
        return asked or bank.phrasings

    def context_free_phrasings(self, bank: Bank) -> tuple[str, ...]:
        """The phrasings of the context-free prompt.

        As many as there are prompts in each of the other conditions when ``balanced``: two bases in
        every phrasing and two substitutions. What is missing is taken from the bank.

        Raises:
            BankError: The bank has too few.
        """
        asked = self.phrasings_of(bank)
        if not self.balanced:
            return asked
        count = 2 * len(asked) + 2
        known = tuple(dict.fromkeys((*asked, *bank.phrasings, *bank.further_phrasings)))
        if len(known) < count:
            raise BankError(
                f"balanced conditions need {count} phrasings of the context-free prompt, and "
                f"{bank.label} has {len(known)}",
                "add some to further_phrasings in its [bank] table",
            )
        return known[:count]

    def axes_of(self, bank: Bank) -> tuple[Axis, ...]:
        """The axes that are asked for, in the bank's order.

        Raises:
            BankError: The bank has no axis of that name.
        """
        known = [axis.name for axis in bank.axes]
        for name in self.axes:
            if name not in known:
                raise BankError(f"{bank.label} has no axis {name!r}", _known(name, known))
        return tuple(axis for axis in bank.axes if axis.name in self.axes)


def _known(name: str, known: Sequence[str]) -> str:
    if not known:
        return "add [[axes]] with a name and values to the bank"
    return nearest(name, list(known)) or f"known are {', '.join(known)}"
