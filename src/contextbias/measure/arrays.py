"""Attributes to counts: the one place where it is decided what counts as missing.

An image counts in ``n`` of a dimension when the reader answered for it: with a label, or with an
empty list. It then has z = 1 for its labels and z = 0 for the others of the label set Y. An image
without an answer counts in neither x nor n, but in ``missing``, with its reason. Of several rows of
one image and dimension (persons, when ``people`` is "any"), one answer makes it read; without one
the most prominent person's reason is the image's.

Y is the set of labels seen anywhere for that generator, dimension and reader: all roles, all
conditions. A reader that has declared one label of a dimension only cannot tell it from the rest
(smiling or nothing would read as 100%), so the dimension is missing altogether, ``not_readable``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from contextbias.schema import DIMENSIONS
from contextbias.tables import CONDITIONS, EMPTY_LIST

Integers = NDArray[np.int64]
Readable = Mapping[str, tuple[str, ...] | None]
"""Dimension -> the labels that a reader can tell apart (None: all); see tables.ReaderRow."""

_CELL = ["generator", "role", "condition", "dimension"]
_WIDE = dict.fromkeys(["generator", "role", "cohort", "dimension", "label"], pl.String) | {
    **dict.fromkeys([f"{kind}_{c}" for c in CONDITIONS for kind in ("x", "n")], pl.Int64),
    "n_missing": pl.Int64,
    **dict.fromkeys([f"n_missing_{c}" for c in CONDITIONS], pl.Int64),
}


@dataclass(frozen=True, slots=True, eq=False)
class DimensionCounts:
    """Counts of one generator and dimension."""

    generator: str
    """Which generator."""
    cohort: str
    """The dimension's cohort."""
    dimension: str
    """Which dimension."""
    labels: tuple[str, ...]
    """The label set Y, sorted; empty when nothing but empty lists was read."""
    x: Integers
    """Images that show the label, shape (roles, conditions, labels)."""
    n: Integers
    """Images read, shape (roles, conditions)."""
    missing: Integers
    """Images that could not be read, shape (roles, conditions)."""


@dataclass(frozen=True, slots=True, eq=False)
class ReaderCounts:
    """All counts of one reader."""

    roles: tuple[str, ...]
    """Roles of all generators, sorted: the first axis of every array."""
    generators: tuple[str, ...]
    """Generators, sorted."""
    images: Mapping[str, Integers]
    """Generator -> images, failed ones included, shape (roles, conditions)."""
    dimensions: tuple[DimensionCounts, ...]
    """Those with an image read, by generator and codebook order."""
    missing: pl.DataFrame
    """Columns generator, condition, cohort, dimension, reason, count: images, where above 0."""


def count_labels(
    attributes: pl.DataFrame, *, people: str, readable: Readable | None = None
) -> ReaderCounts:
    """Count the labels of one reader; see the module's docstring.

    Args:
        attributes: Rows of tables.AttributeRow of a single reader.
        people: ``primary`` for the most prominent person, ``any`` for whoever is visible.
        readable: What the reader can tell apart; None when it can tell everything.

    Raises:
        ValueError: `people` is neither, or the rows are of several readers.
    """
    if people not in ("primary", "any"):
        raise ValueError(f"people is 'primary' or 'any', not {people!r}")
    if attributes["reader"].n_unique() > 1:
        raise ValueError("readers are never counted together")
    rows = (
        attributes.filter(pl.col("person").fill_null(0) == 0) if people == "primary" else attributes
    )
    told = (readable or {}).items()
    blind = [name for name, labels in told if labels is not None and len(labels) < 2]
    answers = _answers(rows, blind)
    roles = tuple(sorted(attributes["role"].unique()))
    generators = tuple(sorted(attributes["generator"].unique()))
    images = attributes.group_by("generator", "role", "condition").agg(
        count=pl.col("image_id").n_unique()
    )
    return ReaderCounts(
        roles,
        generators,
        {g: _grid(images.filter(pl.col("generator") == g), roles, "count") for g in generators},
        tuple(_dimensions(rows, answers, roles, generators)),
        _missing(answers),
    )


def consistency_counts(counts: ReaderCounts) -> pl.DataFrame:
    """Counts in the wide form that consistency.py takes: one row a generator, role and label.

    A closed vocabulary has a row for each label of Y, with its zeros; an open one only for labels
    that the role has at least once, since a role lacks nearly all of what others show. A condition
    that the role has no image in is null.
    """
    parts = [_wide(counts, dimension) for dimension in counts.dimensions]
    return pl.concat(parts) if parts else pl.DataFrame(schema=_WIDE)


