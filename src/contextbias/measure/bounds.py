"""What the numbers could be at worst and at best, whatever the missing images show.

An image whose question has an answer that the reader did not give (unknown, refused, blocked …)
could show any label of Y. Images whose question has no answer, because nobody is visible or because
weather indoors does not arise, are no part of the question, and are not given labels.

- ``prevalence_bounds``: no missing image shows the label, or all do.
- ``range_pp_bounds``: the smallest and largest range of the conditions.
- ``bi_pooled_bounds``: the missing images level the distribution, or all show its largest label.
  Of a list, a missing image has as many labels as the mean image that was read (of that generator
  and dimension), each once. Y stays the observed one. A contrast is as low as its first condition's
  lowest value less its second's highest. Averages are of the lower and of the upper ends: labels of
  different dimensions, conditions and generators are free of each other.

These are not confidence intervals: they leave sampling out, as intervals leave missing images out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from contextbias.measure.arrays import DimensionCounts, ReaderCounts
from contextbias.measure.caveats import DEGENERATE, Part, joined, left_out
from contextbias.measure.intensity import CONTRASTS, SLOTS, Floats
from contextbias.measure.keys import Integers
from contextbias.measure.levels import MEAN, OVERALL, notes_of_average
from contextbias.measure.rows import Run, Settings, estimate_frame
from contextbias.stats.bounds import Bounds, entropy_bounds, proportion_bounds, range_bounds
from contextbias.stats.entropy import bias_intensity
from contextbias.stats.proportion import MINIMUM_SUPPORT
from contextbias.tables import CONDITIONS

NOT_ASKED = ("no_person", "not_applicable")
"""Reasons of images whose question does not arise: no label of theirs is missing."""

METHOD = "missing-any-label"
"""Method of all rows: every missing image may show any label."""

_BI, _PREVALENCE, _RANGE = "bi_pooled_bounds", "prevalence_bounds", "range_pp_bounds"


def bounds_estimates(counts: ReaderCounts, run: Run, _: Settings) -> pl.DataFrame:
    """Rows of the three estimands of one reader: ``low`` and ``high`` set, ``point`` null.

    ``n`` is the images read and ``n_missing`` those that are given labels. Prevalence and range
    have rows for supported labels (5 images over the conditions) of roles with such an image;
    elsewhere the bounds are the number itself. Bias Intensity has a row wherever ``bi_pooled`` has
    a value.

    Args:
        counts: The reader's counts.
        run: Keys of the rows.
    """
    lost = unanswered(counts)
    labels = [_label_rows(counts, of, lost[of.generator, of.dimension]) for of in counts.dimensions]
    levels = _levels([row for of in counts.dimensions for row in _slots(counts, of, lost)])
    return pl.concat(
        [run.frame(pl.concat([*labels, _no_rows()]), method=METHOD), _intensity(levels, run)]
    )


def unanswered(counts: ReaderCounts) -> dict[tuple[str, str], Integers]:
    """Images whose question has an answer that is not known.

    Returns:
        (generator, dimension) -> shape (roles, conditions): the missing images, less those whose
        question does not arise.
    """
    found = {(of.generator, of.dimension): of.missing.copy() for of in counts.dimensions}
    roles = {role: i for i, role in enumerate(counts.roles)}
    if counts.missing.is_empty():
        return found
    rows = counts.missing.filter(pl.col("reason").is_in(NOT_ASKED))
    for row in rows.iter_rows(named=True):
        table = found.get((row["generator"], row["dimension"]))
        if table is not None:
            table[roles[row["role"]], CONDITIONS.index(row["condition"])] -= row["count"]
    return found


# ---- prevalence and range


def _no_rows() -> pl.DataFrame:
    names = ("estimand", "generator", "role", "condition", "cohort", "dimension", "label")
    schema: dict[str, type[pl.DataType]] = dict.fromkeys(names, pl.String)
    return pl.DataFrame(
        schema=schema
        | {"low": pl.Float64, "high": pl.Float64, "n": pl.Int64, "n_missing": pl.Int64}
    )


def _label_rows(counts: ReaderCounts, of: DimensionCounts, lost: Integers) -> pl.DataFrame:
    """Prevalence of each condition and of all, and range, of one generator and dimension."""
    supported = of.x.sum(axis=1) >= MINIMUM_SUPPORT
    role, label = np.nonzero(supported & (lost.sum(axis=1) > 0)[:, None])
    if not len(role):
        return _no_rows()
    x, n, m = of.x[role, :, label], of.n[role], lost[role]
    parts = [
        (_PREVALENCE, name, proportion_bounds(x[:, i], n[:, i], m[:, i]), n[:, i], m[:, i])
        for i, name in enumerate(CONDITIONS)
    ]
    total = (x.sum(axis=1), n.sum(axis=1), m.sum(axis=1))
    parts.append((_PREVALENCE, "all", proportion_bounds(*total), *total[1:]))
    parts.append((_RANGE, "all", range_bounds(x, n, m), *total[1:]))
    names = {
        "role": pl.Series(counts.roles, dtype=pl.String).gather(role),
        "label": pl.Series(of.labels, dtype=pl.String).gather(label),
    }
    frames = [
        pl.DataFrame(
            {**names, "low": b.low, "high": b.high, "n": n_, "n_missing": m_}
        ).with_columns(estimand=pl.lit(estimand), condition=pl.lit(condition))
        for estimand, condition, b, n_, m_ in parts
    ]
    known = pl.concat(frames).filter(pl.col("n_missing") > 0, pl.col("low").is_not_nan())
    return known.with_columns(
        generator=pl.lit(of.generator), cohort=pl.lit(of.cohort), dimension=pl.lit(of.dimension)
    ).select(*_no_rows().columns)


# ---- Bias Intensity


@dataclass(frozen=True, slots=True)
class _Slot:
    """Bounds of one condition or contrast, of a dimension or an average."""

    generator: str
    cohort: str
    dimension: str | None
    slot: int
    low: float
    high: float
    n: int
    n_missing: int | None
    note: str | None
    left_out: int
    """Roles with images that it does not rest on."""


def _slots(
    counts: ReaderCounts, of: DimensionCounts, lost: Mapping[tuple[str, str], Integers]
) -> Iterator[_Slot]:
    """Conditions, their mean and the contrasts of one dimension; those without a value left out."""
    if not of.labels:
        return
    m = lost[of.generator, of.dimension]
    present = counts.images[of.generator].sum(axis=0) > 0
    ends = _condition_bounds(of, m, np.ones(len(m), dtype=bool))
    read = of.x.sum(axis=(0, 2)) > 0
    whole: tuple[int, int] = (int(of.n.sum()), int(m.sum()))
    for c in np.nonzero(read)[0]:
        yield _slot(of, int(c), ends[c], (int(of.n[:, c].sum()), int(m[:, c].sum())))
    if read[present].all():
        yield _slot(of, len(CONDITIONS), ends[present].mean(axis=0), whole)
    for slot, (a, b) in enumerate(_pairs(), start=len(CONDITIONS) + 1):
        both = (of.n[:, a] > 0) & (of.n[:, b] > 0)
        pair = _condition_bounds(of, m, both)[[a, b]]
        if np.isfinite(pair).all() and present[a] and present[b]:
            ends_of = np.array([pair[0, 0] - pair[1, 1], pair[0, 1] - pair[1, 0]])
            sizes = (int(of.n[both][:, [a, b]].sum()), int(m[both][:, [a, b]].sum()))
            with_images = (of.n + of.missing).any(axis=1)
            roles = int((with_images & ~both).sum()), int(with_images.sum())
            yield _slot(of, slot, ends_of, sizes, roles)


def _slot(
    of: DimensionCounts,
    slot: int,
    ends: Floats,
    sizes: tuple[int, int],
    roles: tuple[int, int] = (0, 0),
) -> _Slot:
    """One row; `roles` are those left out, and all with images."""
    low, high = (float(end) for end in ends)
    words = joined(DEGENERATE if len(of.labels) == 1 else None, left_out(*roles))
    return _Slot(of.generator, of.cohort, of.dimension, slot, low, high, *sizes, words, roles[0])


def _pairs() -> list[tuple[int, int]]:
    return [(CONDITIONS.index(a), CONDITIONS.index(b)) for a, b in CONTRASTS]


def _condition_bounds(of: DimensionCounts, lost: Integers, roles: NDArray[np.bool_]) -> Floats:
    """Lowest and highest BI of each condition over some roles, shape (conditions, 2)."""
    x, m = of.x[roles].sum(axis=0), lost[roles].sum(axis=0)
    mentions = of.x.sum() / max(of.n.sum(), 1)
    added = np.floor(m * mentions + 0.5).astype(np.int64)
    found: Bounds = entropy_bounds(x, np.minimum(added, m * len(of.labels)), m)
    size = len(of.labels)
    # Without a mention that was read there is no bi_pooled that could be bounded.
    read = (x.sum(axis=-1) > 0)[:, None]
    low, high = bias_intensity(found.high, size), bias_intensity(found.low, size)
    # Equal but for the order of addition where nothing is missing.
    ends = np.stack([np.minimum(low, high), high], axis=-1)
    return np.where(read, ends, np.nan)


def _levels(rows: Sequence[_Slot]) -> pl.DataFrame:
    """Dimensions, cohorts, overall values and means over generators; equal weights all through."""
    schema = {"n": pl.Int64, "n_missing": pl.Int64, "dimension": pl.String, "note": pl.String}
    dimensions = pl.DataFrame(list(rows), schema_overrides=schema)
    if dimensions.is_empty():
        return dimensions
    dimensions = dimensions.drop("left_out")
    cohorts = _mean(dimensions, ["generator", "cohort", "slot"])
    overall = _mean(cohorts.with_columns(cohort=pl.lit(OVERALL)), ["generator", "cohort", "slot"])
    single = pl.concat([dimensions, cohorts, overall])
    levels = pl.concat([single, _mean(single, ["cohort", "dimension", "slot"])])
    return levels.with_columns(note=pl.Series(_notes(levels, _parts(rows)), dtype=pl.String))


def _notes(levels: pl.DataFrame, parts: Sequence[Part]) -> Iterator[str | None]:
    """The note of each row; that of an average is about the dimensions below it."""
    generators = sorted({part.generator for part in parts})
    known: dict[tuple[str, str, str | None], tuple[str | None, ...]] = {}
    columns = ("generator", "cohort", "dimension", "slot", "note")
    for generator, cohort, dimension, slot, note in levels.select(columns).iter_rows():
        if generator != MEAN and dimension is not None:
            yield note
            continue
        names = generator, cohort, dimension
        if names not in known:
            known[names] = notes_of_average(names, parts, generators)
        yield known[names][slot]


def _parts(rows: Sequence[_Slot]) -> list[Part]:
    """The dimensions that averages are made of. Bounds have no width that rests on roles."""
    found: dict[tuple[str, str], Part] = {}
    for row in rows:
        dimension, none = str(row.dimension), np.zeros(len(SLOTS), dtype=np.int64)
        part = found.setdefault(
            (row.generator, dimension),
            Part(
                row.generator, row.cohort, dimension, none > 0, none, none.copy(),
                DEGENERATE in (row.note or ""),
            ),
        )  # fmt: skip
        part.defined[row.slot], part.left_out[row.slot] = True, row.left_out
    return list(found.values())


def _mean(rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Mean of both ends; n is the number of values averaged, as in levels.py."""
    averaged = rows.group_by(keys, maintain_order=True).agg(
        pl.col("low", "high").mean(), n=pl.len().cast(pl.Int64)
    )
    absent = {
        "generator": pl.lit(MEAN),
        "dimension": pl.lit(None, dtype=pl.String),
        "n_missing": pl.lit(None, dtype=pl.Int64),
        "note": pl.lit(None, dtype=pl.String),
    }
    return averaged.with_columns(
        **{name: value for name, value in absent.items() if name not in keys}
    ).select(rows.columns)


def _intensity(levels: pl.DataFrame, run: Run) -> pl.DataFrame:
    def rows() -> Iterator[dict[str, Any]]:
        for row in levels.iter_rows(named=True):
            condition, contrast = SLOTS[row.pop("slot")]
            yield run.row(
                _BI, condition=condition, contrast=contrast, support="raw", method=METHOD, **row
            )

    return estimate_frame(rows())
