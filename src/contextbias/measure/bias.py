"""Estimates of Bias Intensity: all forms, averages and intervals, with and without prompted images.

Every estimand has a twin whose name ends in ``_unprompted``: the same with prompted.py's counts in
the place of the dimensions that some prompt names. It has rows for these dimensions and for all
averages; where no prompt names a dimension there is no twin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from contextbias.measure.arrays import DimensionCounts, ReaderCounts
from contextbias.measure.intensity import (
    EQUAL,
    Floats,
    Intensity,
    intensities,
    role_intensities,
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
    return pl.concat(
        [
            *_with_intervals(counts, run, settings),
            *(_role_rows(of, counts, run) for of in counts.dimensions if of.labels),
        ]
    )


def _with_intervals(counts: ReaderCounts, run: Run, settings: Settings) -> Iterator[pl.DataFrame]:
    yield estimate_frame([])
    rng = np.random.default_rng(settings.seed)
    weights = role_weights(len(counts.roles), settings.bootstrap, rng) if counts.roles else None
    if weights is None:
        return
    restricted = unprompted_counts(counts, settings.prompts)
    for number, name in enumerate(settings.intervals):
        intervals = _intervals(name, counts, settings, further=number > 0)
        found, without = (
            list(_resampled(each, weights, intervals, settings)) for each in (counts, restricted)
        )
        yield intensity_frame(found, run, intervals)
        if without:
            named = {of.dimension for of in restricted.dimensions}
            yield intensity_frame(
                _replaced(found, without), run, intervals, dimensions=sorted(named)
            )


def _intervals(name: str, counts: ReaderCounts, settings: Settings, *, further: bool) -> Intervals:
    methods = {"expanded": BOOTSTRAP, "bca": BCA, "two-level": TWO_LEVEL}
    left_out = len(counts.roles) if name == "bca" else 0
    return Intervals(methods[name], settings.alpha, left_out, only_where_defined=further)


def _resampled(
    counts: ReaderCounts, weights: Floats, intervals: Intervals, settings: Settings
) -> Iterator[Intensity]:
    """Intensities with the rows that the intervals are made from."""
    ones = np.ones((1, len(counts.roles)))
    if intervals.method == TWO_LEVEL:
        # A stream of its own, so that the roles drawn are those of the other methods.
        rng = np.random.default_rng([settings.seed, 2])
        draws = draw_prompts(counts, weights, rng)
        return with_drawn_prompts(intensities(counts, ones), counts, draws)
    left_out = jackknife_weights(len(counts.roles))[: intervals.jackknife]
    return intensities(counts, np.concatenate([ones, weights, left_out]))


def _replaced(found: Sequence[Intensity], without: Sequence[Intensity]) -> Iterator[Intensity]:
    """The unprompted twins: those of restricted dimensions, and all others as they are."""
    restricted = {(each.generator, each.dimension) for each in without}
    kept = (each for each in found if (each.generator, each.dimension) not in restricted)
    for each in (*kept, *without):
        yield replace(each, estimand=each.estimand + UNPROMPTED)


def _role_rows(of: DimensionCounts, counts: ReaderCounts, run: Run) -> pl.DataFrame:
    """``bi_role`` of each role, at the support at which its conditions are compared."""
    present = counts.images[of.generator].sum(axis=0) > 0
    values = role_intensities(of, present)["bi_role", EQUAL]
    role, condition = np.nonzero(np.isfinite(values))
    rows = pl.DataFrame(
        {
            "estimand": ["bi_role"] * len(role),
            "role": [counts.roles[i] for i in role],
            "condition": [CONDITIONS[j] for j in condition],
            "point": values[role, condition],
            "n": role_support(of, present)[role],
            "n_missing": of.missing[role, condition],
        },
        schema_overrides={"role": pl.String, "condition": pl.String},
    )
    return run.frame(
        rows, generator=of.generator, cohort=of.cohort, dimension=of.dimension, support=EQUAL,
        note="degenerate" if len(of.labels) == 1 else None,
    )  # fmt: skip
