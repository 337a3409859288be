"""Simulated annotators: they know what was planted, and err at random.

They stand for people in the demo, the documentation and the tests, and answer through the same
checks and the same tables. Each answer is, independently:

- with probability `unknown`: unknown;
- else with probability `error` (of this annotator): another label of the vocabulary, or for an open
  question another word that is offered; of lists, half of the errors are one label too many, or one
  too few where there are several, and the others put one other label in place of all;
- else right: of a set, the label that most pictures show.

The count of a set is the true one with a rounded normal error; the time is log-normal around six
seconds. Draws depend on the seed, the annotator, the item and the question alone.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from contextbias.annotate.answering import Answering, Given, Task
from contextbias.annotate.gold import known_about, planted_answers
from contextbias.annotate.invitation import SIMULATED, invite
from contextbias.annotate.questions import Question
from contextbias.annotation_tables import SET, AnswerRow
from contextbias.errors import InputError
from contextbias.files import StudyFiles
from contextbias.schema import EMPTY
from contextbias.tables import ImageRow

ERROR = (0.04, 0.12)
"""Range from which an annotator's probability of error is drawn."""

UNKNOWN_RATE = 0.03
"""Probability of an unknown answer."""

_PARTLY = 0.5
"""Share of the errors about a list that leave the rest of it right."""

_TOO_FEW = 0.5
"""Share of these that leave a label out, where there are several."""

_MEDIAN_SECONDS = 6.0


def simulate(
    answering: Answering, images: Sequence[ImageRow], files: StudyFiles, number: int
) -> dict[str, int]:
    """Invite simulated annotators and let them answer everything that they are asked.

    Simulated annotators who were invited earlier and have open questions answer, too, so that a
    call that was stopped can be repeated.

    Args:
        answering: The study.
        images: Its images.
        files: Where they are.
        number: How many simulated annotators there shall be.

    Returns:
        Annotator -> new answers.

    Raises:
        InputError: A picture that was drawn has no planted truth.
    """
    there = [row.annotator for row in answering.annotators.values() if row.kind == SIMULATED]
    if number > len(there):
        names = [f"simulated-{i + 1}" for i in range(len(there), number)]
        invite(answering.book, names, kind=SIMULATED)
        answering.refresh()
        there += names
    shown = {i for name in there for task in answering.tasks(name) for i in task.item.image_ids}
    known = planted_answers([i for i in images if i.image_id in shown], files)
    lacking = shown - set(known.by_image)
    if lacking:
        raise InputError(
            f"{len(lacking)} images have no planted truth, so nobody can be simulated",
            "simulated annotators answer about images of the simulated generator only",
        )
    made = {}
    for name in there:
        answering.agree(name)
        rows: list[AnswerRow] = []
        for task in answering.tasks(name):
            truth = known_about(task.item.image_ids, known, task.item.kind)
            rows += _answers(answering, name, task, truth)
        made[name] = answering.book.append_answers(rows)
    return made


def _answers(
    answering: Answering, name: str, task: Task, truth: Mapping[str, Mapping[str, Any]]
) -> list[AnswerRow]:
    there = answering.answers(name, task)
    seed = answering.plan.settings["seed"]
    rows = []
    for dimension in answering.questions:
        if dimension not in there:
            key = "\x1f".join(
                (str(seed), name, task.item.item, str(task.assignment.repeat), dimension)
            )
            luck = random.Random(key)
            error = random.Random(f"{seed}\x1f{name}").uniform(*ERROR)
            given = _answer(answering, task, dimension, truth[dimension], error, luck)
            rows.append(answering.checked(name, given))
    return rows


def _answer(
    answering: Answering,
    task: Task,
    dimension: str,
    truth: Mapping[str, Any],
    error: float,
    luck: random.Random,
) -> Given:
    asked = answering.question(dimension, task)
    reasons = {choice.value for choice in asked.choices if choice.is_reason}
    labels = [label for label in truth["labels"] if label not in reasons]
    reason = None
    if luck.random() < UNKNOWN_RATE or not labels:
        labels, reason = [], next((r for r in truth["labels"] if r in reasons), "unknown")
    elif luck.random() < error:
        labels = _wrong(asked, labels, luck)
    if not asked.several:
        labels = labels[:1] if len(labels) < 2 else [luck.choice(labels)]
    count = None
    if task.item.kind == SET and labels:
        size = len(task.item.image_ids)
        right = truth["count"] if truth["count"] is not None else size
        count = min(size, max(1, right + round(luck.gauss(0, 0.8))))
    return Given(
        position=task.assignment.position,
        dimension=dimension,
        labels=tuple(labels),
        missing_reason=reason,
        count=count,
        seconds=round(math.exp(luck.gauss(math.log(_MEDIAN_SECONDS), 0.5)), 2),
        based_on=0,
        key=f"simulated-{luck.getrandbits(64):016x}",
    )


def _wrong(asked: Question, labels: Sequence[str], luck: random.Random) -> list[str]:
    """An answer that is not `labels`, the right one."""
    words = [c.value for c in asked.choices if not c.is_reason] or list(asked.suggestions)
    other = luck.choice([word for word in words if word not in labels and word != EMPTY])
    if not asked.several or luck.random() >= _PARTLY:
        return [other]
    there = [label for label in labels if label != EMPTY]
    if len(there) > 1 and luck.random() < _TOO_FEW:
        there.remove(luck.choice(there))
        return there
    return [*there, other]
