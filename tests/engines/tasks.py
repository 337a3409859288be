"""Tasks that worker processes of the tests can import."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from contextbias.errors import MissingPart
from contextbias.interrupts import hurry


@dataclass(frozen=True)
class Doubling:
    """Twice each item; counts how often it was built, in a file a build."""

    folder: Path

    def build(self) -> Callable[[Sequence[int]], list[int]]:
        (self.folder / f"built-{os.getpid()}-{time.perf_counter_ns()}").touch()
        return lambda batch: [2 * item for item in batch]


@dataclass(frozen=True)
class Keeping:
    """Keeps each item in a file, as soon as it is done, and says so in another one a time."""

    folder: Path

    def build(self) -> Callable[[Sequence[int]], list[int]]:
        return lambda batch: [self.do(item) for item in batch]

    def do(self, item: int) -> int:
        (self.folder / f"did-{item}-{os.getpid()}-{time.perf_counter_ns()}").touch()
        (self.folder / f"kept-{item}").touch()
        return item

    def kept(self, item: int) -> int | None:
        return item if (self.folder / f"kept-{item}").exists() else None

    def given_up(self, item: int, reason: str) -> tuple[int, str]:
        return item, reason


@dataclass(frozen=True)
class Fatal(Keeping):
    """Kills its process at some items, before it does them; and, with `once`, only once each."""

    at: tuple[int, ...] = ()
    once: bool = False

    def do(self, item: int) -> int:
        mark = self.folder / f"died-{item}"
        if item in self.at and not (self.once and mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().do(item)


@dataclass(frozen=True)
class AtOnce(Fatal):
    """The same, with nothing kept before the whole batch is done: as a model that draws many."""

    def build(self) -> Callable[[Sequence[int]], list[int]]:
        def work(batch: Sequence[int]) -> list[int]:
            for item in batch:
                if item in self.at:
                    os.kill(os.getpid(), signal.SIGKILL)
            return [self.do(item) for item in batch]

        return work


@dataclass(frozen=True)
class Stillborn(Keeping):
    """Dies while it is built."""

    def build(self) -> Callable[[Sequence[int]], list[int]]:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().build()


@dataclass(frozen=True)
class Seated(Keeping):
    """Says which GPUs it may use; begins when `crew` workers are there."""

    crew: int = 1

    def build(self) -> Callable[[Sequence[int]], list[str]]:  # type: ignore[override]
        early = os.environ["CUDA_VISIBLE_DEVICES"]
        (self.folder / f"here-{os.getpid()}").touch()

        def work(batch: Sequence[int]) -> list[str]:
            while len(list(self.folder.glob("here-*"))) < self.crew:
                time.sleep(0.01)
            return [f"{early} {os.environ.get('CUDA_DEVICE_ORDER')}" for _ in batch]

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
class Hurrying(Waiting):
    """Ends its first item when the driver wants to end, and begins no further one then."""

    def _work(self, batch: Sequence[int]) -> list[int]:
        (self.folder / f"begun-{batch[0]}").touch()
        assert hurry.wait(60)
        (self.folder / f"done-{batch[0]}").touch()
        return [batch[0]]


@dataclass(frozen=True)
class Unbuildable:
    """Lacks something from the beginning."""

    def build(self) -> Callable[[Sequence[int]], list[int]]:
        raise MissingPart("no weights", "fetch them")
