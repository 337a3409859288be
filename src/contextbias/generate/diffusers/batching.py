"""Which images are made together, and how many fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from contextbias.generate.protocol import Job

_SPARE = 0.9  # of the free memory that is reckoned with


def batches(jobs: Sequence[Job], size: int, *, mixed: bool) -> Iterator[list[Job]]:
    """Cut jobs into batches of about equal size, each of one prompt unless `mixed`.

    Equal, because a last batch of one takes nearly as long as a full one.
    """
    for group in [list(jobs)] if mixed else _by_prompt(jobs):
        count = -(-len(group) // size)
        for part in range(count):
            start, end = len(group) * part // count, len(group) * (part + 1) // count
            yield group[start:end]


def halves(jobs: Sequence[Job]) -> list[list[Job]]:
    """A batch that did not fit, in two."""
    middle = -(-len(jobs) // 2)
    return [list(jobs[:middle]), list(jobs[middle:])]


class Room:
    """How many images fit at a time: a first guess, and what running out of memory has taught.

    Args:
        most: The first guess.
    """

    def __init__(self, most: int) -> None:
        self.most = max(1, most)
        """Images at a time."""

    def too_many(self, tried: int) -> bool:
        """Learn that `tried` images did not fit; whether fewer can be tried."""
        self.most = max(1, min(self.most, tried // 2))
        return tried > 1


def first_guess(cap: int, free: float | None, each: float) -> int:
    """Images at a time that should fit.

    Args:
        cap: The most that is worth trying.
        free: Gigabytes that are free beside the weights; None: not known.
        each: Gigabytes that an image is expected to take.
    """
    if free is None:
        return cap
    return max(1, min(cap, int(_SPARE * free / each)))


def _by_prompt(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.text, []).append(job)
    yield from groups.values()
