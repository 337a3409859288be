"""The paper's tables as files: tables 2 and 11, 3, 8, 9, 10, and the camera's dimensions.

Each is a selection of the estimates, unrounded, one row a line of the paper's table. A file that
would be empty is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from contextbias.report.inputs import ALL, MEAN
from contextbias.report.rewordings import METHODS
from contextbias.report.select import CELL_KEYS
from contextbias.tables import CONDITIONS

_LABEL = ("reader", "role", "cohort", "dimension", "label")
_WIDE = (
    ("prevalence", "prevalence", "point"),
    ("range_pp", "range_pp", "point"),
    ("chi2", "chi2", "point"),
    ("p", "chi2_p", "point"),
    ("invariant_paper", "invariant_paper", "verdict"),
)
_BI = ("point", "low", "high", "support", "method", "n", "note")
_ROBUST = (
    "share_robust", "robust_p_mean", "share_robust_leave_one_out", "robust_p_mean_leave_one_out",
    "robust_prevalence_mean",
)  # fmt: skip


def paper_tables(read: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The paper's tables by file name.

    Args:
        read: Estimates of all readers, without the planted truth.
    """
    compared = read.filter(pl.col("contrast").is_not_null())
    if compared.is_empty():
        return {}
    frames = {
        "paper_table_2_and_11.csv": _associations(read, ""),
        "paper_table_2_added.csv": _associations(read, "_added"),
        "paper_table_3.csv": _robustness(read),
        "paper_table_8.csv": _contrasts(
            compared.filter(pl.col("generator") == MEAN), by_cohort=True
        ),
        "paper_table_9.csv": _contrasts(
            compared.filter(pl.col("generator") != MEAN, pl.col("contrast") == "CA-U - CF"),
            by_cohort=True,
        ),
        "paper_table_10.csv": _forms(read),
        "paper_camera.csv": _contrasts(
            compared.filter(pl.col("cohort") == "camera"), by_cohort=False
        ),
    }
    return {name: frame for name, frame in frames.items() if not frame.is_empty()}


def _associations(read: pl.DataFrame, suffix: str) -> pl.DataFrame:
    """One row a role and label: four numbers a generator, then CCS and the count of invariant ones.

    Only pairs with a mean CCS, that is, supported and seen in all conditions of some generator.
    """
    own = [f"{estimand}{suffix}" for _, estimand, _ in _WIDE]
    names = pl.col("estimand").is_in([*own, f"ccs{suffix}", "invariant_generators"])
    rows = read.filter(
        names & pl.col("label").is_not_null() & (pl.col("condition") == ALL)
    ).with_columns(pl.col("dimension").fill_null(ALL))
    mean = rows.filter(pl.col("generator") == MEAN)
    ccs = mean.filter(pl.col("estimand") == f"ccs{suffix}", pl.col("point").is_not_null())
    table = ccs.select(*_LABEL, ccs="point", ccs_generators="n")
    if table.is_empty():
        return table
    invariant = mean.filter(pl.col("estimand") == "invariant_generators")
    if not suffix:
        table = _joined(table, invariant.select(*_LABEL, invariant="point", generators="n"))
    wanted = rows.join(table, on=list(_LABEL), how="semi")
    generators = sorted(set(wanted["generator"]) - {MEAN})
    for title, estimand, field in _WIDE:
        named = wanted.filter(pl.col("estimand") == f"{estimand}{suffix}")
        for generator in generators:
            of = named.filter(pl.col("generator") == generator)
            column = pl.col(field).alias(f"{title} {generator}")
            table = _joined(table, of.select(*_LABEL, column))
    numbers = [name for name in table.columns if " " in name]
    last = [name for name in table.columns if name not in (*_LABEL, *numbers)]
    return table.select(*_LABEL, *numbers, *last).sort(
        "reader", "cohort", "ccs", *CELL_KEYS[1:], descending=[False, False, True, *[False] * 3]
    )


def _joined(table: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    return table.join(rows, on=list(_LABEL), how="left")


def _robustness(read: pl.DataFrame) -> pl.DataFrame:
    """One row a generator, cohort or dimension, condition, comparison and support."""
    keys = ["reader", "generator", "cohort", "dimension", "condition", "method", "support"]
    rows = read.filter(pl.col("estimand").is_in(_ROBUST))
    if rows.is_empty():
        return rows
    table = rows.pivot("estimand", index=keys, values="point", aggregate_function="first")
    pairs = rows.filter(pl.col("estimand") == "share_robust").select(*keys, pairs="n")
    order = {method: place for place, method in enumerate(METHODS)}
    return (
        table.join(pairs, on=keys, how="left", nulls_equal=True)
        .sort(
            "reader",
            pl.col("method").replace_strict(order, default=len(order)),
            *keys[1:5],
            pl.col("support") == "all",
            nulls_last=True,
        )
        .select(*keys, "pairs", *(name for name in _ROBUST if name in table.columns))
    )


def _contrasts(compared: pl.DataFrame, *, by_cohort: bool) -> pl.DataFrame:
    """Differences of ``bi_pooled``, of cohorts or of dimensions, at both supports."""
    dimension = pl.col("dimension")
    rows = compared.filter(
        pl.col("estimand") == "bi_pooled",
        dimension.is_null() if by_cohort else dimension.is_not_null(),
    )
    keys: Sequence[str] = ("reader", "generator", "cohort", "dimension", "contrast")
    return rows.select(*keys, *_BI).sort(*keys, "support", "method", nulls_last=True)


def _forms(read: pl.DataFrame) -> pl.DataFrame:
    """Overall Bias Intensity of both forms, by condition."""
    keys = ("reader", "estimand", "generator", "condition")
    rows = read.filter(
        pl.col("estimand").is_in(["bi_pooled", "bi_role", "bi_role_miller_madow"]),
        pl.col("cohort") == ALL,
        pl.col("dimension").is_null(),
        pl.col("role").is_null(),
        pl.col("condition").is_in(CONDITIONS),
    )
    return rows.select(*keys, *_BI).sort(*keys, "support", "method")
