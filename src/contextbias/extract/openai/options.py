"""Options of the reader `openai`, and the request that they make."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from contextbias.extract.vision.instructions import TEMPLATE_VERSION, Instructions, instructions
from contextbias.extract.vision.pictures import Encoding
from contextbias.providers.batch import BatchOptions
from contextbias.providers.budget import BudgetOptions
from contextbias.providers.chat import Params, request_fields
from contextbias.providers.connection import ConnectionOptions
from contextbias.providers.pacing import PacingOptions
from contextbias.providers.profiles import ModelProfile
from contextbias.schema.strict import MOST_PEOPLE, SCHEMA_NAME

Structured = Literal["auto", "json_schema", "json_object_schema", "json_object", "none"]
"""Ways of asking for JSON; see `providers.profiles.STRUCTURED`."""

_OURS = frozenset(
    ("model", "messages", "response_format", "max_tokens", "max_completion_tokens", "temperature",
     "seed", "reasoning_effort", "stream", "n")
)  # fmt: skip
# What the reader sends itself, or cannot do with.
_OF_THEIR_OWN = "fields of every request have options of their own, and an answer comes whole"


class OpenAIReaderOptions(ConnectionOptions, PacingOptions, BudgetOptions, BatchOptions):
    """Options of the reader `openai`."""

    model: str = Field(min_length=1)
    """Name of the model, as the service knows it. There is no default: models come and go."""
    revision: str | None = None
    """What the service does not tell about the model: a commit, a quantisation. Part of the
    reader's identity, and sent nowhere."""
    size: int = Field(default=1024, ge=0, le=8192)
    """Pixels of the longer side of the picture that is sent, larger and smaller ones alike, so
    that every generator's pictures are seen at one size; 0: each as large as it is."""
    encoding: Encoding = "jpeg"
    """``jpeg``, or ``png``: without loss, and five to ten times as many bytes."""
    quality: int = Field(default=90, ge=1, le=100)
    """Of JPEG."""
    detail: Literal["low", "high", "auto"] | None = None
    """How closely the service is asked to look; left out: its own default. Not every server knows
    it."""
    people: int = Field(default=MOST_PEOPLE, ge=1, le=20)
    """At most so many people are described, the most prominent first."""
    structured: Structured = "auto"
    """How JSON is asked for. ``auto``: as the model's profile says, a strict schema unless it says
    otherwise. Servers without schemas: ``json_object_schema`` (llama-cpp-python), ``json_object``
    or ``none``, with the schema in words. It is never changed on the quiet."""
    reasoning_effort: str | None = None
    """Of models that reason; left out: as in the model's profile."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Left out: the service's own. Models that refuse one are known by their profile."""
    seed: int | None = None
    """For servers that know one."""
    max_tokens: int = Field(default=4096, ge=256)
    """Most tokens of an answer, hidden reasoning included. An answer that is cut off there counts
    as missing (`truncated`), and is paid for."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Further fields of each request, as they are, for what a server knows beyond OpenAI's."""

    @field_validator("extra")
    @classmethod
    def _not_of_ours(cls, value: dict[str, Any]) -> dict[str, Any]:
        taken = sorted(_OURS & set(value))
        if taken:
            raise ValueError(f"{taken[0]!r} is no further field: {_OF_THEIR_OWN}")
        return value

    repair: bool = True
    """Ask once more where an answer is off schema or contradicts itself; both are kept."""
    self_test: bool = True
    """Before the first picture, prove by one small request that the schema binds the answers."""

    def structured_mode(self) -> str | None:
        """The mode that replaces the profile's; None for the profile's own."""
        return None if self.structured == "auto" else self.structured

    def params(self) -> Params:
        """Parameters of a request about a picture."""
        return Params(
            max_tokens=self.max_tokens,
            reasoning_effort=self.reasoning_effort,
            temperature=self.temperature,
            seed=self.seed,
            extra=self.extra,
        )

    def instructions(self, profile: ModelProfile) -> Instructions:
        """The fixed text, with the schema in it where the structured mode does not send one."""
        in_text = profile.structured in ("json_object", "none")
        return instructions(people=self.people, schema_in_text=in_text)

    def request(self, profile: ModelProfile) -> dict[str, Any]:
        """Every field of a request but its messages.

        Raises:
            ConfigError: A parameter that the model refuses.
        """
        schema = self.instructions(profile).schema
        return request_fields(schema, profile, self.params(), name=SCHEMA_NAME)

    def settings(self, profile: ModelProfile) -> dict[str, Any]:
        """Everything that decides the answers; not how fast, from where, or at what price.

        The schema stands in it by the hash of the instructions, and the address not at all: a
        server that moves is the same reader, and `revision` tells two apart.
        """
        return {
            "revision": self.revision,
            "picture": {
                "size": self.size,
                "encoding": self.encoding,
                "quality": self.quality if self.encoding == "jpeg" else None,
                "detail": self.detail,
            },
            "template": TEMPLATE_VERSION,
            "instructions": self.instructions(profile).hash,
            "structured": profile.structured,
            "request": without_schema(self.request(profile)),
            "repair": self.repair,
        }


def without_schema(request: dict[str, Any]) -> dict[str, Any]:
    """Fields of a request as they are stored: the schema is known by the instructions' hash."""
    return {name: value for name, value in request.items() if name != "response_format"}
