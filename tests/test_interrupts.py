from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from contextbias.interrupts import Interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_is_noted_and_the_second_raised(number: int) -> None:
    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(number, stop)
    notes: list[str] = []
    try:
        with Interrupts(lambda: notes.append("now")) as interrupts:
            assert not interrupts.noted
            signal.raise_signal(number)
            assert interrupts.noted
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)
        assert notes == ["now"]
        assert signal.getsignal(number) is stop
    finally:
        signal.signal(number, before)


def test_it_holds_while_the_consumer_works() -> None:
    def numbers() -> Iterator[int]:
        with Interrupts() as interrupts:
            for number in range(10):
                if interrupts.noted:
                    break
                yield number
        raise KeyboardInterrupt

    taken = []

    def take() -> None:
        for number in numbers():
            taken.append(number)
            if number == 2:
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        take()
    assert taken == [0, 1, 2]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_thread_changes_nothing() -> None:
    seen = []

    def hold() -> None:
        with Interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=hold)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
