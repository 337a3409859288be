"""The SQLite file of a study: rows in, rows out, and every fault in words.

`store.Study` is the only one who uses it. Structured fields are stored as canonical JSON.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from contextbias.errors import ContextBiasError, StudyError
from contextbias.files import unreadable, unwritable
from contextbias.ids import canonical_json
from contextbias.migrations import (
    TABLES,
    check_version,
    create_tables,
    stand_in_for_missing,
)

Row = TypeVar("Row")

_STRUCTURED = {
    row_class: frozenset(
        field.name for field in fields(row_class) if str(field.type).startswith(("dict", "tuple"))
    )
    for row_class, _ in TABLES.values()
}
# Row class -> names of the fields that are stored as JSON.

_LISTS = frozenset({"prompted", "image_ids", "shown", "labels"})
# Those of them that are lists of words or numbers.

_PATIENCE = 30  # seconds for which a writer waits for another
_READERS_TAKE = 2000  # milliseconds for which a deletion waits for whoever is reading

_NO_ROOM = {sqlite3.SQLITE_FULL}
_NO_ACCESS = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
}
_IN_USE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


class Database:
    """One open ``study.sqlite``.

    Args:
        path: The file.
        writing: Make it where it is not there, and allow `append`. Without, nothing is created: a
            study that was never run reads as empty.
        durable: Wait for the disk at every commit, so that not even a loss of power loses a row.
            What `run` makes can be made again; what somebody answered cannot.

    Raises:
        StudyError: The file is damaged, in use, or from a newer version.
        InputError: It cannot be opened, or not be written.
    """

    def __init__(self, path: Path, *, writing: bool, durable: bool = False) -> None:
        self._path = path
        self._writing = writing
        self._synchronous = "FULL" if durable else "NORMAL"
        self.has_remains = False
        """Somebody was reading during `forget`: the bytes of what was deleted are still in the
        files, until the last who writes closes them and nobody reads."""
        try:
            self._connection = self._connect()
        except sqlite3.DatabaseError as error:
            raise self._fault(error) from None

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def select(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Everything that a query gives; `values` stand for its question marks."""
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._fault(error) from None

    def rows(self, row_class: type[Row], query: str, values: Sequence[Any] = ()) -> list[Row]:
        """The rows of a ``SELECT *`` over one table."""
        names = [field.name for field in fields(row_class)]  # type: ignore[arg-type]
        structured = _STRUCTURED[row_class]
        found = self.select(query.replace("*", ", ".join(names), 1), values)
        try:
            return [row_class(**_decode(names, structured, values)) for values in found]
        except (ValueError, TypeError) as error:
            raise self._damaged(error) from None

    def latest(self, row_class: type[Row], table: str) -> list[Row]:
        """The latest attempt at each item of a table, by id."""
        key = TABLES[table][1][0]
        last = f"SELECT max(attempt) FROM {table} WHERE {key} = t.{key}"
        query = f"SELECT * FROM {table} AS t WHERE attempt = ({last}) ORDER BY {key}"
        return self.rows(row_class, query)

    def inside(self, table: str, column: str, owner: str, name: str, key: str) -> list[Any]:
        """What stands under `key` in a structured column of all rows whose `owner` is `name`."""
        value = f"json_extract({column}, '$.{key}')"
        query = f"SELECT {value} FROM {table} WHERE {owner} = ? AND {value} IS NOT NULL"
        return [json.loads(found) for (found,) in self.select(query, (name,))]

    def append(self, table: str, rows: Iterable[Any]) -> int:
        """Append rows whose key is not there yet, all or none; returns how many were new."""
        row_class, _ = TABLES[table]
        names = [field.name for field in fields(row_class)]
        marks = ", ".join("?" * len(names))
        statement = f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({marks})"
        before = self._connection.total_changes
        try:
            with self._connection:
                self._connection.executemany(statement, (_encode(row) for row in rows))
        except sqlite3.DatabaseError as error:
            raise self._fault(error) from None
        return self._connection.total_changes - before

    def forget(self, column: str, value: str, tables: Sequence[str]) -> dict[str, int]:
        """Delete rows for good; returns how many there were of each table.

        Nothing is left of them: freed pages are overwritten, and the write-ahead log is emptied
        into the file and cut to nothing. Whether that could be done is in `has_remains`.
        """
        try:
            self._connection.execute("PRAGMA secure_delete = ON")
            with self._connection:
                deleted = {
                    table: self._connection.execute(
                        f"DELETE FROM {table} WHERE {column} = ?", (value,)
                    ).rowcount
                    for table in tables
                }
            self._connection.execute(f"PRAGMA busy_timeout = {_READERS_TAKE}")
            is_busy, _, _ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self._connection.execute(f"PRAGMA busy_timeout = {1000 * _PATIENCE}")
        except sqlite3.DatabaseError as error:
            raise self._fault(error) from None
        self.has_remains = bool(is_busy)
        return deleted

    def _connect(self) -> sqlite3.Connection:
        if not self._writing and not self._path.exists():
            connection = sqlite3.connect(":memory:")
            create_tables(connection)
            return connection
        connection = sqlite3.connect(
            _uri(self._path, writing=self._writing), uri=True, timeout=_PATIENCE
        )
        check_version(connection, str(self._path))
        if self._writing:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            create_tables(connection)
        else:
            stand_in_for_missing(connection)
        return connection

    def _fault(self, error: sqlite3.DatabaseError) -> ContextBiasError:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in _NO_ROOM:
            return unwritable(self._path, OSError(errno.ENOSPC, str(error)))
        if code in _IN_USE:
            return StudyError(
                f"{self._path} is in use by another program ({error})", "close it, then run again"
            )
        if code in _NO_ACCESS:
            return (unwritable if self._writing else unreadable)(self._path, OSError(0, str(error)))
        return self._damaged(error)

    def _damaged(self, error: Exception) -> StudyError:
        return StudyError(
            f"{self._path} cannot be read: {error}",
            "restore it from a copy; images and report are still in the folder",
        )


def _uri(path: Path, *, writing: bool) -> str:
    if writing:
        return f"{path.as_uri()}?mode=rwc"
    # A write-ahead log needs its folder to be writable even for reading; where it is not, nobody
    # can be writing either.
    locked = not os.access(path.parent, os.W_OK)
    return f"{path.as_uri()}?mode=ro" + ("&immutable=1" if locked else "")


def _encode(row: Any) -> tuple[Any, ...]:
    structured = _STRUCTURED[type(row)]
    values = ((field.name, getattr(row, field.name)) for field in fields(row))
    return tuple(
        canonical_json(value) if name in structured and value is not None else value
        for name, value in values
    )


def _decode(
    names: list[str], structured: frozenset[str], values: tuple[Any, ...]
) -> dict[str, Any]:
    row = dict(zip(names, values, strict=True))
    for name in structured:
        if row[name] is not None:
            row[name] = json.loads(row[name])
    for name in structured & _LISTS:
        row[name] = tuple(row[name])
    if "counts" in structured:
        row["counts"] = tuple(tuple(count) for count in row["counts"])
    if "readable" in structured:
        row["readable"] = {
            key: None if labels is None else tuple(labels)
            for key, labels in row["readable"].items()
        }
    return row
