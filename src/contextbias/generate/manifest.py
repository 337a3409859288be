"""Manifests of existing images: CSV, TSV or JSONL, one row an image."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextbias.errors import InputError
from contextbias.sheets import Sheet, read_text

COLUMNS = ("path", "role", "condition", "generator", "prompt", "seed")
"""The columns that are read; only ``path`` is required, others than these are ignored."""

MAXIMUM_SEED = 2**63 - 1
"""Largest seed that a study can store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestRow:
    """One line of a manifest; None where the column is missing or empty."""

    line: int
    """Where it stands in the file, from 1."""
    path: str
    """The image."""
    role: str | None
    """Which role it was asked for."""
    condition: str | None
    """As written."""
    generator: str | None
    """Which generator made it."""
    prompt: str | None
    """The prompt or its short name."""
    seed: int | None
    """The seed."""


def read_manifest(manifest: Path) -> list[ManifestRow]:
    """Read a manifest.

    Args:
        manifest: ``.csv`` or ``.tsv`` (with a header; commas, semicolons or tabs) or ``.jsonl`` /
            ``.ndjson`` (one object a line), UTF-8.

    Raises:
        InputError: No such file, another kind of file, a column that looks misspelt, a line that
            cannot be read, or a seed that is no whole number.
    """
    readers = {".csv": _csv_rows, ".tsv": _csv_rows, ".jsonl": _jsonl_rows, ".ndjson": _jsonl_rows}
    reader = readers.get(manifest.suffix.lower())
    if reader is None:
        raise InputError(
            f"{manifest} is neither .csv, .tsv nor .jsonl", "give a CSV, TSV or JSONL manifest"
        )
    text = read_text(manifest)
    rows = [_row(manifest, line, values) for line, values in reader(manifest, text)]
    if not rows:
        raise InputError(f"{manifest} has no rows", "write one row an image")
    return rows


def _csv_rows(manifest: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    sheet = Sheet(text, manifest.name, needed=("path",), known=COLUMNS)
    _check_columns(f"{manifest.name}, line 1", sheet.header)
    yield from sheet.rows()


def _jsonl_rows(manifest: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, content in enumerate(text.split("\n"), start=1):
        if not content.strip():
            continue
        where = f"{manifest.name}, line {line}"
        try:
            values = json.loads(content)
        except ValueError as error:
            raise InputError(f"{where} is not valid JSON: {error}", "correct it") from None
        if not isinstance(values, dict):
            raise InputError(f"{where} is not an object", 'write {"path": ...}')
        _check_columns(where, list(values))
        yield line, values


def _check_columns(where: str, names: list[str]) -> None:
    if "path" not in names:
        raise InputError(
            f"{where} has no column 'path' (seen: {', '.join(names) or 'nothing'})",
            f"name the columns {', '.join(COLUMNS)}",
        )
    for name in names:
        if name in COLUMNS and names.count(name) > 1:
            raise InputError(f"{where} has the column {name!r} twice", "keep one of them")
        if name not in COLUMNS:
            free = [known for known in COLUMNS if known not in names]
            # Stricter than for commands: a column of other things ("caption") may well be there.
            for meant in difflib.get_close_matches(name, free, n=1, cutoff=0.8):
                raise InputError(
                    f"{where} has the unknown column {name!r}", f"did you mean {meant!r}?"
                )


def _row(manifest: Path, line: int, values: dict[str, Any]) -> ManifestRow:
    where = f"{manifest.name}, line {line}"
    texts = {name: _text(where, name, values.get(name)) for name in COLUMNS}
    if not texts["path"]:
        raise InputError(f"{where} has no path", "name the image's file")
    seed = texts.pop("seed")
    if seed and not (seed.isascii() and seed.isdigit() and int(seed) <= MAXIMUM_SEED):
        raise InputError(
            f"{where}: the seed {seed!r} is not a whole number from 0 to 2**63 - 1",
            "correct it or leave it empty",
        )
    optional = {name: text or None for name, text in texts.items() if name != "path"}
    return ManifestRow(line=line, path=texts["path"], seed=int(seed) if seed else None, **optional)


def _text(where: str, name: str, value: object) -> str:
    """One field as text without blanks around it; empty where there is none."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"{where}: {name} is {value!r}", "write a text")
    text = str(value).strip()
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{where}: {name} is not Unicode text", "correct it") from None
    # A prompt may have several lines, and a file any name that the system allows.
    if "\0" in text or (name not in ("path", "prompt") and not text.isprintable()):
        raise InputError(f"{where}: {name} is {text!r}", "take out what cannot be printed")
    return text
