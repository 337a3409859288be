"""How anything is written into a study folder: whole or not at all, by whichever process.

`StudyFiles` can be sent to workers. A worker writes what it made (an image and its planted truth)
and then a *receipt*: the row that describes it. The driver appends the row to the store and drops
the receipt. When a run is killed in between, the next one finds the receipts and appends the rows:
what was made is never made twice.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from contextbias.errors import InputError
from contextbias.ids import canonical_json

RECEIPTS = "receipts"
"""Folder of the receipts inside the study."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """A row that was paid for, on its way into the store."""

    table: str
    """Name of the table."""
    row: dict[str, Any]
    """The row's fields, as JSON."""
    path: Path
    """The receipt's file."""


def write_atomic(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a reader, or a crash, sees the old file or the new one.

    Raises:
        InputError: The folder cannot be written in; names it and the reason.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    except OSError as error:
        raise unwritable(path.parent, error) from None
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        part.chmod(0o666 & ~_umask())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise unwritable(path, error) from None
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def unwritable(path: Path, error: OSError) -> InputError:
    """The error for a place that cannot be written: what, why, what to do."""
    reason = (error.strerror or str(error)).lower()
    return InputError(f"cannot write {path}: {reason}", "choose a folder that you can write in")


@dataclass(frozen=True, slots=True)
class StudyFiles:
    """The files of a study folder, without its store; cheap to copy into a worker."""

    root: Path
    """The study folder, absolute."""

    def keep(self, relative: str, data: bytes) -> None:
        """Write a file of the study; `relative` is its path below the root, with slashes."""
        write_atomic(self.root / relative, data)

    def keep_receipt(self, table: str, row: Any) -> Path:
        """Write the receipt of a row (a dataclass of tables.py) and return its path."""
        fields = asdict(row)
        key = next(iter(fields.values()))
        path = self.root / RECEIPTS / f"{table}-{key}-{fields['attempt']}.json"
        write_atomic(path, canonical_json({"table": table, "row": fields}).encode())
        return path

    def receipts(self) -> list[Receipt]:
        """All receipts that wait for the store, sorted by name; half-written files are not ones."""
        found = []
        for path in sorted((self.root / RECEIPTS).glob("*.json")):
            content = json.loads(path.read_bytes())
            found.append(Receipt(content["table"], content["row"], path))
        return found


def _umask() -> int:
    # Reading the mask means setting it; a temporary file is private and has to be opened up again.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
