"""Reference distributions: a table of shares that roles have elsewhere, read and checked.

The file is a CSV (`sheets.Sheet`) with the columns ``role``, ``dimension``, ``label``, ``share`` (a
fraction of 1) and, if wanted, ``source``; others are ignored. A line says which share of the people
(or scenes) of a role has the label, by whatever source the user stands for: a labour-force survey,
a census, a target. Of a dimension with one label an image, a role has either all labels, adding up
to 1, or one label, which then stands against all others. Labels of a list each stand against their
absence.
What is computed from it is in representation.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from contextbias.errors import InputError, nearest, one_line
from contextbias.schema import DIMENSIONS
from contextbias.sheets import Sheet, read_text

COLUMNS = ("role", "dimension", "label", "share")
"""Columns that the file must have."""

SHARES_SCHEMA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(COLUMNS[:3], pl.String),
    "share": pl.Float64,
    "even": pl.Float64,
}
"""Columns of `read_shares`. ``even``: the share that each of the labels would have if all had the
same; 1/2 for a label that stands alone."""

ROUNDING = 0.02
"""How far the sum of a role's shares may be from 1: published tables are rounded."""

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    role: str
    dimension: str
    label: str
    share: float


def read_shares(path: Path) -> pl.DataFrame:
    """Read a table of reference shares.

    Args:
        path: The file; see the module's docstring.

    Returns:
        Columns of `SHARES_SCHEMA`, in the order of the file.

    Raises:
        InputError: The file cannot be read, or a line is wrong: names it and the value. A missing
            column, an empty field, an unknown dimension or label of a closed vocabulary, a share
            that is no number from 0 to 1, a line given twice, shares that do not add up.
    """
    lines = list(_lines(path))
    if not lines:
        raise InputError(f"{path} has no shares", f"its header is {','.join(COLUMNS)}")
    even = _even_shares(path, lines)
    rows = [
        (line.role, line.dimension, line.label, line.share, even[line.role, line.dimension])
        for line in lines
    ]
    return pl.DataFrame(rows, schema=SHARES_SCHEMA, orient="row")


def _lines(path: Path) -> Iterator[_Line]:
    seen: dict[tuple[str, str, str], int] = {}
    for number, row in Sheet(read_text(path), str(path), COLUMNS).rows():
        line = _checked(path, number, *(row[name].strip() for name in COLUMNS))
        key = (line.role, line.dimension, line.label)
        if key in seen:
            fault = f"{', '.join(key)} was already given in line {seen[key]}"
            raise _wrong(path, line.number, fault, "keep one of them")
        seen[key] = line.number
        yield line


def _checked(path: Path, number: int, role: str, dimension: str, label: str, share: str) -> _Line:
    for name, value in zip(COLUMNS, (role, dimension, label, share), strict=True):
        if not value:
            raise _wrong(path, number, f"{name} is empty")
    if dimension not in DIMENSIONS:
        hint = nearest(dimension, list(DIMENSIONS)) or "the attribute schema lists all dimensions"
        raise _wrong(path, number, f"there is no dimension {_shown(dimension)}", hint)
    vocabulary = DIMENSIONS[dimension].vocabulary
    if vocabulary and label not in vocabulary:
        hint = nearest(label, list(vocabulary)) or f"its labels are {', '.join(vocabulary)}"
        raise _wrong(path, number, f"{dimension} has no label {_shown(label)}", hint)
    return _Line(number, role, dimension, label, _fraction(path, number, share))


def _fraction(path: Path, number: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 <= value <= 1:
        percent = text.endswith("%") or value > 1
        fix = "write percent as a fraction: 0.88 for 88%" if percent else "it is a fraction of 1"
        fix = "write decimals with a point: 0.88" if "," in text else fix
        raise _wrong(path, number, f"share {_shown(text)} is no number from 0 to 1", fix)
    return value


def _even_shares(path: Path, lines: list[_Line]) -> dict[tuple[str, str], float]:
    groups: dict[tuple[str, str], list[_Line]] = defaultdict(list)
    for line in lines:
        groups[line.role, line.dimension].append(line)
    even = {}
    for (role, dimension), group in groups.items():
        alone = len(group) == 1 or DIMENSIONS[dimension].kind == "many"
        even[role, dimension] = 1 / 2 if alone else 1 / len(group)
        total = sum(line.share for line in group)
        if not alone and abs(total - 1) > ROUNDING:
            raise _wrong(
                path,
                group[-1].number,
                f"the shares of {_shown(role)}, {dimension} add up to {total:g}",
                "give all labels, so that they add up to 1, or one label alone",
            )
    return even


def _wrong(path: Path, line: int, problem: str, fix: str = "") -> InputError:
    return InputError(f"{path}, line {line}: {problem}", fix)


def _shown(value: str) -> str:
    return repr(one_line(value if len(value) <= _SHOWN else value[: _SHOWN - 1] + "…"))
