"""The `contextbias` program: all commands, and how errors and interruptions end.

Exit codes: 0 done, 1 a check failed, 2 the call, configuration or input is wrong, 3 finished but
some items failed, 130 interrupted. Machine output goes to stdout, messages and progress to stderr.
"""

from __future__ import annotations

import signal
import sys
from typing import Annotated, Any

import typer

from contextbias import __version__
from contextbias.cli import audit, consistency, demo, doctor, imports, init, models, run, status
from contextbias.cli import prompts as prompts_command
from contextbias.errors import ContextBiasError

app = typer.Typer(
    name="contextbias",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Audit whether a text-to-image model's picture of a role adapts when the scene changes.",
    epilog="Start with `contextbias demo`, or with `contextbias audit FOLDER` for your own images.",
)

_START, _STUDY, _PARTS = "Start here", "A study", "Parts on their own"


def _print_version(asked: bool) -> None:
    if asked:
        print(f"contextbias {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


app.command(rich_help_panel=_START)(demo.demo)
app.command(rich_help_panel=_START)(audit.audit)
app.command(rich_help_panel=_START)(init.init)
app.command(rich_help_panel=_START)(doctor.doctor)
app.command(rich_help_panel=_STUDY)(run.run)
app.command(rich_help_panel=_STUDY)(status.status)
app.command(rich_help_panel=_STUDY)(run.generate)
app.command(rich_help_panel=_STUDY)(run.extract)
app.command(rich_help_panel=_STUDY)(run.canonicalise)
app.command(rich_help_panel=_STUDY)(run.measure)
app.command(rich_help_panel=_STUDY)(run.report)
app.add_typer(imports.app, name="import", rich_help_panel=_STUDY)
app.command(rich_help_panel=_PARTS)(prompts_command.prompts)
app.command(rich_help_panel=_PARTS)(consistency.consistency)
app.add_typer(models.app, name="models", rich_help_panel=_PARTS)


def main(args: list[str] | None = None) -> None:
    """Run the program; every error that a user can act on ends in one line and an exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        app(args)
    except ContextBiasError as error:
        print(f"contextbias: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def _interrupt(*_: Any) -> None:
    # A polite stop from a scheduler is handled like Ctrl-C: what is under way is kept.
    raise KeyboardInterrupt
