"""What a backend that costs money is told about the study it works for.

A backend is built from its options alone. One that has a method ``begin(session)`` is given this
before its first item, in the process that stores the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contextbias.progress import Progress, Silent
from contextbias.providers.outcomes import Usage

USAGE = "usage"
"""Key of ``raw`` (readings) and of ``provenance`` (images) that holds `Usage.as_json()`, of all
requests behind the row; what was read in a batch has ``"batch": true`` beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The study, as far as a backend may know it."""

    folder: Path
    """The study's root; what has to survive (ids of batches) is kept below it."""
    name: str
    """The backend's name in study.toml."""
    usage: Usage = field(default_factory=Usage)
    """What earlier runs used, from the stored rows, batches left out."""
    batch_usage: Usage = field(default_factory=Usage)
    """The same for what came in batches."""
    items: int = 0
    """How many items are pending."""
    batch: bool = False
    """Whether `--batch` was given."""
    progress: Progress = field(default_factory=Silent)
    """Shows lines, and words beside the live line (`note`)."""


def sum_usage(stored: Iterable[Mapping[str, Any]]) -> tuple[Usage, Usage]:
    """Usage of stored rows, summed: (of single requests, of batches).

    Args:
        stored: What rows hold under USAGE, of all attempts.
    """
    single = batch = Usage()
    for found in stored:
        if found.get("batch"):
            batch += Usage.from_json(found)
        else:
            single += Usage.from_json(found)
    return single, batch
