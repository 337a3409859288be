"""Linear probes on a network's map of an aligned part of a face.

A probe cuts out one part of the face (the eyes, the lower half, the whole), lets the first blocks
of EfficientNet-Lite0 look at it, takes the means of the map over 5 x 5 fields, and weighs these
numbers. The means keep what lies where: glasses on the nose are not glasses in the hair. Two
numbers turn the sum into a probability (Platt 1999). perf/train_probes.py computes the coefficients
in probes.json and says on which pictures.
"""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from contextbias.extract.local.chips import fit_similarity
from contextbias.extract.local.faces import Face
from contextbias.ids import bytes_sha256

FIELDS = 5
"""The map is averaged over so many fields down and across."""
PHOTOGRAPH = "photograph"
"""Name of the probe that tells photographs of a face from drawings."""

Mapper = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""Runs the network: RGB levels (n, 3, side, side) to the map (n, channels, rows, columns)."""

# Eyes, nose tip and corners of the mouth of a frontal face, in distances of the eyes from the
# middle between them; y points down.
_FRONTAL = np.array([[-0.5, 0.0], [0.5, 0.0], [0.0, 0.62], [-0.4, 1.08], [0.4, 1.08]])


@dataclass(frozen=True, slots=True)
class Part:
    """A square part of an aligned face."""

    middle: float
    """How far below the eyes its middle lies, in distances of the eyes."""
    width: float
    """Its side, in distances of the eyes."""
    side: int
    """Pixels of its side when the network sees it; a multiple of 16."""


PARTS = {
    PHOTOGRAPH: Part(middle=0.5, width=3.0, side=112),
    "eyewear_present": Part(middle=0.1, width=2.2, side=224),
    "facial_hair_present": Part(middle=1.1, width=2.2, side=224),
}
"""The part of the face that each probe looks at."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The coefficients of one probe."""

    weights: NDArray[np.float64]
    """One for each of the numbers of `features`; standardisation is folded in."""
    intercept: float
    """Added to the weighted sum."""
    slope: float
    """Of the score in Platt's sigmoid."""
    shift: float
    """Platt's constant."""
    confidence: float
    """Probability that an answer must reach, chosen on the training pictures."""

    def probability(self, features: NDArray[np.floating[Any]]) -> float:
        """Probability of yes, if both answers were equally common.

        1 / (1 + exp(-(slope s + shift))) with s = weights . features + intercept.
        """
        score = float(features @ self.weights) + self.intercept
        return float(1 / (1 + np.exp(-np.clip(self.slope * score + self.shift, -50, 50))))


def cut_part(rgb: NDArray[np.uint8], face: Face, part: Part) -> NDArray[np.uint8]:
    """The aligned part of a face; beyond the picture's edge the edge is repeated."""
    target = (_FRONTAL - [0, part.middle]) / part.width * part.side + part.side / 2
    cut = cv2.warpAffine(
        rgb,
        fit_similarity(face.landmarks, target),
        (part.side, part.side),
        flags=cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return np.asarray(cut, dtype=np.uint8)


def features(cut: NDArray[np.uint8], mapper: Mapper) -> NDArray[np.float64]:
    """Means of the map over FIELDS x FIELDS fields, row by row; shape (FIELDS^2 channels,)."""
    batch = np.ascontiguousarray(cut.transpose(2, 0, 1)[None], dtype=np.float32)
    (values,) = mapper(batch)
    rows, columns = (np.rint(np.linspace(0, n, FIELDS + 1)).astype(int) for n in values.shape[1:])
    means = [
        values[:, top:bottom, left:right].mean(axis=(1, 2), dtype=np.float64)
        for top, bottom in itertools.pairwise(rows)
        for left, right in itertools.pairwise(columns)
    ]
    return np.concatenate(means)


def ask(name: str, rgb: NDArray[np.uint8], face: Face, mapper: Mapper) -> float:
    """Probability that the probe called `name` says yes to a face."""
    return probes()[name].probability(features(cut_part(rgb, face, PARTS[name]), mapper))


@cache
def probes() -> dict[str, Probe]:
    """The probes by name, from probes.json."""
    table = json.loads(_text())
    return {name: _probe(row) for name, row in table["probes"].items()}


@cache
def probes_sha256() -> str:
    """Hash of probes.json, for the reader's settings."""
    return bytes_sha256(_text().encode())


def _text() -> str:
    return files("contextbias.extract.local").joinpath("probes.json").read_text("utf-8")


def _probe(row: dict[str, Any]) -> Probe:
    weights = np.frombuffer(base64.b64decode(row["weights"]), dtype="<f4").astype(np.float64)
    return Probe(weights, row["intercept"], row["slope"], row["shift"], row["confidence"])
