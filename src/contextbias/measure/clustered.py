"""How alike images of one context are, and what that does to the tests of a study.

Clusters are base contexts: a place, and what is done there. The phrasings of one base prompt share
it; a substitution is a context of its own. The intraclass correlation is pooled over the supported
labels and the roles of a generator and dimension, since a single cell has too few contexts.

The context-free condition has one context, so nothing in a study tells how much its rate would move
with another one. It is taken to have the correlation of the other conditions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import coo_array

from contextbias.measure.arrays import DimensionCounts, PromptCounts, ReaderCounts
from contextbias.measure.cells import EFFECT_COLUMNS, EFFECT_DF
from contextbias.measure.rows import Run, Settings, estimate_frame
from contextbias.stats.clustered import (
    IntraclassCorrelation,
    intraclass_correlation,
    mean_cluster_size,
)
from contextbias.stats.proportion import MINIMUM_SUPPORT, BoolArray, FloatArray, IntArray
from contextbias.tables import CONDITIONS

STAND_IN = "prompts_as_contexts"
"""Note where nothing tells the contexts of prompts: each prompt is taken for one of its own."""

_KEYS = ("generator", "role", "dimension")
_TOLD = re.compile("/(phrasing|substitute)-")


@dataclass(frozen=True, slots=True, eq=False)
class DesignEffects:
    """Design effects of one generator and dimension."""

    of: DimensionCounts
    """Which counts."""
    correlation: IntraclassCorrelation
    """The correlation that they rest on."""
    effect: FloatArray
    """1 + (m - 1) rho, shape (roles, conditions); NaN without images or correlation."""


def design_effects(counts: ReaderCounts) -> Iterator[DesignEffects]:
    """Design effects of every generator and dimension.

    With m the mean size of the cluster that an image of the cell is in (sum n(j)² / sum n(j) over
    the cell's contexts j) and rho the pooled intraclass correlation, the variance of the cell's
    rate is 1 + (m - 1) rho times that of independent images. 30, 70 and 80 images in 1, 3 and 4
    contexts have m = 30, 27 and 25.

    Args:
        counts: Of one reader.
    """
    for of in counts.dimensions:
        prompts, roles = of.prompts, len(counts.roles)
        stratum = prompts.role * len(CONDITIONS) + prompts.condition
        clusters, first = np.unique(prompts.cluster, return_index=True)
        place = np.searchsorted(clusters, prompts.cluster)
        n = np.bincount(place, prompts.n, clusters.size).astype(np.float64)
        supported = of.x.sum(axis=1) >= MINIMUM_SUPPORT
        hits = _hits_by_cluster(prompts, place, clusters.size, supported)
        found = intraclass_correlation(hits, n, stratum[first])
        size = mean_cluster_size(n, stratum[first], roles * len(CONDITIONS))
        effect = 1.0 + (size.reshape(roles, len(CONDITIONS)) - 1.0) * found.point
        yield DesignEffects(of, found, effect)


def _hits_by_cluster(
    prompts: PromptCounts, place: IntArray, clusters: int, supported: BoolArray
) -> coo_array:
    """Hits by cluster and label, of the labels that their role has support for; not added up."""
    table = prompts.x.tocoo()
    kept = supported[prompts.role[table.row], table.col]
    where = (place[table.row[kept]], table.col[kept])
    return coo_array((table.data[kept], where), (clusters, table.shape[1]))


def with_design_effects(table: pl.DataFrame, counts: ReaderCounts) -> pl.DataFrame:
    """Add `EFFECT_COLUMNS` and `EFFECT_DF` to counts of cells.

    Args:
        table: Columns generator, role and dimension, from `arrays.consistency_counts`.
        counts: The counts that it was made of.
    """
    found = list(design_effects(counts))
    if not found:
        return table.with_columns(
            pl.lit(None, pl.Float64).alias(name) for name in (*EFFECT_COLUMNS, EFFECT_DF)
        )
    roles = len(counts.roles)
    effect = np.concatenate([one.effect for one in found])
    effects = pl.DataFrame(
        {
            "generator": np.repeat([one.of.generator for one in found], roles),
            "role": np.tile(counts.roles, len(found)),
            "dimension": np.repeat([one.of.dimension for one in found], roles),
            **{name: effect[:, i] for i, name in enumerate(EFFECT_COLUMNS)},
            EFFECT_DF: np.repeat([float(one.correlation.df) for one in found], roles),
        },
        nan_to_null=True,
    )
    return table.join(effects, on=_KEYS, how="left", maintain_order="left")


def design_effect_estimates(counts: ReaderCounts, run: Run, _: Settings) -> pl.DataFrame:
    """Rows ``intraclass_correlation`` and ``design_effect``, by generator and dimension.

    The design effect of a condition is the mean over its images; n is the images read. For the
    correlation n is the contexts that it rests on. Null, with a note, where it cannot be estimated;
    the note `STAND_IN` where prompts are taken for contexts.

    Args:
        counts: Of one reader.
        run: What all rows share.
    """
    return estimate_frame(row for found in design_effects(counts) for row in _rows(found, run))


def _prompts_are_contexts(prompts: PromptCounts) -> bool:
    """No prompt says which base it is a variant of."""
    return not any(_TOLD.search(variant) for variant in prompts.variant)


def _rows(found: DesignEffects, run: Run) -> Iterator[dict[str, Any]]:
    of = found.of
    keys = {"generator": of.generator, "cohort": of.cohort, "dimension": of.dimension}
    known = np.isfinite(found.correlation.point)
    stand_in = STAND_IN if _prompts_are_contexts(of.prompts) else None
    note = stand_in if known else "no_design_effect"
    yield run.row(
        "intraclass_correlation", **keys, condition="all", method="anova-pooled",
        point=found.correlation.point, n=found.correlation.clusters, note=note,
    )  # fmt: skip
    n = of.n.sum(axis=0)
    total = (np.where(of.n > 0, found.effect, 0.0) * of.n).sum(axis=0)
    for i in np.flatnonzero(n):
        yield run.row(
            "design_effect", **keys, condition=CONDITIONS[i], method="anova-pooled",
            point=total[i] / n[i], n=n[i], n_missing=of.missing[:, i].sum(), note=note,
        )  # fmt: skip
