"""Options of the generator `openai_images`, and the request that they make."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from contextbias.errors import ConfigError
from contextbias.generate.openai_images.models import (
    ImageModel,
    check_size,
    check_word,
    pixels_of,
)
from contextbias.providers.budget import BudgetOptions
from contextbias.providers.connection import ConnectionOptions
from contextbias.providers.pacing import PacingOptions

_OURS = ("model", "prompt", "n", "size", "quality", "background", "output_format", "moderation",
         "output_compression", "response_format", "seed", "stream", "partial_images")  # fmt: skip


class OpenAIImagesOptions(ConnectionOptions, PacingOptions, BudgetOptions):
    """Options of the generator `openai_images`."""

    model: str = Field(min_length=1)
    """Name of the model, as the service knows it. There is no default: models come and go."""
    revision: str | None = None
    """What the service does not tell about the model: a commit, a quantisation. Part of the
    generator's identity, and sent nowhere."""
    size: str | None = "1024x1024"
    """Width and height; ``""``: the service's own, which may differ from picture to picture."""
    quality: str | None = None
    """``low``, ``medium``, ``high`` …; left out: the service's own choice, which decides
    the price."""
    background: str | None = None
    """``opaque``, ``transparent`` or ``auto``; left out: the service's own."""
    output_format: str | None = None
    """``png``, ``webp`` or ``jpeg``; left out: the service's own (OpenAI's is PNG). Pictures are
    kept as the study's masters in any case."""
    output_compression: int | None = Field(default=None, ge=0, le=100)
    """Of WebP and JPEG, in percent; left out: the service's own."""
    moderation: str | None = None
    """``low`` or ``auto``: how strict the service's filter is; left out: its own. It decides what
    is blocked, and so which pictures there are."""
    response_format: Literal["b64_json", "url"] | None = None
    """For servers that are asked how to answer; left out: not asked. Both kinds of answer
    are understood."""
    send_seed: bool = False
    """Send the seed, as ``seed``. OpenAI's API has none; some servers do."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Further fields of each request, as they are, for what a server knows beyond OpenAI's."""
    concurrency: int = Field(default=16, ge=1, le=1000)
    """At most so many requests at a time. How many there are adapts to what the service takes."""
    price_image: float | None = Field(default=None, ge=0)
    """Price of a picture, beside its tokens; left out: as in the price table."""

    @field_validator("size")
    @classmethod
    def _is_given(cls, value: str | None) -> str | None:
        return value or None

    def check(self, known: ImageModel) -> None:
        """Refuse what the model is known not to take, before any request.

        Raises:
            ConfigError: A value that it does not know, or a field of `extra` that is an option.
        """
        if self.size is not None:
            check_size(self.model, known, self.size)
        for option, words in (
            ("quality", known.qualities),
            ("background", known.backgrounds),
            ("output_format", known.formats),
            ("moderation", known.moderation),
        ):
            value = getattr(self, option)
            if value is not None:
                check_word(self.model, option, value, words)
        if self.background == "transparent" and self.output_format == "jpeg":
            raise ConfigError("JPEG has no transparency", "take png or webp")
        if self.output_compression is not None and self.output_format not in ("webp", "jpeg"):
            raise ConfigError(
                "output_compression has no effect without output_format webp or jpeg",
                "take it out, or set the format",
            )
        for name in self.extra:
            if name in _OURS:
                raise ConfigError(
                    f"extra has the field {name!r}, which is not free",
                    "set the option of that name" if name in type(self).model_fields else "",
                )

    def request(self) -> dict[str, Any]:
        """Every field of a request but the prompt and the seed."""
        named = ("size", "quality", "background", "output_format", "output_compression",
                 "moderation", "response_format")  # fmt: skip
        given = {name: getattr(self, name) for name in named}
        sent = {name: value for name, value in given.items() if value is not None}
        return {"model": self.model, "n": 1, **sent, **self.extra}

    def settings(self) -> dict[str, Any]:
        """Everything that decides the pixels; not how fast, from where, or at what price."""
        request = self.request()
        request.pop("response_format", None)
        return {
            "model": self.model,
            "revision": self.revision,
            "request": request,
            "send_seed": self.send_seed,
        }

    def pixels(self) -> tuple[int, int] | None:
        """Width and height that are asked for."""
        return pixels_of(self.size)
