"""The loop of the slow stages: pending items -> batches -> rows in the store.

Nothing here knows what an image or a reading is. An item that failed is a row; a row is in the
store before its receipt goes; and an interruption loses at most what was under way.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contextbias.engines import Engine, Task, run_batches
from contextbias.errors import Incomplete
from contextbias.files import StudyFiles, row_of
from contextbias.interrupts import finish_up
from contextbias.progress import Progress, shown
from contextbias.tables import BLANK, OK

ERROR = "error"
"""Status of what failed and may succeed another time; every other one is final."""
_USELESS = (ERROR, BLANK)
_HOPELESS = 20
# When this many items, from the first on, have failed with an error, the others would as well.


@dataclass(frozen=True, slots=True)
class Kept:
    """A row that a worker made, and where its receipt lies."""

    row: Any
    """A row class of tables.py."""
    receipt: Path | str
    """Where its receipt is (a text: a URL); dropped once the row is in the store."""


def kept_before(
    files: StudyFiles, table: str, row_class: type[Any], key: str, attempt: int
) -> Kept | None:
    """What a worker had kept of an item when it died: the row of its receipt; None without."""
    receipt = files.receipt(table, key, attempt)
    return None if receipt is None else Kept(row_of(receipt, row_class), receipt.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worklist:
    """One stage's work for one backend."""

    stage: str
    """What the user sees: ``generate`` …"""
    unit: str
    """What is counted: ``images`` …"""
    task: Task
    """What a worker does with a batch; returns `Kept` rows."""
    items: Sequence[Any]
    """What is pending, in order."""
    batch_size: int
    """How many items a worker is given at a time."""
    parallel: str
    """``processes``, ``devices``, ``threads``, ``none`` or ``stream``."""
    workers: int
    """How many; 0 for one a core."""
    engine: Engine = field(default_factory=Engine)
    """Where the workers are."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a worklist came to."""

    done: int
    """Rows that are in the store now."""
    failed: int
    """How many of them are not ``ok``."""


def pending(
    ids: Sequence[str], known: dict[str, tuple[int, str]], *, attempts: int
) -> Iterator[tuple[int, int]]:
    """Which items are still to be done.

    An item without a row is; so is one whose latest attempt ended in ``error``, until it was tried
    `attempts` times. Refusals, blocks and corrupt files are answers, and final.

    Yields:
        (position in `ids`, number of the next attempt).
    """
    for position, key in enumerate(ids):
        attempt, status = known.get(key, (0, ""))
        if attempt == 0 or (status == ERROR and attempt < attempts):
            yield position, attempt + 1


def work_off(
    worklist: Worklist,
    append: Callable[[list[Any]], int],
    drop: Callable[[list[Path | str]], None],
    progress: Progress,
) -> Outcome:
    """Run a worklist to its end.

    Args:
        worklist: The work.
        append: Puts rows into the store.
        drop: Removes receipts whose rows are in the store.
        progress: Is told about every batch.

    Raises:
        Incomplete: The first items all ended in an error, or are all blank: the cause is not in
            the items.
    """
    done = failed = errors = 0
    if not worklist.items:
        return Outcome(0, 0)
    with (
        shown(progress, worklist.stage, len(worklist.items), worklist.unit),
        closing(_results(worklist)) as results,
    ):
        try:
            for kept in results:
                append([item.row for item in kept])
                drop([item.receipt for item in kept])
                bad = sum(item.row.status != OK for item in kept)
                done, failed = done + len(kept), failed + bad
                progress.advance(len(kept), bad)
                errors += sum(item.row.status in _USELESS for item in kept)
                if errors == done and done >= _HOPELESS:
                    raise _hopeless(worklist, done, kept[-1].row.reason)
        except Exception:
            if worklist.parallel == "stream":
                _let_finish(results)
            raise
    return Outcome(done, failed)


def _results(worklist: Worklist) -> Generator[list[Kept], None, None]:
    """The rows, as the engine hands them back."""
    if worklist.parallel == "stream":
        yield from worklist.task.stream(worklist.items)
        return
    size = max(1, worklist.batch_size)
    starts = range(0, len(worklist.items), size)
    batches = [worklist.items[start : start + size] for start in starts]
    yield from run_batches(
        worklist.task,
        batches,
        parallel=worklist.parallel,
        workers=worklist.workers,
        engine=worklist.engine,
    )


def _let_finish(results: Iterator[list[Kept]]) -> None:
    """Wait for what a stream has under way, which may be paid for.

    Its receipts are left behind, and their rows are taken in by the next run.
    """
    if not finish_up():
        return
    with suppress(Exception, KeyboardInterrupt):  # the first error is told
        for _ in results:
            pass


def utc_now() -> str:
    """When a row was made: the time now, UTC, ISO 8601 to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _hopeless(worklist: Worklist, done: int, reason: str | None) -> Incomplete:
    return Incomplete(
        f"{worklist.stage} stopped: the first {done} {worklist.unit} all failed ({reason})",
        "correct the cause and run again; only what is missing will be made",
    )
