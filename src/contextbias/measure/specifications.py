"""One number under many choices: the rows of a specification curve.

The choices that are made here, after counting:

- ``estimand`` and ``support``: every form of Bias Intensity (bias.py).
- ``labels``: ``observed``, Y is what was seen; ``codebook``, Y is the vocabulary of a closed
  dimension (that the reader can tell apart), seen or not. Counts stay as they are and H with them,
  so that BI = 1 - H / log |Y| only changes its scale; open vocabularies stay observed.
- ``prompted``: ``counted``, or ``left out``: a dimension is not counted in images whose prompt
  names it (prompted.py).
- ``preset``: ``paper`` and ``strict`` compute the same numbers, all of them under ``paper`` here;
  ``reference`` is one row, with the label sets and the bootstrap of the released code.

Shares of verdicts (verdict_rows) have ``prompted`` and ``preset`` (``strict`` rests the verdict on
tests that allow for clusters), and no interval.

Those that need other counts (people, unknown answers, mapping, reader) are the caller's: see
pipeline/specifications.py. Source of the idea: Simonsohn, Simmons and Nelson (2020), "Specification
curve analysis".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from contextbias.measure.arrays import DimensionCounts, ReaderCounts, consistency_counts
from contextbias.measure.cells import VERDICTS, X_COLUMNS
from contextbias.measure.clustered import with_design_effects
from contextbias.measure.consistency import consistency_estimates
from contextbias.measure.intensity import SLOTS, Intensity, intensities
from contextbias.measure.levels import BOOTSTRAP, MEAN, OVERALL, Intervals, intensity_frame
from contextbias.measure.prompted import unprompted_counts
from contextbias.measure.reference import reference_intensity
from contextbias.measure.rows import Run, Settings
from contextbias.schema import DIMENSIONS, UNKNOWN
from contextbias.stats.proportion import MINIMUM_SUPPORT
from contextbias.stats.resample import role_weights

CHOICES = ("preset", "prompted", "labels", "estimand", "support")
"""Columns of the choices that are made here."""

NUMBERS = ("point", "low", "high", "n", "note")
"""Columns of the numbers."""


BIAS_INTENSITY = "bias_intensity"
"""Every form of Bias Intensity: the estimand is a choice, and not the question."""

SHARES = ("share_invariant_paper", *(f"share_{verdict}" for verdict in VERDICTS))
"""Shares of verdicts that a curve can be made of."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Which number is followed through the choices; the headline by default."""

    estimand: str = BIAS_INTENSITY
    """`BIAS_INTENSITY`, or one of `SHARES`."""
    slot: str = "CA-U - CF"
    """A contrast, a condition, or ``all``."""
    generator: str = MEAN
    """A generator, or ``mean``."""
    cohort: str = OVERALL
    """A cohort, or ``all``; that of `dimension` where there is one."""
    dimension: str | None = None
    """A dimension; None for the mean over those of the cohort."""


def specification_rows(
    counts: ReaderCounts, quantity: Quantity, run: Run, settings: Settings
) -> pl.DataFrame:
    """The quantity under every choice that needs no other counts; no row where it is undefined.

    Args:
        counts: Counts of one reader.
        quantity: Which number.
        run: Keys of estimates; only ``people`` and ``reader`` matter.
        settings: Replicates, seed and level of the role bootstrap; ``prompts`` for what is named in
            them, ``readable`` for the vocabulary.

    Returns:
        Columns `CHOICES` and `NUMBERS`; intervals are those of the role bootstrap.
    """
    if not counts.roles:
        return _no_rows()
    rng = np.random.default_rng(settings.seed)
    drawn = role_weights(len(counts.roles), settings.bootstrap, rng)
    weights = np.concatenate([np.ones((1, len(counts.roles))), drawn])
    every = _intensities(counts, quantity, weights)
    restricted = unprompted_counts(_wanted(counts, quantity), settings.prompts)
    named = {(of.generator, of.dimension) for of in restricted.dimensions}
    found = {"counted": every}
    if named:
        kept = [each for each in every if (each.generator, each.dimension) not in named]
        found["left out"] = [*kept, *_intensities(restricted, quantity, weights)]
    parts = [
        _rows(_on_labels(each, counts, labels, settings), quantity, run, settings).with_columns(
            preset=pl.lit("paper"), prompted=pl.lit(prompted), labels=pl.lit(labels)
        )
        for prompted, each in found.items()
        for labels in ("observed", "codebook")
    ]
    return pl.concat([_no_rows(), *(part.select(*CHOICES, *NUMBERS) for part in parts)])


def released_row(
    counts: ReaderCounts, quantity: Quantity, run: Run, settings: Settings
) -> pl.DataFrame:
    """The quantity as the paper's released code has it; see reference.py.

    Args:
        counts: Counts of one reader, counted as the released code counts.
        quantity: Which number.
        run: Keys of estimates.
        settings: Replicates, seed and level.

    Returns:
        Columns as `specification_rows`; no row where the quantity is undefined.
    """
    rows = _of_quantity(reference_intensity(counts, run, settings), quantity)
    kept = rows.with_columns(
        preset=pl.lit("reference"), prompted=pl.lit("counted"), labels=pl.lit("observed"),
        support=pl.lit("raw"),
    )  # fmt: skip
    return kept.select(*CHOICES, *NUMBERS)


