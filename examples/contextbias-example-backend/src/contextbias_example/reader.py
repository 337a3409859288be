"""Warmth: a reader that tells warm colours from cool ones. Put your model in the place of it."""

from __future__ import annotations

from typing import Any

from PIL import Image, ImageStat
from pydantic import Field

from contextbias.extract.protocol import Picture, RawReading
from contextbias.options import Options
from contextbias.schema.records import empty_record


class WarmthOptions(Options):
    """Options in study.toml."""

    margin: float = Field(default=8.0, ge=0, le=255)
    """How far red and blue have to be apart, in grey levels, for warm or cool."""


class Warmth:
    """Called with the options of study.toml, once in each worker."""

    parallel = "threads"

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = WarmthOptions.parse(options, backend="warmth")

    def settings(self) -> dict[str, Any]:
        """Everything that decides the answers."""
        return {"version": "1", **self._options.model_dump()}

    def readable(self) -> dict[str, tuple[str, ...] | None]:
        """Which labels of which dimensions it can tell apart; all other answers are unknown."""
        return {"color_temperature": ("warm", "neutral", "cool")}

    def read(self, picture: Picture) -> RawReading:
        """Look at one picture. It gets the file, under a name that tells no prompt or role."""
        try:
            with Image.open(picture.path) as opened:
                red, _, blue = ImageStat.Stat(opened.convert("RGB")).mean
        except OSError as error:
            return RawReading(status="corrupt", reason=f"cannot be decoded: {error}")
        record = empty_record()
        record["scene"]["color_temperature"] = self._named(red - blue)
        return RawReading(record=record, raw={"red_less_blue": round(red - blue, 2)})

    def _named(self, difference: float) -> str:
        if abs(difference) < self._options.margin:
            return "neutral"
        return "warm" if difference > 0 else "cool"
