"""The estimates of Bias Intensity as a whole: supports, intervals, prompts, invariances."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.measure.facts import fact, frame
from tests.measure.test_intensity import one, together

from contextbias.measure import measure
from contextbias.measure.arrays import DimensionCounts, ReaderCounts, count_labels
from contextbias.measure.bias import bias_estimates
from contextbias.measure.intensity import pooled_entropy
from contextbias.measure.levels import BCA, BOOTSTRAP, MEAN, TWO_LEVEL
from contextbias.measure.prompted import unprompted_counts
from contextbias.measure.rows import Run, Settings
from contextbias.stats.resample import bca_interval, jackknife_weights, role_weights
from contextbias.stats.subsample import pooled_subsample_entropy
from contextbias.tables import CONDITIONS

RUN = Run("r", "paper", "primary", "1")
KEYS = ["estimand", "support", "generator", "role", "condition", "contrast", "cohort", "dimension"]


def estimates(counts: ReaderCounts, **fields: object) -> pl.DataFrame:
    return bias_estimates(counts, RUN, replace(Settings(bootstrap=0), **fields))  # type: ignore[arg-type]


def point(rows: pl.DataFrame, estimand: str, **keys: str | None) -> float:
    keys = {"generator": "g", "role": None} | keys
    chosen = rows.filter(pl.col("estimand") == estimand)
    for name, value in keys.items():
        chosen = chosen.filter(pl.col(name).eq_missing(pl.lit(value)))
    assert chosen.height == 1, chosen
    value = chosen["point"].item()
    return math.nan if value is None else float(value)


def some_counts(seed: int = 0, roles: int = 6, generator: str = "g") -> DimensionCounts:
    """Single-label counts: 15, 35 and 40 images a role."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(5), size=(roles, 1)).repeat(3, axis=1)
    x = np.stack([rng.multinomial(n, shares[:, c]) for c, n in enumerate((15, 35, 40))], axis=1)
    return one(x.tolist(), generator=generator)


# ---- equal support


def test_pooled_at_equal_support_reduces_every_role_to_its_smallest_condition() -> None:
    of = some_counts()
    rows = estimates(together(of))
    where = {"support": "equal", "dimension": "mood"}
    entropy = pooled_subsample_entropy(of.x, of.n, of.n.min(axis=1)[:, None])
    for condition, h in zip(CONDITIONS, entropy, strict=True):
        value = point(rows, "bi_pooled", condition=condition, **where)
        assert value == pytest.approx(1 - h / math.log(5))
        labels = point(rows, "effective_labels", condition=condition, **where)
        assert labels == pytest.approx(math.exp(h))
    # CF is the smallest: nothing is left out there, and raw support is the same.
    raw = point(rows, "bi_pooled", condition="CF", support="raw", dimension="mood")
    assert point(rows, "bi_pooled", condition="CF", **where) == pytest.approx(raw)
    n = rows.filter(estimand="bi_pooled", support="equal", generator="g", dimension="mood")
    assert dict(zip(n["condition"], n["n"], strict=True))["CA-U"] == 6 * 15


def test_roles_not_read_in_a_condition_are_left_out_at_equal_support() -> None:
    whole = [[[3, 1], [2, 2], [4, 0]]]
    partial = [*whole, [[0, 0], [0, 9], [9, 0]]]
    both, alone = estimates(together(one(partial))), estimates(together(one(whole)))
    chosen = [rows.filter(estimand="bi_pooled", support="equal") for rows in (both, alone)]
    assert chosen[0]["point"].to_list() == pytest.approx(chosen[1]["point"].to_list())
    of_dimension = chosen[0].filter(pl.col("dimension") == "mood", pl.col("generator") == "g")
    assert set(of_dimension["note"]) == {"1 of 2 roles left out"}


def test_nothing_in_common_is_null_not_zero() -> None:
    apart = [[[3, 1], [0, 0], [4, 0]], [[0, 0], [2, 2], [4, 0]]]
    rows = estimates(together(one(apart)), bootstrap=10)
    equal = rows.filter(support="equal", dimension="mood", generator="g")
    assert equal["point"].null_count() == equal.height


