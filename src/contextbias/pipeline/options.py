"""How one run differs from the whole of the study, and what a stage says it did."""

from __future__ import annotations

from dataclasses import dataclass, field

from contextbias.config import RunSection
from contextbias.engines import Engine
from contextbias.progress import Progress, Silent


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How one run differs from the whole of the study."""

    limit: int | None = None
    """At most this many new images, and this many new readings."""
    roles: frozenset[str] | None = None
    """Only these roles are generated and read."""
    generators: frozenset[str] | None = None
    """Only these generators are run and read."""
    preset: str | None = None
    """Overrides ``[measure] preset``."""
    repeat: int = 0
    """So many further readings of a sample, by every reader; see repeats.py."""
    sample: int = 100
    """Images of that sample."""
    engine: str | None = None
    """Overrides ``[run] engine``."""
    batch: bool = False
    """Readers that can are to use their provider's Batch API."""
    progress: Progress = field(default_factory=Silent)
    """Who is told."""

    def engine_of(self, run: RunSection) -> Engine:
        """Where the workers of this run are.

        Args:
            run: The section of study.toml.
        """
        return Engine(
            kind=self.engine or run.engine,
            devices=None if run.devices == "auto" else tuple(run.devices),
            address=run.ray_address,
        )


@dataclass(frozen=True, slots=True)
class Done:
    """What one stage did."""

    stage: str
    """Name of the stage."""
    new: int
    """Rows made, or files written; 0 when there was nothing to do."""
    note: str
    """One line for the user."""
