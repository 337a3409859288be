"""Numbers of one cell after another: does its label keep its prevalence when the context changes?

A cell is a (generator, role, dimension, label); its counts stand in one row: ``x_CF``, ``n_CF`` and
so on, x images that show the label out of n that the dimension was read from. A null or 0 for n
means that the condition has no images there: it is left out of the comparison, not counted as 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from contextbias.stats.clustered import clustered_chi_squared
from contextbias.stats.equivalence import equivalence, verdicts
from contextbias.stats.exact import exact_p
from contextbias.stats.homogeneity import SMALL_EXPECTED, chi_squared, paper_invariant
from contextbias.stats.multiplicity import adjust_once, complements
from contextbias.stats.proportion import (
    Counts,
    IntArray,
    condition_range,
    consistency_score,
    counts,
    distinct_cells,
    margin_fraction,
    prevalence,
)
from contextbias.stats.ranges import consistency_interval, expected_range, range_interval
from contextbias.tables import CONDITIONS

X_COLUMNS = tuple(f"x_{condition}" for condition in CONDITIONS)
"""Images that show the label, by condition."""
N_COLUMNS = tuple(f"n_{condition}" for condition in CONDITIONS)
"""Images that the dimension was read from, by condition."""
EFFECT_COLUMNS = tuple(f"design_effect_{condition}" for condition in CONDITIONS)
"""Design effect of a cell's rate, by condition; null where it is unknown."""
EFFECT_DF = "design_effect_df"
"""Degrees of freedom of the design effects."""
QUESTION = ("generator", "cohort", "role", "dimension")
"""What the labels of one question share."""
CELL = ("role", "dimension", "label")
"""What a mean over generators keeps apart (with ``cohort`` where the table has one)."""
VERDICTS = ("invariant", "shifted", "inconclusive")
"""The three verdicts; null where nothing could be compared."""

_MONTE_CARLO_SEED = 20260101  # fixed: the same counts give the same p in every run


@dataclass(frozen=True, slots=True)
class Rule:
    """What counts as the same prevalence."""

    margin: Fraction
    """Largest difference of two conditions that is of no importance, as a fraction of 1."""
    alpha: float
    """Level of every test; intervals have 1 - alpha."""

    @classmethod
    def of(cls, margin_pp: float, alpha: float) -> Rule:
        """Check both numbers.

        Args:
            margin_pp: Margin in percentage points, in (0, 100).
            alpha: Level, in (0, .5).

        Raises:
            ValueError: A number outside its range.
        """
        if not 0 < alpha < 0.5:
            raise ValueError(f"the level must lie between 0 and 0.5, not {alpha}")
        return cls(margin_fraction(margin_pp), alpha)


def cell_consistency(
    table: pl.DataFrame,
    rule: Rule,
    *,
    family: Sequence[str] = (),
    clustered: bool = False,
) -> pl.DataFrame:
    """Add the consistency numbers to a table of counts, one row a cell.

    ``prevalence_pct``, ``prevalence_unweighted_pct``, ``range_pp`` (``range_low``, ``range_high``,
    ``range_expected`` without any change), ``chi2``, ``df``, ``p`` (asymptotic), ``p_exact``
    (conditional; where a supported label has an expected count below 5), ``q`` (Benjamini-Hochberg
    over ``p_exact``, or ``p`` where that is empty; only for supported labels that are not
    degenerate, with complements counted once), ``equivalence_p``, ``ccs`` (``ccs_low``,
    ``ccs_high``), ``supported``, ``invariant`` (the paper's rule, from ``p``), ``verdict`` and
    ``note``.
    Null: not defined. With images in one condition only, nothing is compared: all are null but the
    prevalences and ``supported``.

    With columns `EFFECT_COLUMNS` and `EFFECT_DF` also ``chi2_clustered``, ``p_clustered``,
    ``q_clustered`` and ``equivalence_p_clustered`` (for labels that are supported or equivalent by
    ``equivalence_p``), which allow for the likeness of images of one context. The q adjusts the
    larger of ``p_clustered`` and ``p_exact``, over the same family as ``q``.

    Args:
        table: Columns generator, role, dimension, label, x and n of each condition, perhaps cohort.
        rule: Margin and level.
        family: Columns whose values part the families of q; none: the table is one family.
        clustered: Verdicts rest on ``q_clustered`` and ``equivalence_p_clustered``; a cell without
            them is inconclusive.

    Raises:
        ValueError: Counts as in `stats.proportion.counts`.
    """
    checked = counts(_matrix(table, X_COLUMNS), _matrix(table, N_COLUMNS))
    index, inverse = distinct_cells(checked.x, checked.n)
    numbers = _numbers(checked.x[index], checked.n[index], rule)
    wide = table.with_columns(
        pl.Series(name, values[inverse], nan_to_null=values.dtype.kind == "f")
        for name, values in numbers.items()
    )
    p = {"q": pl.col("p_exact").fill_null(pl.col("p"))}
    if EFFECT_DF in table.columns:
        wide = wide.with_columns(_clustered(wide, checked, rule))
        p["q_clustered"] = pl.when(pl.col("p_clustered").is_not_null()).then(
            pl.max_horizontal("p_clustered", "p_exact")
        )
    q = _adjusted(wide, checked, family, p)
    return _with_verdicts(wide.with_columns(q), rule, "_clustered" if clustered else "")


