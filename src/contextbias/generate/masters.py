"""The file that an image is kept as: PNG or lossless WebP, its pixels untouched.

Every master says in an XMP packet that a machine made it, and which one::

    encode(image, packet(origin)) -> bytes          pixels become a file
    relabelled(png, packet(origin)) -> bytes        a PNG's pixel data stay as they are

Nothing else that a backend may have written into its file (prompts, settings, signatures, dates) is
kept: a reader of the picture must not find the prompt there. Equal pixels and origins give equal
bytes wherever zlib (of WebP: libwebp) is the same. Pillow ignores ``xmp=`` when it writes PNG, so
the chunk is written here.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from contextbias.generate.origin import Kind

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_XMP_KEYWORD = b"XML:com.adobe.xmp"
_FILTER_UP = 2
_COLOUR_TYPES = {"L": 0, "RGB": 2, "LA": 4, "RGBA": 6}
_PNG_MODES = {*_COLOUR_TYPES, "1", "P", "I;16"}
_SAME_COLOURS = {"PA", "La", "RGBa", "RGBX"}
_WHITE = 0xFFFF  # of 16 bits
# Chunks that decide what is seen; texts, dates, signatures and what is unknown are left out.
_KEPT_CHUNKS = {
    b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"cICP",
    b"sBIT", b"pHYs",
}  # fmt: skip
_ORIENTATION = 0x0112


class NotAPicture(Exception):
    """What a backend handed over cannot be a master; the message says why, in words."""


@dataclass(frozen=True, slots=True)
class Picture:
    """What a backend made, decoded."""

    image: Image.Image
    """Its pixels, in a mode that a master can have."""
    format: str | None = None
    """Format of the file that they came in; None where they came as pixels."""
    turned: bool = False
    """Whether the file has an orientation mark, so that its pixels lie another way."""


def picture_of(image: Any = None, data: bytes | None = None) -> Picture:
    """Decode what a backend made (see protocol.Made).

    The camera's orientation mark is applied. Pixels stay as they are in grey, palette, RGB, with
    transparency and in 16-bit grey; deeper grey becomes that, other modes RGB. Of an animation the
    first frame counts.

    Raises:
        NotAPicture: It cannot be decoded, or is no array of a picture.
    """
    if image is not None:
        return Picture(_storable(_from_pixels(image)))
    if not data:
        raise NotAPicture("the file is empty" if data is not None else "there is no picture")
    try:
        with Image.open(io.BytesIO(data)) as opened:
            opened.load()
            turned = opened.getexif().get(_ORIENTATION, 1) != 1
            upright = ImageOps.exif_transpose(opened) if turned else opened
            return Picture(_storable(upright), opened.format, turned)
    except UnidentifiedImageError:
        start = data[:40].decode("utf-8", "replace")
        raise NotAPicture(f"not an image that can be decoded (it begins {start!r})") from None
    except Exception as error:  # decoders of broken files raise whatever they stumble over
        raise NotAPicture(f"cannot be decoded: {error}") from None


def master(picture: Picture, data: bytes | None, xmp: str, kind: Kind = "png") -> bytes:
    """The file to keep, labelled.

    Args:
        picture: The decoded picture.
        data: The file that it came in, if it did; a PNG is relabelled rather than encoded again.
        xmp: The packet.
        kind: The study's format. A 16-bit picture becomes a PNG in any case.
    """
    is_png = data is not None and data.startswith(_SIGNATURE)
    if kind == "png" and data is not None and is_png and not picture.turned:
        return relabelled(data, xmp)
    return encode(picture.image, xmp, kind)


def encode(image: Image.Image, xmp: str | None, kind: Kind = "png") -> bytes:
    """Encode pixels as a master (without a packet: as a bare file), for speed.

    Every row of a PNG is stored as its difference to the row above (filter type 2 of the PNG
    specification, 3rd edition, section 9). A search for the best filter of each row, as image
    libraries do it, takes longer than the compression and makes files that are hardly smaller.
    """
    if kind == "webp" and image.mode != "I;16":
        return _webp(image, xmp)
    if image.mode not in _COLOUR_TYPES:
        return relabelled(_by_pillow(image), xmp)
    header = struct.pack(">IIBBBBB", *image.size, 8, _COLOUR_TYPES[image.mode], 0, 0, 0)
    chunks = [(b"IHDR", header), *_itxt(xmp), *_profile(image)]
    chunks += [(b"IDAT", zlib.compress(_filtered(image), 1)), (b"IEND", b"")]
    return _SIGNATURE + b"".join(_chunk(kind_, content) for kind_, content in chunks)


def relabelled(png: bytes, xmp: str | None) -> bytes:
    """A PNG with its pixel data as they are, this packet, and no other metadata.

    Raises:
        NotAPicture: It is no PNG, or is cut off.
    """
    parts = [_SIGNATURE]
    for kind, raw in _chunks(png):
        if kind in _KEPT_CHUNKS:
            parts.append(raw)
        if kind == b"IHDR":
            parts += [_chunk(*chunk) for chunk in _itxt(xmp)]
    return b"".join(parts)


def _from_pixels(image: Any) -> Image.Image:
    if isinstance(image, Image.Image):
        return image
    array = np.asarray(image)
    if array.ndim != 3 or array.shape[2] not in (3, 4) or 0 in array.shape:
        raise NotAPicture(f"an array of shape {array.shape} is no picture (height, width, 3)")
    if array.dtype.kind in "iu" and array.min() >= 0 and array.max() <= 255:
        array = array.astype(np.uint8)
    if array.dtype.kind != "f" and array.dtype != np.uint8:
        raise NotAPicture(f"an array of {array.dtype}: a picture has levels 0 to 255, or floats")
    if array.dtype != np.uint8:
        levels = np.nan_to_num(array.astype(np.float32), nan=0.0, posinf=1.0, neginf=0.0)
        array = np.rint(np.clip(levels, 0, 1) * 255).astype(np.uint8)
    return Image.fromarray(array)


def _storable(image: Image.Image) -> Image.Image:
    if image.mode in _PNG_MODES:
        return image
    if image.mode.startswith(("I", "F")):
        return _deep(np.asarray(image))
    plain = image.convert("RGB")
    if image.mode not in _SAME_COLOURS:
        plain.info.pop("icc_profile", None)  # of ink, say: it says nothing about these numbers
    return plain


def _deep(levels: NDArray[Any]) -> Image.Image:
    """Grey levels of more than 8 bits; Pillow's own conversion makes white of all above 255."""
    low, top = float(levels.min()), float(levels.max())
    if low >= 0 and top <= 1 and levels.dtype.kind == "f":
        levels, top = np.rint(levels * 255), 255.0
    if low >= 0 and top <= _WHITE and (np.rint(levels) == levels).all():
        return Image.fromarray(levels.astype(np.uint8 if top <= 255 else np.uint16))
    raise NotAPicture(f"grey levels from {low:g} to {top:g} are neither 0 to 65535 nor 0.0 to 1.0")


