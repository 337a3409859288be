"""Derived tables as files: what readers get, whatever the frame had."""

from __future__ import annotations

import io

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from contextbias import parquet
from contextbias.measure.rows import ESTIMATE_SCHEMA, block, estimate_frame, estimates_of

words = st.one_of(st.none(), st.text(max_size=5).filter(lambda word: "\0" not in word))


def written(frame: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    data, rows = parquet.encoded(frame)
    found = pl.read_parquet(io.BytesIO(data))
    assert rows == found.height
    return found


@given(st.lists(st.tuples(words, words, st.integers(0, 9)), max_size=20))
def test_words_are_text_in_the_file(rows: list[tuple[str | None, str | None, int]]) -> None:
    text = pl.DataFrame(
        rows, {"a": pl.String, "b": pl.String, "n": pl.Int64}, orient="row"
    )  # fmt: skip
    listed = text.with_columns(
        pl.col(name).cast(pl.Enum(text[name].drop_nulls().unique().sort())) for name in ("a", "b")
    )
    found = written(listed)
    assert found.schema == text.schema
    assert found.equals(text)
    assert written(text).equals(text)


def test_a_filter_on_the_file_finds_what_the_frame_has() -> None:
    # Row groups are skipped by their smallest and largest word, so these have to be right.
    many = [f"label {i:03}" for i in range(300)] + ["\u00e9t\u00e9", "Zoo", "\U0001f600"]
    frame = pl.DataFrame({"label": many * 3, "n": range(3 * len(many))})
    listed = frame.with_columns(pl.col("label").cast(pl.Enum(sorted(many))))
    data, _ = parquet.encoded(listed)
    for word in ("label 000", "label 299", "\u00e9t\u00e9", "Zoo", "\U0001f600", "none"):
        found = pl.scan_parquet(io.BytesIO(data)).filter(pl.col("label") == word).collect()
        assert found.equals(frame.filter(pl.col("label") == word))
    high = pl.scan_parquet(io.BytesIO(data)).filter(pl.col("label") > "label 250").collect()
    assert high.equals(frame.filter(pl.col("label") > "label 250"))


def test_estimates_of_several_blocks_have_the_types_of_the_table() -> None:
    empty = dict.fromkeys(ESTIMATE_SCHEMA)
    one = [empty | {"estimand": "b", "role": role, "point": 1.0} for role in ("z", "a", None)]
    two = [empty | {"estimand": "a", "role": role, "note": "n"} for role in ("m", "a")]
    frames = [estimate_frame(rows) for rows in (one, two, [])]
    found = written(estimates_of(block(frame) for frame in frames))
    assert found.schema == pl.Schema(ESTIMATE_SCHEMA)
    assert found["role"].to_list() == [None, "a", "z", "a", "m"]
    assert found["note"].to_list() == [None, None, None, "n", "n"]
    assert found["estimand"].to_list() == ["b", "b", "b", "a", "a"]


def test_a_block_of_text_leaves_its_column_text() -> None:
    row = dict.fromkeys(ESTIMATE_SCHEMA) | {"estimand": "b", "role": "z"}
    text = estimate_frame([row | {"verdict": "true"}])
    frame = estimates_of([text, block(text)]).collect()
    assert frame["verdict"].to_list() == ["true", "true"]
    assert written(frame).schema == pl.Schema(ESTIMATE_SCHEMA)


def test_no_estimate_is_a_table_too() -> None:
    found = written(estimates_of([]))
    assert found.schema == pl.Schema(ESTIMATE_SCHEMA)
    assert found.is_empty()
