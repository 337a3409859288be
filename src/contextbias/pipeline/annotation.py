"""Annotation as a part of a study: which images people can see, and where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from contextbias.annotate.answering import Answering
from contextbias.annotate.assignment import assign
from contextbias.annotate.invitation import (
    Invited,
    declare,
    differs,
    draft,
    invite,
    lacking,
    new_names,
    refuse_answered,
    section_of,
    withdraw,
)
from contextbias.annotate.load import Load, load_of
from contextbias.annotate.pictures import FindPicture
from contextbias.annotate.simulate import simulate
from contextbias.annotation_tables import AnnotationPlanRow
from contextbias.errors import InputError
from contextbias.people import Annotations
from contextbias.pipeline.selection import Wanted, has_file
from contextbias.store import Study
from contextbias.tables import OK, ImageRow


def showable(study: Study) -> list[ImageRow]:
    """Images that belong to the study's configuration and whose file is there, by id."""
    images = Wanted(study).images()
    found = [i for i in images if i.status == OK and i.path is not None and has_file(study, i)]
    return sorted(found, key=lambda image: image.image_id)


def picture_finder(root: Path) -> FindPicture:
    """Image id -> file, of every image that was ever made or taken in; None where there is none.

    What was drawn for people stays in the study of people, whatever study.toml says now. A file
    that is kept at a URL is fetched when it is asked for.
    """
    with Study.open(root) as study:
        paths = {i.image_id: i.path for i in study.images() if i.path is not None}
        files = study.files

    def find(image: str) -> Path | None:
        try:
            return files.fetched(paths[image])
        except (KeyError, FileNotFoundError, InputError):
            return None

    return find


def invite_people(
    root: Path, names: Sequence[str] | int, *, anew: bool = False
) -> tuple[list[Invited], list[str]]:
    """Declare the study of people, if that was not done, and invite.

    Args:
        root: The study.
        names: Pseudonyms, or how many people.
        anew: Withdraw what was declared before, with those who were invited.

    Returns:
        Who was invited, and the keys of [annotate] that have changed since the declaration and so
        have no effect.

    Raises:
        StudyError: There is no study, or answers are being taken in by another process.
        InputError: There is nothing to show, a name cannot be used, or, `anew`, somebody has
            answered.
    """
    with Study.open(root) as study, Annotations.open(root, writing=True) as book:
        new_names(book, names, anew=anew)  # nothing is declared for names that then fail
        if anew:
            _foreseen(study, book, names, anew=True)  # nor withdrawn for what cannot be drawn
            withdraw(book)
        plan = _declared(study, book)
        return invite(book, names), differs(plan, study.config)


def load_of_people(root: Path, names: Sequence[str]) -> Load:
    """How much annotators were given.

    Raises:
        InputError: Nobody was invited yet.
    """
    with Annotations.open(root) as book:
        plan = Answering(book).plan
        return load_of(plan, book.items(), book.assignments(), names)


def foresee_invitation(root: Path, names: Sequence[str] | int, *, anew: bool = False) -> Load:
    """What `invite_people` would draw and give to whom; nothing is written.

    Raises:
        StudyError: There is no study.
        InputError: As `invite_people`.
    """
    with Study.open(root) as study, Annotations.open(root) as book:
        return _foreseen(study, book, names, anew=anew)


def _foreseen(study: Study, book: Annotations, names: Sequence[str] | int, *, anew: bool) -> Load:
    chosen = new_names(book, names, anew=anew)
    plan = book.plan()
    if plan is not None and not anew:
        items = book.items()
        return load_of(plan, items, lacking(book, plan, items, chosen), chosen)
    if anew:
        refuse_answered(book)
    plan, items = draft(study.root, study.config, _to_show(study), study.files)
    new = assign(items, (), chosen, section_of(plan), int(plan.settings["seed"]))
    return load_of(plan, items, new, chosen)


def simulate_people(root: Path, number: int) -> dict[str, int]:
    """Let simulated annotators answer everything; returns annotator -> new answers.

    Raises:
        InputError: Nothing is planted in the images that were drawn.
    """
    with Study.open(root) as study, Annotations.open(root, writing=True) as book:
        _declared(study, book)
        return simulate(Answering(book), study.images(), study.files, number)


def _declared(study: Study, book: Annotations) -> AnnotationPlanRow:
    there = book.plan()
    if there is not None:
        return there
    return declare(book, study.config, _to_show(study), study.files)


def _to_show(study: Study) -> list[ImageRow]:
    """What can be shown.

    Raises:
        InputError: Everything came as counts.
    """
    found = showable(study)
    if not found and study.counts()["frequencies"]:
        raise InputError(
            f"{study.root} has answers that came counted, and no images",
            "people can be asked about images only: audit a folder of them, or generate some",
        )
    return found
