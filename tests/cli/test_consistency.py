"""``contextbias consistency`` as a user calls it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from contextbias.cli.main import main

ROWS = """\
generator,role,dimension,label,condition,count,n
g,nurse,mood,calm,CF,3,30
g,nurse,mood,calm,CA-R,35,70
g,nurse,mood,calm,CA-U,64,80
"""


@pytest.fixture
def counts() -> Path:
    path = Path("COUNTS.csv")
    path.write_text(ROWS)
    return path


def _run(*args: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["consistency", *args])
    return int(ended.value.code or 0)


def test_to_stdout(counts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _run(str(counts)) == 0
    out, err = capfd.readouterr()
    assert out.splitlines()[0].startswith("generator,role,dimension,label,x_CF")
    assert len(out.splitlines()) == 3
    assert err == ""


def test_to_a_file(counts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _run(str(counts)) == 0
    printed, _ = capfd.readouterr()
    assert _run(str(counts), "--out", "result.csv") == 0
    out, err = capfd.readouterr()
    assert out == ""
    assert "result.csv" in err
    assert Path("result.csv").read_text() == printed


def test_from_stdin(counts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _run(str(counts)) == 0
    printed, _ = capfd.readouterr()
    kept = os.dup(0)
    with counts.open() as stream:
        os.dup2(stream.fileno(), 0)
        try:
            assert _run("-") == 0
        finally:
            os.dup2(kept, 0)
            os.close(kept)
    assert capfd.readouterr().out == printed


def test_options_change_the_rule(counts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _run(str(counts), "--margin", "75") == 0
    out, _ = capfd.readouterr()
    assert ",inconclusive," in out


def test_a_share_in_the_place_of_points_is_said(
    counts: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert _run(str(counts), "--margin", "0.05") == 0
    assert "0.05 percentage points; for 5 points, give 5" in capfd.readouterr().err


def test_bad_input_is_one_line(counts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    counts.write_text(ROWS.replace("64,80", "81,80"))
    assert _run(str(counts)) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err == "contextbias: COUNTS.csv, line 4: count 81 is above n 80.\n"


def test_the_counts_are_never_replaced(counts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _run(str(counts), "--out", "./COUNTS.csv") == 2
    assert "would replace the counts" in capfd.readouterr().err
    assert counts.read_text() == ROWS


def test_an_out_that_is_a_folder(counts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _run(str(counts), "--out", ".") == 2
    assert len(capfd.readouterr().err.splitlines()) == 1
