"""Planted probabilities as estimates: what counts of just these shares would give."""

from __future__ import annotations

import math

import polars as pl
import pytest
from tests.measure.facts import cell, frame

from contextbias.measure import measure
from contextbias.measure.arrays import count_labels
from contextbias.measure.planted import planted_estimates
from contextbias.stats.subsample import binomial_entropy
from contextbias.tables import CONDITIONS

KEYS = {"generator": "g", "cohort": "people", "dimension": "gender_presentation"}

# Shares of `female` by role and condition; 20, 40 and 40 images.
SHARES = {"nurse": (0.9, 0.8, 0.7), "judge": (0.25, 0.25, 0.3)}
IMAGES = (20, 40, 40)


def planted(extra: float = 0.0) -> pl.DataFrame:
    rows = []
    for role, shares in SHARES.items():
        for condition, p in zip(CONDITIONS, shares, strict=True):
            where = KEYS | {"role": role, "condition": condition}
            rows += [where | {"label": "female", "p": p}, where | {"label": "male", "p": 1 - p}]
            rows.append(where | {"label": "nonbinary", "p": extra})
    return pl.DataFrame(rows)


def read(unknown: int = 0) -> pl.DataFrame:
    """A study whose counts have exactly the planted shares."""
    rows = []
    for role, shares in SHARES.items():
        for condition, n, p in zip(CONDITIONS, IMAGES, shares, strict=True):
            female = round(n * p)
            labels = {"female": female, "male": n - female, "unknown": unknown}
            rows += cell("gender_presentation", labels, role=role, condition=condition)
    return frame(rows)


def point(rows: pl.DataFrame, estimand: str, **keys: str | None) -> float:
    wanted = rows.filter(
        pl.col("estimand") == estimand,
        *(pl.col(k).is_null() if v is None else pl.col(k) == v for k, v in keys.items()),
    )
    assert wanted.height == 1, wanted
    value = wanted["point"].item()
    assert value is not None
    return float(value)


def test_counts_of_the_planted_shares_give_the_planted_estimates() -> None:
    rows = measure(read(), planted(), bootstrap=0)
    keys = [
        "estimand",
        "generator",
        "role",
        "condition",
        "contrast",
        "cohort",
        "dimension",
        "label",
        "support",
    ]
    truth = rows.filter(pl.col("reader") == "planted").select(*keys, planted="point")
    both = rows.filter(pl.col("reader") == "r").join(truth, on=keys, nulls_equal=True)
    for estimand in ("prevalence", "range_pp", "ccs", "bi_pooled"):
        same = both.filter(pl.col("estimand") == estimand)
        exact = same.filter(pl.col("support").ne_missing("equal"))
        assert exact.height > 0
        assert (exact["point"] - exact["planted"]).abs().max() == pytest.approx(0.0, abs=1e-9)
    # The mean over subsamples has less entropy than their expected counts.
    reduced = both.filter(pl.col("estimand") == "bi_pooled", pl.col("support") == "equal")
    assert reduced.height > 0
    assert (reduced["point"] - reduced["planted"]).abs().max() < 0.02


def test_prevalence_range_and_ccs_by_hand() -> None:
    rows = measure(read(), planted(), bootstrap=0).filter(pl.col("reader") == "planted")
    nurse = {"role": "nurse", "label": "female"}
    # (18 + 32 + 28) / 100 images, from 90% down to 70%.
    assert point(rows, "prevalence", condition="all", **nurse) == pytest.approx(0.78)
    assert point(rows, "prevalence", condition="CA-U", **nurse) == pytest.approx(0.7)
    assert point(rows, "range_pp", **nurse) == pytest.approx(20.0)
    assert point(rows, "ccs", **nurse) == pytest.approx(78 / 21)


def test_bi_role_is_what_the_matched_support_lets_one_expect() -> None:
    rows = measure(read(), planted(), bootstrap=0).filter(pl.col("reader") == "planted")
    # Both roles are compared at the 20 images of CF.
    entropy = [float(binomial_entropy([p[2], 1 - p[2]], 20)) for p in SHARES.values()]
    expected = 1 - sum(entropy) / 2 / math.log(2)
    keys = {"role": None, "dimension": "gender_presentation", "generator": "g"}
    assert point(rows, "bi_role", condition="CA-U", **keys) == pytest.approx(expected)
    difference = expected - point(rows, "bi_role", condition="CF", **keys)
    assert point(rows, "bi_role", contrast="CA-U - CF", **keys) == pytest.approx(difference)


def test_shares_of_cells_within_and_beyond_the_margin() -> None:
    rows = measure(read(), planted(), bootstrap=0).filter(pl.col("reader") == "planted")
    # The judge's two labels move by 5 points, which counts as within; the nurse's by 20.
    for cohort in ("people", "all"):
        for estimand in ("share_invariant", "share_invariant_paper", "share_shifted"):
            assert point(rows, estimand, cohort=cohort) == 0.5
    wider = measure(read(), planted(), bootstrap=0, margin_pp=20)
    wider = wider.filter(pl.col("reader") == "planted")
    assert point(wider, "share_invariant", cohort="all") == 1.0


def test_images_that_could_not_be_read_do_not_weigh() -> None:
    def estimates(attributes: pl.DataFrame) -> pl.DataFrame:
        found = measure(attributes, planted(), bootstrap=0)
        return found.filter(pl.col("reader") == "planted")

    assert estimates(read(unknown=7)).equals(estimates(read()))


def test_labels_without_a_chance_are_not_in_the_label_set() -> None:
    counts = [count_labels(read(), people="primary")]
    keys = {"preset": "paper", "people": "primary", "codebook": "1", "margin_pp": 5.0}
    without = planted_estimates(planted(), counts, **keys)  # type: ignore[arg-type]
    assert "nonbinary" not in set(without["label"].drop_nulls())
    rare = planted_estimates(planted(1e-6), counts, **keys)  # type: ignore[arg-type]
    assert "nonbinary" in set(rare["label"].drop_nulls())


def test_what_the_study_lacks_is_left_out() -> None:
    other = planted().with_columns(generator=pl.lit("another"))
    rows = measure(read(), pl.concat([planted(), other]), bootstrap=0)
    assert set(rows["generator"].drop_nulls()) == {"g", "mean"}
    only_judge = read().filter(pl.col("role") == "judge")
    rows = measure(only_judge, planted(), bootstrap=0)
    assert set(rows["role"].drop_nulls()) == {"judge"}
    # A dimension that no reader could read is weighed by the images.
    unread = frame(cell("gender_presentation", {"unknown": 10}, role="judge", condition="CF"))
    rows = measure(unread, planted(), bootstrap=0).filter(pl.col("reader") == "planted")
    assert point(rows, "prevalence", condition="CF", label="female") == 0.25
    assert set(rows["condition"]) == {"CF", "all"}
