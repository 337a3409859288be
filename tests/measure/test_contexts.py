"""Distinct contexts by condition."""

from __future__ import annotations

import polars as pl
from tests.measure.facts import fact, frame

from contextbias.measure import measure

PROMPTS = pl.DataFrame(
    {
        "prompt_id": ["free", "park", "park again", "walk", "lake", "unused"],
        "base": ["cf", "rel-place", "rel-place", "rel-activity", "rel-place", "rel-place"],
        "location": [None, "park", "park", "park", "lake", "moon"],
        "activity": [None, None, None, "walking", None, None],
        "prompted": [[], [], [], ["activities"], [], []],
    },
    schema_overrides={"prompted": pl.List(pl.String)},
)


def facts(**prompts: list[str]) -> pl.DataFrame:
    """Two images of each prompt: condition (with ``_`` for ``-``) -> prompt ids."""
    return frame(
        fact(
            f"{prompt} {label}", "mood", label, condition=condition.replace("_", "-"),
            prompt_id=prompt, variant=prompt,
        )
        for condition, ids in prompts.items()
        for prompt in ids
        for label in ("calm", "tense")
    )  # fmt: skip


def contexts(
    attributes: pl.DataFrame, prompts: pl.DataFrame | None = PROMPTS
) -> list[tuple[object, ...]]:
    rows = measure(attributes, bootstrap=0, prompts=prompts)
    found = rows.filter(pl.col("estimand") == "distinct_contexts").sort("condition")
    # Where nothing is known, the row says so.
    assert found.filter(pl.col("point").is_null() != (pl.col("note") == "not_defined")).is_empty()
    return found.select("condition", "point", "n", "n_missing").rows()


def test_pairs_of_location_and_activity_are_counted_once() -> None:
    # CA-R: (park, -) twice, (park, walking), (lake, -): 3 of 4 prompts. "unused" has no image.
    asked = facts(CF=["free"], CA_R=["park", "park again", "walk", "lake"])
    assert contexts(asked) == [("CA-R", 3.0, 4, 0), ("CF", 0.0, 1, 0)]


def test_prompts_of_which_nothing_is_known_are_missing_not_none() -> None:
    asked = facts(CA_U=["park", "stranger"], CA_R=["stranger too"])
    assert contexts(asked) == [("CA-R", None, 0, 1), ("CA-U", 1.0, 1, 1)]


def test_without_prompts_there_is_no_row() -> None:
    assert contexts(facts(CF=["free"]), None) == []


def test_images_that_came_without_prompts_have_no_row() -> None:
    # What stands for their prompt is in the table of prompts, too: of CF, and of any condition.
    imported = PROMPTS.with_columns(base=pl.lit("imported"), location=pl.lit(None, pl.String))
    assert contexts(facts(CF=["free"], CA_R=["park"]), imported) == []
    mixed = pl.concat([imported.filter(pl.col("prompt_id") == "free"), PROMPTS[1:]])
    assert contexts(facts(CF=["free"], CA_R=["park"]), mixed) == [("CA-R", 1.0, 1, 0)]
