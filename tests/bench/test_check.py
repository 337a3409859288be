"""Every rule fires on a bank that breaks it, names the line, and is silent on the shipped bank."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contextbias.bench import Bank, check_bank, load_bank
from contextbias.bench.check import soc_major_groups

Changed = Callable[..., Path]


def faults(path: Path) -> list[tuple[str, str]]:
    return [(fault.rule, fault.message) for fault in check_bank(load_bank(path))]


def line_of(path: Path, text: str) -> int:
    rows = path.read_text("utf-8").splitlines()
    return next(number for number, row in enumerate(rows, 1) if text in row)


def test_the_shipped_bank_has_no_fault(bank: Bank) -> None:
    assert check_bank(bank) == []


# rule, the words of the shipped bank, what stands there instead, and what the message must say
BREACHES = [
    ("article", "an ice cream parlor", "a ice cream parlor", "needs 'an', not 'a'"),
    ("article", "in a barn", "in an barn", "needs 'a', not 'an'"),
    ("article", '"reviewing an X-ray"', '"reviewing a X-ray"', "before 'X-ray'"),
    ("article", "on a pier", "on pier", "has no article before 'pier'"),
    ("article", "in judicial chambers", "in a judicial chambers", "plural or mass noun"),
    ("article", "city sidewalk", "scaffolding", "plural or mass noun"),
    ("preposition", '"at a bus stop"', '"in a bus stop"', "'stop' takes 'at'"),
    ("preposition", "on a theater stage", "in a theater stage", "'stage' takes 'on'"),
    (
        "preposition",
        "in a house under construction",
        "on a house under construction",
        "'house' takes 'at' or 'in'",
    ),
    ("demographic", '"setting the table"', '"hosting an old man"', "'man' describes people"),
    ("demographic", '"buying stamps"', '"mailing a woman\'s letter"', "'woman' describes people"),
    ("attire", '"folding towels"', '"folding shirts in a uniform"', "'uniform' names attire"),
    ("tool", '"sanding a tabletop"', '"swinging a hammer"', "'hammer' names a tool"),
    ("brand", '"talking on the phone"', '"talking on an iPhone"', "'iphone' is a brand"),
    ("attribute", '"buying a vase"', '"buying a blue vase"', "'blue' is a label of"),
    ("attribute", '"buying a vase"', '"buying safety goggles"', "label of eyewear_type"),
    ("role-word", '"examining a patient"', '"assisting a nurse"', "names the role 'nurse'"),
    ("role-word", '"examining a patient"', '"calling a CEO"', "names the role 'ceo'"),
    ("form", '"framing a wall"', '"framing a wall."', "a stop at its end"),
    ("form", '"framing a wall"', '"framing  a wall"', "stray spaces"),
    ("form", '"framing a wall"', '"frame a wall"', "does not begin with a verb in -ing"),
    ("form", '"framing a wall"', '"framing a Wall"', "'Wall' is not lower case"),
    ("duplicate", "server room", "coworking space", "'coworking space' is there twice"),
    ("duplicate", '"folding towels"', '"reading a map"', "'reading a map' is there twice"),
    ("form", '"framing a wall"', '"framing a `wall`"', "'`' does not belong"),
    ("form", '"framing a wall"', '"framing a wall' + " and a wall" * 4 + '"', "has 15 words"),
    ("soc", 'soc = "47-0000"', 'soc = "48-0000"', "'48-0000' is no major group"),
    ("overlap", 'work = ["animals", "plants"]', "", "'picking berries' counts as unrelated"),
]


@pytest.mark.parametrize(("rule", "old", "new", "message"), BREACHES)
def test_a_breach_is_found(rule: str, old: str, new: str, message: str, changed: Changed) -> None:
    found = faults(changed((old, new)))
    assert [words for name, words in found if name == rule and message in words], found


def test_too_few_related_contexts_are_found(changed: Changed) -> None:
    path = changed((', "in a commercial kitchen"', ""), (', "commercial kitchen"', ""))
    assert ("related", "'baker' has 2 related places, should have 3 or more") in faults(path)
    path = changed(('  { text = "performing a solo", at = ["theater stage"] },\n', ""))
    assert ("related", "'dancer' has 2 related activities, should have 3 or more") in faults(path)


def test_a_fault_names_file_line_and_rule(changed: Changed) -> None:
    path = changed(("in a barn", "in an barn"))
    fault = check_bank(load_bank(path))[0]
    assert fault.line == line_of(path, "in an barn")
    assert str(fault).startswith(f"{path}:{fault.line}: article: 'in an barn' needs 'a'")


def test_faults_of_a_role_point_into_that_role(changed: Changed) -> None:
    # The same words stand in the everyday pool, further up.
    path = changed(("decorating a cake", "talking on the phone"))
    bank = load_bank(path)
    overlaps = [fault for fault in check_bank(bank) if fault.rule == "overlap"]
    assert overlaps
    role = line_of(path, 'name = "baker"') - 1
    assert all(f"unrelated to 'baker' (line {role})" in fault.message for fault in overlaps)
    rows = path.read_text("utf-8").splitlines()
    assert all("under allow in [checks]" in fault.message for fault in overlaps)
    for fault in overlaps:  # the line is the everyday context's
        assert fault.message.split("'")[1] in rows[fault.line - 1]


# the words of the shipped bank, what stands there instead, and what [checks] allows of it
ALLOWED = [
    ('"talking on the phone"', '"talking on an iPhone"', "iPhone"),
    ('"buying a vase"', '"buying a blue vase"', "blue vase"),
    ('"examining a patient"', '"calling a CEO"', "ceo"),
    ('"framing a wall"', '"framing a Wall"', "Wall"),
    ('"setting the table"', '"hosting an old man"', "an old man"),
    ("on a theater stage", "in a theater stage", "theater stage"),
    ("on a pier", "on pier", "on pier"),
    ('"reviewing an X-ray"', '"reviewing a X-ray"', "a X-ray"),
]


@pytest.mark.parametrize(("old", "new", "phrase"), ALLOWED)
def test_what_a_bank_allows_is_no_fault(old: str, new: str, phrase: str, changed: Changed) -> None:
    assert faults(changed((old, new)))
    allowed = f'[checks]\nallow = ["{phrase}"]\n\n[everyday]\n'
    assert faults(changed((old, new), ("[everyday]\n", allowed))) == []


def test_an_allowed_word_makes_no_overlap(changed: Changed) -> None:
    new = ("decorating a cake", "talking on the phone")
    assert {rule for rule, _ in faults(changed(new))} == {"overlap"}
    allowed = '[checks]\nallow = ["talking on the phone"]\n\n[everyday]\n'
    assert faults(changed(new, ("[everyday]\n", allowed))) == []


def test_only_whole_words_are_allowed(changed: Changed) -> None:
    new = ('"buying a vase"', '"buying a bluebell"')
    allowed = '[checks]\nallow = ["blue"]\n\n[everyday]\n'
    assert faults(changed(new, ("[everyday]\n", allowed))) == [
        ("allow", "'blue' stands in no context")
    ]


@pytest.mark.parametrize("place", ["on a baseball field", "in an elementary school", "in school"])
def test_good_places_are_no_fault(place: str, changed: Changed) -> None:
    assert (
        faults(
            changed(
                ("in a barn", place),
                (
                    '"barn"',
                    f'"{place.removeprefix("on a ").removeprefix("in an ").removeprefix("in ")}"',
                ),
            )
        )
        == []
    )


def test_faults_come_in_the_order_of_the_lines(changed: Changed) -> None:
    path = changed(("in a barn", "in an barn"), ('"at a bus stop"', '"in an bus stop"'))
    lines = [fault.line for fault in check_bank(load_bank(path))]
    assert lines == sorted(lines)
    assert len(lines) == 3  # article and preposition of the bus stop, article of the barn


def test_the_same_sentence_twice_is_found(changed: Changed) -> None:
    path = changed(('"a photograph of"', '"a photo of"'))
    found = [message for rule, message in faults(path) if rule == "duplicate"]
    # Phrasing 2 repeats phrasing 1 in each of 5 bases of 92 roles.
    assert len(found) == 5 * 92
    assert any("'a photo of a baker'" in message for message in found)


SMALL = """
[bank]
name = "small"
version = "1"
phrasings = ["a photo of", "a picture of", "an image of"]
[everyday]
places = [{ text = "in a park" }, { text = "on a beach" }]
activities = [
  { text = "taking a walk", at = ["park"] },
  { text = "having a picnic", at = ["park"] },
]
"""


def small_bank(folder: Path, roles: int) -> Path:
    path = folder / "small.toml"
    entry = """
