"""What could not be read, and why: counts per generator, condition and dimension."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

from contextbias.report import formats
from contextbias.report.inputs import ALL
from contextbias.report.select import Index, dimension_order, generators_in, index
from contextbias.tables import CONDITIONS, FILTERED, ImageRow

_WHOLE_IMAGE = frozenset(
    (
        "blank",
        "blocked",
        "corrupt",
        "error",
        FILTERED,
        "invalid",
        "not_read",
        "refused",
        "truncated",
    )
)
"""Reasons of images without any answer: they say nothing about what the reader can read."""


@dataclass(frozen=True, slots=True)
class MissingCell:
    """One generator, condition and dimension."""

    counts: tuple[tuple[str, int], ...]
    """Reason and count, the most frequent first; empty when nothing is missing."""
    fill: float
    """Share of the cell's images that is missing, in percent, for the bar behind the text."""
    n: int | None
    """Images of the cell; None when nothing is missing."""
    gone: int
    """Images of the cell without an answer."""

    @property
    def reasons(self) -> tuple[tuple[str, str], ...]:
        """Reason and count in words."""
        return tuple((reason, formats.whole(count)) for reason, count in self.counts)


@dataclass(frozen=True, slots=True)
class MissingView:
    """The section about missing data of one reader."""

    columns: tuple[tuple[str, str], ...]
    """Generator and condition of each column."""
    rows: tuple[tuple[str, tuple[MissingCell, ...]], ...]
    """Dimension and its cells, in codebook order; only dimensions that miss something."""
    sizes: tuple[str, ...]
    """Images of each column."""
    unreadable: tuple[str, ...]
    """Dimensions that the reader has declared it cannot read, as its read images show."""
    unanswered: tuple[tuple[str, tuple[str, ...]], ...]
    """Why, with counts, and the dimensions without an answer in any image for these reasons."""
    nothing: str
    """Why, with counts, where no question was answered in any image; empty else."""
    complete: tuple[str, ...]
    """Dimensions that were read in every image."""
    left_out: tuple[str, ...]
    """Roles without images in some condition: left out of contrasts."""
    counts: tuple[tuple[str, tuple[str, ...]], ...]
    """Role and its images by column."""


@dataclass(frozen=True, slots=True)
class FailedImage:
    """An image that does not exist or cannot be used."""

    generator: str
    role: str
    condition: str
    status: str
    reason: str
    seed: int
    file: str
    """The file, seen from the study's folder; empty where none was made."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers to the questions of a cohort that the reader can read, out of those asked."""

    read: int
    asked: int

    @property
    def share(self) -> float:
        """Share read; 0 when nothing was asked."""
        return self.read / self.asked if self.asked else 0.0


def answers_read(frame: pl.DataFrame, generator: str, cohort: str) -> dict[str, Answers]:
    """Answers of a generator's images by condition, in the order of every table.

    An image is asked once for each dimension of the cohort that the reader has not declared to be
    unreadable. Counts are those of the estimands ``images`` and ``missing``.
    """
    images = index(frame, "images", ("generator", "role", "condition"))
    mine = frame.filter(pl.col("generator") == generator)
    numbers = index(mine, "missing", ("generator", "condition", "dimension", "label"))
    of_cohort = _dimensions(mine.filter(pl.col("cohort") == cohort))
    totals = {
        c: sum(n.n or 0 for (g, _, where), n in images.items() if (g, where) == (generator, c))
        for c in CONDITIONS
    }
    present = [c for c in CONDITIONS if totals[c]]
    cells = {name: [_cell(numbers, generator, c, name) for c in present] for name in of_cohort}
    told = [row for row in cells.values() if not _unreadable(row)]
    return {
        c: Answers(len(told) * totals[c] - sum(row[k].gone for row in told), len(told) * totals[c])
        for k, c in enumerate(present)
    }


