"""What the administrator sees: how far everybody is, and how well it goes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from contextbias.annotate.answering import Answering, Progress
from contextbias.annotation_tables import SAMPLE, AnnotatorRow
from contextbias.people import Annotations, AnnotatorQuality, Rules, qualities


@dataclass(frozen=True, slots=True)
class Line:
    """One annotator."""

    row: AnnotatorRow
    """Who."""
    progress: Progress
    """How far."""
    quality: AnnotatorQuality
    """How well."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The study as a whole."""

    lines: list[Line]
    """Every annotator, by name."""
    items: int
    """Items of the sample."""
    per_item: int
    """How many people each item needs."""
    complete: dict[int, int]
    """Number of annotators -> items of the sample that so many have answered whole."""
    removed: int
    """How many annotators had themselves removed."""
    rules: Rules
    """What excludes, as declared."""
    declared_at: str
    """When."""


def overview_of(root: Path) -> Overview:
    """Progress and quality of everybody in the study in `root`, over a connection of its own.

    It reads every answer. In a thread of its own, that does not keep annotators waiting.
    """
    with Annotations.open(root) as book:
        return overview(Answering(book))


def overview(answering: Answering) -> Overview:
    """Progress and quality of everybody."""
    book = answering.book
    rules = Rules.declared(answering.plan)
    rows = book.by_annotator()
    found = qualities(rows, list(answering.items.values()), rules)
    sample = {item.item for item in answering.items.values() if item.purpose == SAMPLE}
    whole: Counter[str] = Counter()
    for name in answering.annotators:
        for (item, repeat), number in book.answered(name).items():
            if repeat == 0 and item in sample and number >= len(answering.questions):
                whole[item] += 1
    return Overview(
        lines=[
            Line(answering.annotators[q.annotator], answering.progress(q.annotator), q)
            for q in found
        ],
        items=len(sample),
        per_item=answering.section.annotators_per_item,
        complete=dict(sorted(Counter(whole[item] for item in sample).items())),
        removed=sum(event.what == "removed" for event in book.events()),
        rules=rules,
        declared_at=answering.plan.created_at,
    )
