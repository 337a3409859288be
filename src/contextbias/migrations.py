"""The SQLite layout of a study, made from tables.py, and how an older one is brought up to date."""

from __future__ import annotations

import sqlite3
from dataclasses import fields
from typing import Any

from contextbias.errors import StudyError
from contextbias.tables import (
    STORE_VERSION,
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
}
"""Table name -> row class and key."""

_AFFINITY = {"int": "INTEGER", "int | None": "INTEGER", "float": "REAL"}


def create_tables(connection: sqlite3.Connection) -> None:
    """Create every table that is not there yet and stamp the version on a new file."""
    for name, (row_class, key) in TABLES.items():
        columns = ", ".join(
            f"{field.name} {_AFFINITY.get(str(field.type), 'TEXT')}" for field in fields(row_class)
        )
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {name} ({columns}, PRIMARY KEY ({', '.join(key)}))"
        )
    connection.execute(f"PRAGMA user_version = {STORE_VERSION}")


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
