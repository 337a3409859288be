"""The simulated generator: a text-to-image model whose truth is known.

It draws a picture from planted probabilities (planted.py) and hands the truth over with it, so that
everything downstream can be checked against what was planted. Options are in study.toml::

    [[generators]]
    name = "adapts"
    backend = "simulated"
    options = { model = "context-sensitive", sensitivity = 0.5 }
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from contextbias.forecast import Forecast
from contextbias.generate.protocol import Job, Made
from contextbias.options import Options

if TYPE_CHECKING:
    import polars as pl

    from contextbias.generate.planted import Drawn, PlantedModel
    from contextbias.schema.wording import Named
    from contextbias.tables import Prompt


_COMPLIANCE = 0.9
_TRIED = 4  # pictures that a plan draws: a fraction of a second


class SimulatedOptions(Options):
    """Options of the simulated generator."""

    model: Literal["context-immune", "context-sensitive"] = "context-immune"
    """``context-immune``: the role decides the person wherever they are (sensitivity 0).
    ``context-sensitive``: an unrelated place turns most of them into everyday people (0.9)."""
    sensitivity: float | None = Field(default=None, ge=0, le=1)
    """s: how often an unrelated place overrides the role; the model's own value if left out."""
    related_weight: float = Field(default=0.0, ge=0, le=1)
    """The share of the sensitivity that takes effect in a related place (condition CA-R)."""
    rho: float = Field(default=0.05, ge=0, le=1)
    """How alike the pictures of one seed are over prompts: the correlation of their latents."""
    size: int = Field(default=512, ge=64, le=2048)
    """Width and height of the pictures in pixels."""
    compliance: float = Field(default=_COMPLIANCE, ge=0, le=1)
    """How often a picture shows a label because the prompt names it, as the prompts of `contextbias
    validate` do ("a photo of a nurse wearing a mask")."""


class SimulatedGenerator:
    """A generator (see protocol.py) that draws planted records.

    Args:
        options: The options of study.toml; see `SimulatedOptions`.

    Raises:
        ConfigError: An option is unknown or has a wrong value.
    """

    batch_size = 16
    parallel = "processes"
    source_type = "algorithmicMedia"  # IPTC: by an algorithm that learnt from no data

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = SimulatedOptions.parse(options, backend="simulated")
        self._planted: PlantedModel | None = None

    @property
    def model(self) -> PlantedModel:
        """The planted model behind the pictures."""
        if self._planted is None:
            from contextbias.generate.planted import PlantedModel

            self._planted = PlantedModel(
                name=self._options.model,
                sensitivity=self._sensitivity(),
                related_weight=self._options.related_weight,
                rho=self._options.rho,
            )
        return self._planted

    def settings(self) -> dict[str, Any]:
        """Everything that decides the pixels: the options, the tables and the drawing."""
        from contextbias.generate.drawing import DRAWING_VERSION
        from contextbias.generate.planted_tables import tables_hash

        # The usual compliance is left out: images made before it was an option keep their ids, and
        # what it decides is in prompts that name a label alone.
        usual = {"compliance"} if self._options.compliance == _COMPLIANCE else set()
        return {
            **self._options.model_dump(exclude=usual),
            "sensitivity": self._sensitivity(),
            "tables": tables_hash(),
            "drawing": DRAWING_VERSION,
        }

    def generate(self, jobs: Sequence[Job]) -> Iterator[Made]:
        """Draw every job's picture, in order."""
        for job in jobs:
            yield self._make(job)

    def plan(self, jobs: Sequence[Job]) -> Forecast:
        """Draw a few of the pictures, and reckon with what they took."""
        from contextbias.generate.drawing import encode_png

        if not jobs:
            return Forecast(seconds=0.0, size=0)
        tried = jobs[:: -(-len(jobs) // _TRIED)]
        self._make(tried[0])  # the first one also reads the tables
        began = time.perf_counter()
        made = [self._make(job) for job in tried]
        size = sum(len(encode_png(each.image)) + len(json.dumps(each.truth)) for each in made)
        share = len(jobs) / len(tried)
        return Forecast(
            seconds=(time.perf_counter() - began) * share,
            size=round(size * share),
            pixels=(self._options.size, self._options.size),
            basis=f"tried on {len(tried)} of them",
        )

    def planted(self, prompts: Sequence[Prompt]) -> pl.DataFrame:
        """The exact probabilities behind the pictures of `prompts`; see `planted_rows`.

        Prompts that name a label are left out: what they ask for is their truth.
        """
        from contextbias.generate.planted import planted_rows

        plain = [p for p in prompts if not _named(p.text, p.role, p.location)]
        return planted_rows(self.model, plain)

    def _sensitivity(self) -> float:
        from contextbias.generate.planted_tables import table

        preset = table("planted")["models"][self._options.model]["sensitivity"]
        return float(preset if self._options.sensitivity is None else self._options.sensitivity)

    def _make(self, job: Job) -> Made:
        from contextbias.generate.drawing import draw
        from contextbias.generate.planted import draw_record

        drawn = draw_record(
            self.model,
            role=job.role,
            condition=job.condition,
            location=job.location,
            prompt_id=job.prompt_id,
            seed=job.seed,
            named=_named(job.text, job.role, job.location),
            compliance=self._options.compliance,
        )
        image = draw(
            drawn.record,
            setting=job.location,
            role=_drawn_role(job, drawn),
            seed=drawn.drawing_seed,
            size=self._options.size,
        )
        return Made(
            image_id=job.image_id,
            image=image,
            truth=drawn.record,
            provenance={"follows": "place" if drawn.follows_place else "role"},
        )


def _named(text: str, role: str, location: str | None) -> Named | None:
    from contextbias.schema.wording import named_in

    return named_in(text, role=role, location=location)


def _drawn_role(job: Job, drawn: Drawn) -> str:
    """The role that the drawing may lean on, for the kind of a hat: none for everyday people."""
    return "person" if drawn.follows_place else job.role
