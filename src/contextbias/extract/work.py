"""From images to readings: what is asked of a reader, and what a worker does with a batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextbias.errors import ContextBiasError
from contextbias.extract.protocol import Picture, RawReading, Reader
from contextbias.files import StudyFiles
from contextbias.ids import content_hash
from contextbias.registry import load_reader
from contextbias.schema import CODEBOOK_VERSION, check_record
from contextbias.tables import OK, ReadingRow
from contextbias.worklist import Kept, utc_now


@dataclass(frozen=True, slots=True)
class Question:
    """One image for one reader."""

    reading_id: str
    """Known before the work; see `reading_id`."""
    image_id: str
    """Which image."""
    path: str
    """Its file, relative to the study or absolute."""
    attempt: int = 1
    """Number of this attempt."""


def reading_id(reader: str, fingerprint: str, image_id: str, sha256: str) -> str:
    """Identity of a reading: the reader and its settings, the file's content, the schema."""
    return content_hash(["reading", reader, fingerprint, image_id, sha256, CODEBOOK_VERSION])


@dataclass(frozen=True, slots=True)
class ExtractTask:
    """Built once in each worker: the reader."""

    reader: str
    """Name in study.toml."""
    backend: str
    """Registered name."""
    options: dict[str, Any]
    """The backend's options."""
    fingerprint: str
    """Hash of the backend's settings."""
    files: StudyFiles
    """Where images lie and receipts go."""

    def backend_for_scheduling(self) -> Reader:
        """The backend, built in the driver to ask how it likes to be run; loads nothing heavy."""
        backend: Reader = load_reader(self.backend, self.options)
        return backend

    def build(self) -> Callable[[Sequence[Question]], list[Kept]]:
        """Load the reader; the result reads and keeps a batch."""
        backend = load_reader(self.backend, self.options)

        def work(questions: Sequence[Question]) -> list[Kept]:
            return [self._keep(backend, question) for question in questions]

        return work

    def _keep(self, backend: Any, question: Question) -> Kept:
        began = time.perf_counter()
        reading = _read(backend, question, self.files.root)
        row = ReadingRow(
            reading_id=question.reading_id,
            attempt=question.attempt,
            image_id=question.image_id,
            reader=self.reader,
            reader_fingerprint=self.fingerprint,
            schema_version=CODEBOOK_VERSION,
            status=reading.status,
            reason=reading.reason,
            record=reading.record,
            raw=reading.raw,
            seconds=round(time.perf_counter() - began, 4),
            created_at=utc_now(),
        )
        return Kept(row, self.files.keep_receipt("readings", row))


def _read(backend: Any, question: Question, root: Path) -> RawReading:
    """Ask the reader; an exception, or a record off schema, is a row with a reason."""
    try:
        picture = Picture(image_id=question.image_id, path=root / question.path)
        reading: RawReading = backend.read(picture)
    except (ContextBiasError, KeyboardInterrupt):
        raise
    except Exception as error:  # a failing item is a row, whatever failed
        return RawReading(status="error", reason=f"{type(error).__name__}: {error}")
    if reading.status != OK:
        return reading
    faults = check_record(reading.record)
    if not faults:
        return reading
    raw = {**reading.raw, "record": reading.record}
    return RawReading(status="invalid", reason="; ".join(faults[:5]), raw=raw)
