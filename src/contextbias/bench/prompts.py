"""ContextBench's sentences: 18 a role.

Five base prompts (context-free; related place; related activity at that place; the same two with
unrelated contexts), each in three phrasings, and three substitutions: another related place,
another unrelated place, another unrelated activity. That is CF 3, CA-R 7, CA-U 8.

A substituted place stands in the prompt without an activity, so that no activity lands at a place
where it makes no sense; a substituted activity stands at the base place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contextbias.bench.assignment import Unrelated, assign_unrelated
from contextbias.bench.bank import Activity, Bank, Place, Role
from contextbias.bench.language import indefinite_article
from contextbias.errors import BankError, nearest
from contextbias.ids import content_hash
from contextbias.tables import Prompt

PROMPTS_PER_ROLE = {"CF": 3, "CA-R": 7, "CA-U": 8}
"""How many prompts a role has in each condition."""


@dataclass(frozen=True, slots=True)
class _Context:
    base: str
    variant: str
    place: Place | None
    activity: Activity | None

    @property
    def condition(self) -> str:
        return {"cf": "CF", "rel": "CA-R", "unrel": "CA-U"}[self.base.split("-")[0]]


def build_prompts(bank: Bank, roles: Sequence[str] | None = None) -> tuple[Prompt, ...]:
    """Build the prompts of some or all roles of a bank.

    Args:
        bank: From `load_bank`.
        roles: Names of roles, in any order and letter case; None: all. The prompts of a role do not
            depend on which others are asked for.

    Returns:
        18 prompts a role: roles in the bank's order, then conditions and bases, then variants.

    Raises:
        BankError: A role is not in the bank, no role is asked for, or too few everyday contexts are
            left for one.
    """
    wanted = _select(bank, roles)
    unrelated = assign_unrelated(bank)
    return tuple(
        _prompt(bank, role, context, phrasing)
        for role in wanted
        for context, phrasing in _sentences(bank, role, unrelated[role.name])
    )


def _select(bank: Bank, roles: Sequence[str] | None) -> tuple[Role, ...]:
    if roles is None:
        return bank.roles
    asked = {_key(name) for name in roles}
    known = {_key(role.name): role for role in bank.roles}
    for name in roles:
        if _key(name) not in known:
            hint = nearest(_key(name), list(known))
            listing = "`contextbias prompts --list` lists all roles"
            raise BankError(
                f"there is no role {name!r} in {bank.label}",
                f"{hint}; {listing}" if hint else listing,
            )
    if not asked:
        raise BankError("no role is asked for", "`contextbias prompts --list` lists all roles")
    return tuple(role for key, role in known.items() if key in asked)


def _key(name: str) -> str:
    return " ".join(name.replace("_", " ").split()).casefold()


def _sentences(bank: Bank, role: Role, unrelated: Unrelated) -> Iterator[tuple[_Context, str]]:
    """Every context of a role with the phrasing that it is put in."""
    place, other_place, *_ = role.places
    first = bank.phrasings[0]
    for number, phrasing in enumerate(bank.phrasings, 1):
        yield _Context("cf", f"phrasing-{number}", None, None), phrasing
    for number, phrasing in enumerate(bank.phrasings, 1):
        yield _Context("rel-place", f"phrasing-{number}", place, None), phrasing
    yield _Context("rel-place", "substitute-location", other_place, None), first
    for number, phrasing in enumerate(bank.phrasings, 1):
        yield _Context("rel-activity", f"phrasing-{number}", place, role.activity), phrasing
    yield from _unrelated_sentences(bank, unrelated)


def _unrelated_sentences(bank: Bank, unrelated: Unrelated) -> Iterator[tuple[_Context, str]]:
    place, activity = unrelated.place, unrelated.activity
    first = bank.phrasings[0]
    for number, phrasing in enumerate(bank.phrasings, 1):
        yield _Context("unrel-place", f"phrasing-{number}", place, None), phrasing
    yield _Context("unrel-place", "substitute-location", unrelated.other_place, None), first
    for number, phrasing in enumerate(bank.phrasings, 1):
        yield _Context("unrel-activity", f"phrasing-{number}", place, activity), phrasing
    other = unrelated.other_activity
    yield _Context("unrel-activity", "substitute-activity", place, other), first


def _prompt(bank: Bank, role: Role, context: _Context, phrasing: str) -> Prompt:
    place, activity = context.place, context.activity
    parts = [phrasing, indefinite_article(bank.language, role.form), role.form]
    parts += [part.text for part in (activity, place) if part is not None]
    text = " ".join(parts)
    return Prompt(
        prompt_id=content_hash({"role": role.name, "condition": context.condition, "text": text}),
        role=role.name,
        condition=context.condition,
        base=context.base,
        variant=context.variant,
        location=place.name if place else None,
        activity=activity.text if activity else None,
        text=text,
        prompted=tuple(dict.fromkeys(("activities", *activity.names))) if activity else (),
        bank=bank.label,
    )
