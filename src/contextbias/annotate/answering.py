"""What annotators do: sign in, agree, see their next item, answer. No web in it.

One object in the one process that writes. What changes rarely (items, assignments, links) is kept
in memory; answers are read from the store and are committed before `submit` returns.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Any

from contextbias.annotate.invitation import (
    assign_rest,
    consent_hash,
    section_of,
    token_hash,
)
from contextbias.annotate.questions import Question, question, words
from contextbias.annotation_tables import (
    SET,
    TRAINING,
    AnnotationItemRow,
    AnnotationPlanRow,
    AnnotatorRow,
    AnswerRow,
    AssignmentRow,
)
from contextbias.config import AnnotateSection
from contextbias.errors import InputError
from contextbias.people import Annotations
from contextbias.people.annotations import now

_PACE_KNOWN = 20
# Answers after which the time that is left is told from an annotator's own.

_YEAR = 365 * 24 * 3600.0

LONGEST_SECONDS = 3600.0
"""Longer times on a question are cut to this: the page was left open."""


@dataclass(frozen=True, slots=True)
class Task:
    """One item for one annotator."""

    assignment: AssignmentRow
    """Who, which time, and in which order the pictures are shown."""
    item: AnnotationItemRow
    """What."""

    @property
    def images(self) -> list[str]:
        """Ids of the pictures in the order of this annotator."""
        return [self.item.image_ids[place] for place in self.assignment.shown]


@dataclass(frozen=True, slots=True)
class Given:
    """An answer as the page sends it."""

    position: int
    """Which of the annotator's tasks."""
    dimension: str
    """Which question."""
    labels: tuple[str, ...]
    """Labels, or nothing where there is a reason."""
    missing_reason: str | None
    """Reason of missing."""
    count: int | None
    """Pictures of the set that show it."""
    seconds: float
    """Time on the question."""
    based_on: int
    """Version that was seen."""
    key: str
    """One for each answer that is given, however often it is sent."""
    age: float = 0.0
    """Seconds since it was given; more than a moment when it waited for the server."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an annotator is, in questions."""

    done: int
    """Questions with an answer."""
    total: int
    """All questions."""
    minutes_left: int
    """Estimate."""


class InvalidAnswer(ValueError):
    """What was sent is no answer to that question."""


