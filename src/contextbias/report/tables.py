"""The report's tables as CSV files: the page's numbers, unrounded."""

from __future__ import annotations

import polars as pl

from contextbias.report.inputs import ALL, MEAN, PLANTED
from contextbias.report.known import known_tables
from contextbias.report.paper_tables import paper_tables
from contextbias.report.select import CELL_KEYS, is_judged
from contextbias.tables import CONDITIONS

_CELL = ("reader", *CELL_KEYS)
_BI = (
    "estimand", "reader", "generator", "role", "condition", "contrast", "cohort", "dimension",
    "preset", "people", "support", "method", "codebook", "point", "low", "high", "n", "n_missing",
    "note",
)  # fmt: skip
_POINTS = (
    "range_pp_expected", "chi2", "chi2_p", "chi2_p_exact", "chi2_q", "chi2_clustered",
    "chi2_clustered_p", "chi2_clustered_q", "equivalence_p", "equivalence_p_clustered",
    "prevalence_unweighted",
)  # fmt: skip
_WITH_INTERVAL = ("range_pp", "ccs")
_BOUNDS = ("range_pp_bounds",)
_AGREEMENT = (
    "agreement_raw", "agreement_kappa", "agreement_cohen_mean", "agreement_fleiss",
    "agreement_krippendorff", "agreement_ac1",
)  # fmt: skip
_VERDICTS = ("invariant_paper", "verdict")


def csv_files(estimates: pl.DataFrame) -> dict[str, bytes]:
    """Every table of the report, by file name below ``tables/``; empty ones are left out.

    ``bias_intensity.csv`` holds levels and contrasts, ``dimensions.csv`` effective and leading
    labels, ``associations.csv`` one row a reader, generator, role, dimension and label,
    ``shares.csv`` the shares of verdicts, ``dependence.csv`` correlations and design effects,
    ``representation.csv`` comparisons with reference shares, ``bounds.csv`` bounds over missing
    images, ``missing.csv`` and ``missing_by_role.csv`` reasons by cell, ``coverage.csv`` who is
    answered, ``agreement.csv`` how far readings of the same images agree, ``images.csv`` images by
    cell, ``contexts.csv`` distinct contexts, ``corrected.csv`` prevalences with and without
    correction for reading errors, ``known_*.csv`` what became of prompts that name a label,
    and ``planted.csv`` the truth of a simulated study. The paper's own tables are in
    paper_tables.py.
    """
    planted = pl.col("reader") == PLANTED
    read = estimates.filter(~planted) if (estimates["reader"] == PLANTED).any() else estimates
    judged = read.filter(is_judged()) if read["corrected"].any() else read.clear()
    read = read.filter(~is_judged()) if judged.height else read
    frames = _frames(read) | {"corrected.csv": _corrected(judged)}
    frames |= {"planted.csv": estimates.filter(planted).drop("reader")}
    frames |= paper_tables(read) | known_tables(read)
    return {
        name: frame.write_csv().encode() for name, frame in frames.items() if not frame.is_empty()
    }


