"""Decode a picture file, whatever its mode: an upright RGB image and nothing else of the file."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

_DEEP_MODES = ("I", "F")
_SIXTEEN_BITS = "I;16"  # and ;16B, ;16L, ;16N


class UnreadablePicture(Exception):
    """The file cannot be decoded; the message says why, in words."""


def decode_picture(path: Path, longest: int) -> Image.Image:
    """Decode a picture.

    The camera's orientation mark is applied, transparency is laid on white, grey levels of 16 bits
    keep their upper 8, and of an animation the first frame is taken. Colour profiles are not
    applied: pictures are taken as sRGB. The image carries no metadata.

    Args:
        path: The file.
        longest: A JPEG may be decoded at a lower resolution, but not below this many pixels on its
            longer side; other pictures, and the rest of the way, are for the caller.

    Returns:
        Mode RGB.

    Raises:
        UnreadablePicture: The file is no picture, is cut short, or has more pixels than Pillow's
            limit against decompression bombs.
        OSError: The file cannot be opened at all.
    """
    with path.open("rb") as handle:
        try:
            with Image.open(handle) as opened:
                opened.draft("RGB", (longest, longest))
                opened.load()
                picture = as_rgb(ImageOps.exif_transpose(opened))
        except Exception as error:  # decoders of damaged files raise errors of every kind
            raise UnreadablePicture(_reason(error)) from None
    # Some encoders write comments and profiles that they find here into what they make.
    picture.info = {}
    return picture


def _reason(error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "the file is not a picture that can be decoded"
    return f"the picture cannot be decoded ({str(error) or type(error).__name__})"


def as_rgb(picture: Image.Image) -> Image.Image:
    """A decoded picture of any mode as readers see it; see `decode_picture`."""
    if picture.mode.startswith(_DEEP_MODES):
        return _eight_bits(picture)
    if picture.has_transparency_data:
        layer = picture.convert("RGBA")
        white = Image.new("RGBA", layer.size, "white")
        return Image.alpha_composite(white, layer).convert("RGB")
    return picture.convert("RGB")


def _eight_bits(picture: Image.Image) -> Image.Image:
    """Grey levels as 0 to 255.

    Where a mode does not tell the depth it is 16 bits when any level is above 255, and 1.0 is white
    when none is above 1 (floating-point pictures).
    """
    import numpy as np

    levels = np.asarray(picture, dtype=np.float64)
    top = float(levels.max(initial=0.0))
    is_deep = picture.mode.startswith(_SIXTEEN_BITS) or top > 255
    scale = 1 / 257 if is_deep else (255.0 if top <= 1 else 1.0)
    eight = np.clip(np.rint(levels * scale), 0, 255).astype(np.uint8)
    return Image.fromarray(eight).convert("RGB")
