"""What `contextbias annotate export` writes, and where."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from contextbias.errors import InputError
from contextbias.progress import counted

if TYPE_CHECKING:
    from contextbias.annotate.answering import Answering


class Form(StrEnum):
    """Forms of exported answers."""

    CSV = "csv"
    LABEL_STUDIO = "label-studio"


class ItemKind(StrEnum):
    """Kinds of items, as annotation_tables.py has them."""

    SET = "set"
    IMAGE = "image"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options of the command."""

    form: Form
    """``csv`` or ``label-studio``."""
    kind: ItemKind | None
    """Tasks of this kind alone."""
    interface: ItemKind | None
    """The interface for tasks of this kind, instead of tasks."""
    prefix: str
    """What stands before each picture's name."""
    versions: bool
    """Every version of every answer."""


def check(wanted: Wanted, pictures: Path | None) -> None:
    """Refuse options that would do nothing.

    Raises:
        InputError: There is one.
    """
    label_studio = {
        "--kind": wanted.kind, "--interface": wanted.interface, "--prefix": wanted.prefix,
        "--pictures": pictures,
    }  # fmt: skip
    given = [name for name, value in label_studio.items() if value]
    if wanted.form is Form.CSV and given:
        raise InputError(f"{given[0]} without Label Studio", "add --to label-studio")
    if wanted.form is Form.LABEL_STUDIO and wanted.versions:
        raise InputError("--versions with --to label-studio", "versions are in the csv alone")


def exported(study: Path, answering: Answering, wanted: Wanted, out: Path | None) -> None:
    """Write what is wanted to stdout or files; what was written where is said on stderr."""
    from contextbias.annotate import exchange
    from contextbias.annotation_tables import AnswerRow, LabelRow

    book = answering.book
    if wanted.form is Form.CSV:
        rows = book.audit_trail() if wanted.versions else book.labels()
        text = exchange.to_csv(rows, AnswerRow if wanted.versions else LabelRow)
        _write(text, out, counted(len(rows), "answer"))
    elif wanted.interface is not None:
        kind, size = wanted.interface.value, answering.section.set_size
        text = exchange.label_studio_config(answering.questions, kind, size)
        _write(text, out, f"Interface for tasks of kind {kind}")
        command = f"contextbias annotate export {study} --to label-studio --kind {kind}"
        typer.echo(f"Its tasks: {command}", err=True)
    else:
        _write_tasks(answering, wanted, out)


def _write_tasks(answering: Answering, wanted: Wanted, out: Path | None) -> None:
    import json

    from contextbias.annotate.exchange import to_label_studio

    def text(kinds: list[str]) -> tuple[str, int]:
        tasks = to_label_studio(answering.book, wanted.prefix, kinds)
        return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n", len(tasks)

    kinds = _kinds(answering, wanted)
    if out is not None and len(kinds) > 1:
        for kind in kinds:
            path = out.with_name(f"{out.stem}-{kind}{out.suffix}")
            tasks, number = text([kind])
            _write(tasks, path, f"{counted(number, 'task')} for --interface {kind}")
        return
    tasks, number = text(kinds)
    _write(tasks, out, f"{counted(number, 'task')} for --interface {kinds[0]}")
    if len(kinds) > 1:
        typer.echo(
            "These are tasks of two kinds, and a project of Label Studio takes one: --kind "
            f"{' or --kind '.join(kinds)}, or --out FILE for a file of each",
            err=True,
        )


def _kinds(answering: Answering, wanted: Wanted) -> list[str]:
    from contextbias.annotate.exchange import kinds_of

    there = kinds_of(answering.book)
    if wanted.kind is None:
        return there
    if wanted.kind.value not in there:
        raise InputError(f"--kind {wanted.kind}: there is none", f"it has {' and '.join(there)}")
    return [wanted.kind.value]


def save_pictures(study: Path, answering: Answering, wanted: Wanted, folder: Path) -> None:
    """Write the pictures of the wanted tasks."""
    from contextbias.annotate.exchange import write_pictures
    from contextbias.pipeline.annotation import picture_finder

    kinds = _kinds(answering, wanted)
    number = write_pictures(answering.book, picture_finder(study), folder, kinds)
    typer.echo(f"{counted(number, 'picture')} in {folder}", err=True)


def _write(text: str, out: Path | None, what: str) -> None:
    from contextbias.files import write_atomic

    if out is None:
        sys.stdout.write(text)
        return
    write_atomic(out, text.encode())
    typer.echo(f"{what} in {out}", err=True)
