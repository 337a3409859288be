from __future__ import annotations

import sqlite3
from dataclasses import fields

import pytest

from contextbias.errors import StudyError
from contextbias.migrations import TABLES, check_version, create_tables
from contextbias.tables import STORE_VERSION


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


@pytest.mark.parametrize("version", [0, STORE_VERSION])
def test_known_versions_pass(version: int) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute(f"PRAGMA user_version = {version}")
    check_version(connection, "here")
    connection.close()


def test_a_newer_version_is_refused() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute(f"PRAGMA user_version = {STORE_VERSION + 1}")
    with pytest.raises(StudyError, match=r"here was written by a newer contextbias .*2.*1"):
        check_version(connection, "here")
    connection.close()
