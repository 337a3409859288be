"""The device that a model runs on, and memory that runs out."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra `diffusers`")

from contextbias.engines.accelerator import (  # noqa: E402
    device_name,
    device_of,
    free_memory,
    give_back,
    is_out_of_memory,
)
from contextbias.errors import ConfigError  # noqa: E402


def only(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: "cuda" in names)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: "mps" in names)


def test_the_best_device_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, expected in ((("cuda", "mps"), "cuda"), (("mps",), "mps"), ((), "cpu")):
        only(monkeypatch, *there)
        assert device_of("auto") == expected
        assert device_of("cpu") == "cpu"


@pytest.mark.parametrize("asked", ["cuda", "mps"])
def test_a_device_that_is_not_there(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch)
    with pytest.raises(ConfigError, match=f"device = '{asked}' is not here"):
        device_of(asked)


def test_a_processor_has_no_memory_of_its_own() -> None:
    assert free_memory("cpu") is None
    assert device_name("cpu") == "cpu"
    give_back("cpu")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (MemoryError(), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 17.9 GB)"), True),
        (RuntimeError("CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("an illegal address"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_what_is_out_of_memory(error: Exception, expected: bool) -> None:
    assert is_out_of_memory(error) is expected
