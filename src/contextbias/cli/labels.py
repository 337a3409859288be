"""`contextbias labels`: which terms became which label, and what another mapping makes of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextbias.cli.run import StudyFolder

if TYPE_CHECKING:
    from contextbias.canonicalise import LabelMapping

Diff = Annotated[
    Path | None,
    typer.Option(
        "--diff",
        metavar="OTHER",
        help="Another study, or a mapping file: print only the terms that it treats differently.",
        show_default=False,
    ),
]
ByModel = Annotated[
    bool,
    typer.Option(
        "--model",
        help="Print only the terms to which a language model gave another label than the offline "
        "grouping, with its snapshot, the date and the hash of its answer.",
    ),
]
Offline = Annotated[
    Path | None,
    typer.Option(
        "--write-offline",
        metavar="FILE",
        help="Write the mapping as it would be without the language model, for "
        "`contextbias specifications --mapping FILE`.",
        show_default=False,
    ),
]
Plan = Annotated[
    bool,
    typer.Option(
        "--plan",
        help="Say what the language model of study.toml would be asked, and for how much; ask "
        "nothing.",
    ),
]
Every = Annotated[
    bool, typer.Option("--all", help="Also terms that are their own label, alone under it.")
]


def labels(
    study: StudyFolder,
    other: Diff = None,
    by_model: ByModel = False,
    offline: Offline = None,
    plan: Plan = False,
    every: Every = False,
) -> None:
    """Show what canonicalise made of the terms of open vocabularies, as CSV.

    One row a term: its dimension, its label, and the rule that gave it that label. By default only
    labels of more than one term are shown. To change a label, name a file of overrides under
    [canonicalise] in study.toml.
    """
    import csv

    from contextbias.canonicalise import changes

    if plan:
        _plan(study)
        return
    mapping = _mapping_in(study)
    write = csv.writer(sys.stdout, lineterminator="\n").writerow
    if other is not None:
        write(("dimension", "term", "label", "other"))
        for change in changes(mapping, _mapping_in(other)):
            write((change.dimension, change.term, change.before, change.after))
        return
    if by_model or offline is not None:
        _check_is_by_model(study, mapping)
    if offline is not None:
        _write_offline(mapping, offline)
        return
    if by_model:
        write(("dimension", "term", "offline", "label", "model", "date", "answer"))
        for row in _by_model(mapping):
            write(row)
        return
    write(("dimension", "label", "term", "rule"))
    rows = _rows(mapping, every=every)
    for row in rows:
        write(row)
    if not rows and not every:
        typer.echo("no label has several terms; --all shows every term", err=True)


def _rows(mapping: LabelMapping, *, every: bool) -> list[tuple[str, str, str, str]]:
    rows = []
    for name, pairs in mapping.labels.items():
        rules = mapping.rules.get(name, {})
        shared = {label for term, label in pairs.items() if term != label}
        for term, label in pairs.items():
            if every or label in shared:
                spelling = "spelling" if term != label else ""
                rows.append((name, label, term, rules.get(term, spelling)))
    return sorted(rows)


def _plan(root: Path) -> None:
    from contextbias.pipeline.labels import label_questions
    from contextbias.progress import for_terminal
    from contextbias.store import Study

    with Study.open(root) as study:
        expected = label_questions(study, for_terminal())
    money = "price not known" if expected.money is None else f"about {expected.money:.2f} USD"
    typer.echo(
        f"{expected.calls:,} groups to ask about, about {expected.tokens_in:,} tokens sent and "
        f"{expected.tokens_out:,} received, {money} ({expected.basis}; repairs not counted)"
    )
    if (budget := expected.budget_words(expected.calls or 0)) is not None:
        typer.echo(budget)
    for note in expected.notes:
        typer.echo(note)


def _check_is_by_model(study: Path, mapping: LabelMapping) -> None:
    from contextbias.errors import InputError

    if not mapping.decisions:
        raise InputError(
            f"no language model took part in the labels of {study}",
            'write mapping = "model" under [canonicalise], and run the canonicalise stage',
        )


def _write_offline(mapping: LabelMapping, path: Path) -> None:
    from contextbias.canonicalise.llm import offline_labels
    from contextbias.files import write_atomic

    write_atomic(path, offline_labels(mapping).to_json())
    typer.echo(f"the mapping without the language model is in {path}", err=True)


def _by_model(mapping: LabelMapping) -> list[tuple[str, ...]]:
    """Terms whose label is not the offline one; a merge is by the decisions of two groups."""
    rows = []
    for decision in mapping.decisions:
        labels = mapping.labels[decision["dimension"]]
        by = (decision.get("model", ""), decision.get("date", ""), decision.get("answer", ""))
        rows += [
            (decision["dimension"], term, decision["offline"], labels[term], *by)
            for term in decision["terms"]
            if labels[term] != decision["offline"]
        ]
    return sorted(rows)


def _mapping_in(place: Path) -> LabelMapping:
    """The mapping of a study folder, or of a file."""
    from contextbias.canonicalise import LabelMapping
    from contextbias.errors import InputError
    from contextbias.files import unreadable
    from contextbias.store import MAPPING_FILE, Study

    if place.is_file():
        try:
            return LabelMapping.from_json(place.read_bytes(), where=str(place))
        except OSError as error:
            raise unreadable(place, error) from None
    with Study.open(place) as study:
        data = study.mapping()
    if data is None:
        raise InputError(f"{place} has no labels", "run the canonicalise stage first")
    return LabelMapping.from_json(data, where=str(place / MAPPING_FILE))
