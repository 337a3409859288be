"""Answers as CSV and as Label Studio's JSON, and back from Label Studio.

A Label Studio task is one item. Its ``data`` holds the item's id, by which answers find back, and
the places of its pictures. Its annotations hold one result a question: ``choices`` (labels, or a
reason of missing), ``textarea`` for open questions, and a ``number`` for the count of a set.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from contextbias.annotate.answering import LONGEST_SECONDS, Answering, Given
from contextbias.annotate.invitation import IMPORTED, is_pseudonym
from contextbias.annotate.pictures import SIZES, FindPicture, encoded
from contextbias.annotate.questions import Question, question
from contextbias.annotation_tables import (
    SET,
    AnnotatorRow,
    AnswerRow,
    AssignmentRow,
    LabelRow,
)
from contextbias.errors import InputError
from contextbias.files import write_atomic
from contextbias.ids import content_hash
from contextbias.people import Annotations
from contextbias.people.annotations import now

BAR = "|"
"""Between several labels, or image ids, in one field of a CSV."""

_DOMAIN = "annotator.invalid"
_FORMULAS = ("=", "+", "-", "@")
_COUNT, _REASON = "__count", "__reason"


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


def to_label_studio(book: Annotations, prefix: str = "") -> list[dict[str, Any]]:
    """Every item as a task with all its annotations, ready for Label Studio's import.

    Pictures are called by their id, since the names of a study's files say role and condition.

    Args:
        book: The annotation tables.
        prefix: What stands before each name, so that Label Studio finds the pictures.
    """
    answers: dict[str, dict[tuple[str, int], list[AnswerRow]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in book.answers():
        answers[row.item][row.annotator, row.repeat].append(row)
    tasks = []
    for item in book.items():
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


def write_pictures(book: Annotations, find: FindPicture, folder: Path) -> int:
    """Write every picture of an item, pixels alone, under its id; returns how many.

    Raises:
        InputError: A picture cannot be read, or the folder not be written.
    """
    shown = sorted({image for item in book.items() for image in item.image_ids})
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
        "completed_by": {"email": f"{name}@{_DOMAIN}"},
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
        where = name + _REASON if asked.is_open else name
        return [part(where, "choices", {"choices": [row.missing_reason]})]
    if asked.is_open:
        parts = [part(name, "textarea", {"text": list(row.labels)})]
    else:
        parts = [part(name, "choices", {"choices": list(row.labels)})]
    if row.count is not None:
        parts.append(part(name + _COUNT, "number", {"number": row.count}))
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
        where = name + _REASON if asked.is_open else name
        lines.append(f'  <Choices name="{where}" toName="pictures" choice="{many}">')
        lines += [
            f"    <Choice value={quoteattr(choice.value)}/>"
            for choice in asked.choices
            if choice.is_reason or not asked.is_open
        ]
        lines.append("  </Choices>")
        if kind == SET:
            lines.append(
                f'  <Number name="{name}{_COUNT}" toName="pictures" min="0" max="{size}" '
                'slider="true"/>'
            )
    return "\n".join([*lines, "</View>"]) + "\n"


def from_label_studio(answering: Answering, text: str, where: str) -> dict[str, int]:
    """Take in answers from Label Studio's JSON export.

    An annotation finds its item by ``data.item``. Who made it becomes an annotator of kind
    ``imported``: ``ls-7`` for user 7, the part before the @ of an address that this program wrote.
    Times on single questions are not known there; each gets its share of ``lead_time``. The same
    annotation taken in twice adds nothing, a changed one is a new version.

    Returns:
        Annotator -> new answers.

    Raises:
        InputError: It is not such an export, or an answer does not fit its question. Nothing is
            taken in then.
    """
    found = [entry for task in _tasks(text, where) for entry in _entries(answering, task, where)]
    _check_names(answering, [name for name, _, _, _ in found], where)
    people, rows = _people(answering, found), _rows(answering, found, where)
    for person in people:
        answering.book.append_annotator(person)
    answering.book.append_assignments(_assignments(answering, found))
    made = {name: 0 for name, _, _, _ in found}
    answering.book.append_answers(rows)
    for row in rows:
        made[row.annotator] += 1
    for name, number in made.items():
        if number:
            answering.book.append_event("imported", name, number)
    answering.refresh()
    return made


_Entry = tuple[str, str, int, dict[str, Any]]
# Annotator, item, repeat, the annotation.


def _tasks(text: str, where: str) -> list[Any]:
    try:
        tasks = json.loads(text, parse_constant=_refused)
    except ValueError as error:
        raise InputError(f"{where} is not JSON: {error}", "export as JSON, not as CSV") from None
    except RecursionError:
        raise InputError(f"{where} is nested too deeply", "export the project as JSON") from None
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise InputError(f"{where} is no list of tasks", "export the project as JSON")
    return tasks


def _refused(constant: str) -> None:
    """``NaN`` and its like, which Python's own JSON takes for numbers."""
    raise ValueError(f"{constant} is no number")