[[roles]]
name = "role{0}"
places = ["in a hall", "in a tower", "in a castle"]
activities = [{{ text = "guarding" }}, {{ text = "signaling" }}, {{ text = "climbing" }}]
"""
    path.write_text(SMALL + "".join(entry.format(i) for i in range(roles)), "utf-8")
    return path


def test_a_small_pool_is_a_fault_in_the_line_of_the_pool(tmp_path: Path) -> None:
    path = small_bank(tmp_path, 2)
    found = check_bank(load_bank(path))
    line = line_of(path, "[everyday]")
    assert [(fault.rule, fault.line) for fault in found] == [("pool", line)] * 2


def test_an_everyday_context_used_much_more_than_another_is_a_fault(tmp_path: Path) -> None:
    # The lake has no second activity, so it is nobody's base; "skipping stones" is never used,
    # while each of the two activities of the park serves every role.
    path = small_bank(tmp_path, 5)
    text = path.read_text("utf-8").replace(
        "activities = [\n", 'activities = [\n  { text = "swimming", at = ["beach"] },\n', 1
    )
    path.write_text(text, "utf-8")
    balance = [message for rule, message in faults(path) if rule == "balance"]
    assert balance == [
        "the activity 'taking a walk' is used by 5 roles, another one by 0: "
        "they should differ by 3 at most"
    ]


def test_the_major_groups_are_the_23_of_soc_2018() -> None:
    groups = soc_major_groups()
    assert len(groups) == 23
    assert list(groups) == [f"{number}-0000" for number in range(11, 56, 2)]
    assert groups["33-0000"] == "Protective Service"


def test_the_first_roles_have_their_groups(bank: Bank) -> None:
    # Looked up title by title: 51-3011 Bakers; 47-2031 Carpenters; 11-1011 Chief Executives;
    # 27-2031 Dancers; 29-12xx Physicians; 11-9013 Farmers; 33-2011 Firefighters; 53-2031 Flight
    # Attendants; 23-1023 Judges; 29-1141 Registered Nurses; 15-1252 Software Developers; 51-4121
    # Welders.
    groups = {role.name: (role.soc or "")[:2] for role in bank.roles[:12]}
    assert groups == {
        "baker": "51", "carpenter": "47", "ceo": "11", "dancer": "27", "doctor": "29",
        "farmer": "11", "firefighter": "33", "flight attendant": "53", "judge": "23",
        "nurse": "29", "software engineer": "15", "welder": "51",
    }  # fmt: skip
