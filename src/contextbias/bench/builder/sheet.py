"""A table that a person edits: CSV without any column but those that are known."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path

from contextbias import sheets


def read_text(path: Path) -> str:
    """The text of a file, composed (NFC): editors differ in how they store an umlaut.

    Raises:
        InputError: It cannot be read, or is not UTF-8.
    """
    return unicodedata.normalize("NFC", sheets.read_text(path))


def read_sheet(
    path: Path, columns: Sequence[str], needed: Sequence[str]
) -> list[tuple[int, dict[str, str]]]:
    """Read the rows of a CSV with a header; comma, semicolon or tab part the cells.

    Args:
        path: The file.
        columns: Names that the header may have, in any order.
        needed: Those that it must have.

    Returns:
        Line of the file and cells by column, of each row that is not empty.

    Raises:
        InputError: As `sheets.Sheet`, with its line; a column of another name is one too.
    """
    sheet = sheets.Sheet(read_text(path), str(path), needed, columns, others=False)
    return list(sheet.rows())
