from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextbias.progress import Silent
from contextbias.tables import MISSING_REASONS
from contextbias.worklist import Kept, Outcome, Worklist, pending, work_off

STATUSES = ("ok", "error", "refused", "blocked", "blank", "corrupt", "invalid", "truncated")


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, [(0, 1)]),
        ({"a": (1, "ok")}, []),
        ({"a": (1, "error")}, [(0, 2)]),
        ({"a": (2, "error")}, [(0, 3)]),
        ({"a": (3, "error")}, []),
        ({"a": (2, "ok")}, []),
        ({"a": (1, "blocked")}, []),
        ({"a": (1, "blank")}, []),
        ({"a": (1, "corrupt")}, []),
        ({"b": (1, "ok")}, [(0, 1)]),
    ],
)
def test_pending(known: dict[str, tuple[int, str]], expected: list[tuple[int, int]]) -> None:
    assert list(pending(["a"], known, attempts=3)) == expected


@given(
    st.lists(st.sampled_from("abcdefgh"), unique=True),
    st.dictionaries(
        st.sampled_from("abcdefgh"), st.tuples(st.integers(1, 5), st.sampled_from(STATUSES))
    ),
    st.integers(1, 4),
)
def test_working_off_what_is_pending_comes_to_an_end(
    ids: list[str], known: dict[str, tuple[int, str]], attempts: int
) -> None:
    order = [position for position, _ in pending(ids, known, attempts=attempts)]
    assert order == sorted(order)
    # Whatever keeps failing is tried `attempts` times in all, and then left alone.
    for _ in range(attempts):
        for position, attempt in list(pending(ids, known, attempts=attempts)):
            assert attempt <= attempts
            known[ids[position]] = (attempt, "error")
    assert list(pending(ids, known, attempts=attempts)) == []


def test_every_status_of_a_row_is_a_reason_of_missing() -> None:
    assert set(STATUSES) - {"ok"} <= set(MISSING_REASONS)


# ---- the loop


@dataclass(frozen=True)
class Row:
    item: int
    status: str


@dataclass(frozen=True)
class Marking:
    """A task whose rows fail where the item is a multiple of five."""

    def build(self) -> Callable[[Sequence[int]], list[Kept]]:
        return lambda batch: [
            Kept(Row(item, "ok" if item % 5 else "error"), Path(f"receipt-{item}"))
            for item in batch
        ]


class Told(Silent):
    """A progress that remembers."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def start(self, stage: str, total: int, unit: str) -> None:
        self.calls.append((stage, total, unit))

    def advance(self, done: int, failed: int) -> None:
        self.calls.append((done, failed))

    def finish(self) -> None:
        self.calls.append("finish")


def worklist(items: int, *, batch_size: int, parallel: str = "none") -> Worklist:
    return Worklist(
        stage="generate",
        unit="images",
        task=Marking(),
        items=range(items),
        batch_size=batch_size,
        parallel=parallel,
        workers=2,
    )


@pytest.mark.parametrize("batch_size", [0, 1, 3, 100])
@pytest.mark.parametrize("parallel", ["none", "threads"])
def test_rows_are_appended_before_their_receipts_go(batch_size: int, parallel: str) -> None:
    stored: set[int] = set()
    dropped: list[Path] = []
    told = Told()

    def append(rows: list[Row]) -> int:
        stored.update(row.item for row in rows)
        return len(rows)

    def drop(paths: list[Path]) -> None:
        assert {int(path.name.removeprefix("receipt-")) for path in paths} <= stored
        dropped.extend(paths)

    outcome = work_off(worklist(12, batch_size=batch_size, parallel=parallel), append, drop, told)
    assert outcome == Outcome(done=12, failed=3)  # items 0, 5 and 10
    assert stored == set(range(12))
    assert len(dropped) == 12
    assert (told.calls[0], told.calls[-1]) == (("generate", 12, "images"), "finish")
    done, failed = zip(*told.calls[1:-1], strict=True)
    assert (sum(done), sum(failed)) == (12, 3)


def test_no_work_is_no_work() -> None:
    told = Told()
    assert work_off(worklist(0, batch_size=4), len, print, told) == Outcome(0, 0)
    assert told.calls == []


def test_the_progress_is_finished_even_after_an_error() -> None:
    told = Told()

    def full(_: list[Row]) -> int:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        work_off(worklist(3, batch_size=1), full, print, told)
    assert told.calls == [("generate", 3, "images"), "finish"]
