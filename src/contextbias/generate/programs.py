"""Running a program that answers jobs: copies of it, their crashes, their silence, their end."""

from __future__ import annotations

import io
import json
import queue
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from contextbias.errors import Incomplete, one_line
from contextbias.generate.copies import Copy, Line, Setup, end
from contextbias.generate.protocol import Job, Made
from contextbias.interrupts import Interrupts

_POLL = 0.2
_UNREAD = 64  # lines that may wait to be looked at
_LARGEST_FILE = 1 << 28
_DEATHS = 2  # a job that is under way this often when the program ends is not given to it again


class Programs:
    """Gives jobs to copies of a program and takes their answers.

    Args:
        setup: How the program is run.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._lines: queue.Queue[Line] = queue.Queue(_UNREAD)
        self._copies: dict[int, Copy] = {}
        self._deaths: dict[str, int] = {}
        self._todo: deque[Job] = deque()
        self._suspects: deque[Job] = deque()
        self._has_answered = False
        self._in_vain = 0

    def make(self, jobs: Sequence[Job]) -> Iterator[Made]:
        """Have every job done; yields as answers come.

        Raises:
            Incomplete: The program ended `restarts` + 1 times in a row without an answer.
            KeyboardInterrupt: After Ctrl-C, when the jobs under way are finished and yielded.
        """
        self._todo.extend(jobs)
        with Interrupts() as interrupts:
            try:
                while self._is_busy(stopping=interrupts.noted):
                    if not interrupts.noted:
                        self._hand_out()
                    yield from self._one_event()
                    yield from self._silent()
            except BaseException:
                self._end(at_once=True)
                raise
            self._end()
            noted = interrupts.noted
        if noted:
            raise KeyboardInterrupt

    def _is_busy(self, *, stopping: bool) -> bool:
        under_way = any(copy.waiting for copy in self._copies.values())
        return under_way or (not stopping and bool(self._todo or self._suspects))

    def _hand_out(self) -> None:
        for number in range(self._setup.processes):
            copy = self._copies.get(number)
            if copy is not None and (copy.closed or self._is_full(copy)):
                continue
            batch = self._next_batch(copy)
            if not batch:
                continue
            if copy is None:
                copy = self._copies[number] = self._start(number)
            for job in batch:
                copy.give(job, self._order(job))
            if not self._setup.keep_running:
                copy.close_input()

    def _is_full(self, copy: Copy) -> bool:
        has_suspect = any(self._deaths.get(key) for key in copy.waiting)
        return has_suspect or len(copy.waiting) >= self._setup.batch_size

    def _next_batch(self, copy: Copy | None) -> list[Job]:
        """Jobs for one copy; one that was under way when the program ended is tried alone."""
        waiting = 0 if copy is None else len(copy.waiting)
        # Before the first answer the cause is hardly in the job: the others are tried first.
        if self._suspects and not waiting and (self._has_answered or not self._todo):
            return [self._suspects.popleft()]
        room = self._setup.batch_size - waiting
        return [self._todo.popleft() for _ in range(min(room, len(self._todo)))]

    def _start(self, number: int) -> Copy:
        try:
            return Copy(self._setup, number, self._lines)
        except OSError as error:
            raise Incomplete(
                f"{self._setup.command[0]} cannot be started ({error.strerror or error})",
                "correct the command in study.toml and run again",
            ) from None

    def _order(self, job: Job) -> bytes:
        order = {
            "id": job.image_id,
            "prompt": job.text,
            "seed": job.seed,
            "file": str(self._setup.out / f"{job.image_id}.png"),
            "parameters": dict(self._setup.parameters),
        }
        return json.dumps(order, ensure_ascii=False).encode() + b"\n"

    def _one_event(self) -> Iterator[Made]:
        try:
            line = self._lines.get(timeout=_POLL)
        except queue.Empty:
            return
        if self._copies.get(line.copy.number) is not line.copy:
            return  # one that was given up
        if line.text is None:
            yield from self._ended(line.copy)
            return
        made = self._made(line.copy, line.text)
        if made is not None:
            self._has_answered, self._in_vain = True, 0
            yield made

    def _made(self, copy: Copy, text: bytes) -> Made | None:
        """The answer on a line; None where the line is the program's own."""
        answer = _object(text)
        key = None if answer is None else answer.get("id")
        if answer is None or key not in copy.waiting:
            copy.remember(text)
            return None
        now = time.monotonic()
        seconds, copy.heard = now - copy.heard, now
        del copy.waiting[key]
        try:
            return self._answered(key, answer, seconds)
        finally:
            self._clear(key)

    def _answered(self, key: str, answer: Mapping[str, Any], seconds: float) -> Made:
        info = answer.get("info")
        provenance = {"program": info} if isinstance(info, dict) and info else {}
        for status in ("blocked", "error"):
            if answer.get(status):
                reason = one_line(str(answer[status]))
                return Made(
                    image_id=key,
                    status=status,
                    reason=reason,
                    provenance=provenance,
                    seconds=seconds,
                )
        path = self._file(key)
        if isinstance(answer.get("file"), str):
            path = self._setup.cwd / answer["file"]
        try:
            there = path.resolve()
            self._is_no_other(key, there)
            data = _content(there)
        except (OSError, ValueError, RuntimeError) as error:
            said = getattr(error, "strerror", None) or error
            reason = f"the program names {path}, which cannot be read: {said}"
            return Made(image_id=key, status="error", reason=reason, seconds=seconds)
        if there.is_relative_to(self._setup.out.resolve()):
            there.unlink(missing_ok=True)
        elif not _is_picture(data):
            # Not how it begins: it may be any file of this machine, and reasons are published.
            reason = f"the program names {path}, which is no picture that can be decoded"
            return Made(image_id=key, status="error", reason=reason, seconds=seconds)
        return Made(image_id=key, data=data, provenance=provenance, seconds=seconds)

    def _file(self, key: str) -> Path:
        return self._setup.out / f"{key}.png"

    def _clear(self, key: str) -> None:
        """Remove the file of a job that is done, whatever became of it."""
        with suppress(OSError):
            self._file(key).unlink(missing_ok=True)

    def _is_no_other(self, key: str, path: Path) -> None:
        """Raise ValueError for the file of another job that is under way."""
        waiting = {other for copy in self._copies.values() for other in copy.waiting}
        if path in {self._file(other).resolve() for other in waiting - {key}}:
            raise ValueError("it is the file of another job")

    def _ended(self, copy: Copy) -> Iterator[Made]:
        """A copy has ended: its jobs are given out again, or have ended it too often."""
        del self._copies[copy.number]
        end([copy], at_once=bool(copy.waiting))
        if not copy.waiting:
            return
        words = copy.last_words()
        for key, job in copy.waiting.items():
            self._deaths[key] = self._deaths.get(key, 0) + 1
            alone = len(copy.waiting) == 1
            self._clear(key)
            if alone and self._deaths[key] >= _DEATHS and self._has_answered:
                yield Made(image_id=key, status="error", reason=words)
            else:
                self._suspects.append(job)
        self._count_in_vain(words)

    def _count_in_vain(self, words: str) -> None:
        self._in_vain += 1
        if self._in_vain > self._setup.restarts:
            times = "" if self._in_vain == 1 else f" ({self._in_vain} times without an answer)"
            raise Incomplete(
                f"{words}{times}",
                "correct the program and run again; only what is missing will be made",
            )

    def _silent(self) -> Iterator[Made]:
        """Stop copies that have been silent for too long; their jobs have failed."""
        for copy in list(self._copies.values()):
            if copy.is_gone():
                yield from self._ended(copy)
                continue
            if not copy.waiting or time.monotonic() - copy.heard <= self._setup.timeout:
                continue
            del self._copies[copy.number]
            end([copy], at_once=True)
            reason = f"no answer in {self._setup.timeout:g} s; {copy.last_words()}"
            for key in copy.waiting:
                self._clear(key)
                yield Made(image_id=key, status="error", reason=reason)
            self._count_in_vain(reason)

    def _end(self, *, at_once: bool = False) -> None:
        end(self._copies.values(), at_once=at_once)
        self._copies = {}


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("id"), str) else None


def _is_picture(data: bytes) -> bool:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)):
            return True
    except Exception:  # headers of broken files raise whatever they lead to
        return False


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise FileNotFoundError(2, "there is no such file", str(path))
    if path.stat().st_size > _LARGEST_FILE:
        raise OSError(27, "it is too large", str(path))
    return path.read_bytes()
