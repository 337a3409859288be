"""Which other groups a language model is shown beside one: those that are most alike.

With vectors of the encoder, the nearest means down to a likeness. Without, and of terms that the
encoder cannot read, those that share most three-letter runs, then the most frequent: synonyms need
not share a letter. What the packaged table keeps apart is not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from contextbias.canonicalise.encoder import Encoder
from contextbias.canonicalise.llm_join import are_apart, classes_of

_LOWEST_COSINE = 0.3
_RUN = 3
_BLOCK = 256

Likeness = NDArray[np.float64]
"""(groups,): how alike one group is to every group; below 0 for what is not to be shown."""


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
    alphabet = np.argsort(np.argsort(np.array(names, dtype=np.str_)))
    counts = np.asarray(totals)
    rows = _by_spelling(names, asked) if encoder is None else _rows(encoder(), groups, names, asked)
    found = []
    for place, row in zip(asked, rows, strict=True):
        fits = (row >= 0) & ~are_apart(classes[place], classes)
        fits[place] = False
        others = np.flatnonzero(fits)
        order = np.lexsort((alphabet[others], -counts[others], -row[others].round(6)))
        found.append([names[other] for other in others[order[:most]].tolist()])
    return found


def _rows(
    encoder: Encoder, groups: Sequence[Sequence[str]], names: Sequence[str], asked: Sequence[int]
) -> Iterator[Likeness]:
    """Cosine of the mean vectors; by spelling where the encoder can read none of the terms."""
    terms = [term for group in groups for term in group]
    starts = np.cumsum([0, *(len(group) for group in groups)])[:-1]
    sums = np.add.reduceat(encoder.encode(terms).astype(np.float64), starts)
    lengths = np.linalg.norm(sums, axis=1)
    is_read = lengths > 0
    means = sums / np.where(is_read, lengths, 1.0)[:, None]
    spelled = _by_spelling(names, [place for place in asked if not is_read[place]])
    for start in range(0, len(asked), _BLOCK):
        some = list(asked[start : start + _BLOCK])
        for place, row in zip(some, means[some] @ means.T, strict=True):
            yield np.where(row < _LOWEST_COSINE, -1.0, row) if is_read[place] else next(spelled)


def _by_spelling(names: Sequence[str], asked: Sequence[int]) -> Iterator[Likeness]:
    """Jaccard index of the sets of three-letter runs."""
    from scipy.sparse import csr_array

    runs = [_runs(name) for name in names]
    column = {run: number for number, run in enumerate(sorted(set().union(*runs)))}
    sizes = np.array([len(mine) for mine in runs])
    has = csr_array(
        (
            np.ones(sizes.sum()),
            np.array([column[run] for mine in runs for run in sorted(mine)], np.int64),
            np.cumsum([0, *sizes]),
        ),
        shape=(len(names), len(column)),
    )
    for start in range(0, len(asked), _BLOCK):
        some = list(asked[start : start + _BLOCK])
        shared = (has[some] @ has.T).toarray()
        yield from shared / (sizes[some][:, None] + sizes[None, :] - shared)


def _runs(name: str) -> frozenset[str]:
    padded = f"  {name} "
    return frozenset(padded[i : i + _RUN] for i in range(len(padded) - _RUN + 1))