class Answering:
    """The study as annotators meet it.

    Args:
        book: The annotation tables, open for writing, with a plan.
    """

    def __init__(self, book: Annotations) -> None:
        plan = book.plan()
        if plan is None:
            raise InputError("nobody was invited yet", "run `contextbias annotate invite` first")
        self.book = book
        self.plan: AnnotationPlanRow = plan
        self.section: AnnotateSection = section_of(plan)
        self.questions: tuple[str, ...] = tuple(plan.settings["questions"])
        self.refresh()

    def refresh(self) -> None:
        """Read again what an invitation, a revocation or a removal has changed."""
        self._forget("items", "annotators", "_tasks")

    def _forget(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)

    @cached_property
    def items(self) -> dict[str, AnnotationItemRow]:
        """All items by id."""
        return {row.item: row for row in self.book.items()}

    @cached_property
    def annotators(self) -> dict[str, AnnotatorRow]:
        """The latest row of each annotator, by name."""
        return {row.annotator: row for row in self.book.annotators()}

    @cached_property
    def _tasks(self) -> dict[str, list[Task]]:
        found: dict[str, list[Task]] = {}
        for row in self.book.assignments():
            if row.item in self.items:
                found.setdefault(row.annotator, []).append(Task(row, self.items[row.item]))
        return found

    # ---- people

    def sign_in(self, token: str) -> AnnotatorRow | None:
        """Whose link this is; None for nobody's, or a revoked one."""
        hashed = token_hash(token)
        for row in self.annotators.values():
            if row.token_sha256 is not None and hmac.compare_digest(row.token_sha256, hashed):
                return row
        return None

    def has_agreed(self, annotator: str) -> bool:
        """Whether the annotator has agreed to the text of the plan."""
        return self.annotators[annotator].consent == consent_hash(self.plan)

    def agree(self, annotator: str) -> None:
        """Note that the annotator has agreed to the text."""
        if self.has_agreed(annotator):
            return
        row = self.annotators[annotator]
        self.book.append_annotator(
            replace(row, consent=consent_hash(self.plan), consented_at=now(), created_at=now())
        )
        self.book.append_event("consented", annotator)
        self._forget("annotators")

    def remove(self, annotator: str) -> int:
        """Delete the annotator and all answers; open items go to others."""
        deleted = self.book.remove(annotator)
        assign_rest(self.book)
        self.refresh()
        return deleted

    # ---- tasks

    def tasks(self, annotator: str) -> list[Task]:
        """What an annotator is asked, in order."""
        return self._tasks.get(annotator, [])

    def task(self, annotator: str, position: int) -> Task | None:
        """The task at a position of this annotator; None where there is none."""
        for task in self.tasks(annotator):
            if task.assignment.position == position:
                return task
        return None

    def question(self, dimension: str, task: Task) -> Question:
        """The question about a task, with the role in it where study.toml wants that."""
        asked = question(dimension, task.item.kind)
        if dimension not in self.section.role_shown_for:
            return asked
        return replace(asked, text=f"Role: {words(task.item.role)}. {asked.text}")

    def next_position(self, annotator: str, after: int = -1) -> int | None:
        """Position of the next task with an open question: behind `after`, else the first one."""
        answered = self.book.answered(annotator)
        is_open = [
            task.assignment.position
            for task in self.tasks(annotator)
            if answered.get((task.item.item, task.assignment.repeat), 0) < len(self.questions)
        ]
        later = [position for position in is_open if position > after]
        return later[0] if later else is_open[0] if is_open else None

    def answers(self, annotator: str, task: Task) -> dict[str, AnswerRow]:
        """Dimension -> the latest answer about a task."""
        rows = self.book.answers(annotator, task.item.item)
        return {row.dimension: row for row in rows if row.repeat == task.assignment.repeat}

    def progress(self, annotator: str) -> Progress:
        """How far an annotator is."""
        total = len(self.tasks(annotator)) * len(self.questions)
        done = sum(self.book.answered(annotator).values())
        pace = self.book.pace(annotator)
        each = median(pace) if len(pace) >= _PACE_KNOWN else self.section.seconds_per_answer
        seconds = (total - done) * each
        return Progress(done, total, -(-int(seconds) // 60))

    # ---- answers

    def submit(self, annotator: str, given: Given) -> AnswerRow:
        """Store one answer; it is committed when this returns.

        Of answers that did not know of each other the one that was given last counts, not the one
        that came last: one may have waited on a device without a network.

        Raises:
            InvalidAnswer: It is no answer to a question that this annotator is asked.
        """
        return self.book.append_answer(self.checked(annotator, given))

    def checked(self, annotator: str, given: Given) -> AnswerRow:
        """The row of an answer, every field checked; its version is set when it is stored."""
        if not self.has_agreed(annotator):
            raise InvalidAnswer("the consent is missing")
        task = self.task(annotator, given.position)
        if task is None or given.dimension not in self.questions:
            raise InvalidAnswer("there is no such question")
        fault = self.question(given.dimension, task).fault(given.labels, given.missing_reason)
        if fault is not None:
            raise InvalidAnswer(fault)
        _check_count(given, task)
        if not (0 < len(given.key) <= 80 and 0 <= given.based_on < 10**6):
            raise InvalidAnswer("key or version is missing")
        return AnswerRow(
            annotator=annotator,
            item=task.item.item,
            repeat=task.assignment.repeat,
            dimension=given.dimension,
            version=1,
            labels=_tidy(given.labels),
            missing_reason=given.missing_reason,
            count=given.count,
            seconds=round(min(max(given.seconds, 0.0), LONGEST_SECONDS), 3),
            based_on=given.based_on,
            key=given.key,
            created_at=now(ago=min(max(given.age, 0.0), _YEAR)),
        )

    def feedback(self, task: Task, answer: AnswerRow) -> dict[str, Any] | None:
        """What is known about a training question, to be shown after its answer; else None."""
        if task.item.purpose != TRAINING:
            return None
        known = (task.item.gold or {}).get(answer.dimension)
        if known is None:
            return {"known": False}
        chosen = set(answer.labels or (answer.missing_reason or "",))
        texts = {c.value: c.text for c in question(answer.dimension, task.item.kind).choices}
        right = [texts.get(label, words(label)) for label in known["labels"]]
        return {
            "known": True,
            "right": bool(chosen & set(known["labels"])),
            "labels": right,
            "count": known["count"],
        }


def _check_count(given: Given, task: Task) -> None:
    needed = task.item.kind == SET and given.missing_reason is None
    if needed and given.count is None:
        raise InvalidAnswer("the number of pictures is missing")
    if not needed and given.count is not None:
        raise InvalidAnswer("no number of pictures is asked for")
    if given.count is not None and not 0 <= given.count <= len(task.item.image_ids):
        raise InvalidAnswer(f"{given.count} of {len(task.item.image_ids)} pictures")


def _tidy(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels without doubles (whatever their case) and outer spaces; else as they were typed."""
    found: dict[str, str] = {}
    for label in labels:
        word = " ".join(label.split())
        found.setdefault(word.casefold(), word)
    return tuple(found.values())
