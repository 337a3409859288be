"""ContextBench's sentences: 18 a role, CF 3, CA-R 7 and CA-U 8, unless options ask for others.

See ``sentences.py`` for what they say, ``options.py`` for the options.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

from contextbias.bench.assignment import assign_unrelated
from contextbias.bench.bank import Bank, Role
from contextbias.bench.contexts import Contexts
from contextbias.bench.derangement import assign_deranged
from contextbias.bench.options import BenchOptions
from contextbias.bench.sentences import Sentence, sentences_of
from contextbias.config import BenchSection
from contextbias.errors import BankError, nearest
from contextbias.ids import content_hash
from contextbias.tables import Prompt

PROMPTS_PER_ROLE = {"CF": 3, "CA-R": 7, "CA-U": 8}
"""How many prompts a role has in each condition without options."""

_DEFAULTS = BenchOptions()


def build_prompts(
    bank: Bank, roles: Sequence[str] | None = None, options: BenchOptions = _DEFAULTS
) -> tuple[Prompt, ...]:
    """Build the prompts of some or all roles of a bank.

    Args:
        bank: From `load_bank`.
        roles: Names of roles, in any order and letter case, of a role with several forms also the
            name without the form; None: all. The prompts of a role do not depend on which others
            are asked for.
        options: What else is asked for.

    Returns:
        18 prompts a role: roles in the bank's order, then conditions and bases, then variants.

    Raises:
        BankError: A role is not in the bank, no role is asked for, too few contexts are left for
            one, or the bank has not what the options ask for.
    """
    wanted = _select(bank, roles)
    unrelated = unrelated_contexts(bank, options)
    label = options.label(bank)
    return tuple(
        _prompt(role, sentence, label)
        for role in wanted
        for sentence in sentences_of(bank, role, unrelated[role.name], options)
    )


def unrelated_contexts(bank: Bank, options: BenchOptions) -> Mapping[str, Contexts]:
    """Which contexts stand for unrelated: role name -> contexts.

    Raises:
        BankError: Too few contexts are left for a role.
    """
    return assign_deranged(bank) if options.unrelated == "deranged" else assign_unrelated(bank)


def _select(bank: Bank, roles: Sequence[str] | None) -> tuple[Role, ...]:
    if roles is None:
        return bank.roles
    asked = {_key(name) for name in roles}
    known = {_key(name) for role in bank.roles for name in (role.name, role.stem)}
    for name in roles:
        if _key(name) not in known:
            raise BankError(
                f"there is no role {name!r} in {bank.label}", _listing(bank, name, known)
            )
    if not asked:
        raise BankError("no role is asked for", _listing(bank))
    return tuple(role for role in bank.roles if asked & {_key(role.name), _key(role.stem)})


def _listing(bank: Bank, name: str = "", known: Iterable[str] = ()) -> str:
    """How to see the roles of a bank, after the one nearest to `name`."""
    own = bank.name if bank.content is None else bank.source.path
    which = "" if own == BenchSection().bank else f" --bank {shlex.quote(own)}"
    listing = f"`contextbias prompts{which} --list` lists all roles"
    hint = nearest(_key(name), sorted(known))
    return f"{hint} {listing}" if hint else listing


def _key(name: str) -> str:
    return " ".join(name.replace("_", " ").split()).casefold()


def _prompt(role: Role, sentence: Sentence, label: str) -> Prompt:
    place, activity, value = sentence.place, sentence.activity, sentence.value
    contexts = [part.text for part in (activity, place, value) if part is not None]
    text = " ".join([sentence.phrasing, *filter(None, (role.article,)), role.form, *contexts])
    named = [*(("activities", *activity.names) if activity else ()), *role.names]
    named += sentence.axis.names if sentence.axis else ()
    condition = sentence.condition
    return Prompt(
        prompt_id=content_hash({"role": role.name, "condition": condition, "text": text}),
        role=role.name,
        condition=condition,
        base=sentence.base,
        variant=sentence.variant,
        location=place.name if place else None,
        activity=activity.text if activity else None,
        text=text,
        prompted=tuple(dict.fromkeys(named)),
        bank=label,
    )
