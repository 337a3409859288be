"""A small Bayesian network over discrete answers: it can be sampled, and its marginals are exact.

The planted model (planted.py) is such a network. One table per node serves both uses, so that
what is drawn and what is stored as the planted probability cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One question and how its answer depends on earlier answers."""

    name: str
    """Unique in the network."""
    values: tuple[str, ...]
    """The possible answers, in the order of the last axis of `table`."""
    parents: tuple[str, ...]
    """Names of the nodes that it depends on; they come earlier in the network."""
    table: Floats
    """P(value | parents): one axis per parent, in order, then one over `values`."""


class Network:
    """Nodes in sampling order.

    Args:
        nodes: Parents before their children.

    Raises:
        ValueError: A table has the wrong shape, or a row that is not a distribution.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes: dict[str, Node] = {}
        for node in nodes:
            _check(node, self._nodes)
            self._nodes[node.name] = node
        self._cumulative = {n.name: np.cumsum(n.table, axis=-1) for n in self._nodes.values()}
        self._marginals: dict[tuple[str, ...], Floats] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """All nodes, in sampling order."""
        return tuple(self._nodes)

    def values(self, name: str) -> tuple[str, ...]:
        """The possible answers of a node."""
        return self._nodes[name].values

    def sample(
        self, uniform: Callable[[str], float], settled: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """Draw every node once.

        Args:
            uniform: Gives each node, by name, its number in [0, 1): the answer is the one whose
                stretch of the cumulative distribution holds it.
            settled: Node -> the answer that it has whatever is drawn; what depends on it is drawn
                given that. One that the node has not is left out.

        Returns:
            Node name -> answer, in sampling order.
        """
        index: dict[str, int] = {}
        drawn: dict[str, str] = {}
        for name, node in self._nodes.items():
            row = self._cumulative[name][tuple(index[parent] for parent in node.parents)]
            at = int(np.searchsorted(row, uniform(name) * row[-1], side="right"))
            index[name] = min(at, len(node.values) - 1)
            if settled is not None and settled.get(name) in node.values:
                index[name] = node.values.index(settled[name])
            drawn[name] = node.values[index[name]]
        return drawn

    def marginal(self, names: Sequence[str]) -> Floats:
        """The joint distribution of some nodes, all others summed out.

        Args:
            names: Which nodes, no name twice.

        Returns:
            Array with one axis per name, in that order; sums to 1.
        """
        key = tuple(names)
        if key not in self._marginals:
            self._marginals[key] = self._sum_out(key)
        return self._marginals[key]

    def _sum_out(self, names: tuple[str, ...]) -> Floats:
        needed = self._ancestors(names)
        axis = {name: number for number, name in enumerate(needed)}
        operands: list[Any] = []
        for name in needed:
            node = self._nodes[name]
            operands += [node.table, [axis[parent] for parent in node.parents] + [axis[name]]]
        return np.asarray(np.einsum(*operands, [axis[name] for name in names], optimize="greedy"))

    def _ancestors(self, names: Sequence[str]) -> list[str]:
        wanted = set(names)
        for name in reversed(self._nodes):
            if name in wanted:
                wanted.update(self._nodes[name].parents)
        return [name for name in self._nodes if name in wanted]


def _check(node: Node, earlier: Mapping[str, Node]) -> None:
    late = [parent for parent in node.parents if parent not in earlier]
    if late or node.name in earlier:
        raise ValueError(f"node {node.name!r} is out of order or there twice (parents: {late})")
    shape = (*(len(earlier[parent].values) for parent in node.parents), len(node.values))
    if node.table.shape != shape:
        raise ValueError(f"node {node.name!r} has a table of shape {node.table.shape}, not {shape}")
    sums = node.table.sum(axis=-1)
    if node.table.min(initial=0.0) < 0 or not np.allclose(sums, 1, rtol=0, atol=_TOLERANCE):
        raise ValueError(f"node {node.name!r} has a row that is not a distribution")
