"""A picture as a model is sent it: one common size, one encoding, and nothing but pixels.

Services reduce large pictures in ways of their own, and generators draw in sizes of their own. So
every picture is brought to the same longer side here, smaller ones included: otherwise a reader
would see more of one generator's pictures than of another's.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Literal

from PIL import Image

from contextbias.ids import bytes_sha256
from contextbias.pictures import decode_picture

Encoding = Literal["jpeg", "png"]
"""How pixels are sent."""

_DEFAULT_SIZE = (1024, 1024)  # what most generators draw


@dataclass(frozen=True, slots=True)
class Payload:
    """An encoded picture."""

    data: bytes
    """The encoded file, without metadata."""
    mime: str
    """``image/jpeg`` or ``image/png``."""
    width: int
    """Pixels."""
    height: int
    """Pixels."""
    sha256: str
    """Hash of `data`."""

    @property
    def url(self) -> str:
        """As a data URL."""
        return f"data:{self.mime};base64,{base64.b64encode(self.data).decode()}"


def encode_picture(path: Path, *, size: int, encoding: Encoding, quality: int) -> Payload:
    """Decode, resize, and encode a picture file.

    Args:
        path: The file.
        size: Pixels of the longer side; 0 to leave the picture as large as it is.
        encoding: ``jpeg`` or ``png``.
        quality: Of JPEG, 1 to 100.

    Raises:
        UnreadablePicture: It cannot be decoded.
        OSError: It cannot be opened.
    """
    picture = sized_picture(path, size=size)
    buffer = BytesIO()
    if encoding == "jpeg":
        picture.save(buffer, "JPEG", quality=quality)
    else:
        # Level 1: files a tenth larger than at the default, in a third of the time.
        picture.save(buffer, "PNG", compress_level=1)
    data = buffer.getvalue()
    return Payload(data, f"image/{encoding}", *picture.size, bytes_sha256(data))


def sized_picture(path: Path, *, size: int) -> Image.Image:
    """Decode a picture file and bring it to the common size.

    Args:
        path: The file.
        size: Pixels of the longer side; 0 to leave the picture as large as it is.

    Returns:
        Mode RGB, without metadata.

    Raises:
        UnreadablePicture: It cannot be decoded.
        OSError: It cannot be opened.
    """
    picture = decode_picture(path, size or 1 << 20)
    wanted = scaled(picture.size, size)
    return picture if picture.size == wanted else picture.resize(wanted, Image.Resampling.LANCZOS)


def scaled(pixels: tuple[int, int] | None, size: int) -> tuple[int, int]:
    """Width and height that a picture is sent with.

    Args:
        pixels: Its own; None where it is not known.
        size: Pixels of the longer side; 0 to leave it as it is.
    """
    width, height = pixels or _DEFAULT_SIZE
    if not size:
        return width, height
    longest = max(width, height)
    return max(1, round(width * size / longest)), max(1, round(height * size / longest))
