"""`contextbias init`: a commented study.toml to start from."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Template(StrEnum):
    """Templates of study.toml."""

    QUICK = "quick"
    PAPER = "paper"


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to make the study in.")],
    template: Annotated[
        Template,
        typer.Option(help="quick: simulated, about a minute. paper: the sizes of the paper."),
    ] = Template.QUICK,
) -> None:
    """Make a study folder with a commented study.toml."""
    from contextbias.store import Study

    Study.create(folder, template_text(template.value)).close()
    print(folder / "study.toml")
    typer.echo(f"Edit it, then: contextbias run {folder}", err=True)


def template_text(name: str) -> str:
    """The text of a packaged study.toml (``demo``, ``quick``, ``paper``)."""
    from importlib.resources import files

    return files("contextbias.cli").joinpath(f"templates/{name}.toml").read_text("utf-8")
