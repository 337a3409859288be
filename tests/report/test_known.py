"""The section about known prompts: what is printed, and what is left out."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from contextbias.measure.rows import Run, Settings
from contextbias.measure.validity_known import KNOWN_SCHEMA, known_estimates
from contextbias.report.known import Known, known, known_tables


def rows(generator: str, wrong: int, *, shown: bool) -> list[dict[str, Any]]:
    return [
        {
            "reader": "r", "generator": generator, "role": role, "condition": "CF",
            "prompt_id": f"{role}-{label}", "image_id": f"{generator}-{role}-{label}-{k}",
            "dimension": dimension, "label": label, "present": True,
            "read": None if k == 9 else [other if k < wrong else label],
            "reason": "unknown" if k == 9 else None, "shown": shown,
            "truth": [label] if shown else None, "gender_presentation": "female",
            "skin_tone": "dark",
        }
        for role in ("nurse", "welder")
        for dimension, label, other in (
            ("pose", "sitting", "standing"), ("pose", "standing", "sitting"),
            ("accessories", "mask", "watch"),
        )
        for k in range(10)
    ]  # fmt: skip


def estimates(*, shown: bool = True, several: bool = True) -> pl.DataFrame:
    every = rows("g", 2, shown=shown) + (rows("h", 5, shown=shown) if several else [])
    frame = pl.DataFrame(every, schema=KNOWN_SCHEMA)
    return known_estimates(frame, Run("", "paper", "primary", "1"), Settings(bootstrap=99))


def section(frame: pl.DataFrame) -> Known:
    found = known(frame, ["h", "g"], alpha=0.05)
    assert found is not None
    return found


def test_no_section_without_known_prompts() -> None:
    assert known(estimates().clear(), ["g"], alpha=0.05) is None
    assert known_tables(estimates().clear()) == {}


def test_generators_in_order_with_all_of_them_first() -> None:
    found = section(estimates())
    assert [row.name for row in found.generators] == ["all generators", "h", "g"]
    assert found.generators[2].cells[0].share == "78%"  # 7 of 9
    assert found.generators[2].images == "54, 6 not answered"
    assert found.separated
    assert found.columns[:3] == ("Read as named", "Drawn as named", "Read as drawn")
    assert found.generators[2].cells[1].share == "100%"
    assert [row.name for row in found.dimensions] == ["Accessories", "Pose"]
    assert found.macro[0].startswith("Mean over 2 dimensions")


def test_one_generator_and_no_truth() -> None:
    found = section(estimates(shown=False, several=False))
    assert [row.name for row in found.generators] == ["g"]
    assert not found.separated
    assert "Drawn as named" not in found.columns
    assert "Generator" not in dict(found.groups)


def test_differences_in_words() -> None:
    found = section(estimates())
    by = {sentence.partition(":")[0]: sentence for sentence in found.differences}
    assert "errors are more frequent in some groups" in by["By the generator"]
    assert by["By the role"].endswith("nothing to compare.")  # both roles err alike everywhere
    alone = section(estimates().with_columns(
        point=pl.when(pl.col("estimand") == "known_errors_q").then(0.3).otherwise("point")
    ))  # fmt: skip
    assert "no difference was shown, which is not the same as none" in alone.differences[0]
    assert by["By the condition"].endswith("nothing to compare.")
    groups = dict(found.groups)
    assert [row.name for row in groups["Role"]] == ["nurse", "welder"]
    assert [row.name for row in groups["Apparent skin tone"]] == ["dark"]


def test_confusion_of_one_label_and_of_a_list() -> None:
    lists, pose = section(estimates(several=False)).confusions
    assert pose.columns == ("sitting", "standing", "not answered: unknown")
    assert pose.rows[0] == ("sitting", "20", ("70%", "20%", "10%"))
    assert lists.columns == ("label read", "label not read", "not answered: unknown")
    assert lists.rows == (("mask", "20", ("70%", "20%", "10%")),)


def test_files_in_the_form_of_the_paper() -> None:
    tables = known_tables(estimates())
    first = tables["paper_table_1.csv"]
    assert first["generator"].to_list() == ["g", "h"]
    assert first["accuracy"][0] == pytest.approx(100 * 7 / 9)
    assert first["f1_published"][0] == pytest.approx(100 * 2 * (7 / 9) / (1 + 7 / 9))
    assert first["images"].to_list() == [54, 54]
    seventh = tables["paper_table_7.csv"]
    assert seventh.columns == ["reader", "cohort", "dimension", "g", "h"]
    assert seventh["dimension"].to_list() == ["accessories", "pose"]
    confusion = tables["known_confusion.csv"]
    assert confusion.columns == ["reader", "dimension", "named", "read", "share", "images"]
    assert set(tables["known_differences.csv"]["compared"]) == {
        "role", "condition", "generator", "gender_presentation", "skin_tone",
    }  # fmt: skip
    assert not tables["known_prompts.csv"]["estimand"].is_in(["known_errors_p"]).any()
