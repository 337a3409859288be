"""From images to readings: what is asked of a reader, and what a worker does with a batch."""

from __future__ import annotations

import math
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextbias.errors import ContextBiasError
from contextbias.extract.protocol import Picture, RawReading, Reader
from contextbias.files import StudyFiles, passing_folder, unwritable
from contextbias.ids import content_hash, storable
from contextbias.interrupts import finish_up
from contextbias.registry import load_reader
from contextbias.schema import CODEBOOK_VERSION, check_record
from contextbias.tables import OK, ReadingRow
from contextbias.worklist import Kept, kept_before, utc_now

if TYPE_CHECKING:
    from contextbias.providers.session import Session

_NAMELESS = "contextbias-pictures-"


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
    repeat: int = 0
    """0 for the reading that counts, 1 for the first further one, …"""

    @property
    def picture_id(self) -> str:
        """What the reader is told: another id for each repeat, so that a reader that draws random
        numbers draws others."""
        return f"{self.image_id}/repeat-{self.repeat}" if self.repeat else self.image_id


def reading_id(reader: str, fingerprint: str, image_id: str, sha256: str, repeat: int = 0) -> str:
    """Identity of a reading: the reader and its settings, the file's content, the schema.

    Args:
        reader: Name in study.toml.
        fingerprint: Of its settings.
        image_id: Which image.
        sha256: Hash of its file.
        repeat: Number of a further reading of the same image; 0 for the one that counts.
    """
    key = ["reading", reader, fingerprint, image_id, sha256, CODEBOOK_VERSION]
    return content_hash([*key, repeat] if repeat else key)


Answer = tuple[Question, RawReading, float]


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
    session: Session | None = None
    """What a reader that costs money is told; see `providers.session`."""

    def backend_for_scheduling(self) -> Reader:
        """The backend, built in the driver to ask how it likes to be run; loads nothing heavy."""
        backend: Reader = load_reader(self.backend, self.options)
        return backend

    def build(self) -> Callable[[Sequence[Question]], list[Kept]]:
        """Load the reader; the result reads and keeps a batch."""
        backend = load_reader(self.backend, self.options)

        def work(questions: Sequence[Question]) -> list[Kept]:
            return [
                self._keep(question, reading, seconds)
                for question, reading, seconds in _answers(backend, questions, self.files)
            ]

        return work

    def stream(self, questions: Sequence[Question]) -> Iterator[list[Kept]]:
        """Load the reader, give it everything, and keep each reading as it comes."""
        backend = load_reader(self.backend, self.options)
        if self.session is not None:
            backend.begin(self.session)
        unkept, fault = [], None
        try:
            for found in _answers(backend, questions, self.files):
                try:
                    kept = self._keep(*found)
                except Exception as error:
                    # A full disk: what is under way may be paid for, so it is waited for.
                    unkept.append(found)
                    fault = fault or error
                    if getattr(backend, "keeps_answers", False) or not finish_up():
                        break
                    continue
                yield [kept]
        except KeyboardInterrupt:
            if fault is None:
                raise
        if fault is not None:
            yield from self._once_more(unkept)
            raise fault

    def _once_more(self, unkept: Sequence[Answer]) -> Iterator[list[Kept]]:
        """Keep what could not be kept at first, if there is room by now."""
        for found in unkept:
            with suppress(Exception):  # the first one is told
                yield [self._keep(*found)]

    def kept(self, question: Question) -> Kept | None:
        """What a worker had read when it died; None where the reading is not finished."""
        return kept_before(
            self.files, "readings", ReadingRow, question.reading_id, question.attempt
        )

    def given_up(self, question: Question, reason: str) -> Kept:
        """The row of a question that no worker survives."""
        return self._keep(question, RawReading(status="error", reason=reason), 0.0)

    def _keep(self, question: Question, reading: RawReading, seconds: float) -> Kept:
        # Nothing that a model says, paid for as it is, may end the run.
        raw = storable(reading.raw) | ({"repeat": question.repeat} if question.repeat else {})
        row = ReadingRow(
            reading_id=question.reading_id,
            attempt=question.attempt,
            image_id=question.image_id,
            reader=self.reader,
            reader_fingerprint=self.fingerprint,
            schema_version=CODEBOOK_VERSION,
            status=reading.status,
            reason=storable(reading.reason),
            record=storable(reading.record),
            raw=raw,
            seconds=round(seconds, 4) if math.isfinite(seconds) else 0.0,
            created_at=utc_now(),
        )
        return Kept(row, self.files.keep_receipt("readings", row))


