from __future__ import annotations

from pathlib import Path

import pytest

from contextbias.files import StudyFiles
from contextbias.stamps import STAMPS, Stamps


@pytest.fixture
def stamps(tmp_path: Path) -> Stamps:
    made = Stamps(StudyFiles(tmp_path))
    made.keep("report", "f", {"report/a.html": b"<p>", "report/b.csv": b"x"})
    return made


def test_a_part_is_known_while_its_files_are_as_written(stamps: Stamps, tmp_path: Path) -> None:
    assert stamps.get("report") == "f"
    assert stamps.get("estimates") is None
    (tmp_path / "report/b.csv").write_bytes(b"y")
    assert stamps.get("report") is None
    (tmp_path / "report/b.csv").write_bytes(b"x")
    assert stamps.get("report") == "f"
    (tmp_path / "report/b.csv").unlink()
    assert stamps.get("report") is None


@pytest.mark.parametrize(
    "text",
    ["", "garbage", "[]", "null", '"x"', '{"report": 5}', '{"report": {"files": []}}', "\xff"],
)
def test_what_cannot_be_understood_counts_as_not_made(
    stamps: Stamps, tmp_path: Path, text: str
) -> None:
    (tmp_path / STAMPS).write_text(text, "latin-1")
    assert stamps.get("report") is None
    stamps.keep("planted", "g", {"derived/planted": b"p"})
    assert stamps.get("planted") == "g"


def test_dropping_removes_files_and_stamp(stamps: Stamps, tmp_path: Path) -> None:
    stamps.keep("planted", "g", {"derived/planted": b"p"})
    stamps.drop("planted")
    stamps.drop("planted")
    assert not (tmp_path / "derived/planted").exists()
    assert stamps.get("planted") is None
    assert stamps.get("report") == "f"
