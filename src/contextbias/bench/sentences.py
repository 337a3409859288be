"""Which contexts a role is put in, and how the variants of a base prompt are called.

Five bases: context-free; related place; related activity at that place; the same two unrelated.
Each stands in every phrasing. Then come substitutions of one context, and, if asked for, the values
of further axes.

A substituted place stands in the prompt without an activity, so that no activity lands at a place
where it makes no sense; a substituted activity stands at the base place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contextbias.bench.bank import Activity, Axis, Bank, Phrase, Place, Role
from contextbias.bench.contexts import Contexts, related_contexts
from contextbias.bench.language import words_of
from contextbias.bench.options import BenchOptions
from contextbias.errors import BankError


@dataclass(frozen=True, slots=True)
class Sentence:
    """What one prompt says, before it is put into words."""

    condition: str
    """``CF``, ``CA-R`` or ``CA-U``."""
    base: str
    """Which base prompt."""
    variant: str
    """Which variant of it."""
    phrasing: str
    """Its beginning."""
    place: Place | None = None
    """Where."""
    activity: Activity | None = None
    """Doing what."""
    axis: Axis | None = None
    """Which further axis it is a value of."""
    value: Phrase | None = None
    """The value."""


def sentences_of(
    bank: Bank, role: Role, unrelated: Contexts, options: BenchOptions
) -> Iterator[Sentence]:
    """Yield every sentence of a role: conditions in order, in each the bases, then the axes.

    Raises:
        BankError: The options ask for something that the bank or the role has not.
    """
    free = options.context_free_phrasings(bank)
    yield from _phrasings("CF", "cf", free, None, None)
    yield from _axes(bank, options, "CF", "cf", None)
    related = related_contexts(role)
    if options.balanced and related.other_activity is None and related.third_place is None:
        where = bank.source.at(bank.source.role(role.entry))
        raise BankError(
            f"{where}: {role.stem!r} has too few related contexts for balanced conditions",
            "give it a third place, or a second activity that fits its first place",
        )
    yield from _in_context(bank, options, "CA-R", related, eighth=options.balanced)
    yield from _in_context(bank, options, "CA-U", unrelated, eighth=True)


def _in_context(
    bank: Bank, options: BenchOptions, condition: str, contexts: Contexts, *, eighth: bool
) -> Iterator[Sentence]:
    """The sentences of a condition with contexts.

    Args:
        bank: The bank.
        options: What is asked of it.
        condition: ``CA-R`` or ``CA-U``.
        contexts: What the sentences name.
        eighth: With a second substitution, of the activity where there is another one.
    """
    kind = {"CA-R": "rel", "CA-U": "unrel"}[condition]
    at_place, doing = f"{kind}-place", f"{kind}-activity"
    phrasings = options.phrasings_of(bank)
    place, activity, first = contexts.place, contexts.activity, phrasings[0]
    yield from _phrasings(condition, at_place, phrasings, place, None)
    other = contexts.other_place
    yield Sentence(condition, at_place, "substitute-location", first, other)
    third = contexts.third_place
    if eighth and third is not None:
        yield Sentence(condition, at_place, "substitute-location-2", first, third)
    yield from _phrasings(condition, doing, phrasings, place, activity)
    substitute = contexts.other_activity
    if eighth and substitute is not None:
        yield Sentence(condition, doing, "substitute-activity", first, place, substitute)
    yield from _axes(bank, options, condition, at_place, place)


def _phrasings(
    condition: str,
    base: str,
    phrasings: Sequence[str],
    place: Place | None,
    activity: Activity | None,
) -> Iterator[Sentence]:
    for number, phrasing in enumerate(phrasings, 1):
        yield Sentence(condition, base, f"phrasing-{number}", phrasing, place, activity)


def _axes(
    bank: Bank, options: BenchOptions, condition: str, base: str, place: Place | None
) -> Iterator[Sentence]:
    """A base prompt with every value of every axis; the same number in each condition."""
    first = options.phrasings_of(bank)[0]
    for axis in options.axes_of(bank):
        for value in axis.values:
            variant = "-".join((axis.name, *words_of(value.text)))
            yield Sentence(condition, base, variant, first, place, None, axis, value)
