"""Cut aligned faces out of a picture, and measure what the gate needs.

A chip is the face turned upright and scaled so that its eyes and nose lie where the networks saw
them in training: dlib's mean face, here reduced to eye centres and nose, with a margin of 0.2 of
its side all around.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from contextbias.extract.local.color_names import to_lab
from contextbias.extract.local.faces import Face
from contextbias.extract.local.light import lightness, luminance

MARGIN = 0.2
"""Margin around the mean face, in sides of the mean face."""
AGE_SIDE = 64
"""Side of the chip that age-v1 takes."""
GENDER_SIDE = 32
"""Side of the chip that gender-v1 takes."""
CHANNEL_MEANS = (122.781998, 117.000999, 104.297997)
"""RGB means that both networks subtract before dividing by 256."""

_MEAN_FACE = np.array([[0.2273, 0.2214], [0.7528, 0.2212], [0.4901, 0.6278]])
_LARGE_SIDE = 256
_FLAT_STEP = 0.5
# From the forehead to the chin and from temple to temple, of the 64-pixel chip.
_INNER = np.s_[8:48, 16:48]


@dataclass(frozen=True, slots=True)
class Measures:
    """What the gate looks at, for one face."""

    size: float
    """Longer side of the box in pixels of the picture."""
    eye_ratio: float
    """Distance of the eyes / width of the box: falls when the head turns."""
    nose_offset: float
    """Horizontal distance of the nose tip from the middle of the eyes / distance of the eyes."""
    sharpness: float
    """Standard deviation of the Laplacian / of the grey levels, on the upright 64-pixel chip."""
    flatness: float
    """Share of the inner chip whose L* changes by less than 0.5 a pixel: high in flat drawings."""
    cheek: tuple[float, float, float]
    """Median L*, a*, b* of the cheeks."""
    ita: float
    """Individual typology angle of the inner face, the median of atan2(L* - 50, b*) in degrees:
    high is light. Source: Chardon et al. (1991). Kept in the raw reading only."""
    skin_lightness: float
    """L* of the inner face's median luminance, against the picture's own white."""

    @property
    def cheek_chroma(self) -> float:
        """Chroma of the cheeks."""
        return float(np.hypot(self.cheek[1], self.cheek[2]))

    @property
    def cheek_hue(self) -> float:
        """Hue angle of the cheeks, -180 to 180 degrees."""
        return float(np.degrees(np.arctan2(self.cheek[2], self.cheek[1])))


def cut_chip(rgb: NDArray[np.uint8], face: Face) -> NDArray[np.uint8]:
    """The aligned face, 256 x 256 x 3; parts beyond the picture's edge repeat the edge."""
    target = (_MEAN_FACE + MARGIN) / (1 + 2 * MARGIN) * _LARGE_SIDE
    transform = fit_similarity(face.landmarks[:3], target)
    chip = cv2.warpAffine(
        rgb,
        transform,
        (_LARGE_SIDE, _LARGE_SIDE),
        flags=cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return np.asarray(chip, dtype=np.uint8)


def fit_similarity(source: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """The turn, scale and shift that bring points nearest to others (least squares, no mirror).

    Args:
        source: Shape (n, 2), not all the same point.
        target: Shape (n, 2).

    Returns:
        Shape (2, 3): target is about transform[:, :2] @ point + transform[:, 2].
    """
    a, b = source - source.mean(axis=0), target - target.mean(axis=0)
    along = float((a * b).sum())
    across = float((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum())
    linear = np.array([[along, -across], [across, along]]) / max(float((a * a).sum()), 1e-9)
    shift = target.mean(axis=0) - linear @ source.mean(axis=0)
    return np.concatenate([linear, shift[:, None]], axis=1)


def as_batch(chip: NDArray[np.uint8], side: int) -> NDArray[np.float32]:
    """The chip and its mirror image as the networks' input, shape (2, 3, side, side)."""
    small = _reduced(chip, side).astype(np.float32)
    small = (small - np.asarray(CHANNEL_MEANS, dtype=np.float32)) / np.float32(256)
    both = np.stack([small, small[:, ::-1]])
    return np.ascontiguousarray(both.transpose(0, 3, 1, 2))


def measure(
    rgb: NDArray[np.uint8], face: Face, chip: NDArray[np.uint8], *, white: float
) -> Measures:
    """Measure a face for the gate.

    Args:
        rgb: The picture.
        face: The face, in the picture's pixels.
        chip: Its chip, from `cut_chip`.
        white: Luminance that counts as white in the picture; see light.py.
    """
    left, right, nose = face.landmarks[:3]
    eyes = max(float(np.hypot(*(right - left))), 1e-6)
    small = _reduced(chip, AGE_SIDE)
    return Measures(
        size=max(face.width, face.height),
        eye_ratio=eyes / max(face.width, 1e-6),
        nose_offset=abs(float(nose[0] - (left[0] + right[0]) / 2)) / eyes,
        sharpness=_sharpness(small),
        flatness=_flatness(small),
        cheek=_cheek(rgb, face, eyes),
        ita=_typology_angle(small),
        skin_lightness=lightness(float(np.median(luminance(small[_INNER]))), white),
    )


def _reduced(chip: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    resized = cv2.resize(chip, (side, side), interpolation=cv2.INTER_AREA)
    return np.asarray(resized, dtype=np.uint8)


def _sharpness(chip: NDArray[np.uint8]) -> float:
    gray = cv2.cvtColor(chip, cv2.COLOR_RGB2GRAY).astype(np.float32)
    return float(cv2.Laplacian(gray, cv2.CV_32F).std() / max(float(gray.std()), 1e-6))


def _flatness(chip: NDArray[np.uint8]) -> float:
    edge = AGE_SIDE // 5
    light = cv2.GaussianBlur(to_lab(chip)[..., 0], (0, 0), 0.8)[edge:-edge, edge:-edge]
    down, across = np.gradient(light)
    return float((np.hypot(down, across) < _FLAT_STEP).mean())


def _typology_angle(chip: NDArray[np.uint8]) -> float:
    """Over the whole inner face: cheeks alone are highlights in hard light, and beards."""
    lab = to_lab(chip[_INNER])
    return float(np.median(np.degrees(np.arctan2(lab[..., 0] - 50, lab[..., 2]))))


def _cheek(rgb: NDArray[np.uint8], face: Face, eyes: float) -> tuple[float, float, float]:
    """Median colour of two patches halfway between each eye and its corner of the mouth."""
    height, width = rgb.shape[:2]
    radius = max(1.5, 0.13 * eyes)
    patches = []
    for eye, mouth in ((0, 3), (1, 4)):
        x, y = 0.45 * face.landmarks[eye] + 0.55 * face.landmarks[mouth]
        x, y = np.clip(x, 0, width - 1), np.clip(y, 0, height - 1)
        rows = slice(max(int(y - radius), 0), int(y + radius + 1))
        columns = slice(max(int(x - radius), 0), int(x + radius + 1))
        patches.append(rgb[rows, columns].reshape(-1, 3))
    light, a, b = np.median(to_lab(np.concatenate(patches)), axis=0)
    return float(light), float(a), float(b)
