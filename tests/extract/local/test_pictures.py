import contextlib
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from contextbias.extract.local.pictures import LONGEST_SIDE, UnreadablePicture, load_rgb


def _two_halves(mode: str = "RGB") -> Image.Image:
    """Left half red, right half blue, 40 x 20."""
    picture = Image.new("RGB", (40, 20), (255, 0, 0))
    picture.paste((0, 0, 255), (20, 0, 40, 20))
    return picture.convert(mode)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "CMYK", "YCbCr", "LAB", "HSV"])
def test_color_modes(mode: str, tmp_path: Path) -> None:
    suffix = ".tif" if mode in ("CMYK", "YCbCr", "LAB") else ".png"
    picture = _two_halves("RGB" if mode in ("LAB", "HSV") else mode)
    picture.save(tmp_path / f"a{suffix}")
    rgb = load_rgb(tmp_path / f"a{suffix}")
    assert rgb.shape == (20, 40, 3)
    assert rgb.dtype == np.uint8
    assert rgb[10, 5, 0] > 200
    assert rgb[10, 35, 2] > 180
    assert rgb[10, 5, 2] < 60


def test_transparency_is_laid_on_white(tmp_path: Path) -> None:
    Image.new("RGBA", (8, 8), (255, 0, 0, 0)).save(tmp_path / "a.png")
    assert (load_rgb(tmp_path / "a.png") == 255).all()
    indexed = Image.new("P", (8, 8), 0)
    indexed.putpalette([10, 20, 30])
    indexed.save(tmp_path / "b.png", transparency=0)
    assert (load_rgb(tmp_path / "b.png") == 255).all()


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (np.array([[0, 32896], [65535, 257]], dtype=np.uint16), [[0, 128], [255, 1]]),
        (np.array([[0, 200], [255, 100]], dtype=np.uint16), [[0, 1], [1, 0]]),  # nearly black
        (np.array([[0.0, 0.5], [1.0, 0.25]], dtype=np.float32), [[0, 128], [255, 64]]),
    ],
)
def test_deep_grey_levels_keep_their_upper_eight_bits(
    levels: np.ndarray, expected: list[list[int]], tmp_path: Path
) -> None:
    # 65535 / 257 = 255 and 32896 / 257 = 128; 0.5 x 255 = 127.5, rounded to even 128.
    Image.fromarray(levels).save(tmp_path / "a.tif")
    assert load_rgb(tmp_path / "a.tif")[..., 0].tolist() == expected


def test_orientation_mark_is_applied(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turn a quarter clockwise to show
    _two_halves().save(tmp_path / "a.png", exif=exif)
    rgb = load_rgb(tmp_path / "a.png")
    assert rgb.shape == (40, 20, 3)
    assert rgb[5, 10].tolist() == [255, 0, 0]  # what was left is on top
    assert rgb[35, 10].tolist() == [0, 0, 255]


def test_first_frame_of_an_animation(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (9, 9), color) for color in ("red", "blue")]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert load_rgb(tmp_path / "a.gif")[4, 4].tolist() == [255, 0, 0]


def test_huge_pictures_are_reduced(tmp_path: Path) -> None:
    Image.new("RGB", (5000, 1000), "green").save(tmp_path / "a.jpg")
    height, width = load_rgb(tmp_path / "a.jpg").shape[:2]
    assert max(height, width) <= LONGEST_SIDE
    assert width / height == pytest.approx(5, rel=0.02)


@pytest.mark.parametrize("content", [b"", b"not a picture", b"\x89PNG\r\n\x1a\n" + b"\0" * 40])
def test_what_is_no_picture_says_so(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(UnreadablePicture, match="decoded"):
        load_rgb(tmp_path / "a.png")


def test_cut_short(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(noise).save(buffer, "JPEG")
    (tmp_path / "a.jpg").write_bytes(buffer.getvalue()[: len(buffer.getvalue()) // 2])
    with pytest.raises(UnreadablePicture, match="decoded"):
        load_rgb(tmp_path / "a.jpg")


def test_missing_file_is_another_matter(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_rgb(tmp_path / "nowhere.png")


_NOISE = np.random.default_rng(2).integers(0, 256, (24, 24, 3), dtype=np.uint8)


@pytest.mark.filterwarnings("ignore")  # Pillow warns of some of the damage
@given(st.sampled_from(["PNG", "JPEG", "GIF", "WEBP"]), st.data())
def test_damage_never_raises_anything_else(kind: str, data: st.DataObject) -> None:
    buffer = io.BytesIO()
    Image.fromarray(_NOISE).save(buffer, kind)
    content = bytearray(buffer.getvalue())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = Path("damaged")
    path.write_bytes(bytes(content))
    with contextlib.suppress(UnreadablePicture):
        assert load_rgb(path).ndim == 3