def _clustered(wide: pl.DataFrame, checked: Counts, rule: Rule) -> list[pl.Series]:
    """Statistic and p that allow for clusters."""
    effect = _matrix(wide, EFFECT_COLUMNS).astype(np.float64)
    found = clustered_chi_squared(checked.x, checked.n, effect, error_df=wide[EFFECT_DF].to_numpy())
    asked = wide.select(pl.col("supported") | (pl.col("equivalence_p") < rule.alpha))
    rows = np.flatnonzero(asked.to_series().fill_null(False).to_numpy())
    equivalent = np.full(wide.height, np.nan)
    equivalent[rows] = equivalence(
        checked.x[rows], checked.n[rows], margin=rule.margin, design_effect=effect[rows]
    ).p
    numbers = {
        "chi2_clustered": found.statistic,
        "p_clustered": found.p,
        "equivalence_p_clustered": equivalent,
    }
    return [pl.Series(name, values, nan_to_null=True) for name, values in numbers.items()]


def _matrix(table: pl.DataFrame, columns: Sequence[str]) -> NDArray[np.generic]:
    return np.column_stack([table[column].to_numpy() for column in columns])


def _numbers(x: IntArray, n: IntArray, rule: Rule) -> dict[str, NDArray[np.generic]]:
    """Everything about a cell that needs no other cell; floats with NaN for undefined."""
    rates, spread = prevalence(x, n), condition_range(x, n, margin=rule.margin)
    score, test = consistency_score(x, n), chi_squared(x, n)
    level = 1.0 - rule.alpha
    ends = range_interval(x, n, confidence=level)
    score_ends = consistency_interval(x, n, confidence=level)
    scored = np.isfinite(score.point)
    p_exact, expected = np.full(test.p.shape, np.nan), np.full(test.p.shape, np.nan)
    small = score.supported & ~test.degenerate & (test.smallest_expected < SMALL_EXPECTED)
    large = score.supported & ~small
    expected[large] = expected_range(x[large], n[large]).pp
    rng = np.random.default_rng(_MONTE_CARLO_SEED)
    found = exact_p(x[small], n[small], rng=rng)
    p_exact[small], expected[small] = found.p, found.range_pp
    return {
        "prevalence_pct": rates.pooled,
        "prevalence_unweighted_pct": rates.unweighted,
        "range_pp": spread.pp,
        "range_low": ends.low,
        "range_high": ends.high,
        "range_expected": expected,
        "chi2": test.statistic,
        "df": np.where(test.df >= 1, test.df, np.nan),
        "p": test.p,
        "p_exact": p_exact,
        "equivalence_p": equivalence(x, n, margin=rule.margin).p,
        "ccs": score.point,
        "ccs_low": np.where(scored, score_ends.low, np.nan),
        "ccs_high": np.where(scored, score_ends.high, np.nan),
        "supported": score.supported,
        "within": spread.within,
        "everywhere": score.everywhere,
        "degenerate": test.degenerate,
        "conditions": spread.conditions,
    }


