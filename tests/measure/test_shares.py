"""Reading a table of reference shares: what is accepted, and how each fault is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import CHECKOUT

from contextbias.errors import InputError
from contextbias.measure.shares import SHARES_SCHEMA, read_shares

HEADER = "role,dimension,label,share,source\n"


def read(tmp_path: Path, text: str) -> list[tuple[object, ...]]:
    path = tmp_path / "shares.csv"
    path.write_text(text, "utf-8")
    frame = read_shares(path)
    assert dict(frame.schema) == SHARES_SCHEMA
    return frame.rows()


def test_lines_become_rows_with_the_even_share(tmp_path: Path) -> None:
    text = (
        "\ufeffsource, label,dimension,role,share\n"
        "x, female ,gender_presentation,nurse,0.88\n"
        "\n"
        "x,young_adult,age_range,nurse,0.4, ,\n"  # as some table editors end a row
        "x,middle_aged,age_range,nurse,.5\n"
        "x,older_adult,age_range,nurse,1e-1\n"
        "x,gloves,accessories,nurse,0.7\n"
        "x,mask,accessories,nurse,0.8\n"
    )
    third = pytest.approx(1 / 3)
    assert read(tmp_path, text) == [
        ("nurse", "gender_presentation", "female", 0.88, 0.5),
        ("nurse", "age_range", "young_adult", 0.4, third),
        ("nurse", "age_range", "middle_aged", 0.5, third),
        ("nurse", "age_range", "older_adult", 0.1, third),
        ("nurse", "accessories", "gloves", 0.7, 0.5),
        ("nurse", "accessories", "mask", 0.8, 0.5),
    ]


def test_labels_of_an_open_vocabulary_are_taken_as_they_are(tmp_path: Path) -> None:
    assert read(tmp_path, HEADER + "nurse,items,drip stand,0.2,x\n")[0][2] == "drip stand"


def test_the_example_can_be_read_and_says_that_it_is_made_up() -> None:
    path = CHECKOUT / "docs/examples/shares.csv"
    assert read_shares(path).height == 9
    assert all("FICTIONAL" in line for line in path.read_text("utf-8").splitlines()[1:])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["is empty", "role,dimension,label,share"]),
        (HEADER, ["has no shares", "role,dimension,label,share"]),
        ("role,dimension,label,shares\n", ["no column 'share'", "'role,dimension,label,shares'"]),
        ("role,role,dimension,label,share\n", ["the column 'role' twice"]),
        (HEADER + "nurse,gender_presentation,female\n", ["line 2", "3 fields"]),
        (HEADER + "nurse,gender_presentation,,0.3,x\n", ["line 2", "label is empty"]),
        # A decimal comma: the share is not 0.
        (HEADER + "nurse,gender_presentation,female,0,88,x\n", ["6 fields", "header has 5"]),
        (HEADER + 'nurse,gender_presentation,female,"0,88",x\n', ["'0,88'", "with a point"]),
        ("role;dimension;label;share\nnurse;mood;calm;0,88\n", ["line 2", "'0,88'", "a point"]),
        (HEADER + "nurse,gender,female,0.3,x\n", ["line 2", "no dimension 'gender'"]),
        (HEADER + "nurse,age_rnage,teen,0.3,x\n", ["did you mean 'age_range'"]),
        (HEADER + "nurse,gender_presentation,woman,0.3,x\n", ["'woman'", "female, male"]),
        (HEADER + "nurse,gender_presentation,femal,0.3,x\n", ["did you mean 'female'"]),
        (HEADER + "nurse,gender_presentation,female,88,x\n", ["line 2", "'88'", "0.88 for 88%"]),
        (HEADER + "nurse,gender_presentation,female,88%,x\n", ["'88%'", "0.88 for 88%"]),
        (HEADER + "nurse,gender_presentation,female,-.1,x\n", ["'-.1'", "fraction of 1"]),
        (HEADER + "nurse,gender_presentation,female,nan,x\n", ["'nan'"]),
        (HEADER + "nurse,gender_presentation,female,many,x\n", ["'many'"]),
        (
            HEADER + "nurse,accessories,mask,0.3,x\n\nnurse,accessories,mask,0.4,y\n",
            ["line 4", "nurse, accessories, mask", "line 2"],
        ),
        (
            HEADER + "nurse,skin_tone,light,0.5,x\nnurse,skin_tone,dark,0.4,x\n",
            ["line 3", "add up to 0.9", "one label alone"],
        ),
        (HEADER + 'nurse,accessories,"mask,0.3\n', ["not CSV"]),
    ],
)
def test_a_fault_names_line_and_value(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    for word in words:
        assert word.lower() in str(caught.value).lower()


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv"):
        read_shares(tmp_path / "none.csv")
    path = tmp_path / "latin.csv"
    path.write_bytes(b"role,dimension,label,share\ncaf\xe9,mood,calm,0.1\n")
    with pytest.raises(InputError, match="UTF-8"):
        read_shares(path)


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("any") / "shares.csv"
    path.write_bytes(text.encode("utf-8", "replace"))
    with pytest.raises(InputError):
        read_shares(path)
