"""Files with entries about models, found by patterns of their names: a user's, and ours.

What such a file says is checked whole before anything of it is used, so that a slip in it is an
error that names it, and not another price.
"""

from __future__ import annotations

import datetime
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from math import inf
from pathlib import Path
from typing import Any

from contextbias.errors import ConfigError, nearest
from contextbias.files import unreadable

USER_FOLDER = "contextbias"
"""Folder of the user's own ``profiles.toml`` and ``prices.toml``, below the configuration home."""


def matches(model: str, pattern: str) -> bool:
    """Whether a model's name is meant by a pattern: one or more, separated by blanks, with ``*``,
    ``?`` and ``[...]``; the case does not matter."""
    return any(fnmatchcase(model.lower(), each.lower()) for each in pattern.split())


def user_file(name: str) -> Path:
    """Where a user's own table may stand: ``~/.config/contextbias/<name>``."""
    home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(home) / USER_FOLDER / name


def read_table(path: Path) -> dict[str, Any]:
    """A user's table; empty where there is no such file.

    Raises:
        ConfigError: It is no TOML.
        InputError: It cannot be read.
    """
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no TOML: {error}", "correct it") from None
    except OSError as error:
        raise unreadable(path, error) from None


def entries_of(
    table: dict[str, Any], name: str, kinds: Mapping[str, str], where: str
) -> Iterator[dict[str, Any]]:
    """The entries of a table, their keys and the kinds of their values checked.

    Args:
        table: Of a file.
        name: Of the list of entries: ``model`` for ``[[model]]``.
        kinds: Key -> kind of its value, one of `_IS`. Each entry needs a ``pattern``.
        where: The file, for messages.

    Raises:
        ConfigError: Anything else is there.
    """
    for key in table:
        if key != name:
            raise ConfigError(f"{where} has an unknown table {key!r}", f"write [[{name}]]")
    listed = table.get(name, [])
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise ConfigError(f"{where}: {name!r} is no list of entries", f"write [[{name}]]")
    for entry in listed:
        check_kinds(entry, kinds, where)
        if "pattern" not in entry:
            raise ConfigError(f"{where} has an entry without a pattern", 'add pattern = "NAME*"')
        yield dict(entry)


def check_kinds(entry: Mapping[str, Any], kinds: Mapping[str, str], where: str) -> None:
    """Refuse keys that are not known, and values of another kind.

    Raises:
        ConfigError: Names the first.
    """
    for key, value in entry.items():
        if key not in kinds:
            hint = nearest(key, sorted(kinds)) or f"known: {', '.join(sorted(kinds))}"
            raise ConfigError(f"{where} has an unknown key {key!r}", hint)
        if not _IS[kinds[key]](value):
            shown = value.isoformat() if isinstance(value, datetime.date) else repr(value)
            raise ConfigError(f"{where}: {key} = {shown} is no {kinds[key]}", _EXAMPLES[kinds[key]])


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < inf


_IS: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str) and bool(value.strip()),
    "list of texts": lambda value: isinstance(value, list) and all(map(_IS["text"], value)),
    "yes or no": lambda value: isinstance(value, bool),
    "whole number": lambda value: _is_number(value) and isinstance(value, int),
    "price": _is_number,
    "factor": lambda value: _is_number(value) and value > 0,
    "date": lambda value: type(value) is datetime.date,
    "table": lambda value: isinstance(value, dict),
}
_EXAMPLES = {
    "text": "write it in quotes",
    "list of texts": 'write ["low", "high"], for one',
    "yes or no": "write true or false",
    "whole number": "give a whole number from 0",
    "price": "give a number from 0",
    "factor": "give a number above 0",
    "date": "write 2027-06-30, without quotes",
    "table": 'write { rule = "patches" }, for one',
}
