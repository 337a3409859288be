from __future__ import annotations

import polars as pl
from tests.report.made_study import MakeStudy, frame_of

from contextbias.report import select
from contextbias.tables import EstimateRow


def test_an_index_never_mixes_numbers_with_and_without_a_role() -> None:
    base = {"estimand": "bi_role", "generator": "g", "condition": "CF", "dimension": "mood"}
    frame = frame_of(EstimateRow, [base | {"point": 0.5}, base | {"role": "baker", "point": 0.9}])

    mean = select.index(frame, "bi_role")
    per_role = select.index(frame, "bi_role", ("generator", "role"))

    assert [number.point for number in mean.values()] == [0.5]
    assert {key: number.point for key, number in per_role.items()} == {("g", "baker"): 0.9}


def test_of_several_supports_and_intervals_one_stands() -> None:
    base = {"estimand": "bi_pooled", "generator": "g", "condition": "CF", "dimension": "mood"}
    methods = ("bootstrap-bca", "bootstrap-percentile-expanded", "bootstrap-two-level")
    rows = [
        base | {"support": support, "method": method}
        for support in ("equal", "raw")
        for method in methods
    ]
    (number,) = select.index(frame_of(EstimateRow, rows), "bi_pooled").values()
    assert (number.support, number.method) == ("raw", "bootstrap-percentile-expanded")


def test_readers_come_in_configured_order_without_the_planted_truth(make_study: MakeStudy) -> None:
    estimates = make_study(readers=("b", "a")).inputs().estimates

    assert select.readers_in(estimates, ["b", "a"]) == ["b", "a"]
    assert select.readers_in(estimates, []) == ["a", "b"]


def test_the_mean_is_the_last_generator_and_only_of_several(make_study: MakeStudy) -> None:
    frame = select.of_reader(make_study().inputs().estimates, "viewer")

    assert select.generators_in(frame, ["steady", "adaptive"]) == ["steady", "adaptive", "mean"]
    assert select.generators_in(frame, ["steady", "adaptive"], mean=False) == ["steady", "adaptive"]
    one = frame.filter(pl.col("generator").is_in(["steady", "mean"]))
    assert select.generators_in(one, ["steady", "adaptive"]) == ["steady"]


def test_dimensions_stand_in_codebook_order_and_unknown_ones_last() -> None:
    assert select.dimension_order({"zeal", "skin_tone", "mood", "items"}) == [
        "mood",
        "items",
        "skin_tone",
        "zeal",
    ]
