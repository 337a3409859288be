"""Attributes to counts: the one place where it is decided what counts as missing.

An image counts in ``n`` of a dimension when the reader answered for it: with a label, or with an
empty list. It then has z = 1 for its labels and z = 0 for the others of the label set Y. An image
without an answer counts in neither x nor n, but in ``missing``, with its reason. Of several rows of
one image and dimension (persons, when ``people`` is "any"), one answer makes it read; without one
the most prominent person's reason is the image's. facts.py does the counting.

Y is the set of labels seen anywhere for that generator, dimension and reader: all roles, all
conditions. A reader that has declared one label of a dimension only cannot tell it from the rest
(smiling or nothing would read as 100%), so the dimension is missing altogether, ``not_readable``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from contextbias.measure.facts import READ, Sums, sum_facts
from contextbias.measure.facts import Readable as Readable
from contextbias.measure.frequencies import sum_label_counts
from contextbias.measure.keys import Integers as Integers
from contextbias.measure.released import released_sums
from contextbias.schema import DIMENSIONS
from contextbias.tables import CONDITIONS

_WIDE = dict.fromkeys(["generator", "role", "cohort", "dimension", "label"], pl.String) | {
    **dict.fromkeys([f"{kind}_{c}" for c in CONDITIONS for kind in ("x", "n")], pl.Int64),
    "n_missing": pl.Int64,
    **dict.fromkeys([f"n_missing_{c}" for c in CONDITIONS], pl.Int64),
}
_MISSING: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(["generator", "role", "condition", "cohort"], pl.String),
    **dict.fromkeys(["dimension", "reason"], pl.String),
    "count": pl.Int64,
}
_NAMES = tuple(DIMENSIONS)
_PHRASING = "/phrasing-"


@dataclass(frozen=True, slots=True, eq=False)
class Prompts:
    """The prompts of one generator, in order of role, condition and id; P of them."""

    prompt: tuple[str, ...]
    """Prompt ids. Imported images may share an id between roles or conditions."""
    variant: tuple[str, ...]
    """``base/variant`` of each, or the name of an imported prompt."""
    role: Integers
    """Position in the axis of roles, shape (P,)."""
    condition: Integers
    """Position in CONDITIONS, shape (P,)."""
    cluster: Integers
    """Base context, shape (P,), from 0: the phrasings of one base (of one role and condition) share
    it; a substitution, and every prompt that is no phrasing, is its own."""


@dataclass(frozen=True, slots=True, eq=False)
class PromptCounts:
    """Counts of one generator and dimension by prompt, on the axis of the generator's prompts."""

    prompt: tuple[str, ...]
    """Prompt ids, P of them; see `Prompts`."""
    variant: tuple[str, ...]
    """``base/variant`` of each."""
    role: Integers
    """Position in the axis of roles, shape (P,)."""
    condition: Integers
    """Position in CONDITIONS, shape (P,)."""
    cluster: Integers
    """Base context, shape (P,)."""
    n: Integers
    """Images read, shape (P,)."""
    missing: Integers
    """Images that could not be read, shape (P,)."""
    x: csr_array
    """Images that show the label, int32, shape (P, labels)."""


@dataclass(frozen=True, slots=True, eq=False)
class ByPrompt:
    """What `PromptCounts` is made of, when it is asked for."""

    prompts: Prompts
    """The axis of prompts, P of them."""
    n: Integers
    """Images read, shape (P,)."""
    missing: Integers
    """Images that could not be read, shape (P,)."""
    rows: tuple[Integers, Integers, Integers]
    """Prompt, label and count of each cell that is not 0."""


@dataclass(frozen=True, eq=False)
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
    by_prompt: ByPrompt | None = field(default=None, repr=False)
    """Behind `prompts`."""

    @cached_property
    def prompts(self) -> PromptCounts:
        """The same counts by prompt; summed over prompts they give `x`, `n` and `missing`.

        Counts that were made without prompts have one prompt a role and condition with images.
        """
        found = self.by_prompt or _one_prompt_a_cell(self)
        axis, (prompt, label, count) = found.prompts, found.rows
        x = csr_array(
            (count.astype(np.int32), (prompt, label)), shape=(len(axis.prompt), len(self.labels))
        )
        return PromptCounts(
            axis.prompt, axis.variant, axis.role, axis.condition, axis.cluster,
            found.n, found.missing, x,
        )  # fmt: skip


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
    """Columns generator, role, condition, cohort, dimension, reason, count: images, where above
    0."""