def _adjusted(
    wide: pl.DataFrame, checked: Counts, family: Sequence[str], p: Mapping[str, pl.Expr]
) -> list[pl.Series]:
    """Q for each p, null for rows that are not in the family of tests."""
    tested = (wide["supported"] & ~wide["degenerate"] & wide["p"].is_not_null()).to_numpy()
    question = [name for name in QUESTION if name in wide.columns]
    twins = complements(_codes(wide, question), checked.x, checked.n, tested)
    families = _codes(wide, family)
    return [
        pl.Series(
            name,
            adjust_once(np.where(tested, wide.select(of).to_series(), np.nan), families, twins).q,
            nan_to_null=True,
        )
        for name, of in p.items()
    ]


def _codes(wide: pl.DataFrame, columns: Sequence[str]) -> NDArray[np.generic]:
    """Number the distinct values of some columns, in order of appearance."""
    if not columns:
        return np.zeros(wide.height, dtype=np.int64)
    return wide.select(pl.struct(columns).rank("dense")).to_series().to_numpy()


def _with_verdicts(wide: pl.DataFrame, rule: Rule, suffix: str) -> pl.DataFrame:
    """Add the paper's rule, the verdict and the note; `suffix` tells which p verdicts rest on."""
    p = wide["p"].to_numpy()
    paper = paper_invariant(p, wide["within"].to_numpy(), alpha=rule.alpha)
    found = verdicts(
        # Where only the p that allows for clusters is unknown, nothing is shown: p 1.
        equivalence_p=wide.select(
            pl.when(pl.col("equivalence_p").is_not_null()).then(
                pl.col(f"equivalence_p{suffix}").fill_null(1.0)
            )
        )
        .to_series()
        .to_numpy(),
        q=wide[f"q{suffix}"].to_numpy(),
        within=wide["within"].to_numpy(),
        alpha=rule.alpha,
    )
    masks = {name: pl.lit(pl.Series(getattr(found, name))) for name in VERDICTS}
    verdict = pl.coalesce(pl.when(mask).then(pl.lit(name)) for name, mask in masks.items())
    return wide.with_columns(
        invariant=pl.when(pl.col("p").is_not_null()).then(pl.lit(pl.Series(paper))),
        verdict=verdict,
        df=pl.col("df").cast(pl.Int64),
        note=_note(),
    )


def _note() -> pl.Expr:
    """Words that a number needs, joined with a semicolon; null for none."""
    reasons = {
        "no_condition": pl.col("conditions") == 0,
        "one_condition": pl.col("conditions") == 1,
        "two_conditions": pl.col("conditions") == 2,
        "unsupported": ~pl.col("supported"),
        "not_in_every_condition": pl.col("supported")
        & ~pl.col("everywhere")
        & (pl.col("conditions") == len(CONDITIONS)),
        "degenerate": pl.col("degenerate"),
    }
    words = [pl.when(holds).then(pl.lit(word)) for word, holds in reasons.items()]
    joined = pl.concat_str(words, separator=";", ignore_nulls=True)
    return pl.when(joined != "").then(joined)


def mean_over_generators(wide: pl.DataFrame) -> pl.DataFrame:
    """Mean CCS and number of invariant generators for each (role, dimension, label).

    The mean goes over the generators where the score is defined; ``n_generators`` says how many,
    ``invariant_generators`` in how many the paper's rule holds, and ``tested_generators`` in how
    many it could be applied: these are the generators that ``range_pp`` is averaged over, too.
    Where it could be applied in none, ``invariant_generators`` is null: nothing tested is no "in 0
    generators". Rows keep the order in which cells first appear.

    Args:
        wide: Result of `cell_consistency`.
    """
    keys = [*(name for name in ("cohort",) if name in wide.columns), *CELL]
    tested = pl.col("invariant").is_not_null().sum().cast(pl.Int64)
    holds = pl.col("invariant").fill_null(False).sum().cast(pl.Int64)
    return wide.group_by(keys, maintain_order=True).agg(
        ccs=pl.col("ccs").mean(),
        n_generators=pl.col("ccs").is_not_null().sum().cast(pl.Int64),
        invariant_generators=pl.when(tested > 0).then(holds),
        tested_generators=tested,
        range_pp=pl.col("range_pp").mean(),
    )
