"""Threads and processes of one machine.

A task is built once in each worker and then given batch after batch. Whatever happens to the
driver, no worker outlives it, and no worker is stopped in the middle of a batch by Ctrl-C: what is
under way is finished and kept.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection, get_context, parent_process
from typing import Any, Protocol

from contextbias.errors import Incomplete


class Task(Protocol):
    """What a worker does with a batch. Must be picklable; built once in each worker."""

    def build(self) -> Any:
        """Load what is heavy and return a callable: a batch in, a list of rows out."""
        ...

    def stream(self, items: Sequence[Any]) -> Iterator[list[Any]]:
        """Load what is heavy, take all items at once, and yield rows as they come."""
        ...


def run_batches(
    task: Task, batches: Sequence[Sequence[Any]], *, parallel: str, workers: int
) -> Iterator[list[Any]]:
    """Give every batch to a worker and yield the rows as they come.

    Args:
        task: What to do.
        batches: Work, in the order in which it is given out.
        parallel: ``processes``, ``threads`` or ``none``.
        workers: How many; never more than there are batches.

    Yields:
        The rows of one batch, in order of completion.

    Raises:
        KeyboardInterrupt: After the batches under way were finished and yielded.
        Incomplete: A worker process died; what was yielded is safe.
    """
    workers = max(1, min(workers, len(batches)))
    if parallel == "none" or (parallel == "processes" and len(batches) == 1):
        work = task.build()
        for batch in batches:
            yield work(batch)
        return
    try:
        executor = _executor(task, parallel, workers)
    except (NotImplementedError, OSError):
        # Some systems have no semaphores (no /dev/shm); slower is better than not at all.
        yield from run_batches(task, batches, parallel="none", workers=1)
        return
    with executor:
        yield from _pull(executor, batches, ahead=2 * workers)


def _executor(task: Task, parallel: str, workers: int) -> Executor:
    if parallel == "threads":
        return ThreadPoolExecutor(workers, initializer=_start, initargs=(task,))
    return ProcessPoolExecutor(
        workers,
        mp_context=get_context("spawn"),
        initializer=_start_process,
        initargs=(task,),
    )


def _pull(
    executor: Executor, batches: Sequence[Sequence[Any]], *, ahead: int
) -> Iterator[list[Any]]:
    waiting = iter(batches)
    running: set[Future[list[Any]]] = set()
    try:
        while True:
            # Few batches ahead: Ctrl-C then has little to wait for.
            for batch in waiting:
                running.add(_submit(executor, batch))
                if len(running) >= ahead:
                    break
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    except KeyboardInterrupt:
        under_way = [future for future in running if not future.cancel()]
        for future in under_way:
            yield future.result()
        raise
    except BrokenProcessPool:
        raise Incomplete(
            "a worker process died, perhaps for want of memory; what was finished is kept",
            "run again, with fewer workers ([run] workers in study.toml) if it happens again",
        ) from None
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _submit(executor: Executor, batch: Sequence[Any]) -> Future[list[Any]]:
    try:
        return executor.submit(_work, batch)
    except OSError as error:
        raise Incomplete(
            f"no worker process can be started ({error}); what was finished is kept",
            "run again, with fewer workers ([run] workers in study.toml)",
        ) from None


# One worker, one task: in a process as a global, in a thread as a thread-local.
_local = threading.local()


def _start(task: Task) -> None:
    try:
        _local.work, _local.fault = task.build(), None
    except Exception as error:
        # Raised here, it would break the pool and be lost; with the first batch it is told.
        _local.work, _local.fault = None, error


def _start_process(task: Task) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_die_with_driver, daemon=True).start()
    _start(task)


def _die_with_driver() -> None:
    driver = parent_process()
    if driver is not None:
        connection.wait([driver.sentinel])
        os._exit(1)


def _work(batch: Sequence[Any]) -> list[Any]:
    if _local.fault is not None:
        raise _local.fault
    rows: list[Any] = _local.work(batch)
    return rows