def _entries(answering: Answering, task: Mapping[str, Any], where: str) -> list[_Entry]:
    data = task.get("data")
    item = data.get("item") if isinstance(data, dict) else None
    if not isinstance(item, str) or item not in answering.items:
        raise InputError(
            f"{where}: a task has the item {item!r}, which is not in this study",
            "import tasks that `annotate export --to label-studio` made",
        )
    annotations = task.get("annotations") or []
    if not isinstance(annotations, list) or not all(isinstance(a, dict) for a in annotations):
        raise _not_theirs(item, where)
    found: list[_Entry] = []
    for annotation in annotations:
        if annotation.get("was_cancelled"):
            continue
        repeat = annotation.get("repeat") or 0
        if type(repeat) is not int or repeat not in (0, 1):
            raise InputError(
                f"{where}: an annotation of {item} has the repeat {repeat!r:.40}",
                "leave it out, or write 0, or 1 for the second time",
            )
        found.append((_who(annotation.get("completed_by"), item, where), item, repeat, annotation))
    return found


def _not_theirs(item: str, where: str) -> InputError:
    return InputError(
        f"{where}: an annotation of {item} is not as Label Studio writes them",
        "export the project as JSON (not JSON-MIN)",
    )


def _who(completed_by: Any, item: str, where: str) -> str:
    """The pseudonym of who made an annotation: of a user's number, or of an address."""
    email = ""
    if isinstance(completed_by, dict):
        email = str(completed_by.get("email") or "")
        completed_by = completed_by.get("id") or email
    if email.endswith(f"@{_DOMAIN}"):
        name = email.partition("@")[0]
    elif type(completed_by) in (int, str) and completed_by != "":
        name = "ls-" + re.sub(r"[^\w.-]+", "-", str(completed_by)[:200], flags=re.ASCII)[:30]
    else:
        name = ""
    if not is_pseudonym(name):
        raise InputError(
            f"{where}: an annotation of {item} does not say who made it "
            f"(completed_by: {email or completed_by!r:.60})",
            "export with users: a number, or an object with id or email",
        )
    return name


def _check_names(answering: Answering, names: Sequence[str], where: str) -> None:
    for name in names:
        there = answering.annotators.get(name)
        if there is not None and there.kind != IMPORTED:
            raise InputError(
                f"{where}: {name!r} answers in this study's own pages",
                "answers of one annotator come in one way only",
            )


def _people(answering: Answering, found: Sequence[_Entry]) -> list[AnnotatorRow]:
    names = sorted({name for name, _, _, _ in found} - set(answering.annotators))
    return [
        AnnotatorRow(
            annotator=name,
            version=0,
            kind=IMPORTED,
            token_sha256=None,
            consent=None,
            consented_at=None,
            created_at=now(),
        )
        for name in names
    ]


def _assignments(answering: Answering, found: Sequence[_Entry]) -> list[AssignmentRow]:
    rows = []
    counted: dict[str, int] = defaultdict(int)
    for name, item, repeat, _ in found:
        number = len(answering.items[item].image_ids)
        start = len(answering.tasks(name))
        rows.append(
            AssignmentRow(
                annotator=name,
                item=item,
                repeat=repeat,
                position=start + counted[name],
                shown=tuple(range(number)),
                created_at=now(),
            )
        )
        counted[name] += 1
    return rows


