"""What backends that cost money are told: where the study is, and what they spent in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from contextbias.extract.work import ExtractTask
from contextbias.files import BATCHES
from contextbias.generate.work import GenerateTask
from contextbias.pipeline.options import Options
from contextbias.store import Study

if TYPE_CHECKING:
    from contextbias.providers.session import Session

Paid = TypeVar("Paid", GenerateTask, ExtractTask)


def in_batches(study: Study) -> int:
    """Requests that are with a provider's Batch API, or back and not yet rows.

    A study that never sent a batch loads no providers.
    """
    if not (study.root / BATCHES).is_dir():
        return 0
    from contextbias.providers.batch_records import outstanding

    return outstanding(study.root)


def told(
    task: Paid, backend: Any, study: Study, options: Options, table: str, pending: int
) -> Paid:
    """`task` with the session that its backend asks for; unchanged where it asks for none.

    Args:
        task: The task of one generator or reader.
        backend: Its backend, as built for scheduling.
        study: The study.
        options: Of this run.
        table: ``images`` or ``readings``: where its rows are.
        pending: How many items are to be done.
    """
    name = task.generator if isinstance(task, GenerateTask) else task.reader
    if options.batch and table == "readings" and not getattr(backend, "takes_batches", False):
        options.progress.say(f"{name} has no Batch API: it reads one by one")
    if not hasattr(backend, "begin"):
        return task
    session = session_of(study, table, name)
    return replace(
        task,
        session=replace(session, items=pending, batch=options.batch, progress=options.progress),
    )


def informed(backend: Any, study: Study, table: str, name: str) -> Any:
    """`backend`, told what was spent in the study where it asks for that: so it plans with it.

    Args:
        backend: A generator or a reader.
        study: The study.
        table: ``images`` or ``readings``.
        name: The backend's name in study.toml.
    """
    if hasattr(backend, "begin"):
        backend.begin(session_of(study, table, name))
    return backend


def session_of(study: Study, table: str, name: str) -> Session:
    """Where the study is, and what a backend spent in it; arguments as above."""
    # Not at the top: most studies ask no service, and it takes a while.
    from contextbias.providers.session import Session, sum_usage

    usage, batch_usage = sum_usage(study.usage(table, name))
    return Session(folder=study.root, name=name, usage=usage, batch_usage=batch_usage)