def count_readers(
    attributes: pl.DataFrame | pl.LazyFrame,
    *,
    people: str,
    readable: Mapping[str, Readable] | None = None,
    label_counts: pl.DataFrame | None = None,
    released: bool = False,
) -> dict[str, ReaderCounts]:
    """Count the labels of every reader; see the module's docstring.

    Args:
        attributes: Rows of tables.AttributeRow; a lazy frame is read a batch at a time.
        people: ``primary`` for the most prominent person, ``any`` for whoever is visible.
        readable: Reader -> what it can tell apart; a reader left out can tell everything.
        label_counts: Rows of tables.LabelCountRow, answers that came counted, of other readers.
        released: Whether to count as the paper's released code does (preset ``reference``).

    Returns:
        Reader -> its counts, by name.

    Raises:
        ValueError: `people` is neither.
        InputError: A dimension that is not of this codebook.
    """
    sums = sum_facts(attributes, people=people, readable=readable)
    if released:
        sums = {reader: released_sums(found) for reader, found in sums.items()}
    if label_counts is not None:
        sums |= sum_label_counts(label_counts, released=released)
    return {reader: _counts(sums[reader]) for reader in sorted(sums)}


def count_labels(
    attributes: pl.DataFrame, *, people: str, readable: Readable | None = None
) -> ReaderCounts:
    """Count the labels of one reader; see `count_readers`.

    Raises:
        ValueError: `people` is unknown, or the rows are not of one reader.
    """
    readers = attributes["reader"].unique().to_list()
    if len(readers) > 1:
        raise ValueError("readers are never counted together")
    told = {reader: readable or {} for reader in readers}
    found = count_readers(attributes, people=people, readable=told)
    return next(iter(found.values()), ReaderCounts((), (), {}, (), pl.DataFrame(schema=_MISSING)))


def consistency_counts(counts: ReaderCounts) -> pl.DataFrame:
    """Counts in the wide form that consistency.py takes: one row a generator, role and label.

    A closed vocabulary has a row for each label of Y, with its zeros; an open one only for labels
    that the role has at least once, since a role lacks nearly all of what others show. A condition
    that the role has no image in is null.
    """
    if not counts.dimensions:
        return pl.DataFrame(schema=_WIDE)
    parts = [_cells(counts, of) for of in counts.dimensions]
    role, label, there, x, n, missing = (
        np.concatenate([part[i] for part in parts]) for i in range(len(parts[0]))
    )
    sizes = [len(part[0]) for part in parts]
    which = np.repeat(np.arange(len(parts)), sizes)
    first = np.cumsum([0, *(len(of.labels) for of in counts.dimensions)])[which]
    words = {
        name: pl.Series([getattr(of, name) for of in counts.dimensions]).gather(which)
        for name in ("generator", "cohort", "dimension")
    }
    every_label = [label for of in counts.dimensions for label in of.labels]
    words["role"] = pl.Series(counts.roles).gather(role)
    words["label"] = pl.Series(every_label, dtype=pl.String).gather(first + label)
    numbers = {"n_missing": pl.Series(missing.sum(axis=1))}
    for i, condition in enumerate(CONDITIONS):
        for kind, table in (("x", x), ("n", n), ("n_missing", missing)):
            # A condition without any image of the role was not asked.
            column = pl.Series(table[:, i]).set(~pl.Series(there[:, i]), None)
            numbers[f"{kind}_{condition}"] = column
    return pl.DataFrame(words | numbers).select(*_WIDE)


def _cells(counts: ReaderCounts, of: DimensionCounts) -> tuple[NDArray[Any], ...]:
    """Role, label, whether the role has images, x, n and missing of each cell with a row."""
    seen = of.x.sum(axis=1) > 0
    asked = np.broadcast_to((of.n.sum(axis=1) > 0)[:, None], seen.shape)
    role, label = np.nonzero(seen if DIMENSIONS[of.dimension].is_open else asked)
    there = counts.images[of.generator][role] > 0
    return role, label, there, of.x[role, :, label], of.n[role], of.missing[role]


def _counts(sums: Sums) -> ReaderCounts:
    roles = tuple(sorted(sums.prompts["role"].unique()))
    generators = tuple(sums.prompts["generator"].unique(maintain_order=True))
    axes, images, spans, start = {}, {}, {}, 0
    for generator in generators:
        mine = sums.prompts.filter(pl.col("generator") == generator)
        spans[generator] = range(start, start + mine.height)
        axes[generator] = _prompts(mine, roles)
        own = sums.images[start : start + mine.height]
        images[generator] = _by_cell(axes[generator], own, len(roles))
        start += mine.height
    found = [
        dimension
        for generator in generators
        for dimension in _dimensions(sums, generator, axes[generator], spans[generator], len(roles))
    ]
    return ReaderCounts(roles, generators, images, tuple(found), _missing(sums))


