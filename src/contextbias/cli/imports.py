"""`contextbias import`: bring in what was made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from contextbias.pipeline.released import ImportedRows

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
StudyToFill = Annotated[
    Path, typer.Argument(metavar="STUDY", help="A study folder; made if there is none.")
]

app = typer.Typer(
    no_args_is_help=True,
    help="Bring in images, readings or counts that were made elsewhere.",
    add_completion=False,
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
    from contextbias.progress import counted, for_terminal
    from contextbias.store import Study

    with Study.open(study, writing=True) as opened:
        new = import_images(
            opened, source, pattern=pattern, manifest=manifest, progress=for_terminal()
        )
    typer.echo(f"{counted(new, 'new image')} in {study}", err=True)
    finish(opened, report=False)


@app.command()
def reference(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SRC",
            help="Folder with PREFIX_GENERATOR/CONDITION/ROLE/[TYPE/]PROMPT below it.",
        ),
    ],
    study: StudyToFill,
    reader: Annotated[
        str, typer.Option(metavar="NAME", help="What to call whoever read the images.")
    ] = "released",
) -> None:
    """Take in files of the paper's released code: its counts by prompt, and records of images.

    Reads every frequency/frequencies.csv and descriptions/*.json below SRC. There are no images
    behind the counts, so a report on them shows no pictures. A new study gets the preset
    `reference`; `contextbias measure STUDY --preset paper` computes the other definitions from the
    same counts. A generator is called by the end of its folder's name. Nothing is taken in when one
    of the files is broken, and taking in the same files again adds nothing.
    """
    from contextbias.pipeline import import_reference, read_reference
    from contextbias.store import Study

    found = read_reference(source)
    _make_study(study, source, preset="reference")
    with Study.open(study, writing=True) as opened:
        done = import_reference(opened, found, reader=reader)
    _canonicalise(study)
    _say(done, study, counted=bool(found.frequencies), records=bool(found.records))


@app.command()
def records(
    source: Annotated[
        Path,
        typer.Argument(metavar="SRC", help="A .jsonl file, or a folder of .json and .jsonl files."),
    ],
    study: StudyToFill,
    reader: Annotated[
        str, typer.Option(metavar="NAME", help="What to call whoever read the images.")
    ] = "records",
) -> None:
    """Take in records of single images that another program made.

    Two forms are known: JSON files as the paper's released code writes them, one an image, and
    JSONL, one object a line: generator, role, condition, prompt, seed, path or image_id, and record
    (see the reference page of the attribute schema). An image needs no file. A record that departs
    from the schema counts as missing, `invalid`. Taking in the same records again adds nothing.
    """
    from contextbias.pipeline import import_records, read_source
    from contextbias.store import Study

    found = read_source(source)
    _make_study(study, source, preset="paper")
    with Study.open(study, writing=True) as opened:
        done = import_records(opened, found, reader=reader)
    _canonicalise(study)
    _say(done, study, counted=False, records=True)


@app.command()
def prompts(
    source: Annotated[
        Path, typer.Argument(metavar="LIST", help="The prompt list: .json, .jsonl or .csv.")
    ],
    study: StudyToFill,
) -> None:
    """Take in a prompt list, such as the paper's own, as what a study asks for.

    Entries say role, context (CF, CA-R, CA-U), prompt, and seeds_by_model where they have some: in
    one array, or by role and condition. Which prompts are phrasings of one another is worked out
    from their words. The list is copied into the study and named in its study.toml. A generator
    that is called as the list calls it draws with the seeds of the list.
    """
    from contextbias.pipeline import import_prompts

    done = import_prompts(source, study)
    typer.echo(f"{done.summary()}, in {study}", err=True)
    if done.is_new_study:
        typer.echo(f"Name generators and readers in {study / 'study.toml'}", err=True)


def _make_study(folder: Path, source: Path, *, preset: str) -> None:
    """Make the study's folder, unless it is there."""
    import json

    from contextbias.store import CONFIG_FILE, Study

    if (folder / CONFIG_FILE).exists():
        return
    name = source.resolve().name or "released files"
    text = (
        "# Made by `contextbias import`.\n\n"
        f"[study]\nname = {json.dumps(f'Import of {name}')}\n\n"
        f'[measure]\npreset = "{preset}"\n'
    )
    Study.create(folder, text).close()


def _canonicalise(folder: Path) -> None:
    """Make the attributes, so that `measure` can follow at once."""
    from contextbias.cli.run import make_options, run_stages

    run_stages(folder, ("canonicalise",), make_options())


def _say(done: ImportedRows, study: Path, *, counted: bool, records: bool) -> None:
    from contextbias.progress import counted as number_of

    parts = [f"counts of {number_of(done.frequencies, 'prompt')}"] if counted else []
    parts += [number_of(done.readings, "reading")] if records else []
    typer.echo(f"{' and '.join(parts)} new in {study}", err=True)
    if done.invalid:
        what = "record is" if done.invalid == 1 else "records are"
        typer.echo(
            f"{done.invalid:,} {what} off schema, so missing; for example {done.example}", err=True
        )
    if done.uncounted:
        typer.echo(
            f"Not counted, since the schema has no such question: {', '.join(done.uncounted)}",
            err=True,
        )
    if done.above:
        what = "count is" if done.above == 1 else "counts are"
        typer.echo(
            f"{done.above:,} {what} above the number of images of the prompt, and cut to it; for "
            f"example {done.above_example}",
            err=True,
        )
    if not (done.frequencies or done.readings):
        typer.echo("Everything was there already.", err=True)
