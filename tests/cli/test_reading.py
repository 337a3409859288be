"""`contextbias reading`: one image, every reading, answers as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.rows import image, reader
from typer.testing import CliRunner

from contextbias.cli.main import app
from contextbias.errors import InputError
from contextbias.extract.vision.kept import packed
from contextbias.schema import empty_record
from contextbias.store import Study
from contextbias.tables import ReadingRow


def row(reading_id: str, image_id: str, name: str, **raw: Any) -> ReadingRow:
    return ReadingRow(
        reading_id=reading_id, attempt=1, image_id=image_id, reader=name, reader_fingerprint="f1",
        schema_version="1", status="ok", reason=None, record=empty_record(), raw=raw, seconds=1.0,
        created_at="2026-01-01T00:00:00+00:00",
    )  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with Study.create(tmp_path / "s", "") as study:
        study.append_images(
            [image("abc1", path="images/a/1.png"), image("abd2", path="images/b/1.png")]
        )
        study.append_readers([reader("r")])
        study.append_readings(
            [
                row("x1", "abc1", "seer", answers=packed(['{"mood": "ruhig – still"}', "second"])),
                row("x2", "abc1", "other", boxes=[1]),
                row("x3", "abc1", "broken", answers=["no packed text"]),
            ]
        )
    return tmp_path / "s"


def shown(root: Path, *words: str) -> dict[str, Any]:
    found = CliRunner().invoke(app, ["reading", str(root), *words])
    assert found.exit_code == 0, found.exception
    return dict(json.loads(found.stdout))


@pytest.mark.parametrize("word", ["images/a/1.png", "a/1.png", "abc1", "abc"])
def test_an_image_is_found_by_its_path_its_end_or_its_id(root: Path, word: str) -> None:
    assert shown(root, word)["image_id"] == "abc1"


def test_an_image_is_found_by_its_file_from_here(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = root / "images/a/1.png"
    file.parent.mkdir(parents=True)
    file.touch()
    monkeypatch.chdir(root.parent)
    assert shown(root, "s/images/a/1.png")["image_id"] == "abc1"
    assert shown(root, str(file))["image_id"] == "abc1"
    monkeypatch.chdir(file.parent)
    assert shown(root, "1.png")["image_id"] == "abc1"  # and not that of images/b


def test_answers_are_text_again_and_all_readers_are_there(root: Path) -> None:
    found = {each["reader"]: each for each in shown(root, "abc1")["readings"]}
    assert found["seer"]["raw"]["answers"] == ['{"mood": "ruhig – still"}', "second"]
    assert found["other"]["raw"] == {"boxes": [1]}
    assert "no packed text" in found["broken"]["raw_fault"]
    assert found["seer"]["record"] == empty_record()


def test_one_reader(root: Path) -> None:
    assert [each["reader"] for each in shown(root, "abc1", "--reader", "seer")["readings"]] == [
        "seer"
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["zzz"], "no image 'zzz'"),
        (["1.png"], "names 2 images"),
        (["abd2"], "has not been read"),
        (["abc1", "--reader", "sear"], "did you mean 'seer'"),
        (["abc1", "--reader", "zz"], "it was read by"),
    ],
)
def test_what_cannot_be_shown_is_said(root: Path, words: list[str], said: str) -> None:
    found = CliRunner().invoke(app, ["reading", str(root), *words])
    assert isinstance(found.exception, InputError)
    assert said in str(found.exception).lower() or said in str(found.exception)
