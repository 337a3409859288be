"""Unrelated contexts: never the role's own, plausible together, evenly used, stable."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextbias.bench import Bank, load_bank
from contextbias.bench.assignment import assign_unrelated
from contextbias.bench.check import context_uses
from contextbias.errors import BankError

BANK = load_bank()


@st.composite
def banks(draw: st.DrawFn) -> Bank:
    """The shipped pool with other roles: up to 92 of them, each with work of up to three kinds."""
    kinds = st.frozensets(st.sampled_from(sorted(BANK.tags)), max_size=3)
    works = draw(st.lists(kinds, min_size=1, max_size=92))
    roles = tuple(
        replace(BANK.roles[0], name=f"role {i}", entry=i, work=work) for i, work in enumerate(works)
    )
    return replace(BANK, roles=roles, seed=draw(st.integers(0, 2**31)))


@given(banks())
def test_no_context_of_the_roles_own_work(bank: Bank) -> None:
    assigned = assign_unrelated(bank)
    for role in bank.roles:
        chosen = assigned[role.name]
        for context in (
            chosen.place, chosen.other_place, chosen.activity, chosen.other_activity
        ):  # fmt: skip
            assert not role.work & set(context.tags)


@given(banks())
def test_both_activities_are_plausible_at_the_base_place(bank: Bank) -> None:
    for chosen in assign_unrelated(bank).values():
        assert chosen.place.name in chosen.activity.at
        assert chosen.place.name in chosen.other_activity.at
        assert chosen.activity != chosen.other_activity
        assert chosen.place != chosen.other_place


@given(banks())
def test_every_context_is_used_about_equally_often(bank: Bank) -> None:
    uses = context_uses(bank, assign_unrelated(bank).values())
    # 2 places and 2 activities a role; places are free to choose, activities depend on the place.
    assert sum(uses["place"].values()) == sum(uses["activity"].values()) == 2 * len(bank.roles)
    assert max(uses["place"].values()) - min(uses["place"].values()) <= 3
    assert max(uses["activity"].values()) <= 2 * len(bank.roles) / len(bank.activities) + 4


@given(banks(), st.data())
def test_a_role_depends_only_on_the_roles_before_it(bank: Bank, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(bank.roles)))
    fewer = assign_unrelated(replace(bank, roles=bank.roles[:count]))
    assert fewer == dict(list(assign_unrelated(bank).items())[:count])


def test_in_the_shipped_bank_every_everyday_context_serves_one_to_five_roles() -> None:
    # 2 x 92 uses of 51 places (3.6 each) and of 78 activities (2.4 each).
    uses = context_uses(BANK, assign_unrelated(BANK).values())
    assert set(uses["place"].values()) <= {3, 4, 5}
    assert set(uses["activity"].values()) <= {1, 2, 3, 4}


def test_another_seed_is_another_assignment() -> None:
    assert assign_unrelated(replace(BANK, seed=1)) != assign_unrelated(replace(BANK, seed=2))


def test_single_contexts_can_be_avoided() -> None:
    first = BANK.roles[0]
    place = assign_unrelated(BANK)[first.name].place.name
    picky = replace(first, avoid=frozenset({place}))
    chosen = assign_unrelated(replace(BANK, roles=(picky,)))[first.name]
    assert place not in (chosen.place.name, chosen.other_place.name)


def test_a_role_that_leaves_nothing_unrelated_is_refused_with_its_line() -> None:
    greedy = replace(BANK.roles[0], avoid=frozenset(place.name for place in BANK.places))
    with pytest.raises(BankError, match=r"contextbench.toml:\d+: no everyday place .*'baker'"):
        assign_unrelated(replace(BANK, roles=(greedy,)))
