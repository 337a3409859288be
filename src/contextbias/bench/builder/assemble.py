"""From a review to a bank: what a person kept, in the form that `load_bank` reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from contextbias.bench.bank import Axis, Bank, Role
from contextbias.bench.builder import judge, propose
from contextbias.bench.builder.candidate import (
    ACTIVITY,
    ALLOW,
    AXIS,
    EVERYDAY_ACTIVITY,
    EVERYDAY_PLACE,
    FORM,
    PLACE,
    SOC,
    WORK,
    Candidate,
)
from contextbias.bench.builder.review import Reviewed
from contextbias.bench.builder.sift import place_name
from contextbias.bench.builder.subject import Subject
from contextbias.bench.check import RELATED_MINIMUM, overlaps
from contextbias.bench.reading import parse_bank
from contextbias.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What a bank says about itself."""

    name: str
    """Its name, in the label of its prompts."""
    reviewer: str
    """Who decided what is kept."""
    licence: str = "not stated"
    """SPDX identifier, or words."""
    version: str = "1"
    """Its version."""
    seed: int = 0
    """Decides how everyday contexts are assigned."""


def bank_text(subject: Subject, reviewed: Sequence[Reviewed], head: Head, *, path: str) -> str:
    """The bank's file.

    Contexts of the everyday pool that share a word with a role's own ones, and no tag with its
    work, are put on its list to avoid.

    Args:
        subject: What is asked for.
        reviewed: The lines of the review, in the order in which contexts are to stand: the first
            place of a role is its base.
        head: Name, licence, reviewer.
        path: Of the bank's file, for messages.

    Raises:
        InputError: A role has too few contexts that are kept.
        BankError: What was kept makes no bank; the message names the line of the bank.
    """
    kept = [each.candidate for each in reviewed if each.candidate.keep]
    _check_roles(subject, kept)
    first = _text(subject, kept, head, _provenance(subject, reviewed, head), {})
    bank = parse_bank(first, path)
    avoid = {role.stem: _avoided(bank, role) for role in bank.entries}
    return _text(subject, kept, head, _provenance(subject, reviewed, head), avoid)


def _avoided(bank: Bank, role: Role) -> list[str]:
    return list(dict.fromkeys(context.name for context, _ in overlaps(bank, role)))


def _check_roles(subject: Subject, kept: Sequence[Candidate]) -> None:
    known = {role.name for role in subject.roles}
    for each in kept:
        if each.role and each.role not in known:
            raise InputError(
                f"the review has the role {each.role!r}, which is not on the list of roles",
                "add it there, or take its lines out",
            )
    poor = []
    for role in subject.roles:
        for kind, what in ((PLACE, "places"), (ACTIVITY, "activities")):
            number = sum(each.role == role.name and each.kind == kind for each in kept)
            if number < RELATED_MINIMUM:
                poor.append(f"{role.name!r} has {number} {what}")
    if poor:
        more = f", and {len(poor) - 5} more" if len(poor) > 5 else ""
        raise InputError(
            f"too little is kept: {', '.join(poor[:5])}{more}",
            f"keep {RELATED_MINIMUM} or more of each, or add lines by hand",
        )


def _provenance(subject: Subject, reviewed: Sequence[Reviewed], head: Head) -> dict[str, str | int]:
    """Who proposed, judged and decided, with what, and when."""
    proposed = [each for each in reviewed if each.id]
    # Some table editors write dates in the manner of their country.
    found = (re.match(r"\d{4}-\d{2}-\d{2}", each.candidate.date) for each in proposed)
    dates = sorted(match[0] for match in found if match)
    return {
        "proposed_by": _names(each.candidate.model for each in proposed),
        "judged_by": _names(each.candidate.judge for each in proposed),
        "proposed": f"{dates[0]} to {dates[-1]}" if dates else "not known",
        "template_propose": propose.TEMPLATE,
        "template_judge": judge.TEMPLATE,
        "reviewed_by": head.reviewer,
        "reviewed": datetime.now(UTC).strftime("%Y-%m-%d"),
        "candidates": len(proposed),
        "kept": sum(each.candidate.keep for each in reviewed),
        "edited_by_hand": sum(each.is_edited for each in reviewed),
        "added_by_hand": len(reviewed) - len(proposed),
        "everyday_pool": "proposed" if subject.shipped is None else subject.shipped.label,
    }


def _names(models: Iterable[str]) -> str:
    return ", ".join(sorted({model for model in models if model})) or "nobody"


