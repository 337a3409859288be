"""The report's tables as CSV files: the page's numbers, unrounded."""

from __future__ import annotations

import polars as pl

from contextbias.report.inputs import PLANTED
from contextbias.report.select import CELL_KEYS
from contextbias.tables import CONDITIONS

_CELL = ("reader", *CELL_KEYS)
_BI = (
    "estimand", "reader", "generator", "role", "condition", "contrast", "cohort", "dimension",
    "preset", "people", "support", "method", "codebook", "point", "low", "high", "n", "n_missing",
    "note",
)  # fmt: skip
_POINTS = ("range_pp", "chi2", "chi2_p", "chi2_p_exact", "chi2_q", "equivalence_p", "ccs")
_VERDICTS = ("invariant_paper", "verdict")


def csv_files(estimates: pl.DataFrame) -> dict[str, bytes]:
    """Every table of the report, by file name below ``tables/``; empty ones are left out.

    ``bias_intensity.csv`` holds levels and contrasts, ``associations.csv`` one row a reader,
    generator, role, dimension and label, ``shares.csv`` the shares of verdicts, ``missing.csv``
    reasons by cell, ``images.csv`` images by cell, and ``planted.csv`` the truth of a simulated
    study.
    """
    planted = pl.col("reader") == PLANTED
    read = estimates.filter(~planted)
    name = pl.col("estimand")
    frames = {
        "bias_intensity.csv": read.filter(name.str.starts_with("bi_")).select(_BI),
        "label_counts.csv": _selected(read, "label_count", ("generator", "cohort", "dimension")),
        "associations.csv": _associations(read),
        "mean_ccs.csv": _mean_ccs(read),
        "shares.csv": read.filter(name.str.starts_with("share_")).select(
            "estimand", "reader", "generator", "cohort", "preset", "point", "n", "n_missing", "note"
        ),
        "missing.csv": _selected(
            read, "missing", ("generator", "condition", "cohort", "dimension", "label")
        ).rename({"label": "reason", "point": "images_missing", "n": "images"}),
        "images.csv": _selected(read, "images", ("generator", "role", "condition")),
        "planted.csv": estimates.filter(planted).drop("reader"),
    }
    return {
        name: frame.write_csv().encode() for name, frame in frames.items() if not frame.is_empty()
    }


def _selected(frame: pl.DataFrame, estimand: str, keys: tuple[str, ...]) -> pl.DataFrame:
    rows = frame.filter(pl.col("estimand") == estimand)
    return rows.select("reader", *keys, "point", "n", "n_missing", "note").sort(
        "reader", *keys, nulls_last=True
    )


def _associations(frame: pl.DataFrame) -> pl.DataFrame:
    """One row an association: prevalence by condition, then the numbers over conditions."""
    cells = frame.filter(pl.col("label").is_not_null() & pl.col("role").is_not_null())
    prevalence = cells.filter(pl.col("estimand") == "prevalence")
    table = prevalence.select(*_CELL, "cohort").unique()
    for condition in (*CONDITIONS, "all"):
        rows = prevalence.filter(pl.col("condition") == condition)
        if rows.is_empty():
            continue
        table = _joined(
            table,
            rows.select(
                *_CELL,
                pl.col("point").alias(f"prevalence_{condition}"),
                pl.col("low").alias(f"low_{condition}"),
                pl.col("high").alias(f"high_{condition}"),
                pl.col("n").alias(f"n_{condition}"),
                pl.col("n_missing").alias(f"n_missing_{condition}"),
            ),
        )
    for estimand, column in [(name, "point") for name in _POINTS] + [
        (name, "verdict") for name in _VERDICTS
    ]:
        rows = cells.filter(pl.col("estimand") == estimand)
        if not rows.is_empty():
            table = _joined(table, rows.select(*_CELL, pl.col(column).alias(estimand)))
    return table.select(
        "reader", "generator", "role", "cohort", pl.exclude("reader", "generator", "role", "cohort")
    ).sort(_CELL)


def _joined(table: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    return table.join(rows, on=list(_CELL), how="left")


def _mean_ccs(frame: pl.DataFrame) -> pl.DataFrame:
    """CCS averaged over generators, and the count of generators that call the label invariant."""
    keys = ["reader", "role", "cohort", "dimension", "label"]
    rows = frame.filter(pl.col("generator") == "mean")
    ccs = rows.filter(pl.col("estimand") == "ccs")
    invariant = rows.filter(pl.col("estimand") == "invariant_generators")
    return (
        ccs.select(*keys, pl.col("point").alias("ccs"), pl.col("n").alias("n_generators"))
        .join(
            invariant.select(*keys, pl.col("point").alias("invariant_generators")),
            on=keys,
            how="left",
        )
        .sort(keys)
    )
