"""Rows of a specification curve: each choice against the number computed by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.measure.facts import cell, fact, frame

from contextbias.measure.arrays import ReaderCounts, consistency_counts, count_labels
from contextbias.measure.bias import bias_estimates
from contextbias.measure.clustered import with_design_effects
from contextbias.measure.consistency import consistency_estimates
from contextbias.measure.rows import Run, Settings
from contextbias.measure.specifications import (
    CHOICES,
    NUMBERS,
    SHARES,
    Quantity,
    released_row,
    specification_rows,
    verdict_rows,
    with_unknown_as_label,
)
from contextbias.schema import DIMENSIONS
from contextbias.tables import CONDITIONS

RUN = Run("r", "paper", "primary", "1")
PROMPTS = pl.DataFrame(
    {"prompt_id": ["p", "q"], "prompted": [[], ["items"]]},
    schema={"prompt_id": pl.String, "prompted": pl.List(pl.String)},
)


def study() -> pl.DataFrame:
    rng = np.random.default_rng(8)
    rows: list[dict[str, Any]] = []
    for generator in ("g1", "g2"):
        for role in ("baker", "judge", "nurse"):
            for condition in CONDITIONS:
                where = {"generator": generator, "role": role, "condition": condition}
                for name in ("mood", "framing", "pose"):
                    words = (*DIMENSIONS[name].vocabulary[:3], "unknown")
                    sizes = dict(zip(words, rng.integers(1, 9, size=4).tolist(), strict=True))
                    rows += cell(name, sizes, **where)
                for prompt in ("p", "q"):
                    items = dict(
                        zip(("hat", "cup"), rng.integers(1, 6, size=2).tolist(), strict=True)
                    )
                    part = cell("items", items, **where, prompt_id=prompt)
                    rows += [row | {"image_id": f"{prompt}{row['image_id']}"} for row in part]
    return frame(rows)


def counted(attributes: pl.DataFrame | None = None) -> ReaderCounts:
    return count_labels(study() if attributes is None else attributes, people="primary")


def one(rows: pl.DataFrame, **choices: str) -> dict[str, Any]:
    found = rows.filter(pl.col(name) == value for name, value in choices.items())
    assert found.height == 1, found
    return found.row(0, named=True)


PAPER = {"prompted": "counted", "labels": "observed", "estimand": "bi_pooled", "support": "raw"}


@pytest.mark.parametrize(
    "quantity",
    [
        Quantity(),
        Quantity(slot="CA-R", generator="g2"),
        Quantity(slot="all", cohort="people"),
        Quantity(slot="CA-U - CA-R", dimension="mood"),
    ],
)
def test_rows_are_the_estimates_of_the_study(quantity: Quantity) -> None:
    settings = Settings(bootstrap=60, seed=3, prompts=PROMPTS)
    rows = specification_rows(counted(), quantity, RUN, settings)
    assert rows.columns == [*CHOICES, *NUMBERS]
    dimension = pl.col("dimension")
    level = dimension.is_null() & (pl.col("cohort") == quantity.cohort)
    estimates = bias_estimates(counted(), RUN, settings).filter(
        level if quantity.dimension is None else dimension == quantity.dimension,
        pl.coalesce("contrast", "condition") == quantity.slot,
        pl.col("generator") == quantity.generator,
        pl.col("role").is_null(),
    )
    observed = rows.filter(pl.col("labels") == "observed")
    for row in observed.iter_rows(named=True):
        ending = "" if row["prompted"] == "counted" else "_unprompted"
        same = estimates.filter(
            pl.col("estimand") == row["estimand"] + ending, pl.col("support") == row["support"]
        )
        assert same.select(NUMBERS).rows() == [tuple(row[name] for name in NUMBERS)]
    # Only averages that hold items have rows without the images whose prompt names them.
    has_items = quantity.dimension is None and quantity.cohort == "all"
    assert observed.height == (10 if has_items else 5)
    assert {("bi_pooled", "raw"), ("bi_pooled", "equal"), ("bi_role", "equal")} <= set(
        rows.select("estimand", "support").rows()
    )


def test_the_codebooks_labels_only_change_the_scale() -> None:
    quantity = Quantity(slot="CF", dimension="mood", generator="g1")
    rows = specification_rows(counted(), quantity, RUN, Settings(bootstrap=0))
    for estimand, support in (("bi_pooled", "raw"), ("bi_role", "equal")):
        seen, whole = (
            one(rows, labels=labels, estimand=estimand, support=support)["point"]
            for labels in ("observed", "codebook")
        )
        # Three labels seen of ten; the entropy is the same.
        size = len(DIMENSIONS["mood"].vocabulary)
        assert (1 - whole) * np.log(size) == pytest.approx((1 - seen) * np.log(3))
    shift = Quantity(dimension="mood", generator="g1")
    rows = specification_rows(counted(), shift, RUN, Settings(bootstrap=40))
    seen, whole = (one(rows, **PAPER | {"labels": x}) for x in ("observed", "codebook"))
    for name in ("point", "low", "high"):
        assert whole[name] * np.log(size) == pytest.approx(seen[name] * np.log(3))


def test_labels_that_the_reader_cannot_tell_are_not_in_its_codebook() -> None:
    quantity = Quantity(slot="CF", dimension="mood", generator="g1")
    words = DIMENSIONS["mood"].vocabulary
    settings = Settings(bootstrap=0, readable={"mood": words[:3]})
    rows = specification_rows(counted(), quantity, RUN, settings)
    seen, whole = (one(rows, **PAPER | {"labels": x})["point"] for x in ("observed", "codebook"))
    assert seen == whole


def test_open_vocabularies_stay_observed() -> None:
    quantity = Quantity(dimension="items", generator="g1")
    rows = specification_rows(counted(), quantity, RUN, Settings(bootstrap=0))
    seen, whole = (one(rows, **PAPER | {"labels": x})["point"] for x in ("observed", "codebook"))
    assert seen == whole


def test_without_named_dimensions_nothing_is_left_out() -> None:
    rows = specification_rows(counted(), Quantity(cohort="people"), RUN, Settings(bootstrap=0))
    assert set(rows["prompted"]) == {"counted"}


def test_the_released_code_is_one_row() -> None:
    found = released_row(counted(), Quantity(), RUN, Settings(bootstrap=30))
    assert found.height == 1
    assert found.row(0, named=True)["preset"] == "reference"
    assert found.columns == [*CHOICES, *NUMBERS]


def test_an_undefined_quantity_has_no_rows() -> None:
    only_cf = study().filter(pl.col("condition") == "CF")
    assert specification_rows(counted(only_cf), Quantity(), RUN, Settings(bootstrap=10)).is_empty()
    assert specification_rows(counted(frame([])), Quantity(), RUN, Settings()).is_empty()


@pytest.mark.parametrize("estimand", SHARES)
@pytest.mark.parametrize("cohort", ["all", "scene"])
def test_shares_of_verdicts_are_those_of_the_estimates(estimand: str, cohort: str) -> None:
    counts, settings = counted(), Settings(margin_pp=20, prompts=PROMPTS)
    for preset in ("paper", "strict"):
        wide = with_design_effects(consistency_counts(counts), counts)
        whole = consistency_estimates(
            wide, reader="r", preset=preset, people="primary", margin_pp=20, alpha=0.05
        ).filter(pl.col("estimand") == estimand, pl.col("cohort") == cohort)
        shares = dict(whole.select("generator", "point").rows())
        choice = {"preset": preset, "prompted": "counted"}
        for generator, share in shares.items():
            quantity = Quantity(estimand=estimand, slot="all", cohort=cohort, generator=generator)
            found = one(verdict_rows(counts, quantity, RUN, settings), **choice)
            assert found["point"] == share
        mean = Quantity(estimand=estimand, slot="all", cohort=cohort)
        found = one(verdict_rows(counts, mean, RUN, settings), **choice)
        assert found["point"] == pytest.approx(np.mean(list(shares.values())))
        assert (found["n"], found["low"], found["high"]) == (2, None, None)


def test_shares_without_the_images_whose_prompt_names_a_dimension() -> None:
    quantity = Quantity(estimand="share_invariant_paper", slot="all", cohort="objects")
    rows = verdict_rows(counted(), quantity, RUN, Settings(margin_pp=20, prompts=PROMPTS))
    assert set(rows["prompted"]) == {"counted", "left out"}
    assert verdict_rows(counted(frame([])), quantity, RUN, Settings()).is_empty()


def test_unknown_becomes_a_label_and_other_reasons_stay() -> None:
    rows = [
        *cell("mood", {"calm": 2, "unknown": 3, "refused": 1}),
        fact("z", "pose", "no_person", person=None),
    ]
    changed = with_unknown_as_label(frame(rows))
    assert changed["label"].drop_nulls().sort().to_list() == ["calm"] * 2 + ["unknown"] * 3
    assert changed["missing_reason"].drop_nulls().sort().to_list() == ["no_person", "refused"]
    (mood,) = counted(changed).dimensions
    assert (mood.labels, mood.n.sum(), mood.missing.sum()) == (("calm", "unknown"), 5, 1)
