"""From dimensions to cohorts, to the overall value, to the mean over generators.

Weights are equal all through: a cohort is the mean of its dimensions that have a value, the overall
value the mean of its cohorts, the mean over generators the mean of those that have a value. A
replicate is averaged in the same way, so that the interval is that of the average. Where a
resample leaves a dimension undefined, that replicate averages over the others.

A dimension's replicates are expanded for the roles that the dimension rests on before they are
averaged, since dimensions of one study can rest on different numbers of roles: facial hair colour
on those with facial hair. A dimension of one role shows no spread: the interval of a cohort is that
of its other dimensions, and a mean over generators has none where a generator has none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextbias.measure.arrays import Integers
from contextbias.measure.intensity import SLOTS, SUPPORT, Floats, Intensity
from contextbias.measure.rows import Run
from contextbias.schema import COHORTS
from contextbias.stats.resample import Interval, expand, expansion, percentile_interval

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


def with_averages(found: Iterable[Intensity]) -> list[Intensity]:
    """Dimensions, then cohorts, overall values and means over generators.

    Args:
        found: Intensities of one estimand, by generator and dimension.

    Returns:
        `found` and its averages. ``n`` of an average is the number of values in it: dimensions of
        a cohort, cohorts of an overall value, generators of a mean.
    """
    dimensions = list(found)
    cohorts = _averages(dimensions, lambda i: (i.generator, i.cohort, None))
    overall = _averages(cohorts, lambda i: (i.generator, OVERALL, None))
    single = [*dimensions, *cohorts, *overall]
    return [*single, *_averages(single, lambda i: (MEAN, i.cohort, i.dimension))]


def intensity_rows(
    found: Iterable[Intensity], run: Run, *, alpha: float, method: str | None = None
) -> Iterator[dict[str, Any]]:
    """Rows for every level and slot.

    Args:
        found: Intensities of all estimands, by generator and dimension.
        run: Keys of the rows.
        alpha: 1 minus the level of the intervals.
        method: Method of rows without an interval.

    Yields:
        Rows of tables.EstimateRow. A slot that no dimension of the generator has a value for has
        no row (contrasts of a study with one condition); a dimension without a value where others
        have one has a row with a null point. An interval needs two roles.
    """
    by_estimand = defaultdict(list)
    for intensity in found:
        by_estimand[intensity.estimand].append(_expanded(intensity, alpha))
    for mine in by_estimand.values():
        levels = with_averages(mine)
        wanted = {
            level.generator: np.isfinite(level.values[0])
            for level in levels
            if level.cohort == OVERALL
        }
        for level in levels:
            yield from _rows(level, run, wanted[level.generator], alpha, method)


def _expanded(found: Intensity, alpha: float) -> Intensity:
    """Replicates expanded for the roles of each slot; nan where these are fewer than two."""
    wide = expand(found.values[1:], expansion(found.roles, alpha))
    return replace(found, values=np.concatenate([found.values[:1], wide]))


def _averages(members: Sequence[Intensity], key: Any) -> list[Intensity]:
    groups: dict[tuple[str, str, str | None], list[Intensity]] = defaultdict(list)
    for member in members:
        groups[key(member)].append(member)
    return [_average(names, group) for names, group in groups.items()]


def _average(names: tuple[str, str, str | None], members: list[Intensity]) -> Intensity:
    generator, cohort, dimension = names
    stack = np.stack([member.values for member in members])
    defined = np.isfinite(stack[:, :1])
    return Intensity(
        members[0].estimand, generator, cohort, dimension,
        values=_mean_of_known(np.where(defined, stack, np.nan)),
        n=defined.sum(axis=0)[0],
        n_missing=None,
        roles=_roles(generator, np.stack([member.roles for member in members]), defined[:, 0]),
        notes=tuple(_note(names, members, slot) for slot in range(len(SLOTS))),
    )  # fmt: skip


def _roles(generator: str, roles: Integers, defined: NDArray[np.bool_]) -> Integers:
    """Roles that an average rests on: the most of its members, or of generators the fewest."""
    if generator != MEAN:
        return np.asarray(np.where(defined, roles, 0).max(axis=0), dtype=np.int64)
    fewest = np.where(defined, roles, np.iinfo(np.int64).max).min(axis=0)
    return np.asarray(np.where(defined.any(axis=0), fewest, 0), dtype=np.int64)


def _note(
    names: tuple[str, str, str | None], members: Sequence[Intensity], slot: int
) -> str | None:
    """Cohorts that an overall value lacks, or ``degenerate`` where all of a mean's members are."""
    generator, cohort, dimension = names
    lacking = len(COHORTS) - sum(bool(np.isfinite(m.values[0, slot])) for m in members)
    if cohort == OVERALL and generator != MEAN and lacking:
        return f"{lacking} of {len(COHORTS)} cohorts missing"
    degenerate = all("degenerate" in (m.notes[slot] or "") for m in members)
    return "degenerate" if dimension is not None and degenerate else None


def _mean_of_known(stack: Floats) -> Floats:
    known = np.isfinite(stack)
    total, count = np.where(known, stack, 0.0).sum(axis=0), known.sum(axis=0)
    mean: Floats = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return mean


def _rows(
    level: Intensity, run: Run, wanted: Any, alpha: float, method: str | None
) -> Iterator[dict[str, Any]]:
    interval = percentile_interval(level.values[0], level.values[1:], alpha, centred=True)
    for slot, (condition, contrast) in enumerate(SLOTS):
        if not wanted[slot]:
            continue
        rests = level.roles[slot] >= 2 and np.isfinite(interval.low[slot])
        low, high = _within_range(level.estimand, contrast, interval, slot)
        yield run.row(
            level.estimand,
            generator=level.generator,
            condition=condition,
            contrast=contrast,
            cohort=level.cohort,
            dimension=level.dimension,
            support=SUPPORT[level.estimand],
            method=BOOTSTRAP if rests else method,
            point=interval.point[slot],
            low=low if rests else None,
            high=high if rests else None,
            n=level.n[slot],
            n_missing=None if level.n_missing is None else level.n_missing[slot],
            note=level.notes[slot],
        )


def _within_range(
    estimand: str, contrast: str | None, interval: Interval, slot: int
) -> tuple[float, float]:
    """Ends of an interval, cut to what the estimand can be; a corrected entropy has no bounds."""
    ends = np.array([interval.low[slot], interval.high[slot]])
    if estimand != "bi_role_miller_madow":
        ends = ends.clip(-1.0 if contrast else 0.0, 1.0)
    return float(ends[0]), float(ends[1])
