from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextbias.report import formats


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.12345, "0.123"), (-0.5, "−0.500"), (-0.0004, "0.000"), (None, "–"), (nan, "–"), (inf, "–")],
)
def test_a_number_has_three_decimals_and_a_true_minus(value: float | None, text: str) -> None:
    assert formats.plain(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0416, "+0.042"), (-0.0416, "−0.042"), (0.0001, "0.000"), (None, "–")]
)
def test_a_difference_has_its_sign(value: float | None, text: str) -> None:
    assert formats.signed(value) == text


def test_shares_are_percentages() -> None:
    assert formats.percent(0.3333) == "33.3%"
    assert formats.share_interval(0.2, 0.456) == "[20.0, 45.6]"
    assert formats.share_interval(None, 0.456) == ""


def test_counts_have_thin_spaces() -> None:
    assert formats.whole(66240) == "66\N{NARROW NO-BREAK SPACE}240"


@pytest.mark.parametrize(
    ("value", "text"), [(0.0004, "<0.001"), (0.001, "0.001"), (1.0, "1.000"), (None, "–")]
)
def test_small_p_values_are_bounds(value: float | None, text: str) -> None:
    assert formats.p_value(value) == text


def test_only_the_sign_of_a_contrast_becomes_a_minus() -> None:
    assert formats.minus("CA-U - CA-R") == "CA-U − CA-R"


@given(st.none() | st.floats(allow_nan=True, allow_infinity=True))
def test_no_number_is_printed_as_python_would(value: float | None) -> None:
    for write in (formats.plain, formats.signed, formats.percent, formats.whole):
        assert not set(write(value)) & set("naif-e")
