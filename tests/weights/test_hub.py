"""Where a model's files are, what tells them apart, and what is said where they cannot be had."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from contextbias.errors import MissingPart
from contextbias.weights.hub import Source, has_token, is_commit, is_folder

huggingface_hub = pytest.importorskip("huggingface_hub", reason="needs the extra `transformers`")

COMMIT = "0123456789abcdef" * 2 + "01234567"


def errors() -> list[Any]:
    from httpx import Request, Response
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    answer = Response(403, request=Request("GET", "https://huggingface.co"))
    return [
        (GatedRepoError("no", response=answer), "accepted their licence", "HF_TOKEN"),
        (RepositoryNotFoundError("no", response=answer), "not on huggingface.co", "correct"),
        (RevisionNotFoundError("no", response=answer), "not on huggingface.co", "correct"),
        (HFValidationError("a b"), "not on huggingface.co", "correct"),
        (EntryNotFoundError("no model_index.json"), "lacks a file.*model_index", "correct"),
        (LocalEntryNotFoundError("offline"), "cannot be fetched", "connect it once"),
        (PermissionError(errno.EACCES, "no", "/cache"), "cannot be kept.*/cache", "HF_HOME"),
        (OSError(errno.ENOSPC, "No space left"), "cannot be kept.*No space", "make room"),
    ]


@pytest.mark.parametrize(("error", "said", "fix"), errors(), ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("is_hidden", [False, True])
def test_weights_that_cannot_be_had(
    error: Exception, said: str, fix: str, is_hidden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The libraries in between put errors of their own over the one that tells."""

    def fails(*_: Any, **__: Any) -> str:
        if not is_hidden:
            raise error
        try:
            raise error
        except Exception as cause:
            raise OSError("cannot load the model") from cause

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fails)
    with pytest.raises(MissingPart) as told:
        Source("owner/tiny").snapshot(["*.json"])
    if not is_hidden:
        assert told.match(said)
    assert fix in told.value.fix
    assert "owner/tiny" in str(told.value)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("/models/x", True),
        ("./x", True),
        ("~/x", True),
        ("a/b/c", True),
        ("owner/name", False),
        ("name", False),
    ],
)
def test_what_means_a_folder(model: str, expected: bool) -> None:
    assert is_folder(model) is expected
    assert Source(model).is_pinned is expected


def test_a_name_of_a_folder_that_is_there_means_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not is_folder("owner/name")
    (tmp_path / "owner/name").mkdir(parents=True)
    assert is_folder("owner/name")


def test_a_commit_is_its_whole_hash() -> None:
    assert is_commit(COMMIT)
    assert not is_commit(COMMIT[:12])
    assert not is_commit("main")
    assert Source("a/b", COMMIT).is_pinned
    assert not Source("a/b").is_pinned
    assert list(Source("a/b", COMMIT).warnings("images")) == []
    (told,) = Source("a/b").warnings("readings")
    assert "'main' of a/b is not pinned" in told
    assert "the first readings name" in told


def test_what_was_loaded_of_a_repository_is_its_commit(tmp_path: Path) -> None:
    source = Source("a/b")
    assert source.identity(tmp_path / COMMIT, ()) == {"model": "a/b", "revision": COMMIT}
    assert source.identity(tmp_path / "elsewhere", ()) == {"model": "a/b", "revision": "main"}


def test_what_was_loaded_of_a_folder_is_told_by_both_ends_of_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "unet").mkdir(parents=True)
    weights = folder / "unet" / "weights.bin"
    weights.write_bytes(bytes(200_000))
    source = Source(str(folder))

    def revision() -> str:
        return source.identity(folder, folder.rglob("*"))["revision"]

    before = revision()
    assert before.startswith("files ")
    (folder / ".lock").write_text("hidden files do not count")
    assert revision() == before
    for at, is_seen in ((0, True), (100_000, False), (199_999, True)):
        data = bytearray(200_000)
        data[at] = 1
        weights.write_bytes(bytes(data))
        assert (revision() != before) is is_seen
    moved = folder.rename(tmp_path / "moved")
    weights = moved / "unet" / "weights.bin"
    weights.write_bytes(bytes(200_000))
    assert Source(str(moved)).identity(moved, moved.rglob("*"))["revision"] == before


def test_a_token_is_found_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    assert not has_token()
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    assert has_token()