def _frames(read: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Tables of what was read, by file name."""
    name = pl.col("estimand")
    intensity = name.str.starts_with("bi_") & ~name.str.contains("_bounds")
    verdicts = name.str.contains("^share_(invariant|inconclusive|shifted)")
    return {
        "bias_intensity.csv": read.filter(intensity).select(_BI),
        "dimensions.csv": _dimensions(read),
        "label_counts.csv": _selected(read, "label_count", ("generator", "cohort", "dimension")),
        "associations.csv": _associations(read),
        "mean_ccs.csv": _mean_ccs(read),
        "shares.csv": read.filter(verdicts).select(
            "estimand", "reader", "generator", "cohort", "preset", "point", "n", "n_missing", "note"
        ),
        "dependence.csv": _named(
            read, ("intraclass_correlation", "design_effect"), ("generator", "dimension")
        ),
        "representation.csv": _named(
            read,
            ("representation_pp", "representation_ratio", "amplification_pp"),
            ("generator", "role", "dimension", "label", "contrast"),
        ),
        "bounds.csv": _named(
            read, ("bi_pooled_bounds",), ("generator", "cohort", "dimension", "contrast")
        ),
        "missing.csv": _reasons(read, "missing", ("generator", "condition")),
        "missing_by_role.csv": _reasons(
            read, "missing_by_role", ("generator", "role", "condition")
        ),
        "coverage.csv": _named(
            read,
            ("coverage_by_gender_presentation", "coverage_by_skin_tone"),
            ("generator", "dimension", "label"),
        ),
        "agreement.csv": _named(read, _AGREEMENT, ("generator", "dimension")),
        "images.csv": _selected(read, "images", ("generator", "role", "condition")),
        "contexts.csv": _selected(read, "distinct_contexts", ("generator", "condition")),
    }


def _reasons(frame: pl.DataFrame, estimand: str, keys: tuple[str, ...]) -> pl.DataFrame:
    """Images without an answer, by reason."""
    rows = _selected(frame, estimand, (*keys, "cohort", "dimension", "label"))
    return rows.rename({"label": "reason", "point": "images_missing", "n": "images"})


def _named(frame: pl.DataFrame, estimands: tuple[str, ...], keys: tuple[str, ...]) -> pl.DataFrame:
    """Rows of some estimands with their intervals."""
    rows = frame.filter(pl.col("estimand").is_in(estimands))
    return rows.select(
        "estimand", "reader", *keys, "condition", "method", "point", "low", "high", "n",
        "n_missing", "note",
    ).sort("estimand", "reader", *keys, "condition", nulls_last=True)  # fmt: skip


def _corrected(judged: pl.DataFrame) -> pl.DataFrame:
    """Prevalences and contrasts of what people have judged, one row a method."""
    keys = ("reader", "generator", "role", "dimension", "label", "condition", "contrast")
    columns = ("method", "corrected", "point", "low", "high", "n", "n_missing", "note")
    return judged.select(*keys, *columns).sort(*keys, "corrected", "method", nulls_last=True)


def _dimensions(frame: pl.DataFrame) -> pl.DataFrame:
    """Effective labels, and the leading label with its share of mentions."""
    estimand = pl.col("estimand")
    rows = frame.filter(
        estimand.str.starts_with("effective_labels") | (estimand == "leading_label")
    )
    keys = ("estimand", "reader", "generator", "role", "cohort", "dimension", "condition",
            "contrast", "support", "method")  # fmt: skip
    return rows.select(*keys, "label", "point", "low", "high", "n", "note").sort(
        keys, nulls_last=True
    )


def _selected(frame: pl.DataFrame, estimand: str, keys: tuple[str, ...]) -> pl.DataFrame:
    rows = frame.filter(pl.col("estimand") == estimand)
    return rows.select("reader", *keys, "point", "n", "n_missing", "note").sort(
        "reader", *keys, nulls_last=True
    )


def _associations(frame: pl.DataFrame) -> pl.DataFrame:
    """One row an association: prevalence by condition, then the numbers over conditions."""
    own = pl.col("label").is_not_null() & pl.col("role").is_not_null()
    cells = frame.filter(own & (pl.col("generator") != MEAN))
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
    for estimand, columns in _columns():
        rows = cells.filter(pl.col("estimand") == estimand, pl.col("condition") == ALL)
        if not rows.is_empty():
            table = _joined(table, rows.select(*_CELL, *columns))
    for method in ("prompts", "contexts"):
        rows = cells.filter(pl.col("estimand") == "permutation_p", pl.col("method") == method)
        if not rows.is_empty():
            name = f"permutation_p_{method}"
            table = _joined(table, rows.select(*_CELL, pl.col("point").alias(name)))
    return table.select(
        "reader", "generator", "role", "cohort", pl.exclude("reader", "generator", "role", "cohort")
    ).sort(_CELL)


def _columns() -> list[tuple[str, list[pl.Expr]]]:
    """Estimands over all conditions and the columns that each fills."""
    point, low, high = (pl.col(name) for name in ("point", "low", "high"))
    found = [
        (e, [point.alias(e), low.alias(f"{e}_low"), high.alias(f"{e}_high")])
        for e in _WITH_INTERVAL
    ]
    found += [(e, [point.alias(e)]) for e in _POINTS]
    found += [(e, [low.alias(f"{e}_least"), high.alias(f"{e}_most")]) for e in _BOUNDS]
    return found + [(e, [pl.col("verdict").alias(e)]) for e in _VERDICTS]


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
