"""Masters: pixels untouched, labelled as made by a machine, and silent about the prompt."""

from __future__ import annotations

import io
import subprocess
import sys
import zlib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from contextbias.generate import masters
from contextbias.generate.masters import NotAPicture, encode, master, picture_of, relabelled
from contextbias.generate.origin import Origin, packet

ORIGIN = Origin(image_id="abc", generator='a "b" <&>', seed=7, model="org/model", revision="1f2e")
XMP = packet(ORIGIN)
EXT = "{http://iptc.org/std/Iptc4xmpExt/2008-02-29/}"
OURS = "{urn:contextbias:provenance#}"


def noise(mode: str = "RGB", size: tuple[int, int] = (13, 9), seed: int = 1) -> Image.Image:
    bands = len(Image.new(mode, (1, 1)).getbands())
    values = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], bands), np.uint8)
    return Image.fromarray(values[..., 0] if bands == 1 else values, mode=None).convert(mode)


def file_of(image: Image.Image, kind: str, **how: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **how)
    return buffer.getvalue()


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def xmp_of(data: bytes) -> dict[str, str]:
    raw = opened(data).info["xmp"]
    (description,) = ElementTree.fromstring(raw).iter(
        "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}Description"
    )
    return dict(description.attrib)


@pytest.mark.parametrize("kind", ["png", "webp"])
def test_every_master_says_where_it_comes_from(kind: masters.Kind) -> None:
    fields = xmp_of(encode(noise(), XMP, kind))
    assert fields[f"{EXT}DigitalSourceType"] == (
        "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia"
    )
    assert fields[f"{EXT}AISystemUsed"] == "org/model"
    assert fields[f"{EXT}AISystemVersionUsed"] == "1f2e"
    assert fields[f"{OURS}imageId"] == "abc"
    assert fields[f"{OURS}generator"] == 'a "b" <&>'
    assert fields[f"{OURS}seed"] == "7"


def test_pillow_reads_the_packet_of_both_formats() -> None:
    # getxmp() of Pillow is another parser than the one above.
    for kind in ("png", "webp"):
        xmp = opened(encode(noise(), XMP, kind)).getxmp()
        description = xmp["xmpmeta"]["RDF"]["Description"]
        assert description["DigitalSourceType"].endswith("/trainedAlgorithmicMedia")


def test_what_is_not_known_is_left_out_and_control_characters_too() -> None:
    fields = packet(Origin(image_id="a", generator="g\x00\n", seed=0))
    assert "AISystem" not in fields
    assert 'contextbias:generator="g  "' in fields
    ElementTree.fromstring(fields)


@pytest.mark.parametrize("kind", ["png", "webp"])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "1"])
def test_pixels_are_read_back_as_they_were(mode: str, kind: masters.Kind) -> None:
    image = noise("RGB").quantize(16) if mode == "P" else noise(mode)
    again = opened(encode(image, XMP, kind))
    assert again.size == image.size
    assert again.convert("RGBA").tobytes() == image.convert("RGBA").tobytes()
    if kind == "png":
        assert again.mode == mode


@pytest.mark.parametrize("kind", ["png", "webp"])
def test_sixteen_bits_stay_sixteen(kind: masters.Kind) -> None:
    levels = np.arange(100, dtype=np.uint16).reshape(10, 10) * 600
    again = opened(master(picture_of(Image.fromarray(levels)), None, XMP, kind))
    assert again.format == "PNG"
    assert (np.asarray(again) == levels).all()


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 99))
def test_any_size_survives(width: int, height: int, seed: int) -> None:
    image = noise(size=(width, height), seed=seed)
    assert opened(encode(image, XMP)).tobytes() == image.tobytes()


