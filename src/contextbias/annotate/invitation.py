"""Declare a study of people, invite them, and take their links away.

A plan is made once, from study.toml and the images that are there, and stays in force: what is
asked, which items were drawn with which probability, and whose answers will not count. A personal
link holds a secret; the store holds only its hash.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from contextbias.annotate.assignment import assign
from contextbias.annotate.gold import (
    PLANTED,
    KnownAnswers,
    known_items,
    planted_answers,
    read_answers,
)
from contextbias.annotate.questions import asked
from contextbias.annotate.sampling import cells_of, draw
from contextbias.annotation_tables import (
    AnnotationItemRow,
    AnnotationPlanRow,
    AnnotatorRow,
    AssignmentRow,
)
from contextbias.config import AnnotateSection, StudyConfig
from contextbias.errors import InputError
from contextbias.files import StudyFiles, unreadable
from contextbias.ids import bytes_sha256, content_hash
from contextbias.people import Annotations
from contextbias.people.annotations import now
from contextbias.tables import ImageRow

PERSON, SIMULATED, IMPORTED = "person", "simulated", "imported"
"""Kinds of annotators."""

MOST_AT_ONCE = 200
"""Annotators that one call may invite."""


@dataclass(frozen=True, slots=True)
class Invited:
    """Somebody with a new personal link."""

    annotator: str
    """The pseudonym."""
    token: str
    """The secret of the link. It is not stored; who loses it gets a new one."""


def declare(
    book: Annotations, config: StudyConfig, images: Sequence[ImageRow], files: StudyFiles
) -> AnnotationPlanRow:
    """Make the plan and its items, unless there is one; returns the plan in force.

    Args:
        book: Open for writing.
        config: The study's.
        images: Images that can be shown: they exist and can be read.
        files: Where they are.

    Raises:
        InputError: There is nothing to draw from, or a file that study.toml names cannot be used.
    """
    plan = book.plan()
    if plan is not None:
        return plan
    plan, items = draft(book.root, config, images, files)
    book.append_items(items)
    # Last, so that a kill before this leaves no plan, and everything is drawn again.
    book.append_plan(plan)
    return plan


def draft(
    root: Path, config: StudyConfig, images: Sequence[ImageRow], files: StudyFiles
) -> tuple[AnnotationPlanRow, list[AnnotationItemRow]]:
    """The plan that would be made now, and its items; arguments and errors as in `declare`."""
    section, seed = config.annotate, config.study.seed
    if section.sets == 0 and section.images == 0:
        raise InputError("annotate.sets and annotate.images are both 0", "ask for one of them")
    if not images:
        raise InputError("there are no images to show", "run the study until `generate` first")
    plan = _plan(root, config, images)
    cells = cells_of(images)
    sample = draw(cells, section, seed, plan.plan)
    if not sample:
        raise InputError("no item was drawn", "raise annotate.sets or annotate.images")
    taken = {image for item in sample for image in item.image_ids}
    known = _known_answers(files, section, images)
    gold = known_items(known, images, taken, section, seed, plan.plan)
    if section.gold is not None and not gold:
        raise InputError(
            "annotate.gold: too few pictures with known answers for one item",
            "a set needs annotate.set_size of one generator, role and condition",
        )
    return plan, [*sample, *gold]


def withdraw(book: Annotations) -> None:
    """Take the declaration back, with its items, annotators and links.

    Raises:
        InputError: Somebody has answered.
    """
    refuse_answered(book)
    book.withdraw()


def refuse_answered(book: Annotations) -> None:
    """Refuse to declare anew what somebody has answered.

    Raises:
        InputError: Somebody has.
    """
    names = [name for name, *_ in book.state()]
    if names:
        raise InputError(
            f"{', '.join(names)} answered already, about what was declared before",
            "make a study of its own for another declaration, or first delete those answers: "
            "`contextbias annotate remove`",
        )


def section_of(plan: AnnotationPlanRow) -> AnnotateSection:
    """The section [annotate] as it was declared."""
    return AnnotateSection.model_validate(plan.settings["annotate"])


def differs(plan: AnnotationPlanRow, config: StudyConfig) -> list[str]:
    """Keys of [annotate] that study.toml has otherwise than the plan in force."""
    now_, then = config.annotate.model_dump(mode="json"), plan.settings["annotate"]
    return sorted(key for key in now_ if now_[key] != then.get(key))


def invite(book: Annotations, names: Sequence[str] | int, *, kind: str = PERSON) -> list[Invited]:
    """Add annotators, give them a link each, and assign what lacks people.

    Args:
        book: Open for writing, with a plan.
        names: Pseudonyms, or how many; then they are called a1, a2, …
        kind: ``person``, ``simulated`` or ``imported``; only people get a link that works.

    Raises:
        InputError: A name is taken or cannot be one, or there are too many.
    """
    invited = []
    for name in new_names(book, names):
        token = secrets.token_urlsafe(24)
        book.append_annotator(_annotator(name, kind, token if kind == PERSON else None))
        book.append_event("invited", name)
        invited.append(Invited(name, token))
    assign_rest(book)
    return invited


def new_names(book: Annotations, names: Sequence[str] | int, *, anew: bool = False) -> list[str]:
    """Pseudonyms for new annotators: as given, or so many that are free.

    Args:
        book: Where names are taken already.
        names: Pseudonyms, or how many.
        anew: As if nobody had been invited.

    Raises:
        InputError: A name is taken or cannot be one, or there are too many.
    """
    known = set() if anew else {row.annotator for row in book.annotators()}
    # A removed annotator's name is not given again: exports from before may still carry it.
    removed = sum(event.what == "removed" for event in book.events())
    chosen = _free_names(names, known, removed) if isinstance(names, int) else list(names)
    if not 0 < len(chosen) <= MOST_AT_ONCE:
        raise InputError(f"{len(chosen)} annotators", f"invite 1 to {MOST_AT_ONCE} at once")
    for name in chosen:
        _check_name(name, known)
        known.add(name)
    return chosen


def nothing_for(book: Annotations, names: Sequence[str]) -> str:
    """Say who of `names` was given no items, and why; empty where all were."""
    plan = book.plan()
    idle = [name for name in names if not book.assignments(name)]
    if plan is None or not idle:
        return ""
    number = section_of(plan).annotators_per_item
    simulated = sum(row.kind == SIMULATED for row in book.annotators() if row.annotator not in idle)
    counted = f"; {simulated} simulated ones count" if simulated else ""
    return (
        f"{', '.join(idle)}: no items are left for {'them' if len(idle) > 1 else 'this annotator'};"
        f" each item has its {number} annotators (annotate.annotators_per_item{counted}). "
        "Items come free when somebody is removed or a link is revoked"
    )


def assign_rest(book: Annotations) -> int:
    """Give what lacks people to those who can still answer; returns how many are new."""
    plan = book.plan()
    if plan is None:
        return 0
    return book.append_assignments(lacking(book, plan, book.items()))


def lacking(
    book: Annotations,
    plan: AnnotationPlanRow,
    items: Sequence[AnnotationItemRow],
    joining: Sequence[str] = (),
) -> list[AssignmentRow]:
    """Assignments that would give what lacks people to those who can still answer.

    Args:
        book: Who is there, and what was assigned.
        plan: The plan in force, or one that could be.
        items: Its items.
        joining: Who would be there, too.
    """
    able = [
        row.annotator
        for row in book.annotators()
        if row.token_sha256 is not None or row.kind == SIMULATED
    ]
    able += joining
    there = book.assignments()
    done = _finished(book, plan, {row.annotator for row in there} - set(able))
    return assign(items, there, able, section_of(plan), int(plan.settings["seed"]), done)


def _finished(book: Annotations, plan: AnnotationPlanRow, gone: set[str]) -> set[tuple[str, str]]:
    """(annotator, item) of what those who answer no more have answered whole."""
    number = len(plan.settings["questions"])
    return {
        (name, item)
        for name in gone
        for (item, repeat), answered in book.answered(name).items()
        if repeat == 0 and answered >= number
    }


def new_link(book: Annotations, name: str) -> Invited:
    """Give an annotator a new link; the old one stops working."""
    row = annotator_named(book, name)
    if row.kind != PERSON:
        raise InputError(f"{name} is {row.kind}", "only people have links")
    token = secrets.token_urlsafe(24)
    book.append_annotator(replace(row, token_sha256=token_hash(token), created_at=now()))
    book.append_event("new_link", name)
    return Invited(name, token)


def revoke(book: Annotations, name: str) -> None:
    """Take an annotator's link away. The answers stay; what is open can go to others."""
    row = annotator_named(book, name)
    book.append_annotator(replace(row, token_sha256=None, created_at=now()))
    book.append_event("revoked", name)
    assign_rest(book)


