"""Train the probes of the local reader, and say how good they are on another generator's pictures.

    python perf/train_probes.py FOLDER [--write]

FOLDER holds scenes by DALL-E, Midjourney and Whisk and, in portraits/, pictures by Stable Diffusion
3; data/judged_faces.csv says what one person saw in them. The packaged probes are trained on the
scenes only, and the portraits are the test (first line of each table). For the other lines each
other generator is left out in turn, and the portraits are in training. With --write the
coefficients go into the package.

Each probe is a logistic regression on standardised features with an L2 penalty, both answers
weighing the same. Every training face is seen thrice: as it is, mirrored, and reduced to a quarter
of its pixels. Platt's two numbers come from scores of faces whose picture was left out (five
folds). The drawings that the photograph probe is trained against are the training faces themselves,
painted over in three ways.
"""

from __future__ import annotations

import argparse
import base64
import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from contextbias.extract.local import probes as packaged
from contextbias.extract.local.chips import cut_chip, measure
from contextbias.extract.local.faces import Face, find_faces, merge, overlap
from contextbias.extract.local.gate import faults
from contextbias.extract.local.light import white_luminance
from contextbias.extract.local.networks import Networks
from contextbias.extract.local.people import SEARCH_SIDES
from contextbias.extract.local.pictures import load_rgb
from contextbias.extract.local.probes import PARTS, PHOTOGRAPH, Probe, cut_part, features

JUDGED = Path(__file__).parent / "data" / "judged_faces.csv"
PENALTY = 0.003
"""C of the logistic regression, for each view of a face."""
FOLDS = 5
ACCURACY = 0.9
"""Accuracy of both answers that the confidence is chosen for, on faces left out of training."""
TEST = "sd3"
DRAWN = {"sd3_235.jpg", "sd3_310.jpg", "sd3_463.jpg"}
"""Portraits that are no photographs of anybody."""

Image = NDArray[np.uint8]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Faces:
    """The judged faces: one entry each."""

    pictures: NDArray[np.str_]
    generators: NDArray[np.str_]
    labels: list[dict[str, str]]
    gated: NDArray[np.bool_]
    """Whether the face passes the gate before the photograph probe."""
    crops: list[tuple[Image, Face]]

    def answers(self, name: str) -> NDArray[np.intp]:
        """1 for yes, 0 for no, -1 where nothing was judged."""
        code = {"yes": 1, "no": 0, "": -1}
        return np.array([code[row[name]] for row in self.labels])


def judged_faces(folder: Path, networks: Networks) -> Faces:
    """The judged faces, found again by the detector."""
    pictures, labels, gated, crops = [], [], [], []
    for picture, rows in _by_picture().items():
        rgb = load_rgb(folder / ("portraits" if picture.startswith(TEST) else "") / picture)
        height, width = rgb.shape[:2]
        sides = sorted({min(side, max(height, width)) for side in SEARCH_SIDES})
        faces = merge([find_faces(rgb, networks.detect, side) for side in sides])
        boxes = [np.array(face.box) / [width, height, width, height] for face in faces]
        for row in rows:
            box = np.array([float(row[name]) for name in ("x0", "y0", "x1", "y1")])
            face = faces[max(range(len(boxes)), key=lambda i: overlap(box, boxes[i]))]
            seen = measure(rgb, face, cut_chip(rgb, face), white=white_luminance(rgb))
            pictures.append(picture)
            labels.append(row)
            gated.append(not faults(seen))
            crops.append((rgb, face))
    generators = np.array([picture.split("_")[0] for picture in pictures])
    return Faces(np.array(pictures), generators, labels, np.array(gated), crops)


def _by_picture() -> dict[str, list[dict[str, str]]]:
    table: dict[str, list[dict[str, str]]] = {}
    with JUDGED.open(newline="") as handle:
        for row in csv.DictReader(handle):
            table.setdefault(row["picture"], []).append(row)
    return table


