"""LocalReader: what pixels and small networks can tell, and ``unknown`` for the rest."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnxruntime
import PIL
from numpy.typing import NDArray
from pydantic import Field

from contextbias.extract.local.color_names import NAMED
from contextbias.extract.local.gate import SMALLEST
from contextbias.extract.local.networks import MODELS, Networks
from contextbias.extract.local.people import Person, answers, mean_age, read_people
from contextbias.extract.local.pictures import UnreadablePicture, load_rgb
from contextbias.extract.local.pixels import PixelReading, framing, read_pixels
from contextbias.extract.local.probes import probes_sha256
from contextbias.extract.protocol import Picture, RawReading
from contextbias.forecast import Forecast
from contextbias.options import Options
from contextbias.schema import Record, empty_person, empty_record
from contextbias.weights import require, select

RULES = "3"
"""Version of the reader's rules and thresholds; raised whenever an answer can change."""

READABLE: Mapping[str, tuple[str, ...]] = {
    "color_temperature": ("warm", "neutral", "cool"),
    "dominant_colors": NAMED,
    "depth_of_field": ("shallow", "medium", "deep"),
    "framing": ("tight", "medium", "wide"),
    "gender_presentation": ("female", "male"),
    "eyewear_present": ("yes", "no"),
    "facial_hair_present": ("yes", "no"),
}
"""Dimensions that the reader answers, and the labels that it can tell apart."""


SECONDS = (0.057, 0.149)
"""Seconds a picture and seconds a megapixel on one core: 0.096 at 512 x 512 and 0.213 at
1024 x 1024, processor time of the 32 scenes of docs/local-reader.md (perf/local_reader.py)."""

_USUAL = (1024, 1024)  # what most models draw


class LocalReaderOptions(Options):
    """Options of the local reader."""

    confidence: float = Field(default=0.9, ge=0.5, le=1)
    """Probability that gender presentation must reach to be answered."""
    smallest_face: float = Field(default=SMALLEST, ge=16)
    """Pixels that the longer side of a face must have to be read."""
    weights: Path | None = None
    """Folder of the weight files, if they are not in the default cache."""


