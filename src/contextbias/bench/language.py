"""What the bench knows of a language: articles, prepositions, and words that a context avoids.

The knowledge is data (``data/languages/*.toml``); another language is another file. Two ways of
choosing an article are known: by sound (*a*, *an*), and by the gender of the noun, which its ending
tells (*einem Bäcker*, *einer Bäckerin*). A language uses what its file has.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from contextbias.errors import BankError, nearest

_SPELLED_WITH_VOWEL = frozenset("AEFHILMNORSX")
"""Letters whose names begin with a vowel sound: ay, ee, ef, aitch, eye, el, em, en, oh, ar, ess,
ex."""

_SPELLED_NUMBER = re.compile(r"8|11(?!\d)|18(?!\d)")
"""Numbers that begin with a vowel sound: eight…, eleven, eighteen."""

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Language:
    """One language's data."""

    code: str
    """File name without extension: ``en``."""
    name: str
    """The language's name in English."""
    articles: tuple[str, ...]
    """Articles that may stand between a preposition and a place's name."""
    prepositions: tuple[str, ...]
    """Prepositions that a place may begin with, longest first."""
    an: tuple[str, ...]
    """Beginnings of words that take *an* against their spelling."""
    a: tuple[str, ...]
    """Beginnings of words that take *a* against their spelling."""
    spoken_capitals: frozenset[str]
    """Capitals that are spoken as a word, not letter by letter."""
    has_sounds: bool
    """Whether *a* or *an* is chosen by sound."""
    prepositions_of: Mapping[str, tuple[str, ...]]
    """Last word of a place's name -> the prepositions that it takes."""
    activity_ending: str
    """How the first word of an activity ends: ``ing``; empty where there is no such rule."""
    activity_beginnings: tuple[str, ...]
    """What the first word of an activity is: ``beim``; empty where there is no such rule."""
    has_capital_nouns: bool
    """Whether nouns begin with a capital."""
    genders: Mapping[str, str]
    """Ending of a noun, lower case -> its gender; the longest ending wins."""
    articles_of: Mapping[str, tuple[str, ...]]
    """Gender -> articles that may stand before the noun, the indefinite one of a role first."""
    contractions: Mapping[str, str]
    """Prepositions with an article in them -> the article: ``im`` -> ``dem``."""
    form_names: Mapping[str, tuple[str, ...]]
    """``m``, ``f``, ``n`` -> dimensions that this form of a role's noun spells out."""
    endings: tuple[str, ...]
    """Endings that `content_words` cuts off, longest first; empty: those of English."""
    words: Mapping[str, frozenset[str]]
    """Lists by purpose: demographic, attire, tool, brand, labels, mass, either, general, function,
    harmless_labels, harmless_phrases."""


LANGUAGE_FILE = ".toml"
"""How the ``language`` of a bank ends that is a file of one's own, beside the bank."""

_PURPOSES = (
    "demographic", "attire", "tool", "brand", "labels", "mass", "either", "general", "function",
    "harmless_labels", "harmless_phrases",
)  # fmt: skip


def load_language_file(path: Path) -> Language:
    """Load a language of one's own, in the form of those that ship.

    Args:
        path: A TOML file. ``name``, ``articles`` and ``prepositions`` have to be there; what else
            is left out is not checked.

    Raises:
        BankError: It cannot be read, or is no such file.
    """
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise BankError(f"cannot read the language {path}: {why}", "check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BankError(f"{path} is not TOML: {error}", "correct that line") from None
    for key in ("name", "articles", "prepositions"):
        if not table.get(key):
            raise BankError(f"{path} has no {key}", "see data/languages/en.toml of this package")
    try:
        words = dict.fromkeys(_PURPOSES, ()) | table.get("words", {})
        return _language(path.stem, {"prepositions_of": {}, **table, "words": words})
    except (TypeError, AttributeError, ValueError):
        raise BankError(
            f"{path} is no language: a table or list has another form",
            "see data/languages/en.toml of this package",
        ) from None


@cache
def load_language(code: str) -> Language:
    """Load a language's data.

    Raises:
        BankError: There is no such language.
    """
    folder = files("contextbias.bench").joinpath("data", "languages")
    known = sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir())
    if code not in known:
        hint = nearest(code, known) or f"known are {', '.join(known)}"
        raise BankError(f"there is no language {code!r}", hint)
    table = tomllib.loads(folder.joinpath(f"{code}.toml").read_text("utf-8"))
    return _language(code, table)


