"""A study that is killed and run again ends as an undisturbed one, and makes nothing twice."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

STUDY = """
[study]
name = "resume"
seed = 11
images_per_prompt = 2
[bench]
roles = ["nurse", "welder"]
[[generators]]
name = "immune"
backend = "simulated"
options = { model = "context-immune", size = 128 }
[[generators]]
name = "sensitive"
backend = "simulated"
options = { model = "context-sensitive", size = 128 }
[[readers]]
name = "reader"
backend = "simulated"
[measure]
bootstrap = 50
[run]
workers = 2
"""

# What differs between two runs of the same study without any fault.
_UNSTABLE = {"seconds", "created_at"}


def start(study: Path) -> subprocess.Popen[bytes]:
    code = "from contextbias.cli.main import main; main()"
    with messages(study).open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-c", code, "run", str(study)],
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )


def messages(study: Path) -> Path:
    """What the latest run of a study wrote on stderr."""
    return study.with_name(f"{study.name}.stderr")


def finish(study: Path) -> None:
    process = start(study)
    process.wait(timeout=300)
    assert process.returncode == 0, messages(study).read_text()


def rows(study: Path) -> dict[str, list[tuple[object, ...]]]:
    connection = sqlite3.connect(study / "study.sqlite")
    found = {}
    for table in ("prompts", "generators", "images", "readers", "readings"):
        cursor = connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2")
        names = [column[0] for column in cursor.description]
        kept = [i for i, name in enumerate(names) if name not in _UNSTABLE]
        found[table] = [tuple(row[i] for i in kept) for row in cursor]
    connection.close()
    return found


def derived(study: Path) -> dict[str, bytes]:
    names = ("attributes.parquet", "estimates.parquet", "planted.parquet", "mapping.json")
    return {name: (study / "derived" / name).read_bytes() for name in names}


def image_files(study: Path) -> dict[str, tuple[int, int]]:
    files = sorted((study / "images").rglob("*.png"))
    return {str(f.relative_to(study)): (f.stat().st_ino, f.stat().st_mtime_ns) for f in files}


def paid_for(study: Path) -> set[str]:
    """Paths of images that a row or a receipt vouches for."""
    import json

    receipts = [json.loads(p.read_bytes())["row"] for p in (study / "receipts").glob("*.json")]
    paths = {row["path"] for row in receipts if "path" in row}
    if (study / "study.sqlite").exists():
        connection = sqlite3.connect(study / "study.sqlite")
        with connection:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE name = 'images'")
            if tables.fetchone():
                paths |= {row[0] for row in connection.execute("SELECT path FROM images")}
        connection.close()
    return paths


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = tmp_path_factory.mktemp("undisturbed") / "study"
    study.mkdir()
    (study / "study.toml").write_text(STUDY)
    finish(study)
    return study


def test_killed_at_twenty_random_moments(undisturbed: Path, tmp_path: Path) -> None:
    chance = random.Random(20260901)
    study, kills = tmp_path / "study-0", 0
    while kills < 20:
        study.mkdir(exist_ok=True)
        (study / "study.toml").write_text(STUDY)
        process = start(study)
        time.sleep(chance.uniform(0.2, 2.5))
        if process.poll() is not None:
            # It got to its end before the moment came: look at it, and begin another.
            assert process.returncode == 0
            assert rows(study) == rows(undisturbed)
            shutil.rmtree(study)
            study = tmp_path / f"study-{kills}"
            continue
        if kills % 2:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()  # the driver alone: its workers have to notice
        process.wait()
        kills += 1
        _wait_for_workers(process.pid)
        vouched = paid_for(study)
        before = {p: s for p, s in image_files(study).items() if p in vouched}
        if kills % 5 == 0:
            finish(study)
            after = image_files(study)
            assert {path: after[path] for path in before} == before  # nothing was drawn again
    finish(study)
    assert rows(study) == rows(undisturbed)
    assert derived(study) == derived(undisturbed)
    assert not list((study / "receipts").glob("*"))
    assert not list(study.rglob(".*.part"))


def _wait_for_workers(group: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("a worker outlived its driver")


def test_a_finished_study_is_left_alone(undisturbed: Path) -> None:
    files = {p: p.stat().st_mtime_ns for p in undisturbed.rglob("*") if p.is_file()}
    finish(undisturbed)
    assert "Everything was done already" in messages(undisturbed).read_text()
    changed = {
        p.name
        for p in undisturbed.rglob("*")
        if p.is_file() and files.get(p) != p.stat().st_mtime_ns
    }
    assert changed <= {"study.sqlite", "study.sqlite-wal", "study.sqlite-shm", ".lock"}


def test_ctrl_c_keeps_what_was_made_and_goes_on(undisturbed: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    study.mkdir()
    (study / "study.toml").write_text(STUDY)
    process = start(study)
    deadline = time.monotonic() + 300
    while len(image_files(study)) < 10 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: driver and workers
    process.wait(timeout=300)
    assert process.returncode == 130
    assert "run the same command again" in messages(study).read_text()
    assert "Traceback" not in messages(study).read_text()
    made = image_files(study)
    assert set(made) == paid_for(study)  # every file has its row
    finish(study)
    after = image_files(study)
    assert {path: after[path] for path in made} == made
    assert rows(study) == rows(undisturbed)
