"""A program that defines something anew makes again what rests on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.pipeline.test_changes import STUDY, run

from contextbias.pipeline import definitions as module
from contextbias.pipeline import derived, paid, status
from contextbias.pipeline.definitions import PACKAGES, definitions
from contextbias.store import Study


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small package in the place of ours."""
    root = tmp_path / "contextbias"
    for name in {name for names in PACKAGES.values() for name in names}:
        (root / name / "__pycache__").mkdir(parents=True)
        (root / name / "first.py").write_bytes(b"RATE = 1\n")
    monkeypatch.setattr(module, "files", lambda _: root)
    definitions.cache_clear()
    yield root
    definitions.cache_clear()


def changed(package: Path, file: str, data: bytes) -> set[str]:
    """Tables whose definitions differ after a file was written."""
    before = {table: definitions(table) for table in PACKAGES}
    (package / file).write_bytes(data)
    definitions.cache_clear()
    return {table for table in PACKAGES if definitions(table) != before[table]}


def test_a_table_depends_on_the_source_of_its_packages(package: Path) -> None:
    assert changed(package, "stats/first.py", b"RATE = 2\n") == {"estimates"}
    assert changed(package, "measure/more.py", b"") == {"estimates"}
    everything = {"attributes", "label_counts", "planted", "estimates"}
    assert changed(package, "schema/codebook.toml", b"mood = []\n") == everything
    assert changed(package, "generate/planted.toml", b"") == {"planted"}
    (package / "report/templates").mkdir()
    assert changed(package, "report/templates/page.html", b"<p>") == {"report"}


def test_line_ends_and_compiled_files_do_not_count(package: Path) -> None:
    assert changed(package, "stats/first.py", b"RATE = 1\r\n") == set()
    assert changed(package, "stats/__pycache__/first.pyc", b"\0") == set()


def test_the_real_packages_are_there() -> None:
    assert len({definitions(table) for table in PACKAGES}) == 4
    assert all(definitions(table) == definitions(table) for table in PACKAGES)


@pytest.mark.parametrize(
    ("table", "again"),
    [
        ("attributes", ["attributes", "estimates", "report"]),
        ("estimates", ["estimates", "report"]),
        ("report", ["report"]),
    ],
)
def test_an_update_is_seen_and_its_tables_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, again: list[str]
) -> None:
    root = tmp_path / "study"
    Study.create(root, STUDY).close()
    run(root)
    monkeypatch.setattr(
        derived, "definitions", lambda name: "new" if name == table else definitions(name)
    )
    with Study.open(root) as study:
        assert status(study)["stale"] == again
    done = run(root, "canonicalise", "measure", "report")
    stage = {"attributes": "canonicalise", "estimates": "measure", "report": "report"}[table]
    assert done[stage].new > 0
    with Study.open(root) as study:
        assert status(study)["stale"] == []


def test_planted_probabilities_are_worked_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "study"
    Study.create(root, STUDY).close()
    run(root)
    with Study.open(root) as study:
        before = study.fingerprint("planted")
    monkeypatch.setattr(paid, "definitions", lambda _: "new")
    done = run(root, "generate", "measure")
    with Study.open(root) as study:
        assert study.fingerprint("planted") != before
    assert done["generate"].new == 0
    assert done["measure"].new > 0