def _rows(answering: Answering, found: Sequence[_Entry], where: str) -> list[AnswerRow]:
    rows: list[AnswerRow] = []
    for entry in found:
        item, annotation = entry[1], entry[3]
        try:
            answers = _answers(annotation.get("result") or [], answering.items[item].kind)
            share = min(_lead_time(annotation) / max(len(answers), 1), LONGEST_SECONDS)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            raise _not_theirs(item, where) from None
        for dimension, (labels, reason, count) in answers.items():
            given = Given(0, dimension, labels, reason, count, share, 0, "")
            fault = _fault(answering, given, item)
            if fault is not None:
                raise InputError(f"{where}: {dimension} of {item}: {fault}", "correct it there")
            row = _row(answering, entry, given, rows)
            rows += [] if row is None else [row]
    return rows


def _lead_time(annotation: Mapping[str, Any]) -> float:
    """Seconds of an annotation; 0 where they are not known."""
    seconds = annotation.get("lead_time") or 0
    if type(seconds) not in (int, float) or not 0 <= float(seconds) < math.inf:
        raise ValueError("lead_time is no time")
    return float(seconds)


def _whole(number: Any) -> int:
    """A count, which Label Studio may write as 3 or 3.0."""
    if type(number) not in (int, float) or number != int(number):
        raise ValueError("a count is a whole number")
    return int(number)


def _answers(
    result: Sequence[Any], kind: str
) -> dict[str, tuple[tuple[str, ...], str | None, int | None]]:
    labels: dict[str, list[str]] = defaultdict(list)
    counts: dict[str, int] = {}
    if not isinstance(result, list):
        raise TypeError("result is a list")
    for part in result:
        value = part.get("value") or {}
        name = str(part.get("from_name"))
        if name.endswith(_COUNT):
            counts[name.removesuffix(_COUNT)] = _whole(value["number"])
        else:
            words = value.get("choices") or value.get("text") or []
            words = [words] if isinstance(words, str) else words
            labels[name.removesuffix(_REASON)] += [str(word) for word in words]
    found = {}
    for name, words in labels.items():
        try:
            reasons = {c.value for c in question(name, kind).choices if c.is_reason}
        except KeyError:
            continue  # a control of the project's own
        # A reason beside labels (of an open question) says less than they do.
        kept = tuple(dict.fromkeys(w for w in words if w not in reasons))
        reason = next((w for w in words if w in reasons), None) if not kept else None
        if kept or reason:
            found[name] = (kept, reason, counts.get(name) if kept else None)
    return found


def _fault(answering: Answering, given: Given, item: str) -> str | None:
    row = answering.items[item]
    if given.dimension not in answering.questions:
        return "it is not asked in this study"
    fault = question(given.dimension, row.kind).fault(given.labels, given.missing_reason)
    if fault is not None:
        return fault
    if row.kind == SET and given.labels and given.count is None:
        return "the number of pictures is missing"
    if given.count is not None and not 0 <= given.count <= len(row.image_ids):
        return f"{given.count} of {len(row.image_ids)} pictures"
    return None


def _row(
    answering: Answering, entry: _Entry, given: Given, pending: Sequence[AnswerRow]
) -> AnswerRow | None:
    """The next version of an imported answer; None when it is there already."""
    name, item, repeat, annotation = entry
    earlier = answering.book.history(name, item, repeat, given.dimension)
    earlier += [
        row
        for row in pending
        if (row.annotator, row.item, row.repeat, row.dimension)
        == (name, item, repeat, given.dimension)
    ]
    said = [given.labels, given.missing_reason, given.count]
    when = annotation.get("updated_at") or annotation.get("created_at")
    key = f"label-studio-{content_hash([annotation.get('id'), when, said])}"
    last = earlier[-1] if earlier else None
    is_last = last is not None and [last.labels, last.missing_reason, last.count] == said
    if is_last or key in {row.key for row in earlier}:
        return None
    return AnswerRow(
        annotator=name,
        item=item,
        repeat=repeat,
        dimension=given.dimension,
        version=len(earlier) + 1,
        labels=given.labels,
        missing_reason=given.missing_reason,
        count=given.count,
        seconds=round(given.seconds, 3),
        based_on=len(earlier),
        key=key,
        created_at=now(),
    )
