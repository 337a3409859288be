"""From dimensions to cohorts, to the overall value, to the mean over generators; and intervals.

Weights are equal all through: a cohort is the mean of its dimensions that have a value, the overall
value the mean of its cohorts, the mean over generators the mean of those that have a value. A
replicate is averaged in the same way, so that the interval is that of the average. Where a
resample leaves a dimension undefined, that replicate averages over the others.

A dimension's replicates are expanded for the roles that the dimension rests on before they are
averaged, since dimensions of one study can rest on different numbers of roles: facial hair colour
on those with facial hair. A dimension of one role shows no spread: the interval of a cohort is that
of its other dimensions, and a mean over generators has none where a generator has none.

Effective numbers of labels are averaged over generators only: dimensions differ in how many labels
they can have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from contextbias.measure.arrays import Integers
from contextbias.measure.caveats import DEGENERATE, UNDEFINED, Part, average_notes, joined
from contextbias.measure.intensity import SLOTS, Floats, Intensity
from contextbias.measure.rows import Run, estimate_frame
from contextbias.stats.resample import (
    Interval,
    bca_interval,
    expand,
    expansion,
    percentile_interval,
)

MEAN = "mean"
"""Name of the mean over generators in the column ``generator``."""

OVERALL = "all"
"""Name of the overall mean in the column ``cohort``."""

BOOTSTRAP = "bootstrap-percentile-expanded"
"""Method of the intervals of the role bootstrap: percentiles of the replicates, moved to have the
point as their mean, and stretched by the factor that a mean of so few roles needs
(stats/resample.py). Plain percentiles of pooled entropy miss, because a resample has fewer distinct
roles and so less entropy; those of any statistic are too narrow for few roles. perf/coverage.py
prints how often each covers."""

BCA = "bootstrap-bca"
"""Method of bias-corrected and accelerated intervals, over the same replicates."""

TWO_LEVEL = "bootstrap-two-level"
"""Method of intervals as BOOTSTRAP, whose replicates draw roles and then prompts (two_level.py)."""

UNPROMPTED = "_unprompted"
"""Ends the name of an estimand that leaves out images whose prompt names the dimension."""

_UNBOUNDED = ("bi_role_miller_madow", "bi_role_grassberger")
_Key = tuple[str, str, str | None]


@dataclass(frozen=True, slots=True)
class Intervals:
    """How the rows after the point are used."""

    method: str
    """BOOTSTRAP, BCA or TWO_LEVEL."""
    alpha: float
    """1 minus their level."""
    jackknife: int = 0
    """How many of the last rows leave out one role each; the others are replicates."""
    only_where_defined: bool = False
    """Leave out rows without an interval: the other methods have them already."""


def with_averages(found: Iterable[Intensity]) -> list[Intensity]:
    """Dimensions, then cohorts, overall values and means over generators.

    Args:
        found: Intensities of one estimand and support, by generator and dimension.

    Returns:
        `found` and its averages. ``n`` of an average is the number of values in it: dimensions of
        a cohort, cohorts of an overall value, generators of a mean.
    """
    single = list(found)
    parts = [_part(each) for each in single]
    if single and not single[0].estimand.startswith("effective_labels"):
        cohorts = _averages(single, parts, lambda i: (i.generator, i.cohort, None))
        overall = _averages(cohorts, parts, lambda i: (i.generator, OVERALL, None))
        single += [*cohorts, *overall]
    return [*single, *_averages(single, parts, lambda i: (MEAN, i.cohort, i.dimension))]


def intensity_frame(
    found: Iterable[Intensity],
    run: Run,
    intervals: Intervals,
    *,
    method: str | None = None,
    dimensions: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Estimates for every level and slot.

    Args:
        found: Intensities of all estimands, by generator and dimension.
        run: Keys of the rows.
        intervals: What the rows after the point are.
        method: Method of rows without an interval.
        dimensions: Dimensions to give rows for; None for all. Averages have theirs in any case.

    Returns:
        Rows of tables.EstimateRow. A slot that no dimension of the generator has a value for has
        no row (contrasts of a study with one condition); a dimension without a value where others
        have one has a row with a null point. An interval needs two roles.
    """
    groups = defaultdict(list)
    for intensity in found:
        groups[intensity.estimand, intensity.support].append(_stretched(intensity, intervals))
    parts = [estimate_frame([])]
    for members in groups.values():
        levels = with_averages(members)
        wanted = _wanted(levels)
        chosen = [
            (level, wanted[level.generator])
            for level in levels
            if dimensions is None or level.dimension is None or level.dimension in dimensions
        ]
        parts.append(_frame(chosen, run, intervals, method))
    return pl.concat(parts)


def _stretched(found: Intensity, intervals: Intervals) -> Intensity:
    """Replicates expanded for the roles of each slot; nan where these are fewer than two."""
    if intervals.method == BCA:
        return found
    wide = expand(found.values[1:], expansion(found.roles, intervals.alpha))
    return replace(found, values=np.concatenate([found.values[:1], wide]))


def _wanted(levels: Sequence[Intensity]) -> dict[str, NDArray[np.bool_]]:
    """Generator -> slots that any of its dimensions has a value in."""
    found: dict[str, NDArray[np.bool_]] = {}
    for level in levels:
        known = np.isfinite(level.values[0])
        found[level.generator] = found.get(level.generator, known) | known
    return found


def _part(found: Intensity) -> Part:
    return Part(
        found.generator, found.cohort, str(found.dimension), np.isfinite(found.values[0]),
        found.left_out, found.roles, DEGENERATE in (found.notes[0] or ""),
    )  # fmt: skip


