"""Facts as packed keys: prompt, reader, dimension and a last part in 64 bits; and their sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Counted = tuple[Integers, Integers]
"""Distinct keys in order, and how often each occurs."""

# Bits of a key; 63 in all.
BITS = {"prompt": 26, "reader": 6, "dimension": 7, "last": 24}
"""Bits of each part, the highest first."""


def packed(parts: Sequence[Integers]) -> Integers:
    """Prompt, reader, dimension and last part in one number."""
    key, *rest = parts
    for part, name in zip(rest, ("reader", "dimension", "last"), strict=True):
        key = (key << BITS[name]) + part
    return key


def low(keys: Integers, name: str) -> Integers:
    """The lowest bits of keys, as many as a part of this name has."""
    return keys & ((1 << BITS[name]) - 1)


def distinct(keys: Integers) -> tuple[Integers, Integers]:
    """Distinct keys in order, and where each begins in the sorted keys."""
    # Sorting whole numbers is several times as fast as the hash table of numpy.unique.
    ordered = keys if np.all(keys[1:] >= keys[:-1]) else np.sort(keys)
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    return ordered[first], first


def counted(keys: Integers) -> Counted:
    """How often each key occurs."""
    found, first = distinct(keys)
    return found, np.diff(first, append=len(keys))


class Table:
    """Counts by key of all batches: five columns, in order of the first four."""

    def __init__(
        self, parts: Iterable[Counted], prompts: Integers, last: Integers | None = None
    ) -> None:
        """Add up the counts of equal keys.

        Args:
            parts: Keys of batches, with how often each occurs there.
            prompts: New number of each prompt.
            last: New number of each last part; None: they keep theirs.
        """
        known = list(parts)
        keys, counts = (
            np.concatenate([np.empty(0, np.int64), *(part[i] for part in known)]) for i in (0, 1)
        )
        # Numbers are given anew before they are sorted, so that once is enough.
        rest = low(keys, "last") if last is None else last[low(keys, "last")]
        high = keys >> BITS["last"]
        within = BITS["reader"] + BITS["dimension"]
        place = (prompts[high >> within] << within) + (high & ((1 << within) - 1))
        keys = (place << BITS["last"]) + rest
        if not np.all(keys[1:] > keys[:-1]):
            order = np.argsort(keys)
            keys, first = distinct(keys[order])
            counts = np.add.reduceat(counts[order], first)
        rest, high = low(keys, "last"), keys >> BITS["last"]
        self.prompt, self.last, self.count = high >> within, rest, counts
        self.dimension, self.reader = (
            low(high, "dimension"),
            low(high >> BITS["dimension"], "reader"),
        )

    def of_reader(self, reader: int, place: Integers) -> Integers:
        """Prompt, dimension, last part and count of one reader; shape (rows, 4).

        Args:
            reader: Number of the reader.
            place: New number of each prompt, in the order of the old ones.
        """
        mine = self.reader == reader
        columns = (self.prompt, self.dimension, self.last, self.count)
        prompt, *rest = columns if mine.all() else (column[mine] for column in columns)
        # Columns stay in one piece each: they are used one by one.
        return np.stack([place[prompt], *rest]).T
