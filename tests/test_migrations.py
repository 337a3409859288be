from __future__ import annotations

import sqlite3
from dataclasses import fields
from pathlib import Path

import pytest

from contextbias.database import Database
from contextbias.errors import StudyError
from contextbias.migrations import TABLES, check_version, create_tables
from contextbias.tables import STORE_VERSION, FrequencyRow


def test_tables_have_the_columns_and_keys_of_their_rows() -> None:
    connection = sqlite3.connect(":memory:")
    create_tables(connection)
    for name, (row_class, key) in TABLES.items():
        columns = list(connection.execute(f"PRAGMA table_info({name})"))
        assert [column[1] for column in columns] == [field.name for field in fields(row_class)]
        primary = sorted((column[5], column[1]) for column in columns if column[5])
        assert tuple(column for _, column in primary) == key
    connection.close()


def test_creating_twice_keeps_what_is_there() -> None:
    connection = sqlite3.connect(":memory:")
    create_tables(connection)
    connection.execute("INSERT INTO prompts (prompt_id) VALUES ('p')")
    create_tables(connection)
    assert connection.execute("SELECT count(*) FROM prompts").fetchone() == (1,)
    connection.close()


def test_what_an_older_study_lacks_reads_as_empty(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    connection = sqlite3.connect(path)
    create_tables(connection)
    connection.execute("DROP TABLE frequencies")
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    before = path.read_bytes()
    database = Database(path, writing=False)
    assert database.rows(FrequencyRow, "SELECT * FROM frequencies") == []
    database.close()
    assert path.read_bytes() == before
    upgraded = Database(path, writing=True)
    upgraded.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (STORE_VERSION,)
    assert connection.execute("SELECT count(*) FROM frequencies").fetchone() == (0,)
    connection.close()


@pytest.mark.parametrize("version", [0, STORE_VERSION])
def test_known_versions_pass(version: int) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute(f"PRAGMA user_version = {version}")
    check_version(connection, "here")
    connection.close()


def test_a_newer_version_is_refused() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute(f"PRAGMA user_version = {STORE_VERSION + 1}")
    with pytest.raises(
        StudyError, match=rf"here was .* newer .*{STORE_VERSION + 1}.*{STORE_VERSION}"
    ):
        check_version(connection, "here")
    connection.close()
