"""What the program means by a derived table: a hash over the source that makes it.

docs/design/ids.md says why it is the source, and not a number that somebody has to raise.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

from contextbias import __version__
from contextbias.ids import content_hash

PACKAGES = {
    "attributes": ("canonicalise", "schema"),
    "label_counts": ("canonicalise", "schema"),
    "planted": ("generate", "schema"),
    "estimates": ("measure", "stats", "schema"),
    "report": ("report",),
}
"""Derived table -> packages whose code and data decide what is in it, beside its own sources."""


@cache
def definitions(table: str) -> str:
    """Hash of the program's version and of every file of the packages that make a table.

    Args:
        table: A key of `PACKAGES`.

    Returns:
        20 hex digits. The same release has the same ones everywhere: line ends do not count.
    """
    root = files("contextbias")
    found = [line for package in PACKAGES[table] for line in _hashes(root / package, package)]
    return content_hash([__version__, found])


def _hashes(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    """Path and hash of each file, by name; compiled files are left out, since source is there."""
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.name == "__pycache__":
            continue
        if entry.is_dir():
            yield from _hashes(entry, f"{path}/{entry.name}")
        else:
            data = entry.read_bytes().replace(b"\r\n", b"\n")
            yield f"{path}/{entry.name}", sha256(data).hexdigest()