def missing_view(frame: pl.DataFrame, order: Sequence[str]) -> MissingView:
    """Collect the section from the estimands ``missing`` and ``images``."""
    numbers = index(frame, "missing", ("generator", "condition", "dimension", "label"))
    by_role = index(frame, "images", ("generator", "role", "condition"))
    names = generators_in(frame, order, mean=False)
    filled = {(key[0], key[2]) for key in by_role}
    columns = tuple((g, c) for g in names for c in CONDITIONS if (g, c) in filled)
    cells = {
        name: tuple(_cell(numbers, generator, condition, name) for generator, condition in columns)
        for name in _dimensions(frame)
    }
    unreadable = tuple(name for name, row in cells.items() if _unreadable(row))
    unanswered = tuple(
        name
        for name, row in cells.items()
        if name not in unreadable and row and all(cell.fill == 100 for cell in row)
    )
    complete = tuple(name for name, row in cells.items() if not any(cell.reasons for cell in row))
    hidden = {*unreadable, *unanswered, *complete}
    whys: dict[str, list[str]] = {}
    for name in unanswered:
        whys.setdefault(_why(cells[name]), []).append(name)
    return MissingView(
        columns=columns,
        rows=tuple((name, row) for name, row in cells.items() if name not in hidden),
        sizes=tuple(_size(cells.values(), place) for place in range(len(columns))),
        unreadable=unreadable,
        unanswered=tuple((why, tuple(names)) for why, names in whys.items()),
        nothing="; ".join(whys) if len(hidden) == len(cells) and not complete else "",
        complete=complete,
        left_out=_left_out(by_role),
        counts=_counts(by_role, columns),
    )


def _why(row: Sequence[MissingCell]) -> str:
    """Reasons of a dimension over all columns, the most frequent first, with their images."""
    counts: Counter[str] = Counter()
    for cell in row:
        counts.update(dict(cell.counts))
    found = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{formats.whole(count)} {formats.words(name)}" for name, count in found)


def failed_images(images: Sequence[ImageRow], root: Path) -> list[FailedImage]:
    """Images whose latest attempt is not ``ok``, in the order of the table's keys.

    Args:
        images: Latest attempt of each image, paths absolute.
        root: The study's folder.
    """
    return sorted(
        (
            FailedImage(
                generator=i.generator,
                role=i.role,
                condition=i.condition,
                status=i.status,
                reason=i.reason or "",
                seed=i.seed,
                file=_file(i.path, root),
            )
            for i in images
            if i.status != "ok"
        ),
        key=lambda row: (row.generator, row.role, row.condition, row.seed, row.file),
    )


def failed_table(rows: Sequence[FailedImage]) -> pl.DataFrame:
    """Images that cannot be used as a table, with the file of each."""
    return pl.DataFrame([asdict(row) for row in rows])


def _file(path: str | None, root: Path) -> str:
    return "" if path is None else Path(os.path.relpath(path, root)).as_posix()


def _dimensions(frame: pl.DataFrame) -> list[str]:
    rows = frame.filter(pl.col("estimand").is_in(["missing", "prevalence", "label_count"]))
    return dimension_order(rows["dimension"].drop_nulls().unique())


def _cell(numbers: Index, generator: str, condition: str, dimension: str) -> MissingCell:
    found = [
        (key[3], number)
        for key, number in numbers.items()
        if key[:3] == (generator, condition, dimension) and number.point
    ]
    found.sort(key=lambda item: (-(item[1].point or 0.0), item[0]))
    total = next((number.n for _, number in found if number.n), None)
    gone = sum(number.point or 0.0 for _, number in found)
    return MissingCell(
        counts=tuple((reason, round(number.point or 0.0)) for reason, number in found),
        fill=round(100 * gone / total, 1) if total else 0.0,
        n=total,
        gone=round(gone),
    )


def _size(rows: Iterable[tuple[MissingCell, ...]], place: int) -> str:
    sizes = [row[place].n for row in rows if row[place].n is not None]
    return formats.whole(sizes[0]) if sizes else ""


def _unreadable(row: Sequence[MissingCell]) -> bool:
    """True when every image that was read at all lacks the answer by the reader's declaration."""
    reasons = {reason for cell in row for reason, _ in cell.reasons}
    return reasons - _WHOLE_IMAGE == {"not_readable"} and all(cell.fill == 100 for cell in row)


def _left_out(by_role: Index) -> tuple[str, ...]:
    conditions = {key[2] for key in by_role} & set(CONDITIONS)
    pairs = {(key[0], key[1]) for key in by_role}
    return tuple(
        f"{role} ({generator}): no image in {', '.join(gone)}"
        for generator, role in sorted(pairs)
        if (
            gone := [
                c for c in CONDITIONS if c in conditions and not _has(by_role, generator, role, c)
            ]
        )
    )


def _has(by_role: Index, generator: str, role: str, condition: str) -> bool:
    number = by_role.get((generator, role, condition))
    return number is not None and bool(number.n)


def _counts(
    by_role: Index, columns: Sequence[tuple[str, str]]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    roles = sorted({key[1] for key in by_role if key[1] != ALL}) or [ALL]
    rows = []
    for role in roles:
        found = (by_role.get((generator, role, condition)) for generator, condition in columns)
        rows.append((role, tuple(formats.whole(n.n if n else 0) for n in found)))
    return tuple(rows)
