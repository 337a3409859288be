"""Who is answered, and what a reader can tell apart."""

from __future__ import annotations

from typing import Any

import polars as pl
from tests.report.made_study import frame_of

from contextbias.report.coverage import coverage_tables, told_apart
from contextbias.schema import DIMENSIONS
from contextbias.tables import EstimateRow, ReaderRow


def share(
    label: str, point: float, n: int, *, by: str = "gender_presentation", **more: Any
) -> dict[str, Any]:
    return {
        "estimand": f"coverage_by_{by}", "reader": "r", "generator": "g", "condition": "all",
        "cohort": "people", "dimension": "age_range", "label": label, "point": point, "n": n,
        "low": point / 2, "high": 1.0, "n_missing": round(n * (1 - point)), "preset": "paper",
    } | more  # fmt: skip


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return frame_of(EstimateRow, list(rows))


def test_groups_in_the_schemas_order_and_the_untold_last() -> None:
    (table,) = coverage_tables(
        frame(share("unknown", 0.0, 4), share("male", 1.0, 10), share("female", 0.5, 20)), ["g"]
    )
    assert table.grouping == "gender presentation"
    assert table.groups == ("female", "male", "not told")
    (part,) = table.parts
    assert part.sizes == ("20", "10", "4")
    ((name, cells),) = part.rows
    assert name == "age range"
    assert [(cell.share, cell.interval) for cell in cells] == [
        ("50%", "[25.0, 100.0]"),
        ("100%", "[50.0, 100.0]"),
        ("0%", "[0.0, 100.0]"),
    ]


def test_questions_answered_for_all_are_not_listed() -> None:
    every = (share(label, 1.0, 9, dimension="pose") for label in ("female", "male"))
    (table,) = coverage_tables(frame(*every, share("female", 0.5, 9), share("male", 1.0, 9)), ["g"])
    assert [name for name, _ in table.parts[0].rows] == ["age range"]


def test_nothing_with_one_group_or_nothing_unanswered() -> None:
    assert coverage_tables(frame(share("female", 0.5, 9)), ["g"]) == []
    assert coverage_tables(frame(share("female", 1.0, 9), share("male", 1.0, 9)), ["g"]) == []
    assert coverage_tables(frame(share("female", 1.0, 9)).clear(), []) == []


def test_generators_in_the_configured_order_each_with_its_own_groups() -> None:
    rows = [share(label, 0.5, 8, generator="h") for label in ("female", "male")]
    rows += [share(label, 0.5, 6) for label in ("female", "unknown")]
    (table,) = coverage_tables(frame(*rows), ["h", "g"])
    assert [part.generator for part in table.parts] == ["h", "g"]
    assert [part.sizes for part in table.parts] == [("8", "8", ""), ("6", "", "6")]
    assert table.parts[1].rows[0][1][1].share == ""


def test_both_groupings_in_the_schemas_order() -> None:
    rows = [share(label, 0.5, 8, by="skin_tone") for label in ("dark", "light")]
    rows += [share(label, 0.5, 8) for label in ("female", "male")]
    tables = coverage_tables(frame(*rows), ["g"])
    assert [table.grouping for table in tables] == ["gender presentation", "skin tone"]
    assert tables[1].groups == ("light", "dark")


def test_what_a_reader_can_tell_apart() -> None:
    def row(readable: dict[str, tuple[str, ...] | None]) -> ReaderRow:
        return ReaderRow(
            reader="r", fingerprint="f", backend="local", settings={}, readable=readable
        )

    assert told_apart(row({"age_range": ("young_adult", "child"), "mood": None})) == [
        ("mood", "all labels"),
        ("age range", "young adult, child"),
    ]
    assert told_apart(row(dict.fromkeys(DIMENSIONS))) == []
    assert told_apart(None) == []
