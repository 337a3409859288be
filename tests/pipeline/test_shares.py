"""A study with a table of reference shares: measured, measured again when it changes, refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from contextbias import pipeline
from contextbias.errors import ConfigError, InputError
from contextbias.pipeline import Options, status
from contextbias.progress import Silent
from contextbias.store import Study

STUDY = """
[study]
images_per_prompt = 1
[bench]
roles = ["nurse", "welder"]
[[generators]]
name = "drawn"
backend = "simulated"
options = { size = 64 }
[[readers]]
name = "vlm"
backend = "simulated"
[measure]
bootstrap = 10
shares = "shares.csv"
[run]
workers = 1
"""
HEADER = "role,dimension,label,share\n"
SHARES = HEADER + "nurse,gender_presentation,female,0.8\nwelder,gender_presentation,female,0.1\n"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("finished") / "study"
    root.mkdir()
    (root / "shares.csv").write_text(SHARES)
    with Study.create(root, STUDY) as study:
        pipeline.run(study, ("bench", "generate", "extract", "canonicalise"), Options())
    measure(root)
    return root


@pytest.fixture
def study(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "study"))


class Told(Silent):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def measure(root: Path) -> tuple[str, list[str]]:
    told = Told()
    with Study.open(root, writing=True) as opened:
        (done,) = pipeline.run(opened, ("measure",), Options(progress=told))
    return done.note, told.lines


def points(root: Path) -> dict[str, float]:
    rows = pl.read_parquet(root / "derived/estimates.parquet").filter(
        pl.col("estimand") == "representation_pp", pl.col("condition") == "all",
        pl.col("role").is_not_null(),
    )  # fmt: skip
    return dict(rows.select("role", "point").rows())


def test_the_rows_are_prevalence_less_share(finished: Path) -> None:
    found = points(finished)
    rows = pl.read_parquet(finished / "derived/estimates.parquet").filter(
        pl.col("estimand") == "prevalence", pl.col("condition") == "all",
        pl.col("label") == "female", pl.col("reader") == "vlm", pl.col("generator") == "drawn",
    )  # fmt: skip
    shown = dict(rows.select("role", "point").rows())
    assert found == pytest.approx(
        {"nurse": 100 * (shown["nurse"] - 0.8), "welder": 100 * (shown["welder"] - 0.1)}
    )


def test_a_changed_table_is_measured_again_and_the_same_one_is_not(study: Path) -> None:
    assert measure(study)[0] == "nothing to do"
    before = points(study)
    (study / "shares.csv").write_text(SHARES.replace("0.8", "0.7"))
    with Study.open(study) as opened:
        assert "estimates" in status(opened)["stale"]
    assert measure(study)[0] != "nothing to do"
    assert points(study)["nurse"] == pytest.approx(before["nurse"] + 10)
    assert points(study)["welder"] == pytest.approx(before["welder"])


def test_a_table_that_is_gone_or_wrong_is_said(study: Path) -> None:
    (study / "shares.csv").unlink()
    with Study.open(study) as opened:
        assert "estimates" in status(opened)["stale"]
    with pytest.raises(InputError, match=r"shares\.csv"):
        measure(study)
    (study / "shares.csv").write_text(HEADER + "nurse,gender_presentation,female,80\n")
    with pytest.raises(InputError, match="line 2: share '80'"):
        measure(study)


def test_roles_that_the_study_lacks(study: Path) -> None:
    (study / "shares.csv").write_text(SHARES + "pilot,gender_presentation,female,0.1\n")
    assert measure(study)[1] == ["shares of roles that the study lacks: pilot"]
    (study / "shares.csv").write_text(HEADER + "nurce,gender_presentation,female,0.1\n")
    with pytest.raises(InputError) as caught:
        measure(study)
    assert caught.value.fix == "did you mean 'nurse'?"


def test_an_empty_name_is_refused(study: Path) -> None:
    (study / "study.toml").write_text(STUDY.replace('"shares.csv"', '""'))
    with pytest.raises(ConfigError, match=r"measure\.shares"):
        measure(study)


def test_labels_are_those_under_which_the_study_counts(study: Path) -> None:
    items = pl.read_parquet(study / "derived/attributes.parquet").filter(
        pl.col("dimension") == "items", pl.col("role") == "nurse", pl.col("reader") == "vlm"
    )
    label = items["label"].drop_nulls().mode().sort()[0]
    line = f"nurse,items,{label.upper()},0.2\n"
    (study / "shares.csv").write_text(HEADER + line)
    measure(study)
    rows = pl.read_parquet(study / "derived/estimates.parquet").filter(
        pl.col("estimand") == "representation_pp", pl.col("condition") == "all",
        pl.col("role") == "nurse",
    )  # fmt: skip
    assert rows["label"].to_list() == [label]
    assert rows["point"].item() > -20  # the pictures do show it
    (study / "shares.csv").write_text(f"{HEADER}{line}nurse,items,{label},0.3\n")
    with pytest.raises(InputError, match=f"{label.upper()!r} and {label!r} of nurse, items"):
        measure(study)
