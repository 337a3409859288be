"""Free the input shape of an ONNX model, without the ``onnx`` package.

CenterFace is fully convolutional, but its file fixes the input at 10 x 3 x 32 x 32 and lists every
weight as an input, which keeps the runtime from folding constants. This rewrites the model's
interface at the level of the protocol-buffer wire format: nodes and weights are copied byte by
byte. Source: the field numbers of ``onnx.proto`` (ModelProto, GraphProto, ValueInfoProto).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

_MODEL_GRAPH = 7
_GRAPH_INITIALIZER = 5
_GRAPH_INPUT = 11
_GRAPH_OUTPUT = 12
_GRAPH_VALUE_INFO = 13
_TENSOR_NAME = 8
_VALUE_NAME = 1
_VALUE_TYPE = 2
_TYPE_TENSOR = 1
_TENSOR_ELEMENT = 1
_TENSOR_SHAPE = 2
_SHAPE_DIM = 1
_DIM_VALUE = 1
_DIM_PARAM = 2
_FLOAT = 1

Dims = Sequence[int | str]
"""A shape: a whole number fixes a dimension, a word names a free one."""


def free_shapes(model: bytes, shapes: Mapping[str, Dims]) -> bytes:
    """Give the float inputs and outputs of a model new shapes.

    Args:
        model: A serialised ONNX ModelProto.
        shapes: Shape of each true input and each output, by name.

    Returns:
        The same model with these shapes, without its weights among the inputs and without the
        shapes noted for its inner values.

    Raises:
        ValueError: The bytes are not a protocol-buffer message, or an input or output is not in
            `shapes`.
    """
    parts = []
    for number, value in _fields(model):
        if number == _MODEL_GRAPH and isinstance(value, bytes):
            value = _free_graph(value, shapes)
        parts.append(_field(number, value))
    return b"".join(parts)


def _free_graph(graph: bytes, shapes: Mapping[str, Dims]) -> bytes:
    fields = list(_fields(graph))
    weights = {_text(value, _TENSOR_NAME) for n, value in fields if n == _GRAPH_INITIALIZER}
    parts = []
    for number, value in fields:
        if number == _GRAPH_VALUE_INFO:
            continue
        if number in (_GRAPH_INPUT, _GRAPH_OUTPUT):
            name = _text(value, _VALUE_NAME)
            if name in weights:
                continue
            if name not in shapes:
                raise ValueError(f"no shape given for {name!r}")
            value = _value_info(name, shapes[name])
        parts.append(_field(number, value))
    return b"".join(parts)


def _value_info(name: str, dims: Dims) -> bytes:
    shape = b"".join(
        _field(
            _SHAPE_DIM,
            _field(_DIM_VALUE, dim) if isinstance(dim, int) else _field(_DIM_PARAM, dim.encode()),
        )
        for dim in dims
    )
    tensor = _field(_TENSOR_ELEMENT, _FLOAT) + _field(_TENSOR_SHAPE, shape)
    return _field(_VALUE_NAME, name.encode()) + _field(_VALUE_TYPE, _field(_TYPE_TENSOR, tensor))


def _text(message: int | bytes, wanted: int) -> str:
    """The text of one field of a message; empty when it has none."""
    if isinstance(message, bytes):
        for number, value in _fields(message):
            if number == wanted and isinstance(value, bytes):
                return value.decode()
    return ""


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of one message: number, and a varint as int or anything longer as bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(message, at)
            yield number, value
        elif wire == 2:
            length, at = _varint(message, at)
            if at + length > len(message):
                raise ValueError("a field is longer than its message")
            yield number, message[at : at + length]
            at += length
        else:
            # ModelProto and GraphProto have no fixed-width fields.
            raise ValueError(f"wire type {wire} does not occur in a model")


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _encode(number << 3) + _encode(value)
    return _encode(number << 3 | 2) + _encode(len(value)) + value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while at < len(message):
        byte = message[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
        shift += 7
    raise ValueError("the message ends inside a number")


def _encode(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
