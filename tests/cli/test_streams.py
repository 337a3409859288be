"""Where output goes, and how commands end when nobody takes it, or somebody stops them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from contextbias.cli.init import template_text
from contextbias.store import Study

CODE = "from contextbias.cli.main import main; main()"
COMMAND = f"{sys.executable} -c '{CODE}'"

# Says when it can be stopped: before, a signal ends any Python in its own way.
STOPPABLE = """
import contextbias.cli.main as program
run = program._run
def begun(args):
    print("on", flush=True)
    return run(args)
program._run = begun
program.main(["doctor"])
"""

COUNTS = "generator,role,dimension,label,condition,count,n\ng,r,d,l,CF,3,10\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Study.create(tmp_path / "study", template_text("quick")).close()
    (tmp_path / "counts.csv").write_text(COUNTS)
    return tmp_path


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = ["bash", "-o", "pipefail", "-c", line.replace("contextbias", COMMAND, 1)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


PRINTING = ["status study", "status study --json", "consistency counts.csv", "prompts", "--help"]


@pytest.mark.parametrize("command", PRINTING)
def test_a_reader_that_goes_away_is_no_failure(command: str, folder: Path) -> None:
    done = shell(f"contextbias {command} | true", folder)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", PRINTING)
@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_one_line(command: str, folder: Path) -> None:
    done = shell(f"contextbias {command} > /dev/full", folder)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("contextbias: cannot use the output: no space left on device")


def test_closed_streams(folder: Path) -> None:
    done = shell("contextbias status nowhere 2>&-", folder)
    assert (done.returncode, done.stdout) == (2, "")
    done = shell("contextbias init made 2>&-", folder)
    assert (done.returncode, done.stdout) == (0, "made/study.toml\n")
    done = shell("contextbias status study <&- >&- 2>&-", folder)
    assert (done.returncode, done.stdout) == (0, "")


def test_messages_stay_on_their_line(folder: Path) -> None:
    done = shell("contextbias status $'no\\nstudy\\e[31m'", folder)
    (line,) = done.stderr.strip().splitlines()
    assert "no\\nstudy\\x1b[31m is not a study" in line


@pytest.mark.parametrize("option", ["--roles", "--generators"])
@pytest.mark.parametrize("names", ["", " , "])
def test_a_list_of_no_names_is_refused(option: str, names: str, folder: Path) -> None:
    done = shell(f"contextbias run study {option} '{names}'", folder)
    assert done.returncode == 2
    assert f"{option} {names!r} names nothing" in done.stderr


def test_a_report_is_only_named_by_who_wrote_it(folder: Path) -> None:
    (folder / "study/report").mkdir()
    (folder / "study/report/index.html").touch()
    done = shell("contextbias run study --until bench", folder)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("seconds", [0.4, 0.9])
def test_stopped_outside_of_any_stage(number: signal.Signals, seconds: float, folder: Path) -> None:
    """Wherever it hits: 130, or 0 when the command had ended; never a traceback."""
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPABLE],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"on\n"
    time.sleep(seconds / 4)
    process.send_signal(number)
    _, errors = process.communicate(timeout=300)
    assert process.returncode in (130, 0)
    assert b"Traceback" not in errors


IN_A_FINALISER = """
import signal, time
import contextbias.cli.main as program
class Last:
    def __del__(self):
        signal.raise_signal(signal.%s)
def begun(args):
    one = Last()
    del one
    time.sleep(60)
program.app = begun
program.main([])
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_stop_inside_a_finaliser_is_not_lost(name: str, folder: Path) -> None:
    """Python says that it drops what is raised there, and goes on."""
    done = subprocess.run(
        [sys.executable, "-c", IN_A_FINALISER % name], capture_output=True, timeout=50, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
