"""Worker processes that are killed: nothing is lost, nothing twice, and what kills is found."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines.tasks import AtOnce, Fatal, Keeping, Stillborn

from contextbias.engines import run_batches
from contextbias.engines.batches import Batches
from contextbias.errors import Incomplete


def split(items: int, size: int) -> list[list[int]]:
    return [list(range(start, min(start + size, items))) for start in range(0, items, size)]


def run(task: Any, batches: list[list[int]], workers: int = 2) -> list[Any]:
    found = run_batches(task, batches, parallel="processes", workers=workers)
    return [row for rows in found for row in rows]


def done(folder: Path) -> Counter[int]:
    """Item -> how often it was done."""
    return Counter(int(path.name.split("-")[1]) for path in folder.glob("did-*"))


def test_a_batch_whose_worker_was_killed_is_given_out_again(tmp_path: Path) -> None:
    rows = run(Fatal(tmp_path, at=(5, 13), once=True), split(20, 4))
    assert sorted(rows) == list(range(20))
    assert done(tmp_path) == Counter(range(20))  # what the dead had kept was not done again


def test_an_item_that_kills_every_worker_is_given_up_and_alone(tmp_path: Path) -> None:
    rows = run(Fatal(tmp_path, at=(6,)), split(12, 6))
    assert sorted(row for row in rows if isinstance(row, int)) == [n for n in range(12) if n != 6]
    ((item, reason),) = [row for row in rows if not isinstance(row, int)]
    assert item == 6
    assert "workers died on it" in reason
    assert "SIGKILL, perhaps for want of memory" in reason
    assert done(tmp_path) == Counter(n for n in range(12) if n != 6)


def test_the_killer_is_found_where_a_batch_is_done_as_a_whole(tmp_path: Path) -> None:
    rows = run(AtOnce(tmp_path, at=(5,)), split(16, 8))
    assert sorted(row if isinstance(row, int) else row[0] for row in rows) == list(range(16))
    assert [row[0] for row in rows if not isinstance(row, int)] == [5]
    assert done(tmp_path) == Counter(n for n in range(16) if n != 5)


def test_workers_that_die_at_once_end_the_run(tmp_path: Path) -> None:
    with pytest.raises(Incomplete, match=r"die before they are ready: killed by SIGKILL"):
        run(Stillborn(tmp_path), split(8, 2))


# ---- the book of batches


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.sets(st.integers(0, 30)),
    st.randoms(use_true_random=False),
)
def test_every_item_comes_to_exactly_one_end(
    sizes: list[int], killers: set[int], chance: Any
) -> None:
    """Whatever workers do, in whatever order they die: each item has one row."""
    items = iter(range(sum(sizes)))
    batches = [[next(items) for _ in range(size)] for size in sizes]
    there: set[int] = set()
    given_out = 0

    class Kept(Keeping):
        def kept(self, item: int) -> int | None:
            return item if item in there else None

    book = Batches(Kept(Path()), batches)
    book.finished()  # some batch was, so that many deaths do not end the run
    rows: list[Any] = []
    while (batch := book.take()) is not None:
        given_out += 1
        assert given_out < 1000
        if killers & set(batch.items) or (batch.deaths == 0 and chance.random() < 0.3):
            before = [item for item in batch.items if item not in killers]
            there |= set(before[: chance.randint(0, len(before))])
            rows += book.died(batch, "killed")
            continue
        book.finished()
        rows += batch.items
    ends = [row if isinstance(row, int) else row[0] for row in rows]
    assert sorted(ends) == list(range(sum(sizes)))
    assert {row[0] for row in rows if not isinstance(row, int)} == killers & set(ends)


def test_when_nothing_is_ever_finished_the_run_ends(tmp_path: Path) -> None:
    book = Batches(Keeping(tmp_path), split(64, 8))

    def all_die() -> None:
        while (batch := book.take()) is not None:
            book.died(batch, "killed")
            book.check("killed")

    with pytest.raises(Incomplete, match=r"10 workers died and none finished anything"):
        all_die()
