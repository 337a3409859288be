"""The review: one line a candidate, for a person who decides. CSV, so that any table editor opens
it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from contextbias.bench.builder.candidate import AXIS, FORM, FORMULA, KINDS, Candidate
from contextbias.bench.builder.sheet import read_sheet
from contextbias.errors import InputError, nearest

COLUMNS = (
    "keep", "role", "kind", "text", "at", "tags", "names", "relevance", "neutrality", "confounds",
    "faults", "reason", "model", "judge", "date", "id",
)  # fmt: skip
"""Columns, in order; a line added by hand needs `keep`, `kind`, `text` and, but for pool and axes,
`role`."""

_LISTS = ("at", "tags", "names", "confounds", "faults")
_SEPARATOR = "; "
_YES = {"yes", "y", "x", "1", "true", "keep", "ja", "j", "wahr"}
_NO = {"no", "n", "0", "false", "", "drop", "nein", "falsch"}


@dataclass(frozen=True, slots=True)
class Reviewed:
    """One line of a review as it was read."""

    candidate: Candidate
    """What it says now; `keep` is the person's."""
    line: int
    """Of the file, for messages."""
    id: str
    """The id that the file has: empty where the line was added by hand."""

    @property
    def is_edited(self) -> bool:
        """Whether a person has changed the text of what was proposed."""
        return bool(self.id) and self.id != self.candidate.id


def review_csv(candidates: Sequence[Candidate]) -> str:
    """Write a review."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    write(COLUMNS)
    for each in candidates:
        write(_cells(each, each.id))
    return out.getvalue()


def merged_csv(before: Sequence[Reviewed], new: Sequence[Candidate]) -> str:
    """Write a review again, with what a person has done to it, and lines after it.

    Args:
        before: Lines that are there: they stay as they are, edited or not.
        new: From `unknown_to`.
    """
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    write(COLUMNS)
    for each in before:
        write(_cells(each.candidate, each.id))
    for candidate in new:
        write(_cells(candidate, candidate.id))
    return out.getvalue()


def unknown_to(before: Sequence[Reviewed], candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates that a review does not have and never had.

    One whose answer has other lines in the review was there too, and a person has deleted it.
    """
    known = {each.id for each in before} | {each.candidate.id for each in before}
    answers = {_answer(each.candidate) for each in before if each.id and each.candidate.date}
    return [each for each in candidates if each.id not in known and _answer(each) not in answers]


def _answer(each: Candidate) -> tuple[str, ...]:
    """Which answer of a language model a candidate comes from, as the review has it."""
    axis = each.at[0] if each.kind == AXIS else ""
    return each.role, axis, each.model.lstrip(FORMULA), each.date


def read_review(path: Path, *, may_be_empty: bool = False) -> list[Reviewed]:
    """Read a review.

    Args:
        path: The file.
        may_be_empty: Whether one without any candidate will do: candidates are to be added to it.

    Raises:
        InputError: It cannot be read, lacks a column or has an unknown one, or a value of a line is
            wrong; the message names the line.
    """
    found = [
        Reviewed(_candidate(row, f"{path} line {line}"), line, row.get("id", "").strip())
        for line, row in read_sheet(path, COLUMNS, ("keep", "role", "kind", "text"))
    ]
    if not found and not may_be_empty:
        raise InputError(f"{path} has no candidate", "propose some first: leave --review out")
    return found


def _cells(each: Candidate, known: str) -> list[str]:
    cells = []
    for name in COLUMNS:
        value = known if name == "id" else getattr(each, name)
        if name == "keep":
            value = "yes" if value else "no"
        elif name in _LISTS:
            value = _SEPARATOR.join(value)
        # What begins so is a formula to a table editor.
        cells.append("" if value is None else str(value).lstrip(FORMULA))
    return cells


def _candidate(row: dict[str, str], where: str) -> Candidate:
    cell = {name: " ".join(row.get(name, "").split()) for name in COLUMNS}
    if cell["kind"] not in KINDS:
        hint = nearest(cell["kind"], list(KINDS)) or f"kinds are {', '.join(KINDS)}"
        raise InputError(f"{where}: kind is {cell['kind']!r}", hint)
    if not cell["text"]:
        raise InputError(f"{where} has no text", "write one, or delete the line")
    lists = {name: _parts(cell[name]) for name in _LISTS}
    found = Candidate(
        kind=cell["kind"], text=cell["text"], role=cell["role"].lower(),
        keep=_is_kept(cell["keep"], where), relevance=_score(cell["relevance"], where),
        neutrality=_score(cell["neutrality"], where), reason=cell["reason"], model=cell["model"],
        judge=cell["judge"], date=cell["date"], **lists,
    )  # fmt: skip
    if found.kind == AXIS and not found.at:
        raise InputError(f"{where}: no axis", "write its name under `at`")
    if found.kind == FORM and any(gender not in ("m", "f", "n") for gender in found.at):
        raise InputError(f"{where}: at is {cell['at']!r}", "a form has m, f, n or nothing there")
    return found


def _parts(cell: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in cell.split(_SEPARATOR.strip()) if part.strip())


def _is_kept(cell: str, where: str) -> bool:
    word = cell.lower()
    if word not in _YES | _NO:
        raise InputError(f"{where}: keep is {cell!r}", "write yes or no")
    return word in _YES


def _score(cell: str, where: str) -> int | None:
    if not cell:
        return None
    if not cell.isdecimal():
        raise InputError(f"{where}: {cell!r} is no score", "1 to 5, or nothing")
    return int(cell)
