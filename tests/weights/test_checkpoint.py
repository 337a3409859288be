import io
import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from contextbias.weights.checkpoint import UnsafeCheckpoint, read_tensors

MAGIC = 0x1950A86A20F9469CFC6C


class _Call:
    """Pickles as a call of one global with arguments."""

    def __init__(self, module: str, name: str, *arguments: Any) -> None:
        self.path = (module, name)
        self.arguments = arguments


class _Global:
    """Pickles as one global."""

    def __init__(self, module: str, name: str) -> None:
        self.path = (module, name)


class _Storage:
    """Pickles as a reference to a storage."""

    def __init__(self, *reference: Any) -> None:
        self.reference = reference


class _Writer(pickle._Pickler):  # type: ignore[misc,name-defined] # the one whose parts can be used
    def persistent_id(self, value: Any) -> Any:
        return value.reference if isinstance(value, _Storage) else None

    def save(self, value: Any, save_persistent_id: bool = True) -> None:
        if isinstance(value, _Global | _Call):
            module, name = value.path
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
            if isinstance(value, _Call):
                super().save(value.arguments)
                self.write(pickle.REDUCE)
            return
        super().save(value, save_persistent_id)


def _pickled(value: Any) -> bytes:
    stream = io.BytesIO()
    _Writer(stream, protocol=2).dump(value)
    return stream.getvalue()


def _storage(key: str = "a", kind: str = "FloatStorage", length: Any = 6) -> _Storage:
    return _Storage("storage", _Global("torch", kind), key, "cpu", length, None)


def _tensor(
    storage: Any = None, start: Any = 0, shape: Any = (2, 3), strides: Any = (3, 1)
) -> _Call:
    described = (storage or _storage(), start, shape, strides, False, OrderedDict())
    return _Call("torch._utils", "_rebuild_tensor_v2", *described)


def _checkpoint(described: Any, *, magic: int = MAGIC, length: int = 6) -> bytes:
    values = np.arange(6, dtype="<f4").tobytes()
    parts = [magic, 1001, {"little_endian": True}, described, ["a"]]
    return b"".join(map(_pickled, parts)) + struct.pack("<q", length) + values


def test_tensors_and_views() -> None:
    found = read_tensors(
        _checkpoint(
            OrderedDict(
                whole=_tensor(),
                turned=_tensor(shape=(3, 2), strides=(1, 3)),
                last=_tensor(start=5, shape=(), strides=()),
            )
        )
    )
    assert list(found) == ["whole", "turned", "last"]
    assert found["whole"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert found["last"].tolist() == 5


@pytest.mark.parametrize(
    "harm",
    [
        _Call("os", "system", "touch harm"),
        _Call("builtins", "eval", "open('harm', 'w')"),
        _Call("builtins", "exec", "open('harm', 'w')"),
        _Call("subprocess", "call", ["touch", "harm"]),
        _Call("pathlib", "Path.touch", "harm"),
        _Global("torch", "load"),
        _Global("torch.storage", "FloatStorage"),
        _Global("torch._utils", "_rebuild_tensor_v2.__init__"),
        _Global("collections", "OrderedDict.fromkeys"),
        _Global("collections", "defaultdict"),
    ],
)
@pytest.mark.parametrize("where", ["first", "value", "key"])
def test_other_names_are_refused_and_nothing_is_run(harm: Any, where: str, tmp_path: Any) -> None:
    described: dict[str, Callable[[], bytes]] = {
        "first": lambda: _pickled(harm) + _checkpoint({"x": _tensor()}),
        "value": lambda: _checkpoint({"x": _tensor(), "y": harm}),
        "key": lambda: _checkpoint({"x": _tensor(storage=harm)}),
    }
    with pytest.raises(UnsafeCheckpoint, match="no part of a tensor"):
        read_tensors(described[where]())
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    "described",
    [
        {"x": 3},
        {"x": "text"},
        {"x": _tensor(start=-1)},
        {"x": _tensor(shape=(-2, 3))},
        {"x": _tensor(strides=(-3, 1))},
        {"x": _tensor(start=1)},
        {"x": _tensor(shape=(7,), strides=(1,))},
        {"x": _tensor(shape=(10**9, 10**9), strides=(0, 0))},
        {"x": _tensor(shape=(0, 3))},
        {"x": _tensor(shape=(2, 3), strides=(1,))},
        {"x": _tensor(shape=(2.0, 3))},
        {"x": _tensor(storage="no storage")},
        {"x": _tensor(storage=_storage(length=7))},
        {"x": _tensor(storage=_storage(length="6"))},
        {"x": _tensor(storage=_storage(key="b"))},
        {"x": _tensor(storage=_Storage("other", 1))},
        [1, 2],
        7,
    ],
)
def test_what_is_no_dictionary_of_tensors_is_refused(described: Any) -> None:
    with pytest.raises(UnsafeCheckpoint):
        read_tensors(_checkpoint(described))


def test_another_format_and_damage() -> None:
    good = _checkpoint({"x": _tensor()})
    for data in (b"", b"PK\x03\x04", good[:40], good[:-1], _checkpoint({}, magic=1)):
        with pytest.raises(UnsafeCheckpoint):
            read_tensors(data)
    with pytest.raises(UnsafeCheckpoint, match="not 6"):
        read_tensors(_checkpoint({"x": _tensor()}, length=5))
