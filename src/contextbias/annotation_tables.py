"""The rows of an annotation study: what people were asked, and every version of every answer.

Tables of ``study.sqlite`` with one writer, annotate (people/annotations.py). Append-only: a changed
answer is a new row with the next ``version``, and the highest one counts. There are two exceptions,
of which an event is kept. An annotator asks to be removed: then all rows about this annotator are
deleted, and the event says only how many they were. A declaration is withdrawn that nobody has
answered: then it is deleted with its items, annotators and assignments.

A picture shows depicted figures, not people with an identity: labels are about how a picture looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SET = "set"
"""Kind of an item: pictures of one role, condition and generator, judged together."""

IMAGE = "image"
"""Kind of an item: a single picture."""

SAMPLE = "sample"
"""Purpose of an item: drawn with a known probability; the only items that estimates use."""

GOLD = "gold"
"""Purpose of an item: its answers are known, to see how well an annotator answers."""

TRAINING = "training"
"""Purpose of an item: its answers are known and shown after each answer, to learn from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationPlanRow:
    """What was declared before anyone answered. Table ``annotation_plans``; writer: annotate."""

    plan: str
    """Key. Content hash of ``settings`` and of the images that could be drawn."""
    settings: dict[str, Any]
    """Section [annotate] of study.toml as it was, its exclusion rules included, the study's seed,
    the questions asked, and the text of consent."""
    population: int
    """Images that could be drawn."""
    created_at: str
    """UTC, ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationItemRow:
    """What is shown at once: a set of pictures, or one. Table ``annotation_items``."""

    item: str
    """Key. Content hash of plan, kind, purpose and pictures."""
    plan: str
    """Which plan drew it."""
    kind: str
    """``set`` or ``image``."""
    purpose: str
    """``sample``, ``gold`` or ``training``."""
    generator: str
    """Which generator drew the pictures."""
    role: str
    """Which role."""
    condition: str
    """Which condition."""
    image_ids: tuple[str, ...]
    """The pictures, in an order of no meaning; each annotator sees another one."""
    probability: float | None
    """Probability that any one image of the cell (generator, role, condition) is shown in an item
    of this kind; null unless ``sample``. Its inverse is the image's weight."""
    cell_images: int
    """Images of the cell that could be drawn."""
    cell_drawn: int
    """Images of the cell that were drawn for items of this kind and purpose."""
    gold: dict[str, Any] | None
    """Dimension -> known answer: ``labels`` that are right, and ``count`` in a set; null where
    nothing is known."""
    created_at: str
    """UTC, ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorRow:
    """Somebody who answers, under a pseudonym. Table ``annotators``; writer: annotate."""

    annotator: str
    """Key, with ``version``. The pseudonym that stands in every table."""
    version: int
    """1 for the first row; a new link, consent or a revocation is the next one."""
    kind: str
    """``person``, ``simulated``, or ``imported`` from another program."""
    token_sha256: str | None
    """Hash of the secret in the personal link; null when there is no link, or it was revoked."""
    consent: str | None
    """Hash of the text that was agreed to; null before."""
    consented_at: str | None
    """UTC, ISO 8601; null before."""
    created_at: str
    """UTC, ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentRow:
    """Who sees which item, and when in the order. Table ``assignments``; writer: annotate."""

    annotator: str
    """Key, with ``item`` and ``repeat``."""
    item: str
    """Which item."""
    repeat: int
    """0 the first time; 1 when the same annotator is shown the item again, unannounced."""
    position: int
    """Place in the annotator's own random order, from 0."""
    shown: tuple[int, ...]
    """Order in which the item's pictures are shown, as places in ``image_ids``."""
    created_at: str
    """UTC, ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    """One version of one answer. Table ``answers``; writer: annotate."""

    annotator: str
    """Key, with ``item``, ``repeat``, ``dimension`` and ``version``."""
    item: str
    """Which item."""
    repeat: int
    """Which time the annotator was shown it."""
    dimension: str
    """Which question."""
    version: int
    """1 for the first answer; the highest one counts."""
    labels: tuple[str, ...]
    """What was chosen: of a set one label, of a single picture one, or several where the dimension
    is a list. Empty when there is a ``missing_reason``."""
    missing_reason: str | None
    """``unknown`` (or not visible), ``not_applicable``, ``no_person``, or ``empty``: looked, and
    there is nothing of the kind, which is no missing answer; null when there are labels."""
    count: int | None
    """In how many of the set's pictures the label is seen; null for a single picture."""
    seconds: float
    """Time on the question while its page was visible."""
    based_on: int
    """Version that the annotator saw when answering, 0 for none. Where it is not the version
    before, two windows disagreed: both answers are kept."""
    key: str
    """Made by the page for this answer; the same answer sent twice is stored once."""
    created_at: str
    """UTC, ISO 8601: when it was given, by the clock of the server. An answer that waited on a
    device was stored later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationEventRow:
    """What happened besides answers. Table ``annotation_events``; writer: annotate."""

    event: int
    """Key. 1, 2, 3 …"""
    what: str
    """``invited``, ``consented``, ``new_link``, ``revoked``, ``removed``, ``imported``,
    ``withdrawn``: a declaration that nobody had answered."""
    annotator: str | None
    """Whom it concerns; null for ``removed``, since nothing of a removed annotator is kept, and for
    ``withdrawn``."""
    rows: int
    """Answers that were deleted or imported; 0 otherwise."""
    created_at: str
    """UTC, ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRow:
    """The latest answer of one annotator to one question about one item, with its weight.

    Not a table: what `people.Annotations.labels` gives to those who compute with answers.
    """

    annotator: str
    """Who, as a pseudonym."""
    annotator_kind: str
    """``person``, ``simulated`` or ``imported``."""
    item: str
    """Which item."""
    kind: str
    """``set`` or ``image``."""
    purpose: str
    """``sample``, ``gold`` or ``training``."""
    repeat: int
    """0, or 1 for the second time."""
    generator: str
    """Which generator."""
    role: str
    """Which role."""
    condition: str
    """Which condition."""
    image_ids: tuple[str, ...]
    """Which pictures."""
    dimension: str
    """Which question."""
    labels: tuple[str, ...]
    """As in `AnswerRow`."""
    missing_reason: str | None
    """As in `AnswerRow`."""
    count: int | None
    """As in `AnswerRow`."""
    version: int
    """How many times it was answered."""
    seconds: float
    """Time on the question, of the latest answer."""
    created_at: str
    """When the latest answer was given."""
    probability: float | None
    """As in `AnnotationItemRow`."""
    weight: float | None
    """1 / ``probability``: how many images of the cell one drawn image stands for."""
