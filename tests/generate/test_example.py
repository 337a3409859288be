"""The example package: built, installed beside contextbias, found by its entry points, run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import CHECKOUT

EXAMPLE = CHECKOUT / "examples" / "contextbias-example-backend"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example as pip installs it, from a copy of its source."""
    if not EXAMPLE.is_dir():
        pytest.skip("needs the examples of the checkout")
    pytest.importorskip("pip")
    pytest.importorskip("hatchling")
    source = tmp_path_factory.mktemp("example") / "source"
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__", "images"))
    target = source.parent / "site"
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
         "--no-build-isolation", "--disable-pip-version-check", "--target", str(target),
         str(source)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return target


def python(installed: Path, *args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(installed), str(CHECKOUT / "src")])
    return subprocess.run(
        [sys.executable, *args],
        capture_output=True, text=True, check=False, cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip


def test_its_own_tests_pass(installed: Path, tmp_path: Path) -> None:
    tests = shutil.copytree(EXAMPLE / "tests", tmp_path / "tests")
    done = python(
        installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
        "-c", os.devnull, "--rootdir", str(tests), str(tests), cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "7 passed" in done.stdout


def test_its_study_runs_to_a_report(installed: Path, tmp_path: Path) -> None:
    shutil.copy(EXAMPLE / "study.toml", tmp_path / "study.toml")
    main = "from contextbias.cli.main import main; main()"
    done = python(installed, "-c", main, "run", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report" / "index.html").is_file()
    state = json.loads(
        python(installed, "-c", main, "status", str(tmp_path), "--json", cwd=tmp_path).stdout
    )
    assert state["images"]["ok"] == state["readings"]["ok"] == 72
    image = next(iter((tmp_path / "images").rglob("*.png"))).read_bytes()
    assert b'AISystemUsed="cards"' in image
    assert b"digitalsourcetype/algorithmicMedia" in image


def test_without_the_package_its_name_is_unknown(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE / "study.toml", tmp_path / "study.toml")
    main = "from contextbias.cli.main import main; main()"
    done = python(tmp_path / "nothing", "-c", main, "run", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no reader backend 'warmth'" in done.stderr
