"""Where a worklist runs: this process, threads, processes, one of them a GPU, or a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from contextbias.engines.local import run_here
from contextbias.engines.task import Engine, Task

__all__ = ["Engine", "Task", "check", "close", "run_batches"]

_AWAY = ("processes", "devices")
# What can be done on another machine; all else waits for something, and does so in the driver.


def run_batches(
    task: Task,
    batches: Sequence[Sequence[Any]],
    *,
    parallel: str,
    workers: int,
    engine: Engine | None = None,
) -> Iterator[list[Any]]:
    """Give every batch to a worker and yield the rows as they come.

    Args:
        task: What to do.
        batches: Work, in the order in which it is given out.
        parallel: ``processes``, ``devices`` (one worker process a GPU), ``threads`` or ``none``.
        workers: How many processes or threads; never more than there are batches. 0: one a core.
        engine: Where; None for this machine.

    Yields:
        The rows of one batch, in order of completion; of a batch whose worker died, in parts.

    Raises:
        KeyboardInterrupt: After the batches under way were finished and yielded.
        Incomplete: No worker can be started, or they die before anything is finished.
        ConfigError: There is no such GPU.
        InputError: No cluster answers, or its machines do not see the study.
    """
    engine = engine or Engine()
    if not batches:
        return iter(())
    if engine.kind == "ray" and parallel in _AWAY:
        from contextbias.engines.cluster import run_there

        return run_there(task, batches, parallel=parallel, workers=workers, engine=engine)
    return run_here(task, batches, parallel=parallel, workers=workers, engine=engine)


def check(engine: Engine) -> None:
    """See, without starting anything, whether an engine can be had.

    Raises:
        MissingPart: Ray is not installed.
        ConfigError: Its address makes no sense.
        InputError: Nothing answers there.
    """
    if engine.kind == "ray":
        from contextbias.engines.session import check as check_cluster

        check_cluster(engine)


def close() -> None:
    """Leave the cluster that `run_batches` has joined or started, if any."""
    import sys

    session = sys.modules.get("contextbias.engines.session")
    if session is not None:
        session.leave()
