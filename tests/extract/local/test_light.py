import numpy as np
import pytest

from contextbias.extract.local.light import lightness, luminance, white_luminance


@pytest.mark.parametrize(
    ("rgb", "expected"),
    [((255, 255, 255), 1.0), ((0, 0, 0), 0.0), ((0, 255, 0), 0.7152), ((188, 188, 188), 0.503)],
)
def test_luminance(rgb: tuple[int, int, int], expected: float) -> None:
    # Level 188 is ((188/255 + 0.055) / 1.055) ** 2.4 = 0.503 of the light of level 255.
    assert luminance(np.array([rgb], dtype=np.uint8))[0] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("y", "white", "expected"),
    [(1, 1, 100), (0.1842, 1, 50), (0.5, 0.5, 100), (0.8, 0.5, 100), (0, 1, 0), (0.001, 1, 0.9033)],
)
def test_lightness(y: float, white: float, expected: float) -> None:
    # 116 * 0.1842 ** (1/3) - 16 = 50.0; below 0.008856 L* = 903.3 y.
    assert lightness(y, white) == pytest.approx(expected, abs=0.02)


def test_white_leaves_lamps_out_and_night_stays_dark() -> None:
    picture = np.full((100, 100, 3), 188, dtype=np.uint8)
    picture[:2] = 255
    assert white_luminance(picture) == pytest.approx(0.503, abs=1e-3)
    assert white_luminance(np.zeros((10, 10, 3), dtype=np.uint8)) == 0.05
