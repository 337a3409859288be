from __future__ import annotations

import io
import re
from pathlib import Path

import polars as pl
from tests.conftest import CHECKOUT
from tests.report.made_study import MakeStudy

import contextbias.report
from contextbias.report.tables import csv_files


def test_the_tables_hold_the_estimates_unrounded(make_study: MakeStudy) -> None:
    estimates = make_study().inputs().estimates

    files = csv_files(estimates)
    table = pl.read_csv(io.BytesIO(files["associations.csv"]))

    assert table.height == 66
    row = table.filter(
        (pl.col("generator") == "adaptive")
        & (pl.col("role") == "ceo")
        & (pl.col("label") == "apron")
    ).to_dicts()[0]
    assert row["cohort"] == "people"
    assert (row["prevalence_CF"], row["prevalence_CA-U"], row["prevalence_all"]) == (
        0.25,
        0.5,
        0.25,
    )
    assert (row["n_CF"], row["n_missing_CF"]) == (4, 1)
    assert (row["range_pp"], row["chi2_p"], row["verdict"]) == (25.0, 0.0004, "shifted")
    assert row["chi2_p_exact"] == 0.0625
    bias = pl.read_csv(io.BytesIO(files["bias_intensity.csv"]))
    read = estimates.filter(
        pl.col("estimand").str.starts_with("bi_") & (pl.col("reader") != "planted")
    )
    assert bias["point"].to_list() == read["point"].to_list()


def test_the_planted_truth_has_a_table_of_its_own(make_study: MakeStudy) -> None:
    files = csv_files(make_study().inputs().estimates)

    assert "planted" not in files["associations.csv"].decode()
    assert pl.read_csv(io.BytesIO(files["planted.csv"])).height > 100


def test_tables_without_rows_are_left_out(make_study: MakeStudy) -> None:
    study = make_study(generators=("images",), roles=("all",), conditions=("CF",), planted=False)

    files = csv_files(study.inputs().estimates)

    assert sorted(files) == [
        "associations.csv",
        "bias_intensity.csv",
        "images.csv",
        "missing.csv",
    ]
    assert "prevalence_CA-R" not in files["associations.csv"].decode().splitlines()[0]


def test_the_page_about_the_report_names_every_table() -> None:
    name = r"[a-z_0-9]+\.csv"
    source = Path(contextbias.report.__file__).parent
    written = {
        found
        for path in source.glob("*.py")
        for found in re.findall(f'"({name})"', path.read_text())
    }
    page = (CHECKOUT / "docs/report.md").read_text().partition("## Files")[2]
    assert set(re.findall(f"`({name})`", page)) == written
