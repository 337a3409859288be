"""Every exception that contextbias raises on purpose.

::

    ContextBiasError          printed without a traceback; has an exit code
    ├── InputError        2   a file, a folder or a value that the caller gave
    │   ├── ConfigError   2   study.toml
    │   ├── BankError     2   a context bank or a role list
    │   ├── CountsError   2   a COUNTS.csv
    │   └── StudyError    2   a study folder: missing, locked, newer than this version
    ├── MissingPart       2   an extra, a weight file or a program that is not installed
    ├── CheckFailed       1   a gate or a verification did not hold
    └── Incomplete        3   some items failed and are listed, or a stage stopped before its end

A refusal or an unknown of a model is data, a row with a reason: never an exception.
"""

from __future__ import annotations

import pathlib
import shlex
import shutil
import sys
from importlib.util import find_spec


class ContextBiasError(Exception):
    """Base of all errors that a user can act on.

    Args:
        problem: What is wrong and the value seen, one sentence without a final stop.
        fix: What to do about it, one sentence without a final stop, a question, or nothing but a
            command of pip; may be empty.
    """

    exit_code: int = 2

    def __init__(self, problem: str, fix: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.fix = fix

    def __str__(self) -> str:
        """One line: the problem, then what to do."""
        if not self.fix:
            return one_line(f"{self.problem}.")
        if self.fix.startswith(("pip install ", _pip())):
            return one_line(f"{self.problem}. Run: {self.fix}")
        stop = "" if self.fix.endswith("?") else "."
        return one_line(f"{self.problem}. {self.fix[0].upper()}{self.fix[1:]}{stop}")

    def __reduce__(self) -> tuple[type[ContextBiasError], tuple[str, str]]:
        """Survive the trip from a worker process."""
        return type(self), (self.problem, self.fix)


class InputError(ContextBiasError):
    """A file, a folder or a value that the caller gave cannot be used."""


class ConfigError(InputError):
    """study.toml has an unknown key, a wrong value or a combination without effect."""


class BankError(InputError):
    """A role is not in the bank, or a bank breaks one of its rules."""


class CountsError(InputError):
    """A table of counts breaks its contract."""


class StudyError(InputError):
    """A study folder is missing, locked, damaged or written by a newer version."""


class MissingPart(ContextBiasError):
    """Something that has to be installed or fetched first is not there."""


class CheckFailed(ContextBiasError):
    """A gate or a verification did not hold."""

    exit_code = 1


class Incomplete(ContextBiasError):
    """Some items failed, or a generator, a reader or another stage stopped before its end."""

    exit_code = 3


def pip_install(*words: str) -> str:
    """The command that installs packages where this program looks for them: a fix by itself.

    The ``pip`` of the search path may be another Python's, or not be there.

    Args:
        words: What stands after ``install``: ``contextbias[openai]``.
    """
    return f"{_pip()}{shlex.join(words)}"


def _pip() -> str:
    found = shutil.which("pip")
    if found is not None and pathlib.Path(found).parent == pathlib.Path(sys.executable).parent:
        return "pip install "
    python = shlex.quote(sys.executable)
    if find_spec("pip") is None and shutil.which("uv") is not None:
        return f"uv pip install --python {python} "
    return f"{python} -m pip install "


def one_line(text: str) -> str:
    """Escape what would break a line or steer a terminal: a file may be called anything."""
    return "".join(char if char.isprintable() or char == " " else repr(char)[1:-1] for char in text)


def nearest(word: str, known: list[str]) -> str:
    """Return ``did you mean …?`` for the known word nearest to `word`, or an empty string."""
    import difflib

    match = difflib.get_close_matches(word, known, n=1, cutoff=0.7)
    return f"did you mean {match[0]!r}?" if match else ""
