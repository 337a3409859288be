"""Running a program that answers jobs: copies of it, their crashes, their silence, their end."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from contextbias.errors import Incomplete, one_line
from contextbias.generate.protocol import Job, Made
from contextbias.interrupts import Interrupts

_POLL = 0.2
_GRACE = 10.0  # seconds in which a program should end by itself once its input has ended
_LINGERS = 1.0  # seconds in which what it has written last arrives
_TAIL = 12  # lines of its own words that are shown
_LONGEST_LINE = 300
_LARGEST_FILE = 1 << 28
_DEATHS = 2  # a job that is under way this often when the program ends is not given to it again


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How a program is run; see `command.CommandOptions`."""

    command: tuple[str, ...]
    """The program's path and its arguments."""
    cwd: Path
    """Where it runs."""
    env: Mapping[str, str]
    """All variables that it is given."""
    out: Path
    """Folder for its files, emptied as they are taken."""
    parameters: Mapping[str, Any]
    """Passed with every job."""
    processes: int
    """Copies at the same time."""
    batch_size: int
    """Jobs that one copy is given ahead."""
    keep_running: bool
    """Whether one copy is given batch after batch."""
    timeout: float
    """Seconds of silence."""
    restarts: int
    """Starts in a row without an answer."""


@dataclass(frozen=True, slots=True)
class _Line:
    """What one copy wrote; None when it has closed its output."""

    copy: _Copy
    text: bytes | None


