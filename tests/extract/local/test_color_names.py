import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contextbias.extract.local.color_names import NAMED, name_colors, to_lab
from contextbias.schema import DIMENSIONS

# Hex codes under the name that people give them: mostly the CSS and X11 colours of that name, and
# for the dull names (beige, tan, brown, olive, navy) shades around them.
SWATCHES = {
    "white": "FFFFFF F8F8FF F5F5F5",
    "black": "000000 101010 1A1A1A",
    "gray": "808080 A9A9A9 696969 D3D3D3 2F4F4F",
    "beige": "D9C9AE E8DCC8 C8BBA0",
    "brown": "8B4513 654321 A0522D 5C4033 4B3621",
    "tan": "D2B48C C19A6B D1A77A",
    "cream": "FFFDD0 FFF8E7 F5F5DC FFF5DC",
    "red": "FF0000 DC143C B22222 C00000 8B0000",
    "orange": "FFA500 FF8C00 FF7F00 E2711D",
    "yellow": "FFFF00 FFD700 F7DC6F F4C430",
    "green": "008000 00FF00 2E8B57 228B22 90EE90 006400",
    "teal": "008080 20B2AA 40E0D0 00CED1",
    "blue": "0000FF 4169E1 87CEEB 4682B4 1E90FF ADD8E6",
    "navy": "000080 1B2A49 14213D 001F3F",
    "purple": "800080 8A2BE2 4B0082 9370DB 663399",
    "pink": "FFC0CB FF69B4 FFB6C1 F4A6B5 FF1493",
    "olive": "808000 556B2F 6B8E23 708238",
}


def _name(red: int, green: int, blue: int) -> str:
    lab = to_lab(np.array([[red, green, blue]], dtype=np.uint8))
    return NAMED[name_colors(lab)[0]]


@pytest.mark.parametrize(
    ("name", "code"), [(name, code) for name, codes in SWATCHES.items() for code in codes.split()]
)
def test_swatches_have_their_name(name: str, code: str) -> None:
    assert _name(*bytes.fromhex(code)) == name


def test_every_name_has_swatches_and_is_in_the_schema() -> None:
    assert set(SWATCHES) == set(NAMED)
    assert set(DIMENSIONS["dominant_colors"].vocabulary) - set(NAMED) == {"silver", "gold"}


@given(st.integers(0, 255))
def test_greys_are_white_gray_or_black_in_order_of_lightness(level: int) -> None:
    order = ("black", "gray", "white")
    assert _name(level, level, level) in order
    brighter = min(level + 1, 255)
    assert order.index(_name(level, level, level)) <= order.index(
        _name(brighter, brighter, brighter)
    )


@given(st.floats(0, 100), st.floats(-128, 127), st.floats(-128, 127))
@example(50.0, 40.0, -1e-30)  # a hue of 360.0 after rounding
def test_every_color_has_a_name(light: float, a: float, b: float) -> None:
    assert 0 <= name_colors(np.array([[light, a, b]], dtype=np.float32))[0] < len(NAMED)


def test_lab_of_known_colors() -> None:
    # CIE L*a*b* (D65) of the sRGB primaries, as published: red 53.24, 80.09, 67.20;
    # green 87.73, -86.18, 83.18; blue 32.30, 79.19, -107.86.
    rgb = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]], dtype=np.uint8)
    expected = [[53.24, 80.09, 67.20], [87.73, -86.18, 83.18], [32.30, 79.19, -107.86], [100, 0, 0]]
    np.testing.assert_allclose(to_lab(rgb), expected, atol=0.2)
