"""What a list of prompts is made of, in numbers: for its reader, and against what could mislead.

Conditions differ in more than relatedness. Context-free sentences are shorter, for the reader and
for the encoder: length and context change together, and no statistic separates them. And the fewer
distinct contexts a condition has, the more alike its scenes are, whatever the role.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from contextbias.bench.tokens import CLIP_LIMIT, clip_tokens
from contextbias.tables import CONDITIONS, Prompt


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and range of a length."""

    mean: float
    low: int
    high: int

    def __str__(self) -> str:
        """``10.8 (8-16)``."""
        return f"{self.mean:.1f} ({self.low}-{self.high})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionSummary:
    """The prompts of one condition."""

    condition: str
    """``CF``, ``CA-R`` or ``CA-U``."""
    prompts: int
    """How many."""
    contexts: int
    """Distinct pairs of location and activity that they name; 0 for a condition that names none."""
    places: int
    """Distinct locations."""
    activities: int
    """Distinct activities."""
    words: Spread
    """Words a sentence."""
    characters: Spread
    """Characters a sentence."""
    tokens: Spread
    """CLIP tokens a sentence, start and end included."""
    are_tokens_exact: bool
    """False where some are estimated; see tokens.py."""


def summarise(prompts: Iterable[Prompt]) -> list[ConditionSummary]:
    """Summarise prompts by condition, in the order of `tables.CONDITIONS`; empty ones left out."""
    by_condition: dict[str, list[Prompt]] = {condition: [] for condition in CONDITIONS}
    for prompt in prompts:
        by_condition[prompt.condition].append(prompt)
    return [_summary(condition, rows) for condition, rows in by_condition.items() if rows]


def _summary(condition: str, prompts: Sequence[Prompt]) -> ConditionSummary:
    tokens = [clip_tokens(prompt.text) for prompt in prompts]
    return ConditionSummary(
        condition=condition,
        prompts=len(prompts),
        contexts=distinct_contexts(prompts),
        places=len({p.location for p in prompts if p.location}),
        activities=len({p.activity for p in prompts if p.activity}),
        words=_spread([len(p.text.split()) for p in prompts]),
        characters=_spread([len(p.text) for p in prompts]),
        tokens=_spread([count.number for count in tokens]),
        are_tokens_exact=all(count.is_exact for count in tokens),
    )


def distinct_contexts(prompts: Iterable[Prompt]) -> int:
    """How many distinct pairs of location and activity some prompts name."""
    pairs = {(prompt.location, prompt.activity) for prompt in prompts}
    return len(pairs - {(None, None)})


def _spread(lengths: Sequence[int]) -> Spread:
    return Spread(sum(lengths) / len(lengths), min(lengths), max(lengths))


def summary_text(prompts: Sequence[Prompt]) -> str:
    """The summary as lines of text: conditions, phrasings and variants, uses of contexts."""
    parts = [_conditions(prompts), _variants(prompts)]
    parts += [_uses(prompts, condition) for condition in ("CA-R", "CA-U")]
    return "\n\n".join(part for part in parts if part) + "\n"


def _conditions(prompts: Sequence[Prompt]) -> str:
    rows = summarise(prompts)
    head = ("condition", "prompts", "contexts", "places", "activities", "words", "characters",
            "CLIP tokens")  # fmt: skip
    cells = [
        (
            row.condition, f"{row.prompts:,}", str(row.contexts), str(row.places),
            str(row.activities), str(row.words), str(row.characters),
            f"{row.tokens}{'' if row.are_tokens_exact else ' estimated'}",
        )
        for row in rows
    ]  # fmt: skip
    notes = [f"Lengths: mean (range) a sentence; CLIP reads {CLIP_LIMIT} tokens at most."]
    if len(rows) > 1 and rows[0].condition == "CF":
        notes.append("Context-free sentences are shorter: length goes with context.")
    return "\n".join([*_aligned([head, *cells]), "", *notes])


def _variants(prompts: Sequence[Prompt]) -> str:
    """How many prompts each variant of each base has."""
    counts = Counter(f"{prompt.base}/{prompt.variant}" for prompt in prompts)
    return "\n".join(_aligned([("variant", "prompts"), *((k, str(n)) for k, n in counts.items())]))


def _uses(prompts: Sequence[Prompt], condition: str) -> str:
    """How many roles use each context of a condition, the most used first."""
    roles: dict[tuple[str, str], set[str]] = {}
    for prompt in prompts:
        if prompt.condition == condition:
            for kind, name in (("place", prompt.location), ("activity", prompt.activity)):
                if name is not None:
                    roles.setdefault((kind, name), set()).add(prompt.role)
    if not roles:
        return ""
    rows = sorted(roles.items(), key=lambda item: (item[0][0] != "place", -len(item[1])))
    head = (f"{condition} context", "kind", "roles")
    cells = ((name, kind, str(len(users))) for (kind, name), users in rows)
    return "\n".join(_aligned([head, *cells]))


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
