"""The list of roles that a bank is to be built for: CSV, or one role a line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from contextbias.bench.builder.sheet import read_sheet, read_text
from contextbias.bench.check import soc_major_groups
from contextbias.config import RESERVED_NAMES
from contextbias.errors import InputError

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
    is_csv = path.suffix.lower() == ".csv"
    rows = read_sheet(path, COLUMNS, COLUMNS[:1]) if is_csv else _lines(read_text(path))
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
