"""The German bank: forms of a role's noun, articles by gender, checks."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from contextbias.bench import BenchOptions, build_prompts, check_bank, load_bank
from contextbias.bench.assignment import assign_unrelated
from contextbias.bench.language import content_words, gender_of, indefinite_article, load_language
from contextbias.errors import BankError

BANK = load_bank("contextbench-de")
PROMPTS = build_prompts(BANK)
GERMAN = load_language("de")


def test_the_first_twelve_roles_in_both_forms_two_with_a_neutral_one() -> None:
    english = load_bank().role_names[:12]
    assert tuple(role.stem for role in BANK.entries) == english
    forms: dict[str, str] = defaultdict(str)
    for role in BANK.roles:
        forms[role.stem] += role.gender or "?"
    assert forms == {
        **dict.fromkeys(english, "mf"), "firefighter": "mfn", "nurse": "mfn",
    }  # fmt: skip


def test_each_form_has_the_18_prompts() -> None:
    assert len(PROMPTS) == 18 * (2 * 12 + 2)
    for role in BANK.role_names:
        counts = Counter(p.condition for p in PROMPTS if p.role == role)
        assert counts == {"CF": 3, "CA-R": 7, "CA-U": 8}


def test_forms_of_a_role_have_the_same_contexts() -> None:
    assigned = assign_unrelated(BANK)
    assert assigned["nurse (m)"] == assigned["nurse (f)"] == assigned["nurse (n)"]
    masculine, feminine = (
        [(p.base, p.variant, p.location, p.activity) for p in PROMPTS if p.role == role]
        for role in ("baker (m)", "baker (f)")
    )
    assert masculine == feminine


def test_sentences_by_hand() -> None:
    by = {(p.role, p.base, p.variant): p.text for p in PROMPTS}
    assert by[("baker (m)", "cf", "phrasing-1")] == "ein Foto von einem Bäcker"
    assert by[("baker (f)", "rel-place", "phrasing-2")] == (
        "eine Fotografie von einer Bäckerin in einer Bäckerei"
    )
    assert by[("doctor (m)", "rel-activity", "phrasing-3")] == (
        "ein realistisches Bild von einem Arzt beim Begutachten eines Röntgenbilds "
        "in einer Poliklinik"
    )
    assert by[("firefighter (n)", "cf", "phrasing-1")] == (
        "ein Foto von einer Einsatzkraft der Feuerwehr"
    )
    assert by[("nurse (n)", "cf", "phrasing-1")] == "ein Foto von einer Pflegefachkraft"


def test_a_gendered_noun_names_the_presentation_and_a_neutral_one_does_not() -> None:
    for prompt in PROMPTS:
        assert ("gender_presentation" in prompt.prompted) == (not prompt.role.endswith("(n)"))


# Every noun of the bank that stands after an article in the dative, with the article, by hand.
MASCULINE = {
    "Park", "Strand", "Wald", "Wanderweg", "See", "Bootssteg", "Campingplatz", "Kleingarten",
    "Garten", "Balkon", "Gehweg", "Marktplatz", "Zebrastreifen", "Radweg", "Parkplatz", "Bahnsteig",
    "Supermarkt", "Baumarkt", "Flohmarkt", "Waschsalon", "Rohbau", "Sitzungssaal", "Ballettsaal",
    "Probenraum", "Flugsteig", "Gerichtssaal", "Coworking-Space", "Serverraum",
}  # fmt: skip
FEMININE = {
    "Küche", "Tankstelle", "Bushaltestelle", "U-Bahn-Station", "Fähre", "Hotellobby", "Eisdiele",
    "Buchhandlung", "Postfiliale", "Bibliothek", "Kegelbahn", "Minigolfanlage", "Bäckerei",
    "Konditorei", "Backstube", "Möbelwerkstatt", "Firmenzentrale", "Aktionärsversammlung",
    "Theaterbühne", "Poliklinik", "Krankenhausstation", "Scheune", "Obstplantage", "Feuerwache",
    "Flugzeugkabine", "Bordküche", "Intensivstation", "Metallwerkstatt", "Werft", "Baustelle",
}  # fmt: skip
NEUTER = {
    "Treppenhaus", "Wohnzimmer", "Esszimmer", "Café", "Einkaufszentrum", "Möbelhaus",
    "Gartencenter", "Kunstmuseum", "Holzlager", "Eckbüro", "Untersuchungszimmer", "Weizenfeld",
    "Gebäude", "Übungsgelände", "Beratungszimmer", "Gerichtsgebäude", "Patientenzimmer",
    "Impfzentrum", "Großraumbüro",
}  # fmt: skip


def test_articles_of_all_places_by_hand() -> None:
    places = [*BANK.places, *(place for role in BANK.entries for place in role.places)]
    found = defaultdict(set)
    for place in places:
        found[place.article].add(place.name.split()[-1])
    assert found == {"einem": MASCULINE | NEUTER, "einer": FEMININE}
    assert {noun for noun in MASCULINE if gender_of(GERMAN, noun) != "masculine"} == set()
    assert {noun for noun in FEMININE if gender_of(GERMAN, noun) != "feminine"} == set()
    assert {noun for noun in NEUTER if gender_of(GERMAN, noun) != "neuter"} == set()


@pytest.mark.parametrize(
    ("noun", "article"),
    [
        ("Bäcker", "einem"), ("Bäckerin", "einer"), ("Feuerwehrmann", "einem"),
        ("Feuerwehrfrau", "einer"), ("Ärztin", "einer"), ("Landwirt", "einem"),
        ("Pflegefachkraft", "einer"), ("Verein", "einem"), ("Zimmer", "einem"), ("Xyz", None),
    ],
)  # fmt: skip
def test_the_article_of_a_noun(noun: str, article: str | None) -> None:
    assert indefinite_article(GERMAN, noun) == article


def test_a_genitive_has_the_gender_of_its_noun() -> None:
    # "Hundes" is "Hund", "Puzzles" is "Puzzle", "Hauses" is "Haus".
    words = ("Hundes", "Puzzles", "Hauses")
    assert [gender_of(GERMAN, word) for word in words] == ["masculine", "neuter", "neuter"]


def test_forms_of_a_word_meet() -> None:
    assert content_words(GERMAN, "beim Lesen eines Buchs") == content_words(GERMAN, "Lesen Buch")
    assert content_words(GERMAN, "Bäckerinnen") == content_words(GERMAN, "einem Bäcker")


# ---- checks


@pytest.mark.parametrize(
    "options",
    [
        BenchOptions(), BenchOptions(balanced=True), BenchOptions(unrelated="deranged"),
        BenchOptions(axes=("lighting",)),
    ],
)  # fmt: skip
def test_the_bank_has_no_fault(options: BenchOptions) -> None:
    assert check_bank(BANK, options) == []


def changed(folder: Path, old: str, new: str) -> Path:
    assert old in BANK.source.text
    path = folder / "meine.toml"
    path.write_text(BANK.source.text.replace(old, new), "utf-8")
    return path


@pytest.mark.parametrize(
    ("rule", "old", "new", "message"),
    [
        ("article", "in einer Scheune", "in einem Scheune", "needs 'einer' or 'der', not 'einem'"),
        ("article", "auf einer Werft", "am Werft", "not 'dem', before 'Werft' (feminine)"),
        ("article", "eines Zelts", "einer Zelts", "before 'Zelts' (neuter)"),
        ("article", "in einem Rohbau", "in Rohbau", "has no article before 'rohbau'"),
        ("preposition", '"auf einem Bahnsteig"', '"in einem Bahnsteig"', "takes 'auf' or 'am'"),
        ("demographic", "beim Angeln", "beim Begleiten einer Frau", "'frau' describes people"),
        ("attire", "beim Angeln", "beim Tragen einer Uniform", "'uniform' names attire"),
        ("tool", "beim Angeln", "beim Halten eines Laptop", "'laptop' names a tool"),
        ("attribute", "beim Kegeln", "beim Werfen einer roten Kugel", "'roten' is a label"),
        ("form", "beim Angeln", "Fische fangen", "does not begin with 'beim' or 'bei'"),
        ("role-word", "bei einer Visite", "bei einem Richter", "names the role 'judge (m)'"),
        ("overlap", 'work = ["clerical", "reading"]', "", "counts as unrelated to 'judge'"),
    ],
)
def test_a_breach_is_found(rule: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    found = check_bank(load_bank(changed(tmp_path, old, new)))
    assert [f for f in found if f.rule == rule and message in f.message], found


def test_an_article_that_is_not_known_is_to_be_written(tmp_path: Path) -> None:
    old = 'm = "Landwirt", f = "Landwirtin"'
    path = changed(tmp_path, old, 'm = "Kossät", f = "Landwirtin"')
    with pytest.raises(BankError, match=r"meine.toml:\d+: the article of 'Kossät' .*'einem'"):
        load_bank(path)
    path = changed(tmp_path, old, 'm = "einem Kossäten", f = "Landwirtin"')
    farmer = next(role for role in load_bank(path).roles if role.name == "farmer (m)")
    assert (farmer.article, farmer.form) == ("einem", "Kossäten")


def test_form_and_forms_are_too_much(tmp_path: Path) -> None:
    path = changed(tmp_path, 'name = "ceo"', 'name = "ceo"\nform = "Chef"')
    with pytest.raises(BankError, match=r"meine.toml:\d+: 'ceo' has form and forms"):
        load_bank(path)


def test_roles_are_found_with_and_without_their_form() -> None:
    assert {p.role for p in build_prompts(BANK, ["nurse"])} == {
        "nurse (m)", "nurse (f)", "nurse (n)"
    }  # fmt: skip
    assert {p.role for p in build_prompts(BANK, ["Nurse (F)"])} == {"nurse (f)"}