def test_equal_support_matters_where_labels_are_many() -> None:
    """The same shares everywhere: raw BI falls with the number of images, equal does not."""
    rng = np.random.default_rng(3)
    shares = rng.dirichlet(np.full(200, 0.2))
    draws = {"raw": [], "equal": []}
    for _ in range(30):
        x = np.stack([rng.multinomial(n, shares, size=4) for n in (15, 35, 40)], axis=1)
        rows = estimates(together(one(x.tolist())))
        for support, found in draws.items():
            found.append(
                point(rows, "bi_pooled", contrast="CA-U - CF", support=support, dimension="mood")
            )
    assert np.mean(draws["raw"]) < -0.05
    assert abs(np.mean(draws["equal"])) < 0.01


def test_intervals_at_equal_support_hold_their_point() -> None:
    rows = estimates(together(some_counts(1)), bootstrap=300).filter(support="equal")
    rows = rows.filter(pl.col("low").is_not_null())
    assert set(rows["estimand"]) == {"bi_pooled", "effective_labels", "bi_role"}
    assert ((rows["low"] <= rows["point"]) & (rows["point"] <= rows["high"])).all()


# ---- kinds of intervals


def test_the_first_kind_of_interval_has_every_row_and_others_their_own() -> None:
    counts = together(some_counts(2), some_counts(3, generator="h"))
    kinds = ("expanded", "bca", "two-level")
    rows = estimates(counts, bootstrap=100, intervals=kinds).filter(pl.col("role").is_null())
    by_method = {m: rows.filter(pl.col("method") == m) for m in (BOOTSTRAP, BCA, TWO_LEVEL)}
    alone = estimates(counts, bootstrap=100).filter(pl.col("role").is_null())
    assert by_method[BOOTSTRAP].equals(alone)
    for method in (BCA, TWO_LEVEL):
        further = by_method[method].join(alone, on=KEYS, nulls_equal=True, suffix="_first")
        assert further.height == by_method[method].height > 100
        assert (further["point"] - further["point_first"]).abs().max() < 1e-12
        assert further["low"].null_count() == 0
    # Counts without prompts have one a cell: a second level adds nothing to the spread.
    wide = by_method[TWO_LEVEL].join(alone, on=KEYS, nulls_equal=True, suffix="_first")
    pooled = wide.filter(estimand="bi_pooled", support="raw")
    assert (pooled["low"] - pooled["low_first"]).abs().max() < 1e-9


def test_without_replicates_there_is_no_interval_of_any_kind() -> None:
    for kind in ("expanded", "bca", "two-level"):
        rows = estimates(together(some_counts()), intervals=(kind,))
        assert rows["low"].null_count() == rows.height > 0
    assert estimates(ReaderCounts((), (), {}, (), pl.DataFrame())).height == 0


def test_bca_is_that_of_the_pooled_values() -> None:
    of = some_counts(4, roles=10)
    rows = estimates(together(of), bootstrap=400, intervals=("bca",), seed=9)
    ones, left_out = np.ones((1, 10)), jackknife_weights(10)
    weights = role_weights(10, 400, np.random.default_rng(9))
    bias = 1 - pooled_entropy(of.x, np.concatenate([ones, weights, left_out])) / math.log(5)
    expected = bca_interval(bias[0], bias[1:401], bias[401:], 0.05)
    row = rows.filter(
        estimand="bi_pooled", support="raw", generator="g", dimension="mood", condition="CA-R"
    )
    assert row["low"].item() == pytest.approx(expected.low[1])
    assert row["high"].item() == pytest.approx(expected.high[1])
    assert row["method"].item() == BCA


# ---- two levels


def by_prompt(spread: bool) -> ReaderCounts:
    """Three roles of 4 prompts in CF and CA-U; labels differ between prompts, or do not."""
    facts = []
    for role in ("baker", "judge", "nurse"):
        for condition in ("CF", "CA-U"):
            for prompt in range(4):
                for image in range(10):
                    pick = prompt if spread else image
                    label = ("calm", "tense", "joyful", "dramatic")[pick % 4]
                    name = f"{role}-{condition}-{prompt}"
                    facts.append(
                        fact(f"{name}-{image}", "mood", label, role=role, condition=condition,
                             prompt_id=name)
                    )  # fmt: skip
    return count_labels(frame(facts), people="primary")


