"""Prompts that name a label: their truth is known, as far as the model complies.

For a role and a dimension a pair is made. The first prompt names the label that the role shows
most ("a photo of a male bartender", "a photo of a nurse wearing a mask"). The second one is its
negative: another label of the dimension ("a photo of a female bartender"), or in lists its absence
("a photo of a nurse without a mask"). Half of the pairs have no context, a quarter stands at the
role's related place and a quarter at its unrelated one, where the study has such prompts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from contextbias.bench.language import article_by_sound, load_language
from contextbias.errors import InputError
from contextbias.schema import DIMENSIONS
from contextbias.schema.wording import OPENING, ROLE, Named, phrase_of, verifiable
from contextbias.tables import Prompt

BASE = "explicit"
"""Base of all these prompts."""

_TURNS = ("CF", "CF", "CA-R", "CA-U")
_MASS = frozenset(
    {"bread", "clothing", "dough", "equipment", "flour", "food", "hay", "jewelry", "luggage",
     "machinery", "money", "paint", "paper", "paperwork", "produce", "water", "wood"}
)  # fmt: skip
_SINGULAR_S = ("ss", "us", "is")

Shares = Mapping[tuple[str, str], Sequence[str]]
"""(role, dimension) -> the labels that the role shows, the most frequent first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explicit:
    """One prompt that names a label."""

    role: str
    """The study's name of the role."""
    condition: str
    """``CF``, ``CA-R`` or ``CA-U``: whether, and where, it stands at a place."""
    location: str | None
    """The place; None in ``CF``."""
    text: str
    """The sentence."""
    named: Named
    """What it names."""

    @property
    def variant(self) -> str:
        """``mask-of-accessories`` or ``no-mask-of-accessories``: in paths, unique in a role."""
        words = (self.named.label, "of", self.named.dimension)
        return "-".join(words if self.named.present else ("no", *words)).replace(" ", "_")


@dataclass(frozen=True, slots=True)
class Frame:
    """How the sentences of one role are written."""

    form: str
    """The role's noun, as the study's prompts write it."""
    has_article: bool
    """Whether an article stands before it."""
    places: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Condition -> what follows the role (``in a hospital``), and the location's name."""


def frames_of(prompts: Sequence[Prompt]) -> dict[str, Frame]:
    """Read off a study's own prompts how its roles and places are written.

    Args:
        prompts: The prompts that generators are asked for.

    Returns:
        Role -> frame; roles without an English context-free prompt are left out.
    """
    frames: dict[str, Frame] = {}
    for prompt in prompts:
        match = re.fullmatch(rf"{OPENING} (an? )?(.+)", prompt.text, re.IGNORECASE)
        if prompt.condition == "CF" and match and prompt.role not in frames:
            frames[prompt.role] = Frame(match[2], match[1] is not None, {})
    for prompt in prompts:
        frame = frames.get(prompt.role)
        if frame is None or prompt.location is None or prompt.activity is not None:
            continue
        match = re.fullmatch(rf"{OPENING} (?:an? )?{re.escape(frame.form)} (.+)", prompt.text)
        if match and prompt.condition not in frame.places:
            places = {**frame.places, prompt.condition: (match[1], prompt.location)}
            frames[prompt.role] = Frame(frame.form, frame.has_article, places)
    return frames


def explicit_prompts(
    shares: Shares,
    frames: Mapping[str, Frame],
    count: int,
    *,
    can_tell: Callable[[str, str], bool],
    context_free: bool = False,
) -> list[Explicit]:
    """Build prompts for the leading labels of a study.

    Roles and dimensions take turns, so that every beginning of the list is spread evenly over both.
    When the leading label of each role and dimension has its pair, the second ones follow.

    Args:
        shares: What each role shows.
        frames: From `frames_of`.
        count: How many prompts; fewer where the labels give no more.
        can_tell: Whether a reader can tell (dimension, label).
        context_free: Without places.

    Raises:
        InputError: Nothing that the study shows can be named.
    """
    roles = [role for role in dict.fromkeys(role for role, _ in shares) if role in frames]
    overall = _overall(shares, can_tell)
    found: dict[tuple[str, Named], Explicit] = {}
    for role, named, turn in _turns(roles, shares, overall, can_tell):
        for each in (named, _negative(named, overall)):
            if each is not None and (role, each) not in found and len(found) < count:
                condition = "CF" if context_free else _TURNS[turn % len(_TURNS)]
                found[role, each] = _prompt(role, frames[role], condition, each)
    if not found:
        raise InputError(
            "none of the labels that this study shows can be named in an English prompt and read",
            f"dimensions with phrases are {', '.join(verifiable())}",
        )
    return list(found.values())


