"""The data behind the interactive parts of the page, as compact JSON.

Columns instead of rows, and indices instead of names: a study of the paper's size has tens of
thousands of associations. The page's script reads it; nothing in it is computed here.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from contextbias.report.inputs import ALL, ReportInputs
from contextbias.report.select import CELL_KEYS, Index, cohort_of, conditions_in, index
from contextbias.report.thumbnails import Thumbnails
from contextbias.tables import MISSING_REASONS, ImageRow, Prompt

MOST_ROWS = 60_000
"""Associations that one page holds; above it, only supported ones (the CSV file has all)."""

_NUMBERS = {
    "range": ("range_pp", 4),
    "chi2": ("chi2", 4),
    "p": ("chi2_p", 6),
    "exact": ("chi2_p_exact", 6),
    "q": ("chi2_q", 6),
    "equivalence": ("equivalence_p", 6),
    "ccs": ("ccs", 4),
}


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


def associations(frame: pl.DataFrame, vocabulary: Vocabulary) -> dict[str, Any]:
    """The role-label table of one reader as columns."""
    cells = index(frame, "prevalence", (*CELL_KEYS, "condition"))
    conditions = conditions_in(frame)
    numbers = {name: index(frame, estimand, CELL_KEYS) for name, (estimand, _) in _NUMBERS.items()}
    verdicts = index(frame, "verdict", CELL_KEYS)
    paper = index(frame, "invariant_paper", CELL_KEYS)
    unsupported = _unsupported(frame)
    keys = sorted({key[:4] for key in cells})
    shown = keys if len(keys) <= MOST_ROWS else [key for key in keys if key not in unsupported]
    table: dict[str, Any] = {
        "g": [vocabulary.generators.place(key[0]) for key in shown],
        "r": [vocabulary.roles.place(key[1]) for key in shown],
        "d": [vocabulary.dimensions.place(key[2]) for key in shown],
        "l": [vocabulary.labels.place(key[3]) for key in shown],
        "supported": [int(key not in unsupported) for key in shown],
        "verdict": [found.verdict if (found := verdicts.get(key)) else None for key in shown],
        "paper": [found.verdict if (found := paper.get(key)) else None for key in shown],
        "conditions": [vocabulary.conditions.place(name) for name in conditions],
        "all": len(keys),
    }
    for name, (_, digits) in _NUMBERS.items():
        table[name] = [_rounded(_point(numbers[name], key), digits) for key in shown]
    table["prevalence"] = [_prevalence(cells, shown, name) for name in (*conditions, ALL)]
    return table


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


def _prevalence(cells: Index, keys: Iterable[tuple[Any, ...]], condition: str) -> dict[str, Any]:
    """Point, interval and support in one condition, as columns over the associations."""
    found = [cells.get((*key, condition)) for key in keys]
    return {
        "p": [_rounded(number.point, 5) if number else None for number in found],
        "low": [_rounded(number.low, 4) if number else None for number in found],
        "high": [_rounded(number.high, 4) if number else None for number in found],
        "n": [number.n if number else None for number in found],
        "missing": [number.n_missing if number else None for number in found],
    }


def _unsupported(frame: pl.DataFrame) -> set[tuple[Any, ...]]:
    rows = frame.filter(
        pl.col("note").fill_null("").str.contains("unsupported") & pl.col("label").is_not_null()
    )
    return set(rows.select(CELL_KEYS).iter_rows())


def _point(numbers: Index, key: tuple[Any, ...]) -> float | None:
    found = numbers.get(key)
    return found.point if found else None


def _rounded(value: float | None, digits: int) -> float | None:
    """Shorten a number for the page; JSON has no NaN."""
    return None if value is None or not isfinite(value) else round(value, digits)


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
