"""`contextbias annotate`: ask people about a study's images, in a web page."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextbias.cli.annotate_export import Form, ItemKind
from contextbias.cli.run import StudyFolder

if TYPE_CHECKING:
    from contextbias.annotate.answering import Answering
    from contextbias.annotate.invitation import Invited

app = typer.Typer(
    no_args_is_help=True,
    help="Ask people about a study's images, in a web page of your own.",
    add_completion=False,
)

Name = Annotated[str, typer.Argument(metavar="ANNOTATOR", help="The pseudonym, such as a1.")]


PublicUrl = Annotated[
    str,
    typer.Option(
        "--public-url", "--url", metavar="URL", help="Address at which `serve` is reached."
    ),
]
OWN_ADDRESS = "http://127.0.0.1:8765"


@app.callback()
def _group() -> None:
    pass


@app.command("invite")
def invite_annotators(
    study: StudyFolder,
    annotators: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many, called a1, a2, …")
    ] = 3,
    names: Annotated[
        str | None,
        typer.Option(help="Their pseudonyms instead, separated by commas.", show_default=False),
    ] = None,
    base: PublicUrl = OWN_ADDRESS,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be drawn and for whom; write nothing."),
    ] = False,
    anew: Annotated[
        bool,
        typer.Option(
            "--anew",
            help="Withdraw what was declared and who was invited, while nobody has answered, and "
            "begin again.",
        ),
    ] = False,
) -> None:
    """Invite annotators and print a personal link for each, as CSV.

    The first invitation declares the study: it draws the items and writes down the questions and
    the rules that exclude, as study.toml has them in [annotate]. A link is printed once; the study
    holds only its hash. With more annotators later, what has too few people goes to them.
    """
    import csv

    from contextbias.cli.annotate_text import each_line, sample_line, warning
    from contextbias.pipeline.annotation import foresee_invitation, invite_people, load_of_people

    wanted = annotators if names is None else [n.strip() for n in names.split(",") if n.strip()]
    if dry_run:
        load = foresee_invitation(study, wanted, anew=anew)
        print("\n".join([sample_line(load), each_line(load), *warning(load)]))
        typer.echo("Nothing was written.", err=True)
        return
    invited, changed = invite_people(study, wanted, anew=anew)
    write = csv.writer(sys.stdout, lineterminator="\n").writerow
    write(("annotator", "link"))
    for one in invited:
        write((one.annotator, _link(base, one)))
    given = load_of_people(study, [one.annotator for one in invited])
    for line in (sample_line(given), each_line(given), *warning(given)):
        typer.echo(line, err=True)
    _say_who_has_nothing(study, kind="person", names=[one.annotator for one in invited])
    typer.echo(f"Each link is for one person. Then: contextbias annotate serve {study}", err=True)
    if changed:
        typer.echo(
            f"[annotate] has changed since it was declared ({', '.join(changed)}); what was "
            "declared stays in force (while nobody has answered, --anew declares it again)",
            err=True,
        )


@app.command()
def serve(
    study: StudyFolder,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8765,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")] = (
        "127.0.0.1"
    ),
    allow_remote: Annotated[
        bool,
        typer.Option("--allow-remote", help="Listen on an address that other machines can reach."),
    ] = False,
    public_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Address that annotators use, when the server is behind another one.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve the questions to annotators, until Ctrl-C. Prints the administrator's link.

    Listens on this machine only, unless --allow-remote is given. The study can be run, measured and
    reported meanwhile. Every answer is on disk before the page hears of it.
    """
    from contextbias.annotate.server import serve as serve_until_stopped

    def say(url: str, admin: str) -> None:
        typer.echo(f"Annotators: {url}  (each with a personal link from `annotate invite`)")
        typer.echo(f"Administrator, until the server stops: {admin}")
        sys.stdout.flush()
        typer.echo("Where a link begins with another address, put this one in its place.", err=True)

    from contextbias.pipeline.annotation import picture_finder

    with _answering(study) as answering:
        serve_until_stopped(
            answering,
            picture_finder(study),
            host=host,
            port=port,
            allow_remote=allow_remote,
            public_url=public_url,
            started=say,
        )
    typer.echo("Stopped. All answers are in the study.", err=True)


