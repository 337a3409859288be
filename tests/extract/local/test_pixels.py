import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from contextbias.extract.local.color_names import to_lab
from contextbias.extract.local.pixels import (
    color_shares,
    color_temperature,
    focus_ratio,
    framing,
    read_pixels,
    reduce_to,
)


def _plain(red: int, green: int, blue: int, side: int = 64) -> NDArray[np.uint8]:
    return np.full((side, side, 3), (red, green, blue), dtype=np.uint8)


def _color_of(x: float, y: float) -> tuple[int, int, int]:
    """sRGB levels of the brightest colour with the chromaticity x, y (IEC 61966-2-1)."""
    to_linear = np.linalg.inv(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    linear = to_linear @ np.array([x / y, 1.0, (1 - x - y) / y])
    linear = np.clip(linear / linear.max(), 0, 1)
    levels = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    red, green, blue = (int(level) for level in np.rint(levels * 255))
    return red, green, blue


@pytest.mark.parametrize(
    ("name", "x", "y", "kelvin", "label"),
    [
        # CIE 15: standard illuminants and their correlated colour temperatures.
        ("A", 0.44757, 0.40745, 2856, "warm"),
        ("D50", 0.34567, 0.35850, 5003, "neutral"),
        ("D65", 0.31272, 0.32903, 6504, "neutral"),
        ("D75", 0.29902, 0.31485, 7504, "cool"),
    ],
)
def test_color_temperature_of_standard_illuminants(
    name: str, x: float, y: float, kelvin: float, label: str
) -> None:
    picture = _plain(*_color_of(x, y))
    assert color_temperature(picture) == pytest.approx(kelvin, rel=0.01)
    picture[:, :32] //= 3  # some contrast, so that the picture is not blank
    assert read_pixels(picture).color_temperature == label


@pytest.mark.parametrize("color", [(0, 0, 0), (0, 200, 0), (200, 0, 200)])
def test_black_and_colors_far_from_white_have_no_temperature(color: tuple[int, int, int]) -> None:
    assert color_temperature(_plain(*color)) is None


def test_dominant_colors_are_those_that_cover_a_tenth_largest_first() -> None:
    picture = _plain(255, 0, 0, side=100)
    picture[:, 50:80] = (0, 0, 255)
    picture[:, 80:95] = (255, 255, 255)
    picture[:, 95:] = (0, 128, 0)  # 5%: too little
    assert read_pixels(picture).dominant_colors == ["red", "blue", "white"]


def test_color_shares_add_up_to_one() -> None:
    noise = np.random.default_rng(5).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    shares = color_shares(to_lab(noise))
    assert sum(shares.values()) == pytest.approx(1)
    assert list(shares.values()) == sorted(shares.values(), reverse=True)


def _leaves(seed: int, side: int = 768) -> NDArray[np.uint8]:
    """Overlapping discs of many sizes: sharp edges at all scales, as in photographs."""
    rng = np.random.default_rng(seed)
    picture = np.full((side, side, 3), 128, dtype=np.uint8)
    for _ in range(2500):
        x, y = (int(v) for v in rng.integers(0, side, 2))
        radius = int(np.clip(4 / rng.random(), 4, 90))
        color = tuple(int(v) for v in rng.integers(20, 236, 3))
        cv2.circle(picture, (x, y), radius, color, -1, cv2.LINE_AA)
    return picture


def test_depth_of_field_by_blur_of_the_background() -> None:
    sharp = _leaves(1)
    blurred = cv2.GaussianBlur(sharp, (0, 0), 7)
    blurred[250:600, 250:500] = sharp[250:600, 250:500]  # the subject
    assert read_pixels(sharp).depth_of_field == "deep"
    assert read_pixels(np.asarray(blurred, dtype=np.uint8)).depth_of_field == "shallow"


def test_focus_ratio_of_sharp_edges_is_two_and_of_blur_is_one() -> None:
    stripes = np.zeros((768, 768, 3), dtype=np.uint8)
    stripes[:, np.arange(768) % 64 < 32] = 160  # one edge in 32 pixels
    assert focus_ratio(stripes) == pytest.approx(2, rel=0.02)
    blurred = np.asarray(cv2.GaussianBlur(stripes, (0, 0), 7), dtype=np.uint8)
    assert focus_ratio(blurred) == pytest.approx(1, rel=0.1)


def test_film_grain_does_not_look_like_detail() -> None:
    blurred = cv2.GaussianBlur(_leaves(2), (0, 0), 7).astype(np.float64)
    grain = np.random.default_rng(3).normal(0, 3, blurred.shape)
    assert (
        read_pixels(np.clip(blurred + grain, 0, 255).astype(np.uint8)).depth_of_field == "shallow"
    )


def test_depth_of_field_is_unknown_in_small_and_in_plain_pictures() -> None:
    assert read_pixels(reduce_to(_leaves(1), 500)).depth_of_field == "unknown"
    assert read_pixels(_plain(90, 120, 200, side=800)).depth_of_field == "unknown"


@pytest.mark.parametrize("shape", [(1, 1), (1, 900), (900, 2), (7, 700)])
def test_odd_shapes_are_read(shape: tuple[int, int]) -> None:
    reading = read_pixels(np.full((*shape, 3), 200, dtype=np.uint8))
    assert reading.blank
    assert reading.color_temperature == reading.depth_of_field == "unknown"
    assert reading.dominant_colors == ["gray"]


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 40))
def test_reduce_never_enlarges(height: int, width: int, long_side: int) -> None:
    small = reduce_to(np.zeros((height, width, 3), dtype=np.uint8), long_side)
    assert max(small.shape[:2]) <= max(long_side, 1)
    assert small.shape[0] <= height
    assert small.shape[1] <= width


@pytest.mark.parametrize(
    ("height", "label"),
    [(None, "unknown"), (0.5, "tight"), (0.25, "medium"), (0.08, "medium"), (0.079, "wide")],
)
def test_framing_by_the_largest_face(height: float | None, label: str) -> None:
    assert framing(height) == label
