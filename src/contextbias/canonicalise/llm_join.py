"""What a language model decided on single groups, put together into labels.

Two groups become one where at least one of the two was said to be the same as the other, and none,
having been shown the other, did not say so. A merge is left out where the packaged table keeps the
two apart, where an override names both, or where it would bring together, by way of a third, two
that were told apart. The order of merges is that of counts, then of the alphabet, so the order of
answers does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from contextbias.canonicalise.llm_question import Part
from contextbias.canonicalise.terms import kept_apart

NONE, SEVERAL = -1, -2
"""Class of a group of whose terms none has a class, or that has several of them."""


@dataclass(frozen=True, slots=True)
class Decided:
    """One offline group and what became of it."""

    terms: tuple[str, ...]
    """Sorted."""
    name: str
    """Its offline name."""
    shown: frozenset[str] = frozenset()
    """Names of other groups that the model saw beside it."""
    parts: tuple[Part, ...] | None = None
    """The model's groups; None where the offline group stands."""


class _Group:
    def __init__(self, part: Part, decided: int, is_answered: bool) -> None:
        self.part = part
        self.terms = frozenset(part.terms)
        self.decided = decided
        self.is_answered = is_answered


def joined_labels(
    dimension: str,
    groups: Sequence[Decided],
    counts: Mapping[str, int],
    fixed: frozenset[str],
) -> dict[str, str]:
    """Label every term.

    Args:
        dimension: Its dimension.
        groups: All offline groups of it.
        counts: How often each term was given.
        fixed: Terms that overrides give as labels: a label holds one of them at most, and is
            named by it.

    Returns:
        Term -> label.
    """
    ordered = sorted(groups, key=lambda each: each.terms)
    members = [
        _Group(part, number, each.parts is not None)
        for number, each in enumerate(ordered)
        for part in each.parts or (Part(each.name, each.terms, frozenset()),)
    ]
    union = _Union(members, _classes(dimension, members), fixed, _denied(ordered, members))
    total = [sum(counts[term] for term in group.terms) for group in members]
    pairs = _asserted(members)
    for first, second in sorted(
        pairs,
        key=lambda p: (
            -(total[p[0]] + total[p[1]]),
            members[p[0]].part.terms,
            members[p[1]].part.terms,
        ),
    ):
        union.join(first, second)
    labels: dict[str, str] = {}
    for component in union.components():
        terms = sorted(term for number in component for term in members[number].terms)
        given = [term for term in terms if term in fixed]
        best = min(component, key=lambda number: (-total[number], members[number].part.label))
        labels.update(dict.fromkeys(terms, given[0] if given else members[best].part.label))
    return labels


def classes_of(dimension: str, groups: Sequence[Sequence[str]]) -> NDArray[np.int16]:
    """Class of each group in each family of the packaged table; `NONE` or `SEVERAL` without."""
    names = sorted({term for group in groups for term in group})
    place = {name: number for number, name in enumerate(names)}
    known = kept_apart(names, dimension).classes
    found = np.full((len(groups), known.shape[1]), NONE, np.int16)
    for number, group in enumerate(groups):
        rows = known[[place[term] for term in group]]
        for family, column in enumerate(rows.T):
            classes = np.unique(column[column >= 0])
            if len(classes):
                found[number, family] = classes[0] if len(classes) == 1 else SEVERAL
    return found


def are_apart(group: NDArray[np.int16], others: NDArray[np.int16]) -> NDArray[np.bool_]:
    """Whether the table keeps a group apart from each of others, by their classes.

    Args:
        group: (families,).
        others: (groups, families).

    Returns:
        (groups,).
    """
    return np.asarray(((others >= 0) & (group >= 0) & (others != group)).any(axis=1))


def _classes(dimension: str, members: Sequence[_Group]) -> NDArray[np.int16]:
    return classes_of(dimension, [group.part.terms for group in members])


def _asserted(members: Sequence[_Group]) -> set[tuple[int, int]]:
    of_term = {term: number for number, group in enumerate(members) for term in group.terms}
    found = set()
    for number, group in enumerate(members):
        for name in group.part.same_as:
            other = of_term.get(name, number)
            if other != number:
                found.add((min(number, other), max(number, other)))
    return found


def _denied(decided: Sequence[Decided], members: Sequence[_Group]) -> set[tuple[int, int]]:
    """Pairs that were told apart: parts of one group, and what was shown and not said to be one."""
    of_term = {term: number for number, group in enumerate(members) for term in group.terms}
    by_decided: dict[int, list[int]] = {}
    for number, group in enumerate(members):
        by_decided.setdefault(group.decided, []).append(number)
    found = set(_pairs_within(by_decided.values()))
    for number, group in enumerate(members):
        if group.is_answered:
            for name in decided[group.decided].shown - group.part.same_as:
                other = of_term.get(name, number)
                if other != number and not group.part.same_as & members[other].terms:
                    found.add((min(number, other), max(number, other)))
    return found


def _pairs_within(groups: Iterable[Sequence[int]]) -> Iterator[tuple[int, int]]:
    for group in groups:
        yield from combinations(group, 2)


class _Union:
    """Groups that have been joined so far.

    What a component is kept apart by is kept with it, so that a join costs what the smaller of two
    components costs, however many groups a model takes for one.
    """

    def __init__(
        self,
        members: Sequence[_Group],
        classes: NDArray[np.int16],
        fixed: frozenset[str],
        denied: set[tuple[int, int]],
    ) -> None:
        self._of = list(range(len(members)))
        self._members = {number: [number] for number in range(len(members))}
        # A component has one class a family at most: two would not have been joined.
        self._classes = np.maximum(classes, NONE)
        self._fixed = [bool(group.terms & fixed) for group in members]
        self._denied: list[set[int]] = [set() for _ in members]
        for first, second in denied:
            self._denied[first].add(second)
            self._denied[second].add(first)

    def join(self, first: int, second: int) -> None:
        """Join the two groups' components, unless something forbids it."""
        into, gone = self._of[first], self._of[second]
        if into == gone or self._is_forbidden(into, gone):
            return
        if len(self._members[into]) < len(self._members[gone]):
            into, gone = gone, into
        for number in self._members[gone]:
            self._of[number] = into
        self._members[into] += self._members.pop(gone)
        self._classes[into] = np.maximum(self._classes[into], self._classes[gone])
        self._fixed[into] |= self._fixed[gone]
        self._denied[into] |= self._denied[gone]

    def components(self) -> list[list[int]]:
        return list(self._members.values())

    def _is_forbidden(self, into: int, gone: int) -> bool:
        if self._fixed[into] and self._fixed[gone]:
            return True
        if are_apart(self._classes[into], self._classes[gone][None])[0]:
            return True
        one, other = sorted((into, gone), key=lambda number: len(self._members[number]))
        return not self._denied[other].isdisjoint(self._members[one])
