"""A table that a person edits: CSV, as table editors of any country write it."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from contextbias.errors import InputError, nearest
from contextbias.files import unreadable

_SEPARATORS = ",;\t"


def read_text(path: Path) -> str:
    """The text of a file, composed (NFC): editors differ in how they store an umlaut.

    Raises:
        InputError: It cannot be read, or is not UTF-8.
    """
    try:
        return unicodedata.normalize("NFC", path.read_text("utf-8-sig"))
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 text (byte {error.start})",
            "save it as such: table editors ask for the character set of a CSV",
        ) from None


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
        InputError: It cannot be read, lacks a column or has an unknown one, or a row has cells that
            the header has not; the message names the line.
    """
    text = read_text(path)
    skipped = 0
    if text[:4].lower() == "sep=":  # a hint for one editor
        text, skipped = text.partition("\n")[2], 1
    separator = _separator(text, columns)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    found = []
    try:
        reader.fieldnames = _checked(reader.fieldnames or (), columns, needed, path)
        for row in reader:
            line = reader.line_num + skipped
            beyond = row.pop(None, None) or []
            if None in row.values() or any(cell.strip() for cell in beyond):
                raise InputError(
                    f"{path} line {line} has more or fewer fields than the header",
                    f"put texts with a {separator!r} into double quotes",
                )
            if any(value.strip() for value in row.values()):
                found.append((line, row))
    except csv.Error as error:
        # The DictReader's own number is that of the last line that was whole.
        line = reader.reader.line_num + skipped
        raise InputError(f"{path} line {line} is not CSV: {error}", "correct it") from None
    return found


def _separator(text: str, columns: Sequence[str]) -> str:
    """The one that makes the most columns of the header."""
    head = text.lstrip("\r\n").partition("\n")[0].replace('"', "")

    def known(separator: str) -> int:
        return sum(cell.strip() in columns for cell in head.split(separator))

    return max(_SEPARATORS, key=known)


def _checked(
    header: Sequence[str], columns: Sequence[str], needed: Sequence[str], path: Path
) -> list[str]:
    names = [name.strip() for name in header]
    while names and not names[-1]:  # separators without a cell at the end
        names.pop()
    for name in names:
        if name not in columns:
            hint = nearest(name, list(columns)) or f"columns are {', '.join(columns)}"
            raise InputError(f"{path} has a column {name!r}", hint)
        if names.count(name) > 1:
            raise InputError(f"{path} has the column {name!r} twice", "keep one of them")
    for name in needed:
        if name not in names:
            raise InputError(f"{path} has no column {name!r}", f"columns are {', '.join(columns)}")
    return names
