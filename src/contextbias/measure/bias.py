"""Estimates of Bias Intensity: all forms, averages and intervals, with and without prompted images.

Every estimand has a twin whose name ends in ``_unprompted``: the same with prompted.py's counts in
the place of the dimensions that some prompt names. It has rows for these dimensions and for all
averages; where no prompt names a dimension there is no twin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from contextbias.measure.arrays import DimensionCounts, Integers, ReaderCounts
from contextbias.measure.caveats import DEGENERATE
from contextbias.measure.intensity import (
    EQUAL,
    Floats,
    Intensity,
    Key,
    RoleValues,
    all_role_intensities,
    intensities,
    role_support,
)
from contextbias.measure.levels import (
    BCA,
    BOOTSTRAP,
    TWO_LEVEL,
    UNPROMPTED,
    Intervals,
    intensity_frame,
)
from contextbias.measure.prompted import unprompted_counts
from contextbias.measure.rows import Run, Settings, estimate_frame
from contextbias.measure.two_level import draw_prompts, with_drawn_prompts
from contextbias.stats.resample import jackknife_weights, role_weights
from contextbias.tables import CONDITIONS

_METHODS = {"expanded": BOOTSTRAP, "bca": BCA, "two-level": TWO_LEVEL}
ByRole = Mapping[Key, RoleValues]


def bias_estimates(counts: ReaderCounts, run: Run, settings: Settings) -> pl.DataFrame:
    """Bias Intensity of one reader, with the intervals that `settings` asks for.

    Args:
        counts: The reader's counts.
        run: Keys of the rows.
        settings: ``bootstrap``, ``seed``, ``alpha``, ``intervals`` and ``prompts`` are used.

    Returns:
        Rows of tables.EstimateRow. The first of ``intervals`` is that of every row; another has
        further rows, with the same keys and its own method, where it is defined.
    """
    if not counts.roles:
        return estimate_frame([])
    by_role = all_role_intensities(counts)
    parts = [*_with_intervals(counts, by_role, run, settings), _role_rows(counts, by_role, run)]
    return pl.concat(parts)


def _with_intervals(
    counts: ReaderCounts, by_role: ByRole, run: Run, settings: Settings
) -> Iterator[pl.DataFrame]:
    restricted = unprompted_counts(counts, settings.prompts)
    rng = np.random.default_rng(settings.seed)
    weights = role_weights(len(counts.roles), settings.bootstrap, rng)
    both = (counts, by_role), (restricted, all_role_intensities(restricted))
    for number, name in enumerate(settings.intervals):
        resampled = _resampling(name, counts, weights, settings)
        found, without = (list(resampled(*each)) for each in both)
        left_out = len(counts.roles) if name == "bca" else 0
        intervals = Intervals(_METHODS[name], settings.alpha, left_out, number > 0)
        yield intensity_frame(found, run, intervals)
        if without:
            named = sorted({of.dimension for of in restricted.dimensions})
            yield intensity_frame(_replaced(found, without), run, intervals, dimensions=named)


def _resampling(
    name: str, counts: ReaderCounts, weights: Floats, settings: Settings
) -> Callable[[ReaderCounts, ByRole], Iterator[Intensity]]:
    """What gives intensities the rows that intervals are made from."""
    ones = np.ones((1, len(counts.roles)))
    if name == "two-level":
        # A stream of its own, so that the roles drawn are those of the other methods.
        draws = draw_prompts(counts, weights, np.random.default_rng([settings.seed, 2]))
        return lambda of, by_role: with_drawn_prompts(intensities(of, ones, by_role), of, draws)
    left_out = jackknife_weights(len(counts.roles)) if name == "bca" else ones[:0]
    rows = np.concatenate([ones, weights, left_out])
    return lambda of, by_role: intensities(of, rows, by_role)


def _replaced(found: Sequence[Intensity], without: Sequence[Intensity]) -> Iterator[Intensity]:
    """The unprompted twins: those of restricted dimensions, and all others as they are."""
    restricted = {(each.generator, each.dimension) for each in without}
    kept = (each for each in found if (each.generator, each.dimension) not in restricted)
    for each in (*kept, *without):
        yield replace(each, estimand=each.estimand + UNPROMPTED)


def _role_rows(counts: ReaderCounts, by_role: ByRole, run: Run) -> pl.DataFrame:
    """``bi_role`` of each role, at the support at which its conditions are compared."""
    asked = [of for of in counts.dimensions if of.labels]
    parts = [_role_values(counts, of, by_role) for of in asked]
    if not parts:
        return estimate_frame([])
    numbers = [np.concatenate([part[i] for part in parts]) for i in range(len(parts[0]))]
    which = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    words: dict[str, list[str | None]] = {
        "generator": [of.generator for of in asked],
        "cohort": [of.cohort for of in asked],
        "dimension": [of.dimension for of in asked],
        "note": [DEGENERATE if len(of.labels) == 1 else None for of in asked],
    }
    columns = {name: pl.Series(each, dtype=pl.String).gather(which) for name, each in words.items()}
    columns["role"] = pl.Series(counts.roles, dtype=pl.String).gather(numbers[0])
    columns["condition"] = pl.Series(CONDITIONS).gather(numbers[1])
    columns |= {
        name: pl.Series(values)
        for name, values in zip(("point", "n", "n_missing"), numbers[2:], strict=True)
    }
    rows = pl.DataFrame(columns).with_columns(estimand=pl.lit("bi_role"))
    return run.frame(rows, support=EQUAL)


def _role_values(
    counts: ReaderCounts, of: DimensionCounts, by_role: ByRole
) -> tuple[Integers, Integers, Floats, Integers, Integers]:
    """Role, condition, Bias Intensity, mentions compared at, and images missing."""
    present = counts.images[of.generator].sum(axis=0) > 0
    values = by_role[of.generator, of.dimension]["bi_role", EQUAL]
    role, condition = np.nonzero(np.isfinite(values))
    at = role, condition
    return *at, values[at], role_support(of, present)[role], of.missing[at]
