"""Over- and under-representation, and amplification, against reference shares."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint
from tests.measure.facts import cell, fact, frame

from contextbias.measure import measure
from contextbias.measure.arrays import count_labels
from contextbias.measure.representation import (
    AMPLIFICATION,
    DIFFERENCE,
    RATIO,
    representation_estimates,
)
from contextbias.measure.rows import ESTIMATE_SCHEMA, Run, Settings
from contextbias.measure.shares import SHARES_SCHEMA
from contextbias.tables import CONDITIONS

RUN = Run("r", "paper", "primary", "1")
GENDER = "gender_presentation"


def table(*rows: tuple[str, str, str, float, float]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SHARES_SCHEMA, orient="row")


def estimates(rows: list[dict[str, Any]], shares: pl.DataFrame, **settings: Any) -> pl.DataFrame:
    counts = count_labels(frame(rows), people="primary")
    settings = {"bootstrap": 0} | settings
    found = representation_estimates(counts, RUN, Settings(shares=shares, **settings))
    assert dict(found.schema) == ESTIMATE_SCHEMA
    return found


def value(found: pl.DataFrame, estimand: str, **keys: str | None) -> tuple[Any, ...]:
    found = found.filter(pl.col("estimand") == estimand)
    for name, wanted in keys.items():
        column = pl.col(name)
        found = found.filter(column.is_null() if wanted is None else column == wanted)
    assert found.height == 1, found
    return found.select("point", "low", "high", "n").row(0)


def people(female: int, male: int, **where: Any) -> list[dict[str, Any]]:
    return cell(GENDER, {"female": female, "male": male}, **where)


def test_one_role_by_hand() -> None:
    rows = people(9, 1, condition="CF") + people(12, 8, condition="CA-R")
    found = estimates(rows, table(("nurse", GENDER, "female", 0.8, 0.5)))
    point, low, high, n = value(found, DIFFERENCE, role="nurse", condition="CF")
    # 90% of the pictures, 80% of the reference.
    assert (point, n) == (pytest.approx(10), 10)
    ends = proportion_confint(9, 10, method="wilson")
    assert (low, high) == pytest.approx(tuple(100 * (end - 0.8) for end in ends))
    assert value(found, RATIO, role="nurse", condition="CF")[0] == pytest.approx(1.125)
    assert value(found, DIFFERENCE, role="nurse", condition="all")[0] == pytest.approx(-10)
    assert value(found, DIFFERENCE, role="nurse", condition="CA-R")[0] == pytest.approx(-20)


def test_amplification_has_the_direction_of_the_reference() -> None:
    rows = people(9, 1) + people(9, 1, role="welder") + people(9, 1, role="judge")
    shares = table(
        ("nurse", GENDER, "female", 0.8, 0.5),
        ("welder", GENDER, "female", 0.1, 0.5),
        ("judge", GENDER, "female", 0.5, 0.5),
    )
    found = estimates(rows, shares).filter(pl.col("condition") == "CF")
    # More than the reference's majority: amplified. A reversal: the opposite of amplified.
    assert value(found, AMPLIFICATION, role="nurse")[0] == pytest.approx(10)
    point, low, high, _ = value(found, AMPLIFICATION, role="welder")
    assert point == pytest.approx(-80)
    assert low < point < high
    # An even share has no direction.
    assert found.filter(pl.col("role") == "judge", pl.col("estimand") == AMPLIFICATION).is_empty()


def test_both_labels_of_two_have_the_same_amplification() -> None:
    shares = table(("nurse", GENDER, "female", 0.8, 0.5), ("nurse", GENDER, "male", 0.2, 0.5))
    found = estimates(people(9, 1), shares).filter(pl.col("condition") == "CF")
    by_label = [value(found, AMPLIFICATION, role="nurse", label=x) for x in ("female", "male")]
    assert by_label[0] == pytest.approx(by_label[1])


def test_zhao_counts_the_labels_above_an_even_share() -> None:
    # Zhao et al.: the sum of p - s over labels with s above 1/3 is .3 of three labels here.
    rows = cell("skin_tone", {"light": 9, "medium": 1})
    even = 1 / 3
    shares = table(
        ("nurse", "skin_tone", "light", 0.6, even),
        ("nurse", "skin_tone", "medium", 0.3, even),
        ("nurse", "skin_tone", "dark", 0.1, even),
    )
    found = estimates(rows, shares).filter(pl.col("condition") == "CF")
    labels = ("light", "medium", "dark")
    points = [value(found, AMPLIFICATION, role="nurse", label=label)[0] for label in labels]
    assert points == pytest.approx([30, 20, 10])  # dark was never seen: 0 of 10


def test_means_over_roles_are_t_intervals_of_the_roles() -> None:
    rng = np.random.default_rng(2)
    roles = [f"role {i:02}" for i in range(30)]
    rows, gaps = [], []
    share = rng.uniform(0.1, 0.9, size=30)
    for role, s in zip(roles, share, strict=True):
        female = int(rng.integers(0, 21))
        rows += people(female, 20 - female, role=role)
        gaps.append(100 * (female / 20 - s))
    shares = table(*((r, GENDER, "female", s, 0.5) for r, s in zip(roles, share, strict=True)))
    found = estimates(rows, shares, bootstrap=4000)
    mean = value(found, DIFFERENCE, role=None, condition="CF", generator="g")
    assert mean[0] == pytest.approx(np.mean(gaps))
    assert mean[3] == 30
    expected = stats.t.interval(0.95, 29, np.mean(gaps), stats.sem(gaps))
    assert mean[1:3] == pytest.approx(expected, abs=1.5)
    # One generator: the mean over generators is that generator's.
    assert value(found, DIFFERENCE, role=None, condition="CF", generator="mean") == mean


def test_contrasts_and_generators() -> None:
    rows = []
    for generator, change in (("g1", 2), ("g2", 4)):
        for role in ("nurse", "welder"):
            rows += people(5, 5, role=role, generator=generator)
            rows += people(5 + change, 5 - change, role=role, generator=generator, condition="CA-U")
    shares = table(("nurse", GENDER, "female", 0.8, 0.5), ("welder", GENDER, "female", 0.1, 0.5))
    found = estimates(rows, shares).filter(pl.col("role").is_null())
    shift = {"contrast": "CA-U - CF"}
    assert value(found, DIFFERENCE, generator="g1", **shift)[0] == pytest.approx(20)
    assert value(found, DIFFERENCE, generator="mean", **shift)[0] == pytest.approx(30)
    # Towards the reference's majority for nurses, away from it for welders.
    assert value(found, AMPLIFICATION, generator="mean", **shift)[0] == pytest.approx(0)
    assert RATIO not in set(found["estimand"])


def test_one_role_has_a_mean_without_an_interval() -> None:
    shares = table(("nurse", GENDER, "female", 0.8, 0.5))
    found = estimates(people(9, 1), shares, bootstrap=50)
    assert value(found, DIFFERENCE, role=None, condition="CF", generator="g") == (
        pytest.approx(10), None, None, 1,
    )  # fmt: skip


def test_a_share_of_nothing_has_no_ratio_and_a_list_counts_each_label() -> None:
    rows = [fact("1", "accessories", "mask"), fact("2", "accessories", "empty")]
    found = estimates(rows, table(("nurse", "accessories", "mask", 0.0, 0.5)))
    assert value(found, DIFFERENCE, role="nurse", condition="CF")[0] == pytest.approx(50)
    assert RATIO not in set(found["estimand"])


def test_labels_that_the_reader_cannot_tell_are_left_out() -> None:
    shares = table(("nurse", GENDER, "female", 0.8, 0.5), ("nurse", GENDER, "nonbinary", 0.1, 0.5))
    readable = {GENDER: ("female", "male")}
    found = estimates(people(9, 1), shares, readable=readable)
    assert set(found["label"]) == {"female"}


def test_roles_without_shares_or_images_have_no_rows() -> None:
    shares = table(("pilot", GENDER, "female", 0.1, 0.5), ("nurse", GENDER, "female", 0.8, 0.5))
    found = estimates(people(9, 1) + people(1, 9, role="welder"), shares)
    assert set(found["role"].drop_nulls()) == {"nurse"}
    assert set(found["condition"].drop_nulls()) == {"CF", "all"}
    assert estimates(people(9, 1), table(("pilot", GENDER, "female", 0.1, 0.5))).is_empty()
    assert estimates([], shares).is_empty()


def test_the_stage_computes_them_when_there_are_shares() -> None:
    rows = frame([row for c in CONDITIONS for row in people(9, 1, condition=c)])
    wanted = {DIFFERENCE, RATIO, AMPLIFICATION}
    shares = table(("nurse", GENDER, "female", 0.8, 0.5))
    assert wanted <= set(measure(rows, shares=shares, bootstrap=0)["estimand"])
    assert not wanted & set(measure(rows, bootstrap=0)["estimand"])


def test_intervals_of_means_stay_within_what_is_possible() -> None:
    # Three roles of shares .8, .5 and .2, read as far from them as they can be: t intervals of
    # three values would reach beyond 100 points.
    roles = {"nurse": (0.8, 0, 9), "judge": (0.5, 9, 0), "baker": (0.2, 9, 0)}
    shares = table(*((role, GENDER, "female", s, 0.5) for role, (s, _, _) in roles.items()))
    rows = []
    for role, (_, female, male) in roles.items():
        rows += people(female, male, condition="CF", role=role)
        rows += people(male, female, condition="CA-R", role=role)
    found = estimates(rows, shares, bootstrap=200)
    means = found.filter(pl.col("role").is_null(), pl.col("low").is_not_null())
    assert set(means["estimand"]) == {DIFFERENCE, AMPLIFICATION}
    assert means["low"].min() == -100
    assert means["high"].max() == 100
    assert (means["low"] <= means["point"]).all()
    assert (means["point"] <= means["high"]).all()


def test_intervals_have_the_level_that_is_asked_for() -> None:
    shares = table(("nurse", GENDER, "female", 0.5, 0.5))
    found = estimates(people(9, 1, condition="CF"), shares, alpha=0.2)
    _, low, high, _ = value(found, DIFFERENCE, role="nurse", condition="CF")
    ends = proportion_confint(9, 10, alpha=0.2, method="wilson")
    assert (low, high) == pytest.approx([100 * (end - 0.5) for end in ends])
