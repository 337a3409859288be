"""`contextbias prompts`: ContextBench itself, as a list of sentences."""

from __future__ import annotations

import sys
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextbias.progress import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contextbias.bench import Bank, BenchOptions
    from contextbias.tables import Prompt


class Unrelated(StrEnum):
    """Where unrelated contexts come from."""

    EVERYDAY = "everyday"
    DERANGED = "deranged"


class Format(StrEnum):
    """Forms of the list."""

    CSV = "csv"
    JSONL = "jsonl"


Roles = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Only these roles, separated by commas. Default: all."),
]
Form = Annotated[
    Format | None,
    typer.Option("--format", help="Default: csv, or what the name after --out ends in."),
]
Out = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write to this file, not to the screen.")
]
BankName = Annotated[
    str,
    typer.Option(
        metavar="NAME|PATH",
        help="A bank by name (contextbench, contextbench-de), one's own as a TOML file, or a "
        "prompt list as a JSON or CSV file.",
    ),
]
From = Annotated[
    Unrelated,
    typer.Option(help="From a shared everyday pool, or the related contexts of another role."),
]
Balanced = Annotated[
    bool, typer.Option("--balanced", help="Equal numbers of prompts in each condition.")
]
Phrasings = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="Instead of the bank's own; may be given repeatedly."),
]
Axes = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Further axes, such as lighting. Default: none."),
]
ListRoles = Annotated[
    bool, typer.Option("--list", help="Print the names of the roles, and nothing else.")
]
Summary = Annotated[
    bool,
    typer.Option(
        "--summary", help="Print counts, lengths and uses of contexts by condition instead."
    ),
]
Check = Annotated[
    bool,
    typer.Option("--check", help="Check the bank instead; exit code 1 when a rule is broken."),
]


def prompts(
    roles: Roles = None,
    form: Form = None,
    out: Out = None,
    bank: BankName = "contextbench",
    unrelated: From = Unrelated.EVERYDAY,
    balanced: Balanced = False,
    phrasing: Phrasings = None,
    axes: Axes = None,
    list_roles: ListRoles = False,
    summary: Summary = False,
    check: Check = False,
) -> None:
    """Print the prompts of ContextBench: 18 a role, one line each.

    The columns are id, role, condition (CF, CA-R, CA-U), base, variant,
    location, activity, text, and prompted: the dimensions that a sentence names.
    """
    from contextbias.bench import BenchOptions, summary_text

    options = BenchOptions(
        unrelated=unrelated.value,
        balanced=balanced,
        phrasings=tuple(phrasing or ()),
        axes=_names(axes) or (),
    )
    if check:
        _check(bank, options)
        return
    names, built = _built(bank, _names(roles), options)
    if list_roles:
        _write("".join(f"{name}\n" for name in names), out)
    elif summary:
        _write(summary_text(built), out)
    else:
        _write(_listing(built, form, out), out)
        if out is not None:
            typer.echo(f"{counted(len(built), 'prompt')} in {out}", err=True)


def _built(
    name: str, roles: Sequence[str] | None, options: BenchOptions
) -> tuple[Sequence[str], Sequence[Prompt]]:
    """All role names of a bank or list, and the prompts that are asked for."""
    from contextbias.bench import build_prompts, is_prompt_list, load_bank, load_prompt_list
    from contextbias.errors import InputError

    if not is_prompt_list(name):
        loaded = load_bank(name)
        return loaded.role_names, build_prompts(loaded, roles, options)
    if options != type(options)():
        raise InputError(
            f"{name} is a prompt list, which has the prompts that it has",
            "leave --unrelated, --balanced, --phrasing and --axes out",
        )
    listed = load_prompt_list(Path(name))
    return listed.role_names, listed.of_roles(roles)


def _names(text: str | None) -> tuple[str, ...] | None:
    """``a, b`` -> the names; None stays None."""
    if text is None:
        return None
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _check(name: str, options: BenchOptions) -> None:
    """Print every fault, one a line; a bank with faults ends in exit code 1."""
    from contextbias.bench import build_prompts, check_bank, is_prompt_list, load_bank
    from contextbias.errors import CheckFailed, InputError

    if is_prompt_list(name):
        raise InputError(
            f"{name} is a prompt list, and --check has rules for banks",
            "leave --check out: a list is checked as it is read; --summary says what it holds",
        )
    bank: Bank = load_bank(name)
    faults = check_bank(bank, options)
    for fault in faults:
        print(fault)
    if faults:
        raise CheckFailed(f"{counted(len(faults), 'fault')} in {bank.source.path}")
    count = len(build_prompts(bank, None, options))
    roles = f"{counted(len(bank.roles), 'role')}, {counted(count, 'prompt')}"
    typer.echo(f"{options.label(bank)}: {roles}, no fault", err=True)


def _listing(built: Sequence[Prompt], form: Format | None, out: Path | None) -> str:
    from contextbias.bench import to_csv, to_jsonl

    if form is None and out is not None and out.suffix == ".jsonl":
        form = Format.JSONL
    return to_jsonl(built) if form is Format.JSONL else to_csv(built)


def _write(text: str, out: Path | None) -> None:
    """Write bytes, so that the list is the same everywhere, whatever the terminal's encoding."""
    from contextbias.files import write_atomic

    if out is not None:
        write_atomic(out, text.encode())
        return
    with suppress(BrokenPipeError):  # `contextbias prompts | head`
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
