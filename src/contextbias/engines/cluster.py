"""Workers on a Ray cluster: one actor a GPU, or a processor, on any number of machines.

The driver gives out batches, is told the rows, and alone writes them into the store. Images and
receipts are written by the actors, to a place that all machines see (files.py). Ray itself repeats
nothing: an actor that dies is replaced here, and its batch given out again as in processes.py.
"""

from __future__ import annotations

import platform
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from contextbias.engines.batches import Batch, Batches
from contextbias.engines.session import first_line, join
from contextbias.engines.task import Engine, Reply, Task, portable, worked
from contextbias.errors import Incomplete, InputError
from contextbias.files import StudyFiles, drop_receipts

_PATIENCE = 300.0  # seconds that a cluster has to find room for the first actor
_NOT_MADE = "creation task"  # in Ray's message about an actor whose class or task failed to load


def run_there(
    task: Task, batches: Sequence[Sequence[Any]], *, parallel: str, workers: int, engine: Engine
) -> Iterator[list[Any]]:
    """Give every batch to an actor of the cluster; see `contextbias.engines.run_batches`."""
    ray = join(engine, workers)
    gpus, count = _room(ray, parallel, workers)
    files = getattr(task, "files", None)
    mark = _Mark(files) if isinstance(files, StudyFiles) else None
    try:
        crew = _Crew(ray, task, Batches(task, batches), mark, gpus)
        yield from crew.rows(min(count, len(batches)))
    finally:
        if mark is not None:
            mark.remove()


def _room(ray: Any, parallel: str, workers: int) -> tuple[int, int]:
    """GPUs that each actor has (0 or 1), and how many actors there can be."""
    there = ray.cluster_resources()
    gpus = int(there.get("GPU", 0))
    if parallel == "devices" and gpus:
        return 1, gpus
    if parallel == "devices":
        return 0, workers or len(ray.nodes())
    return 0, workers or max(1, int(there.get("CPU", 1)))


class _Mark:
    """A file that every machine has to see where images are kept."""

    def __init__(self, files: StudyFiles) -> None:
        self.name = f".seen-{secrets.token_hex(8)}.part"  # swept up after a crash
        self.files = files
        self._where = files.leave(self.name)

    def remove(self) -> None:
        drop_receipts([self._where])


# ---- in the worker


class _Actor:
    """Lives on some machine of the cluster, and does one batch after the other."""

    def __init__(self, task: Task, files: StudyFiles | None, mark: str) -> None:
        self._task, self._files, self._mark = task, files, mark
        self._work: Any = None

    def place(self) -> str:
        """Where it is."""
        return platform.node()

    def build(self) -> Reply:
        """Load what is heavy."""
        if self._files is not None and not self._files.sees(self._mark):
            return Reply(fault=_unseen(self._files))
        try:
            self._work = self._task.build()
        except Exception as error:
            return Reply(fault=portable(error))
        return Reply()

    def work(self, items: Sequence[Any]) -> Reply:
        """Do a batch."""
        return worked(self._work, items)


def _unseen(files: StudyFiles) -> InputError:
    return InputError(
        f"the machine {platform.node()} does not see {files.where()} of the machine that gives "
        "out the work",
        "keep the study in a folder that all machines share under one path, or set [run] images "
        "in study.toml to such a folder or to a URL",
    )


# ---- in the driver


@dataclass(slots=True)
class _Hand:
    """An actor, and what it was last asked for."""

    actor: Any
    asked: str = "place"
    batch: Batch | None = None


