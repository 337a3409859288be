from __future__ import annotations

from typing import Any

import polars as pl
from tests.report.made_study import frame_of

from contextbias.report import planted
from contextbias.tables import EstimateRow

CONTRAST = {
    "estimand": "bi_role", "generator": "g", "contrast": "CA-U - CF", "cohort": "people",
}  # fmt: skip


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return frame_of(EstimateRow, rows)


def test_a_planted_contrast_is_held_or_missed_by_its_interval() -> None:
    estimates = frame(
        CONTRAST | {"reader": "planted", "point": -0.25},
        CONTRAST | {"reader": "sharp", "point": -0.24, "low": -0.26, "high": -0.22},
        CONTRAST | {"reader": "blunt", "point": -0.2, "low": -0.22, "high": -0.18},
        CONTRAST | {"reader": "bare", "point": -0.2},
    )

    held = planted.recoveries(estimates, "sharp", ["g"])
    missed = planted.recoveries(estimates, "blunt", ["g"])
    bare = planted.recoveries(estimates, "bare", ["g"])

    assert [row.covered for row in (*held, *missed, *bare)] == ["yes", "no", "–"]
    assert planted.remaining_bias(held) == [
        "Within roles, every interval of CA-U − CF holds its planted value."
    ]
    assert planted.remaining_bias(missed) == [
        "Within roles, the interval misses the planted value for: "
        "<strong>g</strong>, people (planted −0.250, read −0.200 [−0.220, −0.180])."
    ]
    assert planted.remaining_bias(bare) == []


def test_points_are_pairs_over_all_conditions_and_equal_ones_are_drawn_once() -> None:
    cell = {
        "estimand": "prevalence", "generator": "g", "role": "baker", "dimension": "mood",
        "condition": "all",
    }  # fmt: skip
    estimates = frame(
        *(
            cell | {"reader": reader, "label": label, "point": point, "n": n}
            for label, truth, read, n in (
                ("calm", 0.8, 0.7, 20),
                ("tense", 0.801, 0.699, 90),
                ("joyful", 0.1, None, 90),
                ("dramatic", None, 0.2, 90),
                ("romantic", 0.1, 0.9, 19),
            )
            for reader, point in (("planted", truth), ("r", read))
        ),
        cell | {"reader": "planted", "label": "calm", "condition": "CF", "point": 0.5, "n": 90},
        cell | {"reader": "r", "label": "calm", "condition": "CF", "point": 0.5, "n": 90},
    )

    assert planted.scatter_points(estimates, "r", "g") == [{"x": 0.8, "y": 0.7, "cohort": "scene"}]


def test_shares_of_verdicts_stand_beside_the_planted_ones() -> None:
    share = {"generator": "g", "cohort": "people", "condition": "all"}
    estimates = frame(
        *(
            share | {"reader": reader, "estimand": f"share_{name}", "point": point}
            for reader, name, point in (
                ("planted", "invariant", 0.75),
                ("planted", "shifted", 0.25),
                ("r", "invariant", 0.0),
                ("r", "inconclusive", 0.875),
                ("r", "shifted", 0.125),
            )
        )
    )

    (row,) = planted.share_recoveries(estimates, "r", ["g"])

    assert (row.generator, row.cohort) == ("g", "people")
    assert row.planted == ("75.0%", "25.0%")
    assert row.read == ("0.0%", "87.5%", "12.5%")
    assert planted.share_recoveries(estimates.filter(pl.col("reader") == "r"), "r", ["g"]) == []
