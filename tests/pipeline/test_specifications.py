"""The specification curve of a study: choices, its own row, other mappings, other studies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from contextbias import pipeline
from contextbias.cli.main import main
from contextbias.errors import ConfigError, InputError
from contextbias.pipeline import Options
from contextbias.pipeline.specifications import (
    CHOICES,
    COLUMNS,
    MERGED,
    OR,
    Curve,
    draw,
    specifications,
)
from contextbias.store import Study

STUDY = """
[study]
seed = 3
images_per_prompt = 1
[bench]
roles = ["nurse", "welder", "judge"]
[[generators]]
name = "drawn"
backend = "simulated"
options = { size = 64 }
[[readers]]
name = "vlm"
backend = "simulated"
[measure]
bootstrap = 20
[run]
workers = 1
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("finished") / "study"
    with Study.create(root, STUDY) as study:
        pipeline.run(study, ("bench", "generate", "extract", "canonicalise", "measure"), Options())
    return root


def curve_of(*roots: Path, **asked: object) -> pl.DataFrame:
    studies = [Study.open(root) for root in roots]
    try:
        return specifications(studies, Curve(**asked))  # type: ignore[arg-type]
    finally:
        for study in studies:
            study.close()


def test_every_combination_once_and_in_order(finished: Path) -> None:
    rows = curve_of(finished)
    assert tuple(rows.columns) == COLUMNS
    assert not rows.select(CHOICES).is_duplicated().any()
    assert rows["point"].is_sorted()
    assert _values(rows, "people") == {"primary", "any"}
    assert _values(rows, "unknown") == {"missing", "label"}
    assert _values(rows, "prompted") == {"counted", "left out"}
    assert _values(rows, "labels") == {"observed", "codebook"}
    assert set(rows["preset"]) == {"paper", "reference"}
    assert (rows["study"].unique().to_list(), rows["mapping"].unique().to_list()) == (
        ["study"], ["study"],
    )  # fmt: skip
    assert rows["bank"].n_unique() == 1


def test_rows_say_which_number_they_are(finished: Path) -> None:
    names = ["generator", "contrast", "cohort", "dimension"]
    assert curve_of(finished).select(names).unique().rows() == [("mean", "CA-U - CF", "all", None)]
    rows = curve_of(finished, generator="drawn", slot="CF", dimension="mood")
    assert rows.select(names).unique().rows() == [("drawn", "CF", "scene", "mood")]
    assert curve_of(finished, dimension="mood", cohort="scene").equals(
        curve_of(finished, dimension="mood")
    )


def test_a_dimension_of_another_cohort_is_refused(finished: Path) -> None:
    with pytest.raises(ConfigError, match="'mood' is of the cohort 'scene', and not of 'people'"):
        curve_of(finished, dimension="mood", cohort="people")


def _values(rows: pl.DataFrame, choice: str) -> set[str]:
    return {value for each in rows[choice] for value in each.split(OR)}


def test_identical_specifications_are_one_row(finished: Path) -> None:
    # Cameras do not depend on who counts, and no prompt names a dimension of theirs.
    rows = curve_of(finished, cohort="camera")
    assert set(rows["people"]) == {"any or primary"}
    assert set(rows["prompted"]) <= {"counted", "counted or left out"}
    assert rows.filter("main")["people"].to_list() == ["any or primary"]
    for choice in MERGED:
        others = [name for name in CHOICES if name != choice]
        numbers = [pl.col(name).round(9) for name in ("point", "low", "high")]
        assert not rows.select(*others, *numbers).is_duplicated().any()
    svg = draw(rows, Curve(cohort="camera"), ".svg").decode()
    assert "people:" not in svg


def test_a_choice_without_effect_has_a_tick_for_each_of_its_values(finished: Path) -> None:
    rows = curve_of(finished, cohort="people")
    first, *rest = rows.rows(named=True)
    merged = pl.DataFrame(
        [first | {"people": "any or primary"}, *(row | {"people": "any"} for row in rest)],
        schema=rows.schema,
    )
    svg = draw(merged, Curve(cohort="people"), ".svg").decode()
    assert "people: any" in svg
    assert "people: primary" in svg
    assert "any or primary" not in svg


def test_the_main_row_is_the_number_of_the_estimates(finished: Path) -> None:
    main_row = curve_of(finished).filter("main")
    assert main_row.height == 1
    estimates = pl.read_parquet(finished / "derived/estimates.parquet").filter(
        pl.col("estimand") == "bi_pooled", pl.col("contrast") == "CA-U - CF",
        pl.col("support") == "raw", pl.col("generator") == "mean", pl.col("cohort") == "all",
        pl.col("reader") == "vlm",
    )  # fmt: skip
    for name in ("point", "low", "high"):
        assert main_row[name].item() == pytest.approx(estimates[name].item())


def test_presets_choose_their_own_row(finished: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(finished, tmp_path / "strict"))
    config = root / "study.toml"
    for preset, form in (("strict", ("bi_role", "equal")), ("reference", ("bi_pooled", "raw"))):
        config.write_text(STUDY.replace("[measure]", f'[measure]\npreset = "{preset}"'))
        row = curve_of(root).filter("main")
        assert row.select("estimand", "support").rows() == [form]
        # The forms of Bias Intensity are those of paper too: the row has the study's own preset.
        assert row["preset"].to_list() == [preset]
        assert set(curve_of(root)["preset"]) == {preset if preset == "strict" else "paper"} | {
            "reference"
        }


