"""What a user sees while a slow stage runs: one live line on stderr, or a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Protocol

QUIET_LINES_EVERY = 10.0
"""Seconds between lines where stderr is not a terminal."""

_WORDS = 64
# Columns that the words beside the bar need.


def counted(number: int, noun: str) -> str:
    """``1 image``, ``1,200 images``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class Progress(Protocol):
    """Something that is told about every finished batch."""

    def start(self, stage: str, total: int, unit: str) -> None:
        """A stage begins with `total` items of `unit`."""
        ...

    def advance(self, done: int, failed: int) -> None:
        """`done` more items are in the store; `failed` of them failed."""
        ...

    def note(self, words: str) -> None:
        """What else there is to say of the stage now: in flight, spent; shown beside the counts."""
        ...

    def finish(self) -> None:
        """The stage has ended."""
        ...

    def say(self, message: str) -> None:
        """Show one line."""
        ...


class Silent:
    """A progress that shows nothing, for programs and tests."""

    def start(self, stage: str, total: int, unit: str) -> None:
        """Ignore it."""

    def advance(self, done: int, failed: int) -> None:
        """Ignore it."""

    def note(self, words: str) -> None:
        """Ignore it."""

    def finish(self) -> None:
        """Ignore it."""

    def say(self, message: str) -> None:
        """Ignore it."""


class Lines:
    """Plain lines on stderr, one every few seconds: for logs and CI."""

    def __init__(self) -> None:
        self._stage, self._unit, self._total = "", "", 0
        self._done = self._failed = 0
        self._began = self._last = 0.0
        self._noted = ""

    def start(self, stage: str, total: int, unit: str) -> None:
        """Remember the stage."""
        self._stage, self._unit, self._total = stage, unit, total
        self._done = self._failed = 0
        self._began = self._last = time.monotonic()
        self._noted = ""

    def advance(self, done: int, failed: int) -> None:
        """Count, and write a line when the last one is some seconds old."""
        self._done += done
        self._failed += failed
        self._write_now_and_then()

    def note(self, words: str) -> None:
        """Remember the words, and write a line when the last one is some seconds old."""
        self._noted = words
        self._write_now_and_then()

    def _write_now_and_then(self) -> None:
        if time.monotonic() - self._last >= QUIET_LINES_EVERY:
            self._last = time.monotonic()
            self._write()

    def finish(self) -> None:
        """Write the stage's last line."""
        self._write()

    def say(self, message: str) -> None:
        """Write it."""
        print(message, file=sys.stderr, flush=True)

    def _write(self) -> None:
        seconds = max(time.monotonic() - self._began, 1e-9)
        failed = f", {self._failed} failed" if self._failed else ""
        self.say(
            f"{self._stage}: {self._done:,} of {self._total:,} {self._unit}{failed}, "
            f"{self._done / seconds:,.1f} a second{', ' if self._noted else ''}{self._noted}"
        )


class Live:
    """A live bar on a terminal."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False)
        self._bar: Any = None
        self._task: Any = None
        self._failed = 0

    def start(self, stage: str, total: int, unit: str) -> None:
        """Show the bar."""
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar
        from rich.text import Text

        class Noted(Bar):
            noted = ""

            def get_renderables(self) -> Iterable[Any]:
                yield self.make_tasks_table(self.tasks)
                # A line of its own: beside the counts it would push them out of a narrow terminal.
                if self.noted:
                    yield Text(f"  {self.noted}", no_wrap=True, overflow="ellipsis")

        self._failed = 0
        # On a narrow terminal the bar goes first: the counts are what matters.
        room = self._console.width - _WORDS
        self._bar = Noted(
            TextColumn("{task.description:<12}"),
            *([BarColumn(bar_width=min(room, 40))] if room > 0 else []),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}{task.fields[failed]}"),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=self._console,
        )
        self._task = self._bar.add_task(stage, total=total, unit=unit, failed="", rate="")
        self._bar.start()

    def advance(self, done: int, failed: int) -> None:
        """Move the bar."""
        self._failed += failed
        text = f", {self._failed} failed" if self._failed else ""
        self._bar.update(self._task, advance=done, failed=text)
        speed = self._bar.tasks[0].speed
        if speed:
            digits = 0 if speed >= 10 else 1
            self._bar.update(self._task, rate=f"{speed:,.{digits}f}/s")

    def note(self, words: str) -> None:
        """Show the words below the bar."""
        if self._bar is not None:
            self._bar.noted = words

    def finish(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def say(self, message: str) -> None:
        """Print above the bar."""
        self._console.print(message, markup=False)


def for_terminal() -> Progress:
    """A live bar where stderr is a terminal, plain lines elsewhere."""
    return Live() if sys.stderr.isatty() else Lines()


class shown:  # noqa: N801 - reads as a verb in `with shown(progress, …)`
    """Start a stage's line and finish it, come what may."""

    def __init__(self, progress: Progress, stage: str, total: int, unit: str) -> None:
        self._progress = progress
        self._args = (stage, total, unit)

    def __enter__(self) -> Progress:
        """Start the line."""
        self._progress.start(*self._args)
        return self._progress

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish the line."""
        self._progress.finish()
