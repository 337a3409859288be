"""The data behind the interactive parts of the page, as compact JSON.

Columns instead of rows, and indices instead of names: a study of the paper's size has tens of
thousands of associations. The page's script reads it; nothing in it is computed here.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from contextbias.report.inputs import ReportInputs
from contextbias.report.select import cohort_of
from contextbias.report.thumbnails import Thumbnails
from contextbias.tables import MISSING_REASONS, ImageRow, Prompt


@dataclass(slots=True)
class _Names:
    """A growing list of names and the place of each."""

    places: dict[str, int] = field(default_factory=dict)

    def place(self, name: str) -> int:
        return self.places.setdefault(name, len(self.places))

    def listed(self) -> list[str]:
        return list(self.places)


@dataclass(slots=True)
class Vocabulary:
    """Every name that the embedded data refers to by its index."""

    generators: _Names = field(default_factory=_Names)
    roles: _Names = field(default_factory=_Names)
    dimensions: _Names = field(default_factory=_Names)
    labels: _Names = field(default_factory=_Names)
    conditions: _Names = field(default_factory=_Names)
    reasons: _Names = field(default_factory=_Names)

    def as_json(self) -> dict[str, Any]:
        """All lists, with the cohort of each dimension and the words of each reason."""
        dimensions, reasons = self.dimensions.listed(), self.reasons.listed()
        return {
            "generators": self.generators.listed(),
            "roles": self.roles.listed(),
            "dimensions": dimensions,
            "cohorts": [cohort_of(name) for name in dimensions],
            "labels": self.labels.listed(),
            "conditions": self.conditions.listed(),
            "reasons": reasons,
            "reasonWords": [MISSING_REASONS.get(name, name) for name in reasons],
        }


def pictures(
    thumbnails: Thumbnails, inputs: ReportInputs, vocabulary: Vocabulary
) -> dict[str, Any]:
    """The embedded images: what made them, where the original is; thumbnails stand apart."""
    prompts: dict[str, int] = {}
    texts = {prompt.prompt_id: prompt for prompt in inputs.prompts}
    rows = thumbnails.images
    return {
        "generator": [vocabulary.generators.place(i.generator) for i in rows],
        "role": [vocabulary.roles.place(i.role) for i in rows],
        "condition": [vocabulary.conditions.place(i.condition) for i in rows],
        "prompt": [prompts.setdefault(i.prompt_id, len(prompts)) for i in rows],
        "seed": [i.seed for i in rows],
        "href": [_link(i, inputs.report_dir) for i in rows],
        "status": ["" if i.status == "ok" else f"{i.status}: {i.reason or ''}" for i in rows],
        "prompts": [_sentence(texts.get(name), name) for name in prompts],
        "totals": _totals(inputs.images, vocabulary),
        "complete": thumbnails.complete,
    }


def thumbnail_texts(thumbnails: Thumbnails) -> list[str]:
    """Base64 of each thumbnail; an empty string where there is none."""
    return ["" if data is None else base64.b64encode(data).decode() for data in thumbnails.webp]


def facts(
    attributes: pl.DataFrame, reader: str, thumbnails: Thumbnails, vocabulary: Vocabulary
) -> dict[str, Any]:
    """What one reader said about each embedded image.

    A fact is (person, dimension, label or reason); each distinct one is listed once in ``kinds``,
    those of every image in ``common``, and an image's own as indices.
    """
    place = {image.image_id: rank for rank, image in enumerate(thumbnails.images)}
    rows = attributes.filter(
        (pl.col("reader") == reader) & pl.col("image_id").is_in(list(place))
    ).select("image_id", "person", "dimension", "label", "missing_reason")
    kinds: dict[tuple[int, str, str | None, str | None], int] = {}
    found: list[list[int]] = [[] for _ in place]
    for image_id, person, dimension, label, reason in rows.iter_rows():
        kind = (-1 if person is None else person, dimension, label, reason)
        found[place[image_id]].append(kinds.setdefault(kind, len(kinds)))
    common = set(found[0]).intersection(*found[1:]) if found else set()
    return {
        "kinds": [_kind(kind, vocabulary) for kind in kinds],
        "common": sorted(common),
        "own": [sorted(set(row) - common) for row in found],
    }


def _kind(kind: tuple[int, str, str | None, str | None], vocabulary: Vocabulary) -> list[int]:
    person, dimension, label, reason = kind
    return [
        person,
        vocabulary.dimensions.place(dimension),
        -1 if label is None else vocabulary.labels.place(label),
        -1 if reason is None else vocabulary.reasons.place(reason),
    ]


def _link(image: ImageRow, report_dir: Path) -> str:
    """URL of the original, relative to the page and with every reserved character escaped."""
    if image.path is None:
        return ""
    return quote(Path(os.path.relpath(image.path, report_dir)).as_posix())


def _sentence(prompt: Prompt | None, name: str) -> list[str]:
    """Text and variant of a prompt; its id alone when the study does not know it."""
    if prompt is None:
        return [name, ""]
    return [prompt.text, ", ".join(dict.fromkeys((prompt.base, prompt.variant)))]


def _totals(images: Sequence[ImageRow], vocabulary: Vocabulary) -> list[list[int]]:
    """Images of each generator, role and condition: what a subset is shown out of."""
    counts: dict[tuple[int, int, int], int] = {}
    for image in images:
        key = (
            vocabulary.generators.place(image.generator),
            vocabulary.roles.place(image.role),
            vocabulary.conditions.place(image.condition),
        )
        counts[key] = counts.get(key, 0) + 1
    return [[*key, count] for key, count in sorted(counts.items())]
