from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from contextbias import files
from contextbias.errors import InputError
from contextbias.files import StudyFiles, write_atomic
from tests import rows


def test_whole_files_are_written(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.txt"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_files_are_as_open_as_the_user_wants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the mask is never touched: it belongs to all threads of the process."""
    before, set_mask = os.umask(0o027), os.umask
    try:
        monkeypatch.setattr(os, "umask", None)
        write_atomic(tmp_path / "x", b"one")
        assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640
    finally:
        set_mask(before)


def test_an_interruption_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    write_atomic(path, b"old")

    def interrupted(_: Path, __: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match=r"cannot write .*file") as caught:
        write_atomic(tmp_path / "file" / "x", b"")
    assert caught.value.fix == "move what is there out of the way, or choose another name"


def test_a_full_disk_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path, __: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match="no space left on device"):
        write_atomic(tmp_path / "x", b"new")
    assert list(tmp_path.iterdir()) == []


def test_receipts_come_back_as_they_were_and_in_order(tmp_path: Path) -> None:
    study = StudyFiles(tmp_path)
    assert study.receipts() == []
    study.keep_receipt("readings", rows.reading("d2", attempt=2))
    study.keep_receipt("images", rows.image("i1"))
    half = tmp_path / files.RECEIPTS / ".images-i9-1.json.x.part"
    half.write_bytes(b'{"table"')
    found = study.receipts()
    assert [(r.table, r.path.name) for r in found] == [
        ("images", "images-i1-1.json"),
        ("readings", "readings-d2-2.json"),
    ]
    assert found[0].row["provenance"] == {"host": "here"}


def test_a_link_is_followed_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_atomic(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    write_atomic(Path("/dev/null"), b"x")
    assert Path("/dev/null").is_char_device()
    if Path("/dev/full").is_char_device():
        with pytest.raises(InputError, match="no space left on device") as caught:
            write_atomic(Path("/dev/full"), b"x")
        assert caught.value.fix.startswith("make room")
    with pytest.raises(InputError, match="is a directory"):
        write_atomic(tmp_path, b"x")
