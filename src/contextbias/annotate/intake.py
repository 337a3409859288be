"""Answers back from Label Studio: its JSON export, every part checked, all taken in or nothing."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from contextbias.annotate.answering import LONGEST_SECONDS, Answering, Given
from contextbias.annotate.exchange import COUNT, DOMAIN, REASON
from contextbias.annotate.invitation import IMPORTED, is_pseudonym
from contextbias.annotate.questions import question
from contextbias.annotation_tables import (
    SET,
    AnnotatorRow,
    AnswerRow,
    AssignmentRow,
)
from contextbias.errors import InputError
from contextbias.ids import content_hash
from contextbias.people.annotations import now


def from_label_studio(answering: Answering, text: str, where: str) -> dict[str, int]:
    """Take in answers from Label Studio's JSON export.

    An annotation finds its item by ``data.item``. Who made it becomes an annotator of kind
    ``imported``: ``ls-7`` for user 7, the part before the @ of an address that this program wrote.
    Several annotations of one item by one of them are versions, and the one changed last counts.
    Times on single questions are not known there; each gets its share of ``lead_time``. The same
    annotation taken in twice adds nothing, a changed one is a new version.

    Returns:
        Annotator -> new answers.

    Raises:
        InputError: It is not such an export, or an answer does not fit its question. Nothing is
            taken in then.
    """
    found = [entry for task in _tasks(text, where) for entry in _entries(answering, task, where)]
    found.sort(key=lambda entry: _when(entry[3]))
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


def _when(annotation: Mapping[str, Any]) -> str:
    """When an annotation was last changed: UTC, ISO 8601; empty where that is not known."""
    return str(annotation.get("updated_at") or annotation.get("created_at") or "")


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
    if email.endswith(f"@{DOMAIN}"):
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
    given: dict[str, set[tuple[str, int]]] = {}
    rows = []
    for name, item, repeat, _ in found:
        if name not in given:
            tasks = [task.assignment for task in answering.tasks(name)]
            given[name] = {(there.item, there.repeat) for there in tasks}
        if (item, repeat) in given[name]:
            continue
        rows.append(
            AssignmentRow(
                annotator=name,
                item=item,
                repeat=repeat,
                position=len(given[name]),
                shown=tuple(range(len(answering.items[item].image_ids))),
                created_at=now(),
            )
        )
        given[name].add((item, repeat))
    return rows


def _rows(answering: Answering, found: Sequence[_Entry], where: str) -> list[AnswerRow]:
    pending: dict[tuple[str, str, int, str], list[AnswerRow]] = defaultdict(list)
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
            versions = pending[*entry[:3], dimension]
            row = _row(answering, entry, given, versions)
            versions += [] if row is None else [row]
    return [row for versions in pending.values() for row in versions]


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
        if name.endswith(COUNT):
            counts[name.removesuffix(COUNT)] = _whole(value["number"])
        else:
            words = value.get("choices") or value.get("text") or []
            words = [words] if isinstance(words, str) else words
            labels[name.removesuffix(REASON)] += [str(word) for word in words]
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
    """The next version of an imported answer behind those that are `pending`.

    None when it is there already, and no older annotation has come since to stand behind it.
    """
    name, item, repeat, annotation = entry
    stored = answering.book.history(name, item, repeat, given.dimension)
    earlier = [*stored, *pending]
    said = [given.labels, given.missing_reason, given.count]
    key = f"label-studio-{content_hash([annotation.get('id'), _when(annotation), said])}"
    last = earlier[-1] if earlier else None
    is_last = last is not None and [last.labels, last.missing_reason, last.count] == said
    if is_last or (not pending and key in {row.key for row in stored}):
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
