"""COUNTS.csv: a table of counts in, a table of consistency numbers out, without any study.

The file has one row a condition: generator, role, dimension, label, condition, count, n. A
condition without a row is not compared; it is not a condition with a count of 0.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from contextbias.errors import CountsError, nearest
from contextbias.measure.cells import (
    CELL,
    N_COLUMNS,
    X_COLUMNS,
    Rule,
    cell_consistency,
    mean_over_generators,
)
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
        path: CSV in UTF-8 (with or without a byte order mark), comma-separated, with a header.

    Returns:
        The columns of `COLUMNS`; count and n as whole numbers.

    Raises:
        CountsError: Named with its line: a missing column, an unknown condition, a duplicate row, a
            count that is not whole, negative or above n, an empty field; or the file is not there,
            empty, not a file, not UTF-8. (n may differ between labels of one question: a label
            counts only where it could have been seen.)
    """
    rows = _table(path)
    _check_names(path, rows)
    rows = _with_numbers(path, rows)
    _check_cells(path, rows)
    return rows.drop("line")


def _table(path: Path) -> pl.DataFrame:
    """The columns of `COLUMNS` as stripped text, and the line that each row ends on."""
    found = _records(path, _text(path))
    _, header = next(found)
    positions = _positions(path, [name.strip() for name in header])
    lines: list[int] = []
    fields: list[list[str]] = [[] for _ in COLUMNS]
    for line, record in found:
        if len(record) != len(header):
            raise _wrong(path, line, f"{len(record)} fields where the header has {len(header)}")
        lines.append(line)
        for column, position in zip(fields, positions, strict=True):
            column.append(record[position])
    if not lines:
        raise CountsError(f"{path} has a header but no rows", "give one row a condition")
    rows = pl.DataFrame({**dict(zip(COLUMNS, fields, strict=True)), "line": lines})
    return rows.with_columns(pl.col(COLUMNS).str.strip_chars())


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise CountsError(f"there is no file {path}", "check the path") from None
    except IsADirectoryError:
        raise CountsError(f"{path} is a folder, not a file", "give a CSV file") from None
    except OSError as problem:
        raise CountsError(f"{path} cannot be read: {(problem.strerror or '').lower()}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise _wrong(path, line, "not UTF-8", "save the file as UTF-8") from None
    if not text.strip():
        raise CountsError(f"{path} is empty", f"its header is {','.join(COLUMNS)}")
    return text


def _records(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Records that are not blank, with the line that each ends on."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            raise _wrong(path, reader.line_num, f"not CSV ({problem})") from None
        if any(field.strip() for field in record):
            yield reader.line_num, record


def _positions(path: Path, header: list[str]) -> list[int]:
    """Where each of `COLUMNS` stands in the header."""
    for name in COLUMNS:
        if name not in header:
            others = [found for found in header if found not in COLUMNS]
            problem = f"{path} has no column {name!r}; its header is {_shown(','.join(header))}"
            wanted = f"the columns are {', '.join(COLUMNS)}, parted by commas"
            raise CountsError(problem, nearest(name, others) or wanted)
        if header.count(name) > 1:
            raise CountsError(f"{path} has two columns {name!r}", "keep one of them")
    return [header.index(name) for name in COLUMNS]


def _check_names(path: Path, rows: pl.DataFrame) -> None:
    """No empty field, no unknown condition, no generator with the reserved name."""
    for name in COLUMNS:
        _refuse(path, rows.filter(pl.col(name) == ""), f"{name} is empty")
    _refuse(
        path,
        rows.filter(~pl.col("condition").is_in(CONDITIONS)),
        "unknown condition {condition}",
        f"the conditions are {', '.join(CONDITIONS)}",
    )
    _refuse(
        path,
        rows.filter(pl.col("generator") == MEAN),
        "a generator has the name {generator}",
        "that name is kept for the mean over generators",
    )


def _with_numbers(path: Path, rows: pl.DataFrame) -> pl.DataFrame:
    """The same rows, count and n as whole numbers in range."""
    for name in ("count", "n"):
        text, value = pl.col(name), f"{name} {{{name}}}"
        _refuse(path, rows.filter(text.str.contains(r"^-\d")), f"{value} is negative")
        _refuse(path, rows.filter(~text.str.contains(_WHOLE)), f"{value} is not a whole number")
        digits = text.str.replace(r"\.0*$", "").str.replace(r"^0+(\d)", "$1")
        whole = digits.cast(pl.Int64, strict=False).fill_null(MAXIMUM_COUNT + 1)
        _refuse(path, rows.filter(whole > MAXIMUM_COUNT), f"{value} is too large")
        rows = rows.with_columns(whole.alias(name))
    return rows


def _check_cells(path: Path, rows: pl.DataFrame) -> None:
    """No count above n, no row twice, one n for all labels of a question."""
    _refuse(path, rows.filter(pl.col("count") > pl.col("n")), "count {count} is above n {n}")
    again = rows.with_columns(first=pl.col("line").first().over(*KEYS, "condition"))
    _refuse(
        path,
        again.filter(pl.col("line") != pl.col("first")),
        "{generator}, {role}, {dimension}, {label}, {condition} was already given in line {first}",
        "keep one row a condition",
    )


def _refuse(path: Path, bad: pl.DataFrame, problem: str, fix: str = "") -> None:
    """Raise for the first of the bad rows, if there is one; say how many more there are.

    `problem` names columns in braces; their values in that row take the places.
    """
    if bad.is_empty():
        return
    row = bad.sort("line").row(0, named=True)
    shown = {
        name: _shown(value) if isinstance(value, str) else value for name, value in row.items()
    }
    more = f" (and {bad.height - 1} more such rows)" if bad.height > 1 else ""
    raise _wrong(path, row["line"], problem.format_map(shown) + more, fix)


def _wrong(path: Path, line: int, problem: str, fix: str = "") -> CountsError:
    return CountsError(f"{path}, line {line}: {problem}", fix)


def _shown(value: str) -> str:
    """Repeat a value of the user's on one line, shortened."""
    return repr(value if len(value) <= _SHOWN else value[: _SHOWN - 1] + "…")
