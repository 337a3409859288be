"""The simulated reader: reads the planted truth through a documented confusion model.

It stands for a vision-language model whose errors are known. It opens ``<image>.truth.json`` beside
the picture and answers each dimension a of each person like this, independently:

- with probability unknown_rate(a): ``unknown``;
- else, of a dimension with one label, with probability error_rate(a): another label, one of those
  that simulated.toml names as the likely confusions of the true one;
- else, of a list: each label is dropped with probability drop_rate(a), and with probability
  add_rate(a) one label is named that is not there.

What is unknown in the truth stays unknown. The whole picture is refused with refusal_rate, and
answered against the schema with invalid_rate. Answers that noise has made contradict each other are
put right as a schema-constrained model would: the presence question wins. Every draw depends on the
image's id, the dimension and the option ``seed`` alone.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from PIL import Image
from pydantic import Field, field_validator

from contextbias.errors import nearest
from contextbias.extract.protocol import Picture, RawReading
from contextbias.files import TRUTH_SUFFIX
from contextbias.forecast import Forecast
from contextbias.options import Options
from contextbias.schema.codebook import DIMENSIONS, EMPTY, UNKNOWN, Dimension
from contextbias.schema.records import NOT_APPLICABLE, Record, check_record

_SECONDS, _BYTES = 0.002, 2300  # of one reading, on average over the 4,320 of the demo

_Rate = Field(default=None, ge=0, le=1)


class Rates(Options):
    """How often one dimension is misread; what is left out comes from the preset."""

    error_rate: float | None = _Rate
    """Probability of another label (``one`` dimensions)."""
    unknown_rate: float | None = _Rate
    """Probability of no answer."""
    drop_rate: float | None = _Rate
    """Probability that a label present is missed (``many`` dimensions)."""
    add_rate: float | None = _Rate
    """Probability that one label too many is named (``many`` dimensions)."""


class SimulatedReaderOptions(Rates):
    """Options of the simulated reader; the rates of `Rates` here replace every dimension's."""

    preset: Literal["typical", "noiseless"] = "typical"
    """``typical``: the rates of simulated.toml. ``noiseless``: all zero, the truth itself."""
    refusal_rate: float | None = _Rate
    """Probability that a picture is refused."""
    invalid_rate: float | None = _Rate
    """Probability that the answer breaks the schema."""
    dimensions: dict[str, Rates] = Field(default_factory=dict)
    """Dimension -> its own rates, over everything else."""
    seed: int = 0
    """Two readers with other seeds err independently of each other."""

    @field_validator("dimensions")
    @classmethod
    def _known(cls, value: dict[str, Rates]) -> dict[str, Rates]:
        for name, rates in value.items():
            if name not in DIMENSIONS:
                raise ValueError(f"no dimension {name!r}; {nearest(name, list(DIMENSIONS))}")
            idle = _IDLE[DIMENSIONS[name].kind] & rates.model_fields_set
            if idle:
                raise ValueError(f"{name} is a {DIMENSIONS[name].kind!r} dimension, {idle} no use")
        return value


_IDLE = {"one": {"drop_rate", "add_rate"}, "many": {"error_rate"}}


class SimulatedReader:
    """A reader (see protocol.py) of simulated pictures.

    Args:
        options: The options of study.toml; see `SimulatedReaderOptions`.

    Raises:
        ConfigError: An option is unknown, has a wrong value or no effect.
    """

    parallel = "processes"

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = SimulatedReaderOptions.parse(options, backend="simulated")
        self._rates = {name: self._rates_of(name) for name in DIMENSIONS}

    @property
    def deterministic(self) -> bool:
        """Whether nothing is left to chance: all rates are 0."""
        rates = [rate for each in self._rates.values() for rate in each.values()]
        rates += map(self._reading_rate, ("refusal_rate", "invalid_rate"))
        return not any(rates)

    def settings(self) -> dict[str, Any]:
        """Everything that decides the answers: all rates, the confusions and the seed."""
        return {
            "preset": self._options.preset,
            "seed": self._options.seed,
            "refusal_rate": self._reading_rate("refusal_rate"),
            "invalid_rate": self._reading_rate("invalid_rate"),
            "rates": self._rates,
            "confusions": hashlib.sha256(_text().encode()).hexdigest()[:20],
        }

    def readable(self) -> dict[str, tuple[str, ...] | None]:
        """Every dimension, with all its labels; what the truth leaves open is ``unknown``."""
        return dict.fromkeys(DIMENSIONS)

    def read(self, picture: Picture) -> RawReading:
        """Read one picture; see the module's docstring."""
        broken = _broken(picture)
        if broken is not None:
            return broken
        truth = _truth(picture)
        if isinstance(truth, RawReading):
            return truth
        luck = _Luck(self._options.seed, picture.image_id)
        if luck("refusal") < self._reading_rate("refusal_rate"):
            return RawReading(status="refused", reason="the simulated reader refused the picture")
        record = self._answers(truth, luck)
        if luck("invalid") < self._reading_rate("invalid_rate"):
            return _invalid(record)
        return RawReading(record=record, raw={"answer": record})

    def plan(self, pictures: int, pixels: tuple[int, int] | None) -> Forecast:  # noqa: ARG002
        """It opens a small file beside the picture, whatever the picture's size."""
        return Forecast(
            seconds=_SECONDS * pictures,
            size=_BYTES * pictures,
            basis=f"{_SECONDS} seconds each, as in the demo",
        )

    def _answers(self, truth: Record, luck: _Luck) -> Record:
        record: Record = {}
        for cohort, answers in truth.items():
            if cohort == "people":
                record[cohort] = [
                    _consistent(self._noisy(person, luck, f"{cohort}[{index}]"))
                    for index, person in enumerate(answers)
                ]
            else:
                record[cohort] = self._noisy(answers, luck, cohort)
        return record

    def _noisy(self, answers: dict[str, Any], luck: _Luck, where: str) -> dict[str, Any]:
        return {
            name: _misread(DIMENSIONS[name], answer, self._rates[name], luck, f"{where}.{name}")
            for name, answer in answers.items()
        }

    def _reading_rate(self, name: str) -> float:
        chosen = getattr(self._options, name)
        if chosen is not None:
            return float(chosen)
        noiseless = self._options.preset == "noiseless"
        return 0.0 if noiseless else float(_table()["reading"][name])

    def _rates_of(self, name: str) -> dict[str, float]:
        noiseless = self._options.preset == "noiseless"
        rates = {} if noiseless else _table()["typical"][name]
        layers = (self._options, self._options.dimensions.get(name, Rates()))
        found = {}
        for key in sorted(set(Rates.model_fields) - _IDLE[DIMENSIONS[name].kind]):
            chosen = [getattr(layer, key) for layer in layers]
            own = [value for value in chosen if value is not None]
            found[key] = float(own[-1] if own else rates.get(key, 0.0))
        return found