class _Crew:
    """Actors that work on the batches of one task, and are replaced when they die."""

    def __init__(
        self, ray: Any, task: Task, batches: Batches, mark: _Mark | None, gpus: int
    ) -> None:
        self._ray, self._batches = ray, batches
        self._asked: dict[Any, _Hand] = {}
        self._idle: list[_Hand] = []
        # A GPU is what is scarce: an actor that has one is not kept waiting for a processor too.
        self._actors = ray.remote(_Actor).options(
            num_cpus=0 if gpus else 1, num_gpus=gpus, max_restarts=0, max_task_retries=0
        )
        # Sent once, and not with each actor.
        self._task = ray.put(task)
        self._seen = (None, "") if mark is None else (mark.files, mark.name)

    def rows(self, count: int) -> Iterator[list[Any]]:
        """Work everything off with at most `count` actors; see `processes.Crew.rows`."""
        try:
            while len(self._batches) or any(hand.batch for hand in self._asked.values()):
                self._give_out(count)
                for hand, reply in self._heard():
                    if rows := self._took(hand, reply):
                        yield rows
        except GeneratorExit:
            raise
        except BaseException:
            yield from self._finish_what_is_under_way()
            raise
        finally:
            self._dismiss()

    def _give_out(self, count: int) -> None:
        while self._idle and len(self._batches):
            self._give(self._idle.pop())
        coming = sum(hand.batch is None for hand in self._asked.values())
        while len(self._asked) + len(self._idle) < count and coming < len(self._batches):
            hand = _Hand(self._actors.remote(self._task, *self._seen))
            self._ask(hand, "place")
            coming += 1

    def _ask(self, hand: _Hand, what: str, *arguments: Any) -> None:
        hand.asked = what
        self._asked[getattr(hand.actor, what).remote(*arguments)] = hand

    def _give(self, hand: _Hand) -> None:
        batch = self._batches.take()
        if batch is None:
            self._idle.append(hand)
            return
        hand.batch = batch
        self._ask(hand, "work", batch.items)

    def _heard(self) -> list[tuple[_Hand, Any]]:
        """Wait until some actors have answered, or have died.

        Raises:
            Incomplete: For minutes, the cluster has found no room for any actor.
        """
        until = time.monotonic() + _PATIENCE
        while True:
            done, _ = self._ray.wait(list(self._asked), num_returns=1, timeout=1.0)
            if done:
                return [(self._asked.pop(ref), self._answer(ref)) for ref in done]
            nobody = all(hand.asked == "place" for hand in self._asked.values())
            if nobody and not self._idle and time.monotonic() > until:
                raise Incomplete(
                    f"in {_PATIENCE:.0f} s the Ray cluster has found no room for a worker "
                    f"(free: {self._ray.available_resources() or 'nothing'})",
                    "see `ray status`; what was finished is kept",
                )

    def _answer(self, ref: Any) -> Any:
        """The reply, or the error that says how the actor died."""
        from ray.exceptions import RayError, RayTaskError

        try:
            return self._ray.get(ref)
        except RayTaskError as error:
            return Reply(fault=RuntimeError(first_line(error)))
        except RayError as error:
            return error

    def _took(self, hand: _Hand, reply: Any, *, go_on: bool = True) -> list[Any]:
        """Take what an actor has answered, and ask it for the next thing."""
        if isinstance(reply, Exception):
            if _NOT_MADE in str(reply):
                raise _cannot_be_made(reply)
            return self._bury(hand)
        if hand.asked == "place":
            self._ask(hand, "build")
            return []
        if hand.asked == "build":
            self._batches.started()
        else:
            self._batches.finished()
        hand.batch = None
        if reply.fault is None and go_on:
            self._give(hand)
        rows: list[Any] = reply.checked()
        return rows

    def _bury(self, hand: _Hand) -> list[Any]:
        how = "with its process, or its machine, gone"
        if hand.batch is None:
            self._batches.died_at_start(how)
            return []
        rows = self._batches.died(hand.batch, how)
        if not rows:
            self._batches.check(how)
        return rows

    def _finish_what_is_under_way(self) -> Iterator[list[Any]]:
        while busy := [ref for ref, hand in self._asked.items() if hand.batch]:
            done, _ = self._ray.wait(busy, num_returns=1)
            for ref in done:
                rows: list[Any] = []
                with suppress(Exception):  # of several errors, the first one is told
                    rows = self._took(self._asked.pop(ref), self._answer(ref), go_on=False)
                if rows:
                    yield rows

    def _dismiss(self) -> None:
        # Left early: what is under way is kept by its worker, and its row by a receipt.
        busy = [ref for ref, hand in self._asked.items() if hand.batch]
        if busy:
            self._ray.wait(busy, num_returns=len(busy))
        for hand in [*self._asked.values(), *self._idle]:
            self._ray.kill(hand.actor)


def _cannot_be_made(error: Exception) -> InputError:
    """The error for a machine on which the program, or a backend, is not as it is here."""
    where = re.search(r"\bip=([^,)\s]+)", str(error))
    last = str(error).strip().splitlines()[-1].rstrip(".")
    return InputError(
        f"no worker can be made on {where[1] if where else 'a machine of the cluster'}: {last}",
        "install the same Python, contextbias and backends on all machines",
    )