@app.command("simulate")
def simulate_annotators(
    study: StudyFolder,
    annotators: Annotated[int, typer.Option(metavar="N", min=1, max=50, help="How many.")] = 3,
) -> None:
    """Let simulated annotators answer, for a study of the simulated generator.

    They know what was planted in each image, and err in 4% to 12% of the answers. Nothing that they
    say is a finding about people.
    """
    from contextbias.pipeline.annotation import simulate_people

    for name, number in simulate_people(study, annotators).items():
        print(f"{name}: {number:,} new {'answer' if number == 1 else 'answers'}")
    _say_who_has_nothing(study, kind="simulated")


@app.command()
def progress(
    study: StudyFolder,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say how far each annotator is and how well it goes. Changes nothing."""
    import json
    from dataclasses import asdict

    from contextbias.annotate.administration import overview
    from contextbias.cli.annotate_text import progress_lines
    from contextbias.pipeline.people import images_after_sample

    with _answering(study, writing=False) as answering:
        view = overview(answering)
    later = images_after_sample(study)
    if as_json:
        values = {
            "items": view.items,
            "answered_by": view.complete,
            "images_after_sample": later,
            "annotators": [
                {**asdict(line.quality), **asdict(line.progress)} for line in view.lines
            ],
        }
        print(json.dumps(values, indent=2))
        return
    print("\n".join(progress_lines(view, later)))


@app.command("link")
def give_new_link(study: StudyFolder, annotator: Name, base: PublicUrl = OWN_ADDRESS) -> None:
    """Give an annotator a new link, which is printed; the old one stops working."""
    from contextbias.annotate.invitation import new_link

    with _answering(study) as answering:
        print(_link(base, new_link(answering.book, annotator)))
    typer.echo(f"The earlier link of {annotator} works no more.", err=True)


@app.command("revoke")
def revoke_link(study: StudyFolder, annotator: Name) -> None:
    """Take an annotator's link away. The answers stay; open items can go to others."""
    from contextbias.annotate.invitation import revoke

    with _answering(study) as answering:
        revoke(answering.book, annotator)
    typer.echo(f"The link of {annotator} works no more; the answers stay.", err=True)


@app.command()
def remove(
    study: StudyFolder,
    annotator: Name,
    sure: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete an annotator with all answers, for good. What stays is how many there were.

    Numbers and exports that were made before are not changed: make them anew.
    """
    from contextbias.annotate.invitation import annotator_named
    from contextbias.store import STORE_FILE

    with _answering(study) as answering:
        annotator_named(answering.book, annotator)
        if not sure:
            typer.confirm(f"Delete {annotator} and all answers?", abort=True, err=True)
        number = answering.remove(annotator)
        remains = answering.book.has_remains
    with_them = "1 answer" if number == 1 else f"{number:,} answers"
    typer.echo(f"Deleted, with {with_them}. Measure and report anew.", err=True)
    if remains:
        typer.echo(
            f"Another program is reading {study / STORE_FILE}, whose bytes still hold what was "
            "deleted: close it, and then measure.",
            err=True,
        )


@app.command("export")
def export_answers(
    study: StudyFolder,
    to: Annotated[Form, typer.Option(help="csv, or label-studio: tasks with annotations.")] = (
        Form.CSV
    ),
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write; left out: stdout.", show_default=False),
    ] = None,
    versions: Annotated[
        bool, typer.Option("--versions", help="csv: every version of every answer.")
    ] = False,
    kind: Annotated[
        ItemKind | None,
        typer.Option(
            help="label-studio: tasks of this kind alone; left out, a file for each.",
            show_default=False,
        ),
    ] = None,
    interface: Annotated[
        ItemKind | None,
        typer.Option(
            help="label-studio: print the labelling interface for a kind of tasks instead.",
            show_default=False,
        ),
    ] = None,
    prefix: Annotated[
        str,
        typer.Option(help="label-studio: what stands before each picture's name.", metavar="TEXT"),
    ] = "",
    pictures: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="label-studio: also write the pictures there, under names that tell nothing.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write people's answers as CSV, or as tasks for Label Studio.

    A project of Label Studio has one interface, and so takes tasks of one kind: with --out
    tasks.json, sets are in tasks-set.json and single pictures in tasks-image.json where a study has
    both.
    """
    from contextbias.cli.annotate_export import Wanted, check, exported, save_pictures

    wanted = Wanted(to, kind, interface, prefix, versions)
    check(wanted, pictures)
    with _answering(study, writing=False) as answering:
        if pictures is not None:
            save_pictures(study, answering, wanted, pictures)
        exported(study, answering, wanted, out)


@app.command("import")
def import_answers(
    study: StudyFolder,
    source: Annotated[Path, typer.Argument(metavar="FILE", help="Label Studio's JSON export.")],
) -> None:
    """Take in answers that people gave in Label Studio, about items that were exported there.

    Nothing is taken in when one of them does not fit. Taking in the same file again adds nothing.
    """
    from contextbias.annotate.intake import from_label_studio
    from contextbias.errors import InputError
    from contextbias.files import unreadable

    try:
        text = source.read_text("utf-8-sig")
    except OSError as error:
        raise unreadable(source, error) from None
    except UnicodeDecodeError:
        raise InputError(f"{source} is not UTF-8 text", "export it as JSON") from None
    with _answering(study) as answering:
        made = from_label_studio(answering, text, str(source))
    for name, number in sorted(made.items()):
        print(f"{name}: {number:,} new {'answer' if number == 1 else 'answers'}")


@app.command()
def agreement(
    study: StudyFolder,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write all numbers as CSV.", show_default=False),
    ] = None,
    consensus: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write what most people say about each item as CSV.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Say how far people agree with one another, with themselves, and with each reader.

    From the answers that count: of the sample, by annotators whom no declared rule excludes. Works
    at any time, also before all have answered, and writes nothing into the study.
    """
    from contextbias.cli.agreement_text import as_table, as_values
    from contextbias.files import write_atomic
    from contextbias.pipeline.people import people_agreement
    from contextbias.progress import counted

    found = people_agreement(study)
    for path, frame, rows in (
        (out, found.estimates, "number"),
        (consensus, found.consensus, "row"),
    ):
        if path is not None:
            write_atomic(path, frame.write_csv().encode())
            typer.echo(f"{counted(frame.height, rows)} in {path}", err=True)
    if as_json:
        import json

        print(json.dumps(as_values(found), indent=2, ensure_ascii=False))
    elif out is None:
        print(as_table(found))


def _link(base: str, invited: Invited) -> str:
    return f"{base.rstrip('/')}/a/{invited.token}"


def _say_who_has_nothing(study: Path, *, kind: str, names: Sequence[str] | None = None) -> None:
    """Say on stderr which annotators of a kind were given no items."""
    from contextbias.annotate.invitation import nothing_for

    with _answering(study, writing=False) as answering:
        of_kind = [row.annotator for row in answering.annotators.values() if row.kind == kind]
        said = nothing_for(answering.book, of_kind if names is None else names)
    if said:
        typer.echo(said, err=True)


@contextmanager
def _answering(study: Path, *, writing: bool = True) -> Iterator[Answering]:
    """The study of people in a study folder, closed at the end."""
    from contextbias.annotate.answering import Answering
    from contextbias.people import Annotations

    with Annotations.open(study, writing=writing) as book:
        yield Answering(book)