def test_equal_pixels_give_equal_bytes_in_another_process() -> None:
    script = (
        "import hashlib; from PIL import Image\n"
        "from contextbias.generate.masters import encode\n"
        "from contextbias.generate.origin import Origin, packet\n"
        "image = Image.linear_gradient('L').convert('RGB')\n"
        "xmp = packet(Origin(image_id='i', generator='g', seed=1))\n"
        "print(*(hashlib.sha256(encode(image, xmp, k)).hexdigest() for k in ('png', 'webp')))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1] != b""


def test_a_delivered_png_keeps_its_compressed_pixels_and_loses_its_texts() -> None:
    info = PngImagePlugin.PngInfo()
    info.add_text("parameters", "a photo of a nurse in a hospital ward")
    info.add_itxt("XML:com.adobe.xmp", "<x>a nurse</x>")
    info.add(b"caBX", b"a signed manifest that names the nurse")
    image = noise()
    data = file_of(image, "PNG", pnginfo=info, compress_level=9, dpi=(72, 72))
    kept = master(picture_of(data=data), data, XMP, "png")
    assert b"nurse" in data
    assert b"nurse" not in kept
    assert opened(kept).tobytes() == image.tobytes()
    idat = data[data.index(b"IDAT") : data.index(b"IEND")]
    assert idat in kept
    assert opened(kept).info["dpi"] == pytest.approx((72, 72), abs=0.1)
    assert xmp_of(kept)[f"{OURS}imageId"] == "abc"


def test_relabelling_twice_is_relabelling_once() -> None:
    data = relabelled(encode(noise(), "other"), XMP)
    assert data == encode(noise(), XMP)
    assert relabelled(data, XMP) == data


@pytest.mark.parametrize(
    ("kind", "how"),
    [("JPEG", {"quality": 90}), ("WEBP", {"quality": 80}), ("GIF", {}), ("BMP", {}), ("TIFF", {})],
)
def test_other_formats_become_png_with_the_pixels_as_decoded(
    kind: str, how: dict[str, object]
) -> None:
    data = file_of(noise(size=(16, 16)), kind, **how)
    picture = picture_of(data=data)
    kept = opened(master(picture, data, XMP, "png"))
    assert (kept.format, picture.format) == ("PNG", kind)
    assert kept.convert("RGB").tobytes() == opened(data).convert("RGB").tobytes()


def test_an_orientation_mark_is_applied_before_it_is_dropped() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: width and height change places
    for kind in ("JPEG", "PNG"):
        data = file_of(noise(size=(20, 10)), kind, exif=exif)
        kept = opened(master(picture_of(data=data), data, XMP, "png"))
        assert kept.size == (10, 20)
        assert not kept.getexif()


def test_a_colour_profile_stays() -> None:
    from PIL import ImageCms

    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for kind in ("JPEG", "PNG"):
        data = file_of(noise(), kind, icc_profile=profile)
        for to in ("png", "webp"):
            kept = opened(master(picture_of(data=data), data, XMP, to))
            assert kept.info["icc_profile"] == profile


def test_colours_that_no_master_has_become_rgb() -> None:
    data = file_of(noise("RGB").convert("CMYK"), "JPEG", quality=95)
    assert picture_of(data=data).image.mode == "RGB"


def test_the_profile_of_inks_does_not_stay_with_rgb() -> None:
    data = file_of(noise("RGB").convert("CMYK"), "JPEG", icc_profile=b"of inks" * 20)
    for kind in ("png", "webp"):
        kept = opened(master(picture_of(data=data), data, XMP, kind))
        assert "icc_profile" not in kept.info


@pytest.mark.parametrize("mode", ["I;16", "I;16B", "I", "F"])
def test_deep_grey_is_not_cut_at_white(mode: str) -> None:
    levels = np.arange(100).reshape(10, 10) * 600
    kinds = {"I;16": "<u2", "I;16B": ">u2", "I": "<i4", "F": "<f4"}
    image = Image.frombytes(mode, (10, 10), levels.astype(kinds[mode]).tobytes())
    data = file_of(image, "TIFF")
    assert opened(data).mode == mode
    kept = opened(master(picture_of(data=data), data, XMP, "png"))
    assert (np.asarray(kept) == levels).all()


def test_grey_of_other_types_has_levels_of_8_bits_where_they_fit() -> None:
    image = Image.frombytes("F", (2, 1), np.array([0.0, 0.5], "<f4").tobytes())
    assert list(picture_of(image).image.tobytes()) == [0, 128]
    image = Image.frombytes("I", (2, 1), np.array([7, 255], "<i4").tobytes())
    assert list(picture_of(image).image.tobytes()) == [7, 255]
    with pytest.raises(NotAPicture, match="grey levels from -2 to 0"):
        picture_of(Image.frombytes("F", (2, 1), np.array([0.0, -2.0], "<f4").tobytes()))


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("JPEG", {"comment": b"a NURSE"}),
        ("WEBP", {"lossless": True}),
        ("AVIF", {}),
        ("TIFF", {"description": "a NURSE"}),
        ("GIF", {"comment": b"a NURSE"}),
        ("PNG", {}),
    ],
)
@pytest.mark.parametrize("to", ["png", "webp"])
def test_nothing_that_was_said_beside_the_picture_stays(
    kind: str, how: dict[str, object], to: masters.Kind
) -> None:
    exif = Image.Exif()
    exif[0x010E] = exif[0x9286] = "a NURSE"
    exif[0x0112] = 6  # a turned picture goes another way
    if kind not in ("GIF", "TIFF"):
        how = {**how, "exif": exif, "xmp": b"<x>a NURSE</x>"}
    if kind == "PNG":
        texts = PngImagePlugin.PngInfo()
        texts.add_text("parameters", "a NURSE")
        texts.add_text("workflow", "a NURSE", zip=True)
        texts.add_itxt("prompt", "a NURSE")
        how = {**how, "pnginfo": texts}
    data = file_of(noise(size=(16, 12)).quantize(8) if kind == "GIF" else noise(), kind, **how)
    kept = master(picture_of(data=data + b"a NURSE"), data + b"a NURSE", XMP, to)
    assert b"NURSE" not in kept
    assert "NURSE" not in repr((opened(kept).info, dict(opened(kept).getexif())))


