"""Counts by prompt, and the pass over the facts that makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.measure.facts import fact, frame

from contextbias.errors import InputError
from contextbias.measure import facts
from contextbias.measure.arrays import DimensionCounts, ReaderCounts, count_labels, count_readers
from contextbias.tables import CONDITIONS


def asked(image: str, prompt: str, variant: str, *said: str, **fields: Any) -> list[dict[str, Any]]:
    where = {"prompt_id": prompt, "variant": variant, **fields}
    return [fact(image, "items", word, **where) for word in said]


def study() -> pl.DataFrame:
    return frame(
        [
            *asked("1", "p1", "rel-place/phrasing-1", "hat", "bag", condition="CA-R"),
            *asked("2", "p1", "rel-place/phrasing-1", "hat", condition="CA-R"),
            *asked("3", "p2", "rel-place/phrasing-2", "empty", condition="CA-R"),
            *asked("4", "p3", "rel-place/substitute-location", "unknown", condition="CA-R"),
            *asked("5", "p4", "cf/phrasing-1", "hat", condition="CF"),
            *asked("6", "p5", "summer pictures", "wig", condition="CF"),
            *asked("7", "p6", "cf/phrasing-1", "wig", condition="CF", role="judge"),
        ]
    )


def test_counts_by_prompt_by_hand() -> None:
    (one,) = count_labels(study(), people="primary").dimensions
    found = one.prompts
    # By role, condition, id; the judge comes first.
    assert found.prompt == ("p6", "p4", "p5", "p1", "p2", "p3")
    assert found.variant[3] == "rel-place/phrasing-1"
    assert found.role.tolist() == [0, 1, 1, 1, 1, 1]
    assert [CONDITIONS[i] for i in found.condition] == ["CF", "CF", "CF", "CA-R", "CA-R", "CA-R"]
    # Phrasings of one base share a cluster; of another role, a substitution or a name do not.
    assert found.cluster.tolist() == [0, 1, 2, 3, 3, 4]
    assert one.labels == ("bag", "hat", "wig")
    assert found.x.dtype == np.int32
    assert found.x.toarray().tolist() == [
        [0, 0, 1], [0, 1, 0], [0, 0, 1], [1, 2, 0], [0, 0, 0], [0, 0, 0],
    ]  # fmt: skip
    assert found.n.tolist() == [1, 1, 1, 2, 1, 0]
    assert found.missing.tolist() == [0, 0, 0, 0, 0, 1]


def check_sums(counts: ReaderCounts) -> None:
    for one in counts.dimensions:
        found = one.prompts
        x, n, missing = np.zeros_like(one.x), np.zeros_like(one.n), np.zeros_like(one.n)
        np.add.at(x, (found.role, found.condition), found.x.toarray())
        np.add.at(n, (found.role, found.condition), found.n)
        np.add.at(missing, (found.role, found.condition), found.missing)
        np.testing.assert_array_equal(x, one.x)
        np.testing.assert_array_equal(n, one.n)
        np.testing.assert_array_equal(missing, one.missing)


def test_counts_without_prompts_have_one_a_cell() -> None:
    x = np.arange(12).reshape(2, 3, 2)
    n = np.array([[12, 0, 20], [5, 9, 11]])
    x[0, 1] = 0
    one = DimensionCounts("g", "scene", "mood", ("calm", "tense"), x, n, 0 * n)
    assert one.prompts.n.tolist() == [12, 20, 5, 9, 11]
    assert one.prompts.cluster.tolist() == [0, 1, 2, 3, 4]
    check_sums(ReaderCounts(("a", "b"), ("g",), {"g": n}, (one,), pl.DataFrame()))


IMAGES = st.lists(
    st.tuples(
        st.sampled_from("ab"),  # role
        st.sampled_from(CONDITIONS),
        st.sampled_from(["cf/phrasing-1", "cf/phrasing-2", "name"]),
        st.lists(st.sampled_from(["hat", "bag", "unknown", "empty"]), min_size=1, max_size=3),
        st.sampled_from("gh"),  # generator
        st.sampled_from("rs"),  # reader
    ),
    min_size=1,
    max_size=25,
)


@given(IMAGES, st.integers(0, 99), st.integers(1, 7), st.sampled_from(["primary", "any"]))
def test_order_and_batches_change_nothing(
    images: list[tuple[str, str, str, list[str], str, str]], seed: int, batch: int, people: str
) -> None:
    rows = [
        fact(
            str(i), "clothing_garment", word, role=role, condition=condition, variant=variant,
            prompt_id=f"{role}{condition}{variant}", generator=generator, reader=reader, person=j,
        )
        for i, (role, condition, variant, said, generator, reader) in enumerate(images)
        for j, word in enumerate(said)
    ]  # fmt: skip
    whole = count_readers(frame(rows), people=people)
    shuffled = frame(rows).sample(fraction=1, shuffle=True, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facts, "BATCH_ROWS", batch)
        parts = [count_readers(frame(rows).lazy(), people=people),
                 count_readers(shuffled, people=people)]  # fmt: skip
    for part in parts:
        assert list(part) == list(whole)
        for reader, counts in whole.items():
            check_sums(part[reader])
            assert part[reader].missing.equals(counts.missing)
            for one, other in zip(counts.dimensions, part[reader].dimensions, strict=True):
                assert (one.generator, one.labels) == (other.generator, other.labels)
                assert one.prompts.prompt == other.prompts.prompt
                np.testing.assert_array_equal(one.x, other.x)
                np.testing.assert_array_equal(one.prompts.x.toarray(), other.prompts.x.toarray())


def test_one_file_in_two_generators_is_two_images() -> None:
    rows = [fact("same", "mood", "calm", generator=g) for g in "gh"]
    counts = count_labels(frame(rows), people="primary")
    assert [one.n.sum() for one in counts.dimensions] == [1, 1]


def test_facts_are_read_from_parquet_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study().write_parquet(tmp_path / "attributes.parquet", row_group_size=2)
    monkeypatch.setattr(facts, "BATCH_ROWS", 3)
    lazy = pl.scan_parquet(tmp_path / "attributes.parquet")
    (read,) = count_readers(lazy, people="primary")["r"].dimensions
    (whole,) = count_labels(study(), people="primary").dimensions
    np.testing.assert_array_equal(read.prompts.x.toarray(), whole.prompts.x.toarray())


def test_no_fact_is_no_reader() -> None:
    assert count_readers(frame([]), people="primary") == {}
    assert count_labels(frame([]), people="primary").roles == ()


def test_a_dimension_of_another_codebook_is_refused() -> None:
    rows = study().with_columns(dimension=pl.lit("shoe_size"))
    with pytest.raises(InputError, match="'shoe_size'"):
        count_labels(rows, people="primary")


def test_a_label_of_another_codebook_is_refused() -> None:
    rows = frame([fact("1", "age_range", "adult"), fact("1", "items", "any words at all")])
    with pytest.raises(InputError, match="'adult' of age_range"):
        count_labels(rows, people="primary")
