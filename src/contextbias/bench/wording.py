"""Rules for the words of a single context: grammar, and what it must not give away."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from contextbias.bench.bank import Activity, Bank, Place
from contextbias.bench.fault import Entry, Fault
from contextbias.bench.language import (
    Language,
    article_by_sound,
    articles_used,
    articles_with_nouns,
    gender_of,
    words_of,
)
from contextbias.schema import DIMENSIONS, EMPTY

_FORBIDDEN = {
    "demographic": "describes people",
    "attire": "names attire, which is measured",
    "tool": "names a tool, which is measured",
    "brand": "is a brand",
    "labels": "is a label of the schema, or close to one",
}

_RULE_OF = {"labels": "attribute"}

_POSTMODIFIER = re.compile(r"\s(?:of|under|with|for|at|in|on)\s")
"""What follows describes the place's name and is not its last word: *house under construction*."""

_NO_NAMES = ", and names and brands do not belong in a context"

_MOST_WORDS = 12
_SIGNS = "'’-,&./"

_NO_LABELS = frozenset({"yes", "no", EMPTY})


def without_allowed(bank: Bank, text: str) -> str:
    """`text` without the words and phrases that the bank's ``[checks]`` allow, whatever the case.

    What is no more in it is not to be found fault with.
    """
    for phrase in bank.allowed:
        text = re.sub(rf"(?<!\w){re.escape(phrase)}(?!\w)", " ", text, flags=re.IGNORECASE)
    return text


def _is_allowed(bank: Bank, entry: Entry, words: str) -> bool:
    left = " ".join(words_of(without_allowed(bank, entry.context.text)))
    return bool(bank.allowed) and f" {words.lower()} " not in f" {left} "


def article_faults(bank: Bank, entry: Entry) -> Iterator[Fault]:
    """The article that sound or gender asks for; one where it is needed, and none elsewhere."""
    language, context = bank.language, entry.context
    if language.genders:
        yield from _gender_faults(bank, entry)
    elif language.has_sounds:
        yield from _sound_faults(bank, entry)
    else:
        return  # a language of one's own that says nothing of its articles
    if isinstance(context, Place):
        head = head_of(context.name)
        if _is_allowed(bank, entry, head):
            return
        bare = _takes_no_article(language, head)
        if bare and context.article in ("a", "an"):
            message = (
                f"{context.text!r}: no {context.article!r} before the plural or mass noun {head!r}"
            )
            yield entry.fault(bank, "article", message)
        is_there = context.article or context.preposition in language.contractions
        if not bare and not is_there and head not in language.words["either"]:
            yield entry.fault(bank, "article", f"{context.text!r} has no article before {head!r}")


def _sound_faults(bank: Bank, entry: Entry) -> Iterator[Fault]:
    text = entry.context.text
    for article, rest in articles_used(text):
        right = article_by_sound(bank.language, rest)
        if article != right and not _is_allowed(bank, entry, f"{article} {words_of(rest)[0]}"):
            message = f"{text!r} needs {right!r}, not {article!r}, before {rest!r}"
            yield entry.fault(bank, "article", message)


def _gender_faults(bank: Bank, entry: Entry) -> Iterator[Fault]:
    """Nouns whose ending the language does not list pass."""
    language, text = bank.language, entry.context.text
    for article, noun in articles_with_nouns(language, text):
        gender = gender_of(language, noun)
        wrong = gender is not None and article not in language.articles_of[gender]
        if gender is not None and wrong and not _is_allowed(bank, entry, noun):
            right = " or ".join(map(repr, language.articles_of[gender]))
            message = f"{text!r} needs {right}, not {article!r}, before {noun!r} ({gender})"
            yield entry.fault(bank, "article", message)


def _takes_no_article(language: Language, head: str) -> bool:
    if head in language.words["mass"]:
        return True
    # Plurals are told by their -s where nouns have no gender of their own.
    by_ending = not language.genders and head.endswith("s")
    is_plural = by_ending and not head.endswith(("ss", "us", "is"))
    return is_plural and head not in language.words["either"]


def head_of(name: str) -> str:
    """The noun that a place's name turns on: *house* in *house under construction*."""
    return words_of(_POSTMODIFIER.split(name)[0])[-1]


