"""From answers to candidates, with the faults that code can find: the rules of bench/check.py."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from contextbias.bench.bank import Activity, Bank, Context, Phrase, Place, Role, Source
from contextbias.bench.builder.candidate import (
    ACTIVITY,
    AXIS,
    CONTEXTS,
    EVERYDAY_ACTIVITY,
    EVERYDAY_PLACE,
    FORM,
    FORMULA,
    PLACE,
    SOC,
    WORK,
    Candidate,
)
from contextbias.bench.builder.roles import WantedRole
from contextbias.bench.builder.subject import Subject
from contextbias.bench.check import soc_major_groups
from contextbias.bench.fault import Entry
from contextbias.bench.language import content_words, indefinite_article, words_of
from contextbias.bench.reading import split_place
from contextbias.bench.wording import WORDING_RULES
from contextbias.schema import DIMENSIONS

_THINGS = ("items",)


def role_candidates(subject: Subject, role: WantedRole, value: Any) -> list[Candidate]:
    """Candidates of one role; `value` is None where the model gave no usable answer."""
    found = [*_given(role)]
    if value is not None:
        if not role.form:
            found += [
                Candidate(kind=FORM, role=role.name, text=_plain(form["text"]),
                          at=(form["gender"],) if form["gender"] else ())
                for form in value["forms"]
            ]  # fmt: skip
        if not role.soc and _plain(value["soc"]):
            found.append(Candidate(kind=SOC, role=role.name, text=_plain(value["soc"])))
        found += [Candidate(kind=WORK, role=role.name, text=_plain(tag)) for tag in value["work"]]
        found += [Candidate(kind=PLACE, role=role.name, text=_plain(p)) for p in value["places"]]
        found += [_activity(subject, ACTIVITY, each, role.name) for each in value["activities"]]
    return found


def pool_candidates(subject: Subject, value: Any) -> list[Candidate]:
    """Candidates of one theme of the everyday pool."""
    if value is None:
        return []
    places = [
        Candidate(kind=EVERYDAY_PLACE, text=_plain(each["text"]), tags=_tags(subject, each))
        for each in value["places"]
    ]
    return places + [
        _activity(subject, EVERYDAY_ACTIVITY, each, "") for each in value["activities"]
    ]


def axis_candidates(axis: str, value: Any) -> list[Candidate]:
    """Candidates of one axis."""
    if value is None:
        return []
    names = tuple(name for name in DIMENSIONS if name in value["names"])
    return [
        Candidate(kind=AXIS, text=_plain(text), at=(axis,), names=names) for text in value["values"]
    ]


def sifted(subject: Subject, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Find the faults of every candidate, duplicates included; none is dropped.

    Args:
        subject: What is asked for.
        candidates: In the order of the review: of two alike the first is kept.

    Returns:
        The same, with `Candidate.faults`. Texts that are nothing at all are left out.
    """
    bank = _scratch_bank(subject)
    seen: dict[tuple[str, str, str], list[tuple[str, frozenset[str]]]] = {}
    found = []
    for each in candidates:
        if not each.text:
            continue
        faults = list(_faults(subject, bank, each))
        group = seen.setdefault((each.role, each.kind, each.at[0] if each.at else ""), [])
        if each.kind in (PLACE, ACTIVITY, EVERYDAY_PLACE, EVERYDAY_ACTIVITY):
            group = seen.setdefault((each.role, each.kind, ""), [])
        words = content_words(subject.language, each.text)
        twin = next((t for t, w in group if t == each.text or (words and w == words)), None)
        if twin is not None:
            faults.append(f"duplicate: like {twin!r}")
        group.append((each.text, words))
        found.append(replace(each, faults=tuple(faults)))
    return [_without_lost_places(subject, each, found) for each in found]


def _without_lost_places(
    subject: Subject, each: Candidate, found: Sequence[Candidate]
) -> Candidate:
    """An activity needs a place that can be kept."""
    kinds = {ACTIVITY: PLACE, EVERYDAY_ACTIVITY: EVERYDAY_PLACE}
    if each.kind not in kinds or each.faults:
        return each
    names = {
        place_name(subject, other.text)
        for other in found
        if other.kind == kinds[each.kind] and other.role == each.role and not other.faults
    }
    if each.kind == ACTIVITY and not each.at:
        return each
    at = tuple(name for name in each.at if name in names)
    return replace(each, at=at, faults=() if at else ("place: at none of the places",))


