"""A picture file as an array of 8-bit RGB."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from contextbias.pictures import UnreadablePicture, decode_picture

__all__ = ["LONGEST_SIDE", "UnreadablePicture", "load_rgb"]

LONGEST_SIDE = 2048
"""Larger pictures are reduced to this many pixels on the longer side before anything is read."""


def load_rgb(path: Path) -> NDArray[np.uint8]:
    """Decode a picture and reduce it; see `decode_picture`, whose errors it raises.

    Args:
        path: The file.

    Returns:
        Shape (height, width, 3), RGB, at most LONGEST_SIDE on the longer side.
    """
    picture = decode_picture(path, LONGEST_SIDE)
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    return np.asarray(picture, dtype=np.uint8)
