"""How well each annotator answers, and whom the rules declared beforehand exclude.

Pure: rows in, numbers out. Nothing is deleted; an excluded annotator's answers stay in the store,
and who computes leaves them out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from contextbias.annotation_tables import (
    GOLD,
    SAMPLE,
    TRAINING,
    AnnotationItemRow,
    AnnotationPlanRow,
    LabelRow,
)

NEAR = 2
"""A count of pictures in a set is right when it is off by no more than this."""

LEAST = 5
"""A rule about shares needs this many answers; with fewer nobody is excluded by it."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Exclusion rules; an annotator who breaks one does not count."""

    faster_than: float = 0.0
    """Median time for an answer, in seconds, must not be below."""
    unknown_above: float = 1.0
    """Share of unknown answers must not be above."""
    gold_below: float = 0.0
    """Share of right answers about gold items must not be below."""
    repeats_below: float = 0.0
    """Share of equal answers the second time must not be below."""

    @classmethod
    def declared(cls, plan: AnnotationPlanRow | None) -> Rules:
        """The rules of a plan; without a plan none that excludes anybody."""
        if plan is None:
            return cls()
        settings = plan.settings["annotate"]
        names = ("faster_than", "unknown_above", "gold_below", "repeats_below")
        return cls(**{name: float(settings[f"exclude_{name}"]) for name in names})


@dataclass(frozen=True, slots=True)
class AnnotatorQuality:
    """One annotator's answers in numbers; a share of nothing is None."""

    annotator: str
    """Who."""
    answers: int
    """Answers about items of the sample, the first time."""
    median_seconds: float | None
    """Median time for one of them; None where no times are known (imported answers)."""
    unknown_share: float | None
    """Share of them that are ``unknown``."""
    gold_answers: int
    """Answers about gold items."""
    gold_right: float | None
    """Share of these that are right."""
    gold_counts_near: float | None
    """Of the right ones about sets: share with a count off by at most `NEAR`."""
    repeated: int
    """Questions that were answered a second time."""
    repeats_equal: float | None
    """Share of these with the same answer."""
    changed: int
    """Answers with more than one version."""
    breaks: tuple[str, ...]
    """Rules that are broken, in words; empty for who counts."""


def qualities(
    rows: Mapping[str, Sequence[LabelRow]], items: Sequence[AnnotationItemRow], rules: Rules
) -> list[AnnotatorQuality]:
    """Each annotator's quality, by name.

    Args:
        rows: Annotator -> latest answers (`Annotations.by_annotator`).
        items: All items, for what is known about gold.
        rules: What excludes.
    """
    gold = {item.item: item.gold or {} for item in items if item.purpose == GOLD}
    return [_quality(name, found, gold, rules) for name, found in sorted(rows.items())]


def excluded(found: Sequence[AnnotatorQuality]) -> dict[str, tuple[str, ...]]:
    """Annotator -> the rules that are broken, for each one who does not count."""
    return {quality.annotator: quality.breaks for quality in found if quality.breaks}


def is_right(row: LabelRow, known: Mapping[str, Any] | None) -> bool | None:
    """Whether an answer is one of the known ones; None where none is known."""
    if not known:
        return None
    if row.missing_reason is not None:
        return row.missing_reason in known["labels"]
    return bool(set(row.labels) & set(known["labels"]))


def _quality(
    name: str,
    rows: Sequence[LabelRow],
    gold: Mapping[str, Mapping[str, Any]],
    rules: Rules,
) -> AnnotatorQuality:
    first = [row for row in rows if row.purpose == SAMPLE and row.repeat == 0]
    timed = [row.seconds for row in first if row.seconds > 0]
    checked = [
        (row, is_right(row, gold[row.item].get(row.dimension)))
        for row in rows
        if row.item in gold and row.repeat == 0
    ]
    marks = [right for _, right in checked if right is not None]
    counts = [
        abs(row.count - gold[row.item][row.dimension]["count"]) <= NEAR
        for row, right in checked
        if right
        and row.count is not None
        and gold[row.item][row.dimension].get("count") is not None
    ]
    equal = _repeated(rows)
    quality = AnnotatorQuality(
        annotator=name,
        answers=len(first),
        median_seconds=median(timed) if timed else None,
        unknown_share=_share([row.missing_reason == "unknown" for row in first]),
        gold_answers=len(marks),
        gold_right=_share(marks),
        gold_counts_near=_share(counts),
        repeated=len(equal),
        repeats_equal=_share(equal),
        changed=sum(row.version > 1 for row in rows if row.purpose != TRAINING),
        breaks=(),
    )
    return _judged(quality, rules)


def _repeated(rows: Sequence[LabelRow]) -> list[bool]:
    """For each question that was answered twice: whether the answers are the same."""
    first = {(row.item, row.dimension): row for row in rows if row.repeat == 0}
    return [
        (set(row.labels), row.missing_reason) == (set(before.labels), before.missing_reason)
        for row in rows
        if row.repeat > 0 and (before := first.get((row.item, row.dimension))) is not None
    ]


def _share(marks: Sequence[bool]) -> float | None:
    return sum(marks) / len(marks) if marks else None


def _judged(quality: AnnotatorQuality, rules: Rules) -> AnnotatorQuality:
    seconds, unknown = quality.median_seconds, quality.unknown_share
    right, equal = quality.gold_right, quality.repeats_equal
    breaks = []
    enough = quality.answers >= LEAST
    if enough and seconds is not None and seconds < rules.faster_than:
        breaks.append(f"median of {seconds:.1f} s an answer, below {rules.faster_than:g} s")
    if enough and unknown is not None and unknown > rules.unknown_above:
        breaks.append(f"{unknown:.0%} unknown, above {rules.unknown_above:.0%}")
    if quality.gold_answers >= LEAST and right is not None and right < rules.gold_below:
        breaks.append(f"{right:.0%} of gold items right, below {rules.gold_below:.0%}")
    if quality.repeated >= LEAST and equal is not None and equal < rules.repeats_below:
        breaks.append(f"{equal:.0%} the same when asked again, below {rules.repeats_below:.0%}")
    return replace(quality, breaks=tuple(breaks))
