"""Coverage by how the most prominent person is presented."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from tests.measure.facts import fact, frame

from contextbias.measure.arrays import count_readers
from contextbias.measure.coverage import coverage_estimates
from contextbias.measure.facts import Readable
from contextbias.measure.rows import ESTIMATE_SCHEMA, Run, Settings
from contextbias.stats.proportion import wilson

RUN = Run("r", "paper", "primary", "1")
GENDER = "coverage_by_gender_presentation"
TONE = "coverage_by_skin_tone"


def image(name: str, gender: str, tone: str = "unknown", **others: str) -> list[dict[str, Any]]:
    """The facts of one image; keywords that are no dimension are fields of each fact."""
    fields = {key: others.pop(key) for key in ("generator", "condition") if key in others}
    said = {"gender_presentation": gender, "skin_tone": tone, **others}
    return [fact(name, dimension, label, **fields) for dimension, label in said.items()]


def estimates(
    rows: list[dict[str, Any]], readable: Readable | None = None, alpha: float = 0.05
) -> dict[tuple[str, str, str, str], tuple[Any, ...]]:
    attributes = frame(rows)
    (counts,) = count_readers(attributes, people="primary").values()
    settings = Settings(readable=readable, attributes=attributes.lazy(), alpha=alpha)
    found = coverage_estimates(counts, RUN, settings)
    assert dict(found.schema) == ESTIMATE_SCHEMA
    keys = ("estimand", "generator", "dimension", "label")
    values = ("point", "low", "high", "n", "n_missing")
    return {row[:4]: row[4:] for row in found.select(*keys, *values).iter_rows()}


def test_by_hand() -> None:
    found = estimates(
        [
            *image("a", "female", "light", age_range="young_adult", accessories="empty"),
            *image("b", "female", "dark", age_range="unknown", accessories="bag", condition="CA-R"),
            *image("c", "female", "unknown", age_range="unknown", accessories="unknown"),
            *image("d", "male", "dark", age_range="child", accessories="unknown"),
            *image("e", "unknown", "dark", age_range="unknown", accessories="unknown"),
        ]
    )
    # Presented as female: a, b, c; the age of a was answered, the accessories of a (none) and b.
    assert found[GENDER, "g", "age_range", "female"][::3] == (1 / 3, 3)
    assert found[GENDER, "g", "accessories", "female"][::3] == (2 / 3, 3)
    assert found[GENDER, "g", "skin_tone", "female"][::3] == (2 / 3, 3)
    assert found[GENDER, "g", "age_range", "male"][::3] == (1.0, 1)
    assert found[GENDER, "g", "age_range", "unknown"][::3] == (0.0, 1)
    # Dark skin tones: b, d, e.
    assert found[TONE, "g", "age_range", "dark"][::3] == (1 / 3, 3)
    assert found[TONE, "g", "gender_presentation", "dark"][::3] == (2 / 3, 3)
    assert found[TONE, "g", "gender_presentation", "unknown"][::3] == (1.0, 1)
    # A grouping says nothing about itself.
    assert not {(TONE, "skin_tone"), (GENDER, "gender_presentation")} & {k[::2] for k in found}
    low, high = (float(end) for end in (wilson(1, 3).low, wilson(1, 3).high))
    assert found[GENDER, "g", "age_range", "female"] == (1 / 3, low, high, 3, 2)


def test_several_labels_are_one_answer_and_only_the_most_prominent_person_counts() -> None:
    found = estimates(
        [
            *image("a", "female", accessories="bag"),
            fact("a", "accessories", "watch"),
            fact("a", "gender_presentation", "male", person=1),
            fact("a", "accessories", "unknown", person=1),
        ]
    )
    assert found[GENDER, "g", "accessories", "female"][::3] == (1.0, 1)
    assert {label for *_, label in found} == {"female", "unknown"}  # skin tone unknown


def test_a_question_that_does_not_arise_is_not_unanswered() -> None:
    found = estimates(
        [
            *image("a", "female", facial_hair_color="not_applicable"),
            *image("b", "male", facial_hair_color="black"),
            *image("c", "male", facial_hair_color="unknown"),
        ]
    )
    colors = {key[3]: row for key, row in found.items() if key[2] == "facial_hair_color"}
    assert colors["male"][::3] == (1 / 2, 2)
    assert "female" not in colors


def test_the_same_file_under_two_prompts_counts_twice() -> None:
    rows = image("a", "female", age_range="child")
    again = [row | {"prompt_id": "q"} for row in rows]
    assert estimates(rows + again)[GENDER, "g", "age_range", "female"][::3] == (1.0, 2)


@pytest.mark.parametrize("reason", ["no_person", "error", "not_read", "refused"])
def test_images_without_a_person_or_a_reading_are_in_no_group(reason: str) -> None:
    rows = image("a", reason, reason, age_range=reason)
    assert estimates([row | {"person": None} for row in rows]) == {}


def test_what_the_reader_cannot_read_is_neither_grouping_nor_row() -> None:
    rows = image("a", "female", "not_readable", age_range="child", pose="not_readable")
    rows = [r | {"person": None} if r["missing_reason"] == "not_readable" else r for r in rows]
    assert set(estimates(rows)) == {(GENDER, "g", "age_range", "female")}
    # One label alone reads as 100%: the dimension is not readable (arrays.py).
    assert estimates(rows, {"age_range": ("child",), "gender_presentation": None}) == {}
    assert estimates(rows, {"age_range": None, "gender_presentation": ("female",)}) == {}


def test_generators_and_readers_are_never_mixed() -> None:
    rows = [
        *image("a", "female", age_range="child"),
        *image("b", "female", age_range="unknown", generator="h"),
    ]
    other = [row | {"reader": "s"} for row in image("a", "female", age_range="unknown")]
    both = frame(rows + other)
    counts = count_readers(both, people="primary")["r"]
    found = coverage_estimates(counts, RUN, Settings(attributes=both.lazy()))
    ages = found.filter(pl.col("estimand") == GENDER, pl.col("dimension") == "age_range")
    assert ages.select("generator", "point", "n").rows() == [("g", 1.0, 1), ("h", 0.0, 1)]


def test_answers_that_came_counted_have_no_facts() -> None:
    (counts,) = count_readers(frame(image("a", "male")), people="primary").values()
    assert coverage_estimates(counts, RUN, Settings()).is_empty()


def test_the_interval_has_the_level_that_is_asked_for() -> None:
    rows = image("a", "female", pose="standing") + image("b", "female", pose="unknown")
    expected = wilson(1, 2, confidence=0.8)
    found = estimates(rows, alpha=0.2)[GENDER, "g", "pose", "female"]
    assert found[:3] == (0.5, pytest.approx(expected.low), pytest.approx(expected.high))