def _turns(
    roles: Sequence[str],
    shares: Shares,
    overall: Mapping[str, Sequence[str]],
    can_tell: Callable[[str, str], bool],
) -> Iterator[tuple[str, Named, int]]:
    """Role, label and place's turn: each role meets each dimension once before second labels."""
    dimensions = list(overall)
    usable = {
        (role, name): _usable(name, shares.get((role, name), ()), can_tell)
        for role in roles
        for name in dimensions
    }
    # Few roles still meet every dimension soon, and neither a role nor a dimension always has the
    # same place.
    step = max(1, round(len(dimensions) / max(1, len(roles))))
    for rank in range(max((len(labels) for labels in usable.values()), default=0)):
        for offset in range(len(dimensions)):
            for number, role in enumerate(roles):
                name = dimensions[(number * step + offset) % len(dimensions)]
                labels = usable[role, name]
                if rank < len(labels):
                    yield role, Named(name, labels[rank]), offset + (step + 1) * number


def _overall(shares: Shares, can_tell: Callable[[str, str], bool]) -> dict[str, list[str]]:
    """Dimension -> its labels that can be named, in the order of how many roles lead with them."""
    found: dict[str, list[str]] = {}
    for name in verifiable():
        ranked: dict[str, float] = {}
        for (_, dimension), labels in shares.items():
            if dimension == name:
                for rank, label in enumerate(labels):
                    ranked[label] = ranked.get(label, 0.0) + 1 / (1 + rank)
        seen = _usable(name, sorted(ranked, key=lambda y: (-ranked[y], y)), can_tell)
        if seen:
            others = [label for label in DIMENSIONS[name].vocabulary if label not in seen]
            found[name] = [*seen, *_usable(name, others, can_tell)]
    return found


def _usable(name: str, labels: Sequence[str], can_tell: Callable[[str, str], bool]) -> list[str]:
    return [y for y in labels if can_tell(name, y) and phrase_of(Named(name, y), _noun) is not None]


def _negative(named: Named, overall: Mapping[str, Sequence[str]]) -> Named | None:
    if DIMENSIONS[named.dimension].kind == "many":
        return Named(named.dimension, named.label, present=False)
    others = [label for label in overall[named.dimension] if label != named.label]
    return Named(named.dimension, others[0]) if others else None


def _prompt(role: str, frame: Frame, condition: str, named: Named) -> Explicit:
    suffix, location = frame.places.get(condition, ("", None))
    phrase = str(phrase_of(named, _noun))
    goes_before = phrase.endswith(ROLE)
    noun = phrase.replace(ROLE, frame.form) if goes_before or not suffix else frame.form
    parts = [OPENING, _article(noun) if frame.has_article else "", noun, suffix]
    text = " ".join(part for part in parts if part)
    if suffix and not goes_before:
        text += f", {phrase.removeprefix(ROLE).strip()}"
    return Explicit(
        role=role,
        condition=condition if suffix else "CF",
        location=location,
        text=text,
        named=named,
    )


def _article(phrase: str) -> str:
    return article_by_sound(load_language("en"), phrase)


def _noun(label: str) -> str:
    """A label of an open vocabulary with its article: none before plurals and mass nouns."""
    last = label.split()[-1].lower() if label.split() else ""
    is_plural = last.endswith("s") and not last.endswith(_SINGULAR_S)
    if is_plural or last in _MASS or not re.search(r"[^\W_]", label):
        return label
    return f"{_article(label)} {label}"
