"""The protocol-buffer wire format, as far as ONNX models need it (without the ``onnx`` package).

Source: the encoding of protocol buffers, and the field numbers of ``onnx.proto``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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


def value_info(name: str, dims: Dims) -> bytes:
    """ONNX ValueInfoProto of a float tensor: its name and its shape."""
    shape = b"".join(
        field(
            _SHAPE_DIM,
            field(_DIM_VALUE, dim) if isinstance(dim, int) else field(_DIM_PARAM, dim.encode()),
        )
        for dim in dims
    )
    tensor = field(_TENSOR_ELEMENT, _FLOAT) + field(_TENSOR_SHAPE, shape)
    return field(_VALUE_NAME, name.encode()) + field(_VALUE_TYPE, field(_TYPE_TENSOR, tensor))


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of one message: number, and a varint as int or anything longer as bytes.

    Raises:
        ValueError: The message is cut short, or holds fields of a fixed width.
    """
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


def field(number: int, value: int | bytes) -> bytes:
    """One field of a message: a whole number at least 0 as a varint, bytes with their length."""
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