def place_name(subject: Subject, text: str) -> str:
    """A place without preposition and article; the text itself where it has none."""
    parts = split_place(subject.language, text)
    return text if parts is None else parts[2]


def _given(role: WantedRole) -> Iterator[Candidate]:
    if role.form:
        yield Candidate(kind=FORM, role=role.name, text=role.form, reason="from the list of roles")
    if role.soc:
        yield Candidate(kind=SOC, role=role.name, text=role.soc, reason="from the list of roles")


def _activity(subject: Subject, kind: str, each: dict[str, Any], role: str) -> Candidate:
    return Candidate(
        kind=kind,
        role=role,
        text=_plain(each["text"]),
        # Models repeat preposition and article, whatever they are told.
        at=tuple(dict.fromkeys(place_name(subject, _plain(at)) for at in each["at"] if _plain(at))),
        tags=_tags(subject, each) if "tags" in each else (),
        names=_THINGS if each["names_a_visible_thing"] else (),
    )


def _tags(subject: Subject, each: dict[str, Any]) -> tuple[str, ...]:
    return tuple(tag for tag in subject.example.tags if tag in each["tags"])


def _plain(text: str) -> str:
    """One line, composed (NFC), without a stop at its end; nothing where it names nothing."""
    line = unicodedata.normalize("NFC", " ".join(text.split())).rstrip(".;,").lstrip(FORMULA + " ")
    return line if line.isprintable() and any(letter.isalnum() for letter in line) else ""


def _faults(subject: Subject, bank: Bank, each: Candidate) -> Iterator[str]:
    if each.kind == WORK and each.text not in subject.example.tags:
        yield f"tag: {each.text!r} is no kind of work of the bank"
    if each.kind == SOC and each.text not in soc_major_groups():
        yield f"soc: {each.text!r} is no major group of SOC 2018"
    if each.kind == FORM:
        yield from _form_faults(subject, each)
    if each.kind in CONTEXTS:
        context = _context(subject, each)
        if context is None:
            prepositions = ", ".join(sorted(subject.language.prepositions))
            yield f"place: does not begin with one of {prepositions}"
            return
        entry = Entry(context, None, 1)
        for rule in WORDING_RULES:
            for fault in rule(bank, entry):
                yield f"{fault.rule}: {fault.message}"


def _form_faults(subject: Subject, each: Candidate) -> Iterator[str]:
    language = subject.language
    if any(gender not in language.form_names for gender in each.at):
        yield f"form: {language.name} has no forms by gender here"
    first, _, rest = each.text.partition(" ")
    if first in language.articles and not rest:
        yield "form: an article alone"
    elif first not in language.articles and not words_of(each.text):
        yield "form: no word"
    elif first not in language.articles and indefinite_article(language, each.text) is None:
        yield "form: its article is not known; write it before the form"


def _context(subject: Subject, each: Candidate) -> Context | None:
    if each.kind == AXIS:
        return Phrase(each.text)
    if each.kind in (ACTIVITY, EVERYDAY_ACTIVITY):
        return Activity(each.text, each.at, each.names, each.tags) if words_of(each.text) else None
    parts = split_place(subject.language, each.text)
    return None if parts is None else Place(each.text, *parts, each.tags)


def _scratch_bank(subject: Subject) -> Bank:
    """What the rules need of a bank: its language and the names of its roles."""
    return Bank(
        name="candidates", version="0", licence="", seed=0, language=subject.language,
        phrasings=subject.phrasings, further_phrasings=(), tags={}, places=(), activities=(),
        axes=(), roles=tuple(_roles(subject.roles)), source=Source("candidates", ""),
    )  # fmt: skip


def _roles(wanted: Iterable[WantedRole]) -> Iterator[Role]:
    for number, role in enumerate(wanted):
        form = role.form or role.name
        yield Role(role.name, form, "", None, (), (), entry=number)
