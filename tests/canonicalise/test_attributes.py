"""From readings to attributes: the whole policy on missing answers, and what must not matter."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import rows, strategies

from contextbias.canonicalise import ATTRIBUTE_SCHEMA, pass_through, to_attributes
from contextbias.errors import InputError
from contextbias.schema import DIMENSIONS, UNKNOWN, empty_person, empty_record
from contextbias.tables import EMPTY_LIST, MISSING_REASONS, ImageRow, ReaderRow, ReadingRow

ALL_READABLE: dict[str, tuple[str, ...] | None] = dict.fromkeys(DIMENSIONS)
PEOPLE = [d.name for d in DIMENSIONS.values() if d.per_person]

Facts = list[tuple[int | None, str | None, str | None]]


def reader(name: str = "r", **readable: tuple[str, ...] | None) -> ReaderRow:
    return replace(rows.reader(name), readable=ALL_READABLE | readable)


def record(*people: dict[str, Any], **answers: Any) -> dict[str, Any]:
    made = empty_record()
    for name, answer in answers.items():
        made[DIMENSIONS[name].cohort][name] = answer
    made["people"] = [empty_person() | person for person in people]
    return made


def attributes(
    images: list[ImageRow], readings: list[ReadingRow], *readers: ReaderRow
) -> pl.DataFrame:
    return to_attributes(images, readings, readers or (reader(),), pass_through(readings))


def facts_of(made: dict[str, Any], dimension: str, *, by: ReaderRow | None = None) -> Facts:
    """(person, label, missing_reason) of one dimension of one image with this record."""
    frame = attributes([rows.image()], [rows.reading(record=made)], by or reader())
    wanted = frame.filter(pl.col("dimension") == dimension)
    return wanted.select("person", "label", "missing_reason").rows()


# ---- the policy, line by line


@pytest.mark.parametrize("status", ["blocked", "corrupt", "error"])
def test_1_a_failed_image_loses_every_dimension(status: str) -> None:
    frame = attributes([rows.image(status=status, path=None)], [rows.reading(record=record())])
    assert frame["dimension"].to_list() == list(DIMENSIONS)
    assert set(frame["missing_reason"]) == {status}
    assert frame["person"].null_count() == frame["label"].null_count() == len(DIMENSIONS)


@pytest.mark.parametrize(
    "other",
    [
        {"image_id": "i2"},
        {"reader": "someone else"},
        {"reader_fingerprint": "earlier settings"},
        {"schema_version": "0"},
    ],
)
def test_2_no_reading_by_the_present_settings(other: dict[str, str]) -> None:
    frame = attributes([rows.image()], [rows.reading(record=record(), **other)])
    assert frame.height == len(DIMENSIONS)
    assert set(frame["missing_reason"]) == {"not_read"}


@pytest.mark.parametrize("status", ["refused", "truncated", "invalid", "corrupt", "error"])
def test_3_a_failed_reading_loses_every_dimension(status: str) -> None:
    frame = attributes([rows.image()], [rows.reading(status=status, record=None)])
    assert frame.height == len(DIMENSIONS)
    assert set(frame["missing_reason"]) == {status}


def test_4_a_dimension_that_the_reader_has_not_declared() -> None:
    narrow = replace(rows.reader(), readable={"age_range": None})
    seen = record({"age_range": "teen"}, {"age_range": "child"})
    assert facts_of(seen, "mood", by=narrow) == [(None, None, "not_readable")]
    # One row an image also for questions about people, and also where nobody is visible.
    assert facts_of(seen, "pose", by=narrow) == [(None, None, "not_readable")]
    assert facts_of(record(), "pose", by=narrow) == [(None, None, "not_readable")]
    assert facts_of(seen, "age_range", by=narrow) == [(0, "teen", None), (1, "child", None)]


def test_5_nobody_is_visible() -> None:
    frame = attributes([rows.image()], [rows.reading(record=record(mood="calm"))])
    people = frame.filter(pl.col("cohort") == "people")
    assert people["dimension"].to_list() == PEOPLE
    assert set(people["missing_reason"]) == {"no_person"}
    assert people["person"].null_count() == len(PEOPLE)
    assert frame.filter(pl.col("dimension") == "mood")["label"].item() == "calm"


def test_6_unknown_is_of_one_person_only() -> None:
    made = record({"age_range": UNKNOWN}, {"age_range": "teen"}, mood=UNKNOWN, items=UNKNOWN)
    assert facts_of(made, "age_range") == [(0, None, "unknown"), (1, "teen", None)]
    assert facts_of(made, "mood") == [(None, None, "unknown")]
    assert facts_of(made, "items") == [(None, None, "unknown")]
    # Said inside a list, it is no label either.
    assert facts_of(record(items=["Unknown"]), "items") == [(None, None, "unknown")]
    assert facts_of(record(items=["unknown", "hat"]), "items") == [(None, "hat", None)]


@pytest.mark.parametrize(
    ("answers", "facts"),
    [
        (["not visible"], [(None, None, "unknown")]),
        (["N/A", "unclear"], [(None, None, "unknown")]),
        (["nothing"], [(None, None, EMPTY_LIST)]),
        (["not applicable", "hammer"], [(None, "hammer", None)]),
        (["no items", "not visible"], [(None, None, EMPTY_LIST)]),
    ],
)
def test_6_and_8_in_other_words(answers: list[str], facts: Facts) -> None:
    assert facts_of(record(items=answers), "items") == facts


def test_7_weather_indoors_is_not_applicable() -> None:
    assert facts_of(record(weather="not_applicable"), "weather") == [(None, None, "not_applicable")]


@pytest.mark.parametrize(
    ("denied", "dimension"),
    [
        ({"facial_hair_present": "no"}, "facial_hair_color"),
        ({"facial_hair_style": "none"}, "facial_hair_color"),
        ({"hair_present": "no"}, "hair_color"),
        ({"hair_present": "no"}, "hair_style"),
    ],
)
def test_7_hair_that_is_not_there_has_no_look(denied: dict[str, str], dimension: str) -> None:
    assert facts_of(record(denied), dimension) == [(0, None, "not_applicable")]
    # Hair that is there, or may be, and was not seen well enough.
    seen = {name.replace("style", "present"): "yes" for name in denied}
    assert facts_of(record(seen), dimension) == [(0, None, "unknown")]
    assert facts_of(record({}), dimension) == [(0, None, "unknown")]
    # Of each person by itself; a reader that cannot tell colours or styles says that instead.
    two = record(denied, {dimension: DIMENSIONS[dimension].vocabulary[0]})
    assert facts_of(two, dimension) == [
        (0, None, "not_applicable"), (1, DIMENSIONS[dimension].vocabulary[0], None),
    ]  # fmt: skip
    blind = {name: None for name in DIMENSIONS if name != dimension}
    by = replace(rows.reader(), readable=blind)
    assert facts_of(record(denied), dimension, by=by) == [(None, None, "not_readable")]


def test_7_an_answer_is_kept_whatever_the_presence_question_says() -> None:
    made = record({"facial_hair_present": "no", "facial_hair_color": "grey"})
    assert facts_of(made, "facial_hair_color") == [(0, "grey", None)]


def test_8_an_empty_list_was_read() -> None:
    assert facts_of(record(items=[]), "items") == [(None, None, EMPTY_LIST)]
    assert facts_of(record(items=["None"]), "items") == [(None, None, EMPTY_LIST)]
    # Where the vocabulary has it, `none` is a label.
    assert facts_of(record({"accessories": ["none"]}), "accessories") == [(0, "none", None)]
    assert facts_of(record({"accessories": []}), "accessories") == [(0, None, EMPTY_LIST)]


def test_9_two_surface_forms_of_one_label_count_once() -> None:
    made = record(
        {"clothing_garment": ["Lab-Coat", "lab coat", "Scarf"]}, {"clothing_garment": ["Lab coat"]}
    )
    assert facts_of(made, "clothing_garment") == [
        (0, "lab coat", None), (0, "scarf", None), (1, "lab coat", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("presence", "kind"),
    [
        ("eyewear_present", "eyewear_type"),
        ("facial_hair_present", "facial_hair_style"),
        ("head_covering_present", "head_covering_type"),
    ],
)
def test_9_a_denied_presence_makes_the_kind_none(presence: str, kind: str) -> None:
    assert facts_of(record({presence: "no"}), kind) == [(0, "none", None)]
    assert facts_of(record({presence: "yes"}), kind) == [(0, None, "unknown")]
    # A reader that cannot tell `none` has not said it.
    blind = reader(**{kind: DIMENSIONS[kind].vocabulary[:2]})
    assert facts_of(record({presence: "no"}), kind, by=blind) == [(0, None, "unknown")]


# ---- what a reader must not do


def test_a_label_that_was_not_declared_is_an_error() -> None:
    narrow = reader(age_range=("child", "older_adult"))
    assert facts_of(record({"age_range": "child"}), "age_range", by=narrow) == [(0, "child", None)]
    with pytest.raises(InputError, match="'r' answered 'teen' for age_range"):
        facts_of(record({"age_range": "teen"}), "age_range", by=narrow)
    with pytest.raises(InputError, match="answered 'tie' for accessories"):
        facts_of(record({"accessories": ["tie"]}), "accessories", by=reader(accessories=("hat",)))


def test_an_answer_to_an_undeclared_dimension_is_an_error() -> None:
    none = replace(rows.reader(), readable={})
    with pytest.raises(InputError, match="answered 'calm' for mood"):
        facts_of(record(mood="calm"), "mood", by=none)
    with pytest.raises(InputError, match=r"answered \[\] for items"):
        facts_of(record(items=[]), "items", by=none)


def test_open_labels_are_declared_under_any_spelling() -> None:
    narrow = reader(items=("Lap-Top",))
    assert facts_of(record(items=["lap top"]), "items", by=narrow) == [(None, "lap top", None)]


def test_a_reader_given_twice_is_an_error() -> None:
    with pytest.raises(InputError, match="'r' is given with 2 settings"):
        attributes([], [], reader(), reader())


# ---- what must not matter


@st.composite
def studies(draw: st.DrawFn) -> tuple[list[ImageRow], list[ReadingRow]]:
    images, readings = [], []
    for number in range(draw(st.integers(0, 5))):
        status = draw(st.sampled_from(["ok", "ok", "ok", "corrupt"]))
        images.append(
            rows.image(
                f"i{number}",
                status=status,
                role=draw(st.sampled_from(["nurse", "judge"])),
                condition=draw(st.sampled_from(["CF", "CA-U"])),
            )
        )
        for name in ("r", "s"):
            said = draw(st.sampled_from(["ok", "ok", "refused", "not there"]))
            made = draw(strategies.records()) if said == "ok" else None
            if said != "not there":
                readings.append(
                    rows.reading(
                        f"{name}{number}", image_id=f"i{number}", reader=name, status=said,
                        record=made,
                    )
                )  # fmt: skip
    return images, readings


@given(studies(), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(
    study: tuple[list[ImageRow], list[ReadingRow]], luck: Random
) -> None:
    images, readings = study
    readers = [reader("r"), reader("s")]
    frame = attributes(images, readings, *readers)
    for table in (images, readings, readers):
        luck.shuffle(table)  # type: ignore[arg-type]
    assert attributes(images, readings, *readers).equals(frame)


@given(studies())
def test_every_image_reader_and_dimension_has_a_row_and_a_reason(
    study: tuple[list[ImageRow], list[ReadingRow]],
) -> None:
    images, readings = study
    frame = attributes(images, readings, reader("r"), reader("s"))
    assert dict(frame.schema) == ATTRIBUTE_SCHEMA
    cells = frame.select("image_id", "reader", "dimension").unique()
    assert cells.height == len(images) * 2 * len(DIMENSIONS)
    assert (frame["label"].is_null() == frame["missing_reason"].is_not_null()).all()
    assert set(frame["missing_reason"].drop_nulls()) <= {*MISSING_REASONS, EMPTY_LIST}
    assert (
        not frame.select("image_id", "reader", "person", "dimension", "label").is_duplicated().any()
    )


def test_no_images_give_an_empty_frame_of_the_same_columns() -> None:
    assert dict(attributes([], []).schema) == ATTRIBUTE_SCHEMA
    assert dict(to_attributes([rows.image()], [], [], pass_through([])).schema) == ATTRIBUTE_SCHEMA


def test_rows_are_in_order() -> None:
    images = [
        rows.image("b", role="nurse"), rows.image("a", role="nurse", seed=9),
        rows.image("c", role="judge", path=None, status="blocked"),
    ]  # fmt: skip
    frame = attributes(images, [])
    assert frame["image_id"].unique(maintain_order=True).to_list() == ["c", "b", "a"]
    assert frame["dimension"].to_list() == list(DIMENSIONS) * 3
    assert frame.row(0, named=True) == {
        "image_id": "c", "image_path": None, "generator": "g", "role": "judge",
        "condition": "CA-R", "prompt_id": "p1", "variant": "rel-place/phrasing-1", "seed": 5,
        "reader": "r", "person": None, "cohort": "scene", "dimension": "mood", "label": None,
        "missing_reason": "blocked",
    }  # fmt: skip
