"""A whole study whose images are kept elsewhere: in a shared folder, and at a URL."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from contextbias.cli.main import main

pytest.importorskip("fsspec")

STUDY = """
[study]
images_per_prompt = 1
[bench]
roles = ["nurse"]
[[generators]]
name = "one"
backend = "simulated"
options = {{ size = 64 }}
[[readers]]
name = "reader"
backend = "simulated"
[measure]
bootstrap = 0
[run]
workers = 2
images = "{place}"
"""


def contextbias(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


@pytest.fixture(params=["folder", "url"])
def study(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    folder.mkdir()
    place = "../elsewhere" if request.param == "folder" else f"file://{tmp_path}/elsewhere"
    (folder / "study.toml").write_text(STUDY.format(place=place))
    return folder


def test_a_study_runs_and_its_report_shows_the_images(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert contextbias("run", str(study)) == 0
    elsewhere = study.parent / "elsewhere"
    kept = {str(path.relative_to(elsewhere)) for path in elsewhere.rglob("*.png")}
    assert len(kept) == 18
    assert not list((elsewhere / ".receipts").glob("*"))
    connection = sqlite3.connect(study / "study.sqlite")
    stored = {str(row[0]) for row in connection.execute("SELECT path FROM images")}
    assert stored == {f"images/{path}" for path in kept}  # as in a study without a place
    assert dict(connection.execute("SELECT status, count(*) FROM readings GROUP BY 1")) == {
        "ok": 18
    }
    connection.close()
    page = (study / "report" / "index.html").read_text("utf-8")
    assert "webp" in page
    capsys.readouterr()
    assert contextbias("run", str(study)) == 0
    assert "Everything was done already" in capsys.readouterr().err


def test_an_image_that_is_gone_from_there_is_said(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert contextbias("generate", str(study)) == 0
    lost = min((study.parent / "elsewhere").rglob("*.png"))
    lost.unlink()
    assert contextbias("extract", str(study)) == 3
    assert f"{lost.name}: the file is gone" in capsys.readouterr().err


def test_the_report_comes_out_where_the_images_are_gone(study: Path) -> None:
    assert contextbias("run", str(study), "--until", "measure") == 0
    for path in [*study.rglob("*.png"), *(study.parent / "elsewhere").rglob("*.png")]:
        path.unlink()
    assert contextbias("report", str(study)) == 0
    assert (study / "report" / "index.html").is_file()


def test_images_that_were_made_before_stay_where_they_are(tmp_path: Path) -> None:
    """A place can be given to a study that has begun."""
    study = tmp_path / "study"
    study.mkdir()
    text = STUDY.format(place="../elsewhere")
    (study / "study.toml").write_text(text.replace("images =", "# images ="))
    assert contextbias("generate", str(study), "--limit", "5") == 0
    (study / "study.toml").write_text(text)
    assert contextbias("run", str(study), "--until", "extract") == 0
    assert len(list((study / "images").rglob("*.png"))) == 5
    assert len(list((tmp_path / "elsewhere").rglob("*.png"))) == 13


def test_two_studies_do_not_share_a_place(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Receipts there would be taken for rows of whichever comes first."""
    assert contextbias("generate", str(study), "--limit", "1") == 0
    other = study.with_name("other")
    other.mkdir()
    (other / "study.toml").write_text((study / "study.toml").read_text())
    assert contextbias("generate", str(other)) == 2
    assert f"keeps the images of the study {study}" in capsys.readouterr().err
    assert not (other / "images").exists()
    assert contextbias("generate", str(study), "--limit", "1") == 0


def test_a_study_is_the_same_by_whichever_path(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert contextbias("generate", str(study), "--limit", "1") == 0
    link, below = study.parent / "link", study.parent / "below"
    link.symlink_to(study)
    below.mkdir()
    monkeypatch.chdir(below)
    for path in (link, Path("../study")):
        assert contextbias("generate", str(path), "--limit", "1") == 0, capsys.readouterr().err
    assert len(list((study.parent / "elsewhere").rglob("*.png"))) == 3
