"""The measure stage: one reader at a time, every number with its n and what is missing."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import polars as pl

from contextbias.errors import ConfigError
from contextbias.measure.agreement import agreement_estimates
from contextbias.measure.arrays import Readable, ReaderCounts, consistency_counts, count_readers
from contextbias.measure.bias import bias_estimates
from contextbias.measure.bounds import bounds_estimates
from contextbias.measure.clustered import design_effect_estimates, with_design_effects
from contextbias.measure.consistency import consistency_blocks
from contextbias.measure.contexts import context_estimates
from contextbias.measure.corrected import corrected_estimates
from contextbias.measure.coverage import coverage_estimates
from contextbias.measure.leading import leading_labels
from contextbias.measure.missing import missing_by_role, missing_rows
from contextbias.measure.people import consensus
from contextbias.measure.people_agreement import people_estimates
from contextbias.measure.permuted import permutation_estimates
from contextbias.measure.planted import planted_estimates
from contextbias.measure.reference import reference_added, reference_intensity
from contextbias.measure.representation import representation_estimates
from contextbias.measure.robustness import robustness_estimates
from contextbias.measure.rows import (
    ESTIMATE_SCHEMA,
    Run,
    Settings,
    block,
    estimate_frame,
    estimates_of,
)
from contextbias.measure.validity_known import known_estimates
from contextbias.schema import CODEBOOK_VERSION

PRESETS = ("paper", "strict", "reference")
"""Presets that this version computes."""

_THREADS = min(2, os.cpu_count() or 1)
"""Sections at a time: few, since each holds its tables."""

Section = Callable[[ReaderCounts, Run, Settings], pl.DataFrame | Iterable[pl.DataFrame]]
"""Counts of one reader to rows of tables.EstimateRow; in parts, where they are many."""


def measure(*arguments: Any, **settings: Any) -> pl.DataFrame:
    """All estimates in memory, as `ESTIMATE_SCHEMA` has them; the rest as `measure_lazily`."""
    return measure_lazily(*arguments, **settings).cast(pl.Schema(ESTIMATE_SCHEMA)).collect()


def measure_lazily(
    attributes: pl.DataFrame | pl.LazyFrame,
    planted: pl.DataFrame | None = None,
    *,
    preset: str = "paper",
    people: str = "primary",
    bootstrap: int = 1000,
    seed: int = 1,
    alpha: float = 0.05,
    margin_pp: float = 5.0,
    codebook: str = CODEBOOK_VERSION,
    readable: Mapping[str, Readable] | None = None,
    prompts: pl.DataFrame | None = None,
    shares: pl.DataFrame | None = None,
    intervals: Sequence[str] = ("expanded",),
    label_counts: pl.DataFrame | None = None,
    repeats: pl.DataFrame | None = None,
    judged: pl.DataFrame | None = None,
    drawable: Collection[str] | None = None,
    known: pl.DataFrame | None = None,
    sections: Sequence[Section] | None = None,
) -> pl.LazyFrame:
    """Turn attributes into estimates.

    Args:
        attributes: Rows of tables.AttributeRow, of any number of readers, in any order; a lazy
            frame is read a batch at a time.
        planted: What simulated generators were told to draw (generator, role, condition, cohort,
            dimension, label, p), labels spelt as in `attributes`; None for none.
        preset: ``paper``, ``strict`` or ``reference``; see reference.py for the last.
        people: ``primary`` or ``any``: whose attributes count.
        bootstrap: Replicates of the role bootstrap; 0 for no intervals of Bias Intensity.
        seed: Seed of the bootstrap. The same for every reader, so that their replicates draw the
            same roles where they have the same ones.
        alpha: Level of the tests; intervals have 1 - alpha.
        margin_pp: Largest range, in percentage points, that counts as no change.
        codebook: Codebook version, a column of the result.
        readable: Reader -> what it can tell apart; a reader left out can tell everything.
        prompts: What is known of the prompts (prompt_id, base, location, activity, and prompted:
            a list of the dimensions that the sentence names); None for nothing.
        shares: What roles have elsewhere, as shares.read_shares gives it; None for nothing.
        intervals: Kinds of intervals of Bias Intensity: ``expanded``, ``bca``, ``two-level``; see
            bias.py. The first is that of every row.
        label_counts: Rows of tables.LabelCountRow: answers that came counted, of readers of their
            own; None for none.
        repeats: Further readings of a sample, with the number of the reading in ``repeat``; they
            are in nothing but what is said about agreement. None for none.
        judged: What people answered, as people.people_frame gives it; None for nothing.
        drawable: Ids of the images of which those that people judged were drawn; None for all.
        known: What was read where the prompt names a label, with the columns of
            validity_known.KNOWN_SCHEMA; None for nothing.
        sections: What is estimated; None for all that the preset has.

    Returns:
        Columns of tables.EstimateRow, words as enumerations (rows.estimates_of): one reader after
        the other, one section after the other, and each sorted by its keys. The same attributes
        give the same rows in the same order. They are worked out already, in little memory, and
        take their final form when they are collected or written.

    Raises:
        ConfigError: A preset that this version does not compute, or a margin or level outside its
            range.
    """
    if preset not in PRESETS:
        raise ConfigError(
            f"the preset {preset!r} is not computed by this version", f"use {' or '.join(PRESETS)}"
        )
    _check_rule(margin_pp, alpha)
    settings = Settings(
        bootstrap, seed, alpha, margin_pp, prompts, shares, intervals=tuple(intervals),
        attributes=attributes.lazy(),
    )  # fmt: skip
    released = preset == "reference"
    counts = count_readers(
        attributes, people=people, readable=readable, label_counts=label_counts, released=released
    )
    if sections is None:
        sections = REFERENCE_SECTIONS if released else SECTIONS
    asked = []
    for reader, found in counts.items():
        run = Run(reader, preset, people, codebook)
        own = replace(settings, readable=(readable or {}).get(reader))
        asked += [(section, found, run, own) for section in sections]
    blocks = _blocks(asked)
    if not released:
        compared = agreement_estimates(
            attributes.lazy(), repeats, Run("", preset, people, codebook), alpha=alpha
        )
        blocks.append(block(compared))
    if judged is not None and not judged.is_empty() and not released:
        run = Run("", preset, people, codebook)
        blocks += _people_blocks(judged, counts, run, settings, drawable)
    if known is not None and not released:
        blocks.append(block(known_estimates(known, Run("", preset, people, codebook), settings)))
    if planted is not None and not released:
        rows = planted_estimates(
            planted, list(counts.values()), preset=preset, people=people, codebook=codebook,
            margin_pp=margin_pp,
        )  # fmt: skip
        blocks.append(block(rows))
    return estimates_of(blocks)


def _people_blocks(
    judged: pl.DataFrame,
    counts: Mapping[str, ReaderCounts],
    run: Run,
    settings: Settings,
    drawable: Collection[str] | None,
) -> list[pl.DataFrame]:
    """How far people agree, and what is left of each reader's numbers beside theirs."""
    agreed = consensus(judged)
    found = people_estimates(
        judged, settings.attributes, run, agreed=agreed,
        bootstrap=settings.bootstrap, seed=settings.seed, alpha=settings.alpha,
    )  # fmt: skip
    roles = None if judged["every_role"].all() else set(judged["role"])
    corrected = [
        corrected_estimates(
            agreed, of, replace(run, reader=reader), settings, roles=roles, drawable=drawable
        )
        for reader, of in counts.items()
    ]
    return [block(part) for part in (found, *corrected)]


