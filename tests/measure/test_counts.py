"""COUNTS.csv: what is refused, and what comes out."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl
import pytest

from contextbias.errors import CountsError
from contextbias.measure.counts import RESULT_COLUMNS, consistency_csv, read_counts

HEADER = "generator,role,dimension,label,condition,count,n"
GOOD = """\
g,nurse,mood,calm,CF,3,30
g,nurse,mood,calm,CA-R,35,70
g,nurse,mood,calm,CA-U,64,80
"""
# The paper's table 2, row "Carpenter", as counts.
CARPENTER = "\n".join(
    f"{generator},carpenter,gender_presentation,male,{condition},{count},{n}"
    for generator, last in {"SDXL": 60, "SD3.5": 60, "FLUX.1": 56, "Qwen-Image": 60}.items()
    for condition, count, n in (("CF", 20, 20), ("CA-R", 50, 50), ("CA-U", last, 60))
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "COUNTS.csv"


def _write(path: Path, rows: str, header: str = HEADER) -> Path:
    path.write_text(f"{header}\n{rows}")
    return path


def _result(path: Path) -> pl.DataFrame:
    return pl.read_csv(io.StringIO(consistency_csv(path)))


def test_columns_and_order(path: Path) -> None:
    text = consistency_csv(_write(path, GOOD))
    assert text.splitlines()[0] == ",".join(RESULT_COLUMNS)
    assert text.splitlines()[0].startswith(
        "generator,role,dimension,label,x_CF,n_CF,x_CA-R,n_CA-R,x_CA-U,n_CA-U,"
        "prevalence_pct,range_pp,chi2,df,p,q,ccs,invariant,verdict,n_generators,"
        "invariant_generators"
    )


def test_paper_row(path: Path) -> None:
    # Printed: prevalence 100 100 97 100, range 0 0 6.7 0, chi2 0 0 4.81 0, p 1 1 .09 1, CCS 78.2,
    # invariant in 3 of 4
    found = _result(_write(path, CARPENTER))
    assert found["generator"].to_list() == ["SDXL", "SD3.5", "FLUX.1", "Qwen-Image", "mean"]
    row = found.row(2, named=True)
    assert round(row["prevalence_pct"]) == 97
    assert round(row["range_pp"], 1) == 6.7
    assert round(row["chi2"], 2) == 4.81
    assert round(row["p"], 2) == 0.09
    assert found["invariant"].to_list() == [True, True, False, True, None]
    mean = found.row(4, named=True)
    assert round(mean["ccs"], 1) == 78.2
    assert (mean["n_generators"], mean["invariant_generators"]) == (4, 3)


@pytest.mark.shared
def test_every_printed_value_of_table_2(shared: Path) -> None:
    found = _result(shared / "data" / "table2_gender_counts.csv")
    printed = pl.read_csv(shared / "data" / "table2_gender_printed.csv")
    keys = ["generator", "role", "dimension", "label"]
    cells = printed.join(found, on=keys, suffix="_found", maintain_order="left")
    assert cells.height == printed.height == 36
    digits = {"prevalence_pct": 0, "range_pp": 1, "chi2": 2, "p": 2}
    for column, places in digits.items():
        ours = [round(value, places) for value in cells[f"{column}_found"]]
        assert ours == cells[column].to_list(), column
    means = printed.join(
        found.filter(generator="mean").drop("generator"), on=keys[1:], suffix="_found"
    )
    assert means.height == 36
    assert [round(value, 1) for value in means["ccs"]] == means["ccs_mean"].to_list()
    assert (means["invariant_generators_found"] == means["invariant_generators"]).all()


def test_booleans_missing_and_rounding(path: Path) -> None:
    lines = consistency_csv(_write(path, GOOD)).splitlines()
    cell = dict(zip(RESULT_COLUMNS, lines[1].split(","), strict=True))
    assert cell["invariant"] == "false"
    assert cell["verdict"] == "shifted"
    assert cell["p_exact"] == cell["note"] == cell["n_generators"] == ""
    assert cell["prevalence_pct"] == repr(100 * 102 / 180)
    assert cell["x_CF"] == "3"
    mean = dict(zip(RESULT_COLUMNS, lines[2].split(","), strict=True))
    assert mean["generator"] == "mean"
    assert {key for key, value in mean.items() if value} == {
        "generator", "role", "dimension", "label", "ccs", "n_generators", "invariant_generators",
    }  # fmt: skip


def test_a_condition_without_a_row_is_not_zero(path: Path) -> None:
    (cell, mean) = _result(_write(path, "".join(GOOD.splitlines(True)[::2]))).rows(named=True)
    assert (cell["x_CA-R"], cell["n_CA-R"]) == (None, None)
    assert cell["df"] == 1
    assert cell["range_pp"] == pytest.approx(70)
    assert cell["ccs"] is None
    assert cell["note"] == "two_conditions"
    assert (mean["ccs"], mean["n_generators"]) == (None, 0)


def test_q_goes_over_all_rows_of_the_file(path: Path) -> None:
    rows = GOOD + GOOD.replace("g,", "h,")
    found = _result(_write(path, rows))
    assert found["q"][0] == pytest.approx(found["p"][0])  # two equal tests: p * 2 / 2
    rows += "".join(f"h,nurse,mood,tense,{c},{x},{n}\n" for c, x, n in
                    (("CF", 12, 30), ("CA-R", 28, 70), ("CA-U", 16, 80)))  # fmt: skip
    found = _result(_write(path, rows))
    assert found["q"][0] == pytest.approx(found["p"][0] * 3 / 2)


def test_line_ends_marks_blanks_and_other_columns_are_accepted(path: Path) -> None:
    lines = [
        "n , count,condition,label,dimension,role,generator,comment",
        '30, 3.0 ,CF,calm,mood,"nurse, night",g,"a ""word"""',
        "",
        '70,35,CA-R,calm,mood,"nurse, night",g,',
    ]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    found = read_counts(path)
    assert found["role"].to_list() == ["nurse, night"] * 2
    assert found["count"].to_list() == [3, 35]
    assert found["n"].to_list() == [30, 70]


