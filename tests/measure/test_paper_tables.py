"""The paper's tables of Bias Intensity are selections of the estimates.

Table 8 has differences of conditions by cohort, averaged over generators; table 9 the difference
CA-U - CF for each generator; the decomposition of the camera cohort its dimensions; table 10 the
pooled and the role-level form side by side; figure 2 cohorts by condition.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.measure.test_intensity import one, together

from contextbias.measure.bias import bias_estimates
from contextbias.measure.levels import BCA, BOOTSTRAP
from contextbias.measure.rows import Run, Settings
from contextbias.schema import COHORTS
from contextbias.tables import CONDITIONS

CONTRASTS = ["CA-R - CF", "CA-U - CF", "CA-U - CA-R"]
GENERATORS = ["flux", "sdxl"]
DIMENSIONS = ["mood", "weather", "framing", "perspective", "depth_of_field", "items", "pose"]


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(7)
    counts = together(
        *(
            one(rng.integers(0, 12, (8, 3, 4)).tolist(), generator=generator, dimension=name)
            for generator in GENERATORS
            for name in DIMENSIONS
        )
    )
    settings = Settings(bootstrap=200, intervals=("expanded", "bca"))
    return bias_estimates(counts, Run("r", "paper", "primary", "1"), settings)


def table_8(rows: pl.DataFrame, support: str = "raw", method: str = BOOTSTRAP) -> pl.DataFrame:
    return rows.filter(
        pl.col("dimension").is_null(),
        pl.col("contrast").is_not_null(),
        estimand="bi_pooled", generator="mean", support=support, method=method,
    )  # fmt: skip


def table_9(rows: pl.DataFrame, support: str = "raw", method: str = BOOTSTRAP) -> pl.DataFrame:
    return rows.filter(
        pl.col("dimension").is_null(),
        pl.col("generator") != "mean",
        estimand="bi_pooled", contrast="CA-U - CF", support=support, method=method,
    )  # fmt: skip


def camera(rows: pl.DataFrame, support: str = "raw", method: str = BOOTSTRAP) -> pl.DataFrame:
    return rows.filter(
        pl.col("dimension").is_not_null(),
        pl.col("contrast").is_not_null(),
        estimand="bi_pooled", generator="mean", cohort="camera", support=support, method=method,
    )  # fmt: skip


@pytest.mark.parametrize("support", ["raw", "equal"])
@pytest.mark.parametrize("method", [BOOTSTRAP, BCA])
def test_each_table_is_a_selection(rows: pl.DataFrame, support: str, method: str) -> None:
    eight = table_8(rows, support, method)
    assert sorted(eight.select("cohort", "contrast").rows()) == sorted(
        (cohort, contrast) for cohort in (*COHORTS, "all") for contrast in CONTRASTS
    )
    nine = table_9(rows, support, method)
    assert sorted(nine.select("generator", "cohort").rows()) == sorted(
        (generator, cohort) for generator in GENERATORS for cohort in (*COHORTS, "all")
    )
    dimensions = camera(rows, support, method)
    assert set(dimensions["dimension"]) == {"framing", "perspective", "depth_of_field"}
    assert dimensions.height == 9
    for table in (eight, nine, dimensions):
        assert table.select("point", "low", "high").null_count().sum_horizontal().item() == 0
        assert (table["low"] < table["high"]).all()


def test_the_tables_agree_with_each_other(rows: pl.DataFrame) -> None:
    eight = {(c, d): p for c, d, p in table_8(rows).select("cohort", "contrast", "point").rows()}
    nine = table_9(rows)
    for cohort in (*COHORTS, "all"):
        over_generators = nine.filter(cohort=cohort)["point"].mean()
        assert eight[cohort, "CA-U - CF"] == pytest.approx(over_generators)
    # The overall difference is the mean of the cohorts', the camera's that of its dimensions.
    cohorts = [eight[cohort, "CA-U - CF"] for cohort in COHORTS]
    assert eight["all", "CA-U - CF"] == pytest.approx(np.mean(cohorts))
    dimensions = camera(rows).filter(contrast="CA-U - CF")["point"].mean()
    assert eight["camera", "CA-U - CF"] == pytest.approx(dimensions)
    # Differences are those of the conditions (figure 2).
    cohorts_by_condition = rows.filter(
        pl.col("dimension").is_null(), pl.col("condition").is_in(CONDITIONS),
        estimand="bi_pooled", generator="mean", support="raw", method=BOOTSTRAP,
    )  # fmt: skip
    level = {(a, b): p for a, b, p in
             cohorts_by_condition.select("cohort", "condition", "point").rows()}  # fmt: skip
    assert len(level) == 15
    assert eight["scene", "CA-R - CF"] == pytest.approx(
        level["scene", "CA-R"] - level["scene", "CF"]
    )


def test_table_10_has_both_forms(rows: pl.DataFrame) -> None:
    ten = rows.filter(
        pl.col("dimension").is_null(),
        pl.col("role").is_null(),
        pl.col("condition").is_in(CONDITIONS),
        pl.col("estimand").is_in(["bi_pooled", "bi_role", "bi_role_miller_madow"]),
        generator="mean", cohort="all", method=BOOTSTRAP,
    )  # fmt: skip
    found = {(e, s, c) for e, s, c in ten.select("estimand", "support", "condition").rows()}
    forms = [("bi_pooled", "raw"), ("bi_pooled", "equal"), ("bi_role", "equal"),
             ("bi_role_miller_madow", "raw")]  # fmt: skip
    assert found == {(*form, condition) for form in forms for condition in CONDITIONS}
    assert ten.height == len(found)
