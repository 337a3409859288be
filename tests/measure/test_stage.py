"""The measure stage as a whole."""

from __future__ import annotations

import io
from typing import Any

import polars as pl
import pytest
from tests.measure.facts import cell, frame

from contextbias.errors import ConfigError
from contextbias.measure import measure, stage
from contextbias.measure.missing import NO_IMAGE
from contextbias.measure.rows import ESTIMATE_SCHEMA
from contextbias.tables import CONDITIONS

NUMBERS = {"point", "low", "high", "verdict", "n", "n_missing", "note", "method"}

CELLS = {
    ("nurse", "CF"): (9, 1), ("nurse", "CA-R"): (17, 3), ("nurse", "CA-U"): (8, 12),
    ("judge", "CF"): (2, 8), ("judge", "CA-R"): (5, 15), ("judge", "CA-U"): (11, 9),
    ("baker", "CF"): (5, 5), ("baker", "CA-R"): (9, 11), ("baker", "CA-U"): (10, 10),
}  # fmt: skip


def study(**fields: Any) -> pl.DataFrame:
    rows = []
    for (role, condition), (female, male) in CELLS.items():
        where = fields | {"role": role, "condition": condition}
        rows += cell("gender_presentation", {"female": female, "male": male, "unknown": 2}, **where)
        rows += cell("mood", {"calm": male, "tense": 1, "error": 1}, **where)
    return frame(rows)


def test_every_estimand_has_its_rows() -> None:
    rows = measure(study(), bootstrap=50)
    assert dict(rows.schema) == ESTIMATE_SCHEMA
    assert {
        "bi_pooled", "bi_role", "bi_role_miller_madow", "label_count", "prevalence", "range_pp",
        "chi2", "chi2_p", "chi2_q", "equivalence_p", "ccs", "invariant_paper", "verdict",
        "invariant_generators", "share_invariant_paper", "share_invariant", "share_shifted",
        "share_inconclusive", "images", "missing",
    } <= set(rows["estimand"])  # fmt: skip
    assert set(rows["reader"]) == {"r"}
    assert set(rows["codebook"]) == {"1"}
    dimensions = rows.filter(pl.col("dimension").is_not_null())
    assert dimensions["cohort"].null_count() == 0
    # A number is of a condition, of all, or of a contrast.
    assert rows.filter(pl.col("condition").is_null() == pl.col("contrast").is_null()).height == 0


def test_keys_identify_a_row() -> None:
    rows = measure(study(), bootstrap=20)
    keys = [name for name in ESTIMATE_SCHEMA if name not in NUMBERS]
    assert not rows.select(keys).is_duplicated().any()


def test_bi_role_of_single_roles_averages_to_bi_role() -> None:
    rows = measure(study(), bootstrap=0).filter(
        pl.col("estimand") == "bi_role",
        pl.col("generator") == "g",
        pl.col("dimension") == "mood",
        pl.col("contrast").is_null(),
    )
    for condition in CONDITIONS:
        here = rows.filter(pl.col("condition") == condition)
        roles = here.filter(pl.col("role").is_not_null())
        mean = here.filter(pl.col("role").is_null())
        assert roles.height == mean["n"].item() == 3
        assert roles["point"].mean() == pytest.approx(mean["point"].item())
        assert roles["low"].null_count() == 3


def test_images_missing_and_label_counts() -> None:
    rows = measure(study(), bootstrap=0)
    images = rows.filter(
        pl.col("estimand") == "images", pl.col("role") == "nurse", pl.col("condition") == "CF"
    )
    # 12 of gender_presentation and 3 of mood; the judge has 12 + 10, the baker 12 + 7: 56 in all.
    assert images.select("point", "n", "note").row(0) == (15.0, 15, None)
    missing = rows.filter(pl.col("estimand") == "missing", pl.col("condition") == "CF")
    assert missing.select("cohort", "dimension", "label", "point", "n").rows() == [
        ("people", "gender_presentation", "unknown", 6.0, 56),
        ("scene", "mood", "error", 3.0, 56),
    ]
    count = rows.filter(pl.col("estimand") == "label_count", pl.col("dimension") == "mood")
    # Calm 74 times (all the `male` of CELLS) and tense once in each of 9 cells.
    assert count.select("point", "n", "n_missing").row(0) == (2.0, 83, 9)


def test_a_role_without_images_in_a_condition_is_listed() -> None:
    partial = study().filter(~((pl.col("role") == "baker") & (pl.col("condition") == "CF")))
    rows = measure(partial, bootstrap=20)
    listed = rows.filter(pl.col("note") == NO_IMAGE)
    assert listed.select("estimand", "role", "condition", "n").rows() == [
        ("images", "baker", "CF", 0)
    ]
    contrasts = rows.filter(pl.col("contrast") == "CA-U - CF", pl.col("dimension").is_not_null())
    assert set(contrasts.filter(pl.col("generator") == "g")["note"]) == {"1 of 3 roles left out"}


def test_the_same_facts_give_the_same_bytes() -> None:
    attributes = study()

    def written(frame_: pl.DataFrame) -> bytes:
        buffer = io.BytesIO()
        measure(frame_, bootstrap=30).write_parquet(buffer)
        return buffer.getvalue()

    first = written(attributes)
    for seed in range(3):
        assert written(attributes.sample(fraction=1, shuffle=True, seed=seed)) == first


