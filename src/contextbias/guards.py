"""What is looked at before a study folder is opened: that it is one, whole, and not in use."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from contextbias.errors import StudyError
from contextbias.files import RECEIPTS, StudyFiles, unreadable, unwritable

CONFIG_FILE = "study.toml"
STORE_FILE = "study.sqlite"


def check_name(root: Path) -> None:
    """Refuse a folder whose name cannot be written down."""
    try:
        str(root).encode()
    except UnicodeEncodeError:
        raise StudyError(f"the name of {root} is not UTF-8", "rename the folder") from None


def check_is_study(root: Path) -> None:
    """Refuse a folder that holds no study.

    Raises:
        StudyError: There is no study.toml in it.
        InputError: It cannot be looked into.
    """
    check_name(root)
    try:
        found, there, folder = (root / CONFIG_FILE).is_file(), root.exists(), root.is_dir()
    except OSError as error:
        raise unreadable(root, error) from None
    if not found:
        seen = f"it has no {CONFIG_FILE}" if folder else "it is a file"
        seen = seen if there else "no such folder"
        raise StudyError(f"{root} is not a study: {seen}", "make one with `contextbias init DIR`")


def check_store_is_there(root: Path) -> None:
    """Refuse to begin anew over what was paid for: a study that has run has its store."""
    path = root / STORE_FILE
    log = path.with_name(f"{path.name}-wal")
    lost = not path.exists() or (path.stat().st_size == 0 and not log.exists())
    if lost and any((root / name).is_dir() for name in ("derived", RECEIPTS)):
        raise StudyError(
            f"{path} is gone or empty, but this study has run",
            "restore it from a copy; or delete derived/ and receipts/ to make everything anew",
        )


def take_lock(
    root: Path,
    name: str = ".lock",
    fix: str = "wait for it, or stop it, then run again",
) -> int:
    """Take a lock of the study, or refuse; returns the open lock file.

    Args:
        root: The study's folder.
        name: ``.lock`` for what `run` writes; people's answers have a lock of their own, so that
            they can come in while a study runs.
        fix: What to do when another program has it.
    """
    path = root / name
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise unwritable(root, error) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise StudyError(f"another contextbias is writing in {root}", fix) from None
    except OSError as error:  # some file systems of clusters know no locks
        os.close(handle)
        reason = (error.strerror or str(error)).lower()
        raise StudyError(
            f"{path} cannot be locked: {reason}",
            "keep the study where files can be locked (Lustre: mounted with `flock`), and only its "
            "images in the shared folder, by [run] images",
        ) from None
    return handle


def sweep_after_a_crash(files: StudyFiles, lock: int) -> None:
    """Take away what a killed run left half-written, and write into the lock file whose it is."""
    # The lock file is empty after a clean end. What a killed run left half-written can go.
    if os.fstat(lock).st_size:
        files.sweep()
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
