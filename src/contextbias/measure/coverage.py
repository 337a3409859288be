"""Coverage beside every gap: is one group of people answered more often than another?

A share is of those who were answered. Where a reader answers for people presented in one way more
often than for others, a difference of shares between groups of images can be a difference of who
was answered. The rows of missing.py say so by generator and condition; these say so by how the
most prominent person is presented.
"""

from __future__ import annotations

import polars as pl

from contextbias.measure.arrays import ReaderCounts
from contextbias.measure.facts import Readable
from contextbias.measure.rows import Run, Settings, estimate_frame
from contextbias.schema import DIMENSIONS, UNKNOWN
from contextbias.stats.proportion import wilson
from contextbias.tables import EMPTY_LIST

GROUPINGS = ("gender_presentation", "skin_tone")
"""Dimensions whose labels make groups."""

_PEOPLE = "people"
_BITS = {name: 1 << k for k, name in enumerate(n for n, d in DIMENSIONS.items() if d.per_person)}
# A file can stand under several prompts, and counts once under each.
_IMAGE = ("image_id", "generator", "prompt_id")
_NOT_ASKED = ("not_readable", "not_applicable")


def coverage_estimates(counts: ReaderCounts, run: Run, settings: Settings) -> pl.DataFrame:
    """``coverage_by_gender_presentation`` and ``coverage_by_skin_tone``: shares answered.

    Of the images whose most prominent person has the label in ``label`` (``unknown`` for those of
    whom the reader could not tell), the share in which the reader answered the question in
    ``dimension`` about the same person. An empty list is an answer. All roles and conditions of a
    generator are taken together. It is always the most prominent person, also where the study
    counts any.

    Args:
        counts: The reader's counts: which generators there are.
        run: Keys of the rows.
        settings: With the facts, what the reader can tell apart, and the level.

    Returns:
        Rows of tables.EstimateRow with Wilson's interval, ``n`` the images of the group and
        ``n_missing`` those without the answer. Images that were not read, or that show nobody, are
        in no group, and a question that does not arise (``not_applicable``) is not counted. There
        is no row for a question that the reader has declared it cannot read, of a grouping by
        itself, and none at all without facts (answers that came counted).
    """
    if settings.attributes is None:
        return estimate_frame([])
    blind = _blind(settings.readable or {})
    facts = _facts(settings.attributes, run.reader, blind)
    # A generator at a time, which takes a fraction of the memory.
    images = [_images(facts.filter(generator=name)) for name in counts.generators]
    parts = [_shares(found, grouping) for found in images for grouping in GROUPINGS]
    rows = pl.concat(parts) if parts else pl.DataFrame()
    if rows.is_empty():
        return estimate_frame([])
    found = wilson(rows["x"].to_numpy(), rows["n"].to_numpy(), confidence=1 - settings.alpha)
    return run.frame(
        rows.with_columns(
            point=pl.Series(found.point),
            low=pl.Series(found.low),
            high=pl.Series(found.high),
            n_missing=pl.col("n") - pl.col("x"),
        ),
        condition="all",
        cohort=_PEOPLE,
        method="wilson",
    )


def _blind(readable: Readable) -> list[str]:
    """Dimensions of which the reader sees one label at most: its answers there do not count."""
    return [name for name, labels in readable.items() if labels is not None and len(labels) < 2]


def _facts(attributes: pl.LazyFrame, reader: str, blind: list[str]) -> pl.LazyFrame:
    """What the reader was asked about the most prominent person, and could have answered."""
    return attributes.filter(
        pl.col("reader") == reader,
        pl.col("cohort") == _PEOPLE,
        pl.col("person") == 0,
        ~pl.col("missing_reason").fill_null("").is_in(_NOT_ASKED),
        ~pl.col("dimension").is_in(blind),
    )


def _images(facts: pl.LazyFrame) -> pl.DataFrame:
    """Images by groups, and by the questions answered and asked, as one bit each."""
    name = pl.col("dimension")
    answered = pl.col("label").is_not_null() | (pl.col("missing_reason") == EMPTY_LIST)
    unknown = pl.when(pl.col("missing_reason") == UNKNOWN).then(pl.lit(UNKNOWN))
    label, bit = pl.coalesce("label", unknown), name.replace_strict(_BITS)
    return (
        facts.group_by(_IMAGE)
        .agg(
            pl.when(answered).then(bit).otherwise(0).bitwise_or().alias("read"),
            bit.bitwise_or().alias("asked"),
            *(label.filter(name == grouping).first().alias(grouping) for grouping in GROUPINGS),
        )
        .group_by("generator", "read", "asked", *GROUPINGS)
        .agg(images=pl.len().cast(pl.Int64))
        .collect()
    )


def _shares(images: pl.DataFrame, grouping: str) -> pl.DataFrame:
    """Images answered, and all of them, by generator, group and dimension."""
    known = images.filter(pl.col(grouping).is_not_null()).rename({grouping: "label"})
    parts = [
        known.filter(pl.col("asked") & bit != 0)
        .group_by("generator", "label")
        .agg(
            x=pl.col("images").filter(pl.col("read") & bit != 0).sum(),
            n=pl.col("images").sum(),
            dimension=pl.lit(name),
        )
        for name, bit in _BITS.items()
        if name != grouping
    ]
    rows = pl.concat(parts).sort("generator", "dimension", "label")
    return rows.with_columns(estimand=pl.lit(f"coverage_by_{grouping}"))