def test_readers_are_never_mixed() -> None:
    other = study(reader="s").with_columns(
        label=pl.col("label").replace({"female": "male", "male": "female"})
    )
    both = measure(pl.concat([study(), other]), bootstrap=30)
    # How far the two agree is said beside each of them, and is no number of one reader.
    agreement = pl.col("estimand").str.starts_with("agreement_")
    assert set(both.filter(agreement)["method"]) == {"reader r", "reader s"}
    for name, alone in (("r", study()), ("s", other)):
        own = both.filter(~agreement, pl.col("reader") == name)
        assert own.equals(measure(alone, bootstrap=30))


def test_what_a_reader_cannot_tell_is_missing() -> None:
    readable = {"r": {"gender_presentation": ("female",), "mood": None}}
    rows = measure(study(), bootstrap=0, readable=readable)
    assert set(rows.filter(pl.col("estimand") == "prevalence")["dimension"]) == {"mood"}
    missing = rows.filter(
        pl.col("estimand") == "missing", pl.col("dimension") == "gender_presentation"
    )
    assert set(missing["label"]) == {"not_readable"}


def test_bootstrap_is_seeded_and_can_be_left_out() -> None:
    one, same, other = (measure(study(), bootstrap=50, seed=seed) for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)
    points = ["estimand", "generator", "role", "condition", "contrast", "dimension", "point"]
    assert one.select(points).equals(other.select(points))
    estimated = pl.col("point").is_not_null() & pl.col("estimand").str.starts_with("bi_")
    none = measure(study(), bootstrap=0).filter(estimated)
    assert none["low"].null_count() == none.height


def test_an_audit_of_pictures_without_roles() -> None:
    rows = measure(frame(cell("mood", {"calm": 6, "tense": 2, "unknown": 1}, role="all")))
    assert rows["contrast"].null_count() == rows.height
    assert set(rows["condition"]) == {"CF", "all"}
    calm = rows.filter(pl.col("estimand") == "prevalence", pl.col("label") == "calm")
    assert set(calm["point"]) == {0.75}
    pooled = rows.filter(pl.col("estimand") == "bi_pooled", pl.col("dimension") == "mood")
    assert pooled.filter(pl.col("condition") == "CF")["point"].null_count() == 0
    assert "ccs" not in set(rows["estimand"])


def test_nothing_readable_and_nothing_at_all() -> None:
    unread = frame(cell("mood", {"not_read": 3}))
    assert set(measure(unread)["estimand"]) == {"images", "missing", "missing_by_role"}
    assert dict(measure(frame([])).schema) == ESTIMATE_SCHEMA


def test_presets() -> None:
    assert set(measure(study(), preset="strict", bootstrap=0)["preset"]) == {"strict"}
    with pytest.raises(ConfigError, match="'mine'"):
        measure(study(), preset="mine")


def test_no_number_is_silent() -> None:
    """A row without a point, bounds or verdict says why: in a study with much that is missing."""
    partial = study().filter(~((pl.col("role") == "baker") & (pl.col("condition") == "CF")))
    unread = (pl.col("dimension") == "mood") & (pl.col("condition") == "CA-R")
    partial = partial.with_columns(
        label=pl.when(~unread).then("label"),
        missing_reason=pl.when(unread).then(pl.lit("unknown")).otherwise("missing_reason"),
    )
    for preset in ("paper", "strict"):
        rows = measure(partial, bootstrap=20, preset=preset, prompts=_no_prompts())
        empty = [pl.col(name).is_null() for name in ("point", "low", "high", "verdict")]
        undefined = rows.filter(pl.all_horizontal(empty))
        assert undefined.height
        assert undefined["note"].null_count() == 0


def _no_prompts() -> pl.DataFrame:
    words = dict.fromkeys(("prompt_id", "base", "location", "activity"), pl.String)
    return pl.DataFrame(schema={**words, "prompted": pl.List(pl.String)})


@pytest.mark.parametrize(
    ("setting", "value"), [("margin_pp", 0), ("margin_pp", 100), ("alpha", 0), ("alpha", 0.5)]
)
def test_numbers_that_no_test_could_be_made_with(setting: str, value: float) -> None:
    with pytest.raises(ConfigError, match=setting):
        measure(study(), **{setting: value})


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_sections_at_a_time_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    before = measure(study(), bootstrap=20)
    monkeypatch.setattr(stage, "_THREADS", threads)
    assert measure(study(), bootstrap=20).equals(before)


def test_an_error_of_one_section_is_the_error_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def broken(*_: object) -> pl.DataFrame:
        raise ValueError("broken")

    def later(*_: object) -> pl.DataFrame:
        asked.append(1)
        return pl.DataFrame(schema=ESTIMATE_SCHEMA)

    monkeypatch.setattr(stage, "_THREADS", 1)
    with pytest.raises(ValueError, match=r"^broken$"):
        stage.measure_lazily(study(), sections=[broken, *[later] * 50])
    assert len(asked) < 50
