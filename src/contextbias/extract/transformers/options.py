"""Options of the reader `transformers`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from contextbias.extract.vision.instructions import TEMPLATE_VERSION, Instructions, instructions
from contextbias.options import Options
from contextbias.schema.strict import MOST_PEOPLE

DType = Literal["bfloat16", "float16", "float32"]
"""What a model is computed in."""


class TransformersReaderOptions(Options):
    """Options of the reader `transformers`."""

    model: str = Field(min_length=1)
    """A repository (``owner/name``) of a vision-language model that follows instructions, or the
    folder of a saved one (a path from where the command is run; better a whole one)."""
    revision: str | None = Field(default=None, min_length=1)
    """Branch, tag or commit of the repository; left out: ``main``, which may change under your
    hands, and `plan` says so. The commit that was loaded is stored with every reading. For a
    folder: your own name of the weights' version, which makes it another reader."""
    dtype: DType = "bfloat16"
    """What the model is computed in. ``float16`` overflows in some models, which is noticed;
    ``float32`` takes twice the memory."""
    size: int = Field(default=1024, ge=0, le=8192)
    """Pixels of the longer side of the picture that is given to the model's own preparation,
    larger and smaller ones alike; 0: each as large as it is."""
    people: int = Field(default=MOST_PEOPLE, ge=1, le=20)
    """At most so many people are described, the most prominent first."""
    max_tokens: int = Field(default=4096, ge=16)
    """Most tokens of an answer. An answer that is cut off there counts as missing
    (`truncated`)."""
    temperature: float = Field(default=0.0, ge=0, le=2)
    """0: the likeliest token each time, so that an image is read the same way again. Above: drawn
    at random, with a seed from `seed` and the image's id."""
    seed: int = Field(default=0, ge=0)
    """Of the random numbers; without effect at temperature 0."""
    repair: bool = True
    """Ask once more where an answer contradicts itself; both are kept."""
    batch: int = Field(default=8, ge=1, le=256)
    """Pictures at a time; halved where they do not fit into the memory. It can change the last
    bits of a sum, and so a rare label: 1 for exactly the same answers whatever else is read."""
    device: Literal["auto", "cuda", "mps", "cpu"] = "auto"
    """Where it runs; ``auto``: the first of these that there is."""

    def instructions(self) -> Instructions:
        """The words and the schema, those of the reader `openai`."""
        return instructions(people=self.people)

    def request(self) -> dict[str, Any]:
        """How an answer is asked for."""
        drawn = {"seed": self.seed} if self.temperature else {}
        return {"max_tokens": self.max_tokens, "temperature": self.temperature, **drawn}

    def settings(self) -> dict[str, Any]:
        """Everything that decides the answers, but versions and devices, which readings tell."""
        return {
            "model": self.model,
            "revision": self.revision,
            "dtype": self.dtype,
            "picture": {"size": self.size},
            "template": TEMPLATE_VERSION,
            "instructions": self.instructions().hash,
            "request": self.request(),
            "repair": self.repair,
        }
