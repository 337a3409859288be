"""The device of torch that a model runs on; torch is loaded by whoever asks."""

from __future__ import annotations

import gc

from contextbias.errors import ConfigError

_NO_MEMORY = ("out of memory", "cublas_status_alloc_failed", "can't allocate memory")


def device_of(asked: str) -> str:
    """The device to run on: ``cuda``, ``mps`` or ``cpu``.

    Args:
        asked: One of these, or ``auto`` for the first of them that there is.

    Raises:
        ConfigError: The one that was asked for is not there.
    """
    import torch

    there = {"cuda": torch.cuda.is_available, "mps": torch.backends.mps.is_available}
    if asked == "auto":
        return next((name for name, is_there in there.items() if is_there()), "cpu")
    if asked in there and not there[asked]():
        raise ConfigError(f"device = {asked!r} is not here", 'take "auto", or see `nvidia-smi`')
    return asked


def device_name(device: str) -> str:
    """The GPU's name, or the kind of device."""
    if device != "cuda":
        return device
    import torch

    return str(torch.cuda.get_device_name())


def free_memory(device: str) -> float | None:
    """Gigabytes that are free on the GPU; None for other devices."""
    if device != "cuda":
        return None
    import torch

    free, _ = torch.cuda.mem_get_info()
    return float(free) / 1e9


def give_back(device: str) -> None:
    """Give back memory that torch holds on to; call it where nothing refers to it any more."""
    if device == "cpu":
        return  # its memory goes with the last reference
    import torch

    gc.collect()
    (torch.cuda if device == "cuda" else torch.mps).empty_cache()


def is_out_of_memory(error: Exception) -> bool:
    """Whether something did not fit into the memory of the device, or of this machine."""
    import torch

    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    said = str(error).lower()
    return isinstance(error, RuntimeError) and any(text in said for text in _NO_MEMORY)
