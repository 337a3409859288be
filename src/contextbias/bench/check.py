"""Is a bank a good one? Every rule in code, every breach with its line.

`load_bank` refuses what cannot be built; these rules find what can be built and should not be used:
wording (``wording.py``), repetitions, too few contexts, unrelated contexts that are related after
all, and everyday contexts used unevenly.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files

from contextbias.bench.assignment import assign_unrelated, is_unrelated
from contextbias.bench.bank import Bank, Context, Role
from contextbias.bench.contexts import Contexts
from contextbias.bench.fault import Fault, entries
from contextbias.bench.language import content_words
from contextbias.bench.options import BenchOptions
from contextbias.bench.prompts import build_prompts
from contextbias.bench.wording import WORDING_RULES, without_allowed

RELATED_MINIMUM = 3
"""Related places, and related activities, that a role should have."""

POOL_MINIMUM = 30
"""Everyday places, and everyday activities, that a bank should have: with a small shared pool the
concentration pooled over roles rises from CA-R to CA-U by construction."""

SPREAD_MAXIMUM = 3
"""By how much the uses of two everyday contexts may differ, counted in roles."""


@cache
def soc_major_groups() -> dict[str, str]:
    """Code -> title of the major groups of the 2018 Standard Occupational Classification."""
    text = files("contextbias.bench").joinpath("data", "soc_2018.toml").read_text("utf-8")
    return dict(tomllib.loads(text)["major_groups"])


_DEFAULTS = BenchOptions()


def check_bank(bank: Bank, options: BenchOptions = _DEFAULTS) -> list[Fault]:
    """Check a bank against every rule.

    Args:
        bank: From `load_bank`.
        options: Its sentences are checked as these options build them.

    Returns:
        The faults, in the order of the file's lines; empty when there is none.

    Raises:
        BankError: Too few contexts are left for a role, so that no prompts can be built.
    """
    found = [
        fault for entry in entries(bank) for rule in WORDING_RULES for fault in rule(bank, entry)
    ]
    found += _same_sentences(bank, options)
    for check in (_repetitions, _sizes, _soc_groups, _overlaps, _uneven_uses, _unused_allowances):
        found += check(bank)
    return sorted(dict.fromkeys(found), key=lambda fault: (fault.line, fault.rule, fault.message))


def _repetitions(bank: Bank) -> Iterator[Fault]:
    """The same context twice in the pool or in one role."""
    seen: set[tuple[int | None, type, str]] = set()
    for entry in entries(bank):
        key = (entry.role, type(entry.context), entry.context.name)
        if key in seen:
            yield entry.fault(bank, "duplicate", f"{entry.context.name!r} is there twice")
        seen.add(key)


def _same_sentences(bank: Bank, options: BenchOptions) -> Iterator[Fault]:
    """Two prompts with the same words."""
    first: dict[str, str] = {}
    entry_of = {role.name: role.entry for role in bank.roles}
    for prompt in build_prompts(bank, None, options):
        name = f"{prompt.role} {prompt.condition} {prompt.base} {prompt.variant}"
        if prompt.text in first:
            line = bank.source.role(entry_of[prompt.role])
            message = f"{name!r} and {first[prompt.text]!r} are the same sentence, {prompt.text!r}"
            yield Fault("duplicate", message, line, bank.source.path)
        first.setdefault(prompt.text, name)


def _sizes(bank: Bank) -> Iterator[Fault]:
    """Too few related contexts of a role, or too small a pool."""
    line = bank.source.line(table="everyday")
    for what, contexts in (("places", bank.places), ("activities", bank.activities)):
        if len(contexts) < POOL_MINIMUM:
            message = f"{len(contexts)} everyday {what}, should be {POOL_MINIMUM} or more"
            yield Fault("pool", message, line, bank.source.path)
    for role in bank.entries:
        for what, related in (("places", role.places), ("activities", role.activities)):
            if len(related) < RELATED_MINIMUM:
                message = (
                    f"{role.stem!r} has {len(related)} related {what}, "
                    f"should have {RELATED_MINIMUM} or more"
                )
                yield Fault("related", message, bank.source.role(role.entry), bank.source.path)


def _soc_groups(bank: Bank) -> Iterator[Fault]:
    for role in bank.entries:
        if role.soc is not None and role.soc not in soc_major_groups():
            message = f"{role.stem!r}: {role.soc!r} is no major group of SOC 2018, such as 29-0000"
            line = bank.source.role(role.entry, role.soc)
            yield Fault("soc", message, line, bank.source.path)


def _overlaps(bank: Bank) -> Iterator[Fault]:
    """An everyday context that may be drawn for a role and yet shares a word with its own ones."""
    for role in bank.entries:
        for context, own in overlaps(bank, role):
            message = (
                f"{context.name!r} counts as unrelated to {role.stem!r} (line "
                f"{bank.source.role(role.entry)}) but overlaps with {own!r}: "
                "add it to the role's avoid, or its tag to work; a word that has another sense "
                "in one of them may stand under allow in [checks]"
            )
            line = bank.source.line(table="everyday", value=context.text)
            yield Fault("overlap", message, line, bank.source.path)


def overlaps(bank: Bank, role: Role) -> Iterator[tuple[Context, str]]:
    """Everyday contexts that may be drawn for a role and share a word with a text of its own."""
    related = {word: text for text, word in _words_of_role(bank, role)}
    for context in bank.everyday:
        own = content_words(bank.language, without_allowed(bank, context.name))
        shared = sorted(own & related.keys())
        if shared and is_unrelated(role, context):
            yield context, related[shared[0]]


def _unused_allowances(bank: Bank) -> Iterator[Fault]:
    """A word or phrase in ``[checks]`` that no context has, such as a misspelt one."""
    texts = [entry.context.text for entry in entries(bank)] if bank.allowed else []
    for phrase in bank.allowed:
        alone = replace(bank, allowed=(phrase,))
        if all(without_allowed(alone, text) == text for text in texts):
            line = bank.source.line(table="checks", value=phrase)
            yield Fault("allow", f"{phrase!r} stands in no context", line, bank.source.path)


def _words_of_role(bank: Bank, role: Role) -> Iterator[tuple[str, str]]:
    """The role's own texts with each of their content words."""
    forms = [other.form for other in bank.roles if other.entry == role.entry]
    for text in (*forms, *(context.text for context in role.related)):
        for word in content_words(bank.language, without_allowed(bank, text)):
            yield text, word


