"""Shares corrected by a misclassification matrix: how often a reader takes one label for another.

The reader's shares q of all images are M p: p the true shares, M(j, k) the probability that the
reader says j of an image that shows k. People on some of the images tell M; p = M^-1 q. With two
classes this is the estimate of Rogan and Gladen.

It holds where the reader errs alike in all images that M is used for. Prediction-powered inference
(ppi.py) does not need that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

FloatArray = NDArray[np.float64]
"""Array of 64-bit floats."""

LEAST_SINGULAR = 0.1
"""A matrix with a smaller singular value is not inverted: the reader hardly tells the labels apart,
and the inverse would multiply every error by ten."""


@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """What the reader says of images that show each class."""

    matrix: FloatArray
    """M, shape (classes, classes); columns sum to 1."""
    n: FloatArray
    """Effective judged images of each class, (sum w)² / sum w², shape (classes,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Unmixed:
    """Corrected shares; arrays of shape (classes,)."""

    point: FloatArray
    """The share, within 0 and 1."""
    low: FloatArray
    """Lower end of the interval."""
    high: FloatArray
    """Upper end."""
    raw: FloatArray
    """The share before it is cut at 0 and 1."""
    inverse: FloatArray
    """M^-1."""
    of_images: FloatArray
    """Covariance that comes from the images, shape (classes, classes)."""


def confusion(reader: ArrayLike, people: ArrayLike, weight: ArrayLike, classes: int) -> Confusion:
    """M from images that both have answered.

    Args:
        reader: Class that the reader gave, from 0, shape (n,).
        people: Class that people gave, same shape.
        weight: 1 / probability of each image, same shape.
        classes: How many classes there are.

    Raises:
        ValueError: Shapes that do not match, a class out of range, or a class that people gave to
            no image.
    """
    said, true = np.asarray(reader, dtype=np.int64), np.asarray(people, dtype=np.int64)
    w = np.asarray(weight, dtype=np.float64)
    if said.shape != true.shape or w.shape != said.shape or said.ndim != 1:
        raise ValueError(f"reader {said.shape}, people {true.shape} and weight {w.shape}")
    if said.size and (min(said.min(), true.min()) < 0 or max(said.max(), true.max()) >= classes):
        raise ValueError(f"classes must lie in [0, {classes})")
    by_class = np.bincount(true, w, classes)
    if np.any(by_class == 0):
        raise ValueError(f"people gave class {int(np.argmin(by_class))} to no image")
    table = np.zeros((classes, classes))
    np.add.at(table, (said, true), w)
    return Confusion(table / by_class, by_class**2 / np.bincount(true, w**2, classes))


def unmix(
    counts: ArrayLike,
    found: Confusion,
    *,
    effect: float = 1.0,
    judged_effect: float = 1.0,
    alpha: float = 0.05,
) -> Unmixed | None:
    """p = M^-1 q, with an interval from the delta method.

        cov p = M^-1 [ effect (diag q - q q') / N
                       + judged_effect sum over k of p(k)² (diag m - m m') / n(k) ] M^-1'

    m is column k of M, with one more judged image spread evenly over the classes, so that a
    class in which no error was seen is not taken for one without errors. That some of the N images
    were judged, too, would make the variance a little smaller, and is not used.

    Args:
        counts: Images of each class by the reader, shape (classes,).
        found: The matrix.
        effect: Design effect of the images.
        judged_effect: Design effect of the judged images.
        alpha: 1 - alpha is the level.

    Returns:
        None where M cannot be inverted with any use (`LEAST_SINGULAR`), or there is no image.
    """
    x = np.asarray(counts, dtype=np.float64)
    if x.sum() == 0 or np.linalg.svd(found.matrix, compute_uv=False)[-1] < LEAST_SINGULAR:
        return None
    q: FloatArray = x / x.sum()
    inverse: FloatArray = np.asarray(np.linalg.inv(found.matrix), dtype=np.float64)
    raw: FloatArray = inverse @ q
    of_images: FloatArray = effect * inverse @ _multinomial(q) @ inverse.T / x.sum()
    variance = np.diag(of_images + judged_effect * of_judged(found, raw, inverse))
    half = float(ndtri(1 - alpha / 2)) * np.sqrt(variance)
    ends = (np.clip(raw - half, 0, 1), np.clip(raw + half, 0, 1))
    return Unmixed(np.clip(raw, 0, 1), *ends, raw, inverse, of_images)


def unmixed_contrast(
    first: Unmixed,
    second: Unmixed,
    found: Confusion,
    *,
    judged_effect: float = 1.0,
    alpha: float = 0.05,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """first - second, both with the same matrix: its error acts on the difference of the shares."""
    point = first.raw - second.raw
    shared = judged_effect * of_judged(found, point, first.inverse)
    half = float(ndtri(1 - alpha / 2)) * np.sqrt(
        np.diag(first.of_images + second.of_images + shared)
    )
    return np.clip(point, -1, 1), np.clip(point - half, -1, 1), np.clip(point + half, -1, 1)


def of_judged(found: Confusion, shares: FloatArray, inverse: FloatArray) -> FloatArray:
    """Covariance that comes from the matrix having been estimated; see `unmix`."""
    classes = len(shares)
    middle = np.zeros((classes, classes))
    for k, n in enumerate(found.n):
        column = (n * found.matrix[:, k] + 1 / classes) / (n + 1)
        middle += shares[k] ** 2 * _multinomial(column) / n
    result: FloatArray = inverse @ middle @ inverse.T
    return result


def _multinomial(shares: FloatArray) -> FloatArray:
    return np.diag(shares) - np.outer(shares, shares)
