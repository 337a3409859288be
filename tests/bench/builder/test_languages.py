"""A language of one's own beside a bank."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextbias.bench import build_prompts, check_bank, load_bank
from contextbias.bench.language import indefinite_article, load_language_file
from contextbias.errors import BankError

SPANISH = """
name = "Spanish"
articles = ["un", "una", "el", "la"]
prepositions = ["en", "junto a"]
activity_ending = "ndo"
[words]
demographic = ["mujer"]
"""
BANK = """
[bank]
name = "mio"
version = "1"
language = "es.toml"
phrasings = ["una foto de", "una imagen de", "una fotografía de"]
[everyday]
places = [{ text = "en un parque" }, { text = "en una plaza" }, { text = "junto a un lago" }]
activities = [
  { text = "paseando", at = ["parque", "plaza"] },
  { text = "leyendo", at = ["parque", "plaza"] },
]
[[roles]]
name = "apicultor"
form = "un apicultor"
places = ["en un colmenar", "en una granja", "en un campo"]
activities = [{ text = "cuidando colmenas" }, { text = "abriendo una colmena" }]
"""


def written(tmp_path: Path, language: str = SPANISH, bank: str = BANK) -> Path:
    (tmp_path / "es.toml").write_text(language)
    (tmp_path / "bank.toml").write_text(bank)
    return tmp_path / "bank.toml"


def test_a_bank_finds_its_language_beside_itself(tmp_path: Path) -> None:
    bank = load_bank(written(tmp_path))
    assert bank.language.name == "Spanish"
    texts = [prompt.text for prompt in build_prompts(bank)]
    assert "una foto de un apicultor cuidando colmenas en un colmenar" in texts
    assert {fault.rule for fault in check_bank(bank)} == {"pool", "related"}


def test_what_the_language_lists_is_found(tmp_path: Path) -> None:
    bank = written(tmp_path, bank=BANK.replace("en una granja", "en una granja de una mujer"))
    assert "demographic" in {fault.rule for fault in check_bank(load_bank(bank))}


def test_an_article_that_no_rule_tells_has_to_be_written(tmp_path: Path) -> None:
    path = written(tmp_path, bank=BANK.replace('form = "un apicultor"\n', ""))
    with pytest.raises(BankError, match=r"bank\.toml:\d+: the article of 'apicultor'"):
        load_bank(path)
    assert indefinite_article(load_language_file(tmp_path / "es.toml"), "apicultor") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "is not TOML"),
        ('name = "x"\narticles = ["un"]\n', "has no prepositions"),
        (SPANISH.replace('"Spanish"', '""'), "has no name"),
        (SPANISH.replace('["un", "una", "el", "la"]', "3"), "is no language"),
        (SPANISH.replace("[words]", "words = 3\n[x]"), "is no language"),
    ],
)
def test_a_file_that_is_no_language(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(BankError, match=said):
        load_bank(written(tmp_path, text))


def test_a_language_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "bank.toml").write_text(BANK)
    with pytest.raises(BankError, match=r"bank\.toml:5: cannot read the language .*es\.toml"):
        load_bank(tmp_path / "bank.toml")
