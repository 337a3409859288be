"""Counts without the images whose prompt names the dimension.

A sentence with an activity names the dimension ``activities``, and sometimes ``items`` or
``weather``: what such an image shows was asked for, and says little about the role. Here the
dimension counts only where its prompt does not name it: x, n and missing lose the images of those
prompts, each dimension its own. What is left are the prompts without an activity (of ContextBench,
all of CF, and of CA-R and CA-U those with a place only), so these counts also compare fewer
sentences. The label set stays that of all images, so that values with and without are on one scale.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import polars as pl

from contextbias.measure.arrays import ByPrompt, DimensionCounts, Prompts, ReaderCounts


def unprompted_counts(counts: ReaderCounts, prompts: pl.DataFrame | None) -> ReaderCounts:
    """Counts of the dimensions that some prompt names, without the images of those prompts.

    Args:
        counts: The reader's counts.
        prompts: Columns prompt_id and prompted (a list of dimensions); None when nothing is known.

    Returns:
        The same roles and images; only dimensions that lose an image or an unread one.
    """
    named = _named(prompts)
    found = (_without(of, named.get(of.dimension, set())) for of in counts.dimensions)
    return replace(counts, dimensions=tuple(of for of in found if of is not None))


def _named(prompts: pl.DataFrame | None) -> dict[str, set[str]]:
    """Dimension -> ids of the prompts that name it."""
    if prompts is None or not prompts.height:
        return {}
    pairs = prompts.select("prompt_id", "prompted").explode("prompted").drop_nulls()
    found: dict[str, set[str]] = {}
    for prompt, dimension in pairs.iter_rows():
        found.setdefault(dimension, set()).add(prompt)
    return found


def _without(of: DimensionCounts, named: set[str]) -> DimensionCounts | None:
    if not named:
        return None
    table = of.prompts
    lost = np.array([prompt in named for prompt in table.prompt], dtype=bool)
    if not (table.n[lost] + table.missing[lost]).any():
        return None
    kept = ~lost
    where = table.role[kept], table.condition[kept]
    cells = table.x[kept].tocoo()
    x, n, missing = np.zeros_like(of.x), np.zeros_like(of.n), np.zeros_like(of.missing)
    np.add.at(x, (where[0][cells.row], where[1][cells.row], cells.col), cells.data)
    np.add.at(n, where, table.n[kept])
    np.add.at(missing, where, table.missing[kept])
    axis = Prompts(
        tuple(itertools.compress(table.prompt, kept)),
        tuple(itertools.compress(table.variant, kept)),
        *where,
        np.unique(table.cluster[kept], return_inverse=True)[1],
    )
    rows = (cells.row.astype(np.int64), cells.col.astype(np.int64), cells.data.astype(np.int64))
    by_prompt = ByPrompt(axis, table.n[kept], table.missing[kept], rows)
    return replace(of, x=x, n=n, missing=missing, by_prompt=by_prompt)
