"""Robustness to reformulation."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from scipy import stats
from tests.measure.facts import cell, fact, frame
from tests.measure.prompt_facts import everywhere, prompted

from contextbias.measure.arrays import count_labels
from contextbias.measure.robustness import KINDS, robustness_estimates
from contextbias.measure.rows import Run, Settings

RUN = Run("r", "paper", "primary", "1")


def _estimates(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return robustness_estimates(count_labels(frame(rows), people="primary"), RUN, Settings())


def _point(found: pl.DataFrame, **keys: Any) -> tuple[float, int]:
    (row,) = found.filter(
        pl.col(name).is_null() if value is None else pl.col(name) == value
        for name, value in keys.items()
    ).rows(named=True)
    return row["point"], row["n"]


def test_what_is_compared_with_what_by_hand() -> None:
    # CA-R: rel-place 2, 4, 6 and the substitute 8; rel-activity 5, 5, 5; 10 images each
    found = _estimates(
        prompted(
            everywhere(
                5,
                **{f"rel-place/phrasing-{i}": 2 * i for i in (1, 2, 3)},
                **{"rel-place/substitute-location": 8},
            )
        )
    )

    def chi(*rates: tuple[int, int]) -> float:
        x = [hits for hits, _ in rates]
        rest = [n - hits for hits, n in rates]
        return float(stats.chi2_contingency([x, rest], correction=False).statistic)

    p = {
        # rel-activity adds 0 to the statistic and 2 to the degrees of freedom
        "variants": stats.chi2.sf(chi((2, 10), (4, 10), (6, 10), (8, 10)), 3 + 2),
        "phrasing": stats.chi2.sf(chi((2, 10), (4, 10), (6, 10)), 2 + 2),
        "substitution": stats.chi2.sf(chi((12, 30), (8, 10)), 1),
        "condition": stats.chi2.sf(chi((2, 10), (4, 10), (6, 10), (8, 10), *[(5, 10)] * 3), 6),
    }
    n = {"variants": 70, "phrasing": 60, "substitution": 40, "condition": 70}
    for kind in KINDS:
        where = {"condition": "CA-R", "method": kind, "generator": "g", "cohort": "all"}
        # both labels, "yes" and "no", have the same p
        mean, pairs = _point(found, estimand="robust_p_mean", support="supported", **where)
        assert (mean, pairs) == (pytest.approx(p[kind]), 2)
        share, _ = _point(found, estimand="share_robust", support="supported", **where)
        assert share == (p[kind] > 0.05)
    for label in ("yes", "no"):
        keys = {"estimand": "robust_p", "condition": "CA-R", "label": label, "role": "nurse"}
        assert _point(found, **keys) == (pytest.approx(p["variants"]), n["variants"])


def test_empty_pairs_are_robust_for_nothing() -> None:
    # judge says yes in no image: the pair (judge, yes) is among all pairs, not among supported ones
    found = _estimates(
        prompted(everywhere(0, **{"cf/phrasing-1": 10})) + prompted(everywhere(0), role="judge")
    )
    where = {"condition": "CF", "method": "variants", "cohort": "people", "dimension": None}
    where |= {"estimand": "share_robust", "generator": "g"}
    # supported: nurse yes (10 of 30, all in one phrasing) and no, judge no
    assert _point(found, support="supported", **where) == (pytest.approx(1 / 3), 3)
    assert _point(found, support="all", **where) == (pytest.approx(2 / 4), 4)
    mean = {**where, "estimand": "robust_prevalence_mean"}
    assert _point(found, support="all", **mean)[0] == pytest.approx((1 / 3 + 2 / 3 + 0 + 1) / 4)
    # in CA-R the label never occurs: two pairs of "no" are supported, and nothing can differ
    where["condition"] = "CA-R"
    assert _point(found, support="supported", **where) == (1, 2)
    assert _point(found, support="all", **where) == (1, 4)
    cells = found.filter(estimand="robust_p", condition="CA-R")
    assert cells.select("label", "point", "note").unique().rows() == [("no", 1.0, "degenerate")]


def test_conditions_cohorts_and_generators() -> None:
    hits = everywhere(5, **{"cf/phrasing-1": 0, "cf/phrasing-2": 10})
    rows = prompted(hits, generator="g") + prompted(everywhere(5), generator="h")
    found = _estimates(rows).filter(estimand="share_robust", support="supported", method="variants")
    where = {"cohort": "all", "dimension": None}
    assert _point(found, generator="g", condition="CF", **where) == (0, 2)
    assert _point(found, generator="g", condition="all", **where) == (pytest.approx(4 / 6), 6)
    assert _point(found, generator="mean", condition="all", **where) == (pytest.approx(5 / 6), 2)
    assert _point(
        found, generator="g", condition="CF", cohort="people", dimension="tattoo_present"
    ) == (0, 2)


def test_the_leave_one_out_sum_stands_beside() -> None:
    # 0, 5 and 10 of 10: E = 7.5, 5, 2.5; the sum is 7.5 + 0 + 22.5 = 30 for both labels
    hits = {"cf/phrasing-1": 0, "cf/phrasing-2": 5, "cf/phrasing-3": 10}
    found = _estimates(prompted(hits))
    where = {"condition": "CF", "method": "condition", "cohort": "all", "support": "all"}
    mean, _ = _point(found, estimand="robust_p_mean_leave_one_out", **where)
    assert mean == pytest.approx(stats.chi2.sf(30, 2))
    assert _point(found, estimand="share_robust_leave_one_out", **where) == (0, 2)


def test_prompts_without_variants_compare_the_condition_only() -> None:
    rows = prompted({"a": 2, "b": 7})
    found = _estimates(rows)
    assert found["method"].unique().to_list() == ["condition"]
    assert "robust_p" not in found["estimand"]


def test_further_axes_are_no_reformulation() -> None:
    rows = prompted({"rel-place/lighting-dusk": 2, "rel-place/lighting-noon": 7})
    found = _estimates(rows)
    assert found["method"].unique().to_list() == ["condition"]


def test_nothing_to_compare_gives_no_rows() -> None:
    assert _estimates(cell("age_range", {"teen": 4})).is_empty()
    assert _estimates([fact("1", "items", "empty")]).is_empty()
    assert _estimates([]).is_empty()


def test_the_same_facts_give_the_same_bits() -> None:
    """Sums of floats depend on their order: it has to be that of the keys, in every run."""
    rows = []
    for generator in "abcdefg":
        for role in ("judge", "nurse", "welder"):
            hits = {v: (3 * i + len(rows)) % 11 for i, v in enumerate(everywhere(0))}
            rows += prompted(hits, generator=generator, role=role)
    first = _estimates(rows)
    keys = [name for name in first.columns if name not in ("point", "n")]
    first = first.sort(keys)
    for _ in range(5):
        assert first.equals(_estimates(rows).sort(keys))