def test_whole_numbers_of_any_type_are_levels() -> None:
    array = np.asarray(noise())
    assert picture_of(array.astype(np.int64)).image.tobytes() == array.tobytes()
    for wrong in (array.astype(np.uint16) * 257, array.astype(np.int32) - 9, array > 100):
        with pytest.raises(NotAPicture, match=r"an array of (uint16|int32|bool): a picture has"):
            picture_of(wrong)


def test_arrays_are_pictures() -> None:
    array = np.asarray(noise())
    assert picture_of(array).image.tobytes() == array.tobytes()
    floats = array.astype(np.float32) / 255
    assert picture_of(floats).image.tobytes() == array.tobytes()
    floats[0, 0] = [np.nan, 2.0, -1.0]
    assert picture_of(floats).image.getpixel((0, 0)) == (0, 255, 0)


@pytest.mark.parametrize("shape", [(4, 4), (0, 4, 3), (4, 4, 2), (1, 4, 4, 3)])
def test_arrays_of_another_shape_are_none(shape: tuple[int, ...]) -> None:
    with pytest.raises(NotAPicture, match="is no picture"):
        picture_of(np.zeros(shape, np.uint8))


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (None, "there is no picture"),
        (b'{"error": "overloaded"}', 'it begins \'{"error": "overloaded"}\''),
        (b"\x89PNG\r\n\x1a\n", "decoded"),
        (cut(file_of(noise(size=(64, 64)), "PNG")), "cannot be decoded"),
        (cut(file_of(noise(size=(64, 64)), "JPEG")), "cannot be decoded"),
        (cut(file_of(noise(size=(64, 64)), "WEBP")), "decoded"),
    ],
)
def test_what_is_no_picture_says_why(data: bytes | None, reason: str) -> None:
    with pytest.raises(NotAPicture, match=reason):
        picture_of(data=data)


def test_a_png_without_an_end_is_cut_off() -> None:
    whole = file_of(noise(), "PNG")
    for length in (0, 20, len(whole) - 1):
        with pytest.raises(NotAPicture, match=r"cut off|not a PNG"):
            relabelled(whole[:length], XMP)


def test_a_picture_of_too_many_pixels_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(NotAPicture, match="pixels"):
        picture_of(data=file_of(noise(size=(40, 40)), "PNG"))


def test_the_packet_is_a_plain_text_chunk() -> None:
    # Keyword, no compression, no language, no translation (PNG 3rd edition, 11.3.3.4).
    data = encode(noise(), XMP)
    start = data.index(b"iTXt")
    content = b"XML:com.adobe.xmp\0\0\0\0\0" + XMP.encode()
    assert data[start + 4 :].startswith(content)
    checksum = zlib.crc32(b"iTXt" + content).to_bytes(4, "big")
    assert data[start + 4 + len(content) :].startswith(checksum)


def test_a_local_model_is_named_and_not_its_folder(tmp_path: Path) -> None:
    from contextbias.generate.protocol import Made
    from contextbias.generate.work import _told

    made = Made(image_id="i")
    assert _told("model", made, {"model": str(tmp_path / "tiny")}) == "tiny"
    assert _told("model", made, {"model": "org/model"}) == "org/model"
    assert _told("model", made, {"model": 3}) is None
