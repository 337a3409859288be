"""Find faces with CenterFace: boxes, scores and five landmarks.

The network returns, on a grid of one cell for four pixels, a heat map of face centres, the log of
height and width in cells, the offset of the centre, and landmarks relative to the box. Source: Xu
et al., *CenterFace: Joint Face Detection and Alignment Using Face as Point* (2019).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

STRIDE = 4
"""Pixels of the network's input for one cell of its output."""
MULTIPLE = 32
"""The input's sides are multiples of this."""
SCORE = 0.6
"""A detection below this score is no face (offline evaluation: 188 of 191 prominent faces)."""
OVERLAP = 0.3
"""Two detections that overlap by more than this (IoU) are one face."""

Detector = Callable[[NDArray[np.float32]], list[NDArray[np.float32]]]
"""Runs the network: an image batch of shape (1, 3, height, width), RGB from 0 to 255, to heat map
(1, 1, h, w), log size (1, 2, h, w; height first), offset (1, 2, h, w; rows first) and landmarks
(1, 10, h, w; pairs of row and column, in box sides)."""


@dataclass(frozen=True, slots=True)
class Face:
    """One detected face, in pixels of the picture that was searched."""

    box: tuple[float, float, float, float]
    """Left, top, right, bottom."""
    landmarks: NDArray[np.float64]
    """Shape (5, 2), x and y of: eye on the left of the picture, eye on the right, nose tip, left
    and right corner of the mouth."""
    score: float
    """The detector's, 0 to 1."""

    @property
    def width(self) -> float:
        """Width of the box."""
        return self.box[2] - self.box[0]

    @property
    def height(self) -> float:
        """Height of the box."""
        return self.box[3] - self.box[1]


def find_faces(rgb: NDArray[np.uint8], detector: Detector, long_side: int) -> list[Face]:
    """Find the faces of a picture searched at one size.

    Args:
        rgb: The picture, shape (height, width, 3).
        detector: The network.
        long_side: Pixels of the picture's longer side when it is searched.

    Returns:
        Faces with a score of at least SCORE, best score first, in pixels of `rgb`.
    """
    height, width = rgb.shape[:2]
    scale = long_side / max(height, width)
    rows, columns = (max(MULTIPLE, _round_up(side * scale)) for side in (height, width))
    resized = cv2.resize(
        rgb, (columns, rows), interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    )
    batch = np.ascontiguousarray(resized.transpose(2, 0, 1)[None], dtype=np.float32)
    boxes, landmarks, scores = _decode(detector(batch))
    stretch = np.array([width / columns, height / rows])
    limit = np.array([width, height])
    boxes = np.clip(boxes.reshape(-1, 2, 2) * stretch, 0, limit).reshape(-1, 4)
    return [
        Face(_as_box(boxes[index]), landmarks[index] * stretch, float(scores[index]))
        for index in _suppress(boxes, scores)
    ]


def merge(searches: list[list[Face]]) -> list[Face]:
    """Join the faces of several searches of one picture; the better score stands for a face."""
    faces = [face for found in searches for face in found]
    if not faces:
        return []
    boxes = np.array([face.box for face in faces])
    scores = np.array([face.score for face in faces])
    return [faces[index] for index in _suppress(boxes, scores)]


def _round_up(side: float) -> int:
    return int(np.ceil(side / MULTIPLE)) * MULTIPLE


def _as_box(values: NDArray[Any]) -> tuple[float, float, float, float]:
    left, top, right, bottom = (float(value) for value in values)
    return left, top, right, bottom


def _decode(
    outputs: list[NDArray[np.float32]],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Boxes (n, 4), landmarks (n, 5, 2) and scores (n,), in pixels of the network's input."""
    heat, size, offset, marks = (np.asarray(output[0], dtype=np.float64) for output in outputs)
    row, column = np.nonzero(heat[0] >= SCORE)
    sides = np.exp(size[:, row, column]).T[:, ::-1] * STRIDE
    shift = offset[:, row, column].T[:, ::-1]
    centre = (np.stack([column, row], axis=1) + shift + 0.5) * STRIDE
    corner = centre - sides / 2
    pairs = marks[:, row, column].T.reshape(-1, 5, 2)[:, :, ::-1]
    landmarks = corner[:, None, :] + pairs * sides[:, None, :]
    return np.concatenate([corner, corner + sides], axis=1), landmarks, heat[0][row, column]


def _suppress(boxes: NDArray[np.float64], scores: NDArray[np.float64]) -> list[int]:
    """Indices that stay when, of overlapping boxes, the one with the best score does."""
    kept: list[int] = []
    for index in np.argsort(-scores, kind="stable"):
        if all(overlap(boxes[index], boxes[other]) <= OVERLAP for other in kept):
            kept.append(int(index))
    return kept


def overlap(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Intersection over union of two boxes (left, top, right, bottom); 0 for empty boxes."""
    sides = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    shared = float(np.prod(np.clip(sides, 0, None)))
    total = float(np.prod(one[2:] - one[:2]) + np.prod(other[2:] - other[:2])) - shared
    return shared / total if total > 0 else 0.0
