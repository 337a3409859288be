"""One running copy of a program: its pipes, its last words, its end."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from contextbias.errors import one_line
from contextbias.generate.protocol import Job

_GRACE = 10.0  # seconds in which a program should end by itself once its input has ended
_LAST = 2.0  # seconds between the request to end and the end
_LINGERS = 1.0  # seconds in which what it has written last arrives
_PATIENCE = 0.2  # seconds between two looks at whether anybody still takes answers
_TAIL = 12  # lines of its own words that are shown
_LONGEST_LINE = 300
_LONGEST_NAME = 60
_LONGEST_ANSWER = 1 << 20  # bytes of a line; the rest of a longer one is dropped


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
class Line:
    """What one copy wrote; None when it has closed its output."""

    copy: Copy
    text: bytes | None


class Copy:
    """One running copy of the program, with threads that read and write its pipes."""

    def __init__(self, setup: Setup, number: int, lines: queue.Queue[Line]) -> None:
        self.number = number
        self._name = _shown(setup.command)
        self.waiting: dict[str, Job] = {}
        self.heard = time.monotonic()
        self.closed = False
        self._over = threading.Event()
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
        """Write a job to its input."""
        if not self.waiting:
            self.heard = time.monotonic()
        self.waiting[job.image_id] = job
        self._orders.put(line)

    def close_input(self) -> None:
        """Let its input end, after what it was given."""
        if not self.closed:
            self.closed = True
            self._orders.put(None)

    def is_gone(self) -> bool:
        """Whether it ended a while ago, though something that it started keeps its output open."""
        if self._process.poll() is None:
            return False
        now = time.monotonic()
        self._gone_since = self._gone_since or now
        return now - self._gone_since > _LINGERS

    def let_go(self) -> None:
        """Let it end by itself: no more jobs, and whatever it still writes is its own."""
        self.close_input()
        self._over.set()

    def terminate(self) -> None:
        """Ask it to end."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)

    def wait(self, until: float) -> None:
        """Wait for its end, until the clock (time.monotonic) says `until`."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=max(0.0, until - time.monotonic()))

    def kill(self) -> None:
        """End it and whatever it has started."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def leave(self, until: float) -> None:
        """Wait for what it wrote last, unless something that it started keeps its output open."""
        for thread in self._threads:
            thread.join(timeout=max(0.0, until - time.monotonic()))

    def remember(self, text: bytes) -> None:
        """Keep a line of its output that is no answer, for the case that it fails."""
        _keep(self._said, text)

    def last_words(self) -> str:
        """How it ended, and what it said last."""
        code = self._process.poll()
        how = "was stopped" if code is None else _ending(code)
        said = " | ".join((*self._said, *self._complained))
        words = f"; its last lines: {said}" if said else " without a word"
        return f"the program `{self._name}` {how}{words}"

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
            for line in _lines_of(pipe):
                self._pass_on(line)
        self._pass_on(None)

    def _pass_on(self, line: bytes | None) -> None:
        """Give a line to whoever takes answers, who may be behind, or take none any more."""
        while not self._over.is_set():
            with suppress(queue.Full):
                self._lines.put(Line(self, line), timeout=_PATIENCE)
                return
        if line is not None:
            self.remember(line)

    def _listen(self, pipe: IO[bytes]) -> None:
        with pipe:
            for line in _lines_of(pipe):
                _keep(self._complained, line)


def end(copies: Collection[Copy], *, at_once: bool = False) -> None:
    """Let copies end by themselves, all at the same time, and stop those that do not."""
    for copy in copies:
        copy.let_go()
    _wait(copies, 0.0 if at_once else _GRACE)
    for copy in copies:
        copy.terminate()
    _wait(copies, _LAST)
    for copy in copies:
        copy.kill()
    until = time.monotonic() + _LAST
    for copy in copies:
        copy.leave(until)


def _wait(copies: Collection[Copy], seconds: float) -> None:
    until = time.monotonic() + seconds
    for copy in copies:
        copy.wait(until)


def _lines_of(pipe: IO[bytes]) -> Iterator[bytes]:
    """Lines of a pipe, the end of overlong ones left out."""
    while line := pipe.readline(_LONGEST_ANSWER):
        part = line
        while part and not part.endswith(b"\n"):
            part = pipe.readline(_LONGEST_ANSWER)
        yield line


def _shown(command: tuple[str, ...]) -> str:
    """A command as it was written, more or less: its program without the folder."""
    words = one_line(" ".join((Path(command[0]).name, *command[1:])))
    return words if len(words) <= _LONGEST_NAME else f"{words[:_LONGEST_NAME]}…"


def _keep(lines: deque[str], text: bytes) -> None:
    start = text[: 4 * _LONGEST_LINE].decode("utf-8", "replace")
    words = one_line(start.rstrip())[:_LONGEST_LINE]
    if words:
        lines.append(words)


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
