"""A reader for pictures that show nothing: warm where there is more red than blue, else cool."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from contextbias.extract.protocol import Picture, RawReading
from contextbias.schema import empty_record


class ColoursReader:
    """See the module."""

    parallel = "threads"

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    def settings(self) -> dict[str, Any]:
        return {}

    def readable(self) -> dict[str, tuple[str, ...] | None]:
        return {"color_temperature": ("warm", "cool")}

    def read(self, picture: Picture) -> RawReading:
        record = empty_record()
        red, _, blue = np.asarray(Image.open(picture.path)).mean(axis=(0, 1))
        record["scene"]["color_temperature"] = "warm" if red > blue else "cool"
        return RawReading(record=record)