def preposition_faults(bank: Bank, entry: Entry) -> Iterator[Fault]:
    """The preposition that the place's noun takes; nouns that the language does not list pass."""
    place = entry.context
    if not isinstance(place, Place):
        return
    head = head_of(place.name)
    known = bank.language.prepositions_of.get(head)
    if known is None or place.preposition in known or _is_allowed(bank, entry, head):
        return
    message = f"{place.text!r}: {head!r} takes {' or '.join(map(repr, known))}"
    yield entry.fault(bank, "preposition", message)


def word_faults(bank: Bank, entry: Entry) -> Iterator[Fault]:
    """No demographic word, attire, tool or brand."""
    for word in dict.fromkeys(_words_and_parts(without_allowed(bank, entry.context.text))):
        for purpose, why in _FORBIDDEN.items():
            if word in bank.language.words.get(purpose, ()):
                rule = _RULE_OF.get(purpose, purpose)
                yield entry.fault(bank, rule, f"{entry.context.text!r}: {word!r} {why}")


def _words_and_parts(text: str) -> Iterator[str]:
    """Words, the parts of hyphenated ones, and possessives without their ending."""
    for word in words_of(text):
        yield word
        yield from (re.sub(r"['’]s?$", "", part) for part in word.split("-"))


def attribute_faults(bank: Bank, entry: Entry) -> Iterator[Fault]:
    """No label of a closed vocabulary of the schema: it would put the answer into the prompt."""
    text = f" {' '.join(words_of(without_allowed(bank, entry.context.text)))} "
    for phrase in bank.language.words["harmless_phrases"]:
        text = text.replace(f" {phrase} ", " ")
    harmless = bank.language.words["harmless_labels"] | _NO_LABELS
    for dimension in DIMENSIONS.values():
        for label in dimension.vocabulary:
            if label not in harmless and f" {label.replace('_', ' ')} " in text:
                message = f"{entry.context.text!r}: {label!r} is a label of {dimension.name}"
                yield entry.fault(bank, "attribute", message)


def role_word_faults(bank: Bank, entry: Entry) -> Iterator[Fault]:
    """No role's name: it would put a second person or a second role into the picture."""
    text = f" {' '.join(_words_and_parts(without_allowed(bank, entry.context.text)))} "
    for role in bank.roles:
        if any(f" {word.lower()} " in text for word in {role.name, role.form}):
            message = f"{entry.context.text!r} names the role {role.name!r}"
            yield entry.fault(bank, "role-word", message)


def form_faults(bank: Bank, entry: Entry) -> Iterator[Fault]:
    """One short line of plain words, without a stop; an activity that begins as one."""
    text = entry.context.text
    if text != " ".join(text.split()) or not text[-1].isalnum():
        yield entry.fault(bank, "form", f"{text!r} has stray spaces or a stop at its end")
    number = len(text.split())
    if number > _MOST_WORDS:
        message = f"{text!r} has {number} words, should have {_MOST_WORDS} at most"
        yield entry.fault(bank, "form", message)
    odd = dict.fromkeys(c for c in text if unicodedata.category(c)[0] not in "LMNZ")
    if foreign := "".join(c for c in odd if c not in _SIGNS):
        yield entry.fault(bank, "form", f"{text!r}: {foreign!r} does not belong in a context")
    if isinstance(entry.context, Activity):
        yield from _beginning_faults(bank, entry)
    if bank.language.has_capital_nouns:
        return
    for word in without_allowed(bank, text).split():
        if word != word.lower() and not re.match(r"[A-Z]{2,}|[A-Z]-", word):
            yield entry.fault(bank, "form", f"{text!r}: {word!r} is not lower case{_NO_NAMES}")


def _beginning_faults(bank: Bank, entry: Entry) -> Iterator[Fault]:
    text, language = entry.context.text, bank.language
    first = words_of(text)[0]
    if not first.endswith(language.activity_ending):
        message = f"{text!r} does not begin with a verb in -{language.activity_ending}"
        yield entry.fault(bank, "form", message)
    if language.activity_beginnings and first not in language.activity_beginnings:
        allowed = " or ".join(map(repr, language.activity_beginnings))
        yield entry.fault(bank, "form", f"{text!r} does not begin with {allowed}")


WORDING_RULES = (
    article_faults,
    preposition_faults,
    word_faults,
    attribute_faults,
    role_word_faults,
    form_faults,
)
"""All rules of this module, in the order in which their faults are reported."""
