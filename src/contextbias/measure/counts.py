"""COUNTS.csv: a table of counts in, a table of consistency numbers out, without any study.

The file (`sheets.Sheet`) has one row a condition: generator, role, dimension, label, condition,
count, n. A condition without a row is not compared; it is not a condition with a count of 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import polars as pl

from contextbias.errors import CountsError, InputError
from contextbias.measure.cells import (
    CELL,
    N_COLUMNS,
    X_COLUMNS,
    Rule,
    cell_consistency,
    mean_over_generators,
)
from contextbias.sheets import Sheet, read_text
from contextbias.stats.proportion import MAXIMUM_COUNT
from contextbias.tables import CONDITIONS

KEYS = ("generator", *CELL)
"""Columns that name a cell."""
COLUMNS = (*KEYS, "condition", "count", "n")
"""Columns that a file of counts must have; others are ignored."""
MEAN = "mean"
"""Generator of the rows that go over all generators; not to be used in a file of counts."""

RESULT_COLUMNS = (
    *KEYS,
    *(column for pair in zip(X_COLUMNS, N_COLUMNS, strict=True) for column in pair),
    "prevalence_pct",
    "range_pp",
    "chi2",
    "df",
    "p",
    "q",
    "ccs",
    "invariant",
    "verdict",
    "n_generators",
    "invariant_generators",
    "p_exact",
    "equivalence_p",
    "note",
    "prevalence_unweighted_pct",
    "range_low",
    "range_high",
    "range_expected",
    "ccs_low",
    "ccs_high",
)
"""Columns of the result, in this order."""

_WHOLE = r"^[0-9]+(\.0*)?$"  # 20.0 is how some programs write 20
_TOLD = 10  # kinds of faults that one error names
_SHOWN = 60  # characters of a wrong value that an error repeats


def consistency_csv(path: Path, *, margin_pp: float = 5.0, alpha: float = 0.05) -> str:
    """Turn a file of counts into the table of consistency numbers, as CSV.

    First one row a (generator, role, dimension, label), in the order of the file; then one row with
    generator ``mean`` a (role, dimension, label). Booleans are ``true`` and ``false``, missing is
    empty, numbers are not rounded. The rows of the file are one family for ``q``.

    Args:
        path: The file of counts.
        margin_pp: Margin in percentage points.
        alpha: Level of the tests.

    Raises:
        CountsError: The file breaks the contract, or a number is out of its range.
    """
    try:
        rule = Rule.of(margin_pp, alpha)
    except ValueError as problem:
        raise CountsError(str(problem)) from None
    cells = cell_consistency(_cells(read_counts(path)), rule)
    rows = pl.concat([cells, _mean_rows(cells)], how="diagonal")
    return rows.select(RESULT_COLUMNS).write_csv()


def _mean_rows(cells: pl.DataFrame) -> pl.DataFrame:
    """One row a cell over all generators; only the means and the counts of generators are set."""
    return mean_over_generators(cells).select(
        pl.lit(MEAN).alias("generator"), *CELL, "ccs", "n_generators", "invariant_generators"
    )


def _cells(rows: pl.DataFrame) -> pl.DataFrame:
    """One row a cell, x and n of each condition side by side; null where there is no row."""
    # A cell has one row a condition at most, so the maximum is its value.
    return rows.group_by(KEYS, maintain_order=True).agg(
        pl.when(pl.col("condition") == condition).then(pl.col(column)).max().alias(name)
        for column, names in (("count", X_COLUMNS), ("n", N_COLUMNS))
        for condition, name in zip(CONDITIONS, names, strict=True)
    )


def read_counts(path: Path) -> pl.DataFrame:
    """Read and check a file of counts.

    Args:
        path: A CSV (`sheets.Sheet`) with the columns of `COLUMNS`.

    Returns:
        The columns of `COLUMNS`; count and n as whole numbers.

    Raises:
        CountsError: All kinds of faults, each with its first line, in the order of lines: an
            unknown condition, a duplicate row, a count that is not whole, negative or above n, an
            empty field, a row that cannot be read. Or a column is missing; or the file is not
            there, empty, not a file, not UTF-8. (n may differ between labels of one question: a
            label counts only where it could have been seen.)
    """
    try:
        sheet = Sheet(read_text(path), str(path), COLUMNS)
    except InputError as error:
        raise CountsError(error.problem, error.fix) from None
    rows, broken = _table(sheet)
    faults = list(chain(_faults_of_names(rows), _faults_of_numbers(rows)))
    wrong = {line for fault in faults for line in fault.lines}
    rows = rows.filter(~pl.col("line").is_in(wrong))
    rows = rows.with_columns(_whole(name) for name in ("count", "n"))
    faults += _faults_of_cells(rows)
    _refuse(path, faults, broken)
    if rows.is_empty():
        raise CountsError(f"{path} has a header but no rows", "give one row a condition")
    return rows.drop("line")


@dataclass(frozen=True, slots=True)
class _Fault:
    """One kind of fault."""

    lines: list[int]
    """Where it is, in order; at least one."""
    problem: str
    """What is wrong in the first of them."""
    fix: str


def _table(sheet: Sheet) -> tuple[pl.DataFrame, InputError | None]:
    """`COLUMNS` as stripped text and the line that each row ends on; the row that cannot be read,
    if one ends the reading."""
    lines: list[int] = []
    fields: dict[str, list[str]] = {name: [] for name in COLUMNS}
    broken = None
    try:
        for line, row in sheet.rows():
            lines.append(line)
            for name, column in fields.items():
                column.append(row[name])
    except InputError as error:
        broken = error
    schema = {**dict.fromkeys(COLUMNS, pl.String), "line": pl.Int64}
    rows = pl.DataFrame({**fields, "line": lines}, schema=schema)
    return rows.with_columns(pl.col(COLUMNS).str.strip_chars()), broken


def _faults_of_names(rows: pl.DataFrame) -> Iterator[_Fault]:
    """Empty fields, unknown conditions, generators with the reserved name."""
    for name in COLUMNS:
        yield from _fault(rows.filter(pl.col(name) == ""), f"{name} is empty")
    unknown = rows.filter(~pl.col("condition").is_in((*CONDITIONS, "")))
    letters = pl.col("condition").str.replace_all("[^A-Za-z]", "").str.to_uppercase()
    for condition in CONDITIONS:
        meant = letters == condition.replace("-", "")
        hint = f"did you mean {condition!r}?"
        yield from _fault(unknown.filter(meant), "unknown condition {condition}", hint)
        unknown = unknown.filter(~meant)
    hint = f"the conditions are {', '.join(CONDITIONS)}"
    yield from _fault(unknown, "unknown condition {condition}", hint)
    yield from _fault(
        rows.filter(pl.col("generator") == MEAN),
        "a generator has the name {generator}",
        "that name is kept for the mean over generators",
    )


def _faults_of_numbers(rows: pl.DataFrame) -> Iterator[_Fault]:
    """Counts and numbers of images that are no whole numbers, or out of range."""
    for name in ("count", "n"):
        text, value = pl.col(name), f"{name} {{{name}}}"
        given = rows.filter(text != "")
        negative, whole = text.str.contains(r"^-\d"), text.str.contains(_WHOLE)
        yield from _fault(given.filter(negative), f"{value} is negative")
        yield from _fault(given.filter(~whole & ~negative), f"{value} is not a whole number")
        yield from _fault(
            given.filter(whole & (_whole(name) > MAXIMUM_COUNT)), f"{value} is too large"
        )


def _whole(name: str) -> pl.Expr:
    """A column of whole numbers as such; above `MAXIMUM_COUNT` where they do not fit."""
    digits = pl.col(name).str.replace(r"\.0*$", "").str.replace(r"^0+(\d)", "$1")
    return digits.cast(pl.Int64, strict=False).fill_null(MAXIMUM_COUNT + 1)


def _faults_of_cells(rows: pl.DataFrame) -> Iterator[_Fault]:
    """Counts above n, and rows that are there twice."""
    yield from _fault(rows.filter(pl.col("count") > pl.col("n")), "count {count} is above n {n}")
    again = rows.with_columns(first=pl.col("line").first().over(*KEYS, "condition"))
    yield from _fault(
        again.filter(pl.col("line") != pl.col("first")),
        "{generator}, {role}, {dimension}, {label}, {condition} was already given in line {first}",
        "keep one row a condition",
    )


def _fault(bad: pl.DataFrame, problem: str, fix: str = "") -> Iterator[_Fault]:
    """The fault of these rows, if there are any.

    `problem` names columns in braces; their values in the first row take the places.
    """
    if bad.is_empty():
        return
    shown = {
        name: _shown(value) if isinstance(value, str) else value
        for name, value in bad.row(0, named=True).items()
    }
    yield _Fault(bad["line"].to_list(), problem.format_map(shown), fix)


def _refuse(path: Path, faults: list[_Fault], broken: InputError | None) -> None:
    """Raise for the faults that were found, and for the row that ended the reading."""
    said = [
        (f"line {each.lines[0]}: {each.problem}{_more(each)}", each.fix)
        for each in sorted(faults, key=lambda fault: fault.lines)
    ]
    if broken is not None:  # in the last of the lines
        said.append((broken.problem.removeprefix(f"{path}, "), broken.fix))
    if len(said) == 1:
        raise CountsError(f"{path}, {said[0][0]}", said[0][1])
    if said:
        told = "; ".join(f"{what} ({fix})" if fix else what for what, fix in said[:_TOLD])
        rest = f"; and {len(said) - _TOLD} more" if len(said) > _TOLD else ""
        raise CountsError(
            f"{path} has {len(said)} kinds of faults: {told}{rest}", "correct these lines"
        )


def _more(fault: _Fault) -> str:
    more = len(fault.lines) - 1
    rows = "such row" if more == 1 else "such rows"
    return f" (and {more} more {rows})" if more else ""


def _shown(value: str) -> str:
    """Repeat a value of the user's on one line, shortened."""
    return repr(value if len(value) <= _SHOWN else value[: _SHOWN - 1] + "…")
