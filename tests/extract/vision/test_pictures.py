"""Pictures as they are sent: one size, and nothing of the file but pixels."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, PngImagePlugin

from contextbias.extract.vision.pictures import encode_picture, scaled, sized_picture
from contextbias.ids import bytes_sha256
from contextbias.pictures import UnreadablePicture

SECRET = "a photo of a nurse in a subway station"


def drawn(width: int = 64, height: int = 48) -> Image.Image:
    picture = Image.linear_gradient("L").resize((width, height))
    return Image.merge("RGB", (picture, picture.transpose(Image.Transpose.ROTATE_180), picture))


def encode(path: Path, encoding: str = "jpeg", size: int = 32) -> Image.Image:
    payload = encode_picture(path, size=size, encoding=encoding, quality=90)  # type: ignore[arg-type]
    assert payload.sha256 == bytes_sha256(payload.data)
    with Image.open(BytesIO(payload.data)) as picture:
        picture.load()
    assert payload.mime == f"image/{encoding}" == picture.get_format_mimetype()  # type: ignore[attr-defined]
    assert (payload.width, payload.height) == picture.size
    return picture


def with_secrets(path: Path) -> Path:
    """A file that tells its prompt in every place that its format has."""
    picture = drawn()
    exif = Image.Exif()
    exif[0x010E] = SECRET
    xmp = f"<x>{SECRET}</x>".encode()
    if path.suffix == ".png":
        text = PngImagePlugin.PngInfo()
        text.add_text("parameters", SECRET)
        text.add_itxt("XML:com.adobe.xmp", SECRET)
        picture.save(path, pnginfo=text, exif=exif, icc_profile=SECRET.encode())
    elif path.suffix == ".gif":
        picture.save(path, comment=SECRET.encode())
    elif path.suffix == ".jpg":
        picture.save(path, exif=exif, xmp=xmp, comment=SECRET.encode())
    else:
        picture.save(path, exif=exif, xmp=xmp)
    assert SECRET[:20].encode() in path.read_bytes()
    return path


@pytest.mark.parametrize("encoding", ["jpeg", "png"])
@pytest.mark.parametrize("suffix", [".png", ".jpg", ".webp", ".gif"])
def test_nothing_but_pixels_is_sent(tmp_path: Path, suffix: str, encoding: str) -> None:
    path = with_secrets(tmp_path / f"nurse{suffix}")
    payload = encode_picture(path, size=64, encoding=encoding, quality=90)  # type: ignore[arg-type]
    assert b"nurse" not in payload.data
    picture = encode(path, encoding)
    assert set(picture.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}
    assert not picture.getexif()


@pytest.mark.parametrize(
    ("own", "size", "sent"),
    [
        ((64, 48), 32, (32, 24)),
        ((48, 64), 32, (24, 32)),
        ((16, 16), 32, (32, 32)),  # smaller ones as well: one size for every generator
        ((64, 48), 0, (64, 48)),
        ((1000, 1), 100, (100, 1)),
    ],
)
def test_every_picture_gets_the_same_longer_side(
    tmp_path: Path, own: tuple[int, int], size: int, sent: tuple[int, int]
) -> None:
    drawn(*own).save(tmp_path / "a.png")
    assert encode(tmp_path / "a.png", size=size).size == sent == scaled(own, size)


def test_png_keeps_every_pixel_and_jpeg_is_smaller(tmp_path: Path) -> None:
    drawn().save(tmp_path / "a.png")
    assert encode(tmp_path / "a.png", "png", size=64).tobytes() == drawn().tobytes()
    sizes = [
        len(encode_picture(tmp_path / "a.png", size=64, encoding="jpeg", quality=q).data)
        for q in (30, 90)
    ]
    assert sizes[0] < sizes[1]


def test_the_url_holds_the_same_bytes(tmp_path: Path) -> None:
    drawn().save(tmp_path / "a.png")
    payload = encode_picture(tmp_path / "a.png", size=32, encoding="jpeg", quality=90)
    assert payload.url.startswith("data:image/jpeg;base64,/9j/")


@pytest.mark.parametrize("content", [b"", b"not a picture", b"\x89PNG\r\n\x1a\n cut"])
def test_what_cannot_be_decoded_is_said_in_words(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(UnreadablePicture, match="decoded"):
        encode_picture(tmp_path / "a.png", size=32, encoding="jpeg", quality=90)
    with pytest.raises(OSError):
        encode_picture(tmp_path / "gone.png", size=32, encoding="jpeg", quality=90)


def test_a_sized_picture_is_what_is_encoded(tmp_path: Path) -> None:
    path = with_secrets(tmp_path / "nurse.png")
    sized = sized_picture(path, size=32)
    assert (sized.mode, sized.size, sized.info) == ("RGB", (32, 24), {})
    assert sized.tobytes() == encode(path, "png").convert("RGB").tobytes()
