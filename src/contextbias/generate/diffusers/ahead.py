"""Work ahead in a thread: the device goes on while pictures are encoded and kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import Empty, Full, Queue
from typing import Any, TypeVar

T = TypeVar("T")

_PATIENCE = 0.1  # seconds between two looks at whether anybody still wants the rest


def ahead(produce: Callable[[], Iterator[T]], *, depth: int) -> Iterator[T]:
    """What `produce` yields, made in a thread up to `depth` items before they are wanted.

    An error is raised where it would have been without the thread. When the caller stops early, the
    thread finishes the item that it is at, and ends.

    Args:
        produce: Called in the thread.
        depth: Items that may wait: they are held in memory.
    """
    waiting: Queue[tuple[bool, Any]] = Queue(maxsize=depth)
    unwanted = threading.Event()
    thread = threading.Thread(target=_run, args=(produce, waiting, unwanted), daemon=True)
    thread.start()
    try:
        while True:
            more, item = waiting.get()
            if not more:
                if item is not None:
                    raise item
                return
            yield item
    finally:
        unwanted.set()
        _drain(waiting)
        thread.join()


def _run(
    produce: Callable[[], Iterator[Any]], waiting: Queue[tuple[bool, Any]], unwanted: Any
) -> None:
    try:
        for item in produce():
            if not _put(waiting, (True, item), unwanted):
                return
    except BaseException as error:  # raised again where the caller waits
        _put(waiting, (False, error), unwanted)
    else:
        _put(waiting, (False, None), unwanted)


def _put(waiting: Queue[tuple[bool, Any]], item: tuple[bool, Any], unwanted: Any) -> bool:
    while not unwanted.is_set():
        try:
            waiting.put(item, timeout=_PATIENCE)
        except Full:
            continue
        return True
    return False


def _drain(waiting: Queue[tuple[bool, Any]]) -> None:
    while True:
        try:
            waiting.get_nowait()
        except Empty:
            return
