"""From attributes to counts: what counts in x, in n, and as missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.measure.facts import cell, fact, frame

from contextbias.errors import InputError
from contextbias.measure.arrays import (
    DimensionCounts,
    ReaderCounts,
    consistency_counts,
    count_labels,
    count_readers,
)
from contextbias.tables import CONDITIONS


def only(counts: ReaderCounts) -> DimensionCounts:
    (one,) = counts.dimensions
    return one


def test_counts_by_hand() -> None:
    rows = [
        *cell("age_range", {"teen": 2, "child": 1, "unknown": 1}, condition="CF"),
        *cell("age_range", {"teen": 1}, condition="CA-U"),
        *cell("age_range", {"no_person": 3}, condition="CA-U", role="judge", person=None),
    ]
    counts = count_labels(frame(rows), people="primary")
    one = only(counts)
    assert counts.roles == ("judge", "nurse")
    assert (one.cohort, one.labels) == ("people", ("child", "teen"))
    # Roles, then CF, CA-R, CA-U.
    assert one.x.tolist() == [[[0, 0], [0, 0], [0, 0]], [[1, 2], [0, 0], [0, 1]]]
    assert one.n.tolist() == [[0, 0, 0], [3, 0, 1]]
    assert one.missing.tolist() == [[0, 0, 3], [1, 0, 0]]
    assert counts.images["g"].tolist() == [[0, 0, 3], [4, 0, 1]]
    assert counts.missing.rows() == [
        ("g", "judge", "CA-U", "people", "age_range", "no_person", 3),
        ("g", "nurse", "CF", "people", "age_range", "unknown", 1),
    ]


def test_an_empty_list_is_read_and_a_list_counts_each_label() -> None:
    rows = [
        fact("1", "items", "hat"), fact("1", "items", "bag"),
        fact("2", "items", "hat"), fact("3", "items", "empty"),
    ]  # fmt: skip
    one = only(count_labels(frame(rows), people="primary"))
    assert one.labels == ("bag", "hat")
    assert one.x[0, 0].tolist() == [1, 2]
    assert one.n[0, 0] == 3
    assert one.missing.sum() == 0


def test_a_dimension_of_empty_lists_has_no_label() -> None:
    one = only(count_labels(frame([fact("1", "items", "empty")]), people="primary"))
    assert one.labels == ()
    assert (one.x.shape, one.n.sum()) == ((1, 3, 0), 1)


def test_primary_is_person_0_and_any_is_whoever_answers() -> None:
    def pose(image: str, *said: str) -> list[dict[str, Any]]:
        return [fact(image, "pose", word, person=i) for i, word in enumerate(said)]

    rows = [
        *pose("1", "sitting", "standing"),
        *pose("2", "unknown", "standing"),
        *pose("3", "standing", "standing"),
        *pose("4", "unknown", "unknown"),
        *pose("5", "no_person"),
    ]
    rows[-1]["person"] = None
    primary = only(count_labels(frame(rows), people="primary"))
    assert primary.x[0, 0].tolist() == [1, 1]
    assert (primary.n[0, 0], primary.missing[0, 0]) == (2, 3)
    anyone = only(count_labels(frame(rows), people="any"))
    # Two people standing in image 3 are one image that shows it.
    assert anyone.x[0, 0].tolist() == [1, 3]
    assert (anyone.n[0, 0], anyone.missing[0, 0]) == (3, 2)


def test_the_reason_of_the_most_prominent_person_counts() -> None:
    rows = [fact("1", "pose", "unknown", person=0), fact("1", "pose", "invalid", person=1)]
    for order in (rows, rows[::-1]):
        counts = count_labels(frame(order), people="any")
        assert counts.missing["reason"].to_list() == ["unknown"]


def test_the_label_set_is_that_of_the_generator() -> None:
    rows = [
        *cell("mood", {"calm": 1}, generator="g1", condition="CF"),
        *cell("mood", {"tense": 1}, generator="g1", condition="CA-U", role="judge"),
        *cell("mood", {"joyful": 1}, generator="g2", condition="CF"),
    ]
    first, second = count_labels(frame(rows), people="primary").dimensions
    assert (first.generator, first.labels) == ("g1", ("calm", "tense"))
    assert (second.generator, second.labels) == ("g2", ("joyful",))


@pytest.mark.parametrize("declared", [("smiling",), ()])
def test_a_reader_that_tells_one_label_leaves_the_dimension_missing(
    declared: tuple[str, ...],
) -> None:
    rows = [
        *cell("expression", {"smiling": 4, "unknown": 2}),
        *cell("pose", {"sitting": 1, "standing": 5}),
    ]
    counts = count_labels(
        frame(rows), people="primary", readable={"expression": declared, "pose": None}
    )
    assert only(counts).dimension == "pose"
    assert counts.missing.select("dimension", "reason", "count").rows() == [
        ("expression", "not_readable", 6)
    ]


def test_more_readers_than_keys_have_numbers_for_are_refused() -> None:
    rows = [fact("1", "mood", "calm", reader=f"r{number}") for number in range(65)]
    assert len(count_readers(frame(rows[:64]), people="primary")) == 64
    with pytest.raises(InputError, match="more than 64 readers"):
        count_readers(frame(rows), people="primary")


def test_two_labels_can_be_told_apart() -> None:
    rows = frame(cell("expression", {"smiling": 4, "neutral": 2}))
    readable = {"expression": ("smiling", "neutral")}
    assert only(count_labels(rows, people="primary", readable=readable)).n.sum() == 6


def test_wrong_calls() -> None:
    two = frame([fact("1", "mood", "calm"), fact("1", "mood", "calm", reader="s")])
    with pytest.raises(ValueError, match="never counted together"):
        count_labels(two, people="primary")
    with pytest.raises(ValueError, match="people is"):
        count_labels(two.head(1), people="all")


WORDS = st.sampled_from(["calm", "tense", "joyful", "unknown", "invalid"])


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from(CONDITIONS), WORDS),
        min_size=1,
        max_size=30,
    ),
    st.integers(0, 100),
)
def test_every_image_is_read_or_missing_in_any_order(
    study: list[tuple[str, str, str]], seed: int
) -> None:
    rows = frame(
        fact(str(i), "mood", word, role=role, condition=condition)
        for i, (role, condition, word) in enumerate(study)
    )
    counts = count_labels(rows, people="primary")
    mixed = count_labels(rows.sample(fraction=1, shuffle=True, seed=seed), people="primary")
    assert counts.missing.equals(mixed.missing)
    for one, other in zip(counts.dimensions, mixed.dimensions, strict=True):
        np.testing.assert_array_equal(one.x, other.x)
        np.testing.assert_array_equal(one.n + one.missing, counts.images["g"])
        np.testing.assert_array_equal(one.x.sum(axis=2), one.n)


def test_wide_counts_keep_zeros_of_closed_vocabularies_only() -> None:
    rows = [
        *cell("mood", {"calm": 2, "unknown": 1}, condition="CF"),
        *cell("mood", {"tense": 1}, condition="CA-U", role="judge"),
        *cell("items", {"hat": 2}, condition="CF"),
        *cell("items", {"wig": 1}, condition="CA-U", role="judge"),
    ]
    wide = consistency_counts(count_labels(frame(rows), people="primary"))
    cells = wide.select("role", "dimension", "label", "x_CF", "n_CF", "x_CA-U", "n_CA-U").rows()
    assert cells == [
        # A condition that the role has no image in is null, not 0.
        ("judge", "mood", "calm", None, None, 0, 1),
        ("judge", "mood", "tense", None, None, 1, 1),
        ("nurse", "mood", "calm", 2, 2, None, None),
        ("nurse", "mood", "tense", 0, 2, None, None),
        ("judge", "items", "wig", None, None, 1, 1),
        ("nurse", "items", "hat", 2, 2, None, None),
    ]
    assert wide["n_missing"].to_list() == [0, 0, 1, 1, 0, 0]
    assert wide["n_missing_CF"].to_list() == [None, None, 1, 1, None, 0]
    assert wide["x_CA-R"].null_count() == wide.height


def test_wide_counts_of_nothing_have_their_columns() -> None:
    counts = count_labels(frame([fact("1", "mood", "unknown")]), people="primary")
    wide = consistency_counts(counts)
    assert wide.height == 0
    assert wide.schema["x_CA-R"] == pl.Int64