def _language(code: str, table: dict[str, Any]) -> Language:
    sound = table.get("article_by_sound", {})
    by_gender = table.get("article_by_gender", {})
    return Language(
        code=code,
        name=table["name"],
        articles=tuple(table["articles"]),
        prepositions=tuple(sorted(table["prepositions"], key=len, reverse=True)),
        an=tuple(sound.get("an", ())),
        a=tuple(sound.get("a", ())),
        spoken_capitals=frozenset(sound.get("spoken_capitals", ())),
        has_sounds=bool(sound),
        prepositions_of={k: tuple(v) for k, v in table["prepositions_of"].items()},
        activity_ending=table.get("activity_ending", ""),
        activity_beginnings=tuple(table.get("activity_beginnings", ())),
        has_capital_nouns=table.get("has_capital_nouns", False),
        genders={
            end: gender for gender, ends in by_gender.get("endings", {}).items() for end in ends
        },
        articles_of={k: tuple(v) for k, v in by_gender.get("articles", {}).items()},
        contractions=by_gender.get("contractions", {}),
        form_names={k: tuple(v) for k, v in table.get("form_names", {}).items()},
        endings=tuple(sorted(table.get("endings", ()), key=len, reverse=True)),
        words={purpose: frozenset(words) for purpose, words in table["words"].items()},
    )


def indefinite_article(language: Language, phrase: str) -> str | None:
    """Choose the article of a role: by the gender of its last word, or by sound.

    Returns:
        None where the language chooses by gender and does not know that of the noun, or knows
        neither way.

    Raises:
        ValueError: `phrase` has no word.
    """
    if not language.genders:
        return article_by_sound(language, phrase) if language.has_sounds else None
    gender = gender_of(language, words_of(phrase)[-1])
    return None if gender is None else language.articles_of[gender][0]


def gender_of(language: Language, noun: str) -> str | None:
    """The gender that the longest listed ending of a noun tells; None for an unknown ending.

    Where no ending fits, the noun may be in the genitive: it is looked up without *-s* and *-es*.
    """
    word = noun.lower()
    for candidate in (word, word.removesuffix("s"), word.removesuffix("es")):
        fitting = [ending for ending in language.genders if candidate.endswith(ending)]
        if fitting:
            return language.genders[max(fitting, key=len)]
    return None


def article_by_sound(language: Language, phrase: str) -> str:
    """Choose *a* or *an* by the sound that `phrase` begins with.

    Capitals are spelled out (*a CEO*, *an MRI scan*, *an X-ray*) unless the language lists them as
    spoken; numbers are read (*an 8-hour shift*); else the longest listed beginning decides, else
    the first letter.

    Raises:
        ValueError: `phrase` has no word.
    """
    match = _WORD.search(phrase)
    if match is None:
        raise ValueError(f"no word in {phrase!r}")
    first = match.group().split("-")[0].split("’")[0].split("'")[0]
    if first[0].isdigit():
        return "an" if _SPELLED_NUMBER.match(first) else "a"
    if first.isupper() and first not in language.spoken_capitals:
        return "an" if first[0] in _SPELLED_WITH_VOWEL else "a"
    return _by_spelling(language, first.lower())


def _by_spelling(language: Language, word: str) -> str:
    listed = [(len(b), "an") for b in language.an if word.startswith(b)]
    listed += [(len(b), "a") for b in language.a if word.startswith(b)]
    if listed:
        return max(listed)[1]
    return "an" if word[0] in "aeiou" else "a"


def words_of(text: str) -> list[str]:
    """Split into words, lower case; hyphens and apostrophes inside a word stay."""
    return [match.group().lower() for match in _WORD.finditer(text)]


def content_words(language: Language, text: str) -> frozenset[str]:
    """Reduce `text` to the stems that carry its sense.

    Articles, prepositions, function words and words too general to matter are left out; a
    possessive, an *-ing* and a plural *-s* are cut off, so that *drinks* and *drinking* meet; in
    another language the endings that its data list.
    """
    idle = (
        language.words["function"]
        | language.words["general"]
        | frozenset(language.articles)
        | frozenset(language.prepositions)
    )
    return frozenset(_stem(language, word) for word in words_of(text) if word not in idle)


def _stem(language: Language, word: str) -> str:
    if language.endings:
        fitting = (
            end for end in language.endings if word.endswith(end) and len(word) > 2 + len(end)
        )
        ending = next(fitting, "")
        return _stem(language, word.removesuffix(ending)) if ending else word
    for ending in (r"['’]s?$", r"ing$", r"(?<=sh)es$|(?<=ch)es$|(?<=[sxz])es$|(?<!s)s$"):
        shorter = re.sub(ending, "", word)
        word = shorter if len(shorter) >= 3 else word
    # "serve" and "serving" meet, "care" and "car" do not.
    return word.removesuffix("e") if len(word) >= 5 else word


def articles_with_nouns(language: Language, text: str) -> Iterator[tuple[str, str]]:
    """Yield every article in `text` with the noun that it belongs to.

    For languages whose nouns begin with a capital; an article inside a preposition (*im*) counts.
    """
    article = None
    for word in text.split():
        if word in language.contractions or word in language.articles:
            article = language.contractions.get(word, word)
        elif article is not None and word[0].isupper():
            yield article, word
            article = None


def articles_used(text: str) -> Iterator[tuple[str, str]]:
    """Yield every *a* or *an* in `text` with the rest of the sentence after it."""
    for match in re.finditer(r"(?<![\w'’-])(an?)\s+(?=(\S.*))", text):
        yield match.group(1), match.group(2)
