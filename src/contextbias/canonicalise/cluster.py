"""Average-link clustering of unit vectors under cannot-link constraints, exact and repeatable.

The distance of two groups is the mean cosine distance over their pairs of members,

    d(A, B) = 1 - (sum of A's vectors) . (sum of B's vectors) / (|A| |B|),

and the two nearest groups that may be joined are joined, as long as their distance is at most the
threshold. Three facts make this fast without changing the result:

1. *Few pairs matter.* A mean of at most t has a member of at most t. So groups can only ever join
   along pairs of starting groups that lie within t, and what is in different single-link components
   of the threshold never meets. Those pairs are found once, in blocks, and kept as a sparse graph.
2. *Many joins at once.* Joining A and B brings neither nearer to a third group than the nearer of
   them was (the linkage is reducible; a forbidden pair has an infinite distance and stays
   forbidden). So all pairs of groups that are each other's nearest can be joined in one round.
3. *Whole numbers.* Vectors are rounded to multiples of 2^-12, so that every sum and product is
   exact: no result depends on blocks, threads or the order of additions. Ties go to the group with
   the smallest first member.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

_SCALE = 2.0**12
_BLOCK = 1024
_MARGIN = 1e-4  # of the search in 32-bit floats; what it finds is decided in exact numbers
_MAX_EDGES = 8_000_000  # about 1 GB while a round lasts
_LEVELS = 16


@dataclass(frozen=True)
class Constraints:
    """What may not be in one group."""

    classes: NDArray[np.int16]
    """(terms, families): two terms with different numbers in one family are kept apart; -1 is in
    no class, and fits everywhere."""
    pairs: IntArray
    """(k, 2): pairs of terms that are kept apart."""

    @classmethod
    def none(cls, number: int) -> Constraints:
        """No constraint on `number` terms."""
        return cls(np.full((number, 0), -1, np.int16), np.empty((0, 2), np.int64))

    def of(self, some: IntArray) -> Constraints:
        """The constraints on some of the terms, by their new numbers.

        Args:
            some: (m,) numbers of the terms that are left, rising.
        """
        kept = self.pairs[np.isin(self.pairs, some).all(axis=1)]
        return Constraints(self.classes[some], np.searchsorted(some, kept))


def average_link(
    vectors: NDArray[np.floating],
    threshold: float,
    *,
    start: IntArray | None = None,
    constraints: Constraints | None = None,
    max_edges: int = _MAX_EDGES,
) -> IntArray:
    """Group vectors; see the module's docstring.

    Args:
        vectors: (n, d), each of length one.
        threshold: Largest mean cosine distance of groups that are joined, 0 to 2.
        start: (n,) groups to start from, as numbers; None for each vector alone. They are not
            taken apart.
        constraints: What may not be joined. A pair that `start` has joined stays joined, and the
            group has no class in a family in which its members disagree.
        max_edges: Largest number of pairs of groups that are held at once. With more of them
            within the threshold, the joins below a smaller threshold come first (which changes
            nothing, as joins come by rising distance); only beyond that many pairs at a distance
            under threshold / 16, those of the first vectors are joined first.

    Returns:
        (n,) for each vector the number of the first vector of its group.
    """
    number = len(vectors)
    if number == 0:
        return np.empty(0, np.int64)
    rules = Constraints.none(number) if constraints is None else constraints
    state = _Groups.of(np.rint(np.asarray(vectors, np.float64) * _SCALE), rules, start)
    levels = 1.0 - threshold * np.arange(1, _LEVELS + 1) / _LEVELS
    done = -1
    while done < _LEVELS - 1:
        done, lowest, edges = _near(state, levels, done, max_edges)
        state.join(edges, lowest)
    return state.first_of_member()


class _Groups:
    """The groups so far: sums of vectors, sizes, classes, forbidden pairs."""

    def __init__(
        self, group: IntArray, sums: FloatArray, classes: NDArray[np.int16], forbidden: IntArray
    ) -> None:
        self.group = group  # of each member
        self.sums = sums
        self.sizes = np.bincount(group, minlength=len(sums)).astype(np.float64)
        self.classes = classes
        self.forbidden = forbidden  # sorted keys of pairs

    @classmethod
    def of(cls, whole: FloatArray, rules: Constraints, start: IntArray | None) -> _Groups:
        number = len(whole)
        group = np.arange(number) if start is None else _numbered(np.asarray(start, np.int64))
        count = int(group.max()) + 1
        sums = np.zeros((count, whole.shape[1]))
        np.add.at(sums, group, whole)
        low, high = _class_bounds(rules.classes, group, count)
        classes = np.where(low == high, low, -1).astype(np.int16)
        return cls(group, sums, classes, _keys(group[rules.pairs], count))

    def join(self, edges: IntArray, lowest: float) -> None:
        """Join along `edges`, (k, 2) with first < second, down to a similarity of `lowest`."""
        similarity = self.similarity(edges)
        while True:
            keep = similarity >= lowest
            keep[keep] = ~self.is_forbidden(edges[keep])
            edges, similarity = edges[keep], similarity[keep]
            if not len(edges):
                return
            pairs = _mutual(edges, similarity, len(self.sums))
            target = np.arange(len(self.sums))
            target[pairs[:, 1]] = pairs[:, 0]
            self._merge(pairs, target)
            changed = np.zeros(len(self.sums), bool)
            changed[pairs[:, 0]] = True
            edges, similarity = self._contract(edges, similarity, target, changed)

    def first_of_member(self) -> IntArray:
        first = np.full(len(self.sums), len(self.group))
        np.minimum.at(first, self.group, np.arange(len(self.group)))
        return np.asarray(first[self.group])

    def alive(self) -> IntArray:
        return np.flatnonzero(self.sizes)

    def similarity(self, edges: IntArray) -> FloatArray:
        """Mean cosine similarity of pairs of groups."""
        products = np.empty(len(edges))
        for begin in range(0, len(edges), _BLOCK * 16):
            part = slice(begin, begin + _BLOCK * 16)
            left, right = self.sums[edges[part, 0]], self.sums[edges[part, 1]]
            products[part] = np.einsum("ij,ij->i", left, right)
        return products / (self.sizes[edges[:, 0]] * self.sizes[edges[:, 1]] * _SCALE**2)

    def _merge(self, pairs: IntArray, target: IntArray) -> None:
        into, gone = pairs[:, 0], pairs[:, 1]
        self.sums[into] += self.sums[gone]
        self.sizes[into] += self.sizes[gone]
        self.sizes[gone] = 0
        self.classes[into] = np.maximum(self.classes[into], self.classes[gone])
        self.group = target[self.group]
        count = len(self.sums)
        self.forbidden = _keys(target[np.stack(np.divmod(self.forbidden, count), axis=1)], count)

    def _contract(
        self, edges: IntArray, similarity: FloatArray, target: IntArray, changed: NDArray[np.bool_]
    ) -> tuple[IntArray, FloatArray]:
        """The edges of the joined groups, with the similarities that have changed."""
        moved = np.sort(target[edges], axis=1)
        _, places = np.unique(moved[:, 0] * len(self.sums) + moved[:, 1], return_index=True)
        moved, similarity = moved[places], similarity[places]
        apart = moved[:, 0] != moved[:, 1]
        moved, similarity = moved[apart], similarity[apart]
        new = changed[moved].any(axis=1)
        similarity[new] = self.similarity(moved[new])
        return moved, similarity

    def is_forbidden(self, edges: IntArray) -> NDArray[np.bool_]:
        count = len(self.sums)
        found = np.zeros(len(edges), bool)
        for family in self.classes.T:
            first, second = family[edges[:, 0]], family[edges[:, 1]]
            found |= (first >= 0) & (second >= 0) & (first != second)
        if len(self.forbidden):
            found |= np.isin(edges[:, 0] * count + edges[:, 1], self.forbidden)
        return found


def _mutual(edges: IntArray, similarity: FloatArray, count: int) -> IntArray:
    """Pairs that are each other's nearest; of equally near ones the first counts."""
    source = np.concatenate([edges[:, 0], edges[:, 1]])
    other = np.concatenate([edges[:, 1], edges[:, 0]])
    order = np.lexsort((other, -np.concatenate([similarity, similarity]), source))
    sources, places = np.unique(source[order], return_index=True)
    nearest = np.full(count, -1)
    nearest[sources] = other[order][places]
    back = nearest[nearest[sources]]
    pairs = np.stack([sources, nearest[sources]], axis=1)[back == sources]
    return np.asarray(pairs[pairs[:, 0] < pairs[:, 1]])


