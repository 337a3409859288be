"""`contextbias bench build`: a bank for other roles, axes and languages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contextbias.progress import counted

if TYPE_CHECKING:
    from contextbias.bench.builder import Proposal, Subject
    from contextbias.llm import Journal, Settler

app = typer.Typer(no_args_is_help=True, help="Context banks: build one of your own.")

_RolesFile = Annotated[
    Path,
    typer.Option(
        "--roles",
        metavar="FILE",
        help="The roles: CSV (role, about, form, soc), or one role a line.",
        show_default=False,
    ),
]
_Model = Annotated[
    str | None,
    typer.Option(help="The language model that proposes, as its server names it.",
                 show_default=False),
]  # fmt: skip
_Judge = Annotated[
    str | None,
    typer.Option(help="Another one that judges; left out: the same.", show_default=False),
]
_Option = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="KEY=VALUE",
        help="An option of the models, such as base_url=http://localhost:8000/v1, "
        "structured=json_object or budget=5; may be given again.",
        show_default=False,
    ),
]
_Language = Annotated[
    str,
    typer.Option(metavar="CODE|FILE", help="en, de, or a language file of one's own (TOML)."),
]
_Axes = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Further axes; lighting is known, others are proposed.",
                 show_default=False),
]  # fmt: skip
_Pool = Annotated[
    bool,
    typer.Option(
        "--own-pool",
        help="Propose the everyday contexts too, instead of taking those of the bank that ships.",
    ),
]
_Phrasings = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="Instead of the shipped bank's; three times.",
                 show_default=False),
]  # fmt: skip
_Review = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Make the bank from this review, of which a person has decided every line.",
        show_default=False,
    ),
]
_Reviewer = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="With --review: who decided.", show_default=False),
]
_Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE.toml", help="With --review: the bank.", show_default=False),
]
_Name = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="With --review: the bank's name; else that of --out.",
                 show_default=False),
]  # fmt: skip
_Licence = Annotated[str, typer.Option(metavar="SPDX", help="With --review: the bank's licence.")]
_DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say how many questions, tokens and what money; ask none.")
]

_SHOWN = 200
# Letters of a reason; the review has all of it.


@app.callback()
def _bench() -> None:
    pass


@app.command()
def build(
    roles: _RolesFile,
    model: _Model = None,
    judge: _Judge = None,
    option: _Option = None,
    language: _Language = "en",
    axes: _Axes = None,
    own_pool: _Pool = False,
    phrasing: _Phrasings = None,
    review: _Review = None,
    reviewer: _Reviewer = None,
    out: _Out = None,
    name: _Name = None,
    licence: _Licence = "not stated",
    dry_run: _DryRun = False,
) -> None:
    """Build a context bank with a language model and a person who decides.

    First, with --model: contexts are proposed for every role, checked by the rules of
    `contextbias prompts --check`, judged, and written to ROLES.review.csv, one line a candidate.
    Edit its column `keep`, and its texts. Answers are kept in ROLES.answers.jsonl: what was
    paid for is not asked again.

    Then, with --review, --reviewer and --out: the bank.
    """
    from contextbias.bench.builder import read_roles, subject_of
    from contextbias.errors import InputError

    subject = subject_of(
        read_roles(roles),
        language=language,
        axes=_names(axes),
        phrasings=tuple(phrasing or ()),
        own_pool=own_pool,
    )
    if review is not None:
        if model or judge or option or dry_run:
            raise InputError(
                "--review makes a bank and asks no model", "leave --model, --judge, --option out"
            )
        _assemble(subject, review, out, reviewer, name, licence)
        return
    if model is None:
        raise InputError(
            "neither --model nor --review is given",
            "name a language model to propose contexts, or a review to make a bank of",
        )
    if out or reviewer or name:
        raise InputError("--out, --reviewer and --name go with --review", "leave them out")
    _propose(subject, roles, model, judge or model, _options(option or []), dry_run)


def _propose(
    subject: Subject, roles: Path, model: str, judge: str, options: dict[str, Any], dry_run: bool
) -> None:
    from contextbias.bench.builder import (
        merged_csv,
        proposed,
        read_review,
        review_csv,
        unknown_to,
    )
    from contextbias.errors import Incomplete
    from contextbias.files import write_atomic
    from contextbias.llm import Journal
    from contextbias.progress import for_terminal

    journal = Journal(roles.with_name(f"{roles.stem}.answers.jsonl"))
    proposer = _settler(journal, model, options)
    judging = proposer if judge == model else _settler(journal, judge, options)
    if dry_run:
        _plan(subject, proposer, judging)
        return
    with journal.locked():
        found = proposed(subject, proposer, judging, for_terminal())
    path = roles.with_name(f"{roles.stem}.review.csv")
    before = read_review(path, may_be_empty=True) if path.exists() else []
    if found.candidates or before:
        new = unknown_to(before, found.candidates)
        text = merged_csv(before, new) if before else review_csv(found.candidates)
        write_atomic(path, text.encode())
        _say(found, path, len(new) if before else None)
    else:
        said = "; ".join(f"{about}: {why}" for about, why in found.unanswered[:1])
        raise Incomplete(
            f"no candidate came of {counted(len(found.unanswered), 'question')} "
            f"({said or 'no reason'})",
            "correct the cause, or ask another model",
        )
    if found.unanswered:
        raise Incomplete(
            f"no usable answer to {counted(len(found.unanswered), 'question')}",
            f"add lines to {path} by hand, or ask another model",
        )


def _settler(journal: Journal, model: str, options: dict[str, Any]) -> Settler:
    from contextbias.llm import Settler
    from contextbias.llm.served import ServedModel

    where = f"--model {model} and --option"
    served = ServedModel({**options, "model": model}, where=where, spent=journal.tokens(model))
    return Settler(journal, served.settings(), served)


def _plan(subject: Subject, proposer: Settler, judge: Settler) -> None:
    """Say what both passes would ask."""
    from contextbias.bench.builder import expected_judgements, first_questions, open_judgements
    from contextbias.llm.served import ServedModel

    first = proposer.open(first_questions(subject))
    second = expected_judgements(subject) if first else open_judgements(subject, proposer, judge)
    for what, settler, questions in (("propose", proposer, first), ("judge", judge, second)):
        served = settler.asker
        assert isinstance(served, ServedModel)
        expected = served.forecast(questions)
        money = "price not known" if expected.money is None else f"about {expected.money:.2f} USD"
        typer.echo(
            f"{what}: {counted(len(questions), 'question')} to {served.options.model}, about "
            f"{expected.tokens_in:,} tokens sent and {expected.tokens_out:,} received, {money}"
        )
        if (budget := expected.budget_words(len(questions))) is not None:
            typer.echo(f"  {budget}")
        for note in expected.notes:
            typer.echo(f"  {note}")
    typer.echo("Each answer that breaks a rule is asked for once more. Nothing was asked.")


def _say(found: Proposal, path: Path, added: int | None) -> None:
    """Say what came of it; `added` lines to a review that was there, None for a new one."""
    from textwrap import shorten

    for what, why in found.unanswered:
        typer.echo(f"{what}: no usable answer ({shorten(why, _SHOWN)})", err=True)
    for each in found.candidates:
        if each.faults:
            where = each.role or each.kind
            typer.echo(f"{where}: {each.text!r} is not recommended: {each.faults[0]}", err=True)
    where = f"are in {path}"
    if added is not None:
        where = f"came; {added:,} are new to {path}, and the lines that were there are as they were"
    typer.echo(
        f"{len(found.candidates):,} candidates, {found.recommended:,} contexts recommended, "
        f"{found.dropped:,} with a fault, {where}. Decide its column keep, then run this again "
        "with --review.",
        err=True,
    )


def _assemble(
    subject: Subject,
    review: Path,
    out: Path | None,
    reviewer: str | None,
    name: str | None,
    licence: str,
) -> None:
    import os
    from dataclasses import replace

    from contextbias.bench import build_prompts, check_bank
    from contextbias.bench.builder import Head, bank_text, read_review
    from contextbias.bench.reading import parse_bank
    from contextbias.errors import CheckFailed, InputError
    from contextbias.files import write_atomic

    if out is None or reviewer is None or not reviewer.strip():
        raise InputError("--review goes with --out and --reviewer", "say where, and who decided")
    if out.suffix != ".toml":
        raise InputError(f"--out {out} is no bank", "a bank's file ends in .toml")
    if subject.language_name.endswith(".toml"):  # a bank names its language beside itself
        beside = os.path.relpath(subject.language_name, out.absolute().parent)
        subject = replace(subject, language_name=beside)
    head = Head(name=name or out.stem, reviewer=reviewer.strip(), licence=licence)
    text = bank_text(subject, read_review(review), head, path=str(out))
    bank = parse_bank(text, str(out))
    write_atomic(out, text.encode())
    faults = check_bank(bank)
    for fault in faults:
        typer.echo(str(fault))
    if faults:
        raise CheckFailed(
            f"{counted(len(faults), 'fault')} in {out}",
            f"correct {review} and run this again, or allow a word in [checks]",
        )
    sizes = f"{counted(len(bank.entries), 'role')}, {counted(len(build_prompts(bank)), 'prompt')}"
    typer.echo(f"{out}: {sizes}, no fault", err=True)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _options(given: list[str]) -> dict[str, Any]:
    """``key=value`` pairs; values as TOML has them, or texts."""
    import tomllib

    from contextbias.errors import InputError

    found: dict[str, Any] = {}
    for each in given:
        key, equals, value = each.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--option {each!r} is no KEY=VALUE", "such as budget=5")
        try:
            found[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[key.strip()] = value.strip()
    return found