def test_prompts_widen_intervals_where_they_differ() -> None:
    width = {}
    for spread in (False, True):
        for kind in ("expanded", "two-level"):
            rows = estimates(by_prompt(spread), bootstrap=300, intervals=(kind,))
            row = rows.filter(
                estimand="bi_pooled", support="raw", dimension="mood", contrast="CA-U - CF",
                generator="g",
            )  # fmt: skip
            width[spread, kind] = row["high"].item() - row["low"].item()
    # Roles are all alike, so that drawing roles shows no spread at all.
    assert width[True, "expanded"] < 1e-6
    assert width[True, "two-level"] > 0.1
    assert width[False, "two-level"] < 0.5 * width[True, "two-level"]


def test_prompts_widen_the_estimands_by_role_too() -> None:
    rows = estimates(by_prompt(True), bootstrap=300, intervals=("two-level",))
    for estimand in ("bi_role", "bi_role_miller_madow", "bi_role_grassberger"):
        row = rows.filter(
            pl.col("role").is_null(), estimand=estimand, dimension="mood", generator="g",
            contrast="CA-U - CF",
        )  # fmt: skip
        assert row["point"].item() == pytest.approx(0.0, abs=1e-12)
        assert row["low"].item() < -0.02 < 0.02 < row["high"].item()


# ---- without prompted images


PROMPTS = pl.DataFrame(
    {
        "prompt_id": ["asked", "free", "cf"],
        "base": ["unrel-activity", "unrel-place", "cf"],
        "location": ["on a beach", "on a beach", None],
        "activity": ["running", None, None],
        "prompted": [["activities", "items"], [], []],
    },
    schema_overrides={"prompted": pl.List(pl.String)},
)


def asked_facts() -> pl.DataFrame:
    """Two roles; what is done in CA-U is asked for by one of its two prompts."""
    facts = []
    for role in ("baker", "judge"):
        cells = (("CF", "cf", ("baking", "reading")), ("CA-U", "asked", ("running", "running")),
                 ("CA-U", "free", ("baking", "reading")))  # fmt: skip
        for condition, prompt, labels in cells:
            for number, label in enumerate(labels):
                where = {"role": role, "condition": condition, "prompt_id": prompt}
                image = f"{role}-{prompt}-{number}"
                facts.append(fact(image, "activities", label, **where))
                facts.append(fact(image, "mood", "calm" if number else "tense", **where))
    return frame(facts)


def test_images_whose_prompt_names_the_dimension_are_left_out() -> None:
    counts = count_labels(asked_facts(), people="primary")
    (activities,) = unprompted_counts(counts, PROMPTS).dimensions
    # Labels: baking, reading, running; the label set stays.
    assert activities.labels == ("baking", "reading", "running")
    assert activities.x.tolist() == [[[1, 1, 0], [0, 0, 0], [1, 1, 0]]] * 2
    assert activities.n.tolist() == [[2, 0, 2]] * 2
    assert activities.prompts.prompt == ("cf", "free") * 2
    assert activities.prompts.x.toarray().tolist() == [[1, 1, 0]] * 4
    assert unprompted_counts(counts, None).dimensions == ()
    assert unprompted_counts(counts, PROMPTS.clear()).dimensions == ()


def test_unprompted_twins_by_hand() -> None:
    rows = measure(asked_facts(), prompts=PROMPTS, bootstrap=0)
    where = {"support": "raw", "condition": "CA-U", "dimension": "activities"}
    # Four of eight images run: shares 1/4, 1/4, 1/2; without these, 1/2 and 1/2 of three labels.
    half = 1 - math.log(2) / math.log(3)
    assert point(rows, "bi_pooled", **where) == pytest.approx(1 - 1.5 * math.log(2) / math.log(3))
    assert point(rows, "bi_pooled_unprompted", **where) == pytest.approx(half)
    # No row for what no prompt names; averages have their twin: people alone, then two cohorts.
    assert "mood" not in set(
        rows.filter(pl.col("estimand").str.ends_with("_unprompted"))["dimension"]
    )
    cohort = {"support": "raw", "condition": "CA-U", "dimension": None}
    assert point(rows, "bi_pooled_unprompted", cohort="scene", **cohort) == pytest.approx(0.0)
    overall = point(rows, "bi_pooled_unprompted", cohort="all", **cohort)
    assert overall == pytest.approx(half / 2)
    every = {name.removesuffix("_unprompted") for name in rows["estimand"]
             if name.endswith("_unprompted")}  # fmt: skip
    assert every == {
        "bi_pooled", "effective_labels", "bi_role", "bi_role_miller_madow", "bi_role_grassberger",
    }  # fmt: skip


