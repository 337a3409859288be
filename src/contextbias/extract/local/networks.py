"""Load and run the reader's networks with onnxruntime, one thread each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from contextbias.extract.local.onnx_shapes import free_shapes
from contextbias.weights import require

CENTERFACE_INPUT = "input.1"
"""RGB, (1, 3, height, width), 0 to 255."""
CENTERFACE_OUTPUTS = ("537", "538", "539", "540")
"""Heat map, log size, offset, landmarks."""
FACE_INPUT = "images"
"""Input of age-v1 and gender-v1: see faces as batches of chips."""
MODELS = ("centerface", "age-v1", "gender-v1", "efficientnet-lite0")
"""Weight files that the reader needs."""

# Errors only: the file's harmless remarks about its inputs would fill a screen.
_ERRORS_ONLY = 3


class Networks:
    """The networks of the reader. Running them is safe from several threads.

    Args:
        folder: Folder of the weight files; None for the default cache.

    Raises:
        MissingPart: A weight file is missing or damaged.
    """

    def __init__(self, folder: Path | None = None) -> None:
        paths = require(MODELS, folder)
        shapes: dict[str, tuple[int | str, ...]] = {CENTERFACE_INPUT: (1, 3, "height", "width")}
        for name, channels in zip(CENTERFACE_OUTPUTS, (1, 2, 2, 10), strict=True):
            shapes[name] = (1, channels, "rows", "columns")
        self._centerface = _session(free_shapes(paths["centerface"].read_bytes(), shapes))
        self._age = _session(paths["age-v1"].read_bytes())
        self._gender = _session(paths["gender-v1"].read_bytes())
        self._backbone = _session(paths["efficientnet-lite0"].read_bytes())

    def detect(self, batch: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """CenterFace: heat map, log size, offset and landmarks of one image (see faces.py)."""
        outputs = self._centerface.run(list(CENTERFACE_OUTPUTS), {CENTERFACE_INPUT: batch})
        return [np.asarray(output, dtype=np.float32) for output in outputs]

    def age(self, chips: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probabilities of the ages 0 to 80, shape (n, 81), of chips of shape (n, 3, 64, 64)."""
        return np.asarray(self._age.run(None, {FACE_INPUT: chips})[0], dtype=np.float32)

    def gender(self, chips: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probabilities of female and male, shape (n, 2), of chips of shape (n, 3, 32, 32)."""
        return np.asarray(self._gender.run(None, {FACE_INPUT: chips})[0], dtype=np.float32)

    def look(self, pictures: NDArray[np.float32]) -> NDArray[np.float32]:
        """EfficientNet-Lite0's map of pictures, RGB levels (n, 3, side, side); see probes.py."""
        return np.asarray(self._backbone.run(None, {"images": pictures})[0], dtype=np.float32)


def _session(model: bytes) -> onnxruntime.InferenceSession:
    """One thread a session: the study runs several pictures side by side instead."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    return onnxruntime.InferenceSession(
        model, sess_options=options, providers=["CPUExecutionProvider"]
    )
