"""What can be seen to be wrong with an image without knowing what it should show.

A blemish is a picture in which there is nothing to see: black (what an overflow in a decoder
leaves), one colour, transparent, or numbers that are none. It is looked for when an image is made
or taken in: about 1 ms for 1024 x 1024 pixels, and 2 ms for the hash that finds duplicates
(duplicates.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from contextbias.ids import bytes_sha256
from contextbias.pictures import as_rgb

_NEAR = 8  # grey levels (of 255) that still are one shade: noise, compression
_ALL = 0.999  # of the pixels: a hot pixel or a speck is nothing to see
_HASH_LENGTH = 32


def blemish(image: Image.Image) -> str | None:
    """What is wrong with a picture, in words; None for nothing that can be told."""
    if _is_transparent(image):
        return "fully transparent"
    counts = np.array(_opaque(image).histogram(), np.float64).reshape(-1, 256)
    return _fault(counts / counts.sum(axis=1, keepdims=True))


def not_numbers(array: NDArray[Any]) -> str | None:
    """What is wrong with the values that a decoder left; None where all of them are numbers.

    Args:
        array: A picture, or several, of floats or integers of any shape.
    """
    # Whatever is not a number makes the sum none; to look at each of them takes three times as
    # long.
    with np.errstate(invalid="ignore", over="ignore"):
        if array.dtype.kind != "f" or np.isfinite(array.sum(dtype=np.float64)):
            return None
    return f"{1 - float(np.isfinite(array).mean()):.2%} of its values are not numbers"


def pixels_sha256(image: Image.Image) -> str:
    """Hash of the decoded pixels, 32 hex digits: equal for equal pictures, whatever their files."""
    head = f"{image.mode} {image.width} {image.height} ".encode()
    return bytes_sha256(head + image.tobytes())[:_HASH_LENGTH]


def _fault(shares: NDArray[np.float64]) -> str | None:
    """Judge the share of each level, shape (channels, 256)."""
    below = np.cumsum(shares, axis=1)
    if (below[:, _NEAR] >= _ALL).all():
        return "black"
    # The share within any 2 x _NEAR + 1 neighbouring levels of each channel.
    width = 2 * _NEAR + 1
    windows = below[:, width - 1 :].copy()
    windows[:, 1:] -= below[:, :-width]
    if (windows.max(axis=1) >= _ALL).all():
        level = [int(np.searchsorted(channel, 0.5)) for channel in below]
        return f"one colour ({', '.join(map(str, level))})"
    return None


def _is_transparent(image: Image.Image) -> bool:
    if not image.has_transparency_data:
        return False
    lowest, highest = image.convert("RGBA").getchannel("A").getextrema()
    return highest == 0 and lowest == 0


def _opaque(image: Image.Image) -> Image.Image:
    """The picture in 8-bit grey or colour, transparency laid on white."""
    return image if image.mode in ("L", "RGB") else as_rgb(image)
