"""Bases and variants of prompts that came without: which are phrasings of one another?

A sentence is cut at its role: what stands before is the phrasing (*a photo of a*), what follows is
the context (*kneading dough in a bakery*). Prompts of one role and condition with the same context
are phrasings of one base; a context that only one prompt has is a substitution.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from contextbias.bench.entries import ListedPrompt

LISTED = "listed"
"""Base of a prompt whose sentence does not name its role."""

_ARTICLE = re.compile(r"\s*\b(?:an?|the)$", re.IGNORECASE)
_LEADING = re.compile(
    r"^(?:at|in|on|inside|outside|near|beside|behind|under|by|in front of)\s+(?:(?:an?|the)\s+)?",
    re.IGNORECASE,
)
_KINDS = {"CA-R": "rel", "CA-U": "unrel"}


@dataclass(frozen=True, slots=True)
class Derived:
    """What a sentence turned out to be."""

    base: str
    """As `tables.Prompt` has it."""
    variant: str
    """Likewise."""
    location: str | None = None
    """Without preposition and article; None where it cannot be told."""
    activity: str | None = None
    """The activity; None where the sentence names none."""


@dataclass(frozen=True, slots=True)
class _Cut:
    phrasing: str
    context: str

    @property
    def is_activity(self) -> bool:
        """Whether the context begins with an -ing form."""
        first = self.context.split(" ")[0]
        return first.endswith("ing") and len(first) > len("thing")


def derive_variants(entries: Sequence[ListedPrompt]) -> list[Derived]:
    """Derive base and variant of every entry; what an entry says itself is kept.

    Returns:
        One for each entry; within a role and condition no two have the same base and variant.
    """
    cuts = [_cut(entry) for entry in entries]
    ranks = _ranks(cut.phrasing for cut in cuts if cut is not None)
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, entry in enumerate(entries):
        groups[(entry.role, entry.condition)].append(index)
    found: dict[int, Derived] = {}
    for (_, condition), members in groups.items():
        named = {i: cut for i in members if (cut := cuts[i]) is not None}
        derived = _free(named, ranks) if condition == "CF" else _placed(named, ranks, condition)
        derived |= {i: Derived(LISTED, "prompt") for i in members if i not in named}
        found |= _once({i: _said(entries[i], derived[i]) for i in members})
    return [found[index] for index in range(len(entries))]


def _cut(entry: ListedPrompt) -> _Cut | None:
    """Cut a sentence at its role; None where the role is not in it."""
    words = r"[\s_-]+".join(map(re.escape, entry.role.split()))
    match = re.search(rf"(?<!\w){words}(?!\w)", entry.text, re.IGNORECASE)
    if match is None:
        return None
    phrasing = _ARTICLE.sub("", entry.text[: match.start()].rstrip())
    return _Cut(phrasing.lower(), entry.text[match.end() :].strip(" ,.;:!"))


def _ranks(phrasings: Iterable[str]) -> dict[str, int]:
    """Phrasing -> its number over the whole list, the most frequent first."""
    return {phrasing: i for i, (phrasing, _) in enumerate(Counter(phrasings).most_common(), 1)}


def _free(cuts: Mapping[int, _Cut], ranks: Mapping[str, int]) -> dict[int, Derived]:
    return {
        i: Derived("cf", "prompt" if cut.context else f"phrasing-{ranks[cut.phrasing]}")
        for i, cut in cuts.items()
    }


def _placed(
    cuts: Mapping[int, _Cut], ranks: Mapping[str, int], condition: str
) -> dict[int, Derived]:
    """Prompts with a context: places and activities apart, then bases and substitutions."""
    places = [cut.context for cut in cuts.values() if not cut.is_activity]
    found: dict[int, Derived] = {}
    for is_activity, name in ((False, "place"), (True, "activity")):
        mine = {i: cut for i, cut in cuts.items() if cut.is_activity is is_activity}
        uses = Counter(cut.context for cut in mine.values())
        bases = [context for context, count in uses.items() if count > 1] or list(uses)[:1]
        for i, cut in mine.items():
            activity, place = _parts(cut, places)
            variant = f"phrasing-{ranks[cut.phrasing]}"
            number = bases.index(cut.context) + 1 if cut.context in bases else 0
            if number == 0:
                variant = _substitution(_parts(_Cut("", bases[0]), places), (activity, place))
            base = f"{_KINDS[condition]}-{name}" + (f"-{number}" if number > 1 else "")
            location = _LEADING.sub("", place) if place else None
            found[i] = Derived(base, variant, location, activity)
    return found


def _parts(cut: _Cut, places: Sequence[str]) -> tuple[str | None, str | None]:
    """Activity and place of a context; the place of an activity is one that stands alone too."""
    if not cut.is_activity:
        return None, cut.context or None
    fitting = [place for place in places if place and cut.context.endswith(f" {place}")]
    if not fitting:
        return cut.context, None
    place = max(fitting, key=len)
    return cut.context.removesuffix(place).rstrip(), place


def _substitution(base: tuple[str | None, str | None], other: tuple[str | None, str | None]) -> str:
    """What was substituted; both or unknown: ``substitute``."""
    activity, place = base[0] != other[0], base[1] != other[1]
    if activity == place:
        return "substitute"
    return "substitute-activity" if activity else "substitute-location"


def _said(entry: ListedPrompt, derived: Derived) -> Derived:
    """What the entry says itself goes before what was derived."""
    return Derived(
        entry.base or derived.base,
        entry.variant or derived.variant,
        entry.location or derived.location,
        entry.activity or derived.activity,
    )


def _once(found: Mapping[int, Derived]) -> dict[int, Derived]:
    """Number what would have the same base and variant."""
    seen: Counter[tuple[str, str]] = Counter()
    taken = {(each.base, each.variant) for each in found.values()}
    numbered = {}
    for i, each in found.items():
        key = (each.base, each.variant)
        seen[key] += 1
        variant = each.variant
        while seen[key] > 1 and (each.base, variant := f"{each.variant}-{seen[key]}") in taken:
            seen[key] += 1
        taken.add((each.base, variant))
        numbered[i] = Derived(each.base, variant, each.location, each.activity)
    return numbered