def annotator_named(book: Annotations, name: str) -> AnnotatorRow:
    """The latest row of an annotator.

    Raises:
        InputError: Nobody is called that.
    """
    for row in book.annotators():
        if row.annotator == name:
            return row
    raise InputError(f"there is no annotator {name!r}", "see `contextbias annotate progress`")


def token_hash(token: str) -> str:
    """What is stored of a secret. It is long and random, so that a plain hash cannot be undone."""
    return hashlib.sha256(token.encode()).hexdigest()


def _plan(root: Path, config: StudyConfig, images: Sequence[ImageRow]) -> AnnotationPlanRow:
    settings: dict[str, Any] = {
        "annotate": config.annotate.model_dump(mode="json"),
        "seed": config.study.seed,
        "questions": list(asked(config.annotate.leave_out)),
        "consent": _consent_text(root, config.annotate),
    }
    ids = sorted(image.image_id for image in images)
    return AnnotationPlanRow(
        plan=content_hash(["plan", settings, ids]),
        settings=settings,
        population=len(ids),
        created_at=now(),
    )


def _consent_text(root: Path, section: AnnotateSection) -> str:
    if section.consent is None:
        return files("contextbias.annotate").joinpath("consent.txt").read_text("utf-8").strip()
    path = root / section.consent
    try:
        return path.read_text("utf-8-sig").strip()
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text", "save it as UTF-8") from None


