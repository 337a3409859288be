"""`contextbias import reference` and `import records`, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
from tests.cli.test_bad_input import assert_refused, call
from tests.released import RECORD, prompt_folder, put_counts, put_study

from contextbias.schema import empty_record


def test_from_released_files_to_estimates_and_a_report(tmp_path: Path) -> None:
    source = put_study(tmp_path / "files")
    study = tmp_path / "study"
    first = call("import", "reference", source, study)
    assert first.returncode == 0, first.stderr
    assert first.stdout == ""
    assert "counts of 36 prompts new" in first.stderr
    assert 'preset = "reference"' in (study / "study.toml").read_text()
    again = call("import", "reference", source, study)
    assert again.returncode == 0
    assert "Everything was there already" in again.stderr
    for preset in ("paper", "reference"):
        done = call("measure", study, "--preset", preset)
        assert done.returncode == 0, done.stderr
        estimates = pl.read_parquet(study / "derived" / "estimates.parquet")
        assert set(estimates["preset"]) == {preset}
        assert set(estimates["generator"].drop_nulls()) == {"SDXL", "Flux", "mean"}
        assert set(estimates["role"].drop_nulls()) == {"judge", "nurse", "train driver"}
    report = call("report", study)
    assert report.returncode == 0, report.stderr
    assert report.stdout.strip() == str(study / "report" / "index.html")
    assert "counts      of 36 prompts" in call("status", study).stdout


def test_a_broken_file_leaves_no_study(tmp_path: Path) -> None:
    source = put_study(tmp_path / "files")
    bad = put_counts(prompt_folder(source, "Flux", "CF", "judge", "bad"), [])
    bad.write_text("cohort,dimension,label,count\npeople,pose,standing,many\n")
    result = call("import", "reference", source, tmp_path / "study")
    assert_refused(result, str(bad), "line 2", "'many'")
    assert not (tmp_path / "study").exists()


def test_two_files_about_one_prompt_are_refused(tmp_path: Path) -> None:
    source = put_study(tmp_path / "files")
    first = put_counts(prompt_folder(source, "Flux", "CF", "train_driver", "p"), [])
    second = put_counts(prompt_folder(source, "Flux", "CF", "Train driver", "p"), [])
    result = call("import", "reference", source, tmp_path / "study")
    assert_refused(result, str(first), str(second), "'train driver', CF, 'p'", "Keep one")
    assert not (tmp_path / "study").exists()


def test_questions_that_are_not_counted_are_said(tmp_path: Path) -> None:
    folder = prompt_folder(tmp_path / "files", "Flux", "CF", "judge", "p")
    put_counts(folder, [("people", "gender", "female", 3), ("people", "pose", "standing", 3)])
    result = call("import", "reference", tmp_path / "files", tmp_path / "study")
    assert result.returncode == 0, result.stderr
    assert "the schema has no such question: gender\n" in result.stderr


def test_counts_above_the_images_are_said(tmp_path: Path) -> None:
    folder = prompt_folder(tmp_path / "files", "Flux", "CF", "judge", "p")
    rows = [("people", "pose", "standing", 77), ("people", "pose", "sitting", 10)]
    put_counts(folder, [*rows, ("people", "gender", "female", 99)])
    result = call("import", "reference", tmp_path / "files", tmp_path / "study")
    assert result.returncode == 0, result.stderr
    assert (
        "1 count is above the number of images of the prompt, and cut to it; for example "
        "77 of 10 images for pose 'standing', in Flux, CF, judge, p\n"
    ) in result.stderr
    assert "counts of 1 prompt new" in result.stderr


def test_what_is_no_source(tmp_path: Path) -> None:
    assert_refused(call("import", "reference", tmp_path / "no", tmp_path / "s"), "no such folder")
    assert_refused(call("import", "reference", tmp_path, tmp_path / "s"), "frequencies.csv")
    assert_refused(call("import", "records", tmp_path / "no", tmp_path / "s"), "there is no")
    assert_refused(call("measure", tmp_path, "--preset", "released"), "reference")


def test_records_that_are_off_schema_are_counted_and_shown(tmp_path: Path) -> None:
    source = tmp_path / "records"
    source.mkdir()
    (source / "1.json").write_text(json.dumps(RECORD))
    lines = [{"record": empty_record()}, {"record": {}}]
    (source / "2.jsonl").write_text("\n".join(map(json.dumps, lines)))
    result = call("import", "records", source, tmp_path / "study")
    assert result.returncode == 0, result.stderr
    assert "3 readings new" in result.stderr
    assert "1 record is off schema" in result.stderr
    assert "line 2" in result.stderr
    assert (tmp_path / "study" / "derived" / "attributes.parquet").is_file()


def test_a_study_that_is_there_keeps_its_settings(tmp_path: Path) -> None:
    source = put_study(tmp_path / "files")
    study = tmp_path / "study"
    study.mkdir()
    text = "[measure]\nbootstrap = 10\n"
    (study / "study.toml").write_text(text)
    assert call("import", "reference", source, study, "--reader", "vlm").returncode == 0
    assert (study / "study.toml").read_text() == text
    counts = pl.read_parquet(study / "derived" / "label_counts.parquet")
    assert set(counts["reader"]) == {"vlm"}