def _filtered(image: Image.Image) -> bytes:
    rows = np.asarray(image).reshape(image.height, -1)
    filtered = np.empty((image.height, 1 + rows.shape[1]), np.uint8)
    filtered[:, 0] = _FILTER_UP
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])
    return filtered.tobytes()


def _webp(image: Image.Image, xmp: str | None) -> bytes:
    mode = "RGBA" if image.has_transparency_data else "RGB"
    buffer = io.BytesIO()
    image.convert(mode).save(
        buffer, "WEBP", lossless=True, exact=True, quality=0, method=0,
        xmp=b"" if xmp is None else xmp.encode(), icc_profile=image.info.get("icc_profile"),
    )  # fmt: skip
    return buffer.getvalue()


def _by_pillow(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1, icc_profile=image.info.get("icc_profile"))
    return buffer.getvalue()


def _profile(image: Image.Image) -> list[tuple[bytes, bytes]]:
    profile = image.info.get("icc_profile")
    return [(b"iCCP", b"ICC Profile\0\0" + zlib.compress(profile))] if profile else []


def _itxt(xmp: str | None) -> list[tuple[bytes, bytes]]:
    # Keyword, not compressed, no language, no translated keyword.
    return [] if xmp is None else [(b"iTXt", _XMP_KEYWORD + b"\0\0\0\0\0" + xmp.encode())]


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(content, zlib.crc32(kind))
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Kind and raw bytes of each chunk, up to the end mark."""
    if not png.startswith(_SIGNATURE):
        raise NotAPicture("not a PNG")
    position = len(_SIGNATURE)
    while True:
        head = png[position : position + 8]
        if len(head) < 8:
            raise NotAPicture("the PNG is cut off")
        length, kind = struct.unpack(">I4s", head)
        end = position + 12 + length
        if end > len(png):
            raise NotAPicture("the PNG is cut off")
        yield kind, png[position:end]
        if kind == b"IEND":
            return
        position = end
