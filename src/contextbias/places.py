"""Where a run keeps images and receipts when it is not the study folder: a folder, or a URL.

Workers on other machines cannot write into the study folder unless all machines share it. A place
is somewhere that they all see: a mounted folder, or whatever fsspec can write to (``s3://``,
``gs://``, ``az://``, ``sftp://`` …). Names in a place have slashes and no leading one.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from contextbias.errors import ConfigError, InputError, MissingPart, one_line, pip_install

_RENAMING = frozenset({"file", "local", "ftp", "sftp", "ssh", "smb", "hdfs", "webhdfs"})
# File systems, where a file that is being written can be seen. In object stores it cannot.


_HALF_WRITTEN = ".*.part"
# Names of files on their way to their own, beside it.


def part_name() -> str:
    """A name, which no other file has, for what is half-written; `Place.sweep` knows it."""
    return f".{uuid4().hex}.part"


class Place(Protocol):
    """Somewhere outside the study folder."""

    def write(self, name: str, data: bytes) -> Path | str:
        """Write a file whole or not at all; returns where it is."""
        ...

    def where(self, name: str) -> Path | str:
        """Where a file is: a path, or a URL as text."""
        ...

    def read(self, name: str) -> bytes:
        """Its bytes.

        Raises:
            FileNotFoundError: There is none of that name.
        """
        ...

    def has(self, name: str) -> bool:
        """Whether there is one of that name."""
        ...

    def names(self, folder: str) -> list[str]:
        """Names of the files right in a folder, sorted; none where it is not there."""
        ...

    def sweep(self) -> None:
        """Remove what was half-written when its writer was killed."""
        ...


@dataclass(frozen=True)
class Remote:
    """A URL that fsspec can write to."""

    url: str
    """Without a slash at the end."""
    _listed: set[str] = field(default_factory=set, compare=False)

    def write(self, name: str, data: bytes) -> str:
        """Write a file, beside and renamed where others could see half of it."""
        files, path = self._files(), self._path(name)
        folder = path.rpartition("/")[0]
        try:
            files.makedirs(folder, exist_ok=True)
            if not _is_renaming(files):
                files.pipe_file(path, data)
                return self.where(name)
            part = f"{folder}/{part_name()}"
            files.pipe_file(part, data)
            files.mv(part, path)
        except Exception as error:  # every file system has errors of its own
            raise _unwritable(self.where(name), error) from None
        return self.where(name)

    def where(self, name: str) -> str:
        """Its URL."""
        return f"{self.url}/{name}"

    def read(self, name: str) -> bytes:
        """Its bytes."""
        data: bytes = self._files().cat_file(self._path(name))
        return data

    def has(self, name: str) -> bool:
        """Whether there is one; everything is listed once, and what is new asked for."""
        if not self._listed:
            self._files().invalidate_cache()
            start = len(self._path(""))
            found = self._reached(lambda files: files.find(self._path("")))
            self._listed.update(path[start:].lstrip("/") for path in found)
        if name in self._listed:
            return True
        return bool(self._reached(lambda files: files.exists(self._path(name))))

    def look_again(self) -> None:
        """Forget what was listed."""
        self._listed.clear()

    def names(self, folder: str) -> list[str]:
        """Names right in a folder, sorted."""
        self._files().invalidate_cache()
        try:
            found = self._reached(lambda files: files.ls(self._path(folder), detail=False))
        except FileNotFoundError:
            return []
        return sorted(path.rstrip("/").rpartition("/")[2] for path in found)

    def sweep(self) -> None:
        """Remove what was half-written; in an object store nothing is."""
        if not _is_renaming(self._files()):
            return
        self._files().invalidate_cache()
        for path in self._reached(lambda files: files.find(self._path(""))):
            if fnmatch(path.rpartition("/")[2], _HALF_WRITTEN):
                with suppress(FileNotFoundError):
                    self._reached(lambda files, path=path: files.rm_file(path))

    def _reached(self, ask: Any) -> Any:
        try:
            return ask(self._files())
        except FileNotFoundError:
            raise
        except Exception as error:
            raise InputError(
                f"{self.url} cannot be looked into: {_said(error)}",
                "check [run] images in study.toml, the credentials, and that it can be reached",
            ) from None

    def _files(self) -> Any:
        return _file_system(self.url)[0]

    def _path(self, name: str) -> str:
        base = str(_file_system(self.url)[1]).rstrip("/")
        return f"{base}/{name}" if name else base


@dataclass(frozen=True)
class Folder:
    """A folder that all machines see under one path."""

    root: Path
    """Absolute."""

    def write(self, name: str, data: bytes) -> Path:
        """Write a file by writing beside it and renaming."""
        from contextbias.files import write_atomic

        write_atomic(self.root / name, data)
        return self.root / name

    def where(self, name: str) -> Path:
        """Its path."""
        return self.root / name

    def read(self, name: str) -> bytes:
        """Its bytes."""
        return (self.root / name).read_bytes()

    def has(self, name: str) -> bool:
        """Whether there is one."""
        return (self.root / name).is_file()

    def names(self, folder: str) -> list[str]:
        """Names right in a folder, sorted."""
        try:
            return sorted(os.listdir(self.root / folder))  # noqa: PTH208 - a glob hides errors
        except FileNotFoundError:
            return []

    def sweep(self) -> None:
        """Remove what was half-written."""
        for part in self.root.rglob(_HALF_WRITTEN):
            part.unlink(missing_ok=True)


def is_url(text: str) -> bool:
    """Whether a text names a place by a URL."""
    return "://" in text


@cache
def place_at(text: str, base: Path) -> Place:
    """The place that study.toml names.

    Args:
        text: A URL, or the path of a folder, relative to `base` or absolute.
        base: The study folder.

    Raises:
        ConfigError: fsspec knows no such kind of URL.
        MissingPart: fsspec, or what it needs for this kind, is not installed.
    """
    if not is_url(text):
        return Folder((base / Path(text).expanduser()).absolute())
    _file_system(text)
    return Remote(text.rstrip("/"))


def remove(url: str) -> None:
    """Remove what lies at a URL, if it is still there.

    Raises:
        InputError: It cannot be removed.
    """
    files, path = _open(url)
    try:
        files.rm_file(path)
    except FileNotFoundError:
        return
    except Exception as error:
        raise _unwritable(url, error) from None


@cache
def _file_system(url: str) -> tuple[Any, str]:
    return _open(url)


def _open(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError:
        raise MissingPart(
            f"[run] images = {url!r} needs fsspec, which is not installed",
            pip_install("contextbias[ray]"),
        ) from None
    try:
        files, path = url_to_fs(url)
    except ImportError as error:
        raise MissingPart(
            f"[run] images = {url!r} needs another package: {_said(error)}", "install it"
        ) from None
    except ValueError as error:
        raise ConfigError(
            f"[run] images = {url!r}: {_said(error)}", "name a folder, or a URL that fsspec knows"
        ) from None
    return files, path


def _is_renaming(files: Any) -> bool:
    protocol = files.protocol
    return bool(_RENAMING & ({protocol} if isinstance(protocol, str) else set(protocol)))


def _unwritable(where: str, error: Exception) -> InputError:
    full = isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
    fix = "check [run] images in study.toml, the credentials, and that it can be written"
    return InputError(f"cannot write {where}: {_said(error)}", "make room" if full else fix)


def _said(error: Exception) -> str:
    return one_line(str(error).strip() or type(error).__name__)[:300]