def test_shares_of_verdicts_have_their_own_curve(finished: Path, tmp_path: Path) -> None:
    estimates = pl.read_parquet(finished / "derived/estimates.parquet").filter(
        pl.col("estimand") == "share_shifted", pl.col("cohort") == "camera",
        pl.col("reader") == "vlm", pl.col("generator") == "drawn",
    )  # fmt: skip
    asked = {"estimand": "share_shifted", "cohort": "camera", "generator": "drawn"}
    rows = curve_of(finished, **asked)
    assert set(rows["preset"]) == {"paper", "strict"}
    main_row = rows.filter("main")
    assert main_row.select("preset", "point", "n").rows() == [
        ("paper", *estimates.select("point", "n").row(0))
    ]
    strict = Path(shutil.copytree(finished, tmp_path / "strict"))
    config = STUDY.replace("[measure]", '[measure]\npreset = "strict"')
    (strict / "study.toml").write_text(config)
    assert curve_of(strict, **asked).filter("main")["preset"].to_list() == ["strict"]
    svg = draw(rows, Curve(**asked), ".svg").decode()  # type: ignore[arg-type]
    assert "share shifted, camera: all" in svg


@pytest.mark.parametrize("asked", [{"slot": "CA-U - CF"}, {"dimension": "mood"}])
def test_a_share_has_no_contrast_and_no_dimension(finished: Path, asked: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="over all conditions"):
        curve_of(finished, estimand="share_shifted", **asked)


def test_another_mapping_counts_other_labels(finished: Path, tmp_path: Path) -> None:
    items = pl.read_parquet(finished / "derived/attributes.parquet").filter(
        pl.col("dimension") == "items"
    )
    # Everything becomes one of two things.
    surfaces = sorted(items["label"].drop_nulls().unique())
    merged = {surface: "one" if i % 2 else "other" for i, surface in enumerate(surfaces)}
    path = tmp_path / "coarse.json"
    path.write_text(json.dumps({"labels": {"items": merged}}))
    rows = curve_of(finished, mappings=(path,), dimension="items", slot="CF")
    assert set(rows["mapping"]) == {"study", "coarse.json"}
    assert set(rows.filter("main")["mapping"]) == {"study"}
    assert not rows.filter(pl.col("mapping") == "coarse.json").is_empty()


def test_studies_stand_side_by_side(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    twin = Path(shutil.copytree(finished, tmp_path / "other/study"))
    rows = curve_of(finished, twin, cohort="people")
    assert set(rows["study"]) == {f"{finished.parent.name}/study", "other/study"}
    first, second = rows.partition_by("study")
    assert first.drop("study").sort(CHOICES[1:]).equals(second.drop("study").sort(CHOICES[1:]))
    assert rows["main"].sum() == 2


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"estimand": "share_shited"}, "did you mean 'share_shifted'"),
        ({"slot": "CA-U-CF"}, "did you mean 'CA-U - CF'"),
        ({"cohort": "poeple"}, "did you mean 'people'"),
        ({"dimension": "items_"}, "did you mean 'items'"),
        ({"generator": "nobody"}, "drawn, mean"),
    ],
)
def test_unknown_words_are_said(finished: Path, asked: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        curve_of(finished, **asked)
    assert words.lower() in str(caught.value).lower()


def test_a_study_without_attributes_or_without_the_contrast(tmp_path: Path) -> None:
    Study.create(tmp_path / "new", STUDY).close()
    with pytest.raises(InputError, match="has no attributes"):
        curve_of(tmp_path / "new")


def test_a_mapping_that_is_not_there(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none"):
        curve_of(finished, mappings=(tmp_path / "none",))


def test_the_curve_is_drawn(finished: Path) -> None:
    curve = Curve(cohort="people")
    rows = curve_of(finished, cohort="people")
    svg = draw(rows, curve, ".svg").decode()
    assert svg.startswith("<svg")
    assert "study \N{EM DASH} Bias Intensity, people: CA-U - CF" in svg
    assert "Red: the choices of study.toml." in svg
    for word in ("labels: codebook", "unknown: label", "estimand: bi_role"):
        assert word in svg
    assert "bank:" not in svg  # it has one value only
    assert draw(rows, curve, ".PNG").startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="drawn as"):
        draw(rows, curve, ".pdf")


# ---- the command


def call(*args: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["specifications", *args])
    return int(ended.value.code or 0)


def test_the_command(finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kept = [path for path in finished.rglob("*") if not path.name.startswith("study.sqlite-")]
    before = {path: path.stat().st_mtime_ns for path in kept}
    assert call(str(finished), "--cohort", "camera") == 0
    out, err = capfd.readouterr()
    assert out.splitlines()[0] == ",".join(COLUMNS)
    assert "specifications from" in err
    assert "above 0" in err
    assert call(str(finished), "--cohort", "camera", "--contrast", "CF") == 0
    assert "above 0" not in capfd.readouterr().err
    assert call(str(finished), "--cohort", "camera", "--out", "a.csv", "--plot", "a.svg") == 0
    assert capfd.readouterr().out == ""
    assert Path("a.csv").read_text() == out
    assert Path("a.svg").read_text().startswith("<svg")
    assert {path: path.stat().st_mtime_ns for path in kept} == before


def test_wrong_files_are_said(finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert call(str(finished), "--plot", "a.pdf") == 2
    assert "neither .svg nor .png" in capfd.readouterr().err
    assert call(str(finished), "--plot", "a.svg", "--out", "a.svg") == 2
    assert "Name two files" in capfd.readouterr().err