class LocalReader:
    """The embedded reader for real images: offline, on the CPU, without a key.

    Args:
        options: The options of study.toml; see `LocalReaderOptions`.

    Raises:
        ConfigError: An option is unknown or has a wrong value.
        MissingPart: The weights have not been fetched.
    """

    parallel = "threads"
    """Both libraries release Python's lock while they compute, and threads share the weights."""
    deterministic = True
    """The same picture gets the same answers; see extract/protocol.py."""

    def __init__(self, options: dict[str, Any]) -> None:
        chosen = LocalReaderOptions.parse(options, backend="local")
        self._confidence = chosen.confidence
        self._smallest_face = chosen.smallest_face
        self._folder = None if chosen.weights is None else chosen.weights.expanduser()
        require(MODELS, self._folder)
        self._networks: Networks | None = None
        self._loading = threading.Lock()

    def settings(self) -> dict[str, Any]:
        """Rules, thresholds, what is answered, and hashes of the probes and the weights."""
        return {
            "rules": RULES,
            "confidence": self._confidence,
            "smallest_face": self._smallest_face,
            "readable": {name: list(labels) for name, labels in READABLE.items()},
            "probes": probes_sha256(),
            "weights": {weight.name: weight.sha256 for weight in select(MODELS)},
        }

    def readable(self) -> dict[str, tuple[str, ...] | None]:
        """Dimension -> the labels that the reader can tell apart; see READABLE."""
        return dict(READABLE)

    def read(self, picture: Picture) -> RawReading:
        """Read one picture; one that cannot be decoded is a row with status ``corrupt``."""
        try:
            rgb = load_rgb(picture.path)
        except UnreadablePicture as error:
            return RawReading(status="corrupt", reason=str(error))
        except OSError as error:
            reason = f"the file cannot be opened ({error.strerror})"
            return RawReading(status="error", reason=reason)
        networks = self._loaded()
        pixels = read_pixels(rgb)
        people = read_people(rgb, networks, smallest_face=self._smallest_face)
        return RawReading(record=self._record(rgb, pixels, people), raw=_raw(rgb, pixels, people))

    def plan(self, pictures: int, pixels: tuple[int, int] | None) -> Forecast:
        """Seconds grow with the pixels of a picture; see `SECONDS`."""
        width, height = pixels or _USUAL
        fixed, by_megapixel = SECONDS
        each = fixed + by_megapixel * width * height / 1e6
        basis = f"{each:.2f} seconds for {width} x {height} pixels, on one core"
        return Forecast(seconds=each * pictures, basis=basis)

    def _loaded(self) -> Networks:
        """The networks, loaded at the first picture and shared by all threads."""
        with self._loading:
            if self._networks is None:
                cv2.setNumThreads(1)  # workers run side by side; more would oversubscribe
                self._networks = Networks(self._folder)
            return self._networks

    def _record(self, rgb: NDArray[np.uint8], pixels: PixelReading, people: list[Person]) -> Record:
        record = empty_record()
        record["scene"]["color_temperature"] = pixels.color_temperature
        record["scene"]["dominant_colors"] = pixels.dominant_colors
        record["camera"]["depth_of_field"] = pixels.depth_of_field
        tallest = max((person.face.height for person in people), default=None)
        record["camera"]["framing"] = framing(tallest and tallest / rgb.shape[0])
        record["people"] = [answers(person, confidence=self._confidence) for person in people]
        if not people and not pixels.blank:
            # No face found is not nobody there: backs of heads, tiny and drawn people have none.
            record["people"] = [empty_person()]
        return record


def _raw(rgb: NDArray[np.uint8], pixels: PixelReading, people: list[Person]) -> dict[str, Any]:
    height, width = rgb.shape[:2]
    return {
        "faces": [_raw_face(person, width, height) for person in people],
        "pixels": {
            "width": width,
            "height": height,
            "blank": pixels.blank,
            "cct": _rounded(pixels.cct, 0),
            "focus_ratio": _rounded(pixels.focus_ratio, 3),
            "color_shares": {name: round(share, 3) for name, share in pixels.shares.items()},
        },
        "versions": {
            "rules": RULES,
            "onnxruntime": onnxruntime.__version__,
            "opencv": cv2.__version__,
            "probes": probes_sha256()[:12],
            "pillow": PIL.__version__,
            **{weight.name: weight.sha256[:12] for weight in select(MODELS)},
        },
    }


def _raw_face(person: Person, width: int, height: int) -> dict[str, Any]:
    """One person's face as JSON, in the order of the record's people; lengths are fractions."""
    side = np.array([width, height])
    marks = np.round(person.face.landmarks / side, 4)
    box = np.round(np.array(person.face.box).reshape(2, 2) / side, 4).ravel()
    seen = person.measures
    return {
        "box": [float(value) for value in box],
        "landmarks": [[float(x), float(y)] for x, y in marks],
        "score": round(person.face.score, 3),
        "gate": {
            "faults": list(person.faults),
            "size": round(seen.size, 1),
            "eye_ratio": round(seen.eye_ratio, 3),
            "nose_offset": round(seen.nose_offset, 3),
            "sharpness": round(seen.sharpness, 3),
            "flatness": round(seen.flatness, 3),
            "cheek_lab": [round(value, 1) for value in seen.cheek],
        },
        "male": _rounded(person.male, 3),
        "age": None if person.ages is None else round(mean_age(person.ages), 1),
        "photograph": _rounded(person.photograph, 3),
        **{name: round(yes, 3) for name, yes in person.probed.items()},
        "ita": round(seen.ita, 1),
        "skin_lightness": round(seen.skin_lightness, 1),
    }


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
