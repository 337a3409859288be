from __future__ import annotations

import itertools
from typing import Any

import polars as pl
from tests.report.made_study import MakeStudy, frame_of

from contextbias.report.paper_tables import paper_tables
from contextbias.tables import EstimateRow

LABEL = {"reader": "r", "role": "dancer", "cohort": "people", "dimension": "gender_presentation",
         "label": "female", "condition": "all", "preset": "paper"}  # fmt: skip


def numbers(generator: str, **values: float | str | None) -> list[dict[str, Any]]:
    return [
        LABEL
        | {"estimand": name, "generator": generator}
        | ({"verdict": value} if isinstance(value, str) else {"point": value, "n": 3})
        for name, value in values.items()
    ]


def test_table_2_has_a_row_a_pair_and_columns_a_generator() -> None:
    contrast = {"reader": "r", "estimand": "bi_pooled", "contrast": "CA-U - CF", "point": 0.0}
    rows = [
        *numbers(
            "sdxl", prevalence=1.0, range_pp=0.0, chi2=0.0, chi2_p=1.0, invariant_paper="true"
        ),
        *numbers("flux", prevalence=0.98, range_pp=4.0, chi2=3.25, chi2_p=0.2, ccs=19.7),
        *numbers("mean", ccs=59.85, invariant_generators=2.0),
        contrast,
    ]
    rows += [row | {"label": "male"} for row in numbers("sdxl", prevalence=0.0)]

    table = paper_tables(frame_of(EstimateRow, rows))["paper_table_2_and_11.csv"]

    (row,) = table.rows(named=True)  # the pair without a mean CCS is left out
    assert (row["role"], row["label"], row["ccs"], row["ccs_generators"]) == (
        "dancer", "female", 59.85, 3,
    )  # fmt: skip
    assert (row["prevalence flux"], row["prevalence sdxl"]) == (0.98, 1.0)
    assert (row["chi2 flux"], row["p flux"], row["range_pp flux"]) == (3.25, 0.2, 4.0)
    assert (row["invariant_paper sdxl"], row["invariant_paper flux"]) == ("true", None)
    assert (row["invariant"], row["generators"]) == (2.0, 3)


def test_tables_of_bias_intensity_are_selections(make_study: MakeStudy) -> None:
    tables = paper_tables(make_study(planted=False).inputs().estimates)

    eight, nine = tables["paper_table_8.csv"], tables["paper_table_9.csv"]
    cohorts = {"scene", "camera", "objects", "people", "all"}
    contrasts = {"CA-U - CF", "CA-R - CF", "CA-U - CA-R"}
    assert set(eight["generator"]) == {"mean"}
    assert set(eight.select("cohort", "contrast").rows()) == set(
        itertools.product(cohorts, contrasts)
    )
    assert set(nine.select("generator", "cohort", "contrast").rows()) == {
        (generator, cohort, "CA-U - CF")
        for generator in ("steady", "adaptive")
        for cohort in cohorts
    }
    camera = tables["paper_camera.csv"]
    assert set(camera["dimension"]) == {"framing"}
    assert set(tables["paper_table_10.csv"]["estimand"]) == {"bi_pooled", "bi_role"}


def test_table_3_has_shares_with_their_support_and_the_paper_s_sum() -> None:
    keys = {"reader": "r", "generator": "g", "cohort": "all", "condition": "all",
            "support": "all", "contrast": None}  # fmt: skip
    rows = [
        keys | {"estimand": name, "method": method, "point": value, "n": 900}
        for method in ("condition", "variants")
        for name, value in (("share_robust", 0.9), ("share_robust_leave_one_out", 0.8))
    ]
    contrast = {"reader": "r", "estimand": "bi_pooled", "contrast": "CA-U - CF", "point": 0.0}

    table = paper_tables(frame_of(EstimateRow, [*rows, contrast]))["paper_table_3.csv"]

    assert table["method"].to_list() == ["variants", "condition"]
    assert table["pairs"].to_list() == [900, 900]
    assert table["share_robust_leave_one_out"].to_list() == [0.8, 0.8]


def test_pictures_of_one_condition_have_none_of_the_tables(make_study: MakeStudy) -> None:
    estimates = make_study(conditions=("CF",), planted=False).inputs().estimates

    assert paper_tables(estimates) == {}
    assert paper_tables(pl.DataFrame(schema=estimates.schema)) == {}
