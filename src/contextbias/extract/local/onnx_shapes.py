"""Free the input shape of an ONNX model, without the ``onnx`` package.

CenterFace is fully convolutional, but its file fixes the input at 10 x 3 x 32 x 32 and lists every
weight as an input, which keeps the runtime from folding constants. This rewrites the model's
interface at the level of the protocol-buffer wire format: nodes and weights are copied byte by
byte. Source: the field numbers of ``onnx.proto`` (ModelProto, GraphProto, ValueInfoProto).
"""

from __future__ import annotations

from collections.abc import Mapping

from contextbias.weights.wire import Dims, field, fields, value_info

_MODEL_GRAPH = 7
_GRAPH_INITIALIZER = 5
_GRAPH_INPUT = 11
_GRAPH_OUTPUT = 12
_GRAPH_VALUE_INFO = 13
_TENSOR_NAME = 8
_VALUE_NAME = 1


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
    for number, value in fields(model):
        if number == _MODEL_GRAPH and isinstance(value, bytes):
            value = _free_graph(value, shapes)
        parts.append(field(number, value))
    return b"".join(parts)


def _free_graph(graph: bytes, shapes: Mapping[str, Dims]) -> bytes:
    entries = list(fields(graph))
    weights = {_text(value, _TENSOR_NAME) for n, value in entries if n == _GRAPH_INITIALIZER}
    parts = []
    for number, value in entries:
        if number == _GRAPH_VALUE_INFO:
            continue
        if number in (_GRAPH_INPUT, _GRAPH_OUTPUT):
            name = _text(value, _VALUE_NAME)
            if name in weights:
                continue
            if name not in shapes:
                raise ValueError(f"no shape given for {name!r}")
            value = value_info(name, shapes[name])
        parts.append(field(number, value))
    return b"".join(parts)


def _text(message: int | bytes, wanted: int) -> str:
    """The text of one field of a message; empty when it has none."""
    if isinstance(message, bytes):
        for number, value in fields(message):
            if number == wanted and isinstance(value, bytes):
                return value.decode()
    return ""
