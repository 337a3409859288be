"""What does not change estimates: order, names, and a second helping of the same pictures."""

from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from tests.measure.facts import fact, frame

from contextbias.measure import measure, stage
from contextbias.tables import CONDITIONS

KEYS = ["estimand", "generator", "role", "condition", "contrast", "cohort", "dimension", "label",
        "support", "method"]  # fmt: skip
POINTS = [*KEYS, "point"]

ANSWERS = st.tuples(
    st.sampled_from(["calm", "tense", "joyful", "unknown"]),
    st.lists(st.sampled_from(["hat", "bag", "wig"]), min_size=1, max_size=3, unique=True),
)
CELL = st.lists(ANSWERS, min_size=1, max_size=4)
STUDIES = st.fixed_dictionaries(
    {(g, r, c): CELL for g in "gh" for r in ("baker", "judge") for c in CONDITIONS}
)
few = settings(max_examples=12, deadline=None)


def rows_of(study: dict[Any, Any], tag: str = "") -> list[dict[str, Any]]:
    rows = []
    for (generator, role, condition), images in study.items():
        for number, (mood, items) in enumerate(images):
            where = {"generator": generator, "role": role, "condition": condition,
                     "prompt_id": f"{role}-{condition}", "variant": "cf/phrasing-1"}  # fmt: skip
            image = f"{generator}-{role}-{condition}-{number}{tag}"
            said = [("mood", mood), *(("items", item) for item in items)]
            rows += [fact(image, dimension, word, **where) for dimension, word in said]
    return rows


def estimates(attributes: pl.DataFrame) -> pl.DataFrame:
    return measure(attributes, bootstrap=20, sections=stage.CORE)


@few
@given(STUDIES, st.integers(0, 99))
def test_order_of_rows_and_generators(study: dict[Any, Any], seed: int) -> None:
    attributes = frame(rows_of(study))
    mixed = attributes.sample(fraction=1, shuffle=True, seed=seed)
    assert estimates(attributes).equals(estimates(mixed))
    backwards = frame(rows_of(dict(reversed(study.items()))))
    assert estimates(attributes).equals(estimates(backwards))


@few
@given(STUDIES)
def test_names_of_generators_and_roles_mean_nothing(study: dict[Any, Any]) -> None:
    attributes = frame(rows_of(study))
    # Roles keep their order, so that the bootstrap draws the same ones.
    new = {"generator": {"g": "zeta", "h": "alpha"}, "role": {"baker": "a role", "judge": "b"}}
    names = [pl.col(name).replace(words) for name, words in new.items()]
    renamed = estimates(attributes.with_columns(names)).sort(KEYS)
    expected = estimates(attributes).with_columns(names).sort(KEYS)
    assert_frame_equal(renamed, expected, check_exact=False, abs_tol=1e-12)


@few
@given(STUDIES)
def test_names_of_labels_mean_nothing_to_bias_intensity(study: dict[Any, Any]) -> None:
    attributes = frame(rows_of(study))
    new = {"calm": "whimsical", "tense": "dramatic", "hat": "a", "wig": "z"}
    changed = attributes.with_columns(pl.col("label").replace(new))
    points = [
        estimates(each)
        .filter(pl.col("estimand").str.starts_with("bi_"))
        .select(*KEYS, "point", "low", "high")
        for each in (attributes, changed)
    ]
    assert_frame_equal(*points, abs_tol=1e-12)


@few
@given(STUDIES)
def test_two_equal_studies_have_the_points_of_one_and_twice_the_images(
    study: dict[Any, Any],
) -> None:
    once = frame(rows_of(study))
    twice = pl.concat([once, frame(rows_of(study, "-again"))])
    one, two = (
        estimates(each).filter(
            pl.col("estimand").is_in(["bi_pooled", "prevalence", "range_pp"]),
            pl.col("support").is_null() | (pl.col("support") == "raw"),
        )
        for each in (once, twice)
    )
    assert_frame_equal(one.select(POINTS), two.select(POINTS), abs_tol=1e-12)
    images = pl.col("estimand").is_in(["prevalence"])
    counted = one.filter(images)["n"] * 2
    assert counted.equals(two.filter(images)["n"])
    dimension = (pl.col("estimand") == "bi_pooled") & pl.col("dimension").is_not_null()
    own = dimension & (pl.col("generator") != "mean")
    assert (one.filter(own)["n"] * 2).equals(two.filter(own)["n"])
