"""From faces to people: who is most prominent, and how each is presented."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from contextbias.extract.local.chips import (
    AGE_SIDE,
    GENDER_SIDE,
    Measures,
    as_batch,
    cut_chip,
    measure,
)
from contextbias.extract.local.faces import Face, find_faces, merge
from contextbias.extract.local.gate import DRAWN, faults
from contextbias.extract.local.light import white_luminance
from contextbias.extract.local.pixels import COLOR_SIDE, reduce_to
from contextbias.extract.local.probes import PARTS, PHOTOGRAPH, ask, probes
from contextbias.schema import UNKNOWN, empty_person

SEARCH_SIDES = (832, 256)
"""Pixels of the longer side at which faces are searched: the first for small faces, the second for
faces that fill the picture. A picture is never enlarged for it."""
QUESTIONS = tuple(name for name in PARTS if name != PHOTOGRAPH)
"""Dimensions that probes answer, with yes or no."""

_AGES = np.arange(81, dtype=np.float64)


class FaceNetworks(Protocol):
    """The networks that people are read with; see networks.py."""

    def detect(self, batch: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """Run the face detector."""
        ...

    def age(self, chips: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probabilities of the ages 0 to 80."""
        ...

    def gender(self, chips: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probabilities of female and male."""
        ...

    def look(self, pictures: NDArray[np.float32]) -> NDArray[np.float32]:
        """The map that the probes weigh."""
        ...


@dataclass(frozen=True, slots=True)
class Person:
    """One face and what was read from it."""

    face: Face
    """Box, landmarks and score, in the picture's pixels."""
    measures: Measures
    """What the gate looked at."""
    faults: tuple[str, ...]
    """Why the face was not read; empty when it was."""
    male: float | None = None
    """Probability of being presented as male rather than female; None behind the gate."""
    ages: NDArray[np.float64] | None = None
    """Probabilities of the ages 0 to 80; None behind the gate."""
    photograph: float | None = None
    """Probability of being a photograph rather than a drawing; None when another check failed."""
    probed: Mapping[str, float] = field(default_factory=dict)
    """Probability of yes for each of QUESTIONS; empty behind the gate."""


def read_people(
    rgb: NDArray[np.uint8], networks: FaceNetworks, *, smallest_face: float
) -> list[Person]:
    """Find all faces of a picture and read those that pass the gate, the most prominent first."""
    longest = max(rgb.shape[:2])
    sides = sorted({min(side, longest) for side in SEARCH_SIDES})
    found = merge([find_faces(rgb, networks.detect, side) for side in sides])
    found.sort(key=lambda face: -prominence(face, rgb.shape[1], rgb.shape[0]))
    white = white_luminance(reduce_to(rgb, COLOR_SIDE))
    return [_read_face(rgb, face, white, networks, smallest_face) for face in found]


def prominence(face: Face, width: int, height: int) -> float:
    """How prominent a face is: its share of the picture times its nearness to the middle.

    With d the distance of the face's centre from the picture's in half diagonals, the value is
    area share x (1 - d / 2): a face in the corner counts half.
    """
    x = (face.box[0] + face.box[2]) / 2 / width - 0.5
    y = (face.box[1] + face.box[3]) / 2 / height - 0.5
    distance = float(np.hypot(x * width, y * height) / (np.hypot(width, height) / 2))
    return face.width * face.height / (width * height) * (1 - distance / 2)


def _read_face(
    rgb: NDArray[np.uint8], face: Face, white: float, networks: FaceNetworks, smallest: float
) -> Person:
    chip = cut_chip(rgb, face)
    measures = measure(rgb, face, chip, white=white)
    failed = faults(measures, smallest=smallest)
    if failed:
        return Person(face, measures, failed)
    photograph = ask(PHOTOGRAPH, rgb, face, networks.look)
    if photograph < probes()[PHOTOGRAPH].confidence:
        return Person(face, measures, (DRAWN,), photograph=photograph)
    male = float(networks.gender(as_batch(chip, GENDER_SIDE))[:, 1].mean())
    ages = networks.age(as_batch(chip, AGE_SIDE)).astype(np.float64).mean(axis=0)
    probed = {name: ask(name, rgb, face, networks.look) for name in QUESTIONS}
    return Person(face, measures, (), male, ages / ages.sum(), photograph, probed)


def answers(person: Person, *, confidence: float) -> dict[str, Any]:
    """The person in schema words: all ``unknown`` but what the face shows.

    Args:
        person: The person.
        confidence: Probability that gender presentation must reach to be answered.
    """
    found = empty_person()
    if person.male is not None:
        found["gender_presentation"] = _gender_label(person.male, confidence)
    for name, yes in person.probed.items():
        found[name] = _yes_or_no(yes, probes()[name].confidence)
    return found


def _gender_label(male: float, confidence: float) -> str:
    if max(male, 1 - male) < confidence:
        return UNKNOWN
    return "male" if male > 0.5 else "female"


def _yes_or_no(yes: float, confidence: float) -> str:
    if max(yes, 1 - yes) < confidence:
        return UNKNOWN
    return "yes" if yes > 0.5 else "no"


def mean_age(ages: NDArray[np.float64]) -> float:
    """Expectation of the age distribution, in years.

    It stays in the raw reading and is no answer: of the age ranges only young adults could be shown
    to be read well enough, and one label alone would read as 100%.

    Args:
        ages: Probabilities of the ages 0 to 80, sum 1.
    """
    return float(ages @ _AGES)
