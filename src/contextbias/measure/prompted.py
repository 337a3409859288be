"""Counts without the images whose prompt names the dimension.

A sentence with an activity names the dimension ``activities``, and sometimes ``items`` or
``weather``: what such an image shows was asked for, and says little about the role. Here the
dimension counts only where its prompt does not name it: x, n and missing lose the images of those
prompts, each dimension its own. What is left are the prompts without an activity (of ContextBench,
all of CF, and of CA-R and CA-U those with a place only), so these counts also compare fewer
sentences. The label set stays that of all images, so that values with and without are on one scale.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from contextbias.measure.arrays import DimensionCounts, ReaderCounts


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
    by_prompt = of.prompts
    lost = np.flatnonzero([prompt in named for prompt in by_prompt.prompt])
    if not (by_prompt.n[lost] + by_prompt.missing[lost]).any():
        return None
    where = by_prompt.role[lost], by_prompt.condition[lost]
    x, n, missing = of.x.copy(), of.n.copy(), of.missing.copy()
    for row, role, condition in zip(lost, *where, strict=True):
        start, stop = by_prompt.x.indptr[row : row + 2]
        x[role, condition, by_prompt.x.indices[start:stop]] -= by_prompt.x.data[start:stop]
    np.subtract.at(n, where, by_prompt.n[lost])
    np.subtract.at(missing, where, by_prompt.missing[lost])
    return DimensionCounts(of.generator, of.cohort, of.dimension, of.labels, x, n, missing)
