"""`contextbias prompts` as a program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from contextbias.bench import (
    BenchOptions,
    build_prompts,
    load_bank,
    summary_text,
    to_csv,
    to_jsonl,
)
from contextbias.cli.prompts import prompts
from contextbias.errors import BankError, CheckFailed, InputError

APP = typer.Typer(pretty_exceptions_enable=False)
APP.command()(prompts)


def call(*args: str) -> str:
    """Standard output of a call that goes well."""
    result = CliRunner().invoke(APP, list(args), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_all_prompts_as_csv() -> None:
    assert call() == to_csv(build_prompts(load_bank()))


def test_some_roles_as_json_lines() -> None:
    wanted = build_prompts(load_bank(), ["ceo", "flight attendant"])
    assert call("--roles", "flight attendant, CEO", "--format", "jsonl") == to_jsonl(wanted)


def test_the_roles_alone() -> None:
    assert call("--list").splitlines() == list(load_bank().role_names)


@pytest.mark.parametrize(
    ("name", "args", "write"),
    [
        ("p.csv", [], to_csv),
        ("p.txt", [], to_csv),
        ("p.jsonl", [], to_jsonl),
        ("p.jsonl", ["--format", "csv"], to_csv),
    ],
)
def test_to_a_file(name: str, args: list[str], write: object, tmp_path: Path) -> None:
    out = tmp_path / name
    assert call("--out", str(out), *args) == ""
    assert out.read_bytes() == write(build_prompts(load_bank())).encode()  # type: ignore[operator]


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    call("--out", str(tmp_path / "none" / "p.csv"))
    assert (tmp_path / "none" / "p.csv").is_file()


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write"):
        call("--out", str(tmp_path / "file" / "p.csv"))


@pytest.mark.parametrize("roles", ["nuse", "", " , "])
def test_roles_that_are_none(roles: str) -> None:
    with pytest.raises(BankError, match="--list"):
        call("--roles", roles)


def test_options_are_those_of_the_bank() -> None:
    options = BenchOptions(
        unrelated="deranged", balanced=True, phrasings=("a sketch of",), axes=("lighting",)
    )
    said = call(
        "--unrelated", "deranged", "--balanced", "--phrasing", "a sketch of", "--axes", "lighting",
        "--roles", "nurse",
    )  # fmt: skip
    assert said == to_csv(build_prompts(load_bank(), ["nurse"], options))


def test_another_bank_that_ships() -> None:
    built = build_prompts(load_bank("contextbench-de"), ["nurse"])
    assert call("--bank", "contextbench-de", "--roles", "nurse") == to_csv(built)
    assert call("--bank", "contextbench-de", "--check") == ""


def test_the_summary() -> None:
    text = call("--summary", "--roles", "nurse")
    assert text.splitlines()[0].split()[:3] == ["condition", "prompts", "contexts"]
    assert text == summary_text(build_prompts(load_bank(), ["nurse"]))


def test_a_prompt_list(tmp_path: Path) -> None:
    path = tmp_path / "list.jsonl"
    path.write_text(call("--roles", "nurse,ceo", "--format", "jsonl"), "utf-8")
    assert call("--bank", str(path), "--roles", "ceo") == call("--roles", "ceo")
    assert call("--bank", str(path), "--list") == "ceo\nnurse\n"
    with pytest.raises(InputError, match="--check has rules for banks"):
        call("--bank", str(path), "--check")
    with pytest.raises(InputError, match="has the prompts that it has"):
        call("--bank", str(path), "--balanced")


def test_the_list_that_it_writes_can_be_read_again(tmp_path: Path) -> None:
    for form in ("csv", "jsonl"):
        path = tmp_path / f"list.{form}"
        call("--roles", "nurse,ceo", "--out", str(path))
        for asked in ("csv", "jsonl"):
            args = ("--roles", "nurse", "--format", asked)
            assert call("--bank", str(path), *args) == call(*args)


def test_checking_the_shipped_bank_prints_nothing_to_stdout() -> None:
    assert call("--check") == ""


def test_checking_a_bad_bank_prints_each_fault_and_fails(tmp_path: Path) -> None:
    text = Path(sys.modules["contextbias.bench"].__path__[0], "data", "contextbench.toml")
    mine = tmp_path / "mine.toml"
    mine.write_text(text.read_text("utf-8").replace('"in a barn"', '"in an barn"'), "utf-8")
    result = CliRunner().invoke(APP, ["--bank", str(mine), "--check"])
    assert isinstance(result.exception, CheckFailed)
    assert result.exception.exit_code == 1
    assert result.stdout.count("\n") == 1
    assert result.stdout.startswith(f"{mine}:")
    assert "article" in result.stdout
    # The list itself can be had all the same.
    assert "a photo of a farmer in an barn" in call("--bank", str(mine))


def test_a_reader_that_stops_early_is_no_error() -> None:
    code = "import typer; from contextbias.cli.prompts import prompts; typer.run(prompts)"
    done = subprocess.run(
        ["bash", "-c", f'set -o pipefail; "{sys.executable}" -c "{code}" | head -1'],
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("id,role")
    assert done.stderr == ""
