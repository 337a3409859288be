"""Permutation of prompts in a study."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.measure.facts import frame
from tests.measure.prompt_facts import VARIANTS, everywhere, prompted

from contextbias.measure.arrays import count_labels
from contextbias.measure.permuted import permutation_estimates
from contextbias.measure.rows import Run, Settings
from contextbias.stats.permutation import permutation_p

RUN = Run("r", "paper", "primary", "1")


def _estimates(rows: list[dict[str, Any]], **settings: Any) -> pl.DataFrame:
    counts = count_labels(frame(rows), people="primary")
    return permutation_estimates(counts, RUN, Settings(**settings))


def test_a_clear_shift() -> None:
    hits = everywhere(1, **dict.fromkeys(VARIANTS["CA-U"], 9))
    found = _estimates(prompted(hits)).filter(label="yes")
    by = {row["method"]: row for row in found.rows(named=True)}
    assert by["prompts"]["point"] == pytest.approx(1 / 1000)
    # The four contexts with 9 of 10 stand alone in CA-U, or fill CF and CA-R: 4 ways each.
    assert by["contexts"]["point"] == pytest.approx(8 / 280)
    assert {(row["n"], row["condition"]) for row in by.values()} == {(180, "all")}


def test_contexts_against_the_statistic_itself() -> None:
    rng = np.random.default_rng(0)
    hits = {variant: int(rng.integers(0, 11)) for variant in everywhere(0)}
    found = _estimates(prompted(hits)).filter(label="yes", method="contexts")
    bases = {"CF": ["cf"], "CA-R": ["rel-place", "rel-activity"],
             "CA-U": ["unrel-place", "unrel-activity"]}  # fmt: skip
    x, n, condition = [], [], []
    for number, (name, contexts) in enumerate(bases.items()):
        for base in contexts:
            x.append(sum(v for k, v in hits.items() if k.startswith(f"{base}/phrasing")))
            n.append(30)
            condition.append(number)
        for variant in VARIANTS[name]:
            if "substitute" in variant:
                x.append(hits[variant])
                n.append(10)
                condition.append(number)
    theirs = permutation_p(
        np.array(x)[:, None], np.array(n)[:, None], condition, rng=np.random.default_rng(0)
    )
    assert theirs.complete
    assert found["point"].to_list() == pytest.approx(theirs.p.tolist())


def test_other_roles_and_their_order_change_nothing() -> None:
    rng = np.random.default_rng(1)
    roles = {
        role: prompted({v: int(rng.integers(2, 9)) for v in everywhere(0)}, role=role)
        for role in ("a", "b", "c")
    }
    every = _estimates([row for rows in roles.values() for row in rows])
    for role, rows in roles.items():
        assert _estimates(rows[::-1]).equals(every.filter(role=role))


def test_the_seed_is_used() -> None:
    hits = {variant: number % 7 for number, variant in enumerate(everywhere(0))}
    first, second = (
        _estimates(prompted(hits), seed=seed).filter(method="prompts", label="yes")["point"][0]
        for seed in (1, 2)
    )
    assert first != second
    assert first == pytest.approx(second, abs=0.1)


def test_what_has_no_row() -> None:
    # three prompts in two conditions: six ways at most, no p as small as .05
    few = {"cf/phrasing-1": 3, "rel-place/phrasing-1": 9, "rel-place/phrasing-2": 9}
    assert _estimates(prompted(few)).is_empty()
    # never, and always
    assert _estimates(prompted(everywhere(0))).is_empty()
    # one condition
    assert _estimates(prompted(dict.fromkeys(VARIANTS["CA-U"], 4))).is_empty()
    # unsupported
    found = _estimates(prompted(everywhere(0, **{"cf/phrasing-1": 4})))
    assert found["label"].unique().to_list() == ["no"]


def test_roles_with_lost_prompts_have_a_layout_of_their_own() -> None:
    whole = {variant: number % 5 for number, variant in enumerate(everywhere(0))}
    less = {name: value for name, value in whole.items() if name != "cf/phrasing-2"}
    together = _estimates(prompted(whole) + prompted(less, role="judge"))
    alone = _estimates(prompted(less, role="judge"))
    assert together.filter(role="judge").equals(alone)
    assert together.filter(role="nurse").height == 4