def _near(
    state: _Groups, levels: FloatArray, done: int, max_edges: int
) -> tuple[int, float, IntArray]:
    """Pairs of groups that may be joined, down to the lowest of `levels` whose pairs fit.

    Args:
        state: The groups; no two of them are as near as ``levels[done]``.
        levels: Similarities, falling.
        done: Index in `levels`, or -1.
        max_edges: How many pairs fit.

    Returns:
        Index of the level that is reached, its similarity, and the pairs. Where not even those of
        the next level fit, index and `done` are equal, and the pairs are those of some groups.
    """
    alive = state.alive()
    means = (state.sums[alive] / (state.sizes[alive, None] * _SCALE)).astype(np.float32)
    at, some = len(levels) - 1, _Pairs()
    for begin in range(0, len(means), _BLOCK):
        block = means[begin : begin + _BLOCK] @ means[begin:].T
        first, second = np.nonzero(block >= levels[at] - _MARGIN)
        values = block[first, second]
        edges = np.stack([alive[first + begin], alive[second + begin]], axis=1)
        keep = second > first
        keep[keep] = ~state.is_forbidden(edges[keep])
        some.add(edges[keep], values[keep])
        while some.number > max_edges:
            if at == done + 1:
                return done, levels[at] - _MARGIN, some.edges()
            at -= 1
            some.drop_below(levels[at] - _MARGIN)
    return at, float(levels[at]), some.edges()