def _prompts(rows: pl.DataFrame, roles: tuple[str, ...]) -> Prompts:
    role = rows["role"].cast(pl.Enum(roles)).to_physical().cast(pl.Int64).to_numpy()
    condition = rows["condition"].cast(pl.Enum(CONDITIONS)).to_physical()
    base = pl.when(pl.col("variant").str.contains(_PHRASING, literal=True)).then(
        pl.col("variant").str.replace(rf"{_PHRASING}.*$", "")
    )
    # What is no phrasing has no base, and its number keeps it apart.
    context = rows.with_row_index("row").select(
        "role", "condition", base=base, own=pl.when(base.is_null()).then("row")
    )
    _, first, cluster = np.unique(
        context.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy(),
        return_index=True,
        return_inverse=True,
    )
    by_place = np.argsort(np.argsort(first))
    return Prompts(
        tuple(rows["prompt_id"]),
        tuple(rows["variant"]),
        role,
        condition.cast(pl.Int64).to_numpy(),
        by_place[cluster].astype(np.int64),
    )


def _dimensions(
    sums: Sums, generator: str, axis: Prompts, span: range, roles: int
) -> Iterator[DimensionCounts]:
    """Dimensions of one generator with an image read; `span` are its prompts."""
    x, answers = (_rows_of(table, span) for table in (sums.x, sums.answers))
    for name, shown, (answered, _, reason, images) in zip(_NAMES, x, answers, strict=True):
        read = reason == READ
        if not read.any():
            continue
        n, missing = (
            np.bincount(answered[w], images[w], len(span)).astype(np.int64) for w in (read, ~read)
        )
        prompt, _, word, count = shown
        words, label = np.unique(word, return_inverse=True)
        cell = (axis.role[prompt] * len(CONDITIONS) + axis.condition[prompt]) * len(words) + label
        table = np.bincount(cell, count, roles * len(CONDITIONS) * len(words)).astype(np.int64)
        yield DimensionCounts(
            generator,
            DIMENSIONS[name].cohort,
            name,
            tuple(sums.labels[word] for word in words),
            table.reshape(roles, len(CONDITIONS), len(words)),
            _by_cell(axis, n, roles),
            _by_cell(axis, missing, roles),
            ByPrompt(axis, n, missing, (prompt, label, count)),
        )


def _rows_of(table: Integers, span: range) -> list[Integers]:
    """Rows of some prompts, numbered from 0; one table a dimension, shape (4, rows)."""
    start, stop = np.searchsorted(table[:, 0], [span.start, span.stop])
    rows = table[start:stop].T
    # Few dimensions: as bytes they are put in order by counting.
    order = np.argsort(rows[1].astype(np.uint8), kind="stable")
    parted = np.stack([row[order] for row in rows])
    parted[0] -= span.start
    return np.split(parted, np.searchsorted(parted[1], np.arange(1, len(_NAMES))), axis=1)


def _by_cell(axis: Prompts, values: Integers, roles: int) -> Integers:
    """Sum over the prompts of a role and condition: shape (roles, conditions)."""
    grid = np.zeros((roles, len(CONDITIONS)), dtype=np.int64)
    np.add.at(grid, (axis.role, axis.condition), values)
    return grid


def _one_prompt_a_cell(counts: DimensionCounts) -> ByPrompt:
    role, condition = np.nonzero(counts.n + counts.missing)
    names = tuple(f"{i}/{CONDITIONS[j]}" for i, j in zip(role, condition, strict=True))
    x = counts.x[role, condition]
    prompt, label = np.nonzero(x)
    axis = Prompts(names, names, role, condition, np.arange(len(role)))
    n, missing = (table[role, condition] for table in (counts.n, counts.missing))
    return ByPrompt(axis, n, missing, (prompt, label, x[prompt, label]))


def _missing(sums: Sums) -> pl.DataFrame:
    lost = sums.answers[sums.answers[:, 2] != READ]
    names = [_NAMES[number] for number in lost[:, 1]]
    where = sums.prompts[lost[:, 0]].select("generator", "role", "condition")
    rows = where.with_columns(
        pl.Series("dimension", names, dtype=pl.String),
        pl.Series("reason", [sums.reasons[number - 1] for number in lost[:, 2]], dtype=pl.String),
        pl.Series("count", lost[:, 3]),
    )
    cohorts = {name: dimension.cohort for name, dimension in DIMENSIONS.items()}
    keys = ("generator", "role", "condition", "dimension", "reason")
    grouped: pl.DataFrame = (
        rows.group_by(keys)
        .agg(pl.col("count").sum())
        .with_columns(cohort=pl.col("dimension").replace_strict(cohorts, return_dtype=pl.String))
        .select(*_MISSING)
        .sort(keys)
    )
    return grouped
