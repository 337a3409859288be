from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

from contextbias import errors
from contextbias.errors import (
    BankError,
    CheckFailed,
    ConfigError,
    ContextBiasError,
    CountsError,
    Incomplete,
    InputError,
    MissingPart,
    StudyError,
    nearest,
    pip_install,
)

# The contract of the command line: 2 the call is wrong, 1 a check failed, 3 some items failed.
EXIT_CODES = {
    ContextBiasError: 2,
    InputError: 2,
    ConfigError: 2,
    BankError: 2,
    CountsError: 2,
    StudyError: 2,
    MissingPart: 2,
    CheckFailed: 1,
    Incomplete: 3,
}


def test_every_error_has_its_exit_code() -> None:
    classes = {c for c in vars(errors).values() if isinstance(c, type)}
    assert classes == set(EXIT_CODES)
    assert {c: c.exit_code for c in EXIT_CODES} == EXIT_CODES


def test_the_tree_drawn_in_the_docstring_is_the_tree() -> None:
    drawn = errors.__doc__ or ""
    for error, code in EXIT_CODES.items():
        assert error.__name__ in drawn
        if error is not ContextBiasError:
            (line,) = [x for x in drawn.splitlines() if f" {error.__name__} " in x]
            assert line.split()[line.split().index(error.__name__) + 1] == str(code)
    assert {c for c in EXIT_CODES if issubclass(c, InputError)} == {
        InputError, ConfigError, BankError, CountsError, StudyError,
    }  # fmt: skip


@pytest.mark.parametrize("error", EXIT_CODES)
def test_one_line_with_the_problem_and_the_fix(error: type[ContextBiasError]) -> None:
    assert str(error("x is 3", "make it 4")) == "x is 3. Make it 4."
    assert str(error("x is 3")) == "x is 3."
    assert str(error("no x", "pip install 'x[y]'")) == "no x. Run: pip install 'x[y]'"
    command = pip_install("x[y]")
    assert str(error("no x", command)) == f"no x. Run: {command}"


def test_the_command_installs_where_this_program_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, other = tmp_path / "our env" / "bin", tmp_path / "other" / "bin"
    for folder, name in ((ours, "pip"), (other, "pip"), (other, "uv")):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(ours / "python"))
    monkeypatch.setenv("PATH", f"{ours}:{other}")
    assert pip_install("x[y]") == "pip install 'x[y]'"
    monkeypatch.setenv("PATH", f"{other}:{ours}")
    assert pip_install("-U", "x") == f"'{ours}/python' -m pip install -U x"
    monkeypatch.setattr(errors, "find_spec", lambda _: None)
    assert pip_install("x") == f"uv pip install --python '{ours}/python' x"
    monkeypatch.setenv("PATH", str(ours.parent))
    assert pip_install("x") == f"'{ours}/python' -m pip install x"


@pytest.mark.parametrize("error", EXIT_CODES)
def test_survives_the_trip_from_a_worker(error: type[ContextBiasError]) -> None:
    back = pickle.loads(pickle.dumps(error("x is 3", "make it 4")))
    assert type(back) is error
    assert (back.problem, back.fix) == ("x is 3", "make it 4")


def test_nearest_word() -> None:
    assert nearest("generater", ["generator", "reader"]) == "did you mean 'generator'?"
    assert nearest("zzz", ["generator", "reader"]) == ""


def test_an_error_is_one_line_whatever_a_file_is_called() -> None:
    assert str(InputError("no x\ny\x1b[31m\u2028z", "rename é")) == (
        "no x\\ny\\x1b[31m\\u2028z. Rename é."
    )
