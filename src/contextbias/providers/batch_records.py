"""Batches on disk: which requests are with the provider, and the answers that came back.

``batches/<name>.json`` in the study is written before a batch exists, and again when its id is
known, so that a crash between the two leaves enough to find it: the provider keeps the name as
metadata. Answers lie beside it (``<name>.answers.jsonl``), whole or not at all, before the
provider's copies are deleted. They were paid for, so they stay until a row was made of each.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from contextbias.errors import StudyError
from contextbias.files import BATCHES, unreadable, write_atomic
from contextbias.ids import canonical_json

SENDING = "sending"
"""Written before anything is uploaded."""
SENT = "sent"
"""The provider has it."""
BACK = "back"
"""Its answers are here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One batch."""

    name: str
    """Of the files here, and in the provider's metadata."""
    state: str
    """``sending``, ``sent`` or ``back``."""
    base_url: str
    """With whom it is."""
    ids: tuple[str, ...]
    """Of its requests (custom_id); those that a row was made of are taken out."""
    tokens: int = 0
    """Expected of all of them, for limits on what may be enqueued."""
    batch_id: str | None = None
    """The provider's."""
    input_id: str | None = None
    """Of the provider's copy of the requests; None where none was made, or all are deleted."""
    sent_at: str = ""
    """UTC, ISO 8601."""
    reason: str = ""
    """Why some of its requests have no answer."""


@dataclass(slots=True)
class Records:
    """All batches of a study with one service.

    Args:
        folder: The study's root.
        base_url: The service; batches with another one are left alone.
    """

    folder: Path
    base_url: str
    open: dict[str, Record] = field(default_factory=dict)
    """Name -> record."""
    _answers: dict[str, tuple[Path, int, int]] = field(default_factory=dict)

    def load(self) -> None:
        """Read all records, and where their answers lie.

        Raises:
            StudyError: A file there cannot be understood; it may stand for paid answers.
        """
        self.open, self._answers = {}, {}
        for path in sorted(self.place.glob("*.json")):
            record = _record(path)
            if record.base_url == self.base_url:
                self.open[record.name] = record
                if record.state == BACK:
                    self._index(record.name)

    @property
    def place(self) -> Path:
        """The folder."""
        return self.folder / BATCHES

    def path(self, name: str) -> Path:
        """Where the record of a batch lies."""
        return self.place / f"{name}.json"

    def input_path(self, name: str) -> Path:
        """Where the requests of a batch lie until they are sent."""
        return self.place / f"{name}.requests.jsonl"

    def keep(self, record: Record) -> None:
        """Write a record."""
        write_atomic(self.path(record.name), canonical_json(asdict(record)).encode())
        self.open[record.name] = record

    def keep_answers(self, record: Record, lines: Iterable[bytes], reason: str) -> Record:
        """Write what came back, whole; then the record says so.

        An answer that comes twice is kept once; a line that is no answer to one of the batch's
        requests is passed over.
        """
        known, seen, kept = set(record.ids), set(), []
        for line in lines:
            found = _custom_id(line)
            if found in known and found not in seen:
                seen.add(found)
                kept.append(line)
        write_atomic(self._answers_path(record.name), b"".join(line + b"\n" for line in kept))
        back = replace(record, state=BACK, ids=tuple(sorted(seen)), tokens=0, reason=reason)
        self.keep(back)
        self._index(record.name)
        return back

    def away(self) -> set[str]:
        """All requests that are with the provider."""
        return {each for r in self.open.values() if r.state == SENT for each in r.ids}

    def count_away(self) -> int:
        """How many batches are with the provider."""
        return sum(record.state == SENT for record in self.open.values())

    def has(self, custom_id: str) -> bool:
        """Whether the answer to a request is back."""
        return custom_id in self._answers

    def answer(self, custom_id: str) -> dict[str, Any] | None:
        """The line that came back for a request; None where there is none."""
        place = self._answers.get(custom_id)
        if place is None:
            return None
        path, start, size = place
        with path.open("rb") as handle:
            handle.seek(start)
            found: dict[str, Any] = json.loads(handle.read(size))
        return found

    def used(self, ids: set[str]) -> None:
        """Rows were made of these answers: they need not be kept here."""
        for record in list(self.open.values()):
            if record.state != BACK:
                continue
            left = tuple(each for each in record.ids if each not in ids)
            if not left:
                self.drop(record)
            elif len(left) < len(record.ids):
                self.keep(replace(record, ids=left))
        for each in ids:
            self._answers.pop(each, None)

    def drop(self, record: Record) -> None:
        """Remove a record and what lies beside it."""
        self.open.pop(record.name, None)
        for path in (
            self.path(record.name),
            self._answers_path(record.name),
            self.input_path(record.name),
        ):
            path.unlink(missing_ok=True)

    def _answers_path(self, name: str) -> Path:
        return self.place / f"{name}.answers.jsonl"

    def _index(self, name: str) -> None:
        path, start = self._answers_path(name), 0
        wanted = set(self.open[name].ids)
        try:
            with path.open("rb") as handle:
                for line in handle:
                    custom_id = _custom_id(line)
                    if custom_id in wanted:
                        self._answers[str(custom_id)] = (path, start, len(line))
                    start += len(line)
        except OSError as error:
            raise unreadable(path, error) from None


def outstanding(folder: Path) -> int:
    """Requests of a study that are in batches: with a provider, or back and not yet rows."""
    return sum(len(_record(path).ids) for path in sorted((folder / BATCHES).glob("*.json")))


def lines_of(data: bytes) -> Iterator[bytes]:
    """The lines of a JSONL file that are not empty."""
    return (line for line in data.split(b"\n") if line.strip())


def _custom_id(line: bytes) -> str | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    custom_id = found.get("custom_id") if isinstance(found, dict) else None
    return custom_id if isinstance(custom_id, str) else None


def _record(path: Path) -> Record:
    try:
        found = json.loads(path.read_bytes())
        return Record(**{**found, "ids": tuple(found["ids"])})
    except OSError as error:
        raise unreadable(path, error) from None
    except (ValueError, TypeError, KeyError) as error:
        raise StudyError(
            f"{path} is no record of a batch: {error}",
            "restore it, or move it out of the study; its requests are then sent again",
        ) from None
