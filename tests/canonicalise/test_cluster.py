"""Average-link clustering: against scipy, against the plain algorithm, and its constraints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage

from contextbias.canonicalise.cluster import Constraints, average_link

SEEDS = st.integers(0, 2**32 - 1)


def unit(rng: np.random.Generator, number: int, length: int = 6) -> NDArray[np.float64]:
    """Vectors in loose bunches."""
    centres = rng.normal(size=(max(1, number // 4), length))
    vectors = centres[rng.integers(len(centres), size=number)]
    vectors = vectors + 0.5 * rng.normal(size=(number, length))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def groups(labels: NDArray[np.int64]) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


def plain(
    vectors: NDArray[np.float64],
    threshold: float,
    start: NDArray[np.int64],
    rules: Constraints,
) -> set[frozenset[int]]:
    """The definition, word by word: join the two nearest that may be joined."""
    distance = 1 - (np.rint(vectors * 2**12) / 2**12) @ (np.rint(vectors * 2**12) / 2**12).T
    found = [sorted(group) for group in groups(start)]
    apart = {frozenset(pair) for pair in rules.pairs.tolist()}
    together = {frozenset((a, b)) for group in found for a in group for b in group}

    def allowed(one: list[int], two: list[int]) -> bool:
        for family in rules.classes.T:
            first, second = _class(one, family), _class(two, family)
            if first >= 0 and second >= 0 and first != second:
                return False
        return not any(frozenset((a, b)) in apart - together for a in one for b in two)

    def _class(group: list[int], family: NDArray[np.int16]) -> int:
        """Of the starting groups inside: none where one of these disagrees with itself."""
        seen = set()
        for begun in [sorted(g) for g in groups(start)]:
            if begun[0] in group:
                classes = {int(family[i]) for i in begun} - {-1}
                seen |= classes if len(classes) == 1 else set()
        assert len(seen) <= 1
        return seen.pop() if seen else -1

    while True:
        best = min(
            (
                (distance[np.ix_(a, b)].mean(), a[0], b[0], i, j)
                for i, a in enumerate(found)
                for j, b in enumerate(found)
                if a[0] < b[0] and allowed(a, b)
            ),
            default=None,
        )
        if best is None or best[0] > threshold:
            return {frozenset(group) for group in found}
        *_, i, j = best
        found[i] = sorted(found[i] + found[j])
        del found[j]


@pytest.mark.parametrize("seed", range(12))
def test_without_constraints_it_is_average_linkage(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = unit(rng, int(rng.integers(2, 150)))
    threshold = float(rng.uniform(0.05, 0.8))
    tree = linkage(vectors, "average", metric="cosine")
    assert groups(average_link(vectors, threshold)) == groups(
        fcluster(tree, threshold, "distance").astype(np.int64)
    )


@given(SEEDS, st.integers(1, 24), st.floats(0.05, 1.2))
@settings(max_examples=60)
def test_with_constraints_it_is_the_plain_algorithm(seed: int, number: int, t: float) -> None:
    rng = np.random.default_rng(seed)
    vectors = unit(rng, number)
    start = rng.integers(max(1, number - 3), size=number)
    classes = rng.integers(-1, 2, size=(number, 2)).astype(np.int16)
    rules = Constraints(classes, rng.integers(number, size=(number // 3, 2)))
    found = average_link(vectors, t, start=start, constraints=rules)
    assert groups(found) == plain(vectors, t, start, rules)


@given(SEEDS, st.integers(1, 40), st.floats(0.05, 1.2))
@settings(max_examples=60)
def test_what_may_not_be_joined_is_not(seed: int, number: int, t: float) -> None:
    rng = np.random.default_rng(seed)
    classes = rng.integers(-1, 3, size=(number, 2)).astype(np.int16)
    rules = Constraints(classes, rng.integers(number, size=(number, 2)))
    found = average_link(unit(rng, number), t, constraints=rules)
    for a, b in rules.pairs.tolist():
        assert a == b or found[a] != found[b]
    for group in groups(found):
        for family in classes.T:
            assert len(set(family[sorted(group)].tolist()) - {-1}) <= 1


@given(SEEDS, st.integers(2, 60), st.integers(1, 30))
@settings(max_examples=60)
def test_few_pairs_at_once_change_nothing(seed: int, number: int, most: int) -> None:
    """Joins come by rising distance, so a smaller threshold first is no other order.

    Only where more pairs than fit lie within one step of the threshold may groups differ; then all
    the same no group is left that could be joined.
    """
    rng = np.random.default_rng(seed)
    vectors = unit(rng, number)
    whole = average_link(vectors, 0.3)
    few = average_link(vectors, 0.3, max_edges=most * number)
    if most * number >= number * (number - 1) // 8:
        assert groups(few) == groups(whole)
    sums = np.stack([vectors[few == first].mean(axis=0) for first in np.unique(few)])
    distance = 1 - sums @ sums.T
    np.fill_diagonal(distance, 2)
    assert distance.min() > 0.3 - 1e-3


def test_order_and_batches_do_not_matter() -> None:
    rng = np.random.default_rng(5)
    vectors = unit(rng, 3000, 8)  # more than a block
    found = average_link(vectors, 0.15)
    order = rng.permutation(len(vectors))
    shuffled = average_link(vectors[order], 0.15)
    back = np.empty_like(shuffled)
    back[order] = shuffled
    assert groups(back) == groups(found)


def test_the_smallest_inputs() -> None:
    assert average_link(np.empty((0, 4)), 0.4).tolist() == []
    assert average_link(np.eye(1), 0.4).tolist() == [0]
    same = np.ones((5, 1))
    assert average_link(same, 0.0).tolist() == [0] * 5
    assert average_link(same, 0.0, max_edges=1).tolist() == [0] * 5
    assert average_link(np.eye(3), 0.4).tolist() == [0, 1, 2]
    # Opposite vectors join only at the largest distance there is.
    assert average_link(np.array([[1.0], [-1.0]]), 2.0).tolist() == [0, 0]


def test_groups_to_start_from_are_kept() -> None:
    vectors = np.eye(4)
    start = np.array([7, 3, 7, 3])
    assert average_link(vectors, 0.1, start=start).tolist() == [0, 1, 0, 1]


def test_a_starting_group_that_disagrees_has_no_class() -> None:
    # Terms 0 and 1 are one thing, whatever their words say; so 2 may join them.
    vectors = np.ones((3, 1))
    rules = Constraints(np.array([[0], [1], [0]], np.int16), np.array([[0, 1]]))
    found = average_link(vectors, 0.1, start=np.array([0, 0, 2]), constraints=rules)
    assert found.tolist() == [0, 0, 0]
