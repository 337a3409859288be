"""The answers that were paid for: a file of JSON lines, appended to and never rewritten.

An answer is in the file, on the disk, before anything is made of it. So a kill loses what was under
way and no more, and what is there is never asked again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contextbias.errors import InputError
from contextbias.files import unreadable, unwritable
from contextbias.ids import bytes_sha256, canonical_json
from contextbias.llm.question import Answer

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """One line of a journal."""

    key: str
    """What the answer is kept under."""
    date: str
    """When it came: UTC, ISO 8601, to the second."""
    answer: Answer
    """The answer."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the model."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What it was asked about, for who reads the file."""

    @property
    def sha256(self) -> str:
        """Hash of the answer's text as it came."""
        return bytes_sha256(self.answer.text.encode())


class Journal:
    """Answers by key.

    Args:
        path: The file; it need not be there yet. None: nothing is kept beyond this object.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._kept: dict[str, Kept] = {}
        self._whole = 0
        if path is not None:
            self._read(path)

    def get(self, key: str) -> Kept | None:
        """The answer kept under `key`; the first one, where a file was put together of two."""
        return self._kept.get(key)

    def __len__(self) -> int:
        """Number of answers."""
        return len(self._kept)

    def tokens(self, model: str | None = None) -> dict[str, int]:
        """Tokens of all answers in the file, by kind; or of those that were asked of `model`."""
        total: dict[str, int] = {}
        for kept in self._kept.values():
            if model is None or kept.settings.get("model") == model:
                for kind, number in kept.answer.usage.items():
                    total[kind] = total.get(kind, 0) + number
        return total

    def keep(
        self,
        key: str,
        answer: Answer,
        *,
        settings: Mapping[str, Any],
        about: Mapping[str, Any] | None = None,
    ) -> Kept:
        """Append an answer, and return the line.

        Raises:
            InputError: The file cannot be written.
        """
        date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        kept = Kept(key, date, answer, dict(settings), dict(about or {}))
        if self._path is not None:
            self._append(self._path, kept)
        self._kept.setdefault(key, kept)
        return kept

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the file, so that two programs do not pay for the same answers.

        Raises:
            InputError: Another one holds it, or the folder cannot be written.
        """
        if self._path is None:
            yield
            return
        lock = self._path.with_name(f".{self._path.name}.lock")
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise unwritable(lock.parent, error) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise InputError(
                f"another contextbias is asking for {self._path}", "wait for it, or stop it"
            ) from None
        try:
            self._read(self._path)
            yield
        finally:
            os.close(handle)

    def _append(self, path: Path, kept: Kept) -> None:
        line = canonical_json({"version": _VERSION, **asdict(kept)}) + "\n"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as stream:
                if stream.tell() > self._whole:  # a kill left half a line
                    stream.truncate(self._whole)
                stream.write(line.encode())
                stream.flush()
                os.fsync(stream.fileno())
                self._whole = stream.tell()
        except OSError as error:
            raise unwritable(path, error) from None

    def _read(self, path: Path) -> None:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise unreadable(path, error) from None
        self._whole = data.rfind(b"\n") + 1
        for number, line in enumerate(data[: self._whole].splitlines(), 1):
            kept = _kept_of(line, f"{path} line {number}")
            self._kept.setdefault(kept.key, kept)


def _kept_of(line: bytes, where: str) -> Kept:
    try:
        table = json.loads(line)
        answer = table["answer"]
        return Kept(
            key=str(table["key"]),
            date=str(table["date"]),
            answer=Answer(
                status=str(answer["status"]),
                text=str(answer["text"]),
                model=str(answer["model"]),
                usage={str(kind): int(number) for kind, number in answer["usage"].items()},
                request=str(answer["request"]),
            ),
            settings=dict(table["settings"]),
            about=dict(table["about"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InputError(
            f"{where} is no answer of a language model",
            "restore the file: it holds what was paid for; or move it away to ask anew",
        ) from None
