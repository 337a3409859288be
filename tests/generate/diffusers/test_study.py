"""Two miniature models through `contextbias run`, killed on the way, and refused prompts."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image
from tests.conftest import CHECKOUT

from contextbias import registry
from contextbias.cli.main import main

COLOURS = "tests.generate.diffusers.colours:ColoursReader"

# The command, with a reader for pictures that show nothing.
COMMAND = """
import sys
sys.path.insert(0, {checkout!r})
from contextbias import registry
registry.READERS["colours"] = registry.Entry({reader!r})
from contextbias.cli.main import main
main()
"""

STUDY = """
[study]
name = "tiny"
seed = 5
images_per_prompt = {images}
[bench]
roles = ["nurse", "baker"]
phrasings = ["a photo of"]
[[generators]]
name = "sdxl"
backend = "diffusers"
options = {{ model = "{sdxl}", {small} }}
[[generators]]
name = "flux"
backend = "diffusers"
options = {{ model = "{flux}", {small} }}
[[readers]]
name = "colours"
backend = "colours"
[measure]
bootstrap = 20
[run]
workers = 1
"""
SMALL = 'size = 64, steps = 2, dtype = "float32", style = "", batch = 2'


def write(study: Path, folder: Callable[[str], Path], *, images: int, small: str = SMALL) -> None:
    study.mkdir()
    paths = {name: folder(name).as_posix() for name in ("sdxl", "flux")}
    (study / "study.toml").write_text(STUDY.format(images=images, small=small, **paths))


def start(command: str, study: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            COMMAND.format(checkout=str(CHECKOUT), reader=COLOURS),
            command,
            str(study),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def finish(command: str, study: Path) -> tuple[str, str]:
    process = start(command, study)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return out, err


def images(study: Path) -> dict[str, dict[str, Any]]:
    connection = sqlite3.connect(study / "study.sqlite")
    connection.row_factory = sqlite3.Row
    rows = [dict(row) for row in connection.execute("SELECT * FROM images")]
    connection.close()
    return {row["image_id"]: row for row in rows}


@pytest.fixture(scope="module")
def finished(folder: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = tmp_path_factory.mktemp("finished") / "study"
    write(study, folder, images=3)
    finish("run", study)
    return study


def test_two_models_run_from_prompts_to_the_report(finished: Path) -> None:
    rows = images(finished)
    by_generator = {name: [r for r in rows.values() if r["generator"] == name] for name in
                    ("sdxl", "flux")}  # fmt: skip
    assert len(by_generator["sdxl"]) == len(by_generator["flux"]) > 0
    assert {row["status"] for row in rows.values()} == {"ok"}
    for row in rows.values():
        with Image.open(finished / row["path"]) as image:
            assert image.size == (64, 64)
            assert "trainedAlgorithmicMedia" in str(image.info["xmp"])
        told = json.loads(row["provenance"])
        assert told["batch"]["size"] in (1, 2)
        assert told["tokens"]
        assert told["revision"].startswith("files ")
    estimates = pl.read_parquet(finished / "derived" / "estimates.parquet")
    assert {"sdxl", "flux"} <= set(estimates["generator"])
    assert "colours" in (finished / "report" / "index.html").read_text("utf-8")


@pytest.mark.slow
def test_a_study_killed_in_the_middle_makes_nothing_twice(
    finished: Path, folder: Callable[[str], Path], tmp_path: Path
) -> None:
    study = tmp_path / "study"
    write(study, folder, images=3)
    process = start("generate", study)
    while len(list(study.rglob("*.png"))) < 9 and process.poll() is None:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    receipts = [json.loads(p.read_bytes())["row"] for p in (study / "receipts").glob("*.json")]
    paid = {row["path"] for row in receipts} | {row["path"] for row in images(study).values()}
    before = {path: (study / path).stat().st_mtime_ns for path in paid}
    assert 0 < len(before) < len(images(finished))
    finish("generate", study)
    assert {path: (study / path).stat().st_mtime_ns for path in paid} == before
    done, undisturbed = images(study), images(finished)
    assert set(done) == set(undisturbed)
    for key, row in done.items():
        assert row["attempt"] == 1
        ours, theirs = (Image.open(root / r["path"]) for root, r in
                        ((study, row), (finished, undisturbed[key])))  # fmt: skip
        # A batch that was cut by the kill is finished in another one: within one grey level.
        pairs = zip(ours.tobytes(), theirs.tobytes(), strict=True)
        assert max(abs(a - b) for a, b in pairs) <= 1


def test_a_prompt_that_would_be_cut_stops_the_run_before_any_image(
    folder: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study"
    long = f'style = "{"long " * 20}"'
    write(study, folder, images=1, small=SMALL.replace('style = ""', long))
    with pytest.raises(SystemExit) as stopped:
        main(["generate", str(study)])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "would be cut off" in said
    assert "Traceback" not in said
    assert not list(study.rglob("*.png"))


def test_a_plan_says_what_it_takes(
    folder: Callable[[str], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(registry.READERS, "colours", registry.Entry(COLOURS))
    study = tmp_path / "study"
    write(study, folder, images=1)
    with pytest.raises(SystemExit) as ended:
        main(["plan", str(study)])
    assert not ended.value.code
    said = " ".join(capsys.readouterr().out.split())  # lines are wrapped
    assert "teraflops a second" in said
    assert "GPU memory expected" in said
