"""`contextbias run` and the commands of the single stages."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from contextbias.pipeline import Done, Failure, Options
    from contextbias.store import Study

StudyFolder = Annotated[
    Path, typer.Argument(metavar="STUDY", help="A study folder, with its study.toml.")
]
Limit = Annotated[
    int | None,
    typer.Option(min=0, help="At most N new images, and at most N new readings.", metavar="N"),
]
Roles = Annotated[str | None, typer.Option(help="Only these roles, separated by commas.")]
Generators = Annotated[str | None, typer.Option(help="Only these generators, by name.")]
Preset = Annotated[
    str | None, typer.Option(help="paper, strict or reference: overrides study.toml for this run.")
]

Engine = Annotated[
    str | None,
    typer.Option(
        help="Where the work runs: threads (and processes) of this machine, or ray, a cluster; "
        "overrides study.toml for this run."
    ),
]

Batch = Annotated[
    bool,
    typer.Option(
        "--batch",
        help="Readers of a service use its Batch API: cheaper, within a day. Ctrl-C leaves the "
        "batches there, and the same command collects them later.",
    ),
]

_SHOWN_FAILURES = 20


def run(
    study: StudyFolder,
    until: Annotated[
        str | None, typer.Option(metavar="STAGE", help="Stop after this stage.")
    ] = None,
    limit: Limit = None,
    roles: Roles = None,
    generators: Generators = None,
    preset: Preset = None,
    engine: Engine = None,
    batch: Batch = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
) -> None:
    """Run a study: make what is missing, read it, measure it, write the report.

    Safe to stop at any moment (Ctrl-C, a crash) and to run again: nothing that was made is made
    twice, and a finished study is left as it is.
    """
    from contextbias.pipeline import stages_until

    stages = stages_until(until)
    options = make_options(limit, roles, generators, preset, engine, batch=batch)
    if dry_run:
        _print_preview(study, stages, options)
        return
    finish(run_stages(study, stages, options), report="report" in stages)


def generate(
    study: StudyFolder,
    limit: Limit = None,
    roles: Roles = None,
    generators: Generators = None,
    engine: Engine = None,
) -> None:
    """Make the images that are missing."""
    options = make_options(limit, roles, generators, engine=engine)
    finish(run_stages(study, ("bench", "generate"), options), report=False)


def extract(
    study: StudyFolder,
    limit: Limit = None,
    roles: Roles = None,
    generators: Generators = None,
    engine: Engine = None,
    repeat: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="N further readings of a sample, to see how far each reader "
            "agrees with itself; in no number but those about agreement.",
        ),
    ] = 0,
    sample: Annotated[
        int | None,
        typer.Option(min=1, metavar="M", help="Images of that sample; 100 if left out."),
    ] = None,
    batch: Batch = False,
) -> None:
    """Read the images that have not been read."""
    options = make_options(limit, roles, generators, engine=engine, batch=batch)
    options = _with_repeats(options, repeat, sample)
    finish(run_stages(study, ("extract",), options), report=False)


def _with_repeats(options: Options, repeat: int, sample: int | None) -> Options:
    from dataclasses import replace

    from contextbias.errors import ConfigError

    if sample is not None and not repeat:
        raise ConfigError(
            f"--sample {sample} has no effect alone", "say how often with --repeat, such as 1"
        )
    return replace(options, repeat=repeat, sample=sample or options.sample)


def canonicalise(study: StudyFolder) -> None:
    """Turn readings into attributes: one row a fact."""
    finish(run_stages(study, ("canonicalise",), make_options()), report=False)


def measure(study: StudyFolder, preset: Preset = None) -> None:
    """Turn attributes into estimates: one row a number."""
    finish(run_stages(study, ("measure",), make_options(preset=preset)), report=False)


def report(study: StudyFolder) -> None:
    """Write the report: one page, and its tables."""
    finish(run_stages(study, ("report",), make_options()))


def make_options(
    limit: int | None = None,
    roles: str | None = None,
    generators: str | None = None,
    preset: str | None = None,
    engine: str | None = None,
    batch: bool = False,
) -> Options:
    """Options of the pipeline from words of the command line.

    Raises:
        ConfigError: No such preset or engine, or a list without a name.
    """
    from contextbias.errors import ConfigError
    from contextbias.pipeline import Options
    from contextbias.progress import for_terminal

    if preset not in (None, "paper", "strict", "reference"):
        raise ConfigError(f"there is no preset {preset!r}", "take paper, strict or reference")
    if engine not in (None, "threads", "ray"):
        raise ConfigError(f"there is no engine {engine!r}", "take threads or ray")
    return Options(
        limit=limit,
        roles=_names("--roles", roles),
        generators=_names("--generators", generators),
        preset=preset,
        engine=engine,
        batch=batch,
        progress=for_terminal(),
    )


def run_stages(folder: Path, stages: Sequence[str], options: Options) -> Study:
    """Open a study, run stages, say what each did; returns the study, closed.

    Raises:
        typer.Exit: 130, when interrupted.
        Incomplete: A stage stopped before its end; what failed so far is listed.
    """
    from contextbias.errors import Incomplete
    from contextbias.pipeline import failures
    from contextbias.pipeline import run as run_pipeline
    from contextbias.store import Study

    with Study.open(folder, writing=True) as study:
        try:
            done = run_pipeline(study, stages, options)
        except Incomplete:
            _list_failures(failures(study))
            raise
        except KeyboardInterrupt:
            options.progress.say(
                "interrupted; what was finished is kept: run the same command again to go on"
            )
            raise typer.Exit(130) from None
    narrowed = (options.limit, options.roles, options.generators) != (None, None, None)
    print_done(done, narrowed=narrowed)
    return study


def finish(study: Study, *, report: bool = True) -> None:
    """Print the report's path, then list what failed.

    Raises:
        Incomplete: Some items failed.
    """
    from contextbias.errors import Incomplete
    from contextbias.pipeline import failures
    from contextbias.store import Study as Opened

    with Opened.open(study.root) as reopened:
        failed = failures(reopened)
    if report and study.report_path.is_file():
        print(study.report_path)
    _list_failures(failed)
    if failed:
        one = len(failed) == 1
        fix = f"{'it counts' if one else 'they count'} as missing, with the reason, in every number"
        if any(failure.status == "error" for failure in failed):
            fix += "; a new run tries errors again, as often as [run] attempts in study.toml says"
        raise Incomplete(
            f"finished, but {len(failed):,} {'item' if one else 'items'} failed (listed above)", fix
        )


def _list_failures(failed: Sequence[Failure]) -> None:
    """One line for each, the first of each reason before the second of any."""
    from contextbias.errors import one_line

    seen: Counter[tuple[str, str]] = Counter()
    ranked = []
    for failure in failed:
        ranked.append((seen[failure.status, failure.reason], failure))
        seen[failure.status, failure.reason] += 1
    shown = [failure for _, failure in sorted(ranked, key=lambda each: each[0])]
    for failure in shown[:_SHOWN_FAILURES]:
        _say(one_line(f"  {failure.status}: {failure.what}: {failure.reason}"))
    if len(failed) > _SHOWN_FAILURES:
        _say(f"  and {len(failed) - _SHOWN_FAILURES:,} more")


def print_done(done: Sequence[Done], *, narrowed: bool = False) -> None:
    """Say what each stage did.

    Args:
        done: By the stages, in their order.
        narrowed: The run was about a part of the study.
    """
    for stage in done:
        _say(f"{stage.stage:<13}{stage.note}")
    if not any(stage.new for stage in done):
        within = "Nothing was left to do within --limit, --roles and --generators."
        _say(within if narrowed else "Everything was done already.")


def _print_preview(folder: Path, stages: Sequence[str], options: Options) -> None:
    from contextbias.pipeline import preview
    from contextbias.store import Study

    with Study.open(folder) as study:
        found = preview(study, stages, options)
    for each in found:
        counts = f"{each.wanted:,} wanted, {each.there:,} there, {each.left:,} to make"
        print(f"{each.what:<10}{counts}")
    print("nothing was done (--dry-run)")


def _names(option: str, text: str | None) -> frozenset[str] | None:
    from contextbias.errors import ConfigError

    if text is None:
        return None
    names = frozenset(word.strip() for word in text.split(",") if word.strip())
    if not names:
        raise ConfigError(f"{option} {text!r} names nothing", "give names, or leave it out")
    return names


def _say(line: str) -> None:
    print(line, file=sys.stderr)
