"""Which label leads."""

from __future__ import annotations

import polars as pl
from tests.measure.test_intensity import one, together

from contextbias.measure.leading import leading_labels
from contextbias.measure.rows import ESTIMATE_SCHEMA, Run, Settings

RUN = Run("r", "paper", "primary", "1")


def test_leading_labels_by_hand() -> None:
    of = one([[[3, 1, 0], [1, 1, 0], [0, 0, 0]], [[0, 4, 0], [0, 0, 2], [0, 1, 3]]])
    rows = leading_labels(together(of), RUN, Settings())
    found = {
        (role, condition): values
        for role, condition, *values in rows.select(
            "role", "condition", "label", "point", "n", "note"
        ).rows()
    }
    # Pooled: CF 3, 5, 0; CA-R 1, 1, 2; CA-U 0, 1, 3; all 4, 7, 5.
    assert found[None, "CF"] == ["label 01", 5 / 8, 8, None]
    assert found[None, "CA-R"] == ["label 02", 2 / 4, 4, None]
    assert found[None, "CA-U"] == ["label 02", 3 / 4, 4, None]
    assert found[None, "all"] == ["label 01", 7 / 16, 16, None]
    assert found["role 00", "CF"] == ["label 00", 3 / 4, 4, None]
    # As many of two labels: the first by name, and said.
    assert found["role 00", "CA-R"] == ["label 00", 1 / 2, 2, "tied"]
    # No mention, no row.
    assert ("role 00", "CA-U") not in found
    assert dict(rows.schema) == ESTIMATE_SCHEMA
    assert set(rows["support"]) == {"raw"}


def test_nothing_to_lead() -> None:
    empty = one([[[], [], []]], n=[[1, 1, 1]])
    assert leading_labels(together(empty), RUN, Settings()).height == 0


def test_n_missing_is_that_of_the_cell() -> None:
    of = one([[[1], [1], [1]], [[1], [1], [1]]])
    of.missing[:] = [[1, 2, 3], [10, 20, 30]]
    rows = leading_labels(together(of), RUN, Settings())
    lost = {(r, c): n for r, c, n in rows.select("role", "condition", "n_missing").rows()}
    assert lost[None, "CA-R"] == 22
    assert lost["role 01", "all"] == 60
    assert lost[None, "all"] == 66
    assert rows.filter(pl.col("n_missing").is_null()).height == 0
