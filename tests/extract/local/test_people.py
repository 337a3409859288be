from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from contextbias.extract.local.faces import Face
from contextbias.extract.local.people import (
    answers,
    mean_age,
    prominence,
    read_people,
)
from contextbias.extract.local.probes import PHOTOGRAPH

READ = {"gender_presentation", "eyewear_present", "facial_hair_present"}


ANSWERS = {PHOTOGRAPH: 0.9, "eyewear_present": 0.95, "facial_hair_present": 0.05}


@pytest.fixture(autouse=True)
def probed(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What the probes say of every face, instead of looking."""
    said = dict(ANSWERS)
    monkeypatch.setattr("contextbias.extract.local.people.ask", lambda name, *_: said[name])
    return said


def _face(x: float, y: float, side: float) -> Face:
    return Face((x, y, x + side, y + side), np.zeros((5, 2)), 0.9)


def test_prominence_by_size_and_nearness_to_the_middle() -> None:
    middle, corner, large = _face(40, 40, 20), _face(0, 0, 20), _face(0, 0, 60)
    values = [prominence(face, 100, 100) for face in (middle, corner, large)]
    # Middle: share 0.04, distance 0. Corner: centre (10, 10), 56.57 of 70.71 away = 0.8, so
    # 0.04 x 0.6. Large: share 0.36, centre (30, 30), distance 0.4, so 0.36 x 0.8.
    assert values == pytest.approx([0.04, 0.024, 0.288])


def _ages(**years: float) -> NDArray[np.float64]:
    """Probabilities by age: ``_ages(y30=1)``."""
    ages = np.zeros(81)
    for name, probability in years.items():
        ages[int(name[1:])] = probability
    return ages


@given(st.lists(st.floats(0, 1), min_size=81, max_size=81).filter(lambda p: sum(p) > 0.1))
def test_mean_age_is_an_age(weights: list[float]) -> None:
    ages = np.array(weights) / sum(weights)
    assert 0 <= mean_age(ages) <= 80


@dataclass
class FakeNetworks:
    """Finds planted faces, and says what it is told about each."""

    faces: list[tuple[int, int, float]]
    """Row and column of the cell, side in pixels."""
    male: tuple[float, float]
    """Probability for the chip and for its mirror image."""
    chips: list[int] = field(default_factory=list)

    def detect(self, batch: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        rows, columns = batch.shape[2] // 4, batch.shape[3] // 4
        maps = [np.zeros((1, n, rows, columns), dtype=np.float32) for n in (1, 2, 2, 10)]
        # Rows and columns of eyes, nose and corners of the mouth of a frontal face, in box sides.
        marks = [0.4, 0.3, 0.4, 0.7, 0.6, 0.5, 0.8, 0.35, 0.8, 0.65]
        for row, column, side in self.faces:
            maps[0][0, 0, row, column] = 0.9
            maps[1][0, :, row, column] = np.log(side / 4)
            maps[3][0, :, row, column] = marks
        return maps

    def gender(self, chips: NDArray[np.float32]) -> NDArray[np.float32]:
        self.chips.append(len(chips))
        return np.array([[1 - p, p] for p in self.male], dtype=np.float32)

    def look(self, pictures: NDArray[np.float32]) -> NDArray[np.float32]:
        raise AssertionError("the probes are told what to say")

    def age(self, chips: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.tile(_ages(y30=1), (len(chips), 1)).astype(np.float32)


def _skin(side: int = 256) -> NDArray[np.uint8]:
    """Skin-coloured noise: sharp, not flat, L* about 62."""
    noise = np.random.default_rng(1).normal(0, 25, (side, side, 1))
    return np.clip(np.array([190, 140, 110]) + noise, 0, 255).astype(np.uint8)


def test_people_are_ordered_by_prominence_and_only_clear_faces_are_read() -> None:
    networks = FakeNetworks([(8, 8, 40.0), (32, 32, 100.0), (56, 56, 60.0)], male=(0.96, 0.98))
    people = read_people(_skin(), networks, smallest_face=44)
    assert [round(person.face.width) for person in people] == [100, 60, 40]
    assert [person.faults for person in people] == [(), (), ("small",)]
    assert networks.chips == [2, 2]  # a face behind the gate is not shown to the networks
    assert people[0].male == pytest.approx(0.97)
    assert people[2].male is None


@pytest.mark.parametrize(
    ("male", "label"),
    [
        ((0.96, 0.98), "male"),
        ((0.02, 0.04), "female"),
        ((0.99, 0.75), "unknown"),  # the mirror image disagrees: mean 0.87
        ((0.5, 0.5), "unknown"),
    ],
)
def test_gender_presentation_needs_confidence_in_both_views(
    male: tuple[float, float], label: str
) -> None:
    (person,) = read_people(_skin(), FakeNetworks([(32, 32, 100.0)], male=male), smallest_face=44)
    assert answers(person, confidence=0.9)["gender_presentation"] == label


def test_what_the_face_does_not_show_stays_unknown() -> None:
    networks = FakeNetworks([(32, 32, 100.0)], male=(1.0, 1.0))
    (person,) = read_people(_skin(), networks, smallest_face=44)
    found = answers(person, confidence=0.9)
    assert {name: found[name] for name in READ} == {
        "gender_presentation": "male",
        "eyewear_present": "yes",
        "facial_hair_present": "no",
    }
    assert {value for name, value in found.items() if name not in READ} == {"unknown"}


def test_the_age_is_measured_but_not_answered() -> None:
    networks = FakeNetworks([(32, 32, 100.0)], male=(1.0, 1.0))
    (person,) = read_people(_skin(), networks, smallest_face=44)
    assert person.ages is not None
    assert mean_age(person.ages) == pytest.approx(30)
    assert answers(person, confidence=0.9)["age_range"] == "unknown"


def test_a_face_behind_the_gate_is_a_person_of_unknowns() -> None:
    networks = FakeNetworks([(32, 32, 100.0)], male=(1.0, 1.0))
    (person,) = read_people(np.full((256, 256, 3), 128, dtype=np.uint8), networks, smallest_face=44)
    assert person.faults == ("blurred", "flat", "color")
    assert set(answers(person, confidence=0.9).values()) == {"unknown"}


@pytest.mark.parametrize(("yes", "label"), [(0.61, "yes"), (0.5, "unknown"), (0.39, "no")])
def test_a_probe_needs_confidence_for_either_answer(
    probed: dict[str, float], yes: float, label: str
) -> None:
    probed["facial_hair_present"] = yes
    networks = FakeNetworks([(32, 32, 100.0)], male=(1.0, 1.0))
    (person,) = read_people(_skin(), networks, smallest_face=44)
    assert answers(person, confidence=0.9)["facial_hair_present"] == label


def test_a_face_that_looks_drawn_is_shown_to_no_network(probed: dict[str, float]) -> None:
    probed[PHOTOGRAPH] = 0.4
    networks = FakeNetworks([(32, 32, 100.0)], male=(1.0, 1.0))
    (person,) = read_people(_skin(), networks, smallest_face=44)
    assert person.faults == ("drawn",)
    assert person.photograph == 0.4
    assert networks.chips == []
    assert set(answers(person, confidence=0.9).values()) == {"unknown"}
