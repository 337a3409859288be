"""Robustness to reformulation: do labels keep their prevalence when a prompt is worded differently?

The variants of a base prompt are its phrasings and its substitutions (another place, another
activity). Within a role and condition, each base is one family, and variants are compared with the
variants of their own base only. Kinds of comparison (column ``method``):

- ``variants``: all variants of a base against each other.
- ``phrasing``: its phrasings against each other.
- ``substitution``: each substitution against the base, whose phrasings are pooled.
- ``condition``: all prompts of the condition against each other, whatever their base. That is how
  the paper puts it, and it mixes wording with context.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from contextbias.measure.arrays import DimensionCounts, PromptCounts, ReaderCounts
from contextbias.measure.rows import Run, Settings, estimate_frame
from contextbias.stats.proportion import MINIMUM_SUPPORT, BoolArray, IntArray
from contextbias.stats.variants import VariantTests, variant_tests
from contextbias.tables import CONDITIONS

KINDS = ("variants", "phrasing", "substitution", "condition")
"""What is compared with what; see the module's docstring."""
LEADING = KINDS[0]
"""The kind that single cells have rows for."""

_SUMS = ("pairs", "robust", "robust_loo", "p", "p_loo", "prevalence")
# estimand -> the sum that is divided by the number of pairs
_MEANS = {
    "share_robust": "robust",
    "share_robust_leave_one_out": "robust_loo",
    "robust_p_mean": "p",
    "robust_p_mean_leave_one_out": "p_loo",
    "robust_prevalence_mean": "prevalence",
}


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which prompts are pooled to units, and which units are compared."""

    unit: IntArray
    """Unit of each prompt, shape (prompts,); -1: in no comparison."""
    family: IntArray
    """Family of each unit."""
    stratum: IntArray
    """Role and condition of each unit, as one number."""


def robustness_estimates(counts: ReaderCounts, run: Run, settings: Settings) -> pl.DataFrame:
    """Shares of role-label pairs that are robust to reformulation, and the p of supported cells.

    - ``share_robust``: the share of the pairs with p > alpha in the 2 x k test of homogeneity;
      ``share_robust_leave_one_out``: the same for the leave-one-out sum; ``robust_p_mean`` and
      ``robust_p_mean_leave_one_out``: the mean p; ``robust_prevalence_mean``: the mean prevalence.
      Each by generator, condition (and ``all``), dimension, cohort and ``all``, for each kind, over
      the pairs with `MINIMUM_SUPPORT` hits (``support`` supported) and over all pairs of a role
      and a label of Y (``support`` all), most of which never occur. n is the number of pairs. With
      generator ``mean``: the mean over generators, n their number.
    - ``robust_p``: p of the 2 x k test of each supported cell, of kind ``variants``; n its images.

    Nothing is compared where prompts have no variants; there are no rows then.

    Args:
        counts: Of one reader.
        run: What all rows share.
        settings: Level.
    """
    cells: list[pl.DataFrame] = []
    sums: list[pl.DataFrame] = []
    for of in counts.dimensions:
        for kind in KINDS:
            layout = _layout(of.prompts, kind)
            if not layout.family.size or not of.labels:
                continue
            tests = _tests(of.prompts, layout, strata=len(counts.roles) * len(CONDITIONS))
            sums.append(_sums(of, kind, tests, settings.alpha))
            if kind == LEADING:
                cells.append(_cells(of, counts.roles, tests))
    if not sums:
        return estimate_frame([])
    parts = [*cells, *_shares(pl.concat(sums))]
    return run.frame(pl.concat(parts, how="diagonal"))


def _layout(prompts: PromptCounts, kind: str) -> _Layout:
    stratum = prompts.role * len(CONDITIONS) + prompts.condition
    names = pl.DataFrame({"stratum": stratum, "variant": prompts.variant}).select(
        "stratum",
        base=pl.col("variant").str.replace(r"/[^/]*$", ""),
        phrasing=pl.col("variant").str.contains("/phrasing-[^/]*$"),
        substitution=pl.col("variant").str.contains("/substitute-[^/]*$"),
    )
    family = names.select(pl.struct("stratum", "base").rank("dense").cast(pl.Int64))
    base = family.to_series().to_numpy()
    phrasing, substitution = (names[name].to_numpy() for name in ("phrasing", "substitution"))
    number = np.arange(len(prompts.variant))
    if kind == "condition":
        return _numbered(number, np.ones(number.size, np.bool_), stratum, stratum)
    if kind == "phrasing":
        return _numbered(number, phrasing, base, stratum)
    # Phrasings of one base are pooled to one unit where only substitutions are compared with it.
    own = np.where(phrasing, -base, number) if kind == "substitution" else number
    return _numbered(own, phrasing | substitution, base, stratum)


def _numbered(own: IntArray, used: BoolArray, family: IntArray, stratum: IntArray) -> _Layout:
    """Number the units of the prompts that are used from 0."""
    unit = np.full(own.size, -1)
    _, first, unit[used] = np.unique(own[used], return_index=True, return_inverse=True)
    return _Layout(unit, family[used][first], stratum[used][first])


def _tests(prompts: PromptCounts, layout: _Layout, *, strata: int) -> VariantTests:
    used = np.flatnonzero(layout.unit >= 0)
    unit, units = layout.unit[used], layout.family.size
    member = csr_array((np.ones(used.size), (unit, used)), (units, layout.unit.size))
    n = np.bincount(unit, prompts.n[used], units)
    return variant_tests(member @ prompts.x, n, layout.family, layout.stratum, strata=strata)


def _cells(of: DimensionCounts, roles: tuple[str, ...], tests: VariantTests) -> pl.DataFrame:
    """One row ``robust_p`` a supported cell."""
    kept = np.flatnonzero(tests.hits >= MINIMUM_SUPPORT)
    stratum, label = tests.stratum[kept], tests.label[kept]
    role, condition = np.divmod(stratum, len(CONDITIONS))
    degenerate = pl.Series(tests.df[kept] == 0)
    return pl.DataFrame(
        {
            "role": pl.Series(roles, dtype=pl.String).gather(role),
            "condition": pl.Series(CONDITIONS).gather(condition),
            "label": pl.Series(of.labels, dtype=pl.String).gather(label),
            "point": tests.p[kept],
            "n": tests.images[stratum],
        }
    ).with_columns(
        estimand=pl.lit("robust_p"),
        method=pl.lit(LEADING),
        generator=pl.lit(of.generator),
        cohort=pl.lit(of.cohort),
        dimension=pl.lit(of.dimension),
        note=pl.when(degenerate).then(pl.lit("degenerate")),
    )


def _sums(of: DimensionCounts, kind: str, tests: VariantTests, alpha: float) -> pl.DataFrame:
    """What the shares are made of: one row a condition and support."""
    compared = np.flatnonzero(tests.images) % len(CONDITIONS)
    pairs = np.bincount(compared, minlength=len(CONDITIONS)) * len(of.labels)
    condition = tests.stratum % len(CONDITIONS)
    values = {
        "pairs": np.ones(tests.p.size),
        "robust": tests.p > alpha,
        "robust_loo": tests.leave_one_out_p > alpha,
        "p": tests.p,
        "p_loo": tests.leave_one_out_p,
        "prevalence": tests.hits / tests.images[tests.stratum],
    }
    kept = tests.hits >= MINIMUM_SUPPORT
    parts = []
    for support, chosen in (("supported", kept), ("all", np.ones(kept.size, np.bool_))):
        table = {
            # Of nothing, bincount makes whole numbers.
            name: np.bincount(condition[chosen], value[chosen], len(CONDITIONS)).astype(np.float64)
            for name, value in values.items()
        }
        if support == "all":
            # Pairs that never occur have p 1 and prevalence 0.
            empty = pairs - table["pairs"]
            table |= {name: table[name] + empty for name in _SUMS[:-1]}
        parts.append(
            pl.DataFrame(table).with_columns(
                condition=pl.Series(CONDITIONS), support=pl.lit(support)
            )
        )
    return pl.concat(parts).select(
        *_SUMS,
        "condition",
        "support",
        generator=pl.lit(of.generator),
        cohort=pl.lit(of.cohort),
        dimension=pl.lit(of.dimension),
        method=pl.lit(kind),
    )


def _shares(sums: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Rows of every level, of each generator and of their mean."""
    every = pl.lit("all").alias
    over_conditions = pl.concat([sums, sums.with_columns(every("condition"))])
    over_cohorts = over_conditions.with_columns(every("cohort"), dimension=pl.lit(None, pl.String))
    cohorts = over_conditions.with_columns(dimension=pl.lit(None, pl.String))
    keys = ["generator", "condition", "cohort", "dimension", "method", "support"]
    levels = pl.concat([over_conditions, cohorts, over_cohorts])
    # Sums of floats depend on the order of addition: groups keep that of the rows.
    pooled = levels.group_by(keys, maintain_order=True).agg(pl.col(_SUMS).sum())
    pooled = pooled.filter(pl.col("pairs") > 0)
    for estimand, column in _MEANS.items():
        found = pooled.select(
            *keys,
            point=pl.col(column) / pl.col("pairs"),
            n=pl.col("pairs").cast(pl.Int64),
            estimand=pl.lit(estimand),
        )
        yield found
        if sums["generator"].n_unique() > 1:
            yield (
                found.group_by([*keys[1:], "estimand"], maintain_order=True)
                .agg(pl.col("point").mean(), n=pl.len().cast(pl.Int64))
                .with_columns(generator=pl.lit("mean"))
            )
