"""The device works while pictures are kept; it stops when nobody wants the rest."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from contextbias.generate.diffusers.ahead import ahead


def test_everything_comes_in_order() -> None:
    assert list(ahead(lambda: iter(range(50)), depth=2)) == list(range(50))
    assert list(ahead(lambda: iter(()), depth=2)) == []


def test_the_next_item_is_made_before_it_is_wanted() -> None:
    second = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        second.set()
        yield 2

    produced = ahead(items, depth=1)
    assert next(produced) == 1
    assert second.wait(60)
    assert list(produced) == [2]


def test_no_more_wait_than_may() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    produced = ahead(items, depth=3)
    next(produced)
    produced.close()
    # One was taken, three wait, one is in hand; closing lets at most as many more through.
    assert len(made) < 15


def test_an_error_comes_where_it_happened() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("two is missing")

    produced = ahead(items, depth=5)
    assert next(produced) == 1
    with pytest.raises(ValueError, match="two is missing"):
        next(produced)


def test_who_stops_early_leaves_no_thread_behind() -> None:
    before = threading.enumerate()
    produced = ahead(lambda: iter(range(10**9)), depth=2)
    next(produced)
    produced.close()
    assert [thread for thread in threading.enumerate() if thread not in before] == []
