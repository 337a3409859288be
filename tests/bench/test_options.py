"""Options of the bench: deranged, balanced, other phrasings, further axes."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextbias.bench import Bank, BenchOptions, build_prompts, check_bank, load_bank, to_csv
from contextbias.bench.bank import Activity, Place, Role
from contextbias.bench.contexts import related_contexts
from contextbias.bench.derangement import assign_deranged
from contextbias.errors import BankError
from contextbias.tables import CONDITIONS, Prompt

Changed = Callable[..., Path]

BANK = load_bank()
DERANGED = BenchOptions(unrelated="deranged")
BALANCED = BenchOptions(balanced=True)
LIGHTING = BenchOptions(axes=("lighting",))


def of_condition(prompts: tuple[Prompt, ...], condition: str) -> list[Prompt]:
    return [prompt for prompt in prompts if prompt.condition == condition]


def contexts(prompts: list[Prompt]) -> Counter[tuple[str | None, str | None]]:
    return Counter((prompt.location, prompt.activity) for prompt in prompts)


# ---- all options


def test_without_options_nothing_changes() -> None:
    assert build_prompts(BANK, None, BenchOptions()) == build_prompts(BANK)
    assert BenchOptions(phrasings=BANK.phrasings).label(BANK) == BANK.label


@pytest.mark.parametrize(
    ("options", "label"),
    [
        (DERANGED, "contextbench 1 (deranged)"),
        (BALANCED, "contextbench 1 (balanced)"),
        (LIGHTING, "contextbench 1 (lighting)"),
        (
            replace(LIGHTING, unrelated="deranged", balanced=True),
            "contextbench 1 (deranged, balanced, lighting)",
        ),
        (BenchOptions(phrasings=("a portrait of",)), "contextbench 1 (phrasings b0e4f0)"),
    ],
)
def test_options_stand_in_the_label_of_every_prompt(options: BenchOptions, label: str) -> None:
    assert {prompt.bank for prompt in build_prompts(BANK, ["nurse"], options)} == {label}


@pytest.mark.parametrize("options", [DERANGED, BALANCED, replace(LIGHTING, balanced=True)])
def test_no_sentence_is_there_twice_and_the_bank_has_no_fault(options: BenchOptions) -> None:
    assert check_bank(BANK, options) == []


@pytest.mark.parametrize("options", [DERANGED, BALANCED, LIGHTING])
def test_a_subset_has_the_rows_of_the_whole(options: BenchOptions) -> None:
    whole = build_prompts(BANK, None, options)
    some = build_prompts(BANK, ["nurse", "welder"], options)
    assert some == tuple(p for p in whole if p.role in ("nurse", "welder"))


def test_a_sentence_has_the_same_id_whatever_the_options() -> None:
    ids = {(p.role, p.condition, p.text): p.prompt_id for p in build_prompts(BANK)}
    more = build_prompts(BANK, None, replace(LIGHTING, balanced=True))
    assert ids.items() <= {(p.role, p.condition, p.text): p.prompt_id for p in more}.items()


# ---- deranged


def test_every_role_has_the_contexts_of_one_of_another_group_and_other_work() -> None:
    assigned = assign_deranged(BANK)
    for role in BANK.roles:
        lenders = [o for o in BANK.roles if related_contexts(o) == assigned[role.name]]
        assert [o for o in lenders if o.soc != role.soc and not role.work & o.work]


def test_deranged_and_balanced_both_conditions_hold_the_same_contexts() -> None:
    built = build_prompts(BANK, None, replace(DERANGED, balanced=True))
    assert contexts(of_condition(built, "CA-R")) == contexts(of_condition(built, "CA-U"))


def test_deranged_leaves_the_other_conditions_as_they_are() -> None:
    texts = [{p.text for p in build_prompts(BANK, None, o)} for o in (BenchOptions(), DERANGED)]
    assert len(texts[0] & texts[1]) == 92 * (3 + 7)


def test_the_derangement_is_the_same_on_every_machine() -> None:
    found = to_csv(build_prompts(BANK, None, DERANGED)).encode()
    again = to_csv(build_prompts(load_bank(), None, DERANGED)).encode()
    assert hashlib.sha256(found).hexdigest() == hashlib.sha256(again).hexdigest()


def test_another_seed_is_another_derangement() -> None:
    assert assign_deranged(replace(BANK, seed=1)) != assign_deranged(replace(BANK, seed=2))


def test_without_a_second_activity_at_the_place_a_third_place_stands_in() -> None:
    farmer = next(role for role in BANK.roles if role.name == "farmer")
    chosen = related_contexts(farmer)  # nothing but the harvest happens in the wheat field
    assert chosen.other_activity is None
    assert chosen.third_place == farmer.places[2]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["11-0000", "13-0000", "15-0000"]), min_size=2, max_size=8))
def test_there_is_a_derangement_unless_one_group_outnumbers_the_others(groups: list[str]) -> None:
    # Hall: with groups as the only rule, a matching exists when no group has more than half.
    roles = tuple(
        replace(
            BANK.roles[0], name=f"role {i}", form=f"w{i}", soc=group, entry=i, work=frozenset(),
            places=_places(i), activities=_activities(i),
        )
        for i, group in enumerate(groups)
    )  # fmt: skip
    bank = replace(BANK, roles=roles)
    if max(Counter(groups).values()) * 2 > len(groups):
        with pytest.raises(BankError, match="no role of another SOC group is left"):
            assign_deranged(bank)
    else:
        assigned = assign_deranged(bank)
        assert len({chosen.place.name for chosen in assigned.values()}) == len(roles)


def _places(i: int) -> tuple[Place, ...]:
    return tuple(
        replace(place, text=f"in a p{i}q{k}", name=f"p{i}q{k}")
        for k, place in enumerate(BANK.roles[0].places)
    )


def _activities(i: int) -> tuple[Activity, ...]:
    at = tuple(place.name for place in _places(i))
    return tuple(
        replace(activity, text=f"x{i}y{k}ing", at=at)
        for k, activity in enumerate(BANK.roles[0].activities)
    )


def test_a_role_with_too_little_to_lend_is_named(changed: Changed) -> None:
    path = changed(
        (
            'places = ["in a wheat field", "in a barn", "in an apple orchard"]',
            'places = ["in a wheat field", "in a barn"]',
        ),
        ('  { text = "picking apples", at = ["apple orchard"], names = ["items"] },\n', ""),
    )
    bank = load_bank(path)
    with pytest.raises(BankError, match=r"mine.toml:\d+: 'farmer' has too few contexts to lend"):
        build_prompts(bank, None, DERANGED)
    with pytest.raises(BankError, match=r"mine.toml:\d+: 'farmer' has too few related contexts"):
        build_prompts(bank, ["farmer"], BALANCED)
    assert len(build_prompts(bank, ["farmer"])) == 18


# ---- balanced


def test_balanced_has_the_same_number_everywhere_and_all_the_18() -> None:
    built = build_prompts(BANK, None, BALANCED)
    assert Counter(p.condition for p in built) == dict.fromkeys(CONDITIONS, 8 * 92)
    assert {p.prompt_id for p in build_prompts(BANK)} <= {p.prompt_id for p in built}


def test_what_balance_adds() -> None:
    usual = {(p.base, p.variant) for p in build_prompts(BANK, ["nurse"])}
    built = build_prompts(BANK, ["nurse"], BALANCED)
    added = {(p.base, p.variant): p.text for p in built if (p.base, p.variant) not in usual}
    assert added == {
        ("cf", "phrasing-4"): "a picture of a nurse",
        ("cf", "phrasing-5"): "an image of a nurse",
        ("cf", "phrasing-6"): "a realistic photo of a nurse",
        ("cf", "phrasing-7"): "a realistic photograph of a nurse",
        ("cf", "phrasing-8"): "a realistic picture of a nurse",
        ("rel-activity", "substitute-activity"): (
            "a photo of a nurse preparing medication in a hospital room"
        ),
    }


@pytest.mark.parametrize("count", [1, 2, 3])
def test_balanced_with_other_phrasings(count: int) -> None:
    phrasings = ("a portrait of", "a snapshot of", "a drawing of")[:count]
    built = build_prompts(BANK, None, replace(BALANCED, phrasings=phrasings))
    assert Counter(p.condition for p in built) == dict.fromkeys(CONDITIONS, (2 * count + 2) * 92)


def test_too_few_phrasings_to_balance() -> None:
    bank = replace(BANK, further_phrasings=())
    with pytest.raises(BankError, match=r"need 8 phrasings .* contextbench 1 has 3.*further_"):
        build_prompts(bank, None, BALANCED)


# ---- phrasings


def test_other_phrasings_in_their_order() -> None:
    asked = BenchOptions(phrasings=("a sketch of", "a photo of"))
    built = build_prompts(BANK, ["ceo"], asked)
    assert Counter(p.condition for p in built) == {"CF": 2, "CA-R": 5, "CA-U": 6}
    assert [p.text for p in built[:2]] == ["a sketch of a CEO", "a photo of a CEO"]
    assert [p.variant for p in built[:2]] == ["phrasing-1", "phrasing-2"]


@pytest.mark.parametrize("phrasings", [("",), ("a  photo of",), ("a photo of", "a photo of")])
def test_phrasings_that_are_none(phrasings: tuple[str, ...]) -> None:
    with pytest.raises(BankError, match="is there twice, is empty or has stray spaces"):
        build_prompts(BANK, ["ceo"], BenchOptions(phrasings=phrasings))


# ---- axes


def test_an_axis_adds_each_value_to_each_condition() -> None:
    built = build_prompts(BANK, ["nurse"], LIGHTING)
    added = [p for p in built if p.variant.startswith("lighting-")]
    assert Counter(p.condition for p in added) == dict.fromkeys(CONDITIONS, 4)
    assert {p.base for p in added} == {"cf", "rel-place", "unrel-place"}
    assert built[3].text == "a photo of a nurse at night"
    assert built[3].variant == "lighting-at-night"
    assert [p for p in built if p not in added] == [
        replace(p, bank="contextbench 1 (lighting)") for p in build_prompts(BANK, ["nurse"])
    ]


def test_an_axis_says_what_its_words_name() -> None:
    for prompt in build_prompts(BANK, None, LIGHTING):
        named = {"color_temperature", "mood"} & set(prompt.prompted)
        assert bool(named) == prompt.variant.startswith("lighting-")


def test_an_axis_ends_the_sentence_and_keeps_its_place() -> None:
    by = {(p.base, p.variant): p for p in build_prompts(BANK, ["nurse"], LIGHTING)}
    plain, lit = by[("rel-place", "phrasing-1")], by[("rel-place", "lighting-under-soft-light")]
    assert lit.text == f"{plain.text} under soft light"
    assert lit.location == plain.location


def test_an_axis_of_ones_own(changed: Changed) -> None:
    own = '[[axes]]\nname = "weather"\nvalues = ["in the rain"]\nnames = ["weather"]\n\n[[axes]]'
    bank = load_bank(changed(("[[axes]]", own)))
    options = BenchOptions(axes=("lighting", "weather"))
    built = build_prompts(bank, ["nurse"], options)
    # One phrase more a condition than with lighting alone; the axes are not crossed.
    assert len(built) == 18 + 3 * (4 + 1)
    (rain,) = [p for p in built if p.base == "cf" and p.variant == "weather-in-the-rain"]
    assert (rain.text, rain.prompted) == ("a photo of a nurse in the rain", ("weather",))
    assert options.label(bank) == f"contextbench 1 {bank.content} (weather, lighting)"


def test_an_axis_is_checked_like_any_context(changed: Changed) -> None:
    path = changed(('"at night"', '"in a hour of blue light"'))
    rules = {(fault.rule, fault.line) for fault in check_bank(load_bank(path))}
    line = next(
        number
        for number, row in enumerate(path.read_text("utf-8").splitlines(), 1)
        if "in a hour" in row
    )
    assert rules == {("article", line), ("attribute", line)}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('names = ["color_temperature", "mood"]', 'names = ["moood"]', "'moood' is no dimension"),
        ('name = "lighting"', 'nam = "lighting"', "unknown key 'axes.nam'"),
    ],
)
def test_an_axis_that_cannot_be_built(old: str, new: str, message: str, changed: Changed) -> None:
    with pytest.raises(BankError, match=message):
        load_bank(changed((old, new)))


def test_an_unknown_axis() -> None:
    with pytest.raises(BankError, match=r"no axis 'lightning'.*[Dd]id you mean 'lighting'"):
        build_prompts(BANK, None, BenchOptions(axes=("lightning",)))
    without: Bank = replace(BANK, axes=())
    with pytest.raises(BankError, match=r"no axis 'lighting'.*\[\[axes\]\]"):
        build_prompts(without, None, LIGHTING)


def test_entries_of_a_bank_without_forms_are_its_roles() -> None:
    roles: tuple[Role, ...] = BANK.roles
    assert BANK.entries == roles
    assert all(role.stem == role.name for role in roles)


@pytest.mark.parametrize("phrasing", ["a photo of a", "a photo of an", "a photo of The"])
def test_a_phrasing_that_ends_in_an_article_is_refused(phrasing: str) -> None:
    with pytest.raises(BankError, match=r"ends in an article.*[Ww]rite 'a photo of'"):
        build_prompts(BANK, ["nurse"], BenchOptions(phrasings=(phrasing,)))


def test_a_german_phrasing_that_ends_in_an_article_is_refused() -> None:
    options = BenchOptions(phrasings=("ein Foto von einem",))
    with pytest.raises(BankError, match=r"[Ww]rite 'ein Foto von'"):
        build_prompts(load_bank("contextbench-de"), None, options)