def _text(
    subject: Subject,
    kept: Sequence[Candidate],
    head: Head,
    provenance: Mapping[str, str | int],
    avoid: Mapping[str, Sequence[str]],
) -> str:
    parts = [
        "# Contexts proposed and judged by language models, checked by code, kept by a person: see "
        "[provenance].\n# The form is explained in docs/contextbench.md.",
        _table("bank", {
            "name": head.name, "version": head.version, "language": subject.language_name,
            "licence": head.licence, "seed": head.seed, "phrasings": list(subject.phrasings),
            **({"further_phrasings": list(subject.shipped.further_phrasings)}
               if subject.shipped is not None
               and subject.phrasings == subject.shipped.phrasings else {}),
        }),
        _table("provenance", provenance),
        _table("tags", subject.example.tags),
        _everyday(subject, kept),
        *_axes(subject, kept),
        *(_role(subject, role.name, kept, avoid.get(role.name, ())) for role in subject.roles),
    ]  # fmt: skip
    allowed = [each.text for each in kept if each.kind == ALLOW]
    allowed += subject.shipped.allowed if subject.shipped is not None else ()
    if allowed:
        parts.append(_table("checks", {"allow": allowed}))
    return "\n\n".join(parts) + "\n"


def _everyday(subject: Subject, kept: Sequence[Candidate]) -> str:
    if subject.shipped is not None:
        places = [_inline(text=p.text, tags=p.tags) for p in subject.shipped.places]
        activities = [
            _inline(text=a.text, at=a.at, names=a.names, tags=a.tags)
            for a in subject.shipped.activities
        ]
    else:
        mine = [each for each in kept if each.kind == EVERYDAY_PLACE]
        names = {place_name(subject, each.text) for each in mine}
        places = [_inline(text=each.text, tags=each.tags) for each in mine]
        activities = [
            _inline(text=each.text, at=at, names=each.names, tags=each.tags)
            for each in kept
            if each.kind == EVERYDAY_ACTIVITY and (at := [n for n in each.at if n in names])
        ]
    return f"[everyday]\nplaces = {_lines(places)}\nactivities = {_lines(activities)}"


def _axes(subject: Subject, kept: Sequence[Candidate]) -> Iterator[str]:
    axes = list(subject.known_axes)
    for name in subject.axes:
        values = [each for each in kept if each.kind == AXIS and each.at == (name,)]
        if not values:
            raise InputError(f"no value of the axis {name!r} is kept", "keep one, or leave it out")
        yield _table("[axes]", {
            "name": name, "values": [each.text for each in values],
            "names": sorted({dimension for each in values for dimension in each.names}),
        })  # fmt: skip
    for axis in axes:
        yield _table("[axes]", _of_axis(axis))


def _of_axis(axis: Axis) -> dict[str, object]:
    values = [value.text for value in axis.values]
    return {"name": axis.name, "values": values, "names": list(axis.names)}


def _role(subject: Subject, name: str, kept: Sequence[Candidate], avoid: Sequence[str]) -> str:
    mine = [each for each in kept if each.role == name]
    by_kind = {kind: [e for e in mine if e.kind == kind] for kind in {e.kind for e in mine}}
    places = by_kind.get(PLACE, [])
    table: dict[str, object] = {"name": name, **_forms(name, by_kind.get(FORM, []))}
    if by_kind.get(SOC):
        table["soc"] = by_kind[SOC][0].text
    for key, values in (("work", [e.text for e in by_kind.get(WORK, [])]), ("avoid", avoid)):
        if values:
            table[key] = list(values)
    names = [place_name(subject, place.text) for place in places]
    activities = [(e, [at for at in e.at if at in names]) for e in by_kind.get(ACTIVITY, [])]
    fitting = [(e, at) for e, at in activities if at or not e.at]
    table["places"] = [place.text for place in _base_first(places, names, fitting)]
    lines = [_inline(text=e.text, at=at, names=e.names) for e, at in fitting]
    return f"{_table('[roles]', table)}\nactivities = {_lines(lines)}"


def _base_first(
    places: list[Candidate], names: list[str], activities: list[tuple[Candidate, list[str]]]
) -> list[Candidate]:
    """The places, the first one that has an activity before the others."""
    has = [not activities or any(not at or name in at for _, at in activities) for name in names]
    base = has.index(True) if True in has else 0
    return [places[base], *places[:base], *places[base + 1 :]]


def _forms(name: str, forms: Sequence[Candidate]) -> dict[str, object]:
    by_gender = {each.at[0]: each.text for each in forms if each.at}
    if by_gender:
        return {"forms": by_gender}
    return {"form": forms[0].text} if forms and forms[0].text != name else {}


def _table(name: str, values: Mapping[str, object]) -> str:
    return "\n".join([f"[{name}]", *(f"{key} = {_value(each)}" for key, each in values.items())])


def _inline(**values: object) -> str:
    return _value({key: each for key, each in values.items() if each})


def _lines(items: Sequence[str]) -> str:
    return "\n".join(["[", *(f"  {item}," for item in items), "]"])


def _value(each: object) -> str:
    """A TOML value; its strings are those of JSON, where only DEL is written another way."""
    if isinstance(each, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(value)}" for key, value in each.items()) + " }"
    if isinstance(each, list | tuple):
        return "[" + ", ".join(_value(value) for value in each) + "]"
    if isinstance(each, int):
        return str(each)
    return json.dumps(str(each), ensure_ascii=False).replace("\x7f", "\\u007f")
