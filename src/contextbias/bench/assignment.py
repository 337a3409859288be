"""Which everyday contexts stand for *unrelated* to a role.

Every role gets two places and two activities from the shared pool, none of which belongs to its own
work, both activities plausible at the first place. The choice is greedy in the order of the bank:
least used first, ties broken by a hash of seed, role and context. So every context is used about
equally often, the outcome is the same on every machine, and a role added at the end of a bank
leaves the contexts of all others as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from contextbias.bench.bank import Activity, Bank, Context, Phrase, Place, Role
from contextbias.bench.contexts import Contexts
from contextbias.errors import BankError
from contextbias.ids import content_hash


@dataclass(slots=True)
class _Uses:
    bases: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)
    activities: Counter[str] = field(default_factory=Counter)

    def add(self, place: Place, other: Place, activities: Sequence[Activity]) -> None:
        self.bases[place.name] += 1
        self.places.update((place.name, other.name))
        self.activities.update(activity.name for activity in activities)


def is_unrelated(role: Role, context: Context) -> bool:
    """True when `context` shares no tag with the role's work and is not on its list to avoid."""
    tags = () if isinstance(context, Phrase) else context.tags
    return context.name not in role.avoid and role.work.isdisjoint(tags)


def assign_unrelated(bank: Bank) -> Mapping[str, Contexts]:
    """Assign everyday contexts to all roles of a bank.

    Returns:
        Role name -> contexts, for every role: also when prompts of a few roles only are wanted, so
        that a subset has the same prompts as the whole. The forms of one role share them.

    Raises:
        BankError: Too few everyday contexts are left for a role.
    """
    uses = _Uses()
    chosen = {role.entry: _choose(bank, role, uses) for role in bank.entries}
    return {role.name: chosen[role.entry] for role in bank.roles}


def _choose(bank: Bank, role: Role, uses: _Uses) -> Contexts:
    places = [place for place in bank.places if is_unrelated(role, place)]
    fitting = {place.name: _activities(bank, role, place, uses) for place in places}
    bases = [place for place in places if len(fitting[place.name]) >= 2]
    if not bases or len(places) < 2:
        where = bank.source.at(bank.source.role(role.entry))
        raise BankError(
            f"{where}: no everyday place with two activities is left for {role.stem!r}",
            "add everyday contexts, or take tags out of its work",
        )

    def base_key(place: Place) -> tuple[int, int, int, str]:
        first, second = fitting[place.name][:2]
        crowd = uses.activities[first.name] + uses.activities[second.name]
        tie = content_hash([bank.seed, role.stem, place.name])
        return uses.bases[place.name], uses.places[place.name], crowd, tie

    base = min(bases, key=base_key)
    others = [place for place in places if place is not base]
    other = min(
        others,
        key=lambda p: (uses.places[p.name], content_hash([bank.seed, role.stem, p.name, "other"])),
    )
    first, second = fitting[base.name][:2]
    uses.add(base, other, (first, second))
    return Contexts(base, first, other, second)


def _activities(bank: Bank, role: Role, place: Place, uses: _Uses) -> Sequence[Activity]:
    """Everyday activities for a place, least used first."""
    found = [a for a in bank.activities if place.name in a.at and is_unrelated(role, a)]
    return sorted(
        found,
        key=lambda a: (uses.activities[a.name], content_hash([bank.seed, role.stem, a.name])),
    )
