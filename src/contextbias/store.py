"""A study folder: create it, open it, append to it, read it.

The only code that writes in a study folder (with files.py, which workers use). Paid-for rows are
appended to ``study.sqlite``; derived tables are Parquet files that are rewritten whole.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from contextbias.config import StudyConfig, load_config, parse_config
from contextbias.errors import StudyError
from contextbias.files import StudyFiles, unwritable, write_atomic
from contextbias.ids import canonical_json
from contextbias.migrations import TABLES, check_version, create_tables
from contextbias.tables import GeneratorRow, ImageRow, Prompt, ReaderRow, ReadingRow

if TYPE_CHECKING:
    import polars as pl

CONFIG_FILE = "study.toml"
STORE_FILE = "study.sqlite"
REPORT_FILE = "report/index.html"
_FINGERPRINTS = "derived/fingerprints.json"
_COMMIT_EVERY = 500

Row = TypeVar("Row")


class Study:
    """One study folder.

    Use it as a context manager. ``writing=True`` takes the folder's lock, so that two runs cannot
    write at once, and takes in what a killed run left (see files.py).
    """

    def __init__(self, root: Path, connection: sqlite3.Connection | None, lock: int | None) -> None:
        self.root = root
        self.files = StudyFiles(root)
        self._connection = connection
        self._lock = lock

    @classmethod
    def create(cls, root: Path, config_text: str) -> Study:
        """Make a study folder with this study.toml and open it for writing.

        Raises:
            ConfigError: The text is not a valid study.toml.
            StudyError: There is a study in that folder already.
            InputError: The folder cannot be written.
        """
        parse_config(config_text)
        root = root.absolute()
        if (root / CONFIG_FILE).exists():
            raise StudyError(f"there is a study in {root} already", "choose another folder")
        write_atomic(root / CONFIG_FILE, config_text.encode())
        return cls.open(root, writing=True)

    @classmethod
    def open(cls, root: Path, *, writing: bool = False) -> Study:
        """Open the study in `root`.

        Raises:
            StudyError: No study there, it is damaged, locked, or from a newer version.
            InputError: `writing`, but the folder cannot be written.
        """
        root = root.absolute()
        if not (root / CONFIG_FILE).is_file():
            seen = "no such folder" if not root.exists() else f"it has no {CONFIG_FILE}"
            raise StudyError(
                f"{root} is not a study: {seen}", "make one with `contextbias init DIR`"
            )
        lock = _take_lock(root) if writing else None
        try:
            study = cls(root, _connect(root, writing=writing), lock)
            if writing:
                study._take_in_receipts()
            if lock is not None:
                _sweep_after_a_crash(root, lock)
        except BaseException:
            if lock is not None:
                os.close(lock)
            raise
        return study

    def close(self) -> None:
        """Close the store and give the lock back."""
        if self._connection is not None:
            self._connection.close()
        if self._lock is not None:
            os.ftruncate(self._lock, 0)
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Study:
        """Return the study itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    @cached_property
    def config(self) -> StudyConfig:
        """The frozen configuration."""
        return load_config(self.root / CONFIG_FILE)

    @property
    def report_path(self) -> Path:
        """Where the report's page is, or will be."""
        return self.root / REPORT_FILE

    # ---- paid-for rows

    def append_prompts(self, rows: Iterable[Prompt]) -> int:
        """Append the prompts that are not there yet; returns how many were new. Writer: bench."""
        return self._append("prompts", rows)

    def append_generators(self, rows: Iterable[GeneratorRow]) -> int:
        """Append generator settings that are not there yet. Writer: generate."""
        return self._append("generators", rows)

    def append_images(self, rows: Iterable[ImageRow]) -> int:
        """Append attempts at images and drop their receipts. Writer: generate."""
        return self._append("images", rows)

    def append_readers(self, rows: Iterable[ReaderRow]) -> int:
        """Append reader settings that are not there yet. Writer: extract."""
        return self._append("readers", rows)

    def append_readings(self, rows: Iterable[ReadingRow]) -> int:
        """Append attempts at readings and drop their receipts. Writer: extract."""
        return self._append("readings", rows)

    def prompts(self) -> list[Prompt]:
        """All prompts, by id."""
        return self._rows(Prompt, "SELECT * FROM prompts ORDER BY prompt_id")

    def generators(self) -> list[GeneratorRow]:
        """All generators' settings, earlier ones included."""
        return self._rows(GeneratorRow, "SELECT * FROM generators ORDER BY generator, fingerprint")

    def readers(self) -> list[ReaderRow]:
        """All readers' settings, earlier ones included."""
        return self._rows(ReaderRow, "SELECT * FROM readers ORDER BY reader, fingerprint")

    def images(self) -> list[ImageRow]:
        """The latest attempt at each image, by id."""
        return self._rows(ImageRow, _latest("images", "image_id"))

    def readings(self) -> list[ReadingRow]:
        """The latest attempt at each reading, by id."""
        return self._rows(ReadingRow, _latest("readings", "reading_id"))

    def attempts(self, table: str) -> dict[str, tuple[int, str]]:
        """Id -> (latest attempt, its status) of ``images`` or ``readings``."""
        key = TABLES[table][1][0]
        cursor = self._execute(f"SELECT {key}, max(attempt), status FROM {table} GROUP BY {key}")
        return {row[0]: (row[1], row[2]) for row in cursor}

    def counts(self) -> dict[str, int]:
        """How many rows each table has, attempts included."""
        return {
            table: int(self._execute(f"SELECT count(*) FROM {table}").fetchone()[0])
            for table in TABLES
        }

    # ---- derived tables

    def attributes(self) -> pl.DataFrame | None:
        """derived/attributes.parquet, or None before canonicalise."""
        return self._read_parquet("attributes")

    def planted(self) -> pl.DataFrame | None:
        """derived/planted.parquet: what simulated generators were told to draw; None without."""
        return self._read_parquet("planted")

    def estimates(self) -> pl.DataFrame | None:
        """derived/estimates.parquet, or None before measure."""
        return self._read_parquet("estimates")

    def write_attributes(self, frame: pl.DataFrame, fingerprint: str) -> None:
        """Rewrite the attributes. Writer: canonicalise."""
        self._write_parquet("attributes", frame, fingerprint)

    def write_planted(self, frame: pl.DataFrame, fingerprint: str) -> None:
        """Rewrite the planted probabilities. Writer: generate."""
        self._write_parquet("planted", frame, fingerprint)

    def write_estimates(self, frame: pl.DataFrame, fingerprint: str) -> None:
        """Rewrite the estimates. Writer: measure."""
        self._write_parquet("estimates", frame, fingerprint)

    def write_mapping(self, data: bytes) -> None:
        """Rewrite derived/mapping.json. Writer: canonicalise."""
        self.files.keep("derived/mapping.json", data)

    def write_report(self, files: dict[str, bytes], fingerprint: str = "") -> Path:
        """Write the report's files (paths below ``report/``); returns the page's path."""
        for name, data in files.items():
            self.files.keep(f"report/{name}", data)
        self._stamp("report", fingerprint)
        return self.root / REPORT_FILE

    def fingerprint(self, derived: str) -> str | None:
        """What `derived` (attributes, estimates, report …) was made from, or None."""
        path = self.root / _FINGERPRINTS
        known = json.loads(path.read_text("utf-8")) if path.is_file() else {}
        return known.get(derived)

    # ---- inside

    def _append(self, table: str, rows: Iterable[Any]) -> int:
        row_class, _ = TABLES[table]
        names = [field.name for field in fields(row_class)]
        marks = ", ".join("?" * len(names))
        statement = f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({marks})"
        connection = self._open_connection()
        before = connection.total_changes
        with connection:
            connection.executemany(statement, (_encode(row) for row in rows))
        return connection.total_changes - before

    def _take_in_receipts(self) -> None:
        receipts = self.files.receipts()
        for start in range(0, len(receipts), _COMMIT_EVERY):
            chunk = receipts[start : start + _COMMIT_EVERY]
            for table in sorted({receipt.table for receipt in chunk}):
                row_class = TABLES[table][0]
                rows = [row_class(**r.row) for r in chunk if r.table == table]
                self._append(table, rows)
            drop_receipts([receipt.path for receipt in chunk])

    def _rows(self, row_class: type[Row], query: str) -> list[Row]:
        names = [field.name for field in fields(row_class)]  # type: ignore[arg-type]
        structured = _STRUCTURED[row_class]
        cursor = self._execute(query.replace("*", ", ".join(names), 1))
        return [row_class(**_decode(names, structured, values)) for values in cursor]

    def _execute(self, query: str) -> sqlite3.Cursor:
        try:
            return self._open_connection().execute(query)
        except sqlite3.DatabaseError as error:
            raise _damaged(self.root, error) from None

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            # A study that was never run: nothing is stored, and reading must not create a file.
            self._connection = sqlite3.connect(":memory:")
            create_tables(self._connection)
        return self._connection

    def _read_parquet(self, name: str) -> pl.DataFrame | None:
        path = self.root / "derived" / f"{name}.parquet"
        if not path.is_file():
            return None
        import polars as pl

        return pl.read_parquet(path)

    def _write_parquet(self, name: str, frame: pl.DataFrame, fingerprint: str) -> None:
        import io

        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd")
        self.files.keep(f"derived/{name}.parquet", buffer.getvalue())
        self._stamp(name, fingerprint)

    def _stamp(self, derived: str, fingerprint: str) -> None:
        path = self.root / _FINGERPRINTS
        known = json.loads(path.read_text("utf-8")) if path.is_file() else {}
        known[derived] = fingerprint
        self.files.keep(_FINGERPRINTS, canonical_json(known).encode())


