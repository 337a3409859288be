"""Which batches are still to be given out, and what becomes of those whose worker died.

A worker may die for a reason outside its batch (another program took the memory) or because of one
item in it. So a batch is first given out again as it is. When a second worker dies on it, it is
halved, and halves again, until the item that kills stands alone: that one gets an error row, and
all others are made. What a dead worker had finished and kept is taken in, and not made again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from contextbias.engines.task import Task
from contextbias.errors import Incomplete

_ENOUGH = 2
# Workers that may die on a batch: then it is halved, or its only item given up.
_STARTS = 3
# Workers in a row that may die before they are ready.
_NOTHING_DONE = 10
# Workers that may die while no batch at all was finished.


@dataclass(frozen=True, slots=True)
class Batch:
    """Items that one worker is given at a time."""

    items: Sequence[Any]
    """What is to be done."""
    deaths: int = 0
    """Workers that have died on these items."""


class Batches:
    """The batches of one worklist.

    Args:
        task: Knows what was kept, and makes the rows of items that are given up.
        batches: In the order in which they are given out.
    """

    def __init__(self, task: Task, batches: Iterable[Sequence[Any]]) -> None:
        self._task = task
        self._left = deque(Batch(items) for items in batches)
        self._starts = self._deaths = self._finished = 0

    def __len__(self) -> int:
        """How many are left to be given out."""
        return len(self._left)

    def take(self) -> Batch | None:
        """The next one; None when all are given out."""
        return self._left.popleft() if self._left else None

    def started(self) -> None:
        """A worker is ready."""
        self._starts = 0

    def finished(self) -> None:
        """A batch was answered."""
        self._finished += 1

    def not_begun(self, batch: Batch) -> None:
        """Give a batch back that its worker never had."""
        self._left.appendleft(batch)

    def died_at_start(self, how: str) -> None:
        """A worker died before it was given anything.

        Raises:
            Incomplete: As did the ones before it.
        """
        self._starts += 1
        if self._starts >= _STARTS:
            raise Incomplete(
                f"workers die before they are ready: {how}; what was finished is kept",
                "see whether the machine has the memory for the model, or take fewer workers "
                "([run] workers in study.toml), then run again",
            )

    def died(self, batch: Batch, how: str) -> list[Any]:
        """A worker died on `batch`: what is not done is put back.

        Args:
            batch: What it had.
            how: How it died, in words.

        Returns:
            Rows of what it had kept, and the error row of an item that was given up.
        """
        self._deaths += 1
        rows, rest = [], []
        for item in batch.items:
            row = self._task.kept(item)
            if row is None:
                rest.append(item)
            else:
                rows.append(row)
        self._finished += bool(rows)
        deaths = batch.deaths + 1
        if len(rest) == 1 and deaths >= _ENOUGH:
            reason = f"{deaths} workers died on it, the last one {how}"
            return [*rows, self._task.given_up(rest[0], reason)]
        half = -(-len(rest) // 2) if deaths >= _ENOUGH else len(rest)
        parts = [rest[start : start + half] for start in range(0, len(rest), half or 1)]
        self._left.extendleft(Batch(part, deaths) for part in reversed(parts))
        return rows

    def check(self, how: str) -> None:
        """See whether there is any point in further workers.

        Raises:
            Incomplete: Many have died, and nothing was ever finished.
        """
        if self._deaths >= _NOTHING_DONE and not self._finished:
            raise Incomplete(
                f"{self._deaths} workers died and none finished anything ({how})",
                "see whether the machine has the memory for the model, or take fewer workers "
                "([run] workers in study.toml), then run again",
            )