def _reduced(cut: Image) -> Image:
    side = cut.shape[0]
    small = cv2.resize(cut, (side // 4, side // 4), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(small, (side, side)), dtype=np.uint8)


def _mean_shift(cut: Image) -> Image:
    return np.asarray(cv2.pyrMeanShiftFiltering(cut, 12, 30), dtype=np.uint8)


def _few_levels(cut: Image) -> Image:
    for _ in range(6):
        cut = cv2.bilateralFilter(cut, 9, 25, 7)
    return np.asarray(cut // 32 * 32 + 16, dtype=np.uint8)


def _inked(cut: Image) -> Image:
    smooth = cut
    for _ in range(8):
        smooth = cv2.bilateralFilter(smooth, 9, 40, 9)
    smooth = cv2.medianBlur(smooth, 7)
    gray = cv2.medianBlur(cv2.cvtColor(cut, cv2.COLOR_RGB2GRAY), 5)
    lines = cv2.adaptiveThreshold(gray, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY, 9, 4)
    dark = (smooth * 0.3).astype(np.uint8)
    return np.asarray(np.where(lines[..., None] == 0, dark, smooth), dtype=np.uint8)


VIEWS = (np.asarray, lambda cut: np.ascontiguousarray(cut[:, ::-1]), _reduced)
PAINTED = (_mean_shift, _few_levels, _inked)


@dataclass(frozen=True)
class Question:
    """What one probe learns from: views of faces, and the answer to each."""

    name: str
    views: list[Matrix]
    """Each of shape (faces, features); the first is the face as it is."""
    painted: list[Matrix]
    """Drawings made of the faces; empty but for the photograph probe."""
    answers: NDArray[np.intp]


def questions(faces: Faces, networks: Networks) -> Iterator[Question]:
    """What the probes learn from, one after the other."""
    for name, part in PARTS.items():
        cuts = [cut_part(rgb, face, part) for rgb, face in faces.crops]

        def seen(change: Callable[[Image], Image], cuts: list[Image] = cuts) -> Matrix:
            return np.array([features(change(cut), networks.look) for cut in cuts])

        painted = [seen(change) for change in PAINTED] if name == PHOTOGRAPH else []
        drawn = [int(picture not in DRAWN) for picture in faces.pictures]
        answers = np.array(drawn) if name == PHOTOGRAPH else faces.answers(name)
        yield Question(name, [seen(change) for change in VIEWS], painted, answers)


def train(question: Question, chosen: NDArray[np.bool_]) -> tuple[Matrix, float]:
    """Weights and intercept from the chosen faces; standardisation is folded in."""
    chosen = chosen & (question.answers >= 0)
    yes = question.answers[chosen]
    x = np.concatenate([view[chosen] for view in [*question.views, *question.painted]])
    y = np.concatenate([np.tile(yes, len(question.views)), *(0 * yes for _ in question.painted)])
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-6
    weights, intercept = _logistic((x - mean) / spread, y)
    weights = weights / spread
    return weights, intercept - float(mean @ weights)


def _logistic(z: Matrix, y: NDArray[np.intp]) -> tuple[Matrix, float]:
    """Minimum of |w|^2 / 2 + C sum of weighted log losses; both answers weigh the same."""
    share = np.where(y == 1, 0.5 / max(y.mean(), 1e-9), 0.5 / max(1 - y.mean(), 1e-9))
    sign = 2 * y - 1

    def loss(b: Matrix) -> tuple[float, Matrix]:
        margin = sign * (z @ b[:-1] + b[-1])
        pull = -PENALTY * share * sign * expit(-margin)
        value = PENALTY * float(share @ np.logaddexp(0, -margin)) + float(b[:-1] @ b[:-1]) / 2
        return value, np.append(z.T @ pull + b[:-1], pull.sum())

    found = minimize(loss, np.zeros(z.shape[1] + 1), jac=True, method="L-BFGS-B")
    return found.x[:-1], float(found.x[-1])


def calibrate(
    question: Question, chosen: NDArray[np.bool_], faces: Faces
) -> tuple[float, float, float]:
    """Platt's slope and shift, and the confidence that an answer needs.

    All three come from scores of readable faces whose picture was left out of training, and give
    both answers the same weight: how common glasses are differs between generators, and is what
    an audit asks. The confidence is the smallest at which the answers that are left are right in
    ACCURACY of the cases.
    """
    chosen = chosen & (question.answers >= 0)
    folds = {picture: index % FOLDS for index, picture in enumerate(sorted({*faces.pictures}))}
    fold = np.array([folds[picture] for picture in faces.pictures])
    scores, truths = [], []
    for index in range(FOLDS):
        weights, intercept = train(question, chosen & (fold != index))
        out = chosen & (fold == index) & faces.gated
        views = question.views[:1] + question.painted
        scores += [view[out] @ weights + intercept for view in views]
        truths += [question.answers[out], *(0 * question.answers[out] for _ in question.painted)]
    z, y = np.concatenate(scores), np.concatenate(truths)
    slope, shift = _platt(z, y)
    return slope, shift, _confidence(expit(slope * z + shift), y)


def _platt(scores: Matrix, y: NDArray[np.intp]) -> tuple[float, float]:
    """Maximum likelihood with Platt's targets (n+ + 1) / (n+ + 2) and 1 / (n- + 2)."""
    positive = int(y.sum())
    target = np.where(y == 1, (positive + 1) / (positive + 2), 1 / (len(y) - positive + 2))
    share = np.where(y == 1, 0.5 / positive, 0.5 / (len(y) - positive))

    def loss(b: Matrix) -> float:
        z = b[0] * scores + b[1]
        return float(share @ (np.logaddexp(0, z) - target * z))

    found = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead")
    return float(found.x[0]), float(found.x[1])


def _confidence(p: Matrix, y: NDArray[np.intp]) -> float:
    for confidence in np.arange(0.6, 0.95, 0.05):
        sure = np.maximum(p, 1 - p) >= confidence
        right = [
            ((p > 0.5) == y)[sure & (y == answer)].sum() / max((sure & (y == answer)).sum(), 1)
            for answer in (0, 1)
        ]
        if min(right) >= ACCURACY:
            break
    return round(float(confidence), 2)


def probe(question: Question, chosen: NDArray[np.bool_], faces: Faces) -> Probe:
    """A trained and calibrated probe, as the package stores it (float32 weights)."""
    weights, intercept = train(question, chosen)
    slope, shift, confidence = calibrate(question, chosen, faces)
    stored = weights.astype("<f4").astype(np.float64)
    return Probe(stored, round(intercept, 6), round(slope, 6), round(shift, 6), confidence)


def probabilities(trained: Probe, question: Question) -> Matrix:
    return np.array([trained.probability(row) for row in question.views[0]])


def print_accuracy(question: Question, faces: Faces, read: NDArray[np.bool_]) -> None:
    """Accuracy on each generator's readable faces, of a probe that saw none of its pictures."""
    for generator in (TEST, "dalle", "midjourney"):
        chosen = faces.generators != generator
        trained = probe(question, chosen, faces)
        p = probabilities(trained, question)
        tested = read & (faces.generators == generator) & (question.answers >= 0)
        truth, p = question.answers[tested] == 1, p[tested]
        sure = np.maximum(p, 1 - p) >= trained.confidence
        right, all_right = (((p > 0.5) == truth) & sure).sum(), ((p > 0.5) == truth).sum()
        print(
            f"  {generator:11} without the gap {all_right}/{len(p)}; at {trained.confidence}: "
            f"right {right}/{sure.sum()}; yes answered {(sure & truth).sum()}/{truth.sum()}, "
            f"no {(sure & ~truth).sum()}/{(~truth).sum()}"
        )


def provenance(faces: Faces) -> dict[str, Any]:
    scenes = faces.generators != TEST
    counts = {
        name: int(scenes[faces.generators == name].sum())
        for name in sorted({*faces.generators[scenes]})
    }
    return {
        "made by": "perf/train_probes.py",
        "features": "efficientnet-lite0.onnx of weights.toml, means over 5 x 5 fields",
        "trained on": f"faces of CC0 scenes, by generator: {counts}",
        "judged by": "one person, by eye (perf/data/judged_faces.csv)",
        "format": "weights are base64 of little-endian 32-bit floats, fields row by row",
    }


def stored(trained: Probe) -> dict[str, Any]:
    raw = trained.weights.astype("<f4").tobytes()
    return {
        "intercept": trained.intercept,
        "slope": trained.slope,
        "shift": trained.shift,
        "confidence": trained.confidence,
        "weights": base64.b64encode(raw).decode(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    networks = Networks()
    faces = judged_faces(given.folder, networks)
    scenes, read = faces.generators != TEST, faces.gated
    table = {}
    for question in questions(faces, networks):
        print(f"{question.name}: {(question.answers[scenes] >= 0).sum()} faces in training")
        if question.name == PHOTOGRAPH:
            _print_photographs(question, faces)
        else:
            print_accuracy(question, faces, read)
        trained = probe(question, scenes, faces)
        if question.name == PHOTOGRAPH:
            read = read & (probabilities(trained, question) >= 0.5)
        table[question.name] = stored(trained)
    if given.write:
        path = Path(packaged.__file__).with_name("probes.json")
        text = json.dumps({"about": provenance(faces), "probes": table}, indent=1)
        path.write_text(text + "\n", "utf-8")


def _print_photographs(question: Question, faces: Faces) -> None:
    for generator in (TEST, "dalle", "midjourney"):
        chosen = faces.generators != generator
        p = probabilities(probe(question, chosen, faces), question)
        tested = faces.gated & (faces.generators == generator) & (question.answers == 1)
        drawn = (faces.generators == generator) & (question.answers == 0)
        print(
            f"  {generator:11} photographs passed {(p[tested] >= 0.5).sum()}/{tested.sum()}, "
            f"drawings {(p[drawn] >= 0.5).sum()}/{drawn.sum()}"
        )


if __name__ == "__main__":
    main()
