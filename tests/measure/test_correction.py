"""Coverage with the simulated generator and reader: what perf/correction.py shows at length."""

from __future__ import annotations

import polars as pl
import pytest
from tests.measure.test_yardstick import load

STUDIES = 25


@pytest.fixture(scope="module")
def found() -> pl.DataFrame:
    """A reader that errs in one answer of five; 18 prompts of each of four roles."""
    correction = load("correction")
    pool = correction.make_pool(25, {"error_rate": 0.2})
    table: pl.DataFrame = correction.coverage(pool, STUDIES, images=8, judged=160)
    return table


def held(found: pl.DataFrame, method: str, *, contrast: bool) -> dict[str, float]:
    (row,) = found.filter(pl.col("method") == method, pl.col("contrast") == contrast).to_dicts()
    return row


def test_the_uncorrected_intervals_miss_the_truth(found: pl.DataFrame) -> None:
    assert held(found, "wilson-clustered", contrast=False)["held"] < 0.85
    assert held(found, "wilson-clustered", contrast=False)["worst"] < 0.3


@pytest.mark.parametrize("contrast", [False, True])
def test_prediction_powered_intervals_hold_it(found: pl.DataFrame, contrast: bool) -> None:
    row = held(found, "ppi", contrast=contrast)
    # 25 studies of dozens of numbers that depend on one another: a few points of simulation error.
    assert row["held"] >= 0.93
    assert row["bias"] < 0.5 * held(found, "wilson-clustered", contrast=contrast)["bias"]


def test_so_do_those_of_the_misclassification_matrix(found: pl.DataFrame) -> None:
    # The simulated reader errs alike in all conditions, as the matrix needs.
    assert held(found, "misclassification", contrast=False)["held"] >= 0.93
