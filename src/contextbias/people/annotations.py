"""The annotation tables of a study: open, append, read, and forget somebody.

They lie in ``study.sqlite`` beside what `run` writes, but have a lock of their own: people answer
while a study runs, is measured or reported. SQLite puts the commits of the two in a row.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from contextbias.annotation_tables import (
    AnnotationEventRow,
    AnnotationItemRow,
    AnnotationPlanRow,
    AnnotatorRow,
    AnswerRow,
    AssignmentRow,
    LabelRow,
)
from contextbias.database import Database
from contextbias.errors import InputError, StudyError
from contextbias.guards import STORE_FILE, check_is_study, take_lock

LOCK = ".annotate.lock"
"""Held by the one process that writes answers."""

_OF_AN_ANNOTATOR = ("annotators", "assignments", "answers", "annotation_events")
_LATEST = (
    "SELECT * FROM answers AS a WHERE version = (SELECT max(version) FROM answers "
    "WHERE annotator = a.annotator AND item = a.item AND repeat = a.repeat "
    "AND dimension = a.dimension)"
)
_PLAN_IN_FORCE = "FROM annotation_plans ORDER BY created_at, plan LIMIT 1"
_IN_ORDER = " ORDER BY annotator, item, repeat, dimension, version"


class Annotations:
    """The annotation tables of one study. Use it as a context manager."""

    def __init__(self, root: Path, database: Database, lock: int | None) -> None:
        self.root = root
        self._database = database
        self._lock = lock

    @classmethod
    def open(cls, root: Path, *, writing: bool = False) -> Annotations:
        """Open the annotation tables of the study in `root`.

        ``writing=True`` takes the lock of the answers, so that there is one writer.

        Raises:
            StudyError: No study there, none that has run, or another process takes answers in.
            InputError: `writing`, but the folder cannot be written.
        """
        root = root.absolute()
        check_is_study(root)
        path = root / STORE_FILE
        if not writing:
            return cls(root, Database(path, writing=False), None)
        if not path.exists():
            raise StudyError(f"{root} has no images yet", f"run `contextbias run {root}` first")
        lock = take_lock(
            root, LOCK, "stop `contextbias annotate serve`, or use its administrator's page"
        )
        try:
            return cls(root, Database(path, writing=True, durable=True), lock)
        except BaseException:
            os.close(lock)
            raise

    def close(self) -> None:
        """Close the tables and give the lock back."""
        self._database.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Annotations:
        """Return the tables themselves."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self.close()

    # ---- write

    def append_plan(self, row: AnnotationPlanRow) -> None:
        """Keep what was declared."""
        self._database.append("annotation_plans", [row])

    def append_items(self, rows: Iterable[AnnotationItemRow]) -> int:
        """Append items that are not there yet; returns how many were new."""
        return self._database.append("annotation_items", rows)

    def append_annotator(self, row: AnnotatorRow) -> AnnotatorRow:
        """Append the next version of an annotator; its number is set here."""
        known = {now.annotator: now.version for now in self.annotators()}
        row = replace(row, version=known.get(row.annotator, 0) + 1)
        self._database.append("annotators", [row])
        return row

    def append_assignments(self, rows: Iterable[AssignmentRow]) -> int:
        """Append assignments that are not there yet."""
        return self._database.append("assignments", rows)

    def append_answer(self, row: AnswerRow) -> AnswerRow:
        """Append one answer as the next version, committed when this returns.

        An answer with the same `key` is there already when a page sends it again, because it did
        not hear back: it is not stored twice.

        An answer that was given without knowledge of the latest one, and before it, does not take
        its place: the latest one is stored once more, as the version behind it.

        Returns:
            The row as it is stored.
        """
        earlier = self.history(row.annotator, row.item, row.repeat, row.dimension)
        for before in earlier:
            if before.key == row.key:
                return before
        row = replace(row, version=len(earlier) + 1)
        rows = [row]
        last = earlier[-1] if earlier else row
        if row.based_on < last.version and row.created_at < last.created_at:
            rows.append(replace(last, version=row.version + 1, based_on=row.version))
        self._database.append("answers", rows)
        return row

    def append_answers(self, rows: Sequence[AnswerRow]) -> int:
        """Append answers that come together (simulated, imported), all or none."""
        return self._database.append("answers", rows)

    def append_event(self, what: str, annotator: str | None, rows: int = 0) -> None:
        """Note what happened."""
        (last,) = self._database.select("SELECT coalesce(max(event), 0) FROM annotation_events")
        event = AnnotationEventRow(
            event=last[0] + 1, what=what, annotator=annotator, rows=rows, created_at=now()
        )
        self._database.append("annotation_events", [event])

    def remove(self, annotator: str) -> int:
        """Delete an annotator with all answers, for good; returns how many answer rows there were.

        What stays is an event that says how many rows were deleted, and not whose.

        Raises:
            InputError: Nobody is called that.
        """
        if annotator not in {row.annotator for row in self.annotators()}:
            raise InputError(f"there is no annotator {annotator!r}", "see `annotate progress`")
        deleted = self._database.forget("annotator", annotator, _OF_AN_ANNOTATOR)
        self.append_event("removed", None, deleted["answers"])
        return deleted["answers"]

    def withdraw(self) -> None:
        """Delete the plan in force with its items and everybody who was invited, for good.

        For a plan that nobody has answered. What stays is an event that says so.
        """
        plan = self.plan()
        for row in self.annotators():
            self._database.forget("annotator", row.annotator, _OF_AN_ANNOTATOR)
        if plan is not None:
            self._database.forget("plan", plan.plan, ("annotation_items", "annotation_plans"))
            self.append_event("withdrawn", None)

    @property
    def has_remains(self) -> bool:
        """Whether bytes of a removed annotator are still in the files; see `Database`."""
        return self._database.has_remains

    # ---- read

    def plan(self) -> AnnotationPlanRow | None:
        """The plan in force: the first one; None before anybody was invited."""
        rows = self._database.rows(AnnotationPlanRow, f"SELECT * {_PLAN_IN_FORCE}")
        return rows[0] if rows else None

    def items(self) -> list[AnnotationItemRow]:
        """Items of the plan in force, by id.

        A declaration that was killed has left items of a plan that never came into force.
        """
        return self._database.rows(
            AnnotationItemRow,
            "SELECT * FROM annotation_items "
            f"WHERE plan = (SELECT plan {_PLAN_IN_FORCE}) ORDER BY item",
        )

    def annotators(self) -> list[AnnotatorRow]:
        """The latest row of each annotator, by name."""
        return self._database.rows(
            AnnotatorRow,
            "SELECT * FROM annotators AS a WHERE version = (SELECT max(version) FROM annotators "
            "WHERE annotator = a.annotator) ORDER BY annotator",
        )

    def assignments(self, annotator: str | None = None) -> list[AssignmentRow]:
        """Who sees what, in each annotator's order; of one annotator where one is named."""
        where, values = ("", ()) if annotator is None else (" WHERE annotator = ?", (annotator,))
        return self._database.rows(
            AssignmentRow,
            f"SELECT * FROM assignments{where} ORDER BY annotator, position",
            values,
        )

    def answers(self, annotator: str | None = None, item: str | None = None) -> list[AnswerRow]:
        """The latest version of each answer; of one annotator and one item where named."""
        query, values = _LATEST, []
        for column, value in (("annotator", annotator), ("item", item)):
            if value is not None:
                query += f" AND {column} = ?"
                values.append(value)
        return self._database.rows(AnswerRow, query + _IN_ORDER, values)

    def audit_trail(self) -> list[AnswerRow]:
        """Every version of every answer."""
        return self._database.rows(AnswerRow, "SELECT * FROM answers" + _IN_ORDER)

    def history(self, annotator: str, item: str, repeat: int, dimension: str) -> list[AnswerRow]:
        """Every version of one answer, the first one first."""
        return self._database.rows(
            AnswerRow,
            "SELECT * FROM answers WHERE annotator = ? AND item = ? AND repeat = ? "
            "AND dimension = ? ORDER BY version",
            (annotator, item, repeat, dimension),
        )

    def answered(self, annotator: str) -> dict[tuple[str, int], int]:
        """(item, repeat) -> how many of its questions an annotator has answered."""
        found = self._database.select(
            "SELECT item, repeat, count(DISTINCT dimension) FROM answers WHERE annotator = ? "
            "GROUP BY item, repeat",
            (annotator,),
        )
        return {(item, repeat): number for item, repeat, number in found}

    def pace(self, annotator: str, latest: int = 60) -> list[float]:
        """Seconds of an annotator's latest answers, the newest first."""
        found = self._database.select(
            "SELECT seconds FROM answers WHERE annotator = ? ORDER BY created_at DESC LIMIT ?",
            (annotator, latest),
        )
        return [float(seconds) for (seconds,) in found]

    def state(self) -> list[tuple[str, int, str]]:
        """Each annotator with the number of answers and the time of the last one.

        It changes with every answer and every removal, and costs no reading of the answers.
        """
        found = self._database.select(
            "SELECT annotator, count(*), max(created_at) FROM answers GROUP BY annotator "
            "ORDER BY annotator"
        )
        return [(name, number, last) for name, number, last in found]

    def events(self) -> list[AnnotationEventRow]:
        """What happened, in order."""
        return self._database.rows(
            AnnotationEventRow, "SELECT * FROM annotation_events ORDER BY event"
        )

    def labels(self) -> list[LabelRow]:
        """The latest version of every answer with its item, by annotator, item and question.

        Nothing is left out: neither gold, training and repeated items, nor annotators whom the
        declared rules exclude (`excluded`). Whoever computes with them decides.
        """
        items = {row.item: row for row in self.items()}
        kinds = {row.annotator: row.kind for row in self.annotators()}
        return [
            _label_row(answer, items[answer.item], kinds.get(answer.annotator, "person"))
            for answer in self.answers()
            if answer.item in items
        ]

    def by_annotator(self) -> dict[str, list[LabelRow]]:
        """`labels`, for each annotator; those without an answer are there, too."""
        found: dict[str, list[LabelRow]] = defaultdict(list)
        for row in self.labels():
            found[row.annotator].append(row)
        return {row.annotator: found[row.annotator] for row in self.annotators()}


def now(ago: float = 0.0) -> str:
    """This moment, or one that is `ago` seconds past: UTC, ISO 8601, to the millisecond."""
    return (datetime.now(UTC) - timedelta(seconds=ago)).isoformat(timespec="milliseconds")


def _label_row(answer: AnswerRow, item: AnnotationItemRow, annotator_kind: str) -> LabelRow:
    return LabelRow(
        annotator=answer.annotator,
        annotator_kind=annotator_kind,
        item=item.item,
        kind=item.kind,
        purpose=item.purpose,
        repeat=answer.repeat,
        generator=item.generator,
        role=item.role,
        condition=item.condition,
        image_ids=item.image_ids,
        dimension=answer.dimension,
        labels=answer.labels,
        missing_reason=answer.missing_reason,
        count=answer.count,
        version=answer.version,
        seconds=answer.seconds,
        created_at=answer.created_at,
        probability=item.probability,
        weight=1 / item.probability if item.probability else None,
    )
