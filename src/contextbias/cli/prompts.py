"""`contextbias prompts`: ContextBench itself, as a list of sentences."""

from __future__ import annotations

import sys
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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


def prompts(
    roles: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Only these roles, separated by commas. Default: all."),
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option("--format", help="Default: csv, or what the name after --out ends in."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write to this file, not to the screen.")
    ] = None,
    bank: Annotated[
        str,
        typer.Option(metavar="NAME|PATH", help="A bank by name, or one's own as a TOML file."),
    ] = "contextbench",
    unrelated: Annotated[
        Unrelated,
        typer.Option(help="From a shared everyday pool, or the related contexts of another role."),
    ] = Unrelated.EVERYDAY,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Equal numbers of prompts in each condition.")
    ] = False,
    phrasing: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Instead of the bank's own; may be given repeatedly."),
    ] = None,
    axes: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Further axes, such as lighting. Default: none."),
    ] = None,
    list_roles: Annotated[
        bool, typer.Option("--list", help="Print the names of the roles, and nothing else.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Check the bank instead; exit code 1 when a rule is broken."),
    ] = False,
) -> None:
    """Print the prompts of ContextBench: 18 a role, one line each.

    The columns are id, role, condition (CF, CA-R, CA-U), base, variant,
    location, activity, text, and prompted: the dimensions that a sentence names.
    """
    from contextbias.bench import BenchOptions, build_prompts, load_bank

    loaded = load_bank(bank)
    options = BenchOptions(
        unrelated=unrelated.value,
        balanced=balanced,
        phrasings=tuple(phrasing or ()),
        axes=_names(axes) or (),
    )
    if check:
        _check(loaded, options)
    elif list_roles:
        _write("".join(f"{name}\n" for name in loaded.role_names), out)
    else:
        built = build_prompts(loaded, _names(roles), options)
        _write(_listing(built, form, out), out)
        if out is not None:
            typer.echo(f"{len(built):,} prompts are in {out}", err=True)


def _names(text: str | None) -> tuple[str, ...] | None:
    """``a, b`` -> the names; None stays None."""
    if text is None:
        return None
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _check(bank: Bank, options: BenchOptions) -> None:
    """Print every fault, one a line; a bank with faults ends in exit code 1."""
    from contextbias.bench import build_prompts, check_bank
    from contextbias.errors import CheckFailed

    faults = check_bank(bank, options)
    for fault in faults:
        print(fault)
    if faults:
        raise CheckFailed(f"{len(faults):,} faults in {bank.source.path}")
    count = len(build_prompts(bank, None, options))
    typer.echo(
        f"{options.label(bank)}: {len(bank.roles)} roles, {count:,} prompts, no fault", err=True
    )


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
