"""`contextbias import`: bring in what was made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Pattern = Annotated[
    str | None,
    typer.Option(
        help="What the paths say, e.g. '{generator}/{condition}/{role}/{prompt}/{seed}.png'."
    ),
]
Manifest = Annotated[
    Path | None,
    typer.Option(help="CSV or JSONL: path, role, condition, generator, prompt, seed."),
]

app = typer.Typer(
    no_args_is_help=True, help="Bring in images that were made elsewhere.", add_completion=False
)


@app.callback()
def _group() -> None:
    pass


@app.command()
def images(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="Folder of the images.")],
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="A study folder.")],
    pattern: Pattern = None,
    manifest: Manifest = None,
) -> None:
    """Take existing images into a study. They stay where they are; broken ones are listed."""
    from contextbias.cli.run import finish
    from contextbias.pipeline import import_images
    from contextbias.progress import for_terminal
    from contextbias.store import Study

    with Study.open(study, writing=True) as opened:
        new = import_images(
            opened, source, pattern=pattern, manifest=manifest, progress=for_terminal()
        )
    typer.echo(f"{new:,} new images in {study}", err=True)
    finish(opened, report=False)
