"""How anything is written into a study folder: whole or not at all, by whichever process.

`StudyFiles` can be sent to workers. A worker writes what it made (an image and its planted truth)
and then a *receipt*: the row that describes it. Both go to the study folder, or to the place that
``[run] images`` names, which machines without that folder can reach. The driver appends the row to
the store and drops the receipt. When a run is killed in between, the next one finds the receipts
and appends the rows: what was made is never made twice.
"""

from __future__ import annotations

import atexit
import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from contextbias.errors import InputError, StudyError
from contextbias.ids import canonical_json
from contextbias.places import Folder, Place, Remote, part_name, place_at, remove

IMAGES = "images"
"""Folder of the images inside the study."""

RECEIPTS = "receipts"
"""Folder of the receipts inside the study."""

BATCHES = "batches"
"""Folder of what was sent to a provider's Batch API, inside the study."""

TRUTH_SUFFIX = ".truth.json"
"""The planted record of ``images/x.png`` lies beside it as ``images/x.truth.json``."""

_RECEIPTS_ELSEWHERE = ".receipts"
_OWNER = ".study"

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
    path: Path | str
    """The receipt's file; a text where it is a URL."""


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
        part = path.with_name(part_name())
        stream = part.open("xb")
    except OSError as error:
        raise unwritable(path.parent, error) from None
    try:
        with stream:
            stream.write(data)
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
    """The files of a study, without its store; cheap to copy into a worker."""

    root: Path
    """The study folder, absolute."""
    images: str | None = None
    """Where ``images/`` and the receipts are instead: ``[run] images`` of study.toml."""

    def keep(self, relative: str, data: bytes) -> None:
        """Write a file of the study; `relative` is its path below the root, with slashes."""
        place, name = self._elsewhere(relative)
        if place is None:
            write_atomic(self.root / relative, data)
        else:
            place.write(name, data)

    def claim(self) -> None:
        """Make the place of images this study's own: receipts there are taken for its rows.

        Raises:
            StudyError: It is another study's.
            InputError: It cannot be reached or written.
        """
        place = self._place()
        if place is None:
            return
        mine, owner = os.path.realpath(self.root), None
        if place.has(_OWNER):
            owner = place.read(_OWNER).decode("utf-8", "replace")
        if owner is None:
            place.write(_OWNER, mine.encode())
        elif os.path.realpath(owner) != mine:
            raise StudyError(
                f"{self.images} keeps the images of the study {owner}",
                "give each study a place of its own; if this study was moved, remove "
                f"{place.where(_OWNER)}",
            )

    def look_again(self) -> None:
        """Forget which images a URL was seen to have: others may have been there since."""
        if isinstance(place := self._place(), Remote):
            place.look_again()

    def has(self, relative: str) -> bool:
        """Whether a file is there, here or in the place of the images."""
        place, name = self._elsewhere(relative)
        return (self.root / relative).is_file() or (place is not None and place.has(name))

    def path(self, relative: str) -> Path:
        """Where a file is, or will be once it was fetched; nothing is fetched."""
        place, name = self._elsewhere(relative)
        if isinstance(place, Folder) and place.has(name):
            return place.root / name
        return self.root / relative

    def fetched(self, relative: str) -> Path:
        """Where a file can be opened: out of a URL, it is copied into the study folder.

        What lies beside an image (its planted truth) comes with it. On a machine without the study
        folder, the copy is made in a folder that goes with this process.

        Raises:
            FileNotFoundError: It is neither here nor there.
            InputError: The place cannot be reached.
        """
        place, name = self._elsewhere(relative)
        path = self.path(relative)
        if not isinstance(place, Remote) or path.is_file():
            return path
        path = (self.root if self.root.is_dir() else _scratch()) / relative
        if not path.is_file():
            beside = f"{name.rpartition('.')[0]}{TRUTH_SUFFIX}"
            if place.has(beside):
                write_atomic(path.with_name(beside.rpartition("/")[2]), place.read(beside))
            write_atomic(path, place.read(name))
        return path

    def sweep(self) -> None:
        """Remove what was half-written when a run was killed, here and in the place of images."""
        Folder(self.root).sweep()
        if (place := self._place()) is not None:
            place.sweep()

    def where(self) -> str:
        """The place of images and receipts, in words."""
        return str(self.root) if self.images is None else self.images

    def leave(self, name: str) -> Path | str:
        """Leave a small file in the place of images and receipts; returns where it is."""
        place = self._place()
        if place is not None:
            return place.write(name, b"seen")
        write_atomic(self.root / name, b"seen")
        return self.root / name

    def sees(self, name: str) -> bool:
        """Whether what `leave` has left on another machine can be seen here."""
        place = self._place()
        return (self.root / name).is_file() if place is None else place.has(name)

    def keep_receipt(self, table: str, row: Any) -> Path | str:
        """Write the receipt of a row (a dataclass of tables.py) and return where it is."""
        values = asdict(row)
        data = canonical_json({"table": table, "row": values}).encode()
        name = _receipt_name(table, next(iter(values.values())), values["attempt"])
        place = self._place()
        if place is not None:
            return place.write(f"{_RECEIPTS_ELSEWHERE}/{name}", data)
        write_atomic(self.root / RECEIPTS / name, data)
        return self.root / RECEIPTS / name

    def receipt(self, table: str, key: str, attempt: int) -> Receipt | None:
        """The receipt of one row, where it waits for the store; None without.

        Raises:
            StudyError: What lies in its place is none.
            InputError: It cannot be read.
        """
        return self._receipt_there(_receipt_name(table, key, attempt))

    def receipts(self) -> list[Receipt]:
        """All receipts that wait for the store, sorted by name; half-written files are not ones.

        Raises:
            StudyError: A file there is no receipt. It may stand for something that was paid for,
                so it is neither dropped nor passed over.
            InputError: The folder cannot be looked into.
        """
        names = [name for name in self._receipt_names() if name.endswith(".json")]
        return [found for name in names if (found := self._receipt_there(name)) is not None]

    def _receipt_names(self) -> list[str]:
        place, folder = self._place(), self.root / RECEIPTS
        try:
            here = sorted(os.listdir(folder))  # noqa: PTH208 - a glob would find nothing instead
        except FileNotFoundError:
            here = []
        except OSError as error:
            raise unreadable(folder, error) from None
        there = [] if place is None else place.names(_RECEIPTS_ELSEWHERE)
        return sorted({*here, *there})

    def _receipt_there(self, name: str) -> Receipt | None:
        path, place = self.root / RECEIPTS / name, self._place()
        if path.exists():
            return _receipt(path)
        if place is None:
            return None
        try:
            data = place.read(f"{_RECEIPTS_ELSEWHERE}/{name}")
        except FileNotFoundError:
            return None
        where = place.where(f"{_RECEIPTS_ELSEWHERE}/{name}")
        return _receipt_of(where, data)

    def _place(self) -> Place | None:
        return None if self.images is None else place_at(self.images, self.root)

    def _elsewhere(self, relative: str) -> tuple[Place | None, str]:
        """The place of a file and its name there; None for one of the study folder."""
        inside = relative.startswith(f"{IMAGES}/")
        return (self._place() if inside else None), relative.removeprefix(f"{IMAGES}/")


