"""Unrelated contexts that are the related ones of another role.

With a pool of everyday contexts the unrelated condition holds other scenes than the related one.
Here both hold the same: every role lends its contexts to exactly one other role, of another major
group of the SOC, whose work shares no kind with its own and whose contexts share no word. So only
relatedness differs.

Which role lends to which is a perfect matching, found by augmenting paths (Kuhn) in an order that a
hash of the bank's seed and both names decides. It is the same on every machine. Other than the
assignment of everyday contexts it depends on all roles of the bank: one role more may change it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextbias.bench.bank import Bank, Role
from contextbias.bench.contexts import Contexts, related_contexts
from contextbias.bench.language import content_words
from contextbias.errors import BankError
from contextbias.ids import content_hash


@dataclass(frozen=True, slots=True)
class _Words:
    contexts: frozenset[str]
    all: frozenset[str]


def assign_deranged(bank: Bank) -> Mapping[str, Contexts]:
    """Give every role the related contexts of another one.

    Returns:
        Role name -> contexts, for every role of the bank: also when prompts of a few roles only are
        wanted, so that a subset has the same prompts as the whole. The forms of one role share
        them.

    Raises:
        BankError: There is no such assignment, or a role has too few contexts to lend.
    """
    lenders = _lenders(bank)
    return {role.name: _lent(bank, lenders[role.entry]) for role in bank.roles}


def _lenders(bank: Bank) -> dict[int, Role]:
    """Entry of a role -> the role that lends its contexts to it."""
    words = {role.entry: _words_of(bank, role) for role in bank.entries}
    candidates = {role.entry: _candidates(bank, role, words) for role in bank.entries}
    borrower: dict[int, int] = {}  # entry of the lender -> entry of the borrower
    for role in bank.entries:
        if not _augment(role.entry, candidates, borrower, set()):
            where = bank.source.at(bank.source.role(role.entry))
            raise BankError(
                f"{where}: no role of another SOC group is left that could lend its contexts to "
                f"{role.stem!r}",
                'add roles of other groups, or take unrelated = "everyday"',
            )
    by_entry = {role.entry: role for role in bank.entries}
    return {taker: by_entry[lender] for lender, taker in borrower.items()}


def _augment(
    role: int,
    candidates: Mapping[int, Sequence[int]],
    borrower: dict[int, int],
    tried: set[int],
) -> bool:
    """Find a lender for `role`, moving earlier borrowers where that helps."""
    for lender in candidates[role]:
        if lender in tried:
            continue
        tried.add(lender)
        taken = borrower.get(lender)
        if taken is None or _augment(taken, candidates, borrower, tried):
            borrower[lender] = role
            return True
    return False


def _candidates(bank: Bank, role: Role, words: Mapping[int, _Words]) -> list[int]:
    """Entries of the roles that may lend to `role`, in the order in which they are tried."""
    fitting = [other for other in bank.entries if _is_unrelated(role, other, words)]
    key = {o.entry: content_hash([bank.seed, "deranged", role.stem, o.stem]) for o in fitting}
    return sorted(key, key=key.__getitem__)


def _is_unrelated(role: Role, other: Role, words: Mapping[int, _Words]) -> bool:
    """Another group, no kind of work in common, and no word in common."""
    if role.entry == other.entry or (role.soc is not None and role.soc == other.soc):
        return False
    own, lent = words[role.entry], words[other.entry]
    return role.work.isdisjoint(other.work) and own.all.isdisjoint(lent.contexts)


def _words_of(bank: Bank, role: Role) -> _Words:
    contexts = [content_words(bank.language, context.text) for context in role.related]
    spoken = frozenset[str]().union(*contexts)
    return _Words(spoken, spoken | content_words(bank.language, role.form))


def _lent(bank: Bank, lender: Role) -> Contexts:
    contexts = related_contexts(lender)
    if contexts.other_activity is None and contexts.third_place is None:
        where = bank.source.at(bank.source.role(lender.entry))
        raise BankError(
            f"{where}: {lender.stem!r} has too few contexts to lend",
            "give it a third place, or a second activity that fits its first place",
        )
    return contexts