class _Luck:
    """Numbers in [0, 1) that depend on the reader's seed, the image and a name."""

    def __init__(self, seed: int, image_id: str) -> None:
        self._key = f"{seed}\x1f{image_id}\x1f"

    def __call__(self, name: str) -> float:
        digest = hashlib.blake2b((self._key + name).encode(), digest_size=8).digest()
        return (int.from_bytes(digest, "big") >> 11) / (1 << 53)

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        return choices[int(self(name) * len(choices))]


@cache
def _text() -> str:
    return files("contextbias.extract").joinpath("simulated.toml").read_text("utf-8")


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(_text())


def _broken(picture: Picture) -> RawReading | None:
    """Look at the file, since a reader of real pictures would fail on it, too."""
    try:
        with Image.open(picture.path) as image:
            image.verify()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            # The system's word, not the decoder's: another time the file may be there.
            return RawReading(status="error", reason=f"cannot be opened: {error.strerror}")
        return RawReading(status="corrupt", reason=f"cannot be decoded: {error}")
    return None


def _truth(picture: Picture) -> Record | RawReading:
    path = picture.path.resolve().with_suffix(TRUTH_SUFFIX)
    try:
        record = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        reason = f"there is no {path.name} beside the picture: the simulated reader needs the truth"
        return RawReading(status="error", reason=reason)
    except (OSError, ValueError) as error:
        return RawReading(status="error", reason=f"{path.name} cannot be read: {error}")
    faults = check_record(record)
    if faults:
        return RawReading(status="error", reason=f"{path.name} is no record: {faults[0]}")
    return dict(record)


def _misread(
    dim: Dimension, answer: Any, rates: Mapping[str, float], luck: _Luck, where: str
) -> str | list[str]:
    if answer in (UNKNOWN, NOT_APPLICABLE):
        return str(answer)
    if luck(f"{where}.unknown") < rates["unknown_rate"]:
        return UNKNOWN
    if dim.kind == "many":
        return _misread_list(dim, answer, rates, luck, where)
    if luck(f"{where}.error") < rates["error_rate"]:
        return luck.choice(f"{where}.label", _confusions(dim.name, answer))
    return str(answer)


def _misread_list(
    dim: Dimension, labels: list[str], rates: Mapping[str, float], luck: _Luck, where: str
) -> list[str]:
    seen = [label for label in labels if luck(f"{where}.drop.{label}") >= rates["drop_rate"]]
    if luck(f"{where}.add") < rates["add_rate"]:
        absent = tuple(label for label in _additions(dim) if label not in labels)
        if absent:
            seen = [label for label in seen if label != EMPTY]
            seen.append(luck.choice(f"{where}.label", absent))
    return seen


def _additions(dim: Dimension) -> tuple[str, ...]:
    listed = _table()["additions"].get(dim.name, dim.vocabulary)
    return tuple(label for label in listed if label != EMPTY)


@cache
def _confusions(dimension: str, label: str) -> tuple[str, ...]:
    likely = _table()["confusions"].get(dimension, {}).get(label)
    others = (other for other in DIMENSIONS[dimension].vocabulary if other != label)
    return tuple(likely or others)


def _consistent(person: dict[str, Any]) -> dict[str, Any]:
    """Put right what contradicts itself: the presence question wins over its details."""
    for present, kind in (
        ("eyewear_present", "eyewear_type"),
        ("facial_hair_present", "facial_hair_style"),
        ("head_covering_present", "head_covering_type"),
    ):
        if person[present] == "no":
            person[kind] = EMPTY
        elif person[present] == "yes" and person[kind] == EMPTY:
            person[kind] = UNKNOWN
    if person["facial_hair_present"] == "no":
        person["facial_hair_color"] = UNKNOWN
    if person["hair_present"] == "no":
        person["hair_color"] = person["hair_style"] = UNKNOWN
    return person


def _invalid(record: Record) -> RawReading:
    """An answer outside the vocabulary, as an unconstrained model gives it."""
    answer = {**record, "camera": {**record["camera"], "framing": "somewhere in the middle"}}
    reason = check_record(answer)[0]
    return RawReading(status="invalid", reason=reason, raw={"answer": answer})
