"""A study on a real Ray cluster, with workers killed in the middle, against one without."""

from __future__ import annotations

import json
import os
import secrets
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.conftest import CHECKOUT
from tests.engines.tasks import Keeping

from contextbias.engines import Engine, check
from contextbias.engines.cluster import _Actor, _Crew, _Hand, run_there
from contextbias.errors import ConfigError, InputError, MissingPart
from contextbias.files import StudyFiles

pytest.importorskip("ray")

from ray.exceptions import RayError

# A generator of another package: the simulated one, which leaves a mark for each image that it
# makes, begins when as many workers are there as `crew` says, and kills its own process at some
# images.
BACKEND = """
import os, signal, time
from pathlib import Path
from contextbias.generate.simulated import SimulatedGenerator

class Marking(SimulatedGenerator):
    batch_size = 3

    def __init__(self, options):
        options = dict(options)
        self.marks = Path(options.pop("marks"))
        self.dies_at = tuple(options.pop("dies_at", []))
        self.always = options.pop("always", False)
        self.pause = options.pop("pause", 0.0)
        self.crew = options.pop("crew", 1)
        super().__init__(options)

    def generate(self, jobs):
        (self.marks / f"here-{os.getpid()}").touch()
        while len(list(self.marks.glob("here-*"))) < self.crew:
            time.sleep(0.01)
        for job, made in zip(jobs, super().generate(jobs), strict=True):
            died = self.marks / f"died-{job.image_id}"
            if job.prompt_id.startswith(self.dies_at) and (self.always or not died.exists()):
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(self.pause)
            (self.marks / f"made-{job.image_id}-{os.getpid()}-{time.perf_counter_ns()}").touch()
            yield made
"""

STUDY = """
[study]
images_per_prompt = 1
[bench]
roles = ["nurse", "welder"]
[[generators]]
name = "marking"
backend = "marking"
options = {{ {options}size = 64, marks = "{marks}" }}
[[readers]]
name = "reader"
backend = "simulated"
[run]
workers = 2
{run}
"""

_UNSTABLE = {"seconds", "created_at"}
RAY = Engine(kind="ray")

_PATIENCE = 300.0
# Seconds until something that has to happen counts as not happening: other tests may run, too.


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PYTHONPATH in which the backend is installed, as far as Python can tell."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "marking.py").write_text(BACKEND)
    info = folder / "marking-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: marking\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[contextbias.generators]\nmarking = marking:Marking\n")
    return folder


def make(folder: Path, *, options: str = "", run: str = "") -> Path:
    study, marks = folder / "study", folder / "marks"
    study.mkdir(parents=True)
    marks.mkdir()
    text = STUDY.format(marks=marks, options=f"{options}, " if options else "", run=run)
    (study / "study.toml").write_text(text)
    return study


def start(study: Path, site: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    code = "from contextbias.cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", str(study), "--until", "extract", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{CHECKOUT}{os.pathsep}{site}", **variables},
    )


def finish(process: subprocess.Popen[str]) -> str:
    _, errors = process.communicate(timeout=_PATIENCE)
    assert process.returncode == 0, errors
    return errors


def rows(study: Path) -> dict[str, list[dict[str, object]]]:
    """All rows, without what differs between two runs of one study: times and machines."""
    connection = sqlite3.connect(study / "study.sqlite")
    connection.row_factory = sqlite3.Row
    found = {}
    for table in ("prompts", "generators", "images", "readers", "readings"):
        cursor = connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2")
        found[table] = [{k: row[k] for k in row.keys() if k not in _UNSTABLE} for row in cursor]  # noqa: SIM118
    connection.close()
    for row in found["images"]:
        provenance = json.loads(str(row["provenance"]))
        row["provenance"] = {k: v for k, v in provenance.items() if k != "host"}
    return found


def pictures(folder: Path) -> dict[str, bytes]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def made(study: Path) -> list[str]:
    """Id of each image, as often as it was made."""
    return sorted(p.name.split("-")[1] for p in (study.parent / "marks").glob("made-*"))


