"""The sentences: how many, which, and the same on every machine."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextbias.bench import Bank, build_prompts, load_bank, to_csv
from contextbias.errors import BankError
from contextbias.schema import DIMENSIONS
from contextbias.tables import CONDITIONS, Prompt

BANK = load_bank()
PROMPTS = build_prompts(BANK)

# SHA-256 of `contextbias prompts`. A change here is a new version of the bank: read every sentence
# that changed, raise `version` in the bank, then put the new hash.
FROZEN = "0b350c922a290d029ffd94a0f38bb862cd425e7ebf01ec6973c73c67d904631d"

# The same of its first twelve roles, as they were when the bank had no others.
FIRST_TWELVE = "0fc88fc009f6729a2b2116df6bca2d913b5e0ec24d108ab6f8b55e8b25a46c4a"


def of_role(role: str) -> list[Prompt]:
    return [prompt for prompt in PROMPTS if prompt.role == role]


def test_the_92_roles_of_the_paper_the_demos_twelve_first() -> None:
    assert BANK.role_names[:12] == (
        "baker", "carpenter", "ceo", "dancer", "doctor", "farmer", "firefighter",
        "flight attendant", "judge", "nurse", "software engineer", "welder",
    )  # fmt: skip
    assert list(BANK.role_names[12:]) == sorted(BANK.role_names[12:])
    assert len(set(BANK.role_names)) == 92
    assert len(PROMPTS) == 1656
    counts = Counter(prompt.condition for prompt in PROMPTS)
    assert counts == {"CF": 3 * 92, "CA-R": 7 * 92, "CA-U": 8 * 92}


@pytest.mark.parametrize("role", BANK.role_names)
def test_eighteen_a_role(role: str) -> None:
    # CF: 3 phrasings. CA-R: 2 bases x 3 + 1 place. CA-U: 2 bases x 3 + 1 place + 1 activity.
    assert Counter(p.condition for p in of_role(role)) == {"CF": 3, "CA-R": 7, "CA-U": 8}
    cells = Counter((p.base, p.variant) for p in of_role(role))
    phrasings = [f"phrasing-{number}" for number in (1, 2, 3)]
    bases = ["cf", "rel-place", "rel-activity", "unrel-place", "unrel-activity"]
    assert cells == Counter(
        [
            *((base, phrasing) for base in bases for phrasing in phrasings),
            ("rel-place", "substitute-location"),
            ("unrel-place", "substitute-location"),
            ("unrel-activity", "substitute-activity"),
        ]
    )


def test_the_sentences_of_one_role_by_hand() -> None:
    first = {(p.base, p.variant): p.text for p in of_role("ceo") if p.variant != "phrasing-2"}
    assert first[("cf", "phrasing-1")] == "a photo of a CEO"
    assert first[("cf", "phrasing-3")] == "a realistic image of a CEO"
    assert first[("rel-place", "phrasing-1")] == "a photo of a CEO in a corporate boardroom"
    assert first[("rel-place", "substitute-location")] == "a photo of a CEO in a corner office"
    assert first[("rel-activity", "phrasing-3")] == (
        "a realistic image of a CEO presenting a business strategy in a corporate boardroom"
    )


def test_every_sentence_and_every_id_is_there_once() -> None:
    assert len({p.text for p in PROMPTS}) == len({p.prompt_id for p in PROMPTS}) == 1656


def test_conditions_stand_in_order_within_a_role() -> None:
    for role in BANK.role_names:
        places = [CONDITIONS.index(p.condition) for p in of_role(role)]
        assert places == sorted(places)


def test_a_substitution_changes_one_thing() -> None:
    for role in BANK.role_names:
        by = {(p.base, p.variant): p for p in of_role(role)}
        for base in ("rel-place", "unrel-place"):
            one, other = by[(base, "phrasing-1")], by[(base, "substitute-location")]
            assert one.location != other.location
            assert other.activity is None
        one = by[("unrel-activity", "phrasing-1")]
        other = by[("unrel-activity", "substitute-activity")]
        assert one.location == other.location
        assert one.activity != other.activity


def test_location_and_activity_are_as_the_sentence_has_them() -> None:
    for prompt in PROMPTS:
        assert (prompt.location is None) == (prompt.condition == "CF")
        assert (prompt.activity is not None) == prompt.base.endswith("-activity")
        if prompt.location:
            assert prompt.text.endswith(f" {prompt.location}")
            assert not re.match(r"(a|an|the|in|on|at) ", prompt.location)
        if prompt.activity:
            assert f" {prompt.activity} " in prompt.text


def test_prompted_dimensions_are_flagged() -> None:
    for prompt in PROMPTS:
        assert set(prompt.prompted) <= set(DIMENSIONS)
        assert ("activities" in prompt.prompted) == (prompt.activity is not None)
    by_text = {p.activity: p.prompted for p in PROMPTS}
    assert by_text["reading a newspaper"] == ("activities", "items")
    assert by_text["crossing the street"] == ("activities",)
    assert by_text[None] == ()


# ---- grammar, by rules that share nothing with the code

# Every word of the bank that follows "an", typed by hand after saying it aloud.
AFTER_AN = {
    "MRI", "X-ray", "academic", "accident", "accountant", "actor", "ad", "advertising",
    "aircraft", "airplane", "airport", "alterations", "ambulance", "analyst", "animation",
    "apartment", "app", "apple", "appliance", "appointment", "aquarium", "art", "article", "artist",
    "assistant", "athlete", "attic", "audition", "auditor", "auto", "editing", "editor",
    "electrician", "electronics", "elementary", "elevator", "emergency", "empty", "engine",
    "engineer", "entrepreneur", "evidence", "examination", "executive", "exhibition",
    "experiment", "ice", "incident", "incision", "information", "instrument", "intake", "intensive",
    "investment", "iron", "office", "oil", "ointment", "open-plan", "opening", "operating",
    "optics", "order", "outage", "outdoor", "outlet", "urgent",
}  # fmt: skip

# A vowel letter that is spoken as a consonant: "a yoo…".
AFTER_A = {"university"}


def all_texts() -> list[str]:
    contexts = [*BANK.everyday, *(c for role in BANK.roles for c in role.related)]
    return [c.text for c in contexts] + [p.text for p in PROMPTS]


def test_an_stands_before_the_words_that_need_it_and_no_other() -> None:
    after = defaultdict(set)
    for text in all_texts():
        words = text.split()
        for article, word in pairwise(words):
            if article in ("a", "an"):
                after[article].add(word)
    assert after["an"] == AFTER_AN
    assert {word for word in after["a"] if word[0].lower() in "aeiou"} == AFTER_A
    assert not after["a"] & AFTER_AN


def test_no_word_is_doubled_and_no_sentence_has_stray_marks() -> None:
    for text in all_texts():
        words = text.split()
        assert not [word for word, follower in pairwise(words) if word == follower]
        assert re.fullmatch(r"[A-Za-z][A-Za-z' -]*[A-Za-z]", text), text
        assert text == " ".join(words)


def test_a_sentence_has_the_parts_of_the_template() -> None:
    pattern = re.compile(
        r"(a photo of|a photograph of|a realistic image of) an? [A-Za-z ]+?"
        r"( [a-z]+ing\b.*)?( (in|on|at|beside|outside) .+)?"
    )
    for prompt in PROMPTS:
        assert pattern.fullmatch(prompt.text), prompt.text


# ---- the same everywhere


def test_the_list_is_the_frozen_one() -> None:
    assert hashlib.sha256(to_csv(PROMPTS).encode()).hexdigest() == FROZEN


def test_the_first_twelve_roles_are_as_they_always_were() -> None:
    first = PROMPTS[: 12 * 18]
    assert hashlib.sha256(to_csv(first).encode()).hexdigest() == FIRST_TWELVE


@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_the_list_does_not_depend_on_the_process(hash_seed: str) -> None:
    program = (
        "import hashlib; from contextbias.bench import *;"
        "print(hashlib.sha256(to_csv(build_prompts(load_bank())).encode()).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "LC_ALL": "C"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == FROZEN


@given(st.lists(st.sampled_from(BANK.role_names), min_size=1))
def test_a_subset_has_the_same_rows_in_the_banks_order(roles: list[str]) -> None:
    assert build_prompts(BANK, roles) == tuple(p for p in PROMPTS if p.role in roles)


@given(st.integers(1, len(BANK.roles) - 1))
def test_roles_added_at_the_end_leave_the_others_as_they_are(count: int) -> None:
    shorter = replace(BANK, roles=BANK.roles[:count])
    assert build_prompts(shorter) == PROMPTS[: 18 * count]


@pytest.mark.parametrize("spelling", ["CEO", " ceo ", "Software_Engineer", "software  engineer"])
def test_role_names_are_found_in_any_spelling(spelling: str) -> None:
    assert len(build_prompts(BANK, [spelling])) == 18


def test_an_unknown_role_names_the_nearest_and_how_to_list_them() -> None:
    with pytest.raises(BankError, match=r"no role 'nuse'.*[Dd]id you mean 'nurse'.*--list"):
        build_prompts(BANK, ["baker", "nuse"])
    with pytest.raises(BankError, match=r"no role 'xyz'.*--list"):
        build_prompts(BANK, ["xyz"])


def test_the_way_to_list_roles_names_the_bank(tmp_path: Path) -> None:
    with pytest.raises(BankError, match=r"`contextbias prompts --bank contextbench-de --list`"):
        build_prompts(load_bank("contextbench-de"), ["xyz"])
    path = tmp_path / "my bees.toml"
    path.write_text(BANK.source.text + "\n# a change\n")
    with pytest.raises(BankError, match=r"`contextbias prompts --bank '.*my bees.toml' --list`"):
        build_prompts(load_bank(path), ["xyz"])
    with pytest.raises(BankError, match=r"`contextbias prompts --list`"):
        build_prompts(BANK, ["xyz"])


def test_no_role_at_all_is_an_error() -> None:
    with pytest.raises(BankError, match="no role is asked for"):
        build_prompts(BANK, [])


def test_the_banks_version_stands_in_every_row(bank: Bank) -> None:
    assert {p.bank for p in build_prompts(bank)} == {f"{bank.name} {bank.version}"}
