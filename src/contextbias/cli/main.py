"""The `contextbias` program: all commands, and how errors and interruptions end.

Exit codes: 0 done, 1 a check failed, 2 the call, configuration or input is wrong, 3 finished but
some items failed, 130 interrupted. Machine output goes to stdout, messages and progress to stderr.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

from contextbias import __version__
from contextbias.cli import (
    annotate,
    audit,
    bench,
    consistency,
    demo,
    doctor,
    imports,
    init,
    labels,
    models,
    plan,
    reading,
    run,
    specifications,
    status,
    validate,
)
from contextbias.cli import prompts as prompts_command
from contextbias.errors import ContextBiasError, InputError, one_line

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
app.command(rich_help_panel=_STUDY)(plan.plan)
app.command(rich_help_panel=_STUDY)(run.run)
app.command(rich_help_panel=_STUDY)(status.status)
app.command(rich_help_panel=_STUDY)(run.generate)
app.command(rich_help_panel=_STUDY)(run.extract)
app.command(rich_help_panel=_STUDY)(reading.reading)
app.command(rich_help_panel=_STUDY)(run.canonicalise)
app.command(rich_help_panel=_STUDY)(labels.labels)
app.command(rich_help_panel=_STUDY)(run.measure)
app.command(rich_help_panel=_STUDY)(run.report)
app.command(rich_help_panel=_STUDY)(specifications.specifications)
app.add_typer(imports.app, name="import", rich_help_panel=_STUDY)
app.command(rich_help_panel=_STUDY)(validate.validate)
app.add_typer(annotate.app, name="annotate", rich_help_panel=_STUDY)
app.command(rich_help_panel=_PARTS)(prompts_command.prompts)
app.add_typer(bench.app, name="bench", rich_help_panel=_PARTS)
app.command(rich_help_panel=_PARTS)(consistency.consistency)
app.add_typer(models.app, name="models", rich_help_panel=_PARTS)


_INTERRUPTED = 130
_interruptions: list[int] = []


def main(args: list[str] | None = None) -> None:
    """Run the program; every error that a user can act on ends in one line and an exit code."""
    _open_closed_streams()
    # A polite stop from a scheduler is handled like Ctrl-C: what is under way is kept.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _interrupt)
    sys.unraisablehook = partial(_unraisable, sys.unraisablehook)
    code = _run(args)
    unwritten = _flush()
    if unwritten is not None and code == 0:
        code = _refuse(_in_words(unwritten))
    sys.exit(code)


def _run(args: list[str] | None) -> int:
    """Run a command; returns its exit code."""
    try:
        app(args)
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 0
        # 1 is the parser's word for a reader that has gone away (`| head -1`): that is no failure,
        # and nothing of ours ends like this.
        return 0 if code == 1 else code
    except BrokenPipeError:
        return 0
    except ContextBiasError as error:
        return _refuse(error)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            return _refuse(_in_words(error))
        # Libraries turn a Ctrl-C in the middle of their import into errors of their own.
        if _interruptions:
            return _INTERRUPTED
        raise
    return 0


def _refuse(error: ContextBiasError) -> int:
    print(f"contextbias: {error}", file=sys.stderr)
    return error.exit_code


def _in_words(error: OSError) -> ContextBiasError:
    """Whatever else the system refuses: a full disk, a folder that may not be looked into."""
    where = "the output" if error.filename is None else str(error.filename)
    reason = (error.strerror or str(error)).lower()
    return InputError(f"cannot use {one_line(where)}: {reason}", "check its permissions and room")


def _flush() -> OSError | None:
    """Write out what is buffered; returns the error of an output that takes no more."""
    try:
        sys.stdout.flush()
    except OSError as error:
        # The interpreter flushes once more on its way out, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return None if isinstance(error, BrokenPipeError) else error
    return None


def _open_closed_streams() -> None:
    """Stand in for streams that were closed (``2>&-``): a file must not take their numbers."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123 - open to the end


def _interrupt(number: int, _: Any) -> None:
    _interruptions.append(number)
    raise KeyboardInterrupt


def _unraisable(
    otherwise: Callable[[sys.UnraisableHookArgs], Any], found: sys.UnraisableHookArgs
) -> None:
    """Send a stop again that came inside a finaliser or callback, where Python drops it."""
    if not _interruptions or not issubclass(found.exc_type, KeyboardInterrupt):
        otherwise(found)
        return
    # A Thread's own start would wait for it, which is unsafe here.
    _thread.start_new_thread(_send_again, (threading.main_thread().ident, _interruptions[-1]))


def _send_again(thread: int | None, number: int) -> None:
    if thread is not None:
        time.sleep(0.01)  # by then the main thread is out of the place that cannot raise
        signal.pthread_kill(thread, number)
