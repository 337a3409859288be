"""What a model on a GPU needs of a machine, told without loading anything."""

from __future__ import annotations

import pytest

from contextbias.engines import machine
from contextbias.engines.devices import Gpu
from contextbias.errors import MissingPart

FIX = "take less"


def gpus(monkeypatch: pytest.MonkeyPatch, *memories: str) -> None:
    found = [Gpu(str(number), "A GPU", memory, "1") for number, memory in enumerate(memories)]
    monkeypatch.setattr(machine, "gpus", lambda: found)


@pytest.mark.parametrize(
    ("told", "expected"),
    [("143771 MiB", 150.75), ("80 GiB", 85.9), ("[N/A]", 0.0), ("x MiB", 0.0), ("5 TB", 0.0)],
)
def test_memory_as_nvidia_smi_tells_it(told: str, expected: float) -> None:
    assert Gpu("0", "A GPU", told, "1").gigabytes == pytest.approx(expected, abs=0.01)


def test_a_model_is_held_against_the_largest_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(monkeypatch, "8192 MiB", "24576 MiB")
    assert list(machine.gpu_memory(20.0, FIX)) == [
        ("GPU memory", True, "20 GB expected, 26 GB there", FIX)
    ]
    assert list(machine.gpu_memory(30.0, FIX)) == [
        ("GPU memory", False, "30 GB expected, 26 GB there", FIX)
    ]
    assert list(machine.memory_notes(20.0, FIX)) == [
        "about 20 GB of GPU memory expected, 26 GB there"
    ]
    assert list(machine.memory_notes(30.0, FIX)) == [
        "about 30 GB of GPU memory expected, 26 GB there: take less"
    ]
    assert machine.gpu()[:3] == ("GPU", True, "A GPU (8192 MiB), A GPU (24576 MiB)")
    # Nothing is known of the model.
    assert list(machine.gpu_memory(None, FIX)) == list(machine.memory_notes(None, FIX)) == []


def test_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(monkeypatch)
    assert machine.gpu()[:3] == ("GPU", False, "none that nvidia-smi lists")
    assert list(machine.gpu_memory(20.0, FIX)) == []
    (told,) = machine.memory_notes(20.0, FIX)
    assert told.startswith("about 20 GB of GPU memory expected; no GPU is seen here")
    (told,) = machine.memory_notes(None, FIX)
    assert told.startswith("no GPU is seen here")


def test_packages() -> None:
    machine.require(["json"], "it", FIX)
    with pytest.raises(MissingPart, match="it needs nowhere_at_all, which is not installed"):
        machine.require(["json", "nowhere_at_all"], "it", FIX)
    assert machine.package("pytest", FIX)[:3] == ("pytest", True, pytest.__version__)
    assert machine.package("nowhere-at-all", FIX) == ("nowhere-at-all", False, "missing", FIX)
