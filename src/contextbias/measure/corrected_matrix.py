"""Prevalences corrected by a misclassification matrix that people's answers tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contextbias.measure.judged import (
    Answers,
    Ends,
    Floats,
    Integers,
    JudgedImages,
    Population,
    design_effect,
    label_rows,
)
from contextbias.schema import DIMENSIONS
from contextbias.stats.misclassification import (
    Confusion,
    Unmixed,
    confusion,
    unmix,
    unmixed_contrast,
)

FEWEST_OF_A_CLASS = 5
"""A column of the misclassification matrix needs this many judged images."""

FEW_LABELS = "few_labels"
"""Note where people have answered about too few images."""

NOT_INVERTIBLE = "not_invertible"
"""Note where the reader hardly tells the labels apart."""

MATRIX = "misclassification"
"""Method of these numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """The matrices of one generator and dimension, from all its judged images."""

    parts: tuple[tuple[tuple[int, ...], Confusion], ...]
    """Labels (positions) that a matrix gives, in the order of its first classes, and the matrix;
    the last class is everything else, where the labels are not all there is."""
    n: int
    """Judged images that both answered."""
    missing: int
    """Judged images that one of the two did not answer."""
    judged_effect: float

    @classmethod
    def of(cls, answers: Answers, images: JudgedImages) -> Matrix:
        """One matrix of all labels where there is one label an image and each has enough images,
        else one of two classes for each label: shown, and not shown."""
        both = answers.people_answered & answers.answered[answers.judged]
        at = answers.judged[both]
        people, weight = answers.people[both], answers.weight[both]
        parts = _one_matrix(answers, at, people, weight)
        if parts is None:
            parts = _by_label(answers, at, people, weight)
        return cls(
            parts, len(at), len(answers.judged) - len(at),
            design_effect(images.cluster[at], answers.rho),
        )  # fmt: skip

    def rows(
        self, answers: Answers, cell: Population, keys: dict[str, Any], alpha: float
    ) -> Iterator[dict[str, Any]]:
        """One row a label of one population."""
        found: list[tuple[tuple[int, ...], Ends | None]] = []
        for labels, matrix in self.parts:
            one = self._unmixed(cell, labels, matrix, alpha)
            found.append((labels, None if one is None else (one.point, one.low, one.high)))
        yield from self._given(answers.labels, found, keys)

    def contrast_rows(
        self,
        answers: Answers,
        pair: tuple[Population, Population],
        keys: dict[str, Any],
        alpha: float,
    ) -> Iterator[dict[str, Any]]:
        """One row a label: the first population less the second."""
        found: list[tuple[tuple[int, ...], Ends | None]] = []
        for labels, matrix in self.parts:
            one, two = (self._unmixed(cell, labels, matrix, alpha) for cell in pair)
            ends = None
            if one is not None and two is not None:
                ends = unmixed_contrast(
                    one, two, matrix, judged_effect=self.judged_effect, alpha=alpha
                )
            found.append((labels, ends))
        yield from self._given(answers.labels, found, keys)

    def _unmixed(
        self, cell: Population, labels: tuple[int, ...], matrix: Confusion, alpha: float
    ) -> Unmixed | None:
        x = cell.shown[list(labels)]
        if len(matrix.n) > len(labels):
            x = np.append(x, cell.read - x.sum())
        return unmix(x, matrix, effect=cell.effect, judged_effect=self.judged_effect, alpha=alpha)

    def _given(
        self,
        labels: Sequence[str],
        found: Sequence[tuple[tuple[int, ...], Ends | None]],
        keys: dict[str, Any],
    ) -> Iterator[dict[str, Any]]:
        by_label: dict[int, tuple[Ends | None, int]] = {}
        for places, ends in found:
            by_label |= {place: (ends, k) for k, place in enumerate(places)}
        keys = keys | {"n": self.n, "n_missing": self.missing}
        for place, label in enumerate(labels):
            ends, k = by_label.get(place, (None, 0))
            own = None if ends is None else (ends[0][[k]], ends[1][[k]], ends[2][[k]])
            note = NOT_INVERTIBLE if place in by_label else FEW_LABELS
            yield from label_rows([label], own, MATRIX, keys, note)


def _one_matrix(
    answers: Answers, at: Integers, people: Floats, weight: Floats
) -> tuple[tuple[tuple[int, ...], Confusion], ...] | None:
    """One matrix of all labels; None where it cannot be, or one class has too few images."""
    one_label = DIMENSIONS[answers.dimension].kind == "one"
    if not one_label or not len(at) or not np.all(people.max(axis=1, initial=0) == 1):
        return None
    true = people.argmax(axis=1)
    images = np.bincount(true, minlength=len(answers.labels))
    labels = tuple(int(k) for k in np.flatnonzero(images >= FEWEST_OF_A_CLASS))
    others = len(at) - int(images[list(labels)].sum())
    shown = answers.reader[:, labels].sum(axis=1)
    has_others = others > 0 or bool((answers.answered & (shown == 0)).any())
    if len(labels) < 2 or (has_others and others < FEWEST_OF_A_CLASS):
        return None
    number = np.full(len(answers.labels), len(labels))
    number[list(labels)] = np.arange(len(labels))
    said = answers.reader[at][:, labels]
    codes = np.where(said.sum(axis=1) > 0, said.argmax(axis=1), len(labels))
    matrix = confusion(codes, number[true], weight, len(labels) + has_others)
    return ((labels, matrix),)


def _by_label(
    answers: Answers, at: Integers, people: Floats, weight: Floats
) -> tuple[tuple[tuple[int, ...], Confusion], ...]:
    """Shown or not, for each label with enough images of both; ties count as shown."""
    found = []
    for k in range(len(answers.labels)):
        true = (people[:, k] < 0.5).astype(np.int64)  # class 0: shown
        if min(int(true.sum()), int((1 - true).sum())) >= FEWEST_OF_A_CLASS:
            said = 1 - answers.reader[at, k].astype(np.int64)
            found.append(((k,), confusion(said, true, weight, 2)))
    return tuple(found)
