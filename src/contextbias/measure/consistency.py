"""Prevalence, range, CCS, homogeneity and verdicts as rows of the estimates table."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import polars as pl

from contextbias.measure.cells import (
    CELL,
    EFFECT_DF,
    N_COLUMNS,
    VERDICTS,
    X_COLUMNS,
    Rule,
    cell_consistency,
    mean_over_generators,
)
from contextbias.measure.rows import ESTIMATE_SCHEMA, estimates_of
from contextbias.schema.codebook import CODEBOOK_VERSION
from contextbias.stats.proportion import wilson
from contextbias.tables import CONDITIONS

ALL = "all"
"""Condition or cohort of a number that pools all of them."""
MEAN = "mean"
"""Generator of a number that goes over all generators."""

NO_GENERATOR = "no_generator"
"""Note of a mean over generators that is defined in none of them."""

_KEYS = ("generator", "role", "cohort", "dimension", "label")

# estimand -> (point, verdict, method)
_COMPARISONS: dict[str, tuple[pl.Expr | None, pl.Expr | None, str | None]] = {
    "prevalence_unweighted": (pl.col("prevalence_unweighted_pct") / 100, None, None),
    "range_pp": (pl.col("range_pp"), None, "newcombe"),
    "range_pp_expected": (pl.col("range_expected"), None, "given-margins"),
    "chi2": (pl.col("chi2"), None, "pearson"),
    "chi2_p": (pl.col("p"), None, "asymptotic"),
    "chi2_p_exact": (pl.col("p_exact"), None, "conditional"),
    "chi2_q": (pl.col("q"), None, "benjamini-hochberg"),
    "equivalence_p": (pl.col("equivalence_p"), None, "score-tost"),
    "ccs": (pl.col("ccs"), None, "wilson-newcombe"),
    "invariant_paper": (None, pl.col("invariant").cast(pl.String), None),
    "verdict": (None, pl.col("verdict"), None),
    "chi2_clustered": (pl.col("chi2_clustered"), None, "rao-scott"),
    "chi2_clustered_p": (pl.col("p_clustered"), None, "rao-scott"),
    "chi2_clustered_q": (pl.col("q_clustered"), None, "benjamini-hochberg"),
    "equivalence_p_clustered": (pl.col("equivalence_p_clustered"), None, "score-tost"),
}
# Columns of the lower and upper end.
_ENDS = {"range_pp": ("range_low", "range_high"), "ccs": ("ccs_low", "ccs_high")}
# A row is only given where this column is not null.
_GIVEN = {
    "chi2_p_exact": "p_exact",
    "range_pp_expected": "range_expected",
    "chi2_clustered": "q_clustered",
    "chi2_clustered_p": "q_clustered",
    "chi2_clustered_q": "q_clustered",
    "equivalence_p_clustered": "equivalence_p_clustered",
}


def consistency_estimates(
    counts: pl.DataFrame,
    *,
    reader: str,
    preset: str,
    people: str,
    margin_pp: float,
    alpha: float,
) -> pl.DataFrame:
    """Every per-cell number about consistency, the means over generators, and the shares.

    - ``prevalence`` of each condition with images and of ``all`` (pooled), with Wilson intervals.
    - Condition ``all``: ``prevalence_unweighted``, ``range_pp``, ``chi2``, ``chi2_p``, ``chi2_q``,
      ``equivalence_p``, ``ccs``, ``invariant_paper``, ``verdict``; for supported cells
      ``range_pp_expected``, ``chi2_p_exact`` where it is needed, and, with design effects,
      ``chi2_clustered``, ``chi2_clustered_p``, ``chi2_clustered_q`` and
      ``equivalence_p_clustered``. See `cells.cell_consistency` for what they are; n is the number
      of images of all conditions, ``note`` says why a number is undefined. The family of q is the
      generator. Verdicts rest on the numbers that allow for clusters in preset strict, if the
      table has design effects, else on ``chi2_q`` and ``equivalence_p``.
    - Generator ``mean``: ``range_pp`` and ``ccs`` (n: generators where they are defined)
      and ``invariant_generators`` (n: generators where the paper's rule could be applied); null
      with the note `NO_GENERATOR` where n is 0.
    - ``share_invariant_paper`` and ``share_<verdict>`` per generator and cohort, and over all
      cohorts: the share of the supported cells with images in two conditions or more, n of them.

    Where no cell has images in two conditions, nothing is compared, and only prevalences are given.

    Args:
        counts: Columns generator, role, cohort, dimension, label, ``x_<condition>``,
            ``n_<condition>`` and n_missing; where there are ``n_missing_<condition>``, they are
            passed on, and design effects (`clustered.with_design_effects`) are used. A condition
            with n null, or with n 0 and none missing, has no rows.
        reader: Whose readings; one reader at a time.
        preset: Column of the result.
        people: Column of the result.
        margin_pp: Margin in percentage points.
        alpha: Level of the tests; intervals have 1 - alpha.

    Returns:
        Columns of `tables.EstimateRow`.

    Raises:
        ValueError: Counts as in `stats.proportion.counts`, or a margin or level outside its range.
    """
    blocks = consistency_blocks(
        counts, reader=reader, preset=preset, people=people, margin_pp=margin_pp, alpha=alpha
    )
    return estimates_of(blocks).cast(pl.Schema(ESTIMATE_SCHEMA)).collect()


def consistency_blocks(
    counts: pl.DataFrame,
    *,
    reader: str,
    preset: str,
    people: str,
    margin_pp: float,
    alpha: float,
) -> Iterator[pl.DataFrame]:
    """The rows of `consistency_estimates`, in parts, so that they are never in memory together.

    Args:
        counts: As `consistency_estimates`; likewise the others.
        reader: Column of the result.
        preset: Column of the result.
        people: Column of the result.
        margin_pp: Margin in percentage points.
        alpha: Level of the tests.

    Yields:
        Columns of `tables.EstimateRow`, words as places in a sorted list (`rows.block`).
    """
    clustered = preset == "strict" and EFFECT_DF in counts.columns
    wide = cell_consistency(
        counts.with_columns(_listed(counts[name]) for name in _KEYS).sort(_KEYS),
        Rule.of(margin_pp, alpha),
        family=("generator",),
        clustered=clustered,
    )
    wide = wide.with_columns(_listed(wide[name]) for name in ("verdict", "note"))
    parts = [_prevalences(wide, alpha)]
    if wide.select((pl.col("conditions") >= 2).any()).item():
        parts += [_comparisons(wide), _means(wide), _shares(wide)]
    constant: dict[str, str | bool] = {
        "reader": reader,
        "preset": preset,
        "people": people,
        "corrected": False,
        "codebook": CODEBOOK_VERSION,
    }
    for part in chain.from_iterable(parts):
        yield _as_estimates(part, constant)


def _listed(column: pl.Series) -> pl.Series:
    """Words as places in their sorted list: rows of them are sorted and copied as numbers."""
    return column.cast(pl.Enum(column.unique().drop_nulls().cast(pl.String).sort()))


def _as_estimates(rows: pl.DataFrame, constant: dict[str, str | bool]) -> pl.DataFrame:
    """Bring rows to the columns of the estimates table; a column not set is null."""
    present = rows.with_columns(_constant(value).alias(name) for name, value in constant.items())
    return present.select(
        (pl.col(name) if name in present.columns else pl.lit(None)).alias(name)
        for name in ESTIMATE_SCHEMA
    )


def _constant(value: str | bool) -> pl.Expr:
    return pl.lit(value, pl.Enum([value]) if isinstance(value, str) else pl.Boolean)


def _prevalences(wide: pl.DataFrame, alpha: float) -> Iterator[pl.DataFrame]:
    """One frame a condition, then the pooled one; conditions that the study lacks have no rows."""
    pooled = wide.with_columns(
        x_all=pl.sum_horizontal(X_COLUMNS), n_all=pl.sum_horizontal(N_COLUMNS)
    )
    for condition in (*CONDITIONS, ALL):
        read, missing = pl.col(f"n_{condition}"), pl.col("n_missing").fill_null(1)
        there = pooled.with_columns(n_missing=_images_missing(wide, condition)).filter(
            read.is_not_null() & ((read > 0) | (missing > 0))
        )
        x, n = there[f"x_{condition}"].fill_null(0), there[f"n_{condition}"]
        found = wilson(x.to_numpy(), n.to_numpy(), confidence=1 - alpha)
        yield there.select(
            *_KEYS,
            n=n.cast(pl.Int64),
            n_missing="n_missing",
            estimand=_constant("prevalence"),
            condition=_constant(condition),
            method=_constant("wilson"),
            point=pl.Series(found.point, nan_to_null=True),
            low=pl.Series(found.low, nan_to_null=True),
            high=pl.Series(found.high, nan_to_null=True),
            note=pl.when(n == 0).then(pl.lit("no_image_read")),
        )


def _images_missing(wide: pl.DataFrame, condition: str) -> pl.Expr:
    """Images that could not be read; null where the table does not tell them by condition."""
    column = "n_missing" if condition == ALL else f"n_missing_{condition}"
    return (pl.col(column) if column in wide.columns else pl.lit(None)).cast(pl.Int64)


def _comparisons(wide: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """One frame an estimand, one row a cell."""
    base = wide.with_columns(
        n=pl.sum_horizontal(N_COLUMNS).cast(pl.Int64), n_missing=pl.col("n_missing").cast(pl.Int64)
    )
    for estimand, (point, verdict, method) in _COMPARISONS.items():
        given = _GIVEN.get(estimand)
        if given is not None and given not in base.columns:
            continue
        low, high = _ENDS.get(estimand, (None, None))
        rows = base if given is None else base.filter(pl.col(given).is_not_null())
        yield rows.select(
            *_KEYS,
            "n",
            "n_missing",
            "note",
            estimand=_constant(estimand),
            condition=_constant(ALL),
            method=pl.lit(None) if method is None else _constant(method),
            point=pl.lit(None) if point is None else point,
            low=pl.lit(None) if low is None else low,
            high=pl.lit(None) if high is None else high,
            verdict=pl.lit(None) if verdict is None else verdict,
        )


def _means(wide: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Rows with generator ``mean``."""
    mean = mean_over_generators(wide)
    keys = [pl.col("cohort", *CELL), pl.lit(MEAN).alias("generator")]
    keys.append(pl.lit(ALL).alias("condition"))
    for estimand, n in (("range_pp", "tested_generators"), ("ccs", "n_generators")):
        yield mean.select(
            *keys, estimand=pl.lit(estimand), point=estimand, n=n, method=pl.lit("mean"),
            note=_none(n),
        )  # fmt: skip
    yield mean.select(
        *keys,
        estimand=pl.lit("invariant_generators"),
        point=pl.col("invariant_generators").cast(pl.Float64),
        n="tested_generators",
        method=pl.lit("count"),
        note=_none("tested_generators"),
    )


def _none(n: str) -> pl.Expr:
    return pl.when(pl.col(n) == 0).then(pl.lit(NO_GENERATOR))


def _shares(wide: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Shares of the supported cells with each verdict, by cohort and over all of them."""
    counted = pl.col("supported") & (pl.col("conditions") >= 2)
    shares = {
        "share_invariant_paper": pl.col("invariant"),
        **{f"share_{verdict}": pl.col("verdict") == verdict for verdict in VERDICTS},
    }
    every = wide.with_columns(cohort=pl.lit(ALL))
    for table in (wide, every):
        by_cohort = table.group_by("generator", "cohort", maintain_order=True)
        numbers = by_cohort.agg(
            counted.sum().cast(pl.Int64).alias("n"),
            *(holds.filter(counted).mean().alias(name) for name, holds in shares.items()),
        )
        yield numbers.unpivot(
            on=list(shares),
            index=["generator", "cohort", "n"],
            variable_name="estimand",
            value_name="point",
        ).with_columns(
            condition=pl.lit(ALL),
            method=pl.lit("share"),
            note=pl.when(pl.col("n") == 0).then(pl.lit("no_supported_cell")),
        )