def drop_receipts(paths: Sequence[Path]) -> None:
    """Remove receipts whose rows are in the store."""
    for path in paths:
        path.unlink(missing_ok=True)


def _latest(table: str, key: str) -> str:
    return (
        f"SELECT * FROM {table} AS t WHERE attempt = "
        f"(SELECT max(attempt) FROM {table} WHERE {key} = t.{key}) ORDER BY {key}"
    )


_STRUCTURED = {
    row_class: frozenset(
        field.name for field in fields(row_class) if str(field.type).startswith(("dict", "tuple"))
    )
    for row_class, _ in TABLES.values()
}
# Row class -> names of the fields that are stored as JSON.


def _encode(row: Any) -> tuple[Any, ...]:
    structured = _STRUCTURED[type(row)]
    return tuple(
        canonical_json(value) if field.name in structured and value is not None else value
        for field, value in zip(fields(row), _values(row), strict=True)
    )


def _values(row: Any) -> tuple[Any, ...]:
    return tuple(getattr(row, field.name) for field in fields(row))


def _decode(
    names: list[str], structured: frozenset[str], values: tuple[Any, ...]
) -> dict[str, Any]:
    row = dict(zip(names, values, strict=True))
    for name in structured:
        if row[name] is not None:
            row[name] = json.loads(row[name])
    if "prompted" in structured:
        row["prompted"] = tuple(row["prompted"])
    if "readable" in structured:
        row["readable"] = {
            key: None if labels is None else tuple(labels)
            for key, labels in row["readable"].items()
        }
    return row