class _Copy:
    """One running copy of the program, with threads that read and write its pipes."""

    def __init__(self, setup: Setup, number: int, lines: queue.SimpleQueue[_Line]) -> None:
        self.number = number
        self.waiting: dict[str, Job] = {}
        self.heard = time.monotonic()
        self.closed = False
        self._gone_since: float | None = None
        self._said: deque[str] = deque(maxlen=_TAIL // 3)
        self._complained: deque[str] = deque(maxlen=_TAIL)
        self._orders: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lines = lines
        # In a session of its own, so that Ctrl-C in the terminal does not reach it.
        self._process = subprocess.Popen(
            setup.command,
            cwd=setup.cwd,
            env={**setup.env, "CONTEXTBIAS_PROCESS": str(number)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._threads = [
            threading.Thread(target=work, args=(pipe,), daemon=True)
            for work, pipe in (
                (self._write, self._process.stdin),
                (self._read, self._process.stdout),
                (self._listen, self._process.stderr),
            )
        ]
        for thread in self._threads:
            thread.start()

    def give(self, job: Job, line: bytes) -> None:
        if not self.waiting:
            self.heard = time.monotonic()
        self.waiting[job.image_id] = job
        self._orders.put(line)

    def close_input(self) -> None:
        if not self.closed:
            self.closed = True
            self._orders.put(None)

    def end(self, *, at_once: bool = False) -> None:
        """Let it end by itself, and stop it if it does not."""
        self.close_input()
        for number, patience in ((None, 0.0 if at_once else _GRACE), (signal.SIGTERM, 2.0)):
            if number is not None:
                self._signal(number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=patience)
                break
        self._signal(signal.SIGKILL)  # and whatever it has started
        self._process.wait()
        for thread in self._threads:
            thread.join(timeout=2)

    def is_gone(self) -> bool:
        """Whether it ended a while ago, though something that it started keeps its output open."""
        if self._process.poll() is None:
            return False
        now = time.monotonic()
        self._gone_since = self._gone_since or now
        return now - self._gone_since > _LINGERS

    def remember(self, text: bytes) -> None:
        """Keep a line of its output that is no answer, for the case that it fails."""
        _keep(self._said, text)

    def last_words(self) -> str:
        """How it ended, and what it said last."""
        code = self._process.poll()
        how = "was stopped" if code is None else _ending(code)
        said = " | ".join((*self._said, *self._complained))
        return f"the program {how}" + (f"; its last lines: {said}" if said else " without a word")

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _write(self, pipe: IO[bytes]) -> None:
        with suppress(OSError, ValueError):
            while (line := self._orders.get()) is not None:
                pipe.write(line)
                pipe.flush()
        with suppress(OSError):
            pipe.close()

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            for line in pipe:
                self._lines.put(_Line(self, line))
        self._lines.put(_Line(self, None))

    def _listen(self, pipe: IO[bytes]) -> None:
        with pipe:
            for line in pipe:
                _keep(self._complained, line)


class Programs:
    """Gives jobs to copies of a program and takes their answers.

    Args:
        setup: How the program is run.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._lines: queue.SimpleQueue[_Line] = queue.SimpleQueue()
        self._copies: dict[int, _Copy] = {}
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

    def _is_full(self, copy: _Copy) -> bool:
        has_suspect = any(self._deaths.get(key) for key in copy.waiting)
        return has_suspect or len(copy.waiting) >= self._setup.batch_size

    def _next_batch(self, copy: _Copy | None) -> list[Job]:
        """Jobs for one copy; one that was under way when the program ended is tried alone."""
        waiting = 0 if copy is None else len(copy.waiting)
        # Before the first answer the cause is hardly in the job: the others are tried first.
        if self._suspects and not waiting and (self._has_answered or not self._todo):
            return [self._suspects.popleft()]
        room = self._setup.batch_size - waiting
        return [self._todo.popleft() for _ in range(min(room, len(self._todo)))]

    def _start(self, number: int) -> _Copy:
        try:
            return _Copy(self._setup, number, self._lines)
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

    def _made(self, copy: _Copy, text: bytes) -> Made | None:
        """The answer on a line; None where the line is the program's own."""
        answer = _object(text)
        key = None if answer is None else answer.get("id")
        if answer is None or key not in copy.waiting:
            copy.remember(text)
            return None
        now = time.monotonic()
        seconds, copy.heard = now - copy.heard, now
        del copy.waiting[key]
        return self._answered(key, answer, seconds)

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
        path = self._setup.out / f"{key}.png"
        if isinstance(answer.get("file"), str):
            path = self._setup.cwd / answer["file"]
        try:
            data = _content(path)
        except OSError as error:
            reason = f"the program names {path}, which cannot be read: {error.strerror or error}"
            return Made(image_id=key, status="error", reason=reason, seconds=seconds)
        if path.is_relative_to(self._setup.out):
            path.unlink(missing_ok=True)
        return Made(image_id=key, data=data, provenance=provenance, seconds=seconds)

    def _ended(self, copy: _Copy) -> Iterator[Made]:
        """A copy has ended: its jobs are given out again, or have ended it too often."""
        del self._copies[copy.number]
        copy.end(at_once=bool(copy.waiting))
        if not copy.waiting:
            return
        words = copy.last_words()
        for key, job in copy.waiting.items():
            self._deaths[key] = self._deaths.get(key, 0) + 1
            alone = len(copy.waiting) == 1
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
            copy.end(at_once=True)
            reason = f"no answer in {self._setup.timeout:g} s; {copy.last_words()}"
            for key in copy.waiting:
                yield Made(image_id=key, status="error", reason=reason)
            self._count_in_vain(reason)

    def _end(self, *, at_once: bool = False) -> None:
        for copy in self._copies.values():
            copy.close_input()
        for copy in self._copies.values():
            copy.end(at_once=at_once)
        self._copies = {}


def _keep(lines: deque[str], text: bytes) -> None:
    words = one_line(text.decode("utf-8", "replace").rstrip())[:_LONGEST_LINE]
    if words:
        lines.append(words)


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) and isinstance(value.get("id"), str) else None


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise FileNotFoundError(2, "there is no such file", str(path))
    if path.stat().st_size > _LARGEST_FILE:
        raise OSError(27, "it is too large", str(path))
    return path.read_bytes()


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
