"""``contextbias specifications``: one number under every combination of choices."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextbias.cli.run import StudyFolder

if TYPE_CHECKING:
    import polars as pl


Estimand = Annotated[
    str,
    typer.Option(
        help="bias_intensity, in all its forms; or a share of verdicts: share_invariant_paper, "
        "share_invariant, share_shifted, share_inconclusive."
    ),
]
Contrast = Annotated[
    str | None,
    typer.Option(
        help="CA-U - CF (if left out), CA-R - CF or CA-U - CA-R; or a condition, or all.",
        show_default=False,
    ),
]
Cohort = Annotated[str, typer.Option(help="A cohort, or all: the mean of the four.")]
Dimension = Annotated[
    str | None, typer.Option(help="One dimension, instead of a mean.", show_default=False)
]
Generator = Annotated[str, typer.Option(help="A generator, or mean.")]
Mappings = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="A mapping of labels to count with, beside the study's own; may be given again.",
        show_default=False,
    ),
]
Beside = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="STUDY",
        help="Another study, for choices that need other pictures; may be given again.",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE.csv", help="Write here, not to stdout.", show_default=False),
]
Plot = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Draw the curve, as .svg or .png.", show_default=False),
]


def specifications(
    study: StudyFolder,
    estimand: Estimand = "bias_intensity",
    contrast: Contrast = None,
    cohort: Cohort = "all",
    dimension: Dimension = None,
    generator: Generator = "mean",
    mapping: Mappings = None,
    beside: Beside = None,
    out: Out = None,
    plot: Plot = None,
) -> None:
    """One number under every combination of choices: a specification curve.

    The number is the overall change of Bias Intensity from CF to CA-U, unless options name another
    one. The choices are who counts (people), what happens to unknown answers, which labels there
    are, which form of Bias Intensity is taken, whether images count whose prompt names the
    dimension, the preset, the reader and the mapping. One row a combination, sorted by the number;
    column "main" marks the choices of study.toml.
    """
    from contextlib import ExitStack

    from contextbias.files import write_atomic
    from contextbias.pipeline.specifications import Curve, draw, specifications
    from contextbias.progress import for_terminal
    from contextbias.store import Study

    _check_files(out, plot)
    curve = Curve(
        estimand=estimand,
        slot=contrast,
        generator=generator,
        cohort=cohort,
        dimension=dimension,
        mappings=tuple(mapping or ()),
        progress=for_terminal(),
    )
    with ExitStack() as opened:
        studies = [opened.enter_context(Study.open(path)) for path in (study, *(beside or ()))]
        rows = specifications(studies, curve)
    if plot is not None:
        write_atomic(plot, draw(rows, curve, plot.suffix))
        typer.echo(f"wrote {plot}", err=True)
    if out is None:
        typer.echo(rows.write_csv(), nl=False)
    else:
        write_atomic(out, rows.write_csv().encode())
        typer.echo(f"wrote {out}", err=True)
    typer.echo(_summary(rows, signed=" - " in curve.chosen_slot), err=True)


def _check_files(out: Path | None, plot: Path | None) -> None:
    from contextbias.errors import InputError

    if plot is not None and plot.suffix.lower() not in (".svg", ".png"):
        raise InputError(f"--plot {plot} is neither .svg nor .png", "name it so")
    if out is not None and plot is not None and os.path.realpath(out) == os.path.realpath(plot):
        raise InputError(f"--out and --plot are both {out}", "name two files")


def _summary(rows: pl.DataFrame, *, signed: bool) -> str:
    """The curve in a line; of a difference (`signed`) also how often it lies above 0."""
    from contextbias.progress import counted

    points = rows["point"].to_list()  # sorted
    middle = (points[len(points) // 2] + points[(len(points) - 1) // 2]) / 2
    form = "+.3f" if signed else ".3f"
    ends = f"from {points[0]:{form}} to {points[-1]:{form}}, median {middle:{form}}"
    said = f"{counted(len(points), 'specification')} {ends}"
    if not signed:
        return said
    clear = int(((rows["low"] > 0) | (rows["high"] < 0)).sum())
    above = sum(point > 0 for point in points)
    return f"{said}; {above:,} above 0, {clear:,} with an interval that leaves 0 out"
