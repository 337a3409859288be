"""Articles by sound, heads of names, stems."""

from __future__ import annotations

import pytest

from contextbias.bench.language import (
    articles_used,
    content_words,
    indefinite_article,
    load_language,
    words_of,
)
from contextbias.bench.wording import head_of
from contextbias.errors import BankError

ENGLISH = load_language("en")


# As an English dictionary pronounces them (U.S.); the sound, not the letter, decides.
@pytest.mark.parametrize(
    "phrase",
    [
        "accountant", "actor", "artist", "editor", "electrician", "engineer", "entrepreneur",
        "umbrella", "usher", "unusual place", "uninvited guest", "unimportant thing", "onion",
        "onerous task", "hour", "hourly worker", "honest judge", "honorary degree", "heir",
        "heirloom", "herb garden", "X-ray", "MRI scan", "HR manager", "SOC group", "FBI agent",
        "8-hour shift", "11th floor", "18-wheeler", "80-seat room", "ice cream parlor", "app",
    ],
)  # fmt: skip
def test_an_before_a_vowel_sound(phrase: str) -> None:
    assert indefinite_article(ENGLISH, phrase) == "an"


@pytest.mark.parametrize(
    "phrase",
    [
        "CEO", "nurse", "university", "unicorn", "uniform", "union hall", "unit", "united team",
        "one-way street", "once-over", "European city", "ewe", "eulogy", "user", "used car",
        "usual day", "utility room", "UX designer", "U-turn", "UN office", "NASA engineer",
        "SWAT team", "house", "hotel", "historian", "history class", "hospital", "yacht", "youth",
        "1-mile walk", "110-page book", "180-degree view", "10-minute walk", "ukulele", "T-shirt",
    ],
)  # fmt: skip
def test_a_before_any_other_sound(phrase: str) -> None:
    assert indefinite_article(ENGLISH, phrase) == "a"


def test_a_phrase_without_a_word_has_no_article() -> None:
    with pytest.raises(ValueError, match="no word"):
        indefinite_article(ENGLISH, " - ")


def test_articles_in_a_sentence_with_what_follows() -> None:
    found = list(articles_used("a photo of a CEO reviewing an X-ray"))
    assert found == [
        ("a", "photo of a CEO reviewing an X-ray"),
        ("a", "CEO reviewing an X-ray"),
        ("an", "X-ray"),
    ]


def test_an_article_is_a_word_of_its_own() -> None:
    assert list(articles_used("a vitamin-a tablet, area, panda")) == [
        ("a", "vitamin-a tablet, area, panda")
    ]


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("bus stop", "stop"),
        ("house under construction", "house"),
        ("row of shops", "row"),
        ("ice cream parlor", "parlor"),
        ("farmers' market", "market"),
    ],
)
def test_the_noun_that_a_name_turns_on(name: str, head: str) -> None:
    assert head_of(name) == head


def test_words_keep_hyphens_and_apostrophes() -> None:
    assert words_of("Repairing a ship's hull; X-ray!") == [
        "repairing", "a", "ship's", "hull", "x-ray",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("serving drinks", "drinking coffee"),
        ("a ship's hull", "a ship"),
        ("washing the dishes", "a dish"),
        ("boxes", "a box"),
        ("preparing meals", "prepare food"),
    ],
)
def test_forms_of_a_word_meet(one: str, other: str) -> None:
    assert content_words(ENGLISH, one) & content_words(ENGLISH, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("an intensive care unit", "a car wash"),
        ("a fire station", "a train station"),
        ("on a stage", "on a beach"),
        ("at a bus stop", "business"),
    ],
)
def test_different_or_general_words_do_not(one: str, other: str) -> None:
    assert not content_words(ENGLISH, one) & content_words(ENGLISH, other)


def test_a_language_that_is_not_there() -> None:
    with pytest.raises(BankError, match="no language 'tlh'"):
        load_language("tlh")