@pytest.fixture(scope="module")
def undisturbed(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = make(tmp_path_factory.mktemp("undisturbed"))
    finish(start(study, site))
    assert len(set(made(study))) == len(made(study)) == len(rows(study)["images"]) > 30
    return study


def test_a_cluster_whose_workers_are_killed_makes_the_same(
    undisturbed: Path, site: Path, tmp_path: Path
) -> None:
    study = make(tmp_path, options=f'dies_at = ["{_early_prompt(undisturbed)}"], pause = 0.03')
    process = start(study, site, "--engine", "ray")
    _kill_a_worker(study)
    errors = finish(process)
    assert rows(study) == rows(undisturbed)
    assert pictures(study / "images") == pictures(undisturbed / "images")
    assert not list((study / "receipts").glob("*"))
    assert not list(study.glob(".seen*"))
    # What killed itself did so before it made anything; the one killed from outside may have been
    # between an image and its receipt.
    assert len(made(study)) <= len(made(undisturbed)) + 1
    assert set(made(study)) == set(made(undisturbed))
    assert "Traceback" not in errors
    assert not Path(os.environ["HOME"], ".ray").exists()


def _early_prompt(study: Path) -> str:
    """The prompt of one of the first images."""
    marks = (path.name.split("-") for path in (study.parent / "marks").glob("made-*"))
    first = min((int(mark[3]), mark[1]) for mark in marks)[1]
    return next(str(r["prompt_id"]) for r in rows(study)["images"] if r["image_id"] == first)


def _kill_a_worker(study: Path) -> None:
    """Kill a worker from outside, on another batch than the one on which a worker killed itself.

    A second death on the same one could leave an item that is given up, as it should be.
    """
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        died = [path.name.removeprefix("died-") for path in (study.parent / "marks").glob("died-*")]
        count = len(made(study))
        if died and died[0] in made(study):
            _kill_maker(_wait_for(study, count + 6))  # two batches of three later
            return
        time.sleep(0.01)
    pytest.fail("what killed its worker was not made by another")


def _kill_maker(mark: Path) -> None:
    os.kill(int(mark.name.split("-")[2]), signal.SIGKILL)


def _wait_for(study: Path, images: int) -> Path:
    """The mark of the latest image, once there are so many."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        marks = list((study.parent / "marks").glob("made-*"))
        if len(marks) >= images:
            return max(marks, key=lambda path: int(path.name.split("-")[3]))
        time.sleep(0.01)
    pytest.fail(f"{images} images were not made")


CLUSTER = """
import sys
from ray.cluster_utils import Cluster
if __name__ == "__main__":
    small = {"num_cpus": 1, "object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={**small, "include_dashboard": False})
    cluster.add_node(**small)
    print(cluster.address, flush=True)
    sys.stdin.read()
    cluster.shutdown()
"""


@contextmanager
def two_nodes(**variables: str) -> Iterator[str]:
    """The address of a cluster of two nodes, stopped in the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", CLUSTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **variables},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(timeout=_PATIENCE)
        process.stdout.close()


def test_several_nodes_write_to_a_url_and_the_driver_alone_writes_rows(
    undisturbed: Path, site: Path, tmp_path: Path
) -> None:
    secret = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYTHONPATH": f"{CHECKOUT}{os.pathsep}{site}",
    }
    elsewhere = tmp_path / "elsewhere"
    with two_nodes(**secret) as address:
        run = f'engine = "ray"\nray_address = "{address}"\nimages = "file://{elsewhere}"'
        study = make(tmp_path, run=run, options="crew = 2")
        finish(start(study, site, **secret))
    assert rows(study) == rows(undisturbed)
    assert made(study) == made(undisturbed)
    kept = pictures(elsewhere)
    assert kept.pop(".study").decode() == str(study)
    assert kept == pictures(undisturbed / "images")
    pids = {path.name.split("-")[2] for path in (study.parent / "marks").glob("made-*")}
    assert len(pids) == 2


@pytest.mark.parametrize(
    "stop", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_wish_to_end_keeps_what_a_cluster_has_made_and_goes_on(
    stop: signal.Signals, undisturbed: Path, site: Path, tmp_path: Path
) -> None:
    study = make(tmp_path, options="pause = 0.05", run='engine = "ray"')
    process = start(study, site)
    _wait_for(study, 4)
    process.send_signal(stop)
    _, errors = process.communicate(timeout=_PATIENCE)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "run the same command again to go on" in errors
    first = made(study)
    assert 4 <= len(first) < len(made(undisturbed))
    finish(start(study, site, "--engine", "threads"))
    assert made(study) == made(undisturbed)  # none of the first was made again
    assert rows(study) == rows(undisturbed)


def test_an_item_that_kills_every_worker_is_an_error_row(
    undisturbed: Path, site: Path, tmp_path: Path
) -> None:
    killer = str(rows(undisturbed)["images"][7]["prompt_id"])
    study = make(tmp_path, options=f'dies_at = ["{killer}"], always = true')
    process = start(study, site)
    _, errors = process.communicate(timeout=_PATIENCE)
    assert process.returncode == 3  # finished, and some items failed
    (bad,) = [row for row in rows(study)["images"] if row["status"] == "error"]
    assert bad["prompt_id"] == killer
    assert "2 workers died on it, the last one killed by SIGKILL" in str(bad["reason"])
    good = [row for row in rows(study)["images"] if row["status"] == "ok"]
    assert good == [row for row in rows(undisturbed)["images"] if row["prompt_id"] != killer]
    assert len(made(study)) == len(good)
    assert "Traceback" not in errors


# ---- starting and leaving


@pytest.mark.parametrize(
    ("raised", "seen", "said"),
    [
        (Exception("timed out\nduring startup"), InputError, r"started here: timed out\. See"),
        (SystemExit(15), KeyboardInterrupt, None),  # Ray's handler of SIGTERM
        (KeyboardInterrupt(), KeyboardInterrupt, None),
    ],
)
def test_a_cluster_that_does_not_start_leaves_nothing(
    raised: BaseException,
    seen: type[BaseException],
    said: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folders: list[Path] = []

    def init(**arguments: object) -> None:
        folders.append(Path(str(arguments["_temp_dir"])))
        assert folders[0].is_dir()
        raise raised

    monkeypatch.setattr("ray.init", init)
    before = dict(os.environ)
    with pytest.raises(seen, match=said):
        next(run_there(Keeping(tmp_path), [[1]], parallel="processes", workers=1, engine=RAY))
    assert not folders[0].exists()
    assert dict(os.environ) == before


DRIVER = """
import sys
from pathlib import Path
from contextbias.engines import Engine, close, run_batches
from tests.engines.tasks import Seated
engine = Engine(kind="ray", devices=("0", "1"))
task = Seated(Path(sys.argv[1]), crew=2)
try:
    batches = [[n] for n in range(6)]
    for rows in run_batches(task, batches, parallel="devices", workers=1, engine=engine):
        print(*rows)
finally:
    close()
"""


def test_each_gpu_of_a_cluster_has_an_actor_that_sees_it_alone(tmp_path: Path) -> None:
    """However few workers, or processors, there are."""
    (tmp_path / "driver.py").write_text(DRIVER)
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "driver.py"), str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )
    output, errors = process.communicate(timeout=_PATIENCE)
    assert process.returncode == 0, errors
    assert set(output.splitlines()) == {"0 None", "1 None"}
    assert len(output.splitlines()) == 6


# ---- bad input


def test_a_machine_that_lacks_a_backend_is_refused() -> None:
    died = RayError(
        "The actor died because of an error raised in its creation task, ray::_Actor (pid=7, "
        "ip=10.0.0.7, actor_id=49)\n  ...\nModuleNotFoundError: No module named 'mine'"
    )
    with pytest.raises(InputError, match=r"made on 10\.0\.0\.7: .*'mine'\. Install the same"):
        _Crew._took(None, _Hand(None), died)  # type: ignore[arg-type]


def test_a_machine_that_does_not_see_the_study_is_refused(tmp_path: Path) -> None:
    actor = _Actor(None, StudyFiles(tmp_path), ".seen-1")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"does not see .* set \[run\] images"):
        actor.build().checked()


def test_an_address_where_nothing_answers_is_said_at_once() -> None:
    with pytest.raises(InputError, match=r"no Ray cluster answers at 127\.0\.0\.1:9"):
        check(Engine(kind="ray", address="127.0.0.1:9"))
    with pytest.raises(ConfigError, match="port 99999"):
        check(Engine(kind="ray", address="127.0.0.1:99999"))


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingPart, match=r"contextbias\[ray\]"):
        check(Engine(kind="ray"))