class _Shown:
    """Pictures under names that say nothing, as links: the folders of an image are called as its
    generator, condition, role and prompt, and a reader must not be told.

    Args:
        files: Where the pictures are.
        folder: For the links.
    """

    def __init__(self, files: StudyFiles, folder: Path) -> None:
        self._files, self._folder = files, folder
        self._links: dict[str, Path] = {}

    def show(self, question: Question) -> Picture:
        """The picture of a question, its link made.

        Raises:
            FileNotFoundError: The file is gone.
            InputError: There is no room for the link.
        """
        path = self._files.fetched(question.path).absolute()
        link = self._folder / f"{question.reading_id}{path.suffix}"
        try:
            link.unlink(missing_ok=True)
            link.symlink_to(path)
        except OSError as error:
            raise unwritable(link, error) from None
        self._links[question.reading_id] = link
        return Picture(image_id=question.picture_id, path=link, key=question.reading_id)

    def hide(self, question: Question) -> None:
        """Take the link away, if it was made."""
        link = self._links.pop(question.reading_id, None)
        if link is not None:
            link.unlink(missing_ok=True)


def _answers(backend: Any, questions: Sequence[Question], files: StudyFiles) -> Iterator[Answer]:
    """Ask the reader, in its own way; whatever it fails on, or leaves out, is a row."""
    ask = _answers_of_many if hasattr(backend, "read_many") else _answers_of_each
    with _shown(files) as shown:
        yield from ask(backend, questions, shown)


@contextmanager
def _shown(files: StudyFiles) -> Iterator[_Shown]:
    try:
        folder = passing_folder(_NAMELESS)
    except OSError as error:
        raise unwritable(Path(tempfile.gettempdir()), error) from None
    try:
        yield _Shown(files, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _answers_of_each(
    backend: Any, questions: Sequence[Question], shown: _Shown
) -> Iterator[Answer]:
    for question in questions:
        began = time.perf_counter()
        try:
            reading = backend.read(shown.show(question))
        except (ContextBiasError, KeyboardInterrupt):
            raise
        except Exception as error:  # a failing item is a row, whatever failed
            reading = RawReading(status="error", reason=f"{type(error).__name__}: {error}")
        shown.hide(question)
        yield question, _checked(reading), time.perf_counter() - began


def _answers_of_many(
    backend: Any, questions: Sequence[Question], shown: _Shown
) -> Iterator[Answer]:
    waiting = {question.picture_id: question for question in questions}
    reason = "the reader returned nothing for this picture"
    lost: dict[str, str] = {}

    def pictures() -> Iterator[Picture]:
        for question in questions:
            try:
                yield shown.show(question)
            except OSError as error:
                lost[question.picture_id] = f"{type(error).__name__}: {error}"

    began = time.perf_counter()
    try:
        for image_id, reading in backend.read_many(pictures()):
            seconds, began = time.perf_counter() - began, time.perf_counter()
            own = seconds if reading.seconds is None else reading.seconds
            question = waiting.pop(image_id)
            shown.hide(question)
            yield question, _checked(reading), own
    except (ContextBiasError, KeyboardInterrupt):
        raise
    except Exception as error:  # a failing item is a row, whatever failed
        reason = f"{type(error).__name__}: {error}"
    for question in waiting.values():
        failed = RawReading(status="error", reason=lost.get(question.picture_id, reason))
        yield question, failed, 0.0


def _checked(reading: RawReading) -> RawReading:
    """A record off schema is an invalid answer."""
    if reading.status != OK:
        return reading
    faults = check_record(reading.record)
    if not faults:
        return reading
    raw = {**reading.raw, "record": reading.record}
    return replace(reading, status="invalid", reason="; ".join(faults[:5]), record=None, raw=raw)
