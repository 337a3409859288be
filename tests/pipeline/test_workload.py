"""What a plan says of workers, disk and notes of generators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests import rows

from contextbias.cli.plan_text import plan_lines
from contextbias.forecast import Forecast
from contextbias.generate.simulated import SimulatedGenerator
from contextbias.pipeline.planning import Assumptions, plan
from contextbias.pipeline.selection import Wanted
from contextbias.pipeline.sizes import Aims
from contextbias.store import Study

STUDY = """
[study]
images_per_prompt = 1
[bench]
roles = ["nurse"]
[[generators]]
name = "model"
backend = "simulated"
[run]
workers = 3
"""
NOTES = (
    "licence: accept it at https://example.org/licence",
    "GPU memory: 34 GB expected, 80 GB there",
)


def planned(folder: Path, run: str = "") -> dict[str, Any]:
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY + run)
    with Study.open(folder) as study:
        return plan(study, Aims(), Assumptions())


@pytest.fixture
def on_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulated generator, as if it ran on GPUs of which there are four."""
    forecast = Forecast(seconds=400.0, accelerator_seconds=400.0, size=10**9, notes=NOTES)
    monkeypatch.setattr(SimulatedGenerator, "parallel", "devices")
    monkeypatch.setattr(SimulatedGenerator, "batch_size", 1)
    monkeypatch.setattr(SimulatedGenerator, "plan", lambda self, jobs: forecast)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3")


@pytest.mark.usefixtures("on_gpus")
def test_workers_are_gpus(tmp_path: Path) -> None:
    (section,) = planned(tmp_path / "all")["work"]["sections"]
    assert (section["workers"], section["wall_seconds"]) == (4, 100.0)
    (section,) = planned(tmp_path / "two", 'devices = ["1", "2"]\n')["work"]["sections"]
    assert (section["workers"], section["wall_seconds"]) == (2, 200.0)


@pytest.mark.usefixtures("on_gpus")
def test_there_are_no_more_workers_than_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SimulatedGenerator, "batch_size", 7)  # 18 images: three batches
    (section,) = planned(tmp_path / "all")["work"]["sections"]
    assert (section["workers"], section["wall_seconds"]) == (3, 400 / 3)


@pytest.mark.parametrize(("concurrency", "at_once"), [(4, 4), (64, 18)])
def test_requests_to_a_service_are_made_at_once(
    tmp_path: Path, concurrency: int, at_once: int
) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    service = f'"openai_images"\noptions = {{ model = "m", concurrency = {concurrency} }}'
    (folder / "study.toml").write_text(STUDY.replace('"simulated"', service))
    with Study.open(folder) as study:
        found = plan(study, Aims(), Assumptions())
    (section,) = found["work"]["sections"]
    assert section["workers"] == at_once
    assert section["wall_seconds"] == section["seconds"] / at_once
    assert "time guessed at 30 s a picture; its price" in " ".join(
        " ".join(plan_lines(found)).split()
    )


def test_copies_of_a_program_work_at_once(tmp_path: Path) -> None:
    program = (
        '"command"\noptions = { command = ["true"], version = "1", model = "m", processes = 3 }'
    )
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY.replace('"simulated"', program))
    with Study.open(folder) as study:
        (section,) = plan(study, Aims(), Assumptions())["work"]["sections"]
    assert section["workers"] == 3


@pytest.mark.usefixtures("on_gpus")
@pytest.mark.parametrize(("device", "on_gpu"), [("NVIDIA H100", True), ("cpu", False)])
def test_once_images_are_made_their_time_tells_that_of_the_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, on_gpu: bool
) -> None:
    folder = tmp_path / "study"
    with Study.create(folder, STUDY) as study:
        wanted = Wanted(study)
        order = wanted.orders(wanted.drawn[0])[0]
        row = rows.image(
            order.job.image_id, generator="model", seconds=3.0, provenance={"device": device}
        )
        study.append_images([row])
    with Study.open(folder) as study:
        (section,) = plan(study, Aims(), Assumptions())["work"]["sections"]
    assert (section["pending"], section["seconds"]) == (17, 51.0)
    assert section["accelerator_seconds"] == (51.0 if on_gpu else None)


@pytest.mark.usefixtures("on_gpus")
def test_what_has_to_be_known_before_is_said_line_by_line(tmp_path: Path) -> None:
    lines = list(plan_lines(planned(tmp_path / "study")))
    for note in NOTES:
        assert f"model: {note}" in lines
    assert any(line.startswith("Disk: 1.0 GB are expected, ") for line in lines)
    assert any("7 min of GPU time" in line for line in lines)


@pytest.mark.usefixtures("on_gpus")
def test_the_disk_is_that_of_the_images(tmp_path: Path) -> None:
    there = planned(tmp_path / "a", 'images = "../shared/of/a"\n')["work"]["disk"]
    assert there["expected"] == 10**9
    assert there["free"] > 0
    pytest.importorskip("fsspec")
    away = planned(tmp_path / "b", 'images = "file:///nowhere"\n')["work"]["disk"]
    assert away["expected"] == 0
