"""Text normalisation: by example, and total, idempotent, indifferent to spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextbias.canonicalise import normalise


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Lab Coat", "lab coat"),
        ("  lab\t coat \n", "lab coat"),
        ("lab-coat", "lab coat"),
        ("lab_coat", "lab coat"),
        ("T-Shirt", "t shirt"),
        ("chef's jacket", "chef jacket"),
        ("chef’s jacket", "chef jacket"),
        ("chefs' jacket", "chefs jacket"),
        ("jacket/coat", "jacket coat"),
        ("salt & pepper", "salt and pepper"),
        ("stethoscope.", "stethoscope"),
        ('"hat"', "hat"),
        ("2-piece suit", "2 piece suit"),
        ("ＬＡＢ ｃｏａｔ", "lab coat"),  # full width
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("béret", "béret"),
        ("be\u0301ret", "béret"),  # combining accent
        # Words stay as they are: the plural of one is not the singular of another.
        ("glasses", "glasses"),
        ("gloves", "gloves"),
        ("overalls", "overalls"),
        # Nothing but symbols is its own label; nothing at all is nothing.
        ("???", "???"),
        ("'s", "'s"),
        ("  ", ""),
        ("", ""),
    ],
)
def test_examples(text: str, expected: str) -> None:
    assert normalise(text) == expected


@given(st.text())
def test_total_and_idempotent(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert once == once.strip()
    assert bool(once) == bool(text.strip())


@given(st.text())
def test_case_and_space_do_not_matter(text: str) -> None:
    assert normalise(text.casefold()) == normalise(text)
    assert normalise(f"\n{text}\t ") == normalise(text)


@given(st.lists(st.text("abc", min_size=1), min_size=1), st.sampled_from(" -_/,.\t"))
def test_separators_do_not_matter(words: list[str], separator: str) -> None:
    assert normalise(separator.join(words)) == " ".join(words)
