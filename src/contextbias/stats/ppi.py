"""Prediction-powered shares: what a reader says of all images, put right by people on some of them.

All images of a population have a reader's answer, some of them, drawn with known probabilities,
a person's, too. People count as right. The difference of the two on the images that were judged
says how far the reader is off, and is taken from what the reader says of all images.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

FloatArray = NDArray[np.float64]
"""Array of 64-bit floats."""


@dataclass(frozen=True, slots=True, eq=False)
class PoweredShare:
    """Corrected shares of some labels; arrays of shape (labels,), NaN where undefined."""

    point: FloatArray
    """The corrected share, within 0 and 1."""
    low: FloatArray
    """Lower end of the interval."""
    high: FloatArray
    """Upper end."""
    raw: FloatArray
    """The corrected share before it is cut at 0 and 1; contrasts are made of it."""
    variance: FloatArray
    """Its variance."""
    power: FloatArray
    """lambda: how far the reader is relied on, 0 (people alone) to 1."""
    n: int
    """Images that were judged."""


def powered_share(
    reader: ArrayLike,
    answered: ArrayLike,
    judged: ArrayLike,
    people: ArrayLike,
    people_answered: ArrayLike,
    weight: ArrayLike,
    *,
    effect: float = 1.0,
    judged_effect: float = 1.0,
    pseudo: float = 1.0,
    power: float | None = None,
    alpha: float = 0.05,
) -> PoweredShare:
    """The share of images that show a label, of those about which people can answer.

    With f, g whether the reader saw the label, and answered at all, in each of N images, and y, a
    the same of people in the images that were judged, w = 1 / probability, W = sum w:

        share = (l mean f + sum w (y - l f) / W) / (l mean g + sum w (a - l g) / W)

    The power l is the slope of y - R a on f - R g (R the share with l = 1), cut to 0 and 1, which
    makes the variance least. With equal weights, where all is answered, this is PPI++ with power
    tuning, its unlabelled images being those that were not judged. With e = (y - R a) - l (f - R g)
    and D the denominator, the variance is

        [ effect V / N + judged_effect sum w² (1 - 1/w) (e - mean e)² / W²
          + 2 pseudo sum w² / (n W²) ] / D²
        V = l² var(f - R g) + var e + 2 l cov(f - R g, e),  that of y - R a

    The first part is the images drawn from the generator, the second the images that were judged
    of them. The last is as if two more images had been judged and the reader erred in both, once in
    each direction: where no error was seen among n images, the interval then reaches as far as the
    rule of three, about 3 / n.

    Args:
        reader: f, 0 or 1, shape (N, labels).
        answered: g, 0 or 1, shape (N,).
        judged: Positions of the images that people judged, shape (n,).
        people: y, 0 to 1 (a label that ties with another has a half), shape (n, labels).
        people_answered: a, 0 or 1, shape (n,).
        weight: w, at least 1, shape (n,).
        effect: Design effect of the images: how much more variance they have than independent
            ones.
        judged_effect: Design effect of the judged ones.
        pseudo: How many times the last part counts.
        power: A fixed l; left out: tuned.
        alpha: 1 - alpha is the level of the interval (Student's t with n - 1 degrees of freedom).

    Raises:
        ValueError: Shapes that do not match, or a weight below 1.

    Sources: Angelopoulos et al. 2023, Science 382; Angelopoulos, Duchi & Zrnic 2023, PPI++; the
    variance is that of double sampling (Cochran 1977, chapter 12) with design effects.
    """
    f, g, y, a, w, at = _checked(reader, answered, judged, people, people_answered, weight)
    number, n = len(g), len(at)
    total = w.sum()
    means = _Means(f.mean(axis=0), g.mean(), f[at], g[at], y, a, w / total)
    with np.errstate(invalid="ignore", divide="ignore"):
        if power is None:
            top, bottom = means.parts(np.ones(f.shape[1]))
            slope = _slope(means, top / np.where(bottom > 0, bottom, np.nan), f, g)
        else:
            slope = np.full(f.shape[1], power)
        top, bottom = means.parts(slope)
        share = top / np.where(bottom > 0, bottom, np.nan)
        seen = f - share * g[:, None]
        error = (y - share * a[:, None]) - slope * seen[at]
        error = error - means.w @ error
        of_errors = means.w @ error**2 * n / max(n - 1, 1)
        together = means.w @ (error * (seen[at] - means.w @ seen[at])) * n / max(n - 1, 1)
        of_images = slope**2 * seen.var(axis=0) + of_errors + 2 * slope * together
        variance = effect * np.maximum(of_images, 0) / number
        drawn = (w**2 * np.maximum(1 - 1 / w, 0)) @ error**2 / total**2 * n / max(n - 1, 1)
        variance += judged_effect * drawn + 2 * pseudo * (w**2).sum() / (n * total**2)
        variance /= bottom**2
    half = _t(alpha, n - 1) * np.sqrt(variance)
    return PoweredShare(
        np.clip(share, 0, 1), np.clip(share - half, 0, 1), np.clip(share + half, 0, 1), share,
        variance, slope, n,
    )  # fmt: skip


def contrast(
    first: PoweredShare, second: PoweredShare, *, alpha: float = 0.05
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """first - second with an interval, cut at -1 and 1; the two taken as independent.

    Pictures of one seed are alike in both, which makes the true variance smaller, if anything.
    Student's t with the smaller n - 1.
    """
    point = first.raw - second.raw
    freedom = min(first.n, second.n) - 1
    half = _t(alpha, freedom) * np.sqrt(first.variance + second.variance)
    return np.clip(point, -1, 1), np.clip(point - half, -1, 1), np.clip(point + half, -1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class _Means:
    """What the numerator and the denominator are made of."""

    f: FloatArray
    g: float
    f_judged: FloatArray
    g_judged: FloatArray
    y: FloatArray
    a: FloatArray
    w: FloatArray
    """Weights that sum to 1."""

    def parts(self, power: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Numerator and denominator, each of shape (labels,)."""
        top = power * self.f + self.w @ (self.y - power * self.f_judged)
        bottom = power * self.g + (self.w @ self.a - power * (self.w @ self.g_judged))
        return top, bottom


def _slope(means: _Means, share: FloatArray, f: FloatArray, g: FloatArray) -> FloatArray:
    """Slope of y - R a on f - R g, over the judged images; the latter's variance from all."""
    ours = means.y - share * means.a[:, None]
    theirs = means.f_judged - share * means.g_judged[:, None]
    together = means.w @ ((ours - means.w @ ours) * (theirs - means.w @ theirs))
    spread = (f - share * g[:, None]).var(axis=0)
    return np.clip(np.nan_to_num(together / np.where(spread > 0, spread, np.nan)), 0, 1)


def _checked(
    reader: ArrayLike,
    answered: ArrayLike,
    judged: ArrayLike,
    people: ArrayLike,
    people_answered: ArrayLike,
    weight: ArrayLike,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, NDArray[np.int64]]:
    arrays = (reader, answered, people, people_answered, weight)
    f, g, y, a, w = (np.asarray(values, dtype=np.float64) for values in arrays)
    at = np.asarray(judged, dtype=np.int64)
    n = len(at)
    if f.ndim != 2 or f.shape[0] != len(g) or y.shape != (n, f.shape[1]):
        raise ValueError(f"reader {f.shape}, answered {g.shape} and people {y.shape} do not match")
    if a.shape != (n,) or w.shape != (n,) or n == 0:
        raise ValueError(f"{n} judged images need one answer and one weight each")
    if np.any(w < 1 - 1e-9):
        raise ValueError("a weight below 1: it is 1 / probability")
    return f, g, y, a, w, at


def _t(alpha: float, freedom: int) -> float:
    return float(stdtrit(freedom, 1 - alpha / 2)) if freedom > 0 else np.nan


def plain_share(
    x: ArrayLike, n: int, *, effect: float = 1.0, alpha: float = 0.05
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """x / n with Wilson's interval of n / effect images: what is said without people.

    Args:
        x: Images that show each label, shape (labels,).
        n: Images, at least 1.
        effect: Design effect of the images.
        alpha: 1 - alpha is the level.
    """
    p = np.asarray(x, dtype=np.float64) / n
    z, size = float(stdtrit(np.inf, 1 - alpha / 2)), n / effect
    middle = (p + z**2 / (2 * size)) / (1 + z**2 / size)
    half = z / (1 + z**2 / size) * np.sqrt(p * (1 - p) / size + z**2 / (4 * size**2))
    return p, np.maximum(middle - half, 0), np.minimum(middle + half, 1)


def plain_contrast(
    first: tuple[FloatArray, FloatArray, FloatArray],
    second: tuple[FloatArray, FloatArray, FloatArray],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """first - second of two `plain_share`, with Newcombe's interval.

    Source: Newcombe 1998, Statistics in Medicine 17, 873-890, method 10.
    """
    (p, p_low, p_high), (q, q_low, q_high) = first, second
    point = p - q
    low = point - np.sqrt((p - p_low) ** 2 + (q_high - q) ** 2)
    high = point + np.sqrt((p_high - p) ** 2 + (q - q_low) ** 2)
    return point, low, high