def drop_receipts(receipts: Iterable[Path | str]) -> None:
    """Remove receipts whose rows are in the store."""
    for receipt in receipts:
        if isinstance(receipt, Path):
            receipt.unlink(missing_ok=True)
        else:
            remove(receipt)


_COPIES = "contextbias-copies-"


@cache
def _scratch() -> Path:
    """A folder for copies of images, until this process ends."""
    folder = passing_folder(_COPIES)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def passing_folder(prefix: str, within: str | None = None) -> Path:
    """Make a folder for files of this process; those that killed ones have left are removed.

    Args:
        prefix: Of its name.
        within: Where; None for the usual folder of temporary files.
    """
    for old in Path(within or tempfile.gettempdir()).glob(f"{prefix}*-*"):
        if not _is_running(old.name.removeprefix(prefix).partition("-")[0]):
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=within))


def _is_running(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (ValueError, OSError):  # not ours to judge
        return True
    return True


def _receipt_name(table: str, key: str, attempt: int) -> str:
    return f"{table}-{key}-{attempt}.json"


def not_a_receipt(path: Path | str, why: str) -> StudyError:
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
        return _receipt_of(path, path.read_bytes())
    except OSError as error:
        raise unreadable(path, error) from None


def _receipt_of(path: Path | str, data: bytes) -> Receipt:
    try:
        content = json.loads(data)
    except ValueError as error:
        raise not_a_receipt(path, f"not JSON ({error})") from None
    if not (
        isinstance(content, dict)
        and isinstance(content.get("table"), str)
        and isinstance(content.get("row"), dict)
    ):
        raise not_a_receipt(path, "it has no table and row")
    return Receipt(content["table"], content["row"], path)
