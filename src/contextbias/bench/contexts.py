"""The contexts of one role in one condition, whether related or not."""

from __future__ import annotations

from dataclasses import dataclass

from contextbias.bench.bank import Activity, Place, Role


@dataclass(frozen=True, slots=True)
class Contexts:
    """What the prompts of one role in one condition say beside the role."""

    place: Place
    """Place of the two base prompts."""
    activity: Activity
    """Activity of the base prompt that names one; plausible at `place`."""
    other_place: Place
    """Substitute for `place`."""
    other_activity: Activity | None
    """Substitute for `activity`; plausible at `place`. None: there is none, and `third_place`
    is substituted once more."""
    third_place: Place | None = None
    """Second substitute for `place`, where there is no other activity."""


def related_contexts(role: Role) -> Contexts:
    """The contexts that belong to a role.

    The substitute for the base activity is the next one that fits the base place; a role without
    one gets its third place instead, and with two places only it has neither.
    """
    place, other_place, *further = role.places
    others = [a for a in role.activities if place.name in a.at and a != role.activity]
    third = further[0] if further and not others else None
    return Contexts(place, role.activity, other_place, others[0] if others else None, third)
