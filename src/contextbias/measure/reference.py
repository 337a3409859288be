"""Preset ``reference``: what the paper's released code computes, for comparison with its files.

The counts come in its form already: released.py and frequencies.py make them.

Bias Intensity (``bi_pooled``), x summed over roles:

- of a condition and of ``all``, as its figures have it: Y is fixed; ``all`` is the BI of counts
  that are summed over conditions, not the mean of the conditions;
- of a contrast, as its bootstrap has it: Y of a condition is the labels seen there, and in a
  replicate the labels seen in that resample. Roles are drawn anew for each generator and
  condition, and percentiles are taken as they are;
- one label: 0, flagged ``degenerate`` (the paper's formula divides by 0).

A cohort is the mean of the dimensions that have a value in that condition, the overall value the
mean of its cohorts, the mean over generators that of those that have a value. What differs from the
preset ``paper``, and by how much, is in docs/method.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import xlogy

from contextbias.measure.arrays import DimensionCounts, Integers, ReaderCounts, consistency_counts
from contextbias.measure.caveats import DEGENERATE, UNDEFINED, Part, joined
from contextbias.measure.consistency import consistency_estimates
from contextbias.measure.intensity import CONTRASTS, SLOTS
from contextbias.measure.levels import notes_of_average
from contextbias.measure.rows import Run, Settings, estimate_frame
from contextbias.stats.resample import unpaired_weights
from contextbias.tables import CONDITIONS

Floats = NDArray[np.float64]

METHOD = "bootstrap-unpaired"
"""Method of the intervals: percentiles of roles drawn anew for each generator and condition."""

_ALL, _MEAN = "all", "mean"
_LEVELS = (*CONDITIONS, _ALL)
_CHUNK = 4_000_000
_ADDED = {"prevalence", "range_pp", "chi2", "chi2_p", "ccs", "invariant_paper"}
_CELLS = [f"{kind}_{condition}" for condition in CONDITIONS for kind in ("x", "n")]


# ---- Bias Intensity


class _Key(NamedTuple):
    generator: str
    cohort: str
    dimension: str | None


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """One dimension, or an average."""

    fixed: Floats
    """On the fixed label set, shape (4,): conditions, then ``all``."""
    seen: Floats
    """On the labels seen, shape (1 + replicates, conditions)."""
    n: Integers
    """Images read, or values averaged, shape (4,)."""
    missing: Integers | None
    """Images without an answer, shape (4,); None for averages."""
    roles: Integers
    """Roles with a label, shape (conditions,); of averages the most of their members."""
    notes: tuple[str | None, ...]
    """Conditions, ``all``, then contrasts: the columns of intensity.SLOTS."""


def reference_intensity(counts: ReaderCounts, run: Run, settings: Settings) -> pl.DataFrame:
    """``bi_pooled`` of conditions and contrasts; see the module's docstring.

    Args:
        counts: Counts of one reader, counted as the released code counts.
        run: Keys of the rows.
        settings: Replicates, seed and level.

    Returns:
        Columns of tables.EstimateRow. n of a dimension is the images read, of an average the
        values in it.
    """
    levels = _with_averages(_dimensions(counts, settings))
    rows = (row for key, level in levels.items() for row in _rows(key, level, run, settings.alpha))
    return estimate_frame(rows)


def _dimensions(counts: ReaderCounts, settings: Settings) -> dict[_Key, _Level]:
    rng = np.random.default_rng(settings.seed)
    found = {}
    for generator in counts.generators:
        mine = [d for d in counts.dimensions if d.generator == generator and d.labels]
        seen = _seen(mine, len(counts.roles), settings.bootstrap, rng)
        for place, of in enumerate(mine):
            pooled = of.x.sum(axis=0)
            table = np.concatenate([pooled, pooled.sum(axis=0, keepdims=True)])
            starts = np.array([0])
            found[_Key(generator, of.cohort, of.dimension)] = _Level(
                fixed=_intensity(table, starts, np.array([len(of.labels)]))[:, 0],
                seen=seen[:, :, place],
                n=_with_total(of.n),
                missing=_with_total(of.missing),
                roles=(of.x.sum(axis=2) > 0).sum(axis=0),
                notes=(DEGENERATE if len(of.labels) == 1 else None,) * len(SLOTS),
            )
    return found


def _with_total(table: Integers) -> Integers:
    by_condition = table.sum(axis=0)
    return np.append(by_condition, by_condition.sum())


def _seen(
    dimensions: list[DimensionCounts], roles: int, replicates: int, rng: np.random.Generator
) -> Floats:
    """BI on the labels seen, of the sample and of resamples: (1 + replicates, conditions, dims)."""
    found = np.empty((1 + replicates, len(CONDITIONS), len(dimensions)))
    if not dimensions:
        return found
    sizes = np.array([len(of.labels) for of in dimensions])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    drawn = unpaired_weights(len(CONDITIONS), roles, replicates, rng)
    for place in range(len(CONDITIONS)):
        x = np.concatenate([of.x[:, place] for of in dimensions], axis=1).astype(np.float64)
        weights = np.concatenate([np.ones((1, roles)), drawn[place]])
        step = max(1, _CHUNK // x.shape[1])
        for start in range(0, len(weights), step):
            part = slice(start, start + step)
            found[part, place] = _intensity(weights[part] @ x, starts, None)
    return found


def _intensity(table: Integers | Floats, starts: Integers, sizes: Integers | None) -> Floats:
    """BI of groups of columns.

    Args:
        table: Counts, shape (rows, labels of all groups).
        starts: First column of each group.
        sizes: Size of each label set; None for the labels that the row has.

    Returns:
        Shape (rows, groups); 0 for a set of one label, nan where nothing was counted.
    """
    total, seen, inner = (
        np.add.reduceat(values, starts, axis=1)
        for values in (table, table > 0, xlogy(table, table))
    )
    labels = seen if sizes is None else np.broadcast_to(sizes, seen.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        entropy = np.log(total) - inner / total
        value = np.where(labels > 1, 1.0 - entropy / np.log(labels), 0.0)
    return np.where(total > 0, value, np.nan)


def _with_averages(dimensions: dict[_Key, _Level]) -> dict[_Key, _Level]:
    """The dimensions and their averages, with notes on what these do not rest on."""
    parts = [_part(key, level) for key, level in dimensions.items()]
    generators = sorted({key.generator for key in dimensions})
    return {
        key: level
        if key in dimensions
        else replace(level, notes=notes_of_average(key, parts, generators))
        for key, level in _levels(dimensions).items()
    }


def _part(key: _Key, level: _Level) -> Part:
    """What notes of averages ask of a dimension; no role is left out of it."""
    point = level.seen[0]
    pairs = [[CONDITIONS.index(a), CONDITIONS.index(b)] for a, b in CONTRASTS]
    contrasts = [np.isfinite(point[pair]).all() for pair in pairs]
    roles = [*level.roles, level.roles.max(), *(level.roles[pair].max() for pair in pairs)]
    return Part(
        key.generator, key.cohort, str(key.dimension),
        np.array([*np.isfinite(level.fixed), *contrasts]), np.zeros(len(SLOTS), np.int64),
        np.array(roles), DEGENERATE in (level.notes[0] or ""),
    )  # fmt: skip


def _levels(dimensions: dict[_Key, _Level]) -> dict[_Key, _Level]:
    cohorts = _averages(dimensions, lambda key: _Key(key.generator, key.cohort, None))
    overall = _averages(cohorts, lambda key: _Key(key.generator, _ALL, None))
    single = dimensions | cohorts | overall
    return single | _averages(single, lambda key: _Key(_MEAN, key.cohort, key.dimension))


def _averages(members: dict[_Key, _Level], group: Callable[[_Key], _Key]) -> dict[_Key, _Level]:
    groups = defaultdict(list)
    for key, member in members.items():
        groups[group(key)].append(member)
    return {key: _average(found) for key, found in groups.items()}


def _average(members: list[_Level]) -> _Level:
    fixed, n = _mean_of_known([member.fixed for member in members])
    seen, _ = _mean_of_known([member.seen for member in members])
    roles = np.max([member.roles for member in members], axis=0)
    return _Level(fixed, seen, n, None, roles, (None,) * len(SLOTS))


def _mean_of_known(values: list[Floats]) -> tuple[Floats, Integers]:
    stack = np.stack(values)
    known = np.isfinite(stack)
    number = known.sum(axis=0)
    total = np.where(known, stack, 0.0).sum(axis=0)
    mean = np.divide(total, number, out=np.full_like(total, np.nan), where=number > 0)
    return mean, number.astype(np.int64)


def _rows(key: _Key, level: _Level, run: Run, alpha: float) -> Iterator[dict[str, Any]]:
    keys = key._asdict() | {"support": "raw"}
    for place, condition in enumerate(_LEVELS):
        missing = None if level.missing is None else level.missing[place]
        if level.n[place] or missing:
            yield run.row(
                "bi_pooled", **keys, condition=condition, point=level.fixed[place],
                n=level.n[place], n_missing=missing,
                note=joined(
                    None if np.isfinite(level.fixed[place]) else UNDEFINED, level.notes[place]
                ),
            )  # fmt: skip
    for slot, (a, b) in enumerate(CONTRASTS, start=len(_LEVELS)):
        pair = [CONDITIONS.index(a), CONDITIONS.index(b)]
        values = level.seen[:, pair[0]] - level.seen[:, pair[1]]
        if not np.isfinite(values[0]):
            continue
        replicates = values[1:][np.isfinite(values[1:])]
        if level.roles[pair].max() < 2:
            # All resamples of one role are that role: their percentiles are the point.
            replicates = replicates[:0]
        ends = np.quantile(replicates, [alpha / 2, 1 - alpha / 2]) if len(replicates) else None
        n = level.n[pair].sum() if key.dimension and key.generator != _MEAN else level.n[pair].min()
        yield run.row(
            "bi_pooled", **keys, contrast=f"{a} - {b}", point=values[0],
            low=None if ends is None else ends[0], high=None if ends is None else ends[1],
            method=None if ends is None else METHOD, n=n,
            n_missing=None if level.missing is None else level.missing[pair].sum(),
            note=level.notes[slot],
        )  # fmt: skip


# ---- table 2


def reference_added(counts: ReaderCounts, run: Run, settings: Settings) -> pl.DataFrame:
    """Prevalence, range, chi-squared and CCS of labels added over dimensions (released table 2).

    x and n are summed over all dimensions in which the role shows the label in any condition: the
    garment "apron" and the item "apron" become one label, with twice the images. The estimands are
    ``prevalence_added`` and so on; rows have cohort ``all`` and no dimension. A label that stands
    in one dimension only everywhere is left out, since its numbers are those of its dimension.

    Args:
        counts: Counts of one reader, counted as the released code counts.
        run: Keys of the rows.
        settings: Margin and level.
    """
    wide = consistency_counts(counts).filter(
        pl.sum_horizontal(f"x_{condition}" for condition in CONDITIONS) > 0
    )
    several = wide.group_by("label").agg(pl.col("dimension").n_unique().alias("dimensions"))
    wide = wide.join(several.filter(pl.col("dimensions") > 1), on="label", how="semi")
    if wide.is_empty():
        return estimate_frame([])
    added = wide.group_by("generator", "role", "label", maintain_order=True).agg(
        pl.lit(_ALL).alias("cohort"),
        pl.lit(_ALL).alias("dimension"),
        *(_total(name) for name in _CELLS),
        pl.col("n_missing").sum(),
    )
    found = consistency_estimates(
        added, reader=run.reader, preset=run.preset, people=run.people,
        margin_pp=settings.margin_pp, alpha=settings.alpha,
    )  # fmt: skip
    chosen = pl.col("estimand").is_in(_ADDED) & pl.col("role").is_not_null()
    return found.filter(chosen).with_columns(
        estimand=pl.col("estimand") + "_added", dimension=pl.lit(None, pl.String)
    )


def _total(name: str) -> pl.Expr:
    """Sum that stays null where a condition has no image in any of the rows."""
    column = pl.col(name)
    return pl.when(column.is_not_null().any()).then(column.sum()).alias(name)
