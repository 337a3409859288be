"""Further readings of a sample: stored, compared, and in no other number."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.rows import image
from typer.testing import CliRunner

from contextbias import pipeline
from contextbias.cli.main import app
from contextbias.errors import ConfigError
from contextbias.pipeline import STAGES, Done, Options
from contextbias.pipeline.repeats import repeats, sample
from contextbias.pipeline.selection import Wanted
from contextbias.progress import Silent
from contextbias.store import Study

TEXT = """
[study]
images_per_prompt = 1
[bench]
roles = ["nurse"]
[measure]
bootstrap = 0
[run]
workers = 1
[[generators]]
name = "g"
backend = "simulated"
options = { size = 64 }
[[readers]]
name = "r"
backend = "simulated"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "s"
    Study.create(folder, TEXT).close()
    run(folder, *STAGES[:-1])
    return folder


class Told(Silent):
    """A progress that remembers what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, message: str) -> None:
        self.said.append(message)


def run(
    root: Path, *stages: str, repeat: int = 0, size: int = 100, limit: int | None = None
) -> dict[str, Done]:
    options = Options(repeat=repeat, sample=size, limit=limit)
    with Study.open(root, writing=True) as study:
        done = pipeline.run(study, stages, options)
    return {each.stage: each for each in done}


def estimates(root: Path) -> pl.DataFrame:
    with Study.open(root) as study:
        found = study.estimates()
    assert found is not None
    return found


def stored(root: Path) -> dict[int, set[str]]:
    """Number of the repeat -> images."""
    with Study.open(root) as study:
        wanted = Wanted(study)
        found = repeats(wanted, wanted.images())
    assert all(row.raw["repeat"] == k for k, rows in found.items() for row in rows)
    return {number: {row.image_id for row in rows} for number, rows in found.items()}


def test_a_sample_is_read_again_once(root: Path) -> None:
    done = run(root, "extract", repeat=2, size=5)["extract"]
    assert done.new == 10
    assert "10 further readings of a sample" in done.note
    found = stored(root)
    assert set(found) == {1, 2}
    assert found[1] == found[2]
    assert len(found[1]) == 5
    assert run(root, "extract", repeat=2, size=5)["extract"].new == 0


def test_more_of_it_reads_only_what_is_missing(root: Path) -> None:
    run(root, "extract", repeat=1, size=4)
    before = stored(root)[1]
    assert run(root, "extract", repeat=1, size=6)["extract"].new == 2
    assert before < stored(root)[1]
    assert run(root, "extract", repeat=3, size=6)["extract"].new == 12


def test_the_limit_of_a_run_is_of_these_too(root: Path) -> None:
    assert run(root, "extract", repeat=2, size=5, limit=7)["extract"].new == 7
    assert {number: len(images) for number, images in stored(root).items()} == {1: 5, 2: 2}
    assert run(root, "extract", repeat=2, size=5, limit=0)["extract"].new == 0
    assert run(root, "extract", repeat=2, size=5, limit=7)["extract"].new == 3


def test_no_number_but_agreement_knows_them(root: Path) -> None:
    before = estimates(root)
    run(root, "extract", repeat=1, size=8)
    with Study.open(root) as study:
        state = pipeline.status(study)
    assert state["stale"] == ["attributes", "estimates"]
    assert state["readings_kept_but_not_used"] == 0
    assert state["further_readings"] == 8
    assert state["readings"]["ok"] <= state["readings"]["wanted"]
    done = run(root, *STAGES[:-1])
    assert "facts of further readings" in done["canonicalise"].note
    after = estimates(root)
    is_agreement = pl.col("estimand").str.starts_with("agreement_")
    assert after.filter(~is_agreement).equals(before)
    own = after.filter(is_agreement)
    assert set(own["method"]) == {"repeat 1"}
    assert own["n"].max() <= 8  # type: ignore[operator]
    with Study.open(root) as study:
        assert pipeline.status(study)["stale"] == []
    assert run(root, *STAGES[:-1])["measure"].new == 0


def test_repeats_of_other_settings_are_not_taken_for_those_of_now(root: Path) -> None:
    run(root, "extract", repeat=1, size=8)
    run(root, *STAGES[:-1])
    path = root / "study.toml"
    path.write_text(path.read_text() + "options = { seed = 9 }\n")
    run(root, *STAGES[:-1])
    assert stored(root) == {}
    assert not estimates(root)["estimand"].str.starts_with("agreement").any()
    with Study.open(root) as study:
        assert study.repeats() is None


def test_a_reader_that_draws_numbers_draws_others_each_time(root: Path) -> None:
    run(root, "extract", repeat=1, size=100)
    with Study.open(root) as study:
        wanted = Wanted(study)
        first = {row.image_id: row.record for row in wanted.readings(wanted.images())}
        again = {row.image_id: row.record for row in repeats(wanted, wanted.images())[1]}
    assert first.keys() == again.keys()
    assert first != again


def test_a_sample_depends_on_the_seed_and_holds_smaller_ones() -> None:
    images = [image(f"i{k}") for k in range(40)]
    assert sample(images, 1, 10) == sample(images, 1, 10)
    assert sample(images, 1, 10) != sample(images, 2, 10)
    assert {i.image_id for i in sample(images, 1, 5)} < {i.image_id for i in sample(images, 1, 9)}
    assert sample(images, 1, 99) == images
    assert sample(images[::-1], 1, 10) == sample(images, 1, 10)[::-1]


def test_the_command(root: Path) -> None:
    found = CliRunner().invoke(app, ["extract", str(root), "--repeat", "1", "--sample", "3"])
    assert found.exit_code == 0
    assert len(stored(root)[1]) == 3
    alone = CliRunner().invoke(app, ["extract", str(root), "--sample", "3"])
    assert isinstance(alone.exception, ConfigError)
    assert "--repeat" in str(alone.exception)
    assert CliRunner().invoke(app, ["extract", str(root), "--repeat", "-1"]).exit_code == 2


def test_a_reader_that_cannot_vary_is_not_asked_again(root: Path) -> None:
    """It could only agree with itself, for as much work as the first time; the others are read."""
    sure = '[[readers]]\nname = "sure"\nbackend = "simulated"\noptions = {preset = "noiseless"}\n'
    (root / "study.toml").write_text(TEXT + sure)
    run(root, "extract")
    told = Told()
    options = Options(repeat=2, sample=3, progress=told)
    with Study.open(root, writing=True) as study:
        (done,) = pipeline.run(study, ("extract",), options)
    assert done.new == 6  # of the other reader
    (said,) = told.said
    assert said.startswith("sure says the same of a picture every time")
