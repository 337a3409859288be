"""What an engine is given to run, and what a worker answers."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Work = Callable[[Sequence[Any]], list[Any]]
"""A batch in, its rows out."""


class Task(Protocol):
    """What a worker does with a batch. Must be picklable; built once in each worker.

    A task whose images have a place (``files``, a `contextbias.files.StudyFiles`) can be run on
    other machines: they are checked to see that place before anything is made.
    """

    def build(self) -> Work:
        """Load what is heavy and return a callable: a batch in, a list of rows out."""
        ...

    def stream(self, items: Sequence[Any]) -> Iterator[list[Any]]:
        """Load what is heavy, take all items at once, and yield rows as they come."""
        ...

    def kept(self, item: Any) -> Any | None:
        """The row of an item that a worker had finished and kept when it died; None without.

        Asked in the driver.
        """
        ...

    def given_up(self, item: Any, reason: str) -> Any:
        """The row of an item that no worker survives. Asked in the driver."""
        ...


@dataclass(frozen=True, slots=True)
class Engine:
    """Where a run's workers are."""

    kind: str = "threads"
    """``threads`` (and processes of this machine) or ``ray``."""
    devices: tuple[str, ...] | None = None
    """GPUs of this machine that may be used; None for all."""
    address: str = "local"
    """Of the Ray cluster: ``local``, ``auto`` or ``host:port``."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a worker says: that it is ready, what became of a batch, or what went wrong."""

    rows: list[Any] | None = None
    """Of the batch; None where the worker has only said that it is ready."""
    fault: Exception | None = None
    """Ends the run: it lies in no item."""

    def checked(self) -> list[Any]:
        """The rows, or none.

        Raises:
            Exception: The fault.
        """
        if self.fault is not None:
            raise self.fault
        return self.rows or []


def worked(work: Work, batch: Sequence[Any]) -> Reply:
    """Do a batch, in a worker."""
    try:
        return Reply(rows=work(batch))
    except Exception as error:
        return Reply(fault=portable(error))


def portable(error: Exception) -> Exception:
    """The error in a form that can be sent to the driver, which is told where it came from."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}").with_traceback(error.__traceback__)
    trace = "".join(traceback.format_exception(error)).strip()
    error.add_note(f"in a worker:\n{trace}")
    return error
