"""Answers as CSV and as Label Studio's JSON (intake.py has the way back).

A Label Studio task is one item. Its ``data`` holds the item's id, by which answers find back, and
the places of its pictures. Its annotations hold one result a question: ``choices`` (labels, or a
reason of missing), ``textarea`` for open questions, and a ``number`` for the count of a set.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from contextbias.annotate.pictures import SIZES, FindPicture, encoded
from contextbias.annotate.questions import Question, question
from contextbias.annotation_tables import (
    IMAGE,
    SET,
    AnnotationItemRow,
    AnswerRow,
    LabelRow,
)
from contextbias.errors import InputError
from contextbias.files import write_atomic
from contextbias.people import Annotations

BAR = "|"
"""Between several labels, or image ids, in one field of a CSV."""

DOMAIN = "annotator.invalid"
"""Of the addresses under which Label Studio knows our annotators."""

_FORMULAS = ("=", "+", "-", "@")

COUNT, REASON = "__count", "__reason"
"""Behind a question's name: the controls for its count, and for a reason of missing."""


def to_csv(rows: Iterable[LabelRow] | Iterable[AnswerRow], row_class: type[Any]) -> str:
    """Rows as CSV with a header; lists are joined by bars, missing is empty."""
    names = [field.name for field in fields(row_class)]
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    write(names)
    for row in rows:
        write([_cell(getattr(row, name)) for name in names])
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, tuple):
        value = BAR.join(map(str, value))
    # A spreadsheet takes a text that begins so for a formula.
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value


def to_label_studio(
    book: Annotations, prefix: str = "", kinds: Collection[str] = (SET, IMAGE)
) -> list[dict[str, Any]]:
    """Items as tasks with all their annotations, ready for Label Studio's import.

    Pictures are called by their id, since the names of a study's files say role and condition.

    Args:
        book: The annotation tables.
        prefix: What stands before each name, so that Label Studio finds the pictures.
        kinds: Kinds of items. One project takes one kind, whose interface it has.
    """
    answers: dict[str, dict[tuple[str, int], list[AnswerRow]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in book.answers():
        answers[row.item][row.annotator, row.repeat].append(row)
    tasks = []
    for item in _of_kinds(book, kinds):
        data = {
            "item": item.item,
            "kind": item.kind,
            "purpose": item.purpose,
            "images": [prefix + picture_name(image) for image in item.image_ids],
        }
        annotations = [
            _annotation(name, repeat, rows, item.kind)
            for (name, repeat), rows in sorted(answers[item.item].items())
        ]
        tasks.append({"data": data, "annotations": annotations})
    return tasks


def picture_name(image: str) -> str:
    """Name of the file of a picture for Label Studio."""
    return f"{image}.webp"


def kinds_of(book: Annotations) -> list[str]:
    """Kinds of items that the study has: ``set`` first."""
    return sorted({item.kind for item in book.items()}, reverse=True)


def _of_kinds(book: Annotations, kinds: Collection[str]) -> list[AnnotationItemRow]:
    return [item for item in book.items() if item.kind in kinds]


def write_pictures(
    book: Annotations, find: FindPicture, folder: Path, kinds: Collection[str] = (SET, IMAGE)
) -> int:
    """Write every picture of items of some kinds, pixels alone, under its id; returns how many.

    Raises:
        InputError: A picture cannot be read, or the folder not be written.
    """
    shown = sorted({image for item in _of_kinds(book, kinds) for image in item.image_ids})
    for image in shown:
        path = find(image)
        data = None if path is None else encoded(path, SIZES["large"])
        if data is None:
            raise InputError(f"the picture {image} cannot be read", "put its file back")
        write_atomic(folder / picture_name(image), data)
    return len(shown)


def _annotation(name: str, repeat: int, rows: Sequence[AnswerRow], kind: str) -> dict[str, Any]:
    result = [part for row in rows for part in _results(row, question(row.dimension, kind))]
    return {
        "completed_by": {"email": f"{name}@{DOMAIN}"},
        "created_at": max(row.created_at for row in rows),
        "lead_time": round(sum(row.seconds for row in rows), 3),
        "was_cancelled": False,
        "ground_truth": False,
        "repeat": repeat,
        "result": result,
    }


def _results(row: AnswerRow, asked: Question) -> list[dict[str, Any]]:
    def part(name: str, kind: str, value: Any) -> dict[str, Any]:
        return {
            "id": f"{row.dimension}-{len(name)}-{row.version}",
            "from_name": name,
            "to_name": "pictures",
            "type": kind,
            "value": value,
        }

    name = row.dimension
    if row.missing_reason is not None:
        where = name + REASON if asked.is_open else name
        return [part(where, "choices", {"choices": [row.missing_reason]})]
    if asked.is_open:
        parts = [part(name, "textarea", {"text": list(row.labels)})]
    else:
        parts = [part(name, "choices", {"choices": list(row.labels)})]
    if row.count is not None:
        parts.append(part(name + COUNT, "number", {"number": row.count}))
    return parts


def label_studio_config(questions: Sequence[str], kind: str, size: int) -> str:
    """The labelling interface for Label Studio that fits the exported tasks of one kind."""
    lines = ["<View>", '  <Image name="pictures" valueList="$images"/>']
    for name in questions:
        asked = question(name, kind)
        lines.append(f"  <Header value={quoteattr(asked.text)}/>")
        if asked.is_open:
            lines.append(f'  <TextArea name="{name}" toName="pictures" maxSubmissions="20"/>')
        many = "multiple" if asked.several else "single"
        where = name + REASON if asked.is_open else name
        lines.append(f'  <Choices name="{where}" toName="pictures" choice="{many}">')
        lines += [
            f"    <Choice value={quoteattr(choice.value)}/>"
            for choice in asked.choices
            if choice.is_reason or not asked.is_open
        ]
        lines.append("  </Choices>")
        if kind == SET:
            lines.append(
                f'  <Number name="{name}{COUNT}" toName="pictures" min="0" max="{size}" '
                'slider="true"/>'
            )
    return "\n".join([*lines, "</View>"]) + "\n"
