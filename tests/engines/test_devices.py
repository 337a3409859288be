from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.engines.tasks import Seated

from contextbias.engines import Engine, run_batches
from contextbias.engines.devices import cores, devices_here, gpus, seats_of
from contextbias.errors import ConfigError

WHOLE = """GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-aa11)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-bb22)
"""
DIVIDED = """GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-aa11)
  MIG 3g.20gb     Device  0: (UUID: MIG-c1)
  MIG 3g.20gb     Device  1: (UUID: MIG-c2)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-bb22)
"""
QUERY = "0, NVIDIA A100-SXM4-40GB, 40960 MiB, 550.54\n1, NVIDIA A100-SXM4-40GB, 40960 MiB, 550.54"


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that answers as nvidia-smi does; what it lists is in the file ``listed``."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "listed").write_text(WHOLE)
    program = folder / "nvidia-smi"
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = -L ]; then cat {folder}/listed; else echo "{QUERY}"; fi\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder / "listed"


def test_one_worker_a_gpu_that_sees_it_alone(smi: Path, tmp_path: Path) -> None:
    batches = [[n] for n in range(24)]
    found = run_batches(Seated(tmp_path, crew=2), batches, parallel="devices", workers=0)
    rows = [row for rows in found for row in rows]
    assert len(rows) == 24
    # Both pull: neither is given all of the work, and neither half of it beforehand.
    assert set(rows) == {"0 PCI_BUS_ID", "1 PCI_BUS_ID"}
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_chosen_gpus_alone_are_used(smi: Path, tmp_path: Path) -> None:
    engine = Engine(devices=("1",))
    found = run_batches(Seated(tmp_path), [[1], [2]], parallel="devices", workers=8, engine=engine)
    assert [row for rows in found for row in rows] == ["1 PCI_BUS_ID"] * 2


def test_without_a_gpu_there_is_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("contextbias.engines.devices._DRIVERS", ())
    assert seats_of(None) == [{}]
    found = run_batches(
        Seated(tmp_path), [[1]], parallel="devices", workers=8, engine=Engine(devices=())
    )
    assert list(found) == [[" None"]]  # told to use none, in a process of its own


def test_each_part_of_a_divided_gpu_is_one(smi: Path) -> None:
    assert devices_here() == ["0", "1"]
    smi.write_text(DIVIDED)
    assert devices_here() == ["MIG-c1", "MIG-c2", "1"]
    smi.write_text("No devices were found\n")
    assert devices_here() == []


@pytest.mark.parametrize(
    ("variable", "names"),
    [
        ("", []),
        ("-1", []),
        ("2,3", ["2", "3"]),
        (" GPU-aa , 1", ["GPU-aa", "1"]),
        ("1,-1,0", ["1"]),
    ],
)
def test_what_the_environment_allows_is_what_there_is(
    variable: str, names: list[str], smi: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", variable)
    assert devices_here() == names
    # The order is then as the user's own number were meant.
    assert seats_of(None) == ([{"CUDA_VISIBLE_DEVICES": name} for name in names] or [{}])


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (("0", "5"), r"a GPU '5', and there are 0, 1"),
        (("0", "0"), r"the GPU '0' twice"),
    ],
)
def test_a_wrong_list_of_gpus_is_refused(
    chosen: tuple[str, ...], message: str, smi: Path, tmp_path: Path
) -> None:
    engine = Engine(devices=chosen)
    with pytest.raises(ConfigError, match=message):
        list(run_batches(Seated(tmp_path), [[1]], parallel="devices", workers=1, engine=engine))


def test_where_no_gpu_is_found_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("contextbias.engines.devices._DRIVERS", ())
    with pytest.raises(ConfigError, match="no GPU was found"):
        seats_of(("0",))
    assert gpus() == []


def test_gpus_are_described(smi: Path) -> None:
    assert [(gpu.index, gpu.name, gpu.memory, gpu.driver) for gpu in gpus()] == [
        ("0", "NVIDIA A100-SXM4-40GB", "40960 MiB", "550.54"),
        ("1", "NVIDIA A100-SXM4-40GB", "40960 MiB", "550.54"),
    ]


def test_cores_are_those_that_the_process_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 6}, raising=False)
    assert cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")  # as on macOS
    assert cores() == os.cpu_count()
