"""`contextbias validate`: prompts whose truth is known, for a study's generators and readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from contextbias.cli.run import Batch, Engine, Generators, Limit, StudyFolder
from contextbias.progress import counted

if TYPE_CHECKING:
    from pathlib import Path

    from contextbias.pipeline.options import Options
    from contextbias.pipeline.validation_prompts import Size
    from contextbias.pipeline.validation_run import Validated

_LEAST, _MOST = 2, 100_000


def validate(
    study: StudyFolder,
    prompts: Annotated[
        int | None,
        typer.Option(
            min=_LEAST,
            max=_MOST,
            metavar="N",
            help="Prompts that name a label; left out: those that are there, or 220. Prompts that "
            "are there are kept, and more are added.",
        ),
    ] = None,
    images: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10_000,
            metavar="M",
            help="Images of each prompt by each generator; left out: as before, or 10.",
        ),
    ] = None,
    context_free: Annotated[
        bool,
        typer.Option(
            "--context-free",
            help="No new prompt names a place, as in the paper; otherwise half of them do.",
        ),
    ] = False,
    limit: Limit = None,
    generators: Generators = None,
    engine: Engine = None,
    batch: Batch = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would take, and do nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --dry-run: print JSON.")] = False,
) -> None:
    """Ask for labels by name, and see how often they are drawn and read.

    Prompts such as "a photo of a male bartender" or "a photo of a nurse wearing a mask" are made
    from the labels that the study shows, each with a negative. The study's generators draw them
    and its readers read them, in a study of its own, STUDY/validation. Accuracy, precision, recall
    and F1 come into the study's estimates and report. Safe to stop at any moment and to run again.
    """
    from contextbias.cli.run import make_options
    from contextbias.errors import ConfigError
    from contextbias.pipeline.validation_prompts import Size

    if as_json and not dry_run:
        raise ConfigError("--json has no effect alone", "add --dry-run")
    size = Size(prompts=prompts, images=images, context_free=context_free)
    options = make_options(limit, None, generators, engine=engine, batch=batch)
    if dry_run:
        _print_forecast(study, size, as_json=as_json)
    else:
        _run(study, size, options)


def _print_forecast(folder: Path, size: Size, *, as_json: bool) -> None:
    import json

    from contextbias.cli.plan_text import work_lines
    from contextbias.pipeline.validation_run import forecast
    from contextbias.store import Study

    with Study.open(folder) as study:
        found = forecast(study, size)
    if as_json:
        print(json.dumps(found, indent=2, allow_nan=False))
        return
    few = found["asked"] > found["prompts"]
    why = f" ({found['asked']:,} were asked for; the study's labels give no more)" if few else ""
    print(f"{counted(found['prompts'], 'prompt')}{why}, such as")
    print("\n".join(f"  {text}" for text in found["examples"]))
    print("\n".join(work_lines(found["work"])))
    print("nothing was done (--dry-run)")


def _run(folder: Path, size: Size, options: Options) -> None:
    from contextbias.cli.run import finish, print_done
    from contextbias.pipeline.validation_run import validate as run_validation
    from contextbias.store import Study

    with Study.open(folder, writing=True) as study:
        try:
            found = run_validation(study, size, options)
        except KeyboardInterrupt:
            options.progress.say(
                "interrupted; what was finished is kept: run the same command again to go on"
            )
            raise typer.Exit(130) from None
        estimates = study.estimates()
    print_done(found.done)
    print("\n".join(_summary(estimates, found)))
    print(study.report_path)
    with Study.open(found.folder) as known:
        finish(known, report=False)


def _summary(estimates: Any, found: Validated) -> list[str]:
    """The three numbers of each reader and generator."""
    import polars as pl

    overall = estimates.filter(
        pl.col("estimand").is_in(["known_accuracy", "known_compliance", "known_reader_accuracy"]),
        pl.col("cohort") == "all",
        pl.col("condition") == "all",
        pl.col("role").is_null(),
    ).sort("reader", pl.col("generator").fill_null(""), maintain_order=True)
    words = {
        "known_accuracy": "read as named",
        "known_compliance": "drawn as named",
        "known_reader_accuracy": "read as drawn",
    }
    lines = [f"{found.prompts:,} prompts that name a label"]
    for (reader, generator), part in overall.group_by("reader", "generator", maintain_order=True):
        points = {row["estimand"]: row for row in part.iter_rows(named=True)}
        said = [
            f"{words[name]} {100 * row['point']:.1f}% [{100 * row['low']:.1f}, "
            f"{100 * row['high']:.1f}]"
            for name in words
            if (row := points.get(name)) is not None and row["point"] is not None
        ]
        lines.append(f"  {reader}, {generator or 'all generators'}: {'; '.join(said)}")
    return lines
