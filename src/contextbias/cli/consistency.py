"""``contextbias consistency``: consistency numbers from a table of counts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer


def consistency(
    counts: Annotated[
        Path,
        typer.Argument(
            metavar="COUNTS.csv",
            help="Columns generator, role, dimension, label, condition, count, n; "
            "one row a condition (CF, CA-R or CA-U). - reads from stdin.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE.csv", help="Write here instead of to stdout.", show_default=False
        ),
    ] = None,
    margin: Annotated[
        float,
        typer.Option(
            "--margin",
            metavar="PP",
            help="Largest range of the conditions, in percentage points, that still counts as the "
            "same prevalence.",
        ),
    ] = 5.0,
    alpha: Annotated[float, typer.Option("--alpha", help="Level of all tests.")] = 0.05,
) -> None:
    """Prevalence, range, chi-squared, CCS and verdicts from counts; no study is needed.

    COUNT is the number of images that show the label, N the number of images that the dimension was
    read from. A condition without a row is left out of the comparison; it is not a count of 0.

    The result has one row for each generator, role, dimension and label, then one row with
    generator "mean" for each role, dimension and label. Column "invariant" is the paper's rule
    (p > alpha and range <= margin). Column "verdict" asks for evidence: "invariant" if all
    differences are shown to lie within the margin, "shifted" if q < alpha and the range exceeds it,
    else "inconclusive". Column q adjusts p, or p_exact where an expected count is below 5.

    range_low to range_high and ccs_low to ccs_high are 95% intervals; range_expected is the range
    that chance alone gives. Counts do not tell which images share a prompt: every p and interval
    here takes images as independent.

    Booleans are true or false, missing is empty, numbers are not rounded.
    """
    from contextbias.errors import InputError
    from contextbias.files import write_atomic
    from contextbias.measure.counts import consistency_csv

    if counts == Path("-"):
        counts = Path("/dev/stdin")
    if out is not None and os.path.realpath(out) == os.path.realpath(counts):
        raise InputError(f"--out {out} would replace the counts", "name another file")
    result = consistency_csv(counts, margin_pp=margin, alpha=alpha).encode()
    if 0 < margin < 1:
        typer.echo(
            f"--margin {margin:g} is taken as {margin:g} percentage points; for "
            f"{100 * margin:g} points, give {100 * margin:g}",
            err=True,
        )
    if out is None:
        typer.echo(result, nl=False)
    else:
        write_atomic(out, result)
        typer.echo(f"wrote {out}", err=True)
