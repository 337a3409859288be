"""Images and receipts that are kept outside the study folder."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path
from uuid import uuid4

import pytest

from contextbias import files as module
from contextbias.errors import ConfigError, InputError, MissingPart
from contextbias.files import StudyFiles, drop_receipts
from contextbias.places import Remote, place_at
from tests import rows

fsspec = pytest.importorskip("fsspec")

KINDS = ["folder", "file", "memory"]


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A folder that is shared, a URL of a file system, and one of an object store."""
    return {
        "folder": str(tmp_path / "shared"),
        "file": f"file://{tmp_path}/shared",
        "memory": f"memory://{uuid4().hex}/study",
    }[request.param]


@pytest.fixture
def files(place: str, tmp_path: Path) -> StudyFiles:
    root = tmp_path / "study"
    root.mkdir()
    return StudyFiles(root, place)


def test_an_image_is_kept_there_and_found_from_here(files: StudyFiles) -> None:
    files.keep("images/g/CF/nurse/1.png", b"png")
    files.keep("images/g/CF/nurse/1.truth.json", b"{}")
    assert list(files.root.iterdir()) == []
    assert files.has("images/g/CF/nurse/1.png")
    assert not files.has("images/g/CF/nurse/2.png")
    path = files.fetched("images/g/CF/nurse/1.png")
    assert path.read_bytes() == b"png"
    assert path.with_suffix(".truth.json").read_bytes() == b"{}"


def test_what_was_kept_after_a_look_is_found_too(files: StudyFiles) -> None:
    files.keep("images/1.png", b"one")
    assert files.has("images/1.png")
    files.keep("images/2.png", b"two")
    assert files.has("images/2.png")


def test_other_files_of_the_study_stay_in_it(files: StudyFiles) -> None:
    files.keep("derived/x.parquet", b"x")
    assert (files.root / "derived/x.parquet").read_bytes() == b"x"


def test_an_image_that_is_in_the_study_is_used(files: StudyFiles) -> None:
    """A place can be named when some images are made already."""
    StudyFiles(files.root).keep("images/1.png", b"earlier")
    assert files.has("images/1.png")
    assert files.path("images/1.png") == files.root / "images/1.png"
    assert files.fetched("images/1.png").read_bytes() == b"earlier"


def test_an_image_that_is_nowhere_is_not_found(files: StudyFiles) -> None:
    if "://" in str(files.images):
        with pytest.raises(FileNotFoundError):
            files.fetched("images/lost.png")
    assert not files.path("images/lost.png").exists()


def test_receipts_wait_there_and_are_dropped(files: StudyFiles) -> None:
    assert files.receipts() == []
    kept = [
        files.keep_receipt("readings", rows.reading("d2", attempt=2)),
        files.keep_receipt("images", rows.image("i1")),
    ]
    early = StudyFiles(files.root).keep_receipt("images", rows.image("i0"))
    found = [r.row["reading_id" if r.table == "readings" else "image_id"] for r in files.receipts()]
    assert found == ["i0", "i1", "d2"]
    assert files.receipt("readings", "d2", 2) is not None
    assert files.receipt("readings", "d2", 1) is None
    drop_receipts([*kept, early])
    drop_receipts(kept)
    assert files.receipts() == []
    assert not list(files.root.rglob("*.json"))


def test_a_machine_without_the_study_folder_reads_all_the_same(
    files: StudyFiles, tmp_path: Path
) -> None:
    files.keep("images/1.png", b"one")
    if not Path(str(files.images)).is_absolute():
        elsewhere = StudyFiles(tmp_path / "not-here", files.images)
        path = elsewhere.fetched("images/1.png")
        assert path.read_bytes() == b"one"
        assert not (tmp_path / "not-here").exists()


def test_copies_of_a_process_that_was_killed_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("atexit.register", lambda *_, **__: None)
    child = subprocess.Popen(["true"])
    child.wait()
    names = [
        f"contextbias-copies-{child.pid}-x",
        "contextbias-copies-1-x",
        "contextbias-copies-a-b",
    ]
    for name in names:
        (tmp_path / name).mkdir()
    module._scratch.cache_clear()
    mine = module._scratch()
    module._scratch.cache_clear()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*names[1:], mine.name}


def test_a_mark_is_seen_where_the_place_is(files: StudyFiles, tmp_path: Path) -> None:
    where = files.leave(".seen-1")
    assert StudyFiles(tmp_path / "not-here", files.images).sees(".seen-1")
    assert not StudyFiles(tmp_path / "not-here").sees(".seen-1")
    drop_receipts([where])
    assert not StudyFiles(files.root, files.images).sees(".seen-1")


def test_a_file_is_there_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = Remote(f"file://{tmp_path}/x")
    system = fsspec.filesystem("file")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(type(system), "mv", full)
    with pytest.raises(InputError, match=r"cannot write file://.*No space left") as caught:
        remote.write("a.png", b"data")
    assert caught.value.fix == "make room"
    assert not remote.has("a.png")


def test_in_an_object_store_nothing_is_half_written_and_nothing_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed(*_: object, **__: object) -> None:
        raise AssertionError("a bucket of a million images")

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "find", listed)
    StudyFiles(tmp_path, f"memory://{uuid4().hex}").sweep()


def test_a_half_written_file_that_goes_by_itself_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its writer, on another machine, was not dead and has just given it its name."""
    remote = Remote(f"file://{tmp_path}")
    system = type(fsspec.filesystem("file"))
    monkeypatch.setattr(system, "find", lambda *_, **__: [f"{tmp_path}/.gone.part"])
    remote.sweep()


def test_a_place_that_cannot_be_reached_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise ConnectionError("no route")

    url = f"memory://{uuid4().hex}"
    monkeypatch.setattr(type(fsspec.filesystem("memory")), "find", gone)
    with pytest.raises(InputError, match=r"memory://\w+ cannot be looked into: no route"):
        StudyFiles(tmp_path, url).has("images/1.png")


@pytest.mark.parametrize(
    ("url", "error", "message"),
    [
        ("nosuch://x", ConfigError, "Protocol not known: nosuch"),
        ("s3://bucket/x", MissingPart, "s3fs"),
    ],
)
def test_a_url_that_cannot_be_used_says_why(
    url: str, error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        place_at(url, tmp_path)