def test_there_is_no_twin_where_no_prompt_names_anything() -> None:
    for prompts in (None, PROMPTS.with_columns(prompted=pl.lit([], dtype=pl.List(pl.String)))):
        rows = measure(asked_facts(), prompts=prompts, bootstrap=0)
        assert not rows["estimand"].str.ends_with("_unprompted").any()


def test_two_levels_of_unprompted_images() -> None:
    counts = count_labels(asked_facts(), people="primary")
    rows = estimates(counts, bootstrap=50, intervals=("two-level",), prompts=PROMPTS)
    chosen = rows.filter(estimand="bi_pooled_unprompted", dimension="activities", support="raw")
    assert chosen["low"].is_not_null().any()


# ---- what must not matter


COUNTS = st.lists(
    st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=3, max_size=3).filter(
        lambda role: all(map(sum, role))
    ),
    min_size=2,
    max_size=4,
)


def ordered(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort(KEYS, nulls_last=False)


@settings(max_examples=25, deadline=None)
@given(COUNTS, st.permutations(range(3)))
def test_names_of_labels_do_not_matter(x: list[list[list[int]]], order: list[int]) -> None:
    table = np.array(x)
    plain = ordered(estimates(together(one(x)), bootstrap=20))
    renamed = ordered(estimates(together(one(table[:, :, order].tolist())), bootstrap=20))
    for column in ("point", "low", "high"):
        np.testing.assert_allclose(
            plain[column].cast(float).to_numpy(), renamed[column].cast(float).to_numpy(), atol=1e-9
        )


@settings(max_examples=25, deadline=None)
@given(COUNTS)
def test_the_order_of_generators_does_not_matter(x: list[list[list[int]]]) -> None:
    first, second = one(x), one((np.array(x) + 1).tolist(), generator="h")
    there = ordered(estimates(together(first, second), bootstrap=20))
    back = ordered(estimates(together(second, first), bootstrap=20))
    assert there.drop("point", "low", "high").equals(back.drop("point", "low", "high"))
    for column in ("point", "low", "high"):
        np.testing.assert_allclose(
            there[column].cast(float).to_numpy(), back[column].cast(float).to_numpy(), atol=1e-9
        )


@settings(max_examples=25, deadline=None)
@given(COUNTS)
def test_two_equal_generators_have_their_own_mean(x: list[list[list[int]]]) -> None:
    rows = estimates(together(one(x), one(x, generator="h")), bootstrap=20)
    columns = [name for name in KEYS if name not in ("generator", "role")]
    single, mean = (
        rows.filter(pl.col("generator") == name, pl.col("role").is_null()) for name in ("g", MEAN)
    )
    both = single.join(mean, on=columns, nulls_equal=True, suffix="_mean")
    assert both.height == single.height
    for column in ("point", "low", "high"):
        difference = (both[column] - both[f"{column}_mean"]).abs().max()
        assert difference is None or difference < 1e-9


@settings(max_examples=25, deadline=None)
@given(COUNTS)
def test_merging_two_equal_studies_keeps_raw_values(x: list[list[list[int]]]) -> None:
    """Twice the images: plug-in entropy stays; what corrects for few images does not."""
    plain, twice = (
        ordered(estimates(together(one(table.tolist()))))
        for table in (np.array(x), 2 * np.array(x))
    )
    raw = pl.col("support") == "raw", pl.col("estimand").is_in(["bi_pooled", "effective_labels"])
    np.testing.assert_allclose(plain.filter(raw)["point"], twice.filter(raw)["point"], atol=1e-9)
    of_dimension = (*raw, pl.col("dimension").is_not_null(), pl.col("generator") == "g")
    assert twice.filter(of_dimension)["n"].to_list() == [
        2 * n for n in plain.filter(of_dimension)["n"]
    ]
