"""Known prompts from a study to its report: paid once, right by construction, or refused."""

from __future__ import annotations

import csv
import json
import shutil
import tomllib
from pathlib import Path

import polars as pl
import pytest
from tests.small_study import one_role
from typer.testing import CliRunner

from contextbias import pipeline
from contextbias.cli.main import app
from contextbias.errors import ConfigError, InputError
from contextbias.measure.rows import Run, Settings
from contextbias.measure.validity_known import known_estimates
from contextbias.pipeline import STAGES, Options
from contextbias.pipeline.validation import known_answers, known_fingerprint
from contextbias.pipeline.validation_prompts import (
    FOLDER,
    PROMPTS_FILE,
    Size,
    known_prompts,
    prepare,
    put,
)
from contextbias.pipeline.validation_run import Validated, ask, forecast, validate
from contextbias.store import Study

SMALL = Size(prompts=12, images=1)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that was drawn and read; tests work on copies."""
    folder = tmp_path_factory.mktemp("validation") / "s"
    with Study.create(folder, one_role()) as study:
        pipeline.run(study, STAGES[:-2], Options())
    return folder


@pytest.fixture
def root(base: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(base, tmp_path / "s"))


def asked(root: Path, size: Size = SMALL, options: Options | None = None) -> dict[str, int]:
    """Draw and read, without measuring: new rows by stage."""
    with Study.open(root) as study:
        put(root / FOLDER, prepare(study, size))
    return {each.stage: each.new for each in ask(root / FOLDER, options or Options())}


def validated(root: Path, size: Size = SMALL, options: Options | None = None) -> Validated:
    with Study.open(root, writing=True) as study:
        return validate(study, size, options or Options())


def overall(root: Path) -> dict[str, float]:
    with Study.open(root) as study:
        found = study.estimates()
    assert found is not None
    rows = found.filter(
        pl.col("estimand").str.starts_with("known_"), pl.col("cohort") == "all",
        pl.col("condition") == "all", pl.col("role").is_null(),
        pl.col("method").is_in(["wilson-clustered", "prompt-bootstrap"]),
    )  # fmt: skip
    return dict(rows.select("estimand", "point").iter_rows())


def test_a_model_that_complies_and_a_reader_without_errors_are_perfect(root: Path) -> None:
    with Study.open(root, writing=True) as study:
        pipeline.run(study, ("measure",), Options())
        before, rows = study.estimates(), study.counts()
    assert before is not None
    done = validated(root)
    assert done.prompts == 12
    assert {each.stage: each.new for each in done.done}["generate"] == 12
    assert overall(root) == dict.fromkeys(
        ("known_accuracy", "known_compliance", "known_reader_accuracy", "known_precision",
         "known_recall", "known_f1"), 1.0,
    )  # fmt: skip
    page = (root / "report/index.html").read_text("utf-8")
    assert "Prompts whose truth is known" in page
    assert "Drawn as named" in page
    with (root / "report/tables/paper_table_1.csv").open() as stream:
        (line,) = csv.DictReader(stream)
    assert (line["generator"], line["accuracy"], line["images"]) == ("g", "100.0", "12")
    assert (root / "report/tables/paper_table_7.csv").is_file()
    # Nothing is made twice, and the study itself is as it was.
    assert [each.new for each in validated(root).done] == [0, 0, 0, 0, 0]
    with Study.open(root) as study:
        after = study.estimates()
        assert study.counts() == rows
        assert pipeline.status(study)["stale"] == []
    assert after is not None
    assert after.filter(~pl.col("estimand").str.starts_with("known_")).equals(before)


def known(root: Path) -> pl.DataFrame:
    with Study.open(root) as study:
        found = known_answers(root, study.mapping())
    assert found is not None
    return found


def shares(root: Path) -> dict[str, float]:
    found = known_estimates(known(root), Run("", "paper", "primary", "1"), Settings(bootstrap=0))
    rows = found.filter(
        pl.col("cohort") == "all", pl.col("condition") == "all", pl.col("role").is_null(),
        pl.col("method") == "wilson-clustered",
    )  # fmt: skip
    return dict(rows.select("estimand", "point").iter_rows())


def test_a_model_that_does_not_comply(root: Path) -> None:
    (root / "study.toml").write_text(one_role(compliance=0.0))
    asked(root, Size(prompts=40, images=2))
    found = shares(root)
    assert found["known_reader_accuracy"] == 1.0
    assert found["known_accuracy"] == found["known_compliance"] < 0.7


def test_a_reader_that_errs(root: Path) -> None:
    asked(root, Size(prompts=40, images=2))
    # The same pictures, read by a reader with errors.
    path = root / FOLDER / "study.toml"
    path.write_text(path.read_text().replace(
        '"preset" = "noiseless"', '"preset" = "noiseless", "error_rate" = 0.4, "drop_rate" = 0.4'
    ))  # fmt: skip
    ask(root / FOLDER, Options())
    found = shares(root)
    assert found["known_compliance"] == 1.0
    assert found["known_accuracy"] == found["known_reader_accuracy"] < 0.9


def test_a_run_that_was_stopped_goes_on(root: Path) -> None:
    assert asked(root, options=Options(limit=5))["generate"] == 5
    first = {path: path.read_bytes() for path in (root / "validation/images").rglob("*.png")}
    assert asked(root, Size())["generate"] == 7  # as many prompts and images as before
    assert all(path.read_bytes() == data for path, data in first.items())
    with Study.open(root / FOLDER) as study:
        assert pipeline.status(study)["images"] == {"wanted": 12, "ok": 12}


def test_more_prompts_are_added_to_those_that_are_there(root: Path) -> None:
    asked(root, Size(prompts=6, images=1))
    before = known_prompts(root / FOLDER)
    assert asked(root, Size(prompts=10))["generate"] == 4
    assert known_prompts(root / FOLDER)[:6] == before
    assert asked(root, Size(prompts=4)) == {"bench": 0, "generate": 0, "extract": 0}
    assert len(known_prompts(root / FOLDER)) == 10


def test_a_forecast_writes_nothing_and_counts_what_is_there(root: Path) -> None:
    def files() -> list[Path]:
        return sorted(p for p in root.rglob("*") if "sqlite-" not in p.name)

    before = files()
    with Study.open(root) as study:
        found = forecast(study, SMALL)
    assert files() == before
    sections = {each["stage"]: each for each in found["work"]["sections"]}
    assert found["prompts"] == 12
    assert sections["generate"]["pending"] == sections["extract"]["pending"] == 12
    asked(root)
    with Study.open(root) as study:
        there = forecast(study, SMALL)
        grown = forecast(study, Size(prompts=14))
    assert {each["pending"] for each in there["work"]["sections"]} == {0}
    assert {each["pending"] for each in grown["work"]["sections"]} == {2}


def test_what_is_known_decides_the_estimates(root: Path) -> None:
    assert known_fingerprint(root) is None
    assert known_answers(root, None) is None
    asked(root, Size(prompts=4, images=1))
    first = known_fingerprint(root)
    assert known(root).height == 4
    assert known(root)["shown"].all()
    asked(root, Size(images=2))
    assert known_fingerprint(root) != first
    # A truth that is gone leaves what was read.
    for path in (root / "validation/images").rglob("*.truth.json"):
        path.unlink()
    assert not known(root)["shown"].any()
    assert known(root)["read"].null_count() == 0


def test_status_tells_of_a_validation_and_where_its_numbers_are(root: Path) -> None:
    asked(root, Size(prompts=4, images=1))
    text = CliRunner().invoke(app, ["status", str(root)]).stdout
    said = "validation  4 prompts; images: 4 ok; 4 wanted; readings: 4 ok; 4 wanted\n"
    assert said in text
    assert "people" not in text
    inside = CliRunner().invoke(app, ["status", str(root / FOLDER)]).stdout
    assert inside.endswith(f"its numbers are in the study above: {root.resolve()}\n")
    assert "not yet" not in inside


# ---- what cannot be validated


def test_a_study_that_was_not_run(tmp_path: Path) -> None:
    Study.create(tmp_path / "s", one_role()).close()
    with pytest.raises(InputError, match="has no attributes"):
        validated(tmp_path / "s")


def test_a_study_that_draws_nothing_or_reads_nothing(tmp_path: Path) -> None:
    images = tmp_path / "images"
    images.mkdir()
    folder = f"[[generators]]\nname = 'g'\nbackend = 'folder'\noptions = {{source = '{images}'}}\n"
    Study.create(tmp_path / "f", folder).close()
    with pytest.raises(ConfigError, match="draws"):
        validated(tmp_path / "f")
    Study.create(tmp_path / "n", one_role().partition("[[readers]]")[0]).close()
    with pytest.raises(ConfigError, match="names no reader"):
        validated(tmp_path / "n")


def test_a_study_in_another_language(tmp_path: Path) -> None:
    german = one_role().replace('roles = ["nurse"]', 'bank = "contextbench-de"')
    Study.create(tmp_path / "s", german).close()
    with Study.open(tmp_path / "s", writing=True) as study:
        pipeline.run(study, ("bench", "generate"), Options(limit=3))
        pipeline.run(study, ("extract", "canonicalise"), Options())
    with pytest.raises(InputError, match="English"):
        validated(tmp_path / "s")


def test_a_reader_that_can_tell_no_label_that_is_shown(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "contextbias.extract.simulated.SimulatedReader.readable", lambda _: {"mood": None}
    )
    with pytest.raises(InputError, match="none of the labels"):
        validated(root)


def test_prompts_that_were_edited(root: Path) -> None:
    validated(root, Size(prompts=4, images=1))
    path = root / "validation" / PROMPTS_FILE
    path.write_text('[{"role": "nurse"}]')
    with pytest.raises(InputError, match="not a list of prompts that name a label"):
        validated(root)


# ---- the study of the known prompts


def test_the_configuration_is_that_of_the_study_around_it(tmp_path: Path) -> None:
    toml = one_role(0.5)
    toml = toml.replace("workers = 1", 'workers = 1\nimages = "elsewhere"')
    toml += '\n[[generators]]\nname = "c"\nbackend = "command"\n'
    toml += 'options = { command = ["draw", "it\'s \\"so\\""], cwd = "programs" }\n'
    root = tmp_path / "s"
    Study.create(
        root, toml.replace("images_per_prompt = 1", "images_per_prompt = 1\nseed = 7")
    ).close()
    with Study.open(root, writing=True) as study:
        pipeline.run(
            study, ("bench", "generate", "extract", "canonicalise"),
            Options(limit=8, generators=frozenset({"g"})),
        )  # fmt: skip
        prepared = prepare(study, Size(prompts=4))
    table = tomllib.loads(prepared.files["study.toml"].decode())
    assert table["study"]["seed"] == 7
    assert table["study"]["seeds"] == "independent"  # whatever the study around it has
    assert table["study"]["images_per_prompt"] == 10
    assert table["bench"]["bank"] == PROMPTS_FILE
    assert table["run"]["images"] == "../elsewhere/validation"
    simulated, command = table["generators"]
    assert simulated["options"]["compliance"] == 0.5
    assert command["options"]["command"] == ["draw", 'it\'s "so"']
    assert command["options"]["cwd"] == "../programs"
    entries = json.loads(prepared.files[PROMPTS_FILE])
    assert {entry["prompted"][0] for entry in entries} == {
        entry["names"]["dimension"] for entry in entries
    }