def _averages(
    members: Sequence[Intensity], parts: Sequence[Part], key: Callable[[Intensity], _Key]
) -> list[Intensity]:
    groups: dict[_Key, list[Intensity]] = defaultdict(list)
    for member in members:
        groups[key(member)].append(member)
    every = sorted({part.generator for part in parts})
    return [_average(names, group, parts, every) for names, group in groups.items()]


def _average(
    names: _Key, members: list[Intensity], parts: Sequence[Part], generators: Sequence[str]
) -> Intensity:
    generator, cohort, dimension = names
    stack = np.stack([member.values for member in members])
    defined = np.isfinite(stack[:, :1])
    return Intensity(
        members[0].estimand, members[0].support, generator, cohort, dimension,
        values=_mean_of_known(np.where(defined, stack, np.nan)),
        n=defined.sum(axis=0)[0],
        n_missing=None,
        roles=_roles(generator, np.stack([member.roles for member in members]), defined[:, 0]),
        left_out=np.zeros(len(SLOTS), dtype=np.int64),
        notes=notes_of_average(names, parts, generators),
    )  # fmt: skip


def notes_of_average(
    names: tuple[str, str, str | None], parts: Sequence[Part], generators: Sequence[str]
) -> tuple[str | None, ...]:
    """What an average does not rest on; see `caveats.average_notes`.

    Args:
        names: Its generator or `MEAN`, its cohort or `OVERALL`, and its dimension; None for
            averages over dimensions.
        parts: The dimensions of all generators.
        generators: All generators.

    Returns:
        One note a slot.
    """
    generator, cohort, dimension = names
    below = [
        part
        for part in parts
        if generator in (MEAN, part.generator)
        and cohort in (OVERALL, part.cohort)
        and dimension in (None, part.dimension)
    ]
    over = generators if generator == MEAN else [generator]
    level = OVERALL if cohort == OVERALL else "cohort" if dimension is None else "dimension"
    return average_notes(below, over, level=level)


def _roles(generator: str, roles: Integers, defined: NDArray[np.bool_]) -> Integers:
    """Roles that an average rests on: the most of its members, or of generators the fewest."""
    if generator != MEAN:
        return np.asarray(np.where(defined, roles, 0).max(axis=0), dtype=np.int64)
    fewest = np.where(defined, roles, np.iinfo(np.int64).max).min(axis=0)
    return np.asarray(np.where(defined.any(axis=0), fewest, 0), dtype=np.int64)


def _mean_of_known(stack: Floats) -> Floats:
    known = np.isfinite(stack)
    total, count = np.where(known, stack, 0.0).sum(axis=0), known.sum(axis=0)
    mean: Floats = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return mean


def _frame(
    chosen: Sequence[tuple[Intensity, NDArray[np.bool_]]],
    run: Run,
    intervals: Intervals,
    method: str | None,
) -> pl.DataFrame:
    """Rows of levels of one estimand and support, for the slots that are wanted."""
    levels = [level for level, _ in chosen]
    wanted = np.array([slots for _, slots in chosen]).reshape(len(levels), len(SLOTS))
    interval = _interval(np.stack([level.values for level in levels], axis=1), intervals)
    rests = (np.array([level.roles for level in levels]) >= 2) & np.isfinite(interval.low)
    if intervals.only_where_defined:
        wanted &= rests
    low, high = _within_range(levels[0].estimand, interval)
    place, slot = np.nonzero(wanted)
    rest = rests[place, slot]
    columns: dict[str, Any] = {
        **{name: [getattr(levels[i], name) for i in place] for name in _KEYS},
        "condition": [SLOTS[j][0] for j in slot],
        "contrast": [SLOTS[j][1] for j in slot],
        "method": [intervals.method if there else method for there in rest],
        "point": interval.point[place, slot],
        "low": np.where(rest, low[place, slot], np.nan),
        "high": np.where(rest, high[place, slot], np.nan),
        "n": np.array([level.n for level in levels])[place, slot],
        "n_missing": [_at(levels[i].n_missing, j) for i, j in zip(place, slot, strict=True)],
        "note": [_note(levels[i], j) for i, j in zip(place, slot, strict=True)],
    }
    words = dict.fromkeys((*_KEYS, "condition", "contrast", "method", "note"), pl.String)
    return run.frame(pl.DataFrame(columns, schema_overrides={**words, "n_missing": pl.Int64}))


_KEYS = ("estimand", "support", "generator", "cohort", "dimension")


def _note(level: Intensity, slot: Any) -> str | None:
    undefined = None if np.isfinite(level.values[0, slot]) else UNDEFINED
    return joined(undefined, level.notes[slot])


def _at(table: Integers | None, slot: Any) -> int | None:
    return None if table is None else int(table[slot])


def _interval(values: Floats, intervals: Intervals) -> Interval:
    """Intervals of all levels at once; `values` has shape (rows, levels, slots)."""
    last = len(values) - intervals.jackknife
    if intervals.method == BCA:
        return bca_interval(values[0], values[1:last], values[last:], intervals.alpha)
    return percentile_interval(values[0], values[1:last], intervals.alpha, centred=True)


def _within_range(estimand: str, interval: Interval) -> tuple[Floats, Floats]:
    """Ends of intervals, cut to what the estimand can be; a corrected entropy has no bounds."""
    name = estimand.removesuffix(UNPROMPTED)
    if name in _UNBOUNDED:
        return interval.low, interval.high
    contrast = np.array([name is not None for _, name in SLOTS])
    if name == "effective_labels":
        lowest, highest = np.where(contrast, -np.inf, 1.0), np.full(len(SLOTS), np.inf)
    else:
        lowest, highest = np.where(contrast, -1.0, 0.0), np.ones(len(SLOTS))
    return interval.low.clip(lowest, highest), interval.high.clip(lowest, highest)
