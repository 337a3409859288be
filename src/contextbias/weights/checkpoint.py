"""Read the tensors of a PyTorch checkpoint without torch and without trusting its pickle.

A checkpoint of the older format is a row of pickles (a magic number, a version, facts about the
machine, the tensors' descriptions, the names of their storages) followed by the storages' raw
bytes. A free unpickle runs whatever the file says. Here only three names are known, none of them
code of the file: an ordered dictionary, "rebuild this tensor", and the type of a storage. Source:
``torch.serialization`` (the legacy format).
"""

from __future__ import annotations

import io
import math
import pickle
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAGIC = 0x1950A86A20F9469CFC6C
_VERSION = 1001
_STORAGES = {"FloatStorage": "<f4", "LongStorage": "<i8"}
_LENGTH_BYTES = 8


class UnsafeCheckpoint(ValueError):
    """The file is no checkpoint of plain tensors, or asks for more than tensors."""


@dataclass(frozen=True, slots=True)
class _Storage:
    """One block of values: its key in the file, its type, and how many there are."""

    key: str
    dtype: str
    length: int


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A view of a storage: where it starts, its shape and its steps, in values."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Rebuild:
    """Stands for ``torch._utils._rebuild_tensor_v2``; nothing can be set on it."""

    __slots__ = ()

    def __call__(self, storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> _Tensor:
        numbers = [offset, *shape, *strides]
        if not isinstance(storage, _Storage) or not all(type(n) is int for n in numbers):
            raise UnsafeCheckpoint("a tensor is not described by a storage and whole numbers")
        return _Tensor(storage, offset, tuple(shape), tuple(strides))


class _Restricted(pickle.Unpickler):
    """An unpickler that knows the names of tensors and no others."""

    def find_class(self, module: str, name: str) -> Any:
        """The stand-in of an allowed name.

        Raises:
            UnsafeCheckpoint: The name is not allowed.
        """
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _Rebuild()
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        raise UnsafeCheckpoint(f"the file asks for {module}.{name}, which is no part of a tensor")

    def persistent_load(self, pid: Any) -> _Storage:
        """The storage that a tensor refers to.

        Raises:
            UnsafeCheckpoint: The reference is not one to a storage.
        """
        if not (isinstance(pid, tuple) and len(pid) == 6 and pid[0] == "storage"):
            raise UnsafeCheckpoint("the file refers to something that is no storage")
        _, dtype, key, _, length, view = pid
        plain = dtype in _STORAGES.values() and isinstance(key, str) and type(length) is int
        if not plain or view is not None:
            raise UnsafeCheckpoint("a storage is not described by type, key and length")
        return _Storage(key, dtype, length)


def read_tensors(data: bytes) -> dict[str, NDArray[Any]]:
    """The tensors of a checkpoint that holds a dictionary of tensors (a ``state_dict``).

    Args:
        data: The file, in the older (not zipped) format.

    Returns:
        Name -> array of float32 or int64, in the order of the file.

    Raises:
        UnsafeCheckpoint: The file is damaged, of another format, or asks for any name but those of
            plain tensors. Nothing of it has been run.
    """
    stream = io.BytesIO(data)
    try:
        if _next(stream) != _MAGIC or _next(stream) != _VERSION:
            raise UnsafeCheckpoint("the file is no checkpoint of the older PyTorch format")
        _next(stream)  # facts about the machine that wrote it
        described, keys = _next(stream), _next(stream)
        tensors = {str(name): _checked(tensor) for name, tensor in dict(described).items()}
        blocks = _blocks(stream, keys, {t.storage.key: t.storage for t in tensors.values()})
        return {
            name: _array(tensor, blocks[tensor.storage.key]) for name, tensor in tensors.items()
        }
    except UnsafeCheckpoint:
        raise
    except Exception as error:  # a damaged pickle raises errors of every kind
        reason = str(error) or type(error).__name__
        raise UnsafeCheckpoint(f"the checkpoint cannot be read ({reason})") from None


def _next(stream: io.BytesIO) -> Any:
    return _Restricted(stream).load()


def _checked(value: Any) -> _Tensor:
    if not isinstance(value, _Tensor):
        raise UnsafeCheckpoint("the checkpoint holds something that is no tensor")
    return value


def _blocks(
    stream: io.BytesIO, keys: list[str], storages: dict[str, _Storage]
) -> dict[str, NDArray[Any]]:
    """The storages' values by key: each is its length in values, then the values."""
    blocks = {}
    for key in keys:
        storage = storages[key]
        length = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
        dtype = np.dtype(storage.dtype)
        if length != storage.length:
            raise UnsafeCheckpoint(f"storage {key} has {length} values, not {storage.length}")
        raw = stream.read(length * dtype.itemsize)
        if len(raw) != length * dtype.itemsize:
            raise UnsafeCheckpoint("the file ends inside a storage")
        blocks[key] = np.frombuffer(raw, dtype=dtype)
    return blocks


def _array(tensor: _Tensor, block: NDArray[Any]) -> NDArray[Any]:
    """The tensor's values; one that reaches beyond its storage is refused."""
    if any(n < 0 for n in (tensor.offset, *tensor.shape, *tensor.strides)):
        raise UnsafeCheckpoint("a tensor has a negative shape, step or start")
    steps = zip(tensor.shape, tensor.strides, strict=True)
    last = tensor.offset + sum((side - 1) * step for side, step in steps)
    if min(tensor.shape, default=1) == 0 or last >= len(block):
        raise UnsafeCheckpoint("a tensor reaches beyond its storage")
    if math.prod(tensor.shape) > len(block):  # a step of 0 repeats values without end
        raise UnsafeCheckpoint("a tensor has more values than its storage")
    width = block.dtype.itemsize
    strides = tuple(step * width for step in tensor.strides)
    view = np.lib.stride_tricks.as_strided(block[tensor.offset :], tensor.shape, strides)
    return view.copy()
