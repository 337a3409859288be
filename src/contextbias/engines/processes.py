"""Worker processes of this machine.

Each has a pipe to the driver and is given one batch at a time. A worker that dies is replaced, and
its batch is given out again (batches.py). Whatever happens to the driver, no worker outlives it,
and Ctrl-C stops no worker in the middle of a batch: what is under way is finished and kept.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

from contextbias.engines.batches import Batch, Batches
from contextbias.engines.task import Reply, Task, portable, worked
from contextbias.errors import Incomplete
from contextbias.interrupts import hurry

_context = get_context("spawn")
_SIGNALS = {signal.SIGINT, signal.SIGTERM}
_HURRY = signal.SIGUSR1


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    pipe: Connection
    seat: Mapping[str, str]
    batch: Batch | None = None
    is_ready: bool = False
    is_talking: bool = False


class Crew:
    """Processes that work on the batches of one task, and are replaced when they die.

    Args:
        task: What they do.
        seats: One worker for each: variables of its environment, set before it imports anything.
        batches: What they are given.
    """

    def __init__(self, task: Task, seats: Sequence[Mapping[str, str]], batches: Batches) -> None:
        self._task, self._batches = task, batches
        self._workers: list[_Worker] = []
        self._empty_seats = list(seats)

    def rows(self) -> Iterator[list[object]]:
        """Work everything off.

        Yields:
            Rows as batches come back, in order of completion.

        Raises:
            KeyboardInterrupt: After the batches under way were finished and yielded.
            Incomplete: Workers cannot be started, or die before they have done anything.
            Exception: What the task raised; likewise after the batches under way.
        """
        try:
            while len(self._batches) or any(worker.batch for worker in self._workers):
                self._give_out()
                self._fill_seats()
                for worker in self._heard():
                    if rows := self._listen(worker):
                        yield rows
        except GeneratorExit:
            raise
        except BaseException:
            yield from self._finish_what_is_under_way()
            raise
        finally:
            self._dismiss()

    def _give_out(self) -> None:
        for worker in self._workers:
            if worker.is_ready and worker.batch is None:
                self._give(worker)

    def _fill_seats(self) -> None:
        """Start a worker on each empty seat that there is work for."""
        waiting = sum(worker.batch is None for worker in self._workers)
        while self._empty_seats and waiting < len(self._batches):
            try:
                worker = _start(self._task, self._empty_seats[0])
            except OSError as error:
                if self._workers:
                    return
                raise Incomplete(
                    f"no worker process can be started ({error}); what was finished is kept",
                    "run again, with fewer workers ([run] workers in study.toml)",
                ) from None
            self._empty_seats.pop(0)
            self._workers.append(worker)
            waiting += 1

    def _heard(self) -> list[_Worker]:
        """Wait until some workers have said something, or have died."""
        ends = [worker.pipe for worker in self._workers]
        there = connection.wait([*ends, *(worker.process.sentinel for worker in self._workers)])
        return [w for w in self._workers if w.pipe in there or w.process.sentinel in there]

    def _listen(self, worker: _Worker, *, go_on: bool = True) -> list[object]:
        """Take what a worker has said, and give it the next batch."""
        worker.is_talking = True
        try:
            if not worker.pipe.poll():
                return self._bury(worker)
            reply: Reply = worker.pipe.recv()
        except (EOFError, OSError):
            return self._bury(worker)
        worker.is_talking = False
        if worker.is_ready:
            self._batches.finished()
        else:
            worker.is_ready = True
            self._batches.started()
        worker.batch = None
        if go_on and reply.fault is None:
            self._give(worker)
        return reply.checked()

    def _give(self, worker: _Worker) -> None:
        batch = self._batches.take()
        if batch is None:
            return
        try:
            worker.pipe.send(batch.items)
        except OSError:  # it died while it had nothing to do
            self._batches.not_begun(batch)
            return
        worker.batch = batch

    def _bury(self, worker: _Worker) -> list[object]:
        """Take in what a dead worker had kept, and put back what it had not done."""
        worker.pipe.close()
        worker.process.join()
        self._workers.remove(worker)
        self._empty_seats.append(worker.seat)
        how = _how_it_ended(worker.process.exitcode)
        if not worker.is_ready:
            self._batches.died_at_start(how)
        if worker.batch is None:
            return []
        rows = self._batches.died(worker.batch, how)
        if not rows:
            self._batches.check(how)
        return rows

    def _finish_what_is_under_way(self) -> Iterator[list[object]]:
        for worker in self._workers:
            if worker.batch and not worker.is_talking and worker.process.pid:
                with suppress(ProcessLookupError):
                    os.kill(worker.process.pid, _HURRY)
        while busy := [w for w in self._workers if w.batch and not w.is_talking]:
            there = connection.wait([each for w in busy for each in (w.pipe, w.process.sentinel)])
            for worker in busy:
                if worker.pipe in there or worker.process.sentinel in there:
                    rows: list[object] = []
                    with suppress(Exception):  # of several errors, the first one is told
                        rows = self._listen(worker, go_on=False)
                    if rows:
                        yield rows

    def _dismiss(self) -> None:
        for worker in self._workers:
            worker.pipe.close()
            # One that is cut short in the middle of its answer, or not ready, has nothing to end.
            if worker.is_talking or not worker.is_ready:
                worker.process.kill()
        for worker in self._workers:
            worker.process.join()


def _how_it_ended(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        hint = ", perhaps for want of memory" if -code == signal.SIGKILL else ""
        return f"killed by {name}{hint}"
    return f"with exit code {code}"


# ---- starting one


def _start(task: Task, seat: Mapping[str, str]) -> _Worker:
    """Start a process that Ctrl-C does not reach, from its first instruction on."""
    here, there = _context.Pipe()
    process = _context.Process(target=_serve, args=(there, task), daemon=False)
    try:
        with _signals_held_back(), _environment(seat):
            process.start()
    except BaseException:
        here.close()
        raise
    finally:
        there.close()
    return _Worker(process, here, seat)


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """A process that is started meanwhile has them blocked."""
    # The tracker of multiprocessing is started with the first process, and unblocks them.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables for the processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


# ---- in the worker


def _serve(pipe: Connection, task: Task) -> None:
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    # A task that knows parts of a batch finishes the one it is at.
    signal.signal(_HURRY, lambda *_: hurry.set())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    threading.Thread(target=_die_with_driver, daemon=True).start()
    with suppress(EOFError, OSError):  # the driver has let go of its end
        try:
            work = task.build()
        except Exception as error:
            pipe.send(Reply(fault=portable(error)))
            return
        pipe.send(Reply())
        while True:
            pipe.send(worked(work, pipe.recv()))


def _die_with_driver() -> None:
    driver = parent_process()
    if driver is not None:
        connection.wait([driver.sentinel])
        os._exit(1)
