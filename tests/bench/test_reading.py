"""Loading a bank: what is refused, with file and line."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from contextbias.bench import build_prompts, load_bank
from contextbias.bench.bank import Activity, Place
from contextbias.errors import BankError

Changed = Callable[..., Path]


def line_of(path: Path, text: str) -> int:
    rows = path.read_text("utf-8").splitlines()
    return next(number for number, row in enumerate(rows, 1) if text in row)


def test_a_copy_of_the_shipped_bank_is_the_same_bank(changed: Changed) -> None:
    shipped, mine = load_bank(), load_bank(changed())
    assert replace(mine, source=shipped.source) == shipped
    assert build_prompts(mine) == build_prompts(shipped)


def test_a_changed_copy_is_told_from_the_shipped_bank_by_its_label(changed: Changed) -> None:
    path = changed(("in a barn", "in a new barn"), ('"barn"', '"new barn"'))
    bank = load_bank(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert bank.label == f"contextbench 1 {digest[:8]}"
    assert load_bank().label == "contextbench 1"
    assert build_prompts(bank, ["nurse"])[0].bank == bank.label


def test_two_banks_of_one_name_and_version_have_two_labels(changed: Changed) -> None:
    own = ('name = "contextbench"', 'name = "mine"')
    one = load_bank(changed(own)).label
    other = load_bank(changed(own, ("in a barn", "in a new barn"), ('"barn"', '"new barn"'))).label
    assert one.startswith("mine 1 ")
    assert other.startswith("mine 1 ")
    assert one != other


def test_places_and_activities_are_taken_apart() -> None:
    baker, ceo = load_bank().roles[0], load_bank().roles[2]
    assert baker.places[1] == Place("in a pastry shop", "in", "a", "pastry shop")
    assert ceo.places[2] == Place("at company headquarters", "at", "", "company headquarters")
    assert baker.activity == Activity(
        "kneading dough", ("bakery", "commercial kitchen"), ("items",)
    )
    # Without `at`, an activity suits every place of the role.
    assert baker.activities[2].at == ("bakery", "pastry shop", "commercial kitchen")


def test_a_preposition_of_several_words(changed: Changed) -> None:
    path = changed(("outside a burning building", "in front of a burning building"))
    place = load_bank(path).roles[6].places[1]
    assert (place.preposition, place.article, place.name) == (
        "in front of",
        "a",
        "burning building",
    )


# the words of the shipped bank, what stands there instead, the line by its text, the message
REFUSED = [
    ("version =", "versoin =", "versoin", "unknown key 'bank.versoin'. did you mean 'version'"),
    ('soc = "51-0000"\nwork', 'socc = "51-0000"\nwork', "socc", "unknown key 'roles.socc'"),
    ("\n[everyday]\n", "\n[evryday]\n", "[evryday]", "unknown key 'evryday'. did you mean"),
    ('{ text = "on a pier" }', "{ text = 7 }", "text = 7", "everyday.places.text: input should be"),
    ('at = ["bowling alley"', 'on = ["bowling alley"', "on = [", "key 'everyday.activities.on'"),
    ("seed = 2026", 'seed = "x"', "seed =", "bank.seed: input should be a valid integer"),
    ('name = "judge"\n', "", 'soc = "23', "roles.name: field required"),
    ('"in a barn"', "3", "3,", "roles.places: input should be a valid string"),
    ('"in a barn"', '"barn"', '"barn"', "the place 'barn' is not a preposition and a name"),
    ('at = ["barn"]', 'at = ["bern"]', '"bern"', "'bern' is no place of this role. did you mean"),
    ('at = ["crosswalk"]', 'at = ["crosswlk"]', '"crosswlk"', "'crosswlk' is no everyday place"),
    ('"fire", "vehicle"]\nplaces', '"fir"]\nplaces', '"fir"', "'fir' is no tag in [tags]"),
    ('tags = ["art"]', 'tags = ["arts"]', '"arts"', "'arts' is no tag in [tags]. did you mean"),
    (
        '"raking leaves", at = ["backyard"], names = ["items"]',
        '"raking leaves", at = ["backyard"], names = ["item"]',
        "raking leaves",
        "'item' is no dimension. did you mean 'items'",
    ),
    ('"crossing the street", at = ["crosswalk"]', '"crossing the street"', "crossing the street",
     "'crossing the street' has no place"),
    ('work = ["sport", "stage"]', 'avoid = ["kitchn"]', '"kitchn"',
     "'kitchn' is no everyday context. did you mean 'kitchen'"),
    ('"harvesting grain", at = ["wheat field"]', '"harvesting grain", at = ["barn"]',
     "in a wheat field", "no activity of 'farmer' fits its first place, 'wheat field'"),
    ('"in a barn"', '"in —"', '"in —"', "the place 'in —' is not a preposition and a name"),
    ('"framing a wall"', '"…"', '"…"', "roles.activities.text: '…' has no word"),
    ('language = "en"', 'language = "eng"', '"eng"', "there is no language 'eng'"),
    ('name = "judge"\n', 'name = "all"\n', 'name = "all"', "'all' has a meaning of its own"),
    ('name = "judge"\n', 'name = "judge, jury"\n', "judge, jury", "'judge, jury' has a comma"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "where", "message"), REFUSED)
def test_a_bank_that_cannot_be_built_is_refused_with_the_line(
    old: str, new: str, where: str, message: str, changed: Changed
) -> None:
    path = changed((old, new))
    with pytest.raises(BankError) as caught:
        load_bank(path)
    error = f"{caught.value.problem}. {caught.value.fix}"
    assert message in error
    line = int(error.removeprefix(f"{path}:").split(":")[0])
    assert abs(line - line_of(path, where)) <= (2 if "required" in error else 0), error


def test_a_role_that_is_there_twice_names_both_lines(changed: Changed) -> None:
    path = changed(('name = "welder"', 'name = "baker"'))
    headers = [
        number
        for number, row in enumerate(path.read_text("utf-8").splitlines(), 1)
        if row == "[[roles]]"
    ]
    with pytest.raises(
        BankError, match=rf"mine.toml:{headers[11]}: the role 'baker' .*{headers[0]}"
    ):
        load_bank(path)


def test_broken_toml_names_the_place(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("[bank]\nname = \n", "utf-8")
    with pytest.raises(BankError, match=r"broken.toml is not TOML: .*line 2"):
        load_bank(path)


def test_an_empty_file_is_no_bank(tmp_path: Path) -> None:
    path = tmp_path / "empty.toml"
    path.touch()
    with pytest.raises(BankError, match="bank: field required"):
        load_bank(path)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "picture.toml"
    path.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(BankError, match=r"picture.toml' cannot be read"):
        load_bank(path)


def test_a_folder_is_no_bank(tmp_path: Path) -> None:
    with pytest.raises(BankError, match="cannot be read"):
        load_bank(tmp_path)


def test_a_bank_that_is_not_there_names_the_shipped_one() -> None:
    with pytest.raises(BankError, match=r"no bank 'contxtbench'. [Dd]id you mean 'contextbench'"):
        load_bank("contxtbench")
    with pytest.raises(BankError, match=r"no bank 'my/bank.toml'. [Gg]ive a bank that ships"):
        load_bank("my/bank.toml")
