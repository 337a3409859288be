"""The paper's tables 2, 3 and 11 are selections of the estimates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.measure.facts import frame
from tests.measure.prompt_facts import everywhere, prompted

from contextbias.measure import measure
from contextbias.measure.consistency import consistency_estimates
from contextbias.measure.counts import read_counts
from contextbias.tables import CONDITIONS

CELL = ["role", "dimension", "label"]
# Column of the printed tables -> estimand, factor, digits.
PRINTED = {
    "prevalence_pct": ("prevalence", 100, 0),
    "range_pp": ("range_pp", 1, 1),
    "chi2": ("chi2", 1, 2),
    "p": ("chi2_p", 1, 2),
}
# Table 2, row "Carpenter": prevalence, range, chi2 and p of each generator; CCS and Inv.
CARPENTER = {
    "SDXL": (60, (100, 0.0, 0.0, 1.0)),
    "SD3.5": (60, (100, 0.0, 0.0, 1.0)),
    "FLUX.1": (56, (97, 6.7, 4.81, 0.09)),
    "Qwen-Image": (60, (100, 0.0, 0.0, 1.0)),
}


def _estimates(counts: pl.DataFrame) -> pl.DataFrame:
    """Counts with one row a condition, to estimates."""
    wide = counts.rename({"count": "x"}).pivot(
        "condition", index=["generator", *CELL], values=["x", "n"]
    )
    table = wide.with_columns(cohort=pl.lit("people"), n_missing=pl.lit(0))
    return consistency_estimates(
        table, reader="r", preset="paper", people="primary", margin_pp=5.0, alpha=0.05
    )


def table_of_associations(estimates: pl.DataFrame) -> pl.DataFrame:
    """Tables 2 and 11: one row a generator and label, the means over generators beside it."""
    cells = estimates.filter(pl.col("generator") != "mean", condition="all")
    table = cells.select("generator", *CELL).unique()
    for column, (estimand, factor, _) in PRINTED.items():
        part = cells.filter(estimand=estimand).select(
            "generator", *CELL, (pl.col("point") * factor).alias(column)
        )
        table = table.join(part, on=["generator", *CELL])
    for column in ("ccs", "range_pp", "invariant_generators"):
        part = estimates.filter(generator="mean", estimand=column)
        table = table.join(part.select(*CELL, pl.col("point").alias(f"{column}_mean")), on=CELL)
    return table


def test_a_row_of_table_2() -> None:
    rows = [
        (generator, "carpenter", "gender_presentation", "male", condition, count, n)
        for generator, (last, _) in CARPENTER.items()
        for condition, count, n in (("CF", 20, 20), ("CA-R", 50, 50), ("CA-U", last, 60))
    ]
    names = ["generator", *CELL, "condition", "count", "n"]
    table = table_of_associations(_estimates(pl.DataFrame(rows, schema=names, orient="row")))
    assert table.height == 4
    for row in table.rows(named=True):
        printed = tuple(round(row[name], digits) for name, (_, _, digits) in PRINTED.items())
        assert printed == CARPENTER[row["generator"]][1]
        assert round(row["ccs_mean"], 1) == 78.2
        assert row["invariant_generators_mean"] == 3
        assert round(row["range_pp_mean"], 1) == 1.7  # 6.67 / 4: the mean range of the text


@pytest.mark.shared
def test_every_gender_row_of_table_2(shared: Path) -> None:
    found = table_of_associations(
        _estimates(read_counts(shared / "data" / "table2_gender_counts.csv"))
    )
    printed = pl.read_csv(shared / "data" / "table2_gender_printed.csv")
    both = printed.join(found, on=["generator", *CELL], suffix="_found", maintain_order="left")
    assert both.height == 36
    for name, (_, _, digits) in PRINTED.items():
        assert [round(value, digits) for value in both[f"{name}_found"]] == both[name].to_list()
    assert [round(value, 1) for value in both["ccs_mean_found"]] == both["ccs_mean"].to_list()
    assert (both["invariant_generators_mean"] == both["invariant_generators"]).all()


def test_table_3_has_a_row_for_each_generator_and_cohort() -> None:
    rng = np.random.default_rng(0)
    rows = [
        row
        for generator in ("g", "h")
        for dimension in ("tattoo_present", "eyewear_present")
        for row in prompted(
            {variant: int(rng.integers(0, 11)) for variant in everywhere(0)},
            generator=generator, dimension=dimension,
        )
    ]  # fmt: skip
    for row in rows:
        row["image_id"] += row["dimension"]
    estimates = measure(frame(rows), bootstrap=0)
    table_3 = estimates.filter(
        pl.col("dimension").is_null(), method="condition", support="all", condition="all"
    )
    for estimand in ("share_robust_leave_one_out", "robust_p_mean_leave_one_out", "share_robust"):
        of = table_3.filter(estimand=estimand).select("generator", "cohort")
        assert sorted(of.rows()) == [(g, c) for g in ("g", "h", "mean") for c in ("all", "people")]
    prevalence = estimates.filter(
        pl.col("dimension").is_null(), estimand="robust_prevalence_mean", condition="CF",
        support="all", method="condition", cohort="all",
    )  # fmt: skip
    assert prevalence["point"].to_list() == pytest.approx([0.5] * 3)  # yes and no: 1/2 on average
    assert set(estimates.filter(estimand="share_robust")["condition"]) == {*CONDITIONS, "all"}
