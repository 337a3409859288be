"""How anything is written into a study folder: whole or not at all, by whichever process.

`StudyFiles` can be sent to workers. A worker writes what it made (an image and its planted truth)
and then a *receipt*: the row that describes it. The driver appends the row to the store and drops
the receipt. When a run is killed in between, the next one finds the receipts and appends the rows:
what was made is never made twice.
"""

from __future__ import annotations

import errno
import json
import os
import tempfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from contextbias.errors import InputError, StudyError
from contextbias.ids import canonical_json

RECEIPTS = "receipts"
"""Folder of the receipts inside the study."""

_IN_THE_WAY = {errno.EEXIST, errno.ENOTDIR, errno.EISDIR}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

Row = TypeVar("Row")
"""A row class of tables.py."""


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

    A link is followed, not replaced. What is no file (a pipe, ``/dev/stdout``) is written to.

    Raises:
        InputError: The folder cannot be written in; names it and the reason.
    """
    if _is_special(path):
        _write_into(path, data)
        return
    path = Path(os.path.realpath(path))
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


def _is_special(path: Path) -> bool:
    try:
        return path.exists() and not path.is_file()
    except OSError as error:
        raise unwritable(path, error) from None


def _write_into(path: Path, data: bytes) -> None:
    """Write to what is no regular file, which must not be replaced by one."""
    try:
        with path.open("wb") as stream:
            stream.write(data)
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: Path, error: OSError) -> InputError:
    """The error for a place that cannot be written: what, why, what to do."""
    reason = (error.strerror or str(error)).lower()
    fix = "choose a folder that you can write in"
    if error.errno in _IN_THE_WAY:
        fix = "move what is there out of the way, or choose another name"
    if error.errno in _FULL:
        fix = "make room, then run the same command again; what was finished is kept"
    return InputError(f"cannot write {path}: {reason}", fix)


def unreadable(path: Path, error: OSError) -> InputError:
    """The error for a file or folder that is there and cannot be read."""
    reason = (error.strerror or str(error)).lower()
    is_there = not isinstance(error, FileNotFoundError)
    fix = "check its permissions" if is_there else "check the path"
    return InputError(f"cannot read {path}: {reason}", fix)


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
        values = asdict(row)
        path = self._receipt_path(table, next(iter(values.values())), values["attempt"])
        write_atomic(path, canonical_json({"table": table, "row": values}).encode())
        return path

    def receipt(self, table: str, key: str, attempt: int) -> Receipt | None:
        """The receipt of one row, where it waits for the store; None without.

        Raises:
            StudyError: What lies in its place is none.
            InputError: It cannot be read.
        """
        path = self._receipt_path(table, key, attempt)
        return _receipt(path) if path.exists() else None

    def _receipt_path(self, table: str, key: str, attempt: int) -> Path:
        return self.root / RECEIPTS / f"{table}-{key}-{attempt}.json"

    def receipts(self) -> list[Receipt]:
        """All receipts that wait for the store, sorted by name; half-written files are not ones.

        Raises:
            StudyError: A file there is no receipt. It may stand for something that was paid for,
                so it is neither dropped nor passed over.
            InputError: The folder cannot be looked into.
        """
        folder = self.root / RECEIPTS
        try:
            names = sorted(os.listdir(folder))  # noqa: PTH208 - a glob would find nothing instead
        except FileNotFoundError:
            return []
        except OSError as error:
            raise unreadable(folder, error) from None
        return [_receipt(folder / name) for name in names if name.endswith(".json")]


def not_a_receipt(path: Path, why: str) -> StudyError:
    """The error for a file among the receipts from which no row can be made."""
    return StudyError(
        f"{path} is no receipt of a finished item: {why}",
        "restore it, or move it out of the study; its item is then made again",
    )


def row_of(receipt: Receipt, row_class: type[Row]) -> Row:
    """The row that a receipt stands for, every field of it checked.

    Args:
        receipt: The receipt.
        row_class: The class of tables.py that its table has.

    Raises:
        StudyError: Its fields are not those of the class.
    """
    from pydantic import TypeAdapter, ValidationError

    known = {field.name for field in fields(row_class)}  # type: ignore[arg-type]
    if set(receipt.row) != known:
        wrong = ", ".join(sorted(set(receipt.row) ^ known))
        raise not_a_receipt(receipt.path, f"missing or unknown: {wrong}")
    try:
        return TypeAdapter(row_class).validate_python(receipt.row)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise not_a_receipt(receipt.path, f"{first['loc'][0]}: {first['msg']}") from None


def _receipt(path: Path) -> Receipt:
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise unreadable(path, error) from None
    except ValueError as error:
        raise not_a_receipt(path, f"not JSON ({error})") from None
    if not (
        isinstance(content, dict)
        and isinstance(content.get("table"), str)
        and isinstance(content.get("row"), dict)
    ):
        raise not_a_receipt(path, "it has no table and row")
    return Receipt(content["table"], content["row"], path)


def _umask() -> int:
    # Reading the mask means setting it; a temporary file is private and has to be opened up again.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