def test_n_may_differ_between_labels(path: Path) -> None:
    _write(path, GOOD + "g,nurse,mood,tense,CF,3,31\n")
    assert read_counts(path)["n"].to_list()[-1] == 31
    assert ",tense,3,31," in consistency_csv(path)


def _error(path: Path) -> str:
    with pytest.raises(CountsError) as caught:
        consistency_csv(path)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("g,nurse,mood,tense,CF,3.5,30", "line 5: count '3.5' is not a whole number"),
        ("g,nurse,mood,tense,CF,,30", "line 5: count is empty"),
        ("g,nurse,mood,tense,CF,3,", "line 5: n is empty"),
        ("g,nurse,mood,tense,CF,nan,30", "line 5: count 'nan' is not a whole number"),
        ("g,nurse,mood,tense,CF,1e1,30", "line 5: count '1e1' is not a whole number"),
        ("g,nurse,mood,tense,CF,-3,30", "line 5: count '-3' is negative"),
        ("g,nurse,mood,tense,CF,3,-30", "line 5: n '-30' is negative"),
        ("g,nurse,mood,tense,CF,31,30", "line 5: count 31 is above n 30"),
        ("g,nurse,mood,tense,CF,3,99999999999999999999", "is too large"),
        ("g,nurse,mood,tense,CAR,3,30", "line 5: unknown condition 'CAR'"),
        ("g,nurse,mood,calm,CF,3,30", "line 5: 'g', 'nurse', 'mood', 'calm', 'CF' was already"),
        ("g,,mood,tense,CF,3,30", "line 5: role is empty"),
        ("mean,nurse,mood,tense,CF,3,30", "line 5: a generator has the name 'mean'"),
        ("g,nurse,mood,tense,CF,3", "line 5: 6 fields where the header has 7"),
        ("g,nurse,mood,tense,CF,3,30,9", "line 5: 8 fields where the header has 7"),
        ('g,nurse,mood,"tense,CF,3,30', "not CSV"),
    ],
)
def test_a_wrong_row_is_named_with_its_line(path: Path, row: str, problem: str) -> None:
    message = _error(_write(path, GOOD + row + "\n"))
    assert problem in message
    assert str(path) in message


def test_further_wrong_rows_are_counted(path: Path) -> None:
    rows = GOOD.replace(",3,30", ",33,30").replace(",35,70", ",77,70")
    assert "line 2: count 33 is above n 30 (and 1 more such row)" in _error(_write(path, rows))


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (HEADER.replace("count", "cuont"), "no column 'count'"),
        (HEADER.replace("count", "cuont"), "Did you mean 'cuont'"),
        (HEADER.replace(",n", ",n,n"), "the column 'n' twice"),
    ],
)
def test_a_wrong_header_is_named(path: Path, header: str, problem: str) -> None:
    assert problem in _error(_write(path, GOOD, header))


