"""A whole study read by a miniature model, through the program: finished, killed, again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from contextbias import pipeline
from contextbias.extract.vision.kept import opened
from contextbias.pipeline import Options
from contextbias.schema import check_record
from contextbias.store import Study

# Answers are drawn: at temperature 0 the miniature says nearly the same of everything.
TEXT = """
[study]
images_per_prompt = 1
[bench]
roles = ["nurse", "welder"]
phrasings = ["a photo of"]
[[generators]]
name = "g"
backend = "simulated"
options = {{ size = 96 }}
[[readers]]
name = "tiny"
backend = "transformers"
options = {{ model = "{model}", {small} }}
[measure]
bootstrap = 20
[run]
workers = 1
"""
SMALL = 'dtype = "float32", size = 64, people = 1, max_tokens = 1500, temperature = 1.0, batch = 4'

IMAGES = 16


@pytest.fixture(scope="module")
def drawn(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with its pictures, not read yet; copied for each test."""
    root = tmp_path_factory.mktemp("drawn") / "s"
    with Study.create(root, TEXT.format(model=folder.as_posix(), small=SMALL)) as made:
        pipeline.run(made, ("bench", "generate"), Options())
    return root


@pytest.fixture(scope="module")
def finished(drawn: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, read and reported."""
    root = tmp_path_factory.mktemp("finished") / "s"
    shutil.copytree(drawn, root)
    done(root, "run")
    return root


def start(root: Path, *words: str) -> subprocess.Popen[str]:
    code = "from contextbias.cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *words, str(root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )


def done(root: Path, *words: str) -> str:
    """Run the program to its end; what it wrote."""
    process = start(root, *words)
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    return " ".join((out + errors).split())


def readings(root: Path) -> dict[str, Any]:
    with Study.open(root) as study:
        return {row.image_id: row for row in study.readings()}


def test_a_study_from_prompts_to_the_report(finished: Path, folder: Path) -> None:
    found = readings(finished)
    assert len(found) == IMAGES
    counted = Counter(row.status for row in found.values())
    assert set(counted) <= {"ok", "invalid"}
    assert counted["ok"] > counted["invalid"]
    for row in found.values():
        assert row.raw["model"] == str(folder.resolve())
        assert all(turn["batch"]["size"] <= 4 for turn in row.raw["turns"])
        assert len(opened(row.raw)) == len(row.raw["turns"])
        assert (row.record is None) == (row.status == "invalid")
        assert row.record is None or check_record(row.record) == []
        assert row.status == "ok" or "is 'no' but" in row.reason or "is 'yes' but" in row.reason
    facts = pl.read_parquet(finished / "derived/attributes.parquet")
    assert set(facts["reader"]) == {"tiny"}
    estimates = pl.read_parquet(finished / "derived/estimates.parquet")
    assert set(estimates["generator"].drop_nulls()) >= {"g"}
    assert "tiny" in (finished / "report/index.html").read_text("utf-8")


def test_what_plan_and_doctor_say_of_it(drawn: Path, finished: Path, tmp_path: Path) -> None:
    root = tmp_path / "s"
    shutil.copytree(drawn, root)
    assert "the first readings tell how long it takes" in done(root, "plan")
    process = start(root, "doctor")
    out, _ = process.communicate(timeout=600)
    assert "LlavaProcessor" in out
    assert "llguidance" in out
    # More images a prompt, and the readings that are there tell what reading them takes.
    more = tmp_path / "more"
    shutil.copytree(finished, more)
    text = (more / "study.toml").read_text().replace("prompt = 1", "prompt = 2")
    (more / "study.toml").write_text(text)
    assert f"tiny: time from {IMAGES} finished readings" in done(more, "plan")


@pytest.mark.slow
def test_a_study_killed_in_the_middle_reads_nothing_twice(
    drawn: Path, finished: Path, tmp_path: Path
) -> None:
    root = tmp_path / "s"
    shutil.copytree(drawn, root)
    process = start(root, "extract")
    receipts: Callable[[], list[Path]] = lambda: list((root / "receipts").glob("*.json"))  # noqa: E731
    while len(receipts()) + stored(root) < 6 and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    done(root, "extract")
    found, undisturbed = readings(root), readings(finished)
    assert set(found) == set(undisturbed)
    assert {row.attempt for row in found.values()} == {1}
    assert {key: row.record for key, row in found.items()} == {
        key: row.record for key, row in undisturbed.items()
    }


def stored(root: Path) -> int:
    """Readings in the table."""
    import sqlite3

    connection = sqlite3.connect(root / "study.sqlite")
    try:
        (count,) = connection.execute("SELECT COUNT(*) FROM readings").fetchone()
    finally:
        connection.close()
    return int(count)
