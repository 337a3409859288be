"""The graph is right when it computes what the layers say, one by one."""

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from contextbias.weights import efficientnet
from contextbias.weights.efficientnet import CHANNELS, INPUT, OUTPUT, STEP, map_model

STAGES = [  # kernel, output channels, widening, repeats, step of the first block
    (3, 16, 1, 1, 1),
    (3, 24, 6, 2, 2),
    (5, 40, 6, 2, 2),
    (3, 80, 6, 3, 2),
    (5, 112, 6, 3, 1),
]
Array = NDArray[np.float64]


def _tensors() -> dict[str, Array]:
    """Random weights in the shapes of Lite0's stem and first eleven blocks."""
    rng = np.random.default_rng(3)
    found: dict[str, Array] = {}

    def layer(convolution: str, norm: str, *shape: int) -> None:
        found[f"{convolution}.weight"] = rng.normal(0, (2 / np.prod(shape[1:])) ** 0.5, shape)
        for part, value in (("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1)):
            found[f"{norm}.{part}"] = value + rng.uniform(0, 0.4, shape[0])

    layer("_conv_stem", "_bn0", 32, 3, 3, 3)
    channels, index = 32, 0
    for kernel, out, widening, repeats, _ in STAGES:
        for _ in range(repeats):
            name, wide = f"_blocks.{index}", channels * widening
            if widening > 1:
                layer(f"{name}._expand_conv", f"{name}._bn0", wide, channels, 1, 1)
            layer(f"{name}._depthwise_conv", f"{name}._bn1", wide, 1, kernel, kernel)
            layer(f"{name}._project_conv", f"{name}._bn2", out, wide, 1, 1)
            channels, index = out, index + 1
    return found


def _layer(t: dict[str, Array], x: Array, names: tuple[str, str], step: int, relu: bool) -> Array:
    """Convolution with TensorFlow's padding, batch normalisation and ReLU6, written out."""
    kernel, norm = t[f"{names[0]}.weight"], names[1]
    size, side = kernel.shape[2], x.shape[1]
    padding = max((-(-side // step) - 1) * step + size - side, 0)
    ends = (padding // 2, padding - padding // 2)
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x, ((0, 0), ends, ends)), (size, size), axis=(1, 2)
    )[:, ::step, ::step]
    if kernel.shape[1] == 1 and len(kernel) == len(x):
        y = np.einsum("chwij,cij->chw", windows, kernel[:, 0])
    else:
        y = np.einsum("chwij,ocij->ohw", windows, kernel)
    gain, bias, mean, variance = (
        t[f"{norm}.{part}"][:, None, None]
        for part in ("weight", "bias", "running_mean", "running_var")
    )
    y = (y - mean) / np.sqrt(variance + 1e-3) * gain + bias
    return np.clip(y, 0, 6) if relu else y


def _written_out(t: dict[str, Array], image: Array) -> Array:
    x = _layer(t, (image - 127) / 128, ("_conv_stem", "_bn0"), 2, relu=True)
    index = 0
    for _, _, widening, repeats, first in STAGES:
        for repeat in range(repeats):
            name, y = f"_blocks.{index}", x
            if widening > 1:
                y = _layer(t, y, (f"{name}._expand_conv", f"{name}._bn0"), 1, relu=True)
            step = first if repeat == 0 else 1
            y = _layer(t, y, (f"{name}._depthwise_conv", f"{name}._bn1"), step, relu=True)
            y = _layer(t, y, (f"{name}._project_conv", f"{name}._bn2"), 1, relu=False)
            x = y + x if repeat else y
            index += 1
    return x


def test_the_graph_computes_the_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = _tensors()
    monkeypatch.setattr(efficientnet, "read_tensors", lambda _: tensors)
    model = map_model(b"")
    assert model == map_model(b"")
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    images = np.random.default_rng(5).uniform(0, 255, (2, 3, 48, 48))
    (found,) = session.run([OUTPUT], {INPUT: images.astype(np.float32)})
    assert found.shape == (2, CHANNELS, 48 // STEP, 48 // STEP)
    for image, values in zip(images, found, strict=True):
        expected = _written_out(tensors, image)
        assert np.abs(values - expected).max() < 1e-3 * np.abs(expected).max()


def test_a_missing_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = _tensors()
    del tensors["_blocks.3._project_conv.weight"]
    monkeypatch.setattr(efficientnet, "read_tensors", lambda _: tensors)
    with pytest.raises(KeyError, match="project_conv"):
        map_model(b"")
