"""The first eleven blocks of EfficientNet-Lite0 as an ONNX model, from its PyTorch checkpoint.

Lite0 is EfficientNet-B0 (Tan and Le 2019) without squeeze-and-excitation and with ReLU6. After
these blocks a number still belongs to a place of 16 x 16 pixels, which is what the probes need; the
deeper blocks and the 1000 classes of ImageNet are left out. Batch normalisation is folded into the
convolutions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextbias.weights.checkpoint import read_tensors
from contextbias.weights.wire import field, value_info

STEP = 16
"""Pixels of the picture for one cell of the map, in each direction."""
CHANNELS = 112
"""Numbers for each cell."""
INPUT = "images"
"""Name of the input: float, (n, 3, height, width), RGB levels from 0 to 255. Both sides are
multiples of STEP."""
OUTPUT = "map"
"""Name of the output: float, (n, CHANNELS, height / STEP, width / STEP)."""

# How often each stage repeats its block, and the step of the first of them.
_STAGES = ((1, 1), (2, 2), (2, 2), (3, 2), (3, 1))
_EPSILON = 1e-3  # of batch normalisation, as in the network's TensorFlow original
_MEAN, _SCALE = 127.0, 128.0  # levels go in as (level - 127) / 128
_INT, _INTS = 2, 7  # kinds of AttributeProto
_OPSET = 13

Tensors = Mapping[str, NDArray[Any]]


class _Graph:
    """Nodes and weights of a graph under construction."""

    def __init__(self) -> None:
        self.nodes: list[bytes] = []
        self.weights: list[bytes] = []

    def weight(self, name: str, values: NDArray[np.float32]) -> str:
        """Add a weight (TensorProto with raw data); returns its name."""
        dims = b"".join(field(1, side) for side in values.shape)
        raw = np.ascontiguousarray(values, dtype="<f4").tobytes()
        self.weights.append(dims + field(2, 1) + field(8, name.encode()) + field(9, raw))
        return name

    def node(self, kind: str, inputs: list[str], output: str, **ints: int | list[int]) -> str:
        """Add a node with whole-number attributes; returns its output's name."""
        parts = [field(1, name.encode()) for name in inputs]
        parts += [field(2, output.encode()), field(4, kind.encode())]
        parts += [field(5, _attribute(name, value)) for name, value in ints.items()]
        self.nodes.append(b"".join(parts))
        return output

    def serialised(self) -> bytes:
        """The ModelProto."""
        graph = b"".join(field(1, node) for node in self.nodes) + field(2, b"efficientnet-lite0")
        graph += b"".join(field(5, weight) for weight in self.weights)
        graph += field(11, value_info(INPUT, ("n", 3, "height", "width")))
        graph += field(12, value_info(OUTPUT, ("n", CHANNELS, "rows", "columns")))
        return field(1, 8) + field(7, graph) + field(8, field(1, b"") + field(2, _OPSET))


def _attribute(name: str, value: int | list[int]) -> bytes:
    if isinstance(value, int):
        return field(1, name.encode()) + field(3, value) + field(20, _INT)
    return field(1, name.encode()) + b"".join(field(8, v) for v in value) + field(20, _INTS)


def map_model(checkpoint: bytes) -> bytes:
    """The ONNX model of a checkpoint of EfficientNet-Lite0.

    The result is the same, byte for byte, on every machine: folding uses only the four arithmetic
    operations and the square root, which IEEE 754 rounds exactly.

    Args:
        checkpoint: The ``.pth`` file.

    Raises:
        UnsafeCheckpoint: The file is no checkpoint of plain tensors.
        KeyError: A layer of the network is missing.
    """
    tensors = read_tensors(checkpoint)
    graph = _Graph()
    low, high = graph.weight("zero", _scalar(0)), graph.weight("six", _scalar(6))
    clip = [low, high]
    x = graph.node("Sub", [INPUT, graph.weight("mean", _scalar(_MEAN))], "centred")
    x = graph.node("Div", [x, graph.weight("scale", _scalar(_SCALE))], "scaled")
    x = _convolution(graph, tensors, x, ("_conv_stem", "_bn0"), step=2, clip=clip)
    index = 0
    for repeats, first_step in _STAGES:
        for repeat in range(repeats):
            step = first_step if repeat == 0 else 1
            x = _block(graph, tensors, x, index, step, clip, skip=repeat > 0)
            index += 1
    graph.node("Identity", [x], OUTPUT)
    return graph.serialised()


def _scalar(value: float) -> NDArray[np.float32]:
    return np.array(value, dtype=np.float32)


def _block(
    graph: _Graph, tensors: Tensors, x: str, index: int, step: int, clip: list[str], *, skip: bool
) -> str:
    """One inverted residual block: widen, convolve each channel, narrow, and add what came in."""
    name = f"_blocks.{index}"
    inner = x
    if f"{name}._expand_conv.weight" in tensors:
        layers = (f"{name}._expand_conv", f"{name}._bn0")
        inner = _convolution(graph, tensors, inner, layers, clip=clip)
    layers = (f"{name}._depthwise_conv", f"{name}._bn1")
    inner = _convolution(graph, tensors, inner, layers, step=step, clip=clip)
    inner = _convolution(graph, tensors, inner, (f"{name}._project_conv", f"{name}._bn2"))
    return graph.node("Add", [inner, x], f"{name}.sum") if skip else inner


def _convolution(
    graph: _Graph,
    tensors: Tensors,
    x: str,
    layers: tuple[str, str],
    *,
    step: int = 1,
    clip: list[str] | None = None,
) -> str:
    """A convolution with the batch normalisation after it folded in, and ReLU6 if `clip` is given.

    With scale g, shift b, mean m and variance v of the normalisation: the kernel is multiplied by
    s = g / sqrt(v + epsilon), and b - m s is added.
    """
    convolution, norm = layers
    kernel = tensors[f"{convolution}.weight"].astype(np.float64)
    gain, shift, mean, variance = (
        tensors[f"{norm}.{part}"].astype(np.float64)
        for part in ("weight", "bias", "running_mean", "running_var")
    )
    scale = gain / np.sqrt(variance + _EPSILON)
    inputs = [
        x,
        graph.weight(f"{convolution}.kernel", (kernel * scale[:, None, None, None]).astype("<f4")),
        graph.weight(f"{convolution}.bias", (shift - mean * scale).astype("<f4")),
    ]
    size = kernel.shape[2]
    # As TensorFlow pads ("SAME") for even sides: the odd row and column go to the end.
    before, after = (size - step) // 2, (size - step + 1) // 2
    group = kernel.shape[0] if kernel.shape[1] == 1 else 1
    out = graph.node(
        "Conv",
        inputs,
        f"{convolution}.out",
        pads=[before, before, after, after],
        strides=[step, step],
        group=group,
    )
    return out if clip is None else graph.node("Clip", [out, *clip], f"{convolution}.clipped")
