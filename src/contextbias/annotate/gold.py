"""Known answers: from a table, or from what simulated generators were told to draw.

A known answer is about one picture. What is known about a set follows from its ten pictures: the
labels that most of them show are right, and so is the number of pictures that show one of these.

The table is a CSV (`sheets.Sheet`) with the columns ``image`` (id, or path below the study),
``dimension``, ``label`` (several rows for a list; or a reason: ``unknown``, ``not_applicable``,
``no_person``, ``empty``) and, if you like, ``use`` (``gold`` or ``training``; empty for both).
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contextbias.annotate.questions import NO_PERSON, NOT_APPLICABLE, UNKNOWN, question
from contextbias.annotate.sampling import Cells, cells_of, item_id
from contextbias.annotation_tables import GOLD, IMAGE, SET, TRAINING, AnnotationItemRow
from contextbias.config import AnnotateSection
from contextbias.errors import InputError, nearest
from contextbias.files import TRUTH_SUFFIX, StudyFiles
from contextbias.people.annotations import now
from contextbias.schema import DIMENSIONS, EMPTY
from contextbias.sheets import Sheet, read_text
from contextbias.tables import EMPTY_LIST, ImageRow

PLANTED = "planted"
"""Value of ``annotate.gold``: take the truth of simulated generators."""

_COLUMNS = ("image", "dimension", "label")
_OPTIONAL = ("use",)
_USES = (GOLD, TRAINING)
_REASONS = {UNKNOWN, NO_PERSON, NOT_APPLICABLE, EMPTY_LIST}
_HAIR = {
    "hair_color": "hair_present",
    "hair_style": "hair_present",
    "facial_hair_color": "facial_hair_present",
}


@dataclass(frozen=True, slots=True)
class KnownAnswers:
    """What is known about pictures."""

    by_image: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Image id -> dimension -> labels that are right (or one reason of missing)."""
    uses: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Image id -> ``gold``, ``training`` or both; left out: both."""

    def images(self, use: str) -> set[str]:
        """Images that may be shown for `use`."""
        return {image for image in self.by_image if use in self.uses.get(image, _USES)}


def answers_in(record: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """A record (schema/records.py) as a person would answer: dimension -> labels, or one reason.

    Of several people the first, most prominent one counts.
    """
    people = record["people"]
    found: dict[str, tuple[str, ...]] = {}
    for name, dim in DIMENSIONS.items():
        if dim.per_person and not people:
            found[name] = (NO_PERSON,)
            continue
        answers = people[0] if dim.per_person else record[dim.cohort]
        answer = answers[name]
        if name in _HAIR and answers[_HAIR[name]] == "no":
            answer = NOT_APPLICABLE
        empty = (EMPTY,) if EMPTY in dim.vocabulary else (EMPTY_LIST,)
        found[name] = (answer,) if isinstance(answer, str) else tuple(answer) or empty
    return found


def planted_answers(images: Iterable[ImageRow], files: StudyFiles) -> KnownAnswers:
    """What simulated generators planted in these images; real images have nothing of the kind."""
    found = {}
    for image in images:
        if image.path is not None:
            truth = files.path(image.path).with_suffix(TRUTH_SUFFIX)
            try:
                truth = files.fetched(image.path).with_suffix(TRUTH_SUFFIX)
                found[image.image_id] = answers_in(json.loads(truth.read_text("utf-8")))
            except FileNotFoundError:
                continue
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise InputError(f"{truth} holds no record: {error}", "restore the file") from None
    return KnownAnswers(found)


def read_answers(path: Path, images: Sequence[ImageRow]) -> KnownAnswers:
    """Read a table of known answers.

    Raises:
        InputError: It cannot be read, or names an image, a dimension or a label that is not there.
    """
    known = {image.image_id: image.image_id for image in images}
    known |= {image.path: image.image_id for image in images if image.path is not None}
    found: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    uses: dict[str, set[str]] = defaultdict(set)
    sheet = Sheet(read_text(path), path.name, _COLUMNS, known=_OPTIONAL)
    for line, row in sheet.rows():
        where = f"{path.name}, line {line}"
        image, dimension, label = _checked(row, known, where)
        labels = found[image].get(dimension, ())
        found[image][dimension] = labels if label in labels else (*labels, label)
        use = row.get("use", "").strip()
        if use and use not in _USES:
            raise InputError(f"{where}: use {use!r}", "write gold or training, or nothing")
        uses[image] |= {use} if use else set(_USES)
    if not found:
        raise InputError(f"{path} has no known answer", "see docs/annotate.md for its form")
    return KnownAnswers(dict(found), {image: frozenset(use) for image, use in uses.items()})


def _checked(row: Mapping[str, str], known: Mapping[str, str], where: str) -> tuple[str, str, str]:
    image, dimension, label = (row[name].strip() for name in _COLUMNS)
    for name, value in zip(_COLUMNS, (image, dimension, label), strict=True):
        if not value:
            raise InputError(f"{where}: no {name}", "give image, dimension and label")
    if image not in known:
        raise InputError(
            f"{where}: no image {image!r}",
            f"give an image's id or path as the study has it, such as {' or '.join(_ends(known))}",
        )
    if dimension not in DIMENSIONS:
        hint = nearest(dimension, list(DIMENSIONS)) or "see docs/reference/schema.md"
        raise InputError(f"{where}: no dimension {dimension!r}", hint)
    dim = DIMENSIONS[dimension]
    if not dim.is_open and label not in dim.vocabulary and label not in _REASONS:
        hint = nearest(label, list(dim.vocabulary)) or f"choose from {', '.join(dim.vocabulary)}"
        raise InputError(f"{where}: {dimension} has no label {label!r}", hint)
    if label == EMPTY_LIST and EMPTY in dim.vocabulary:
        label = EMPTY  # the only one of the two that people are offered there
    asked = question(dimension, IMAGE)
    is_reason = label in _REASONS and label not in dim.vocabulary
    fault = asked.fault((), label) if is_reason else asked.fault((label,), None)
    if fault is not None:  # nobody could be right
        reasons = ", ".join(choice.value for choice in asked.choices if choice.is_reason)
        raise InputError(f"{where}: {dimension}: {fault}", f"reasons here are {reasons}")
    return known[image], dimension, label


def _ends(names: Iterable[str]) -> list[str]:
    """First and last of several names: of images, an id and a path."""
    there = list(names)
    return list(dict.fromkeys([*there[:1], *there[-1:]]))


def known_items(
    answers: KnownAnswers,
    images: Sequence[ImageRow],
    taken: set[str],
    section: AnnotateSection,
    seed: int,
    plan: str,
) -> list[AnnotationItemRow]:
    """Make gold and training items of the kinds that the study has.

    Args:
        answers: What is known.
        images: Images that can be shown.
        taken: Images of the sample, which are used only if nothing else is known: a gold item that
            somebody has seen as another item measures memory.
        section: How many items are wanted.
        seed: The same seed makes the same items.
        plan: Id of the plan.
    """
    luck = random.Random(f"{seed}\x1fgold")
    used = set(taken)
    made: list[AnnotationItemRow] = []
    for use, number in ((TRAINING, section.training_items), (GOLD, section.gold_items)):
        for kind in _kinds(section):
            size = section.set_size if kind == SET else 1
            cells = cells_of(i for i in images if i.image_id in answers.images(use))
            for _ in range(number):
                item = _known_item(answers, cells, used, size, luck, (plan, kind, use))
                if item is not None and item.item not in {one.item for one in made}:
                    made.append(item)
                    used |= set(item.image_ids)
    return made


def _kinds(section: AnnotateSection) -> list[str]:
    return [SET] * (section.sets != 0) + [IMAGE] * (section.images > 0)


def _known_item(
    answers: KnownAnswers,
    cells: Cells,
    used: set[str],
    size: int,
    luck: random.Random,
    keys: tuple[str, str, str],
) -> AnnotationItemRow | None:
    plan, kind, use = keys
    fresh = {cell: [i for i in ids if i not in used] for cell, ids in cells.items()}
    for choice in (fresh, {cell: list(ids) for cell, ids in cells.items()}):
        large = [cell for cell, ids in choice.items() if len(ids) >= size]
        if large:
            cell = luck.choice(large)
            drawn = tuple(luck.sample(choice[cell], size))
            return AnnotationItemRow(
                item=item_id(plan, kind, use, drawn),
                plan=plan,
                kind=kind,
                purpose=use,
                generator=cell.generator,
                role=cell.role,
                condition=cell.condition,
                image_ids=drawn,
                probability=None,
                cell_images=len(cells[cell]),
                cell_drawn=size,
                gold=known_about(drawn, answers, kind),
                created_at=now(),
            )
    return None


def known_about(
    image_ids: Sequence[str], answers: KnownAnswers, kind: str
) -> dict[str, dict[str, Any]]:
    """Dimension -> what is right about these pictures, where something is known.

    Of a set, a dimension counts only when every picture has a known answer.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in DIMENSIONS:
        known = [answers.by_image[image].get(name) for image in image_ids]
        if any(labels is None for labels in known):
            continue
        lists = [labels for labels in known if labels is not None]
        if kind == IMAGE:
            found[name] = {"labels": sorted(lists[0]), "count": None}
            continue
        tally = Counter(label for labels in lists for label in dict.fromkeys(labels))
        most = max(tally.values())
        best = sorted(label for label, number in tally.items() if number == most)
        is_label = any(label not in _reasons(name) for label in best)
        found[name] = {"labels": best, "count": most if is_label else None}
    return found


def _reasons(dimension: str) -> set[str]:
    return {c.value for c in question(dimension, SET).choices if c.is_reason}