def _check_rule(margin_pp: float, alpha: float) -> None:
    """Refuse what no test could be made with, before anything is counted."""
    if not 0 < margin_pp < 100:
        raise ConfigError(
            f"margin_pp {margin_pp} is no margin", "give percentage points above 0 and below 100"
        )
    if not 0 < alpha < 0.5:
        raise ConfigError(f"alpha {alpha} is no level", "give a number above 0 and below 0.5")


def _blocks(asked: Sequence[tuple[Section, ReaderCounts, Run, Settings]]) -> list[pl.DataFrame]:
    """The blocks of all sections, in the order asked for; some are worked out at a time.

    Bias Intensity is many small steps and consistency few large ones, which let other threads run:
    together they take little longer than one. Each section makes its own random numbers.
    """
    with ThreadPoolExecutor(_THREADS) as threads:
        running = [threads.submit(_section_blocks, *each) for each in asked]
        try:
            return [part for each in running for part in each.result()]
        finally:
            for each in running:
                each.cancel()  # after an error nobody waits for the rest


def _section_blocks(
    section: Section, counts: ReaderCounts, run: Run, settings: Settings
) -> list[pl.DataFrame]:
    return [block(part) for part in _parts(section(counts, run, settings))]


def _parts(found: pl.DataFrame | Iterable[pl.DataFrame]) -> Iterable[pl.DataFrame]:
    return [found] if isinstance(found, pl.DataFrame) else found


def _consistency(counts: ReaderCounts, run: Run, settings: Settings) -> Iterator[pl.DataFrame]:
    return consistency_blocks(
        with_design_effects(consistency_counts(counts), counts), reader=run.reader,
        preset=run.preset, people=run.people,
        margin_pp=settings.margin_pp, alpha=settings.alpha,
    )  # fmt: skip


def _description(counts: ReaderCounts, run: Run, _: Settings) -> pl.DataFrame:
    """Images, label sets and what is missing."""
    return estimate_frame([*_label_counts(counts, run), *missing_rows(counts, run)])


def _label_counts(counts: ReaderCounts, run: Run) -> Iterator[dict[str, Any]]:
    """``label_count``: the size of the label set Y; n is the images read."""
    for of in counts.dimensions:
        yield run.row(
            "label_count", generator=of.generator, condition="all", cohort=of.cohort,
            dimension=of.dimension, method="count", point=float(len(of.labels)), n=of.n.sum(),
            n_missing=of.missing.sum(),
        )  # fmt: skip


CORE: tuple[Section, ...] = (bias_estimates, _consistency, _description)
"""Bias Intensity, consistency, and how much was counted: what a headline needs."""

SECTIONS: tuple[Section, ...] = (
    *CORE,
    leading_labels,
    design_effect_estimates,
    permutation_estimates,
    robustness_estimates,
    context_estimates,
    missing_by_role,
    coverage_estimates,
    bounds_estimates,
    representation_estimates,
)
"""What is estimated of each reader, in this order. A new section is one more line."""

REFERENCE_SECTIONS: tuple[Section, ...] = (
    reference_intensity,
    _consistency,
    reference_added,
    _description,
)
"""What the preset ``reference`` estimates: what the paper's released code does."""
