"""Load a picture file as 8-bit RGB, whatever its mode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

LONGEST_SIDE = 2048
"""Larger pictures are reduced to this many pixels on the longer side before anything is read."""

_DEEP_MODES = ("I", "F")


class UnreadablePicture(Exception):
    """The file cannot be decoded; the message says why, in words."""


def load_rgb(path: Path) -> NDArray[np.uint8]:
    """Decode a picture.

    The camera's orientation mark is applied, transparency is laid on white, grey levels of 16 bits
    keep their upper 8, and of an animation the first frame is taken. Colour profiles are not
    applied: pictures are taken as sRGB.

    Args:
        path: The file.

    Returns:
        Shape (height, width, 3), RGB, at most LONGEST_SIDE on the longer side.

    Raises:
        UnreadablePicture: The file is no picture, is cut short, or has more pixels than Pillow's
            limit against decompression bombs.
        OSError: The file cannot be opened at all.
    """
    with path.open("rb") as handle:
        try:
            with Image.open(handle) as opened:
                opened.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
                opened.load()
                picture = _as_rgb(ImageOps.exif_transpose(opened))
        except Exception as error:  # decoders of damaged files raise errors of every kind
            raise UnreadablePicture(_reason(error)) from None
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    return np.asarray(picture, dtype=np.uint8)


def _reason(error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "the file is not a picture that can be decoded"
    return f"the picture cannot be decoded ({str(error) or type(error).__name__})"


def _as_rgb(picture: Image.Image) -> Image.Image:
    if picture.mode.startswith(_DEEP_MODES):
        return Image.fromarray(_eight_bits(np.asarray(picture, dtype=np.float64))).convert("RGB")
    if picture.has_transparency_data:
        layer = picture.convert("RGBA")
        white = Image.new("RGBA", layer.size, "white")
        return Image.alpha_composite(white, layer).convert("RGB")
    return picture.convert("RGB")


def _eight_bits(levels: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Grey levels of unknown depth as 0 to 255: 16 bits when any is above 255, 1.0 as white when
    none is above 1 (floating-point pictures)."""
    top = float(levels.max(initial=0.0))
    scale = 1 / 257 if top > 255 else (255.0 if top <= 1 else 1.0)
    return np.clip(np.rint(levels * scale), 0, 255).astype(np.uint8)
