"""A study folder: create it, open it, append to it, read it.

The only code that writes in a study folder (with files.py, which workers use, and database.py and
stamps.py, which only this module uses). Paid-for rows are appended to ``study.sqlite``; derived
tables are Parquet files that are rewritten whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextbias import parquet
from contextbias.config import StudyConfig, load_config, parse_config
from contextbias.database import Database
from contextbias.errors import StudyError
from contextbias.files import (
    Receipt,
    StudyFiles,
    drop_receipts,
    not_a_receipt,
    row_of,
    unreadable,
    write_atomic,
)
from contextbias.guards import CONFIG_FILE as CONFIG_FILE
from contextbias.guards import STORE_FILE as STORE_FILE
from contextbias.guards import (
    check_is_study,
    check_name,
    check_store_is_there,
    sweep_after_a_crash,
    take_lock,
)
from contextbias.migrations import TABLES
from contextbias.stamps import Stamps
from contextbias.tables import (
    FrequencyRow,
    GeneratorRow,
    ImageRow,
    Prompt,
    ReaderRow,
    ReadingRow,
)

if TYPE_CHECKING:
    import polars as pl

REPORT_FILE = "report/index.html"
MAPPING_FILE = "derived/mapping.json"
_COMMIT_EVERY = 500
_CHARGED = {"images": ("provenance", "generator"), "readings": ("raw", "reader")}


class Study:
    """One study folder.

    Use it as a context manager. ``writing=True`` takes the folder's lock, so that two runs cannot
    write at once, and takes in what a killed run left (see files.py).
    """

    def __init__(self, root: Path, database: Database, lock: int | None) -> None:
        self.root = root
        self._database = database
        self._stamps = Stamps(StudyFiles(root))
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
        check_name(root)
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
        check_is_study(root)
        lock = take_lock(root) if writing else None
        try:
            if writing:
                check_store_is_there(root)
            study = cls(root, Database(root / STORE_FILE, writing=writing), lock)
            if writing:
                study.files.claim()
                study._take_in_receipts()
            if lock is not None:
                sweep_after_a_crash(study.files, lock)
        except BaseException:
            if lock is not None:
                os.close(lock)
            raise
        return study

    def close(self) -> None:
        """Close the store and give the lock back."""
        self._database.close()
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

    @cached_property
    def files(self) -> StudyFiles:
        """Where images and receipts are kept."""
        files = StudyFiles(self.root, self.config.run.images)
        files.look_again()
        return files

    @property
    def report_path(self) -> Path:
        """Where the report's page is, or will be."""
        return self.root / REPORT_FILE

    # ---- paid-for rows

    def append_prompts(self, rows: Iterable[Prompt]) -> int:
        """Append the prompts that are not there yet; returns how many were new. Writer: bench."""
        return self._database.append("prompts", rows)

    def append_generators(self, rows: Iterable[GeneratorRow]) -> int:
        """Append generator settings that are not there yet. Writer: generate."""
        return self._database.append("generators", rows)

    def append_images(self, rows: Iterable[ImageRow]) -> int:
        """Append attempts at images and drop their receipts. Writer: generate."""
        return self._database.append("images", rows)

    def append_readers(self, rows: Iterable[ReaderRow]) -> int:
        """Append reader settings that are not there yet. Writer: extract."""
        return self._database.append("readers", rows)

    def append_readings(self, rows: Iterable[ReadingRow]) -> int:
        """Append attempts at readings and drop their receipts. Writer: extract."""
        return self._database.append("readings", rows)

    def append_frequencies(self, rows: Iterable[FrequencyRow]) -> int:
        """Append what was counted elsewhere. Writer: import."""
        return self._database.append("frequencies", rows)

    def prompts(self) -> list[Prompt]:
        """All prompts, by id."""
        return self._database.rows(Prompt, "SELECT * FROM prompts ORDER BY prompt_id")

    def generators(self) -> list[GeneratorRow]:
        """All generators' settings, earlier ones included."""
        return self._database.rows(
            GeneratorRow, "SELECT * FROM generators ORDER BY generator, fingerprint"
        )

    def readers(self) -> list[ReaderRow]:
        """All readers' settings, earlier ones included."""
        return self._database.rows(ReaderRow, "SELECT * FROM readers ORDER BY reader, fingerprint")

    def images(self) -> list[ImageRow]:
        """The latest attempt at each image, by id."""
        return self._database.latest(ImageRow, "images")

    def readings(self) -> list[ReadingRow]:
        """The latest attempt at each reading, by id."""
        return self._database.latest(ReadingRow, "readings")

    def frequencies(self) -> list[FrequencyRow]:
        """The latest attempt at each prompt's counts, by id."""
        return self._database.latest(FrequencyRow, "frequencies")

    def counted(self) -> list[tuple[str, int, str, str]]:
        """Id, latest attempt, reader and role of each prompt whose counts there are, by id."""
        query = (
            "SELECT frequency_id, max(attempt), reader, role FROM frequencies "
            "GROUP BY frequency_id ORDER BY frequency_id"
        )
        found = self._database.select(query)
        return [(key, int(last), who, role) for key, last, who, role in found]

    def attempts(self, table: str) -> dict[str, tuple[int, str]]:
        """Id -> (latest attempt, its status) of ``images`` or ``readings``."""
        key = TABLES[table][1][0]
        query = f"SELECT {key}, max(attempt), status FROM {table} GROUP BY {key}"
        return {row[0]: (row[1], row[2]) for row in self._database.select(query)}

    def usage(self, table: str, name: str) -> list[dict[str, Any]]:
        """What services charged for, of every attempt at ``images`` or ``readings`` of `name`."""
        return self._database.inside(table, *_CHARGED[table], name, "usage")

    def counts(self) -> dict[str, int]:
        """How many rows each table has, attempts included."""
        return {
            table: int(self._database.select(f"SELECT count(*) FROM {table}")[0][0])
            for table in TABLES
        }

    # ---- derived tables

    def attributes(self) -> pl.DataFrame | None:
        """derived/attributes.parquet, or None before canonicalise."""
        return parquet.read(self._derived("attributes"))

    def label_counts(self) -> pl.DataFrame | None:
        """derived/label_counts.parquet: answers that came counted; None without."""
        return parquet.read(self._derived("label_counts"))

    def repeats(self) -> pl.DataFrame | None:
        """derived/repeats.parquet: attributes of further readings of a sample; None without."""
        return parquet.read(self._derived("repeats"))

    def scan_attributes(self) -> pl.LazyFrame | None:
        """The same without reading it yet, for who goes through it a part at a time."""
        return parquet.scan(self._derived("attributes"))

    def planted(self) -> pl.DataFrame | None:
        """derived/planted.parquet: what simulated generators were told to draw; None without."""
        return parquet.read(self._derived("planted"))

    def estimates(self) -> pl.DataFrame | None:
        """derived/estimates.parquet, or None before measure."""
        return parquet.read(self._derived("estimates"))

    def write_attributes(
        self, frame: pl.DataFrame, fingerprint: str, mapping: bytes | None = None
    ) -> None:
        """Rewrite the attributes, and the mapping that made them. Writer: canonicalise."""
        beside = {} if mapping is None else {MAPPING_FILE: mapping}
        self._write_parquet("attributes", frame, fingerprint, beside)

    def write_label_counts(self, frame: pl.DataFrame, fingerprint: str) -> None:
        """Rewrite the answers that came counted. Writer: canonicalise."""
        self._write_parquet("label_counts", frame, fingerprint)

    def write_repeats(self, frame: pl.DataFrame | None, fingerprint: str) -> None:
        """Rewrite the attributes of further readings; None for none. Writer: canonicalise."""
        if frame is None:
            self._stamps.drop("repeats")
        else:
            self._write_parquet("repeats", frame, fingerprint)

    def write_planted(self, frame: pl.DataFrame, fingerprint: str) -> None:
        """Rewrite the planted probabilities. Writer: generate."""
        self._write_parquet("planted", frame, fingerprint)

    def write_estimates(self, frame: pl.DataFrame | pl.LazyFrame, fingerprint: str) -> int:
        """Rewrite the estimates; returns how many they are. Writer: measure."""
        return self._write_parquet("estimates", frame, fingerprint)

    def drop_planted(self) -> None:
        """Remove the planted probabilities, when nothing is planted any more. Writer: generate."""
        self._stamps.drop("planted")

    def mapping(self) -> bytes | None:
        """derived/mapping.json as it lies there, or None before canonicalise."""
        path = self.root / MAPPING_FILE
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unreadable(path, error) from None

    def write_report(self, files: dict[str, bytes], fingerprint: str = "") -> Path:
        """Write the report's files (paths below ``report/``); returns the page's path."""
        placed = {f"report/{name}": data for name, data in files.items()}
        self._stamps.keep("report", fingerprint, placed)
        return self.root / REPORT_FILE

    def fingerprint(self, derived: str) -> str | None:
        """What `derived` (attributes, estimates, report …) was made from.

        None when it was not made, or when one of its files is gone or is not as it was written.
        """
        return self._stamps.get(derived)

    # ---- inside

    def _take_in_receipts(self) -> None:
        receipts = self.files.receipts()
        for start in range(0, len(receipts), _COMMIT_EVERY):
            chunk = receipts[start : start + _COMMIT_EVERY]
            for table in sorted({receipt.table for receipt in chunk}):
                rows = [_row_of(receipt) for receipt in chunk if receipt.table == table]
                self._database.append(table, rows)
            drop_receipts([receipt.path for receipt in chunk])

    def _derived(self, name: str) -> Path:
        return self.root / "derived" / f"{name}.parquet"

    def _write_parquet(
        self,
        name: str,
        frame: pl.DataFrame | pl.LazyFrame,
        fingerprint: str,
        beside: dict[str, bytes] | None = None,
    ) -> int:
        data, rows = parquet.encoded(frame)
        files = {**(beside or {}), f"derived/{name}.parquet": data}
        self._stamps.keep(name, fingerprint, files)
        return rows


def _row_of(receipt: Receipt) -> Any:
    row_class = TABLES[receipt.table][0] if receipt.table in ("images", "readings") else None
    if row_class is None:
        raise not_a_receipt(receipt.path, f"it names the table {receipt.table!r}")
    return row_of(receipt, row_class)
