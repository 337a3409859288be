"""Tasks that worker processes of the tests can import."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from contextbias.errors import MissingPart


@dataclass(frozen=True)
class Doubling:
    """Twice each item; counts how often it was built, in a file a build."""

    folder: Path

    def build(self) -> Callable[[Sequence[int]], list[int]]:
        (self.folder / f"built-{os.getpid()}-{time.perf_counter_ns()}").touch()
        return lambda batch: [2 * item for item in batch]


@dataclass(frozen=True)
class Fatal:
    """Ends its process at one item."""

    at: int

    def build(self) -> Callable[[Sequence[int]], list[int]]:
        def work(batch: Sequence[int]) -> list[int]:
            if self.at in batch:
                os._exit(9)
            return list(batch)

        return work


@dataclass(frozen=True)
class Failing:
    """Raises at one item."""

    at: int

    def build(self) -> Callable[[Sequence[int]], list[int]]:
        def work(batch: Sequence[int]) -> list[int]:
            if self.at in batch:
                raise ValueError(f"item {self.at}")
            return list(batch)

        return work


@dataclass(frozen=True)
class Waiting:
    """Says that it has begun, and ends each item when the file ``go`` is there."""

    folder: Path

    def build(self) -> Callable[[Sequence[int]], list[int]]:
        return self._work

    def _work(self, batch: Sequence[int]) -> list[int]:
        for item in batch:
            (self.folder / f"begun-{item}").write_text(str(os.getpid()))
            while not (self.folder / "go").exists():
                time.sleep(0.01)
            (self.folder / f"done-{item}").touch()
        return list(batch)


@dataclass(frozen=True)
class Unbuildable:
    """Lacks something from the beginning."""

    def build(self) -> Callable[[Sequence[int]], list[int]]:
        raise MissingPart("no weights", "fetch them")
