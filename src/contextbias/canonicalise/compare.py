"""Two mappings side by side: which terms are counted under another label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contextbias.canonicalise.mapping import LabelMapping


@dataclass(frozen=True, slots=True)
class Change:
    """A term whose label differs."""

    dimension: str
    """Its dimension."""
    term: str
    """The surface form."""
    before: str | None
    """Its label in the first mapping; None where that does not list the term."""
    after: str | None
    """Its label in the second one; None likewise."""


def changes(before: LabelMapping, after: LabelMapping) -> Iterator[Change]:
    """Terms that two mappings do not treat alike, sorted by dimension and term.

    A term that only one of them lists is a change, also where its label is its own spelling.
    """
    for name in sorted({*before.labels, *after.labels}):
        first, second = before.labels.get(name, {}), after.labels.get(name, {})
        for term in sorted({*first, *second}):
            if first.get(term) != second.get(term):
                yield Change(name, term, first.get(term), second.get(term))