def verdict_rows(
    counts: ReaderCounts, quantity: Quantity, run: Run, settings: Settings
) -> pl.DataFrame:
    """A share of verdicts under every choice that needs no other counts.

    Args:
        counts: Counts of one reader.
        quantity: One of `SHARES`, of a cohort or all, a generator or their mean.
        run: Keys of estimates.
        settings: Margin and level; ``prompts`` for what is named in them.

    Returns:
        Columns as `specification_rows`, without intervals; n is the supported cells, or of a mean
        the generators.
    """
    restricted = {
        (of.generator, of.dimension): of
        for of in unprompted_counts(counts, settings.prompts).dimensions
    }
    found = {"counted": counts}
    if restricted:
        rest = tuple(restricted.get((o.generator, o.dimension), o) for o in counts.dimensions)
        found["left out"] = replace(counts, dimensions=rest)
    parts = [
        _share(each, quantity, run, settings, preset).with_columns(
            preset=pl.lit(preset), prompted=pl.lit(prompted), labels=pl.lit("observed")
        )
        for prompted, each in found.items()
        for preset in ("paper", "strict")
    ]
    return pl.concat([_no_rows(), *(part.select(*CHOICES, *NUMBERS) for part in parts)])


def _share(
    counts: ReaderCounts, quantity: Quantity, run: Run, settings: Settings, preset: str
) -> pl.DataFrame:
    wide = with_design_effects(consistency_counts(counts), counts)
    # Only supported cells are in the shares, and in the family of tests.
    supported = wide.filter(pl.sum_horizontal(X_COLUMNS) >= MINIMUM_SUPPORT)
    rows = consistency_estimates(
        supported, reader=run.reader, preset=preset, people=run.people,
        margin_pp=settings.margin_pp, alpha=settings.alpha,
    ).filter(
        pl.col("estimand") == quantity.estimand,
        pl.col("cohort") == quantity.cohort,
        pl.col("point").is_not_null(),
    )  # fmt: skip
    if quantity.generator != MEAN:
        return rows.filter(pl.col("generator") == quantity.generator)
    mean = rows.group_by("estimand", "support").agg(
        pl.col("point", "low", "high").mean(), n=pl.len().cast(pl.Int64), note=pl.lit(None)
    )
    return mean.with_columns(pl.col("note").cast(pl.String))


def with_unknown_as_label(attributes: pl.DataFrame) -> pl.DataFrame:
    """Attributes in which ``unknown`` is a label like others, and such images count as read.

    Other reasons stay missing. It is what a tool does that does not tell an answer from its
    absence, and is here to show what that does to a number.
    """
    unknown = pl.col("missing_reason") == UNKNOWN
    return attributes.with_columns(
        label=pl.when(unknown).then(pl.lit(UNKNOWN)).otherwise("label"),
        missing_reason=pl.when(~unknown).then("missing_reason"),
    )


def _no_rows() -> pl.DataFrame:
    schema: dict[str, type[pl.DataType]] = dict.fromkeys((*CHOICES, "note"), pl.String)
    schema |= dict.fromkeys(NUMBERS[:3], pl.Float64) | {"n": pl.Int64}
    return pl.DataFrame(schema=schema).select(*CHOICES, *NUMBERS)


def _wanted(counts: ReaderCounts, quantity: Quantity) -> ReaderCounts:
    """Only what the quantity is made of, to compute no more."""
    kept = (
        of
        for of in counts.dimensions
        if quantity.generator in (MEAN, of.generator)
        and quantity.cohort in (OVERALL, of.cohort)
        and quantity.dimension in (None, of.dimension)
    )
    return replace(counts, dimensions=tuple(kept))


def _intensities(counts: ReaderCounts, quantity: Quantity, weights: np.ndarray) -> list[Intensity]:
    found = intensities(_wanted(counts, quantity), weights)
    return [each for each in found if each.estimand.startswith("bi_")]


def _on_labels(
    found: Iterable[Intensity], counts: ReaderCounts, labels: str, settings: Settings
) -> Iterator[Intensity]:
    """The same intensities on another label set: 1 - BI, and differences of BI, are scaled."""
    sizes = _scales(counts, settings.readable or {}) if labels == "codebook" else {}
    contrast = np.array([name is not None for _, name in SLOTS])
    for each in found:
        scale = sizes.get((each.generator, each.dimension), 1.0)
        scaled = np.where(contrast, each.values * scale, 1 - (1 - each.values) * scale)
        yield replace(each, values=scaled) if scale != 1 else each


def _scales(
    counts: ReaderCounts, readable: Mapping[str, tuple[str, ...] | None]
) -> dict[tuple[str, str | None], float]:
    """(generator, dimension) -> log |Y| observed by log |Y| of the codebook."""
    found: dict[tuple[str, str | None], float] = {}
    for of in counts.dimensions:
        size = len(_vocabulary(of, readable.get(of.dimension)))
        if size > 1:
            found[of.generator, of.dimension] = float(np.log(len(of.labels)) / np.log(size))
    return found


def _vocabulary(of: DimensionCounts, told: tuple[str, ...] | None) -> set[str]:
    return set(of.labels) | set(told or DIMENSIONS[of.dimension].vocabulary)


def _rows(
    found: Iterable[Intensity], quantity: Quantity, run: Run, settings: Settings
) -> pl.DataFrame:
    named = [] if quantity.dimension is None else [quantity.dimension]
    frame = intensity_frame(found, run, Intervals(BOOTSTRAP, settings.alpha), dimensions=named)
    return _of_quantity(frame, quantity)


def _of_quantity(frame: pl.DataFrame, quantity: Quantity) -> pl.DataFrame:
    if quantity.dimension is None:
        level = pl.col("dimension").is_null() & (pl.col("cohort") == quantity.cohort)
    else:
        level = pl.col("dimension") == quantity.dimension
    return frame.filter(
        level,
        pl.coalesce("contrast", "condition") == quantity.slot,
        pl.col("generator") == quantity.generator,
        pl.col("role").is_null(),
        pl.col("point").is_not_null(),
    )
