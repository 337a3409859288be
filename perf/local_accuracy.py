"""How often the local reader is right on pictures that people have judged.

    python perf/local_accuracy.py FOLDER

FOLDER holds pictures and either faces.csv and labels.csv (boxes as fractions, one row a face; depth
of field, one row a picture) or portraits.csv (one row a picture). What else was judged of single
faces is in data/judged_faces.csv. An empty cell was not judged. The tables give, for each question:
right / answered / judged, accuracy among the answers and coverage with Wilson 95% intervals, and
every wrong answer.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from contextbias.extract.local import LocalReader
from contextbias.extract.local.faces import overlap
from contextbias.extract.protocol import Picture, RawReading
from contextbias.schema import UNKNOWN

JUDGED = Path(__file__).parent / "data" / "judged_faces.csv"
DIMENSIONS = ("eyewear_present", "facial_hair_present", "age_range")
AGES = ((20.0, "young_adult"), (40.0, "middle_aged"), (58.0, "older_adult"))
"""Ranges from this mean age on. The reader does not answer them: this measures why."""
SAME_FACE = 0.5
"""Intersection over union from which a detected face is the judged one."""


@dataclass
class Score:
    """One question's answers against the judgements."""

    judged: int = 0
    answered: int = 0
    right: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, where: str, truth: str, answer: str) -> None:
        self.judged += 1
        if answer == UNKNOWN:
            return
        self.answered += 1
        self.right += answer == truth
        if answer != truth:
            self.wrong.append(f"{where}: {answer}, judged {truth}")

    @property
    def accuracy(self) -> float:
        return self.right / self.answered if self.answered else float("nan")

    @property
    def coverage(self) -> float:
        return self.answered / self.judged if self.judged else float("nan")


def read_folder(folder: Path, **options: Any) -> dict[str, RawReading]:
    """The reading of each picture of a folder, by file name."""
    reader = LocalReader(options)
    return {
        path.name: reader.read(Picture(image_id=path.stem, path=path))
        for path in sorted(folder.glob("*.jpg"))
    }


def score_scenes(folder: Path, readings: dict[str, RawReading]) -> dict[str, Score]:
    """Scores against faces.csv and labels.csv.

    ``primary person`` are the pictures whose most prominent person matches a judged frontal face.
    """
    scores = {
        name: Score()
        for name in ("frontal faces", "faces not frontal", "primary person", "depth of field")
    }
    for row in _rows(folder / "faces.csv"):
        person = _matching_person(row, readings[row["image"]])
        if not row["gender_presentation"]:
            continue
        answer = _gender(readings[row["image"]], person)
        where = f"{row['image']} face {row['face_rank_by_size']}"
        frontal = row["frontal"] == "yes"
        group = "frontal faces" if frontal else "faces not frontal"
        scores[group].add(where, row["gender_presentation"], answer)
        if frontal and person == 0:
            scores["primary person"].add(where, row["gender_presentation"], answer)
    for row in _rows(folder / "labels.csv"):
        record = readings[row["image"]].record
        if row["depth_of_field"] and record:
            answer = record["camera"]["depth_of_field"]
            scores["depth of field"].add(row["image"], row["depth_of_field"], answer)
    return scores


def score_portraits(folder: Path, readings: dict[str, RawReading]) -> dict[str, Score]:
    """Scores against portraits.csv; for drawn and empty pictures any answer is wrong."""
    scores = {"photographs": Score(), "drawn or nobody": Score(), "photographs not judged": Score()}
    for row in _rows(folder / "portraits.csv"):
        answer = _gender(readings[row["image"]], 0)
        truth = row["gender_presentation"]
        group = "photographs" if truth else "photographs not judged"
        group = group if row["kind"] == "photo" else "drawn or nobody"
        scores[group].add(row["image"], truth or "no one", answer)
    return scores


def score_judged(readings: dict[str, RawReading]) -> dict[str, Score]:
    """Scores against judged_faces.csv, by dimension and generator.

    Only faces that are turned to the viewer were judged there.
    """
    scores: dict[str, Score] = {}
    for row in _rows(JUDGED):
        if row["picture"] not in readings:
            continue
        reading = readings[row["picture"]]
        person = _matching_person(row, reading)
        generator = row["picture"].split("_")[0]
        for name in DIMENSIONS:
            if row[name]:
                score = scores.setdefault(f"{name} {generator}", Score())
                where = f"{row['picture']} face at {row['x0']}, {row['y0']}"
                answer = _age if name == "age_range" else _answer
                score.add(where, row[name], answer(reading, person, name))
    return dict(sorted(scores.items()))


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="") as handle:
        yield from csv.DictReader(handle)


def _gender(reading: RawReading, person: int | None) -> str:
    return _answer(reading, person, "gender_presentation")


def _answer(reading: RawReading, person: int | None, dimension: str) -> str:
    people = reading.record["people"] if reading.record else []
    if person is None or person >= len(people):
        return UNKNOWN
    return str(people[person][dimension])


def _age(reading: RawReading, person: int | None, _: str) -> str:
    """The age range that the mean age in the raw reading would be."""
    faces = reading.raw.get("faces", [])
    if person is None or person >= len(faces) or faces[person]["age"] is None:
        return UNKNOWN
    return max(((0.0, UNKNOWN), *AGES), key=lambda r: (r[0] <= faces[person]["age"], r[0]))[1]


def _matching_person(row: dict[str, str], reading: RawReading) -> int | None:
    """Index of the detected face that overlaps the judged box most, if by enough."""
    box = np.array([float(row[name]) for name in ("x0", "y0", "x1", "y1")])
    overlaps = [overlap(box, np.array(face["box"])) for face in reading.raw.get("faces", [])]
    best = max(range(len(overlaps)), key=overlaps.__getitem__, default=None)
    return best if best is not None and overlaps[best] >= SAME_FACE else None


def _interval(part: int, whole: int) -> str:
    if not whole:
        return "-"
    low, high = binomtest(part, whole).proportion_ci(method="wilson")
    return f"{part / whole:6.1%} [{low:.1%}, {high:.1%}]"


def print_scores(title: str, scores: dict[str, Score]) -> None:
    print(title)
    print(f"  {'':30}{'right/answered/judged':24}{'accuracy':26}coverage")
    for name, score in scores.items():
        counts = f"{score.right}/{score.answered}/{score.judged}"
        accuracy = _interval(score.right, score.answered)
        coverage = _interval(score.answered, score.judged)
        print(f"  {name:30}{counts:24}{accuracy:26}{coverage}")
        for line in score.wrong:
            print(f"      {line}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--confidence", type=float, default=0.9)
    given = parser.parse_args()
    readings = read_folder(given.folder, confidence=given.confidence)
    if (given.folder / "faces.csv").exists():
        print_scores("gender presentation and depth of field", score_scenes(given.folder, readings))
    if (given.folder / "portraits.csv").exists():
        print_scores("gender presentation", score_portraits(given.folder, readings))
    print_scores("faces turned to the viewer", score_judged(readings))


if __name__ == "__main__":
    main()