def _connect(root: Path, *, writing: bool) -> sqlite3.Connection | None:
    path = root / STORE_FILE
    if not writing and not path.exists():
        return None
    try:
        connection = sqlite3.connect(_uri(path, writing=writing), uri=True, timeout=30)
        check_version(connection, str(path))
        if writing:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            create_tables(connection)
    except sqlite3.OperationalError as error:
        raise unwritable(path, OSError(0, str(error))) from None
    except sqlite3.DatabaseError as error:
        raise _damaged(root, error) from None
    return connection


def _uri(path: Path, *, writing: bool) -> str:
    if writing:
        return f"{path.as_uri()}?mode=rwc"
    # A write-ahead log needs its folder to be writable even for reading; where it is not, nobody
    # can be writing either.
    locked = not os.access(path.parent, os.W_OK)
    return f"{path.as_uri()}?mode=ro" + ("&immutable=1" if locked else "")


def _damaged(root: Path, error: sqlite3.DatabaseError) -> StudyError:
    return StudyError(
        f"{root / STORE_FILE} cannot be read: {error}",
        "restore it from a copy; images and report are still in the folder",
    )


def _take_lock(root: Path) -> int:
    path = root / ".lock"
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise unwritable(root, error) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise StudyError(
            f"another contextbias is writing in {root}", "wait for it, or stop it, then run again"
        ) from None
    return handle


def _sweep_after_a_crash(root: Path, lock: int) -> None:
    # The lock file is empty after a clean end. What a killed run left half-written can go.
    if os.fstat(lock).st_size:
        for part in root.rglob(".*.part"):
            part.unlink(missing_ok=True)
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
