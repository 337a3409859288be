import contextlib

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextbias.extract.local.onnx_shapes import free_shapes


def _text(number: int, value: bytes | str) -> bytes:
    """A length-delimited field; the model here has none of 128 bytes or more but the graph."""
    data = value.encode() if isinstance(value, str) else value
    length = (
        bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 127 | 128, len(data) >> 7])
    )
    return bytes([number << 3 | 2]) + length + data


def _number(number: int, value: int) -> bytes:
    return bytes([number << 3, value])


def _value(name: str, size: int) -> bytes:
    shape = _text(1, _number(1, size))
    return _text(1, name) + _text(2, _text(1, _number(1, 1) + _text(2, shape)))


def _model() -> bytes:
    """y = x + w in ONNX: x and y of shape [1], the weight w = [2.0] listed as an input too."""
    node = _text(1, "x") + _text(1, "w") + _text(2, "y") + _text(4, "Add")
    weight = _number(1, 1) + _number(2, 1) + _text(8, "w") + _text(9, np.float32(2).tobytes())
    graph = _text(1, node) + _text(2, "g") + _text(5, weight)
    graph += _text(11, _value("x", 1)) + _text(11, _value("w", 1)) + _text(12, _value("y", 1))
    graph += _text(13, _value("z", 1))
    return _number(1, 8) + _text(7, graph) + _text(8, _text(1, "") + _number(2, 13))


def _run(model: bytes, x: list[float]) -> list[float]:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    result: list[float] = session.run(None, {"x": np.array(x, dtype=np.float32)})[0].tolist()
    return result


def test_the_runtime_accepts_the_new_shape_and_the_weights_stay() -> None:
    assert _run(_model(), [1.0]) == [3.0]
    freed = free_shapes(_model(), {"x": ["n"], "y": ["n"]})
    assert _run(freed, [1.0, 5.0, -2.0]) == [3.0, 7.0, 0.0]
    session = onnxruntime.InferenceSession(freed, providers=["CPUExecutionProvider"])
    assert [entry.name for entry in session.get_inputs()] == ["x"]
    assert session.get_inputs()[0].shape == ["n"]


def test_fixed_dimensions_can_be_given_too() -> None:
    freed = free_shapes(_model(), {"x": [3], "y": [3]})
    assert _run(freed, [0.0, 1.0, 2.0]) == [2.0, 3.0, 4.0]


def test_a_shape_must_be_given_for_every_input() -> None:
    with pytest.raises(ValueError, match="'x'"):
        free_shapes(_model(), {"y": ["n"]})


@given(st.binary(max_size=40))
def test_other_bytes_are_copied_or_refused(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(free_shapes(data, {}), bytes)
