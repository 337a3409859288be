"""What a card's headline may say: the leading number about people, and what it rests on.

The leading number is a difference of conditions (CA-U - CF, where there is one; see leading.py) of
``bi_role`` of the people cohort, and no other: a number about scenes says nothing about people, and
one at raw support mixes the change with the number of images. Where it is missing, the card says so
and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from contextbias.report import formats
from contextbias.report.leading import DEFAULT, Leading
from contextbias.report.missing import Answers, answers_read
from contextbias.report.select import Index, Number

FEWEST_ROLES = 5
"""Below, resampling roles says nothing about other roles, and no direction is claimed."""

LEAST_READ = 0.5
"""Below this share of answers read, the card warns."""

_COHORT = "people"
_ONE_ROLE = "on one role"
"""In the note of a number of which some dimension rests on a single role."""
_ONE_LABEL = "with one label only"
"""Ends the part of a note about dimensions that cannot change."""


@dataclass(frozen=True, slots=True)
class Basis:
    """The leading number of one generator and what stands behind it."""

    generator: str
    lead: Number | None
    """None when people cannot be compared."""
    roles: int
    """The most roles that a dimension of people is averaged over."""
    answers: dict[str, Answers]
    """Answers about people by condition, of the dimensions that the reader can read."""
    level: str
    """Level of the interval, such as ``95%``."""
    bootstrap: int
    """Resamples that were asked for."""
    leading: Leading = DEFAULT
    """The contrast of the leading number."""
    within_roles: bool = True
    """False when nothing was estimated within roles, as in preset ``reference``."""


def basis_of(
    frame: pl.DataFrame,
    numbers: Index,
    generator: str,
    alpha: float,
    bootstrap: int,
    leading: Leading = DEFAULT,
) -> Basis:
    """Collect the basis of one generator's headline.

    Args:
        frame: Estimates of one reader.
        numbers: ``bi_role`` of that reader by BI_KEYS.
        generator: Which generator.
        alpha: Intervals have the level 1 - alpha.
        bootstrap: Resamples that were asked for.
        leading: The contrast.
    """
    lead = numbers.get((generator, None, leading.contrast, _COHORT, None))
    roles = [
        number.n or 0
        for (who, _, contrast, cohort, dimension), number in numbers.items()
        if (who, contrast, cohort) == (generator, leading.contrast, _COHORT)
        and dimension is not None
        and number.point is not None
    ]
    return Basis(
        generator=generator,
        lead=lead if lead is not None and lead.point is not None else None,
        roles=max(roles, default=0),
        answers=answers_read(frame, generator, _COHORT),
        level=formats.level(alpha),
        bootstrap=bootstrap,
        leading=leading,
        within_roles=bool(numbers),
    )


def outcome(basis: Basis) -> str:
    """What may be claimed about people.

    ``pooled_only``: nothing, no number is within roles. ``no_people``: nothing, there is no number.
    ``few``: nothing, too few roles stand behind it. ``no_interval``: nothing, its precision is
    unknown. ``changed``: the interval lies on one side of 0. ``same``: it includes 0.
    """
    if basis.lead is None:
        return "no_people" if basis.within_roles else "pooled_only"
    if basis.roles < FEWEST_ROLES:
        return "few"
    if _interval(basis) == "":
        return "no_interval"
    return "changed" if _side(basis.lead) else "same"


def headline(basis: Basis) -> str:
    """The finding in one line; a direction only with an interval on one side of 0."""
    found = outcome(basis)
    if found == "changed" and basis.lead is not None:
        way = "uniformly" if _side(basis.lead) > 0 else "variously"
        return f"People are presented more {way} {basis.leading.scenes}"
    return {
        "same": "No change found in how uniformly people are presented",
        "few": f"Too few roles ({basis.roles}) to say whether people are presented differently",
        "no_interval": "No interval: whether people are presented differently cannot be said",
        "no_people": "Nothing can be said about how people are presented",
        "pooled_only": "Nothing can be said about changes within a role",
    }[found]


def sentence(basis: Basis) -> str:
    """The leading number in words, with its interval."""
    found, leading = outcome(basis), basis.leading
    if found == "pooled_only":
        return (
            "Labels were only pooled over roles. Such a number moves when roles become more alike, "
            "and when each of them becomes more uniform; it does not tell these apart."
        )
    if basis.lead is None:
        return f"Attributes of people could not be compared: {_why_not(basis)}."
    gap = f"{formats.signed(basis.lead.point)} {_interval(basis)}".strip()
    if found == "changed":
        way = "more" if _side(basis.lead) > 0 else "less"
        return (
            f"Within a role, labels about people are {way} concentrated {leading.against}: "
            f"Bias Intensity differs by {gap}."
        )
    start = (
        f"Within a role, Bias Intensity of labels about people differs by {gap} {leading.between}."
    )
    if found == "same":
        return f"{start} The interval includes 0, which is not evidence that nothing changes."
    if found == "few":
        return f"{start} Roles differ, and so few of them do not tell what others would show."
    return f"{start} Without an interval it is not known how much of that is chance."


def support(basis: Basis) -> tuple[str, ...]:
    """What the leading number rests on: resampled roles, and the answers that were read."""
    asked = sum(found.asked for found in basis.answers.values())
    if basis.lead is None:
        return (f"{_missing(basis, asked)}.",) if asked and basis.within_roles else ()
    if _interval(basis):
        parts = [f"{basis.level} interval from resampling {_roles(basis.roles)}"]
    elif basis.bootstrap == 0:
        parts = [f"No interval, since no resampling was asked for; {_roles(basis.roles)}"]
    elif basis.roles < 2:
        parts = ["No interval: with one role there is nothing to resample"]
    else:
        parts = [f"No interval could be computed; {_roles(basis.roles)}"]
    if asked:
        read = sum(found.read for found in basis.answers.values())
        shares = _by_condition({c: found.share for c, found in basis.answers.items()})
        parts.append(
            f"{formats.whole(read)} of {formats.whole(asked)} answers about people were read "
            f"({shares})"
        )
    rests = [f"{'; '.join(parts)}."]
    parts = basis.lead.note.split("; ") if basis.lead.note else []
    fixed = [part for part in parts if part.endswith(_ONE_LABEL)]
    lacking = "; ".join(part for part in parts if part not in fixed)
    if lacking:
        rests.append(
            f"It does not rest on all roles and dimensions: {lacking}. So the number need "
            "not be the difference of the two levels in the figures."
        )
    if fixed:
        rests.append(f"Part of it is the same in every condition: {'; '.join(fixed)}.")
    return tuple(rests)


def warnings(basis: Basis) -> tuple[str, ...]:
    """Why the number is weak, beside the roles that the headline names."""
    if basis.lead is None:
        return ()
    parts = []
    poor = {
        c: found.share for c, found in basis.answers.items() if round(found.share, 2) < LEAST_READ
    }
    if poor:
        parts.append(
            f"Less than half of the answers about people was read ({_by_condition(poor)}). The "
            "number is about the pictures that could be read; the others may differ."
        )
    if _ONE_ROLE in (basis.lead.note or ""):
        parts.append(
            "Part of the number rests on a single role, which moves it and adds no width to the "
            f"interval ({basis.lead.note})."
        )
    return tuple(parts)


def _side(number: Number) -> int:
    """Return 1 or -1 when the interval lies above or below 0, else 0."""
    if number.low is None or number.high is None:
        return 0
    return (number.low > 0) - (number.high < 0)


def _interval(basis: Basis) -> str:
    lead = basis.lead
    return "" if lead is None else formats.interval(lead.low, lead.high, sign=True)


def _why_not(basis: Basis) -> str:
    if not any(found.asked for found in basis.answers.values()):
        return "the reader reads no attribute of people"
    empty = [condition for condition, found in basis.answers.items() if not found.read]
    if empty:
        return f"no answer about them was read in {formats.listed(empty)}"
    return "no attribute of people was read in every condition for the same role"


def _missing(basis: Basis, asked: int) -> str:
    gone = asked - sum(found.read for found in basis.answers.values())
    shares = _by_condition({c: 1 - found.share for c, found in basis.answers.items()})
    return (
        f"{formats.whole(gone)} of {formats.whole(asked)} answers about people are missing "
        f"({shares})"
    )


def _by_condition(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {formats.coarse_percent(share)}" for name, share in shares.items())


def _roles(number: int) -> str:
    return f"{formats.whole(number)} role{'' if number == 1 else 's'}"
