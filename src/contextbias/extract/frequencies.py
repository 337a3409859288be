"""Answers that were counted elsewhere: the frequency files of the paper's released code.

The layout is::

    <prefix>_<generator>/<condition folder>/<role>/[<type>/]<prompt>/frequency/frequencies.csv

with the columns cohort, dimension, label, count: one file a prompt, one row an answer, and a row
``totals,images,images`` with the number of images. Every file is read and checked before anything
is taken in, so that a broken one leaves the study as it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from sys import intern

from contextbias.errors import InputError
from contextbias.ids import bytes_sha256
from contextbias.sheets import Sheet, text_of

FREQUENCIES = "frequencies.csv"
"""Name of a file of counts."""
COLUMNS = ("cohort", "dimension", "label", "count")
"""Columns of such a file; others are ignored."""
LAYOUT = "PREFIX_GENERATOR/CONDITION/ROLE/[TYPE/]PROMPT"
"""Folders above ``frequency/`` and ``descriptions/``, as errors name them."""

_TOTALS = "totals"
_LARGEST = 10**9
_SHOWN = 60  # characters of a wrong value that an error repeats

ConditionOf = Callable[[str], str | None]
"""What a folder's name says about the condition; None when it says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a file of the layout stands, and so what it is about."""

    source: str
    """Name of the generator's folder."""
    generator: str
    """Its end, after the last underscore."""
    condition: str
    """``CF``, ``CA-R`` or ``CA-U``."""
    role: str
    """Name of the role's folder, underscores as spaces."""
    prompt: str
    """Name of the prompt's folder, after that of its type where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frequencies:
    """One file of counts."""

    path: Path
    """The file."""
    place: Place
    """What it is about."""
    images: int | None
    """Images that were counted; None where no row says it."""
    counts: tuple[tuple[str, str, str, int], ...]
    """Its other rows: cohort, dimension, label, count; in order, as they stand there."""
    sha256: str
    """Hash of the file."""


def find_files(root: Path, wanted: Callable[[Path], bool]) -> list[Path]:
    """The files below a folder that are wanted, sorted; links to folders are followed once.

    Args:
        root: The folder.
        wanted: Says yes to a path.

    Raises:
        InputError: No such folder, or one inside that cannot be looked into.
    """
    if not root.is_dir():
        seen = "it is a file" if root.exists() else "no such folder"
        raise InputError(f"{root} is not a folder: {seen}", "give the folder of the released files")
    found: list[Path] = []
    been: set[str] = set()
    for folder, inside, names in os.walk(root, onerror=_refuse_folder, followlinks=True):
        real = os.path.realpath(folder)
        if real in been:
            inside.clear()
            continue
        been.add(real)
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        found += [path for path in (Path(folder, name) for name in names) if wanted(path)]
    return sorted(found)


def place_in_layout(root: Path, folder: Path, condition_of: ConditionOf) -> Place:
    """What a prompt's folder is about, by the folders above it.

    Args:
        root: The folder that was given: the layout's root, or any folder of the layout.
        folder: The prompt's folder.
        condition_of: Reads a condition folder's name.

    Raises:
        InputError: The folders are not those of the layout.
    """
    parts = [*Path(os.path.realpath(root)).parts, *folder.relative_to(root).parts]
    # The last one: a folder further up may be called anything.
    marks = [i for i, part in enumerate(parts) if condition_of(part)]
    if not marks or marks[-1] < 2:
        raise InputError(
            f"{folder} is not in a condition folder such as Context-free_CF",
            f"lay the files out as {LAYOUT}",
        )
    at = marks[-1]
    source, rest = parts[at - 1], parts[at + 1 :]
    generator = source.rpartition("_")[2]
    if len(rest) not in (2, 3) or not generator:
        raise InputError(
            f"{folder} is not a prompt's folder: {len(rest)} folders below the condition's, in "
            f"{source!r}",
            f"lay the files out as {LAYOUT}",
        )
    return Place(
        source=source,
        generator=generator,
        condition=str(condition_of(parts[at])),
        role=rest[0].replace("_", " ").strip().lower(),
        prompt="/".join(rest[1:]),
    )


def read_frequencies(root: Path, condition_of: ConditionOf) -> list[Frequencies]:
    """Read every file of counts below a folder.

    Args:
        root: The layout's root, or any folder of the layout down to a role's.
        condition_of: Reads a condition folder's name.

    Returns:
        One for each file, sorted by path; none where there is none.

    Raises:
        InputError: A file is broken (named with its line) or stands elsewhere than in the layout.
    """
    return [
        read_file(path, place_in_layout(root, path.parent.parent, condition_of))
        for path in find_files(root, lambda path: path.name == FREQUENCIES)
    ]


def read_file(path: Path, place: Place) -> Frequencies:
    """Read one file of counts.

    Raises:
        InputError: Named with its line: no UTF-8, a column that is missing, a row with too many or
            too few fields, an empty dimension, a count that is no whole number from 0.
    """
    data = _bytes(path)
    counts: list[tuple[str, str, str, int]] = []
    images: int | None = None
    for line, row in Sheet(text_of(data, str(path)), str(path), COLUMNS).rows():
        cohort, dimension, label, count = (row[name] for name in COLUMNS)
        number = _whole(path, line, count)
        if cohort.strip().lower() == _TOTALS:
            images = number if dimension.strip().lower() == "images" else images
            continue
        if not dimension.strip():
            raise _wrong(path, line, "dimension is empty", "name the dimension")
        # The same few words stand in thousands of files.
        counts.append((intern(cohort), intern(dimension), intern(label), number))
    return Frequencies(
        path=path, place=place, images=images, counts=tuple(counts), sha256=bytes_sha256(data)
    )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot read {path}: {reason}", "check its permissions") from None


def _whole(path: Path, line: int, text: str) -> int:
    """A count as a whole number; ``3.0`` is how some programs write 3."""
    whole, _, fraction = text.strip().partition(".")
    if not (whole.isascii() and whole.isdigit() and not fraction.strip("0")):
        raise _wrong(
            path, line, f"the count {_short(text)} is not a whole number from 0", "correct it"
        )
    if len(whole) > len(str(_LARGEST)) or int(whole) > _LARGEST:
        raise _wrong(path, line, f"the count {_short(text)} is too large", "correct it")
    return int(whole)


def _refuse_folder(error: OSError) -> None:
    reason = (error.strerror or str(error)).lower()
    raise InputError(f"cannot look into {error.filename}: {reason}", "check its permissions")


def _wrong(path: Path, line: int, problem: str, fix: str) -> InputError:
    return InputError(f"{path}, line {line}: {problem}", fix)


def _short(value: str) -> str:
    return repr(value if len(value) <= _SHOWN else value[: _SHOWN - 1] + "…")
