"""A model that answers the truth about simulated pictures, known by their pixels alone."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.provider import Question

from contextbias.extract.vision.pictures import encode_picture
from contextbias.files import TRUTH_SUFFIX
from contextbias.ids import bytes_sha256
from contextbias.schema import COHORTS, DIMENSIONS, UNKNOWN, Record

_MANY = {name for name, dimension in DIMENSIONS.items() if dimension.kind == "many"}


def strict_answer(record: Record) -> dict[str, Any]:
    """A record in the form of the strict schema: a list is a list, also when unknown."""
    told: dict[str, Any] = {c: _strict(record[c]) for c in COHORTS if c != "people"}
    return told | {"people": [_strict(person) for person in record["people"]]}


def _strict(answers: dict[str, Any]) -> dict[str, Any]:
    return {
        name: [UNKNOWN] if name in _MANY and answer == UNKNOWN else answer
        for name, answer in answers.items()
    }


@dataclass
class TruthfulModel:
    """Answers questions about pictures below a folder, from the truth beside them.

    Args:
        folder: Where the pictures are, or will be.
        size: Pixels that the reader sends.
    """

    folder: Path
    size: int
    _known: dict[str, dict[str, Any]] = field(default_factory=dict)
    _seen: set[Path] = field(default_factory=set)

    def __call__(self, question: Question) -> dict[str, Any] | str:
        pictures = question.pictures()
        if not pictures:  # the self-test
            assert question.schema is not None
            (name,) = question.schema["properties"]
            return {name: question.schema["properties"][name]["enum"][0]}
        key = bytes_sha256(pictures[0])
        if key not in self._known:
            self._look()
        return self._known[key]

    def _look(self) -> None:
        for path in sorted(set(self.folder.rglob("*.png")) - self._seen):
            truth = path.with_suffix(TRUTH_SUFFIX)
            if not truth.exists():
                continue
            self._seen.add(path)
            sent = encode_picture(path, size=self.size, encoding="jpeg", quality=90)
            self._known[sent.sha256] = strict_answer(json.loads(truth.read_text()))
