from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import CHECKOUT
from tests.engines.tasks import Doubling, Failing, Unbuildable, Waiting

from contextbias.engines import run_batches
from contextbias.errors import Incomplete, MissingPart

BATCHES = [[1, 2], [3], [4, 5, 6], [7]]
KINDS = ["none", "threads", "processes"]

_PATIENCE = 300.0
# Seconds until something that has to happen counts as not happening: other tests may run, too.

DRIVER = """
import sys
from pathlib import Path
from contextbias.engines import run_batches
from tests.engines import tasks

if __name__ == "__main__":
    size = int(sys.argv[4])
    batches = [list(range(start, start + size)) for start in range(0, 40, size)]
    try:
        task = getattr(tasks, sys.argv[3])(Path(sys.argv[1]))
        for rows in run_batches(task, batches, parallel=sys.argv[2], workers=2):
            print(*rows, flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("parallel", KINDS)
def test_every_way_of_running_gives_the_same_rows(parallel: str, tmp_path: Path) -> None:
    rows = list(run_batches(Doubling(tmp_path), BATCHES, parallel=parallel, workers=2))
    assert sorted(rows) == [[2, 4], [6], [8, 10, 12], [14]]
    assert 1 <= len(list(tmp_path.glob("built-*"))) <= 2


@pytest.mark.parametrize("parallel", ["none", "threads"])
def test_a_task_is_built_once_a_worker(parallel: str, tmp_path: Path) -> None:
    list(run_batches(Doubling(tmp_path), [[n] for n in range(30)], parallel=parallel, workers=1))
    assert len(list(tmp_path.glob("built-*"))) == 1


def test_one_batch_needs_no_second_process(tmp_path: Path) -> None:
    assert list(run_batches(Doubling(tmp_path), [[1]], parallel="processes", workers=8)) == [[2]]
    (built,) = tmp_path.glob("built-*")
    assert built.name.split("-")[1] == str(os.getpid())


@pytest.mark.parametrize("parallel", KINDS)
def test_an_error_of_a_task_is_not_swallowed(parallel: str) -> None:
    with pytest.raises(ValueError, match="item 4"):
        list(run_batches(Failing(4), BATCHES, parallel=parallel, workers=2))


@pytest.mark.parametrize("parallel", ["threads", "processes"])
def test_an_interruption_finishes_what_is_under_way(parallel: str, tmp_path: Path) -> None:
    driver = _start_driver(tmp_path, parallel)
    _wait_until(lambda: len(list(tmp_path.glob("begun-*"))) == 2)
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal does: to the workers too
    time.sleep(0.2)
    (tmp_path / "go").touch()
    output, _ = driver.communicate(timeout=_PATIENCE)
    *rows, last = output.split()
    assert last == "interrupted"
    begun = {path.name.removeprefix("begun-") for path in tmp_path.glob("begun-*")}
    done = {path.name.removeprefix("done-") for path in tmp_path.glob("done-*")}
    # A signal that hits the very moment of handing out a batch can lose sight of its rows; they
    # are done all the same, and in the pipeline their receipts bring them in.
    assert begun == done
    assert set(rows) <= done
    assert len(rows) >= len(done) - 1
    assert 2 <= len(done) < 40


def test_an_interruption_lets_a_worker_leave_the_rest_of_its_batch(tmp_path: Path) -> None:
    driver = _start_driver(tmp_path, "processes", "Hurrying", size=4)
    _wait_until(lambda: len(list(tmp_path.glob("begun-*"))) == 2)
    driver.send_signal(signal.SIGINT)
    output, _ = driver.communicate(timeout=_PATIENCE)
    *rows, last = output.split()
    assert last == "interrupted"
    done = {path.name.removeprefix("done-") for path in tmp_path.glob("done-*")}
    assert len(done) == 2  # the item that each of two workers was at, of four
    assert set(rows) <= done


def test_no_worker_outlives_its_driver(tmp_path: Path) -> None:
    driver = _start_driver(tmp_path, "processes")
    _wait_until(lambda: len(list(tmp_path.glob("begun-*"))) == 2)
    _wait_until(lambda: all(path.read_text() for path in tmp_path.glob("begun-*")))
    workers = {int(path.read_text()) for path in tmp_path.glob("begun-*")}
    driver.kill()
    driver.communicate(timeout=_PATIENCE)
    _wait_until(lambda: not any(_is_alive(worker) for worker in workers))
    assert list(tmp_path.glob("done-*")) == []


def test_leaving_early_stops_the_rest(tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    batches = [[n] for n in range(200)]
    for rows in run_batches(Waiting(tmp_path), batches, parallel="threads", workers=2):
        assert rows
        break
    assert len(list(tmp_path.glob("done-*"))) < 200


def _start_driver(
    folder: Path, parallel: str, task: str = "Waiting", *, size: int = 1
) -> subprocess.Popen[str]:
    script = folder / "driver.py"
    script.write_text(DRIVER)
    return subprocess.Popen(
        [sys.executable, str(script), str(folder), parallel, task, str(size)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    pytest.fail("it did not happen")


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("parallel", KINDS)
def test_a_worker_that_cannot_be_built_says_why(
    parallel: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(MissingPart, match="no weights"):
        list(run_batches(Unbuildable(), BATCHES, parallel=parallel, workers=2))
    assert "Traceback" not in capfd.readouterr().err


def test_processes_that_cannot_be_started_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> object:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("contextbias.engines.processes.SpawnProcess.start", refused)
    with pytest.raises(Incomplete, match="no worker process can be started"):
        list(run_batches(Doubling(tmp_path), BATCHES, parallel="processes", workers=2))
