"""The SQLite layout of a study, made from tables.py, and how an older one is brought up to date."""

from __future__ import annotations

import sqlite3
from dataclasses import fields
from typing import Any

from contextbias.annotation_tables import (
    AnnotationEventRow,
    AnnotationItemRow,
    AnnotationPlanRow,
    AnnotatorRow,
    AnswerRow,
    AssignmentRow,
)
from contextbias.errors import StudyError
from contextbias.tables import (
    STORE_VERSION,
    FrequencyRow,
    GeneratorRow,
    ImageRow,
    Prompt,
    ReaderRow,
    ReadingRow,
)

TABLES: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "prompts": (Prompt, ("prompt_id",)),
    "generators": (GeneratorRow, ("generator", "fingerprint")),
    "images": (ImageRow, ("image_id", "attempt")),
    "readers": (ReaderRow, ("reader", "fingerprint")),
    "readings": (ReadingRow, ("reading_id", "attempt")),
    "frequencies": (FrequencyRow, ("frequency_id", "attempt")),
    "annotation_plans": (AnnotationPlanRow, ("plan",)),
    "annotation_items": (AnnotationItemRow, ("item",)),
    "annotators": (AnnotatorRow, ("annotator", "version")),
    "assignments": (AssignmentRow, ("annotator", "item", "repeat")),
    "answers": (AnswerRow, ("annotator", "item", "repeat", "dimension", "version")),
    "annotation_events": (AnnotationEventRow, ("event",)),
}
"""Table name -> row class and key."""

_AFFINITY = {
    "int": "INTEGER",
    "int | None": "INTEGER",
    "float": "REAL",
    "float | None": "REAL",
}


def create_tables(connection: sqlite3.Connection) -> None:
    """Create every table that is not there yet and stamp the version on a new file."""
    for name in TABLES:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {name} {_columns(name)}")
    connection.execute(f"PRAGMA user_version = {STORE_VERSION}")


def stand_in_for_missing(connection: sqlite3.Connection) -> None:
    """Make the tables that an older study lacks readable as empty, without writing to its file."""
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    for name in TABLES:
        if name not in there:
            connection.execute(f"CREATE TEMP TABLE {name} {_columns(name)}")


def _columns(table: str) -> str:
    row_class, key = TABLES[table]
    columns = ", ".join(
        f"{field.name} {_AFFINITY.get(str(field.type), 'TEXT')}" for field in fields(row_class)
    )
    return f"({columns}, PRIMARY KEY ({', '.join(key)}))"


def check_version(connection: sqlite3.Connection, where: str) -> None:
    """Refuse a study that a newer version of contextbias wrote.

    Raises:
        StudyError: The store's version is above ours.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > STORE_VERSION:
        raise StudyError(
            f"{where} was written by a newer contextbias (store version {version}; "
            f"this one knows {STORE_VERSION})",
            "upgrade contextbias",
        )
