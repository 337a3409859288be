"""The list of roles that a bank is to be built for: CSV, or one role a line."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from contextbias.bench.check import soc_major_groups
from contextbias.config import RESERVED_NAMES
from contextbias.errors import InputError, nearest
from contextbias.files import unreadable

COLUMNS = ("role", "about", "form", "soc")
"""Columns of the list; only the first has to be there."""


@dataclass(frozen=True, slots=True)
class WantedRole:
    """One role of the list."""

    name: str
    """Lower case, as tables have it."""
    about: str = ""
    """What it is, for the language model: ``paints house fronts``."""
    form: str = ""
    """As a sentence has it; empty: proposed, or the name."""
    soc: str = ""
    """Major group of the 2018 SOC; empty: none, or proposed."""


def read_roles(path: Path) -> list[WantedRole]:
    """Read a list of roles.

    Args:
        path: ``.csv`` with a header (`COLUMNS`), or any other text file with one role a line; empty
            lines and lines that begin with # are passed over.

    Raises:
        InputError: It cannot be read, is empty, has an unknown column, or a role twice.
    """
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start})", "save it so") from None
    rows = _rows(text, path) if path.suffix.lower() == ".csv" else _lines(text)
    found: dict[str, WantedRole] = {}
    for line, row in rows:
        role = _role(row, f"{path} line {line}")
        if role.name in found:
            raise InputError(f"{path} line {line}: {role.name!r} is there twice", "take one out")
        found[role.name] = role
    if not found:
        raise InputError(f"{path} has no role", "write one role a line")
    return list(found.values())


def _lines(text: str) -> list[tuple[int, dict[str, str]]]:
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return [(number, {"role": line}) for number, line in lines if line and line[0] != "#"]


def _rows(text: str, path: Path) -> list[tuple[int, dict[str, str]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    names = [name.strip() for name in reader.fieldnames or ()]
    for name in names:
        if name not in COLUMNS:
            hint = nearest(name, list(COLUMNS)) or f"columns are {', '.join(COLUMNS)}"
            raise InputError(f"{path} has a column {name!r}", hint)
    if "role" not in names:
        raise InputError(f"{path} has no column 'role'", f"columns are {', '.join(COLUMNS)}")
    reader.fieldnames = names
    found = []
    try:
        for row in reader:
            if None in row or None in row.values():
                problem = f"{path} line {reader.line_num} has more or fewer fields than the header"
                raise InputError(problem, "put texts with a comma into double quotes")
            if any(value.strip() for value in row.values()):
                found.append((reader.line_num, row))
    except csv.Error as error:
        raise InputError(f"{path} line {reader.line_num} is not CSV: {error}") from None
    return found


def _role(row: dict[str, str], where: str) -> WantedRole:
    texts = {name: " ".join(row.get(name, "").split()) for name in COLUMNS}
    name = texts["role"].lower()
    if not any(letter.isalpha() for letter in name) or not name.isprintable() or "," in name:
        raise InputError(f"{where}: {texts['role']!r} is no name of a role", "write a plain name")
    if name in RESERVED_NAMES:
        raise InputError(f"{where}: {name!r} has a meaning of its own in the tables", "rename it")
    if texts["soc"] and texts["soc"] not in soc_major_groups():
        raise InputError(
            f"{where}: {texts['soc']!r} is no major group of SOC 2018", "such as 29-0000"
        )
    given = texts["form"] or (texts["role"] if texts["role"] != name else "")
    return WantedRole(name, texts["about"], given, texts["soc"])