def test_files_that_are_none(path: Path, tmp_path: Path) -> None:
    assert "cannot read" in _error(path)
    assert "is a folder" in _error(tmp_path)
    path.write_text(" \n\n")
    assert "is empty" in _error(path)
    _write(path, "")
    assert "no rows" in _error(path)
    path.write_bytes(f"{HEADER}\n".encode() + "g,café,mood,calm,CF,3,30".encode("latin-1"))
    assert "line 2: not UTF-8" in _error(path)
    path.write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    assert "not UTF-8" in _error(path)


@pytest.mark.parametrize(("margin", "alpha"), [(0.0, 0.05), (5.0, 0.7), (float("nan"), 0.05)])
def test_options_are_checked(path: Path, margin: float, alpha: float) -> None:
    with pytest.raises(CountsError, match="must lie between"):
        consistency_csv(_write(path, GOOD), margin_pp=margin, alpha=alpha)


def test_intervals_and_expected_range_stand_at_the_end(path: Path) -> None:
    row = _result(_write(path, GOOD)).row(0, named=True)
    assert row["range_low"] < row["range_pp"] < row["range_high"]
    assert row["ccs_low"] < row["ccs"] < row["ccs_high"]
    assert row["range_expected"] == pytest.approx(11.8, abs=0.1)
    assert row["prevalence_unweighted_pct"] == pytest.approx((10 + 50 + 80) / 3)


def test_the_mean_of_generators_without_a_test_is_empty(path: Path) -> None:
    # One condition: nothing could be compared, which is not "invariant in 0 generators".
    one = "".join(line for line in CARPENTER.splitlines(True) if ",CF," in line)
    mean = _result(_write(path, one)).filter(pl.col("generator") == "mean").row(0, named=True)
    assert (mean["ccs"], mean["n_generators"]) == (None, 0)
    assert mean["invariant_generators"] is None


@pytest.mark.parametrize("separator", [";", "\t"])
def test_counts_of_table_editors(path: Path, separator: str) -> None:
    text = f"{HEADER}\n{GOOD}".replace(",", separator)
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert read_counts(path)["count"].to_list() == [3, 35, 64]


def test_all_kinds_of_faults_are_told_in_the_order_of_lines(path: Path) -> None:
    rows = [
        "g,nurse,mood,calm,CF,31,30",
        "g,nurse,mood,calm,cf,3,30",
        "g,,mood,calm,CA-R,3,x",
        "g,nurse,mood,sad,CF,3,30",
        "g,nurse,mood,sad,CF,4,30",
        "g,nurse,mood,calm,ca_r,3,30",
        "g,nurse,mood,calm,cf,3,30",
        "g,nurse,mood,calm,CF,3",
        "what is below cannot be told",
    ]
    assert _error(_write(path, "\n".join(rows))) == (
        f"{path} has 7 kinds of faults: line 2: count 31 is above n 30; "
        "line 3: unknown condition 'cf' (and 1 more such row) (did you mean 'CF'?); "
        "line 4: role is empty; line 4: n 'x' is not a whole number; "
        "line 6: 'g', 'nurse', 'mood', 'sad', 'CF' was already given in line 5 "
        "(keep one row a condition); "
        "line 7: unknown condition 'ca_r' (did you mean 'CA-R'?); "
        "line 9: 6 fields where the header has 7 "
        "(put texts with a ',' into double quotes, and write decimals with a point). "
        "Correct these lines."
    )


def test_ten_kinds_of_faults_are_told(path: Path) -> None:
    rows = [
        ",nurse,mood,calm,CF,1,2", "g,,mood,calm,CF,1,2", "g,nurse,,calm,CF,1,2",
        "g,nurse,mood,,CF,1,2", "g,nurse,mood,calm,,1,2", "g,nurse,mood,calm,CF,,2",
        "g,nurse,mood,calm,CF,1,", "mean,nurse,mood,calm,CF,1,2", "g,nurse,mood,calm,cf,1,2",
        "g,nurse,mood,calm,CF,-1,2", "g,nurse,mood,calm,CF,1,-2", "g,nurse,mood,calm,CF,9,2",
    ]  # fmt: skip
    message = _error(_write(path, "\n".join(rows)))
    assert "has 12 kinds of faults: line 2: generator is empty" in message
    assert "line 11: count '-1' is negative; and 2 more. Correct" in message
