"""Permutation of prompts within a role: a p that asks nothing about how alike images are.

Whole prompts are dealt out to the conditions again, or whole base contexts. With prompts as units,
what the images of one prompt have in common counts once; with contexts, also what the phrasings of
one context have in common. There are few contexts (1, 3 and 4 in ContextBench, 280 ways to deal
them out), so that p cannot be small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from contextbias.measure.arrays import DimensionCounts, PromptCounts, ReaderCounts
from contextbias.measure.rows import Run, Settings, estimate_frame
from contextbias.stats.permutation import permutation_p
from contextbias.stats.proportion import MINIMUM_SUPPORT, FloatArray, IntArray
from contextbias.tables import CONDITIONS

RESAMPLES = 999
"""Random ways to deal out the prompts of a role, where there are more of them."""


@dataclass(frozen=True, slots=True)
class _Units:
    """What is dealt out: prompts or contexts, in order of role and condition."""

    x: FloatArray
    """Images that show the label, shape (units, labels)."""
    n: FloatArray
    """Images read, shape (units,)."""
    role: IntArray
    """Role of each unit."""
    condition: IntArray
    """Condition of each unit."""


def permutation_estimates(counts: ReaderCounts, run: Run, settings: Settings) -> pl.DataFrame:
    """Rows ``permutation_p`` of supported cells with images in two conditions or more.

    Method ``prompts``: the prompts of the role are dealt out to conditions at random, each keeping
    its number of prompts; ``contexts``: its base contexts are. n is the images read. Roles with so
    few units that no p could be as small as alpha have no rows.

    The random draws depend on the seed and on how many units each condition has, not on the order
    of rows or on which other roles there are.

    Args:
        counts: Of one reader.
        run: What all rows share.
        settings: Seed and level.
    """
    parts = [
        part
        for of in counts.dimensions
        if of.labels
        for method in ("prompts", "contexts")
        for part in _rows(of, counts.roles, _units(of.prompts, method), method, settings)
    ]
    return run.frame(pl.concat(parts)) if parts else estimate_frame([])


def _units(prompts: PromptCounts, method: str) -> _Units:
    """Prompts as they are, or added up to contexts; those without an image read are left out."""
    x, n = prompts.x.toarray().astype(np.float64), prompts.n.astype(np.float64)
    role, condition = prompts.role, prompts.condition
    if method == "contexts":
        _, first, place = np.unique(prompts.cluster, return_index=True, return_inverse=True)
        ones = np.ones(place.size)
        member = csr_array((ones, (place, np.arange(place.size))), (first.size, place.size))
        x, n, role, condition = member @ x, member @ n, role[first], condition[first]
    order = np.lexsort((np.arange(n.size), condition, role))
    order = order[n[order] > 0]
    return _Units(x[order], n[order], role[order], condition[order])


def _rows(
    of: DimensionCounts, roles: tuple[str, ...], units: _Units, method: str, settings: Settings
) -> Iterator[pl.DataFrame]:
    """One frame for each layout: how many units a role has in each condition."""
    total = of.x.sum(axis=1)
    tested = (total >= MINIMUM_SUPPORT) & (total < of.n.sum(axis=1)[:, None])
    places = units.role * len(CONDITIONS) + units.condition
    sizes = np.bincount(places, minlength=len(roles) * len(CONDITIONS)).reshape(len(roles), -1)
    for layout in np.unique(sizes, axis=0):
        chosen = np.flatnonzero(np.all(sizes == layout, axis=1) & tested.any(axis=1))
        if np.count_nonzero(layout) < 2 or not chosen.size:
            continue
        # Units are in order of role, so that those of one role stand side by side.
        index = np.searchsorted(units.role, chosen)[:, None] + np.arange(layout.sum())
        place, label = np.nonzero(tested[chosen])
        found = permutation_p(
            units.x[index[place], label[:, None]].T,
            units.n[index].T,
            np.repeat(np.arange(len(CONDITIONS)), layout),
            question=place,
            rng=np.random.default_rng([settings.seed, *layout]),
            resamples=RESAMPLES,
        )
        if found.dealings * settings.alpha >= 1:
            yield _frame(of, roles, chosen[place], label, found.p, method)


def _frame(
    of: DimensionCounts,
    roles: tuple[str, ...],
    role: IntArray,
    label: IntArray,
    p: FloatArray,
    method: str,
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "role": pl.Series(roles, dtype=pl.String).gather(role),
            "label": pl.Series(of.labels, dtype=pl.String).gather(label),
            "point": p,
            "n": of.n.sum(axis=1)[role],
            "n_missing": of.missing.sum(axis=1)[role],
        }
    ).with_columns(
        estimand=pl.lit("permutation_p"),
        method=pl.lit(method),
        condition=pl.lit("all"),
        generator=pl.lit(of.generator),
        cohort=pl.lit(of.cohort),
        dimension=pl.lit(of.dimension),
    )