def _uneven_uses(bank: Bank) -> Iterator[Fault]:
    """Everyday contexts that are used much more often than others."""
    assigned = assign_unrelated(bank)
    drawn = [assigned[role.name] for role in bank.entries]
    for what, uses in context_uses(bank, drawn).items():
        (most, high), low = uses.most_common(1)[0], min(uses.values())
        if high - low > SPREAD_MAXIMUM:
            message = (
                f"the {what} {most!r} is used by {high} roles, another one by {low}: "
                f"they should differ by {SPREAD_MAXIMUM} at most"
            )
            line = bank.source.line(table="everyday")
            yield Fault("balance", message, line, bank.source.path)


def context_uses(bank: Bank, assigned: Iterable[Contexts]) -> dict[str, Counter[str]]:
    """Count how many roles use each everyday context.

    Args:
        bank: Whose pool is counted.
        assigned: Everyday contexts, once for the forms of one role.

    Returns:
        ``place`` and ``activity``, each: name -> number of roles, unused ones with 0.
    """
    places = Counter({place.name: 0 for place in bank.places})
    activities = Counter({activity.name: 0 for activity in bank.activities})
    for chosen in assigned:
        places.update((chosen.place.name, chosen.other_place.name))
        drawn = (chosen.activity, chosen.other_activity)
        activities.update(activity.name for activity in drawn if activity is not None)
    return {"place": places, "activity": activities}