class _Pairs:
    """Pairs of groups and their similarity, as they are found."""

    def __init__(self) -> None:
        self._edges: list[IntArray] = [np.empty((0, 2), np.int64)]
        self._values: list[NDArray[np.float32]] = [np.empty(0, np.float32)]
        self.number = 0

    def add(self, edges: IntArray, values: NDArray[np.float32]) -> None:
        self._edges.append(edges)
        self._values.append(values)
        self.number += len(edges)

    def drop_below(self, lowest: float) -> None:
        keep = np.concatenate(self._values) >= lowest
        self._edges = [np.concatenate(self._edges)[keep]]
        self._values = [np.concatenate(self._values)[keep]]
        self.number = int(np.count_nonzero(keep))

    def edges(self) -> IntArray:
        return np.concatenate(self._edges)


def _numbered(start: IntArray) -> IntArray:
    """Group numbers from 0, in the order of first members."""
    _, places, inverse = np.unique(start, return_index=True, return_inverse=True)
    rank = np.empty(len(places), np.int64)
    rank[np.argsort(places)] = np.arange(len(places))
    return rank[inverse]


def _class_bounds(
    classes: NDArray[np.int16], group: IntArray, count: int
) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Smallest and largest class of each group's members that have one; -1 where none has."""
    largest = np.full((count, classes.shape[1]), -1, np.int16)
    smallest = np.full((count, classes.shape[1]), np.iinfo(np.int16).max, np.int16)
    np.maximum.at(largest, group, classes)
    np.minimum.at(smallest, group, np.where(classes < 0, np.iinfo(np.int16).max, classes))
    smallest[largest < 0] = -1
    return smallest, largest


def _keys(pairs: IntArray, count: int) -> IntArray:
    """Sorted numbers of pairs of groups, of those that are not one group."""
    ordered = np.sort(pairs.reshape(-1, 2), axis=1)
    ordered = ordered[ordered[:, 0] != ordered[:, 1]]
    return np.unique(ordered[:, 0] * count + ordered[:, 1])