def consent_hash(plan: AnnotationPlanRow) -> str:
    """Which text was agreed to."""
    return bytes_sha256(str(plan.settings["consent"]).encode())


def _known_answers(
    files: StudyFiles, section: AnnotateSection, images: Sequence[ImageRow]
) -> KnownAnswers:
    if section.gold is None:
        return KnownAnswers({})
    if section.gold != PLANTED:
        return read_answers(files.root / section.gold, images)
    known = planted_answers(images, files)
    if not known.by_image:
        raise InputError(
            'annotate.gold = "planted", but nothing is planted in real images',
            "name a table of known answers, or leave it out",
        )
    return known


def _free_names(number: int, known: set[str], removed: int) -> list[str]:
    start = 1 + len(known) + removed
    free = (f"a{i}" for i in range(start, start + len(known) + MOST_AT_ONCE + 1))
    return [
        name for name, _ in zip((n for n in free if n not in known), range(number), strict=False)
    ]


def is_pseudonym(name: str) -> bool:
    """Whether a name can stand in tables and addresses."""
    return 0 < len(name) <= 40 and all(c.isalnum() or c in "-_." for c in name)


def _check_name(name: str, known: set[str]) -> None:
    if name in known:
        raise InputError(f"there is an annotator {name!r} already", "take another name")
    if not is_pseudonym(name):
        raise InputError(
            f"{name!r} is no pseudonym", "take up to 40 letters, digits, hyphens and dots"
        )


def _annotator(name: str, kind: str, token: str | None) -> AnnotatorRow:
    return AnnotatorRow(
        annotator=name,
        version=0,
        kind=kind,
        token_sha256=None if token is None else token_hash(token),
        consent=None,
        consented_at=None,
        created_at=now(),
    )
