"""CSV as table editors and programs of any country write it, and how each fault is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextbias.errors import InputError
from contextbias.sheets import Sheet, read_text, text_of


def rows(text: str, **columns: object) -> list[tuple[int, dict[str, str]]]:
    given: dict[str, object] = {"needed": ("a", "b"), "known": ("c",), **columns}
    return list(Sheet(text, "t.csv", **given).rows())  # type: ignore[arg-type]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("hint", [False, True])
def test_any_separator_and_line_end(separator: str, end: str, hint: bool) -> None:
    lines = [["", "", ""], ["b ", '"a"', "more"], ["1, 2; 3\t".join('""'), "x", "y"], ["", "", ""]]
    text = end.join([f"sep={separator}"] * hint + [separator.join(line) for line in lines])
    assert rows(text) == [(3 + hint, {"b": "1, 2; 3\t", "a": "x", "more": "y"})]


def test_rows_keep_their_lines_and_cells_stand_as_they_are() -> None:
    text = 'a,b,c,\n\n x ,"one\ntwo"\n,,\ny,z,w,, \n'
    assert rows(text) == [
        (4, {"a": " x ", "b": "one\ntwo", "c": ""}),
        (6, {"a": "y", "b": "z", "c": "w"}),
    ]


def test_a_single_column_with_the_other_separators_in_it() -> None:
    assert rows("a\nx; y\n", needed=("a",)) == [(2, {"a": "x; y"})]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "t.csv is empty. Its header is a,b."),
        (" \n,,\n", "t.csv is empty. Its header is a,b."),
        ("a;d\n", "t.csv has no column 'b'; its header is 'a;d'. Begin it with a line of names, "
         "parted by commas: a,b."),
        ("a,B!\n", "t.csv has no column 'b'; its header is 'a,B!'. Begin it"),
        ("a,b,c,c\n", "t.csv has the column 'c' twice. Keep one of them."),
        ("a,b\n1,2\n3\n", "t.csv, line 3: 1 fields where the header has 2. Put texts with a ',' "
         "into double quotes, and write decimals with a point."),
        ("a,b\n1,0,5\n", "t.csv, line 2: 3 fields where the header has 2."),
        ("a;b\n1;2;5\n", "line 2: 3 fields where the header has 2. Put texts with a ';' into "
         "double quotes."),
        ('sep=;\na;b\n1;2\n"3;4\n', "t.csv, line 4: not CSV (unexpected end of data)."),
        ('"a', "t.csv, line 1: not CSV"),
        (f"a,b\n1,{'x' * 200_000}\n", "t.csv, line 2: not CSV (field larger than"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        rows(text)
    assert str(caught.value).startswith(said) or said in str(caught.value)


def test_other_columns_only_where_they_may_stand() -> None:
    assert rows("a,b,note\n1,2,3\n")[0][1]["note"] == "3"
    with pytest.raises(InputError, match=r"has a column 'needde'\. Did you mean 'needed'"):
        rows("a,needde\n", needed=("a", "needed"), others=False)
    with pytest.raises(InputError, match=r"no column 'needed'.*Did you mean 'needde'"):
        rows("a,needde\n", needed=("a", "needed"))


def test_what_is_no_text(tmp_path: Path) -> None:
    assert text_of(b"\xef\xbb\xbfa,b", "t.csv") == "a,b"
    with pytest.raises(InputError, match=r"t\.csv, line 2: not UTF-8"):
        text_of(b"a,b\ncaf\xe9,1\n", "t.csv")
    with pytest.raises(InputError, match=r"is a folder, not a file"):
        read_text(tmp_path)
    with pytest.raises(InputError, match=r"cannot read .*none\.csv: no such file"):
        read_text(tmp_path / "none.csv")


@given(st.text(alphabet=st.sampled_from('ab,;\t"\r\n \ufeff\0ß'), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = rows(text)
    except InputError:
        return
    assert all({"a", "b"} <= set(row) for _, row in found)