def _answers(rows: pl.DataFrame, blind: list[str]) -> pl.DataFrame:
    """One row an image and dimension: whether it was read, and if not, why."""
    unseen = pl.col("dimension").is_in(blind)
    read = (pl.col("label").is_not_null() | (pl.col("missing_reason") == EMPTY_LIST)) & ~unseen
    reason = pl.when(unseen).then(pl.lit("not_readable")).otherwise("missing_reason")
    return (
        rows.with_columns(read=read, reason=reason)
        .group_by("image_id", *_CELL)
        .agg(
            pl.col("read").any(),
            pl.col("reason").sort_by("person", nulls_last=False).first(),
        )
    )


def _dimensions(
    rows: pl.DataFrame, answers: pl.DataFrame, roles: tuple[str, ...], generators: tuple[str, ...]
) -> list[DimensionCounts]:
    read = answers.filter("read")
    per_cell = answers.group_by(_CELL).agg(n=pl.col("read").sum(), lost=(~pl.col("read")).sum())
    per_label = (
        rows.filter(pl.col("label").is_not_null())
        .join(read, on=["image_id", "dimension"], how="semi")
        .group_by(*_CELL, "label")
        .agg(x=pl.col("image_id").n_unique())
    )
    cells = per_cell.partition_by("generator", "dimension", as_dict=True)
    labels = per_label.partition_by("generator", "dimension", as_dict=True)
    found = []
    for generator in generators:
        for name, dimension in DIMENSIONS.items():
            cell = cells.get((generator, name))
            if cell is None or not cell["n"].sum():
                continue
            label_set, x = _label_grid(labels.get((generator, name)), roles)
            n, lost = _grid(cell, roles, "n"), _grid(cell, roles, "lost")
            found.append(DimensionCounts(generator, dimension.cohort, name, label_set, x, n, lost))
    return found


def _label_grid(
    rows: pl.DataFrame | None, roles: tuple[str, ...]
) -> tuple[tuple[str, ...], Integers]:
    if rows is None:
        return (), np.zeros((len(roles), len(CONDITIONS), 0), dtype=np.int64)
    labels = tuple(sorted(rows["label"].unique()))
    place = (*_places(rows, roles), _index(rows["label"], labels))
    x = np.zeros((len(roles), len(CONDITIONS), len(labels)), dtype=np.int64)
    x[place] = rows["x"].to_numpy()
    return labels, x


def _grid(rows: pl.DataFrame, roles: tuple[str, ...], column: str) -> Integers:
    grid = np.zeros((len(roles), len(CONDITIONS)), dtype=np.int64)
    grid[_places(rows, roles)] = rows[column].to_numpy()
    return grid


def _places(rows: pl.DataFrame, roles: tuple[str, ...]) -> tuple[Integers, Integers]:
    return _index(rows["role"], roles), _index(rows["condition"], CONDITIONS)


def _index(values: pl.Series, names: tuple[str, ...]) -> Integers:
    numbers = {name: number for number, name in enumerate(names)}
    return np.asarray([numbers[value] for value in values], dtype=np.int64)


def _missing(answers: pl.DataFrame) -> pl.DataFrame:
    cohorts = {name: dimension.cohort for name, dimension in DIMENSIONS.items()}
    return (
        answers.filter(~pl.col("read"))
        .group_by("generator", "condition", "dimension", "reason")
        .agg(count=pl.len().cast(pl.Int64))
        .with_columns(cohort=pl.col("dimension").replace_strict(cohorts, return_dtype=pl.String))
        .select("generator", "condition", "cohort", "dimension", "reason", "count")
        .sort("generator", "condition", "dimension", "reason")
    )


def _wide(counts: ReaderCounts, of: DimensionCounts) -> pl.DataFrame:
    seen = of.x.sum(axis=1) > 0
    asked = np.broadcast_to((of.n.sum(axis=1) > 0)[:, None], seen.shape)
    role, label = np.nonzero(seen if DIMENSIONS[of.dimension].is_open else asked)
    there = counts.images[of.generator][role] > 0
    data: dict[str, object] = {
        "generator": [of.generator] * len(role),
        "role": [counts.roles[i] for i in role],
        "cohort": [of.cohort] * len(role),
        "dimension": [of.dimension] * len(role),
        "label": [of.labels[i] for i in label],
        "n_missing": of.missing.sum(axis=1)[role],
    }
    for i, condition in enumerate(CONDITIONS):
        tables = {"x": of.x[role, i, label], "n": of.n[role, i], "n_missing": of.missing[role, i]}
        for kind, values in tables.items():
            column = pl.Series(values, dtype=pl.Int64)
            data[f"{kind}_{condition}"] = column.zip_with(
                pl.Series(there[:, i]), pl.Series([None], dtype=pl.Int64)
            )
    return pl.DataFrame(data, schema_overrides=_WIDE).select(*_WIDE)
