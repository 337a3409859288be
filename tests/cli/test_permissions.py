"""A folder that may be read and not written: one line, exit code 2; reading goes on working."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from contextbias.cli.init import template_text
from contextbias.store import Study

Nobody = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture
def locked(public_folder: Path) -> Path:
    """A study that has never run, in folders that only their owner may write in."""
    Study.create(public_folder / "study", template_text("quick")).close()
    for path in [*public_folder.rglob("*"), public_folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    return public_folder


def call(as_nobody: Nobody, *args: object) -> subprocess.CompletedProcess[str]:
    return as_nobody(
        f"from contextbias.cli.main import main; main({[str(argument) for argument in args]!r})"
    )


@pytest.mark.parametrize("command", [["run"], ["generate"], ["measure"], ["report"]])
def test_a_locked_study_is_not_written(command: list[str], locked: Path, as_nobody: Nobody) -> None:
    assert_refused(call(as_nobody, *command, locked / "study"))


def test_no_study_is_made_where_nothing_can_be_written(locked: Path, as_nobody: Nobody) -> None:
    assert_refused(call(as_nobody, "init", locked / "new"))
    assert_refused(call(as_nobody, "demo", "--out", locked / "demo"))
    assert_refused(call(as_nobody, "prompts", "--out", locked / "prompts.csv"))


def test_a_locked_study_is_read(locked: Path, as_nobody: Nobody) -> None:
    done = call(as_nobody, "status", locked / "study")
    assert done.returncode == 0, done.stderr
    assert "quick" in done.stdout


def assert_refused(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("contextbias: cannot write ")
    assert "permission denied" in line.lower()
