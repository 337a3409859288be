"""Ctrl-C while something is under way that should be finished first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

hurry = threading.Event()
"""Set in a worker process whose driver wants to end: what is begun is finished, and no more."""

_holding: list[Interrupts] = []


def finish_up() -> bool:
    """Do to whoever holds an `Interrupts` what the first Ctrl-C would do; False if nobody does."""
    for each in _holding:
        each.stop()
    return bool(_holding)


class Interrupts:
    """While it holds, the first Ctrl-C (or polite stop) is noted and not raised.

    Wherever the main thread is: in the code that yields as well as in the code that takes what is
    yielded. Whoever holds it finishes what is under way and raises KeyboardInterrupt then. The
    second Ctrl-C is handled as it was before. In another thread than the main one nothing changes,
    since signals do not reach it.

    Args:
        note: Called at the first one, besides; has to be quick.
    """

    def __init__(self, note: Callable[[], None] | None = None) -> None:
        self.noted = False
        """Whether one came."""
        self._note = note
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        """Hold."""
        _holding.append(self)
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                handler = signal.getsignal(number)
                # The default of SIGTERM is no function, and ends the process as it should.
                if callable(handler):
                    self._before[number] = handler
                    signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Put back what was there."""
        _holding.remove(self)
        self._put_back()

    def stop(self) -> None:
        """Note a wish to end, as by Ctrl-C."""
        if not self.noted:
            self.noted = True
            if self._note is not None:
                self._note()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if not self.noted:
            self.stop()
            return
        before = self._before.get(number)
        if before is not None:
            before(number, frame)

    def _put_back(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
