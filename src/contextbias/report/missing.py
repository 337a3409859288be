"""What could not be read, and why: counts per generator, condition and dimension."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from contextbias.report import formats
from contextbias.report.inputs import ALL
from contextbias.report.select import Index, dimension_order, generators_in, index
from contextbias.tables import CONDITIONS, ImageRow


@dataclass(frozen=True, slots=True)
class MissingCell:
    """One generator, condition and dimension."""

    reasons: tuple[tuple[str, str], ...]
    """Reason and count, the most frequent first; empty when nothing is missing."""
    fill: float
    """Share of the cell's images that is missing, in percent, for the bar behind the text."""
    n: int | None
    """Images of the cell; None when nothing is missing."""


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
    """Dimensions that the reader has declared it cannot read."""
    unanswered: tuple[str, ...]
    """Dimensions without an answer in any image."""
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
    unreadable = tuple(name for name, row in cells.items() if row and all(map(_declared, row)))
    unanswered = tuple(
        name
        for name, row in cells.items()
        if name not in unreadable and row and all(cell.fill == 100 for cell in row)
    )
    complete = tuple(name for name, row in cells.items() if not any(cell.reasons for cell in row))
    hidden = {*unreadable, *unanswered, *complete}
    return MissingView(
        columns=columns,
        rows=tuple((name, row) for name, row in cells.items() if name not in hidden),
        sizes=tuple(_size(cells.values(), place) for place in range(len(columns))),
        unreadable=unreadable,
        unanswered=unanswered,
        complete=complete,
        left_out=_left_out(by_role),
        counts=_counts(by_role, columns),
    )


def failed_images(images: Sequence[ImageRow]) -> list[FailedImage]:
    """Images whose latest attempt is not ``ok``, in the order of the table's keys."""
    return sorted(
        (
            FailedImage(i.generator, i.role, i.condition, i.status, i.reason or "", i.seed)
            for i in images
            if i.status != "ok"
        ),
        key=lambda row: (row.generator, row.role, row.condition, row.seed),
    )


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
        reasons=tuple((reason, formats.whole(number.point)) for reason, number in found),
        fill=round(100 * gone / total, 1) if total else 0.0,
        n=total,
    )


def _size(rows: Iterable[tuple[MissingCell, ...]], place: int) -> str:
    sizes = [row[place].n for row in rows if row[place].n is not None]
    return formats.whole(sizes[0]) if sizes else ""


def _declared(cell: MissingCell) -> bool:
    return [reason for reason, _ in cell.reasons] == ["not_readable"]


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
