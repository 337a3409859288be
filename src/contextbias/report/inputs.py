"""What the report is made from: everything is handed in, nothing is looked up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from contextbias.tables import GeneratorRow, ImageRow, Prompt, ReaderRow

PLANTED = "planted"
"""Reader name of the planted truth's own estimates; never shown as a reader."""

PEOPLE = "people"
"""Reader name of numbers about people among themselves; never shown as a reader."""

MEAN = "mean"
"""Generator name of a mean over generators."""

ALL = "all"
"""Condition or cohort that is pooled or averaged over; also the role of images without one."""

ATTRIBUTE_COLUMNS = ("image_id", "reader", "person", "dimension", "label", "missing_reason")
"""What the page takes of the attributes; a large study has millions of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What was run, as the first table of the page states it."""

    generators: Sequence[GeneratorRow]
    """Generators in the order of the configuration."""
    readers: Sequence[ReaderRow]
    """Readers in the order of the configuration; the first is shown first."""
    preset: str
    """``paper``, ``reference`` or ``strict``."""
    people: str
    """``primary`` or ``any``: whose attributes count."""
    alpha: float
    """Level of tests; intervals have 1 - alpha."""
    margin_pp: float
    """Largest range, in percentage points, that counts as no change."""
    bootstrap: int
    """Replicates of the role bootstrap."""
    codebook: str
    """Codebook version."""
    version: str
    """Version of contextbias that made the page."""
    made_at: str
    """UTC date of the newest row behind the page, ISO 8601; not the time of rendering, so that the
    same tables give the same page."""
    seeds: str
    """How seeds were chosen, in words."""
    bank: str = ""
    """Where the prompts come from, in words; empty when no generator was asked."""
    listed: bool = False
    """True when the prompts are those of a list: nobody knows what its conditions were to name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportInputs:
    """Everything that the page and its tables are printed from."""

    title: str
    """Heading of the page."""
    facts: RunFacts
    """What was run."""
    estimates: pl.DataFrame
    """Columns of ``tables.EstimateRow``."""
    attributes: pl.DataFrame
    """At least the columns `ATTRIBUTE_COLUMNS` of ``tables.AttributeRow``."""
    images: Sequence[ImageRow]
    """Latest attempt of each image; ``path`` absolute."""
    prompts: Sequence[Prompt]
    """The prompts of the study."""
    report_dir: Path
    """Folder that the page will be written to; links to the originals are relative to it."""
    thumbnail_budget: int = field(default=12_000_000)
    """Upper bound of the bytes that embedded thumbnails take in the page."""
    fetch: Callable[[str], Path] = Path
    """``path`` of an image to where it can be opened: not all images need be on this machine."""
