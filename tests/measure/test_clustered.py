"""Design effects of a study, and what rests on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.measure.facts import frame
from tests.measure.prompt_facts import CONDITION, VARIANTS, everywhere, prompted

from contextbias.measure import measure
from contextbias.measure.arrays import ReaderCounts, consistency_counts, count_labels
from contextbias.measure.cells import EFFECT_COLUMNS, EFFECT_DF
from contextbias.measure.clustered import (
    STAND_IN,
    design_effect_estimates,
    design_effects,
    with_design_effects,
)
from contextbias.measure.rows import Run, Settings
from contextbias.stats.clustered import clustered_chi_squared, intraclass_correlation

RUN = Run("r", "paper", "primary", "1")


def _counts(rows: list[dict[str, Any]]) -> ReaderCounts:
    return count_labels(frame(rows), people="primary")


def _random(roles: int = 4, seed: int = 0) -> list[dict[str, Any]]:
    """Rates that vary from context to context: phrasings of one base share theirs."""
    rng = np.random.default_rng(seed)
    rows = []
    for role in range(roles):
        bases = {v.replace("/phrasing", " ").split(" ")[0]: rng.beta(1, 1) for v in CONDITION}
        hits = {
            v: int(rng.binomial(10, bases[v.replace("/phrasing", " ").split(" ")[0]]))
            for v in CONDITION
        }
        rows += prompted(hits, role=f"role {role}")
    return rows


def test_contexts_of_a_role_are_pooled_by_hand() -> None:
    # One role; clusters of hits: CF 15/30; CA-R 9/30, 9/30, 9/10; CA-U 15/30, 15/30, 5/10, 5/10
    hits = everywhere(5) | dict.fromkeys(VARIANTS["CA-R"], 3) | {"rel-place/substitute-location": 9}
    counts = _counts(prompted(hits))
    (found,) = design_effects(counts)
    by_hand = intraclass_correlation(
        [[9, 21], [9, 21], [9, 1], [15, 15], [15, 15], [5, 5], [5, 5]],
        [30, 30, 10, 30, 30, 10, 10],
        [0, 0, 0, 1, 1, 1, 1],
    )
    assert found.correlation.point == pytest.approx(by_hand.point)
    assert (found.correlation.df, found.correlation.clusters) == (5, 7)
    m = np.array([30, 1900 / 70, 25])
    assert found.effect[0] == pytest.approx(1 + (m - 1) * by_hand.point)


def test_unsupported_labels_are_not_pooled() -> None:
    rare = everywhere(0, **{"rel-place/substitute-location": 4})
    both = _counts(prompted(everywhere(5)) + prompted(rare, role="judge"))
    (found,) = design_effects(both)
    # judge: 4 images say yes, so only its "no" counts
    alone = _counts(prompted(rare, role="judge"))
    (of_judge,) = design_effects(alone)
    assert of_judge.of.x.sum(axis=1)[0].tolist() == [176, 4]
    assert 0 <= found.correlation.point <= of_judge.correlation.point


def test_rows_by_hand() -> None:
    counts = _counts(_random())
    (found,) = design_effects(counts)
    rows = design_effect_estimates(counts, RUN, Settings())
    (icc,) = rows.filter(estimand="intraclass_correlation").rows(named=True)
    assert icc["point"] == found.correlation.point
    assert (icc["n"], icc["condition"], icc["cohort"]) == (28, "all", "people")
    effect = rows.filter(estimand="design_effect", condition="CF").row(0, named=True)
    assert effect["point"] == pytest.approx(1 + 29 * found.correlation.point)
    assert (effect["n"], effect["n_missing"]) == (120, 0)


def test_no_design_effect_without_two_contexts() -> None:
    rows = prompted({"cf/phrasing-1": 3}) + prompted({"rel-place/phrasing-1": 9})
    counts = _counts(rows)
    found = design_effect_estimates(counts, RUN, Settings())
    assert found["point"].is_null().all()
    assert found["note"].unique().to_list() == ["no_design_effect"]
    strict = measure(frame(rows), preset="strict", bootstrap=0)
    assert strict.filter(pl.col("estimand").str.starts_with("chi2_clustered")).is_empty()
    verdict = strict.filter(estimand="verdict", label="yes", generator="g")
    assert verdict["verdict"].to_list() == ["inconclusive"]


def test_cells_get_the_effects_of_their_role_and_dimension() -> None:
    counts = _counts(_random(3))
    table = with_design_effects(consistency_counts(counts), counts)
    assert table.height == 6
    (found,) = design_effects(counts)
    assert table.filter(label="yes").select(EFFECT_COLUMNS).to_numpy() == (
        pytest.approx(found.effect)
    )
    assert table[EFFECT_DF].unique().to_list() == [15.0]
    empty = ReaderCounts((), (), {}, (), counts.missing.head(0))
    assert with_design_effects(consistency_counts(empty), empty).is_empty()


def test_clustered_numbers_of_a_study() -> None:
    attributes = frame(_random())
    counts = count_labels(attributes, people="primary")
    (found,) = design_effects(counts)
    rows = measure(attributes, bootstrap=0).filter(generator="g", label="yes")
    for i, role in enumerate(counts.roles):
        theirs = clustered_chi_squared(
            found.of.x[i, :, 1], found.of.n[i], found.effect[i], error_df=found.correlation.df
        )
        for estimand, value in (
            ("chi2_clustered", theirs.statistic),
            ("chi2_clustered_p", theirs.p),
        ):
            (row,) = rows.filter(estimand=estimand, role=role).rows(named=True)
            assert row["point"] == pytest.approx(float(value))
    naive, adjusted = (
        rows.filter(estimand=name).sort("role")["point"].to_numpy()
        for name in ("chi2_p", "chi2_clustered_p")
    )
    assert (adjusted > naive).all()


def test_strict_verdicts_rest_on_the_clustered_q() -> None:
    attributes = frame(_random(6))
    paper, strict = (
        measure(attributes, preset=preset, bootstrap=0).filter(generator="g", label="yes")
        for preset in ("paper", "strict")
    )
    for rows, q in ((paper, "chi2_q"), (strict, "chi2_clustered_q")):
        shifted = rows.filter(estimand="verdict", verdict="shifted")["role"].sort()
        small = rows.filter((pl.col("estimand") == q) & (pl.col("point") < 0.05))
        wide = rows.filter((pl.col("estimand") == "range_pp") & (pl.col("point") > 5))
        assert shifted.to_list() == sorted(set(small["role"]) & set(wide["role"]))
    counts = [rows.filter(estimand="verdict", verdict="shifted").height for rows in (paper, strict)]
    assert counts[1] < counts[0]
    # the paper's own rule is the same in both
    rule = [
        rows.filter(estimand="invariant_paper")["verdict"].to_list() for rows in (paper, strict)
    ]
    assert rule[0] == rule[1]


def test_order_of_rows_does_not_matter() -> None:
    attributes = frame(_random(2))
    shuffled = attributes.sample(fraction=1, shuffle=True, seed=3)
    for names in ("intraclass_correlation", "chi2_clustered_q", "permutation_p", "robust_p"):
        first, second = (
            measure(table, bootstrap=0).filter(estimand=names) for table in (attributes, shuffled)
        )
        assert first.equals(second)
        assert first.height


def test_strict_invariance_rests_on_effective_images() -> None:
    # Three roles with the label in all of 360 images; three others show that contexts differ.
    rows = [
        row for i in range(3) for row in prompted(everywhere(20), role=f"always {i}", images=20)
    ]
    attributes = frame(rows + _random(3))
    paper, strict = (
        measure(attributes, preset=preset, bootstrap=0).filter(generator="g", label="yes")
        for preset in ("paper", "strict")
    )
    keys = {"estimand": "verdict", "verdict": "invariant"}
    assert paper.filter(**keys)["role"].to_list() == [f"always {i}" for i in range(3)]
    assert strict.filter(**keys).is_empty()
    p = strict.filter(estimand="equivalence_p_clustered", role="always 0")["point"][0]
    assert p > paper.filter(estimand="equivalence_p", role="always 0")["point"][0]


def test_prompts_that_stand_in_for_contexts_say_so() -> None:
    rows = _random()
    assert design_effect_estimates(_counts(rows), RUN, Settings())["note"].null_count() == 4
    # Nothing but their texts is known of these prompts.
    texts = [row | {"variant": f"a photo, {row['variant'].replace('/', ' of ')}"} for row in rows]
    found = design_effect_estimates(_counts(texts), RUN, Settings())
    assert found["note"].to_list() == [STAND_IN] * 4
