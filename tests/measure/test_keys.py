"""Packed keys and their sums."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from contextbias.measure.keys import BITS, Table, counted, low, packed

FACTS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 3), st.integers(0, 5)),
    max_size=40,
)


def as_keys(facts: list[tuple[int, ...]]) -> np.ndarray:
    return packed(list(np.array(facts, dtype=np.int64).reshape(-1, 4).T))


def test_the_largest_parts_fit() -> None:
    largest = [np.array([(1 << bits) - 1]) for bits in BITS.values()]
    key = packed(largest)
    assert key[0] == 2 ** sum(BITS.values()) - 1 == 2**63 - 1
    assert low(key, "last")[0] == 2**24 - 1


@given(st.lists(FACTS, max_size=4), st.permutations(range(5)), st.permutations(range(6)))
def test_sums_of_batches_are_those_of_all_facts(
    batches: list[list[tuple[int, ...]]], prompts: list[int], last: list[int]
) -> None:
    expected = Counter(
        (prompts[p], reader, dimension, last[label])
        for batch in batches
        for p, reader, dimension, label in batch
    )
    parts = [counted(as_keys(batch)) for batch in batches]
    table = Table(parts, np.array(prompts), np.array(last))
    rows = [table.prompt, table.reader, table.dimension, table.last, table.count]
    found = list(zip(*(row.tolist() for row in rows), strict=True))
    assert found == sorted((*key, number) for key, number in expected.items())
    for reader in range(3):
        own = table.of_reader(reader, np.arange(5) * 10)
        assert own.tolist() == [
            [10 * p, dimension, label, number]
            for p, of, dimension, label, number in found
            if of == reader
        ]
