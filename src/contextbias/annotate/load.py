"""How much a study of people asks of each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from contextbias.annotate.invitation import section_of
from contextbias.annotation_tables import (
    SAMPLE,
    SET,
    AnnotationItemRow,
    AnnotationPlanRow,
    AssignmentRow,
)


@dataclass(frozen=True, slots=True)
class Load:
    """What is drawn, and how much of it each annotator answers."""

    sets: int
    """Sets in the sample."""
    images: int
    """Single pictures in the sample."""
    per_item: int
    """How many people answer about each of them."""
    dimensions: int
    """Questions about each of them."""
    questions: dict[str, int]
    """Annotator -> questions in all, with practice, gold items and repeats."""
    seconds_per_answer: float
    """As declared."""

    @property
    def most(self) -> int:
        """Questions of the annotator who has most."""
        return max(self.questions.values(), default=0)

    @property
    def hours(self) -> float:
        """Time that the annotator who has most will need, about."""
        return self.most * self.seconds_per_answer / 3600


def load_of(
    plan: AnnotationPlanRow,
    items: Sequence[AnnotationItemRow],
    assignments: Sequence[AssignmentRow],
    names: Sequence[str],
) -> Load:
    """The load of the annotators `names`, of what is assigned to them."""
    section = section_of(plan)
    dimensions = len(plan.settings["questions"])
    kinds = Counter(item.kind == SET for item in items if item.purpose == SAMPLE)
    number = Counter(row.annotator for row in assignments)
    return Load(
        sets=kinds[True],
        images=kinds[False],
        per_item=section.annotators_per_item,
        dimensions=dimensions,
        questions={name: number[name] * dimensions for name in names},
        seconds_per_answer=section.seconds_per_answer,
    )
