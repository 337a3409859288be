"""Cards: a generator that paints a card of one hue. Put your model in the place of `_paint`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from PIL import Image
from pydantic import Field

from contextbias.forecast import Forecast
from contextbias.generate.protocol import Job, Made
from contextbias.options import Options

VERSION = "1"
"""Changed with every change of the pixels: it is part of the images' ids."""


class CardsOptions(Options):
    """Options in study.toml: an unknown one, or a wrong value, is an error with a hint."""

    size: int = Field(default=64, ge=16, le=2048)
    """Width and height in pixels."""
    saturation: int = Field(default=120, ge=0, le=255)
    """How strong the colour is."""


class Cards:
    """Called with the options of study.toml, once in each worker."""

    batch_size = 8
    parallel = "processes"  # or "threads", "none", "devices" (one process a GPU), "stream"
    source_type = "algorithmicMedia"  # leave it out for a trained model

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = CardsOptions.parse(options, backend="cards")
        # Load nothing heavy here: `contextbias status` builds the class too.

    def settings(self) -> dict[str, Any]:
        """Everything that decides the pixels."""
        return {"model": "cards", "revision": VERSION, **self._options.model_dump()}

    def generate(self, jobs: Sequence[Job]) -> Iterator[Made]:
        """Make every job's picture. What fails or is refused is a row, not an exception."""
        for job in jobs:
            if "nobody" in job.text:
                yield Made(image_id=job.image_id, status="blocked", reason="cards show somebody")
                continue
            yield Made(image_id=job.image_id, image=self._paint(job), provenance={"ink": "dry"})

    def plan(self, jobs: Sequence[Job]) -> Forecast:
        """Optional: what `contextbias plan` says before anything is spent."""
        side = self._options.size
        return Forecast(seconds=0.001 * len(jobs), pixels=(side, side), basis="a guess")

    def _paint(self, job: Job) -> Image.Image:
        side = self._options.size
        hue = Image.new("L", (side, side), job.seed % 256)
        saturation = Image.new("L", (side, side), self._options.saturation)
        value = Image.linear_gradient("L").resize((side, side))
        return Image.merge("HSV", (hue, saturation, value)).convert("RGB")
