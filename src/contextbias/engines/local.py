"""The engines of one machine: this process, threads, worker processes, one of them a GPU."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from typing import Any

from contextbias.engines.batches import Batches
from contextbias.engines.devices import cores, seats_of
from contextbias.engines.processes import Crew
from contextbias.engines.task import Engine, Task


def run_here(
    task: Task, batches: Sequence[Sequence[Any]], *, parallel: str, workers: int, engine: Engine
) -> Iterator[list[Any]]:
    """Give every batch to a worker of this machine; see `contextbias.engines.run_batches`."""
    if parallel == "none":
        yield from _in_line(task, batches)
    elif parallel == "threads":
        count = min(workers or cores(), len(batches))
        with ThreadPoolExecutor(count, initializer=_start, initargs=(task,)) as executor:
            yield from _pull(executor, batches, ahead=2 * count)
    elif parallel == "devices":
        yield from Crew(task, seats_of(engine.devices), Batches(task, batches)).rows()
    elif len(batches) == 1:
        yield from _in_line(task, batches)
    else:
        yield from Crew(task, [{}] * (workers or cores()), Batches(task, batches)).rows()


def _in_line(task: Task, batches: Sequence[Sequence[Any]]) -> Iterator[list[Any]]:
    work = task.build()
    for batch in batches:
        yield work(batch)


def _pull(
    executor: Executor, batches: Sequence[Sequence[Any]], *, ahead: int
) -> Iterator[list[Any]]:
    waiting = iter(batches)
    running: set[Future[list[Any]]] = set()
    try:
        while True:
            # Few batches ahead: Ctrl-C then has little to wait for.
            for batch in waiting:
                running.add(executor.submit(_work, batch))
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
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


# One thread, one task.
_local = threading.local()


def _start(task: Task) -> None:
    try:
        _local.work, _local.fault = task.build(), None
    except Exception as error:
        # Raised here, it would break the pool and be lost; with the first batch it is told.
        _local.work, _local.fault = None, error


def _work(batch: Sequence[Any]) -> list[Any]:
    if _local.fault is not None:
        raise _local.fault
    rows: list[Any] = _local.work(batch)
    return rows
