"""Which other groups a language model is shown beside one: those that are most alike.

With vectors of the encoder, the nearest means down to a likeness. Without, those that share most
three-letter runs, then the most frequent: synonyms need not share a letter. What the packaged table
keeps apart is not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from contextbias.canonicalise.encoder import Encoder
from contextbias.canonicalise.llm_join import are_apart, classes_of

_LOWEST_COSINE = 0.3
_RUN = 3

Likeness = NDArray[np.float64]
"""(asked, groups): how alike each group that is asked about is to every group."""


def shown_beside(
    dimension: str,
    groups: Sequence[Sequence[str]],
    names: Sequence[str],
    totals: Sequence[int],
    asked: Sequence[int],
    encoder: Callable[[], Encoder] | None,
    most: int,
) -> list[list[str]]:
    """Names of other groups to show beside each group that is asked about.

    Args:
        dimension: Of all groups.
        groups: Terms of each group.
        names: Name of each group.
        totals: How often each group was given.
        asked: Places of the groups that are asked about.
        encoder: Makes the encoder; None to compare spellings.
        most: At most so many.

    Returns:
        For each of `asked`, the most alike first; equally alike ones by how often
        they were given, then by the alphabet.
    """
    classes = classes_of(dimension, groups)
    if encoder is None:
        like, lowest = _by_spelling(names, asked), 0.0
    else:
        like, lowest = _by_vectors(encoder(), groups, asked), _LOWEST_COSINE
    found = []
    for row, place in zip(like, asked, strict=True):
        order = sorted(
            (other for other in np.flatnonzero(row >= lowest).tolist() if other != place),
            key=lambda other: (-round(float(row[other]), 6), -totals[other], names[other]),
        )
        fitting = (names[o] for o in order if not are_apart(classes[place], classes[o]))
        found.append([name for name, _ in zip(fitting, range(most), strict=False)])
    return found


def _by_vectors(
    encoder: Encoder, groups: Sequence[Sequence[str]], asked: Sequence[int]
) -> Likeness:
    """Cosine of the mean vectors."""
    terms = [term for group in groups for term in group]
    starts = np.cumsum([0, *(len(group) for group in groups)])[:-1]
    sums = np.add.reduceat(encoder.encode(terms).astype(np.float64), starts)
    means = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(means[list(asked)] @ means.T)


def _by_spelling(names: Sequence[str], asked: Sequence[int]) -> Likeness:
    """Jaccard index of the sets of three-letter runs."""
    runs = [_runs(name) for name in names]
    return np.array(
        [[len(runs[a] & other) / len(runs[a] | other) for other in runs] for a in asked]
    ).reshape(len(asked), len(names))


def _runs(name: str) -> frozenset[str]:
    padded = f"  {name} "
    return frozenset(padded[i : i + _RUN] for i in range(len(padded) - _RUN + 1))
