"""How far the preset `paper` is from `reference` on a folder in the released layout, rule by rule.

python perf/reference.py FOLDER

Prints the numbers of the table in docs/method.md, "Preset reference, place by place".
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

from contextbias.canonicalise import LabelMapping
from contextbias.canonicalise.attributes import ATTRIBUTE_SCHEMA
from contextbias.canonicalise.frequencies import label_counts
from contextbias.measure import measure
from contextbias.measure.arrays import ReaderCounts, count_readers
from contextbias.measure.reference import reference_intensity
from contextbias.measure.rows import Run, Settings
from contextbias.pipeline.released import frequency_row, read_reference

NOTHING = pl.DataFrame(schema=ATTRIBUTE_SCHEMA)
CELL = ["generator", "role", "dimension", "label"]
LEVEL = ["generator", "cohort", "dimension"]
CHANGE = "CA-U - CF"


def main() -> None:
    """Print one line a rule."""
    frequencies = read_reference(Path(sys.argv[1])).frequencies
    counts = label_counts([frequency_row(each, "r") for each in frequencies], LabelMapping({}))
    paper, reference = (
        measure(NOTHING, preset=preset, label_counts=counts) for preset in ("paper", "reference")
    )
    print_headline(paper, reference)
    print_labels(counts)
    print_intensity(counts, paper, reference)
    print_cells(paper, reference)
    print_added(reference)
    print_intervals(paper, reference)


def print_headline(paper: pl.DataFrame, reference: pl.DataFrame) -> None:
    """The overall difference of unrelated contexts and none."""
    for cohort in ("all", "scene", "camera", "objects", "people"):
        values = [
            pooled(found).filter(generator="mean", cohort=cohort, contrast=CHANGE)
            .filter(pl.col("dimension").is_null())["point"].item()
            for found in (paper, reference)
        ]  # fmt: skip
        print(f"{CHANGE}, {cohort}: paper {values[0]:+.4f}, reference {values[1]:+.4f}")


def pooled(found: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``bi_pooled`` on all mentions."""
    return found.filter(estimand="bi_pooled", support="raw")


def print_labels(counts: pl.DataFrame) -> None:
    """What the label rules leave out, merge and cut."""
    key = ["generator", "dimension"]
    sizes = [
        counts.drop_nulls(name).select(*key, name).unique().height
        for name in ("label", "released_label")
    ]
    print(f"labels over generators and dimensions: paper {sizes[0]}, reference {sizes[1]}")
    bars = counts.filter(pl.col("surface").str.contains("|", literal=True))
    out = bars.filter(pl.col("released_label").is_null())
    print(f"answers with a bar: {bars['count'].sum()}, left out of one model {out['count'].sum()}")
    print(f"answers read as empty: {counts.filter(released_label='')['count'].sum()}")
    prompt = ["generator", "role", "condition", "prompt_id", "dimension"]
    sums = counts.drop_nulls("released_label").group_by(*prompt, "released_label").agg(
        pl.col("count").sum()
    )  # fmt: skip
    cut = sums.filter(pl.col("count") > 10)
    print(f"sums of surface forms cut at 10: {cut.height} of {sums.height}")


def print_intensity(counts: pl.DataFrame, paper: pl.DataFrame, reference: pl.DataFrame) -> None:
    """Bias Intensity: label rules alone, then the label set of a contrast, then ``all``."""
    settings = Settings(0, 1, 0.05, 5.0, None)
    run = Run("r", "reference", "primary", "1")
    ours = reference_intensity(reader_counts(counts, released=False), run, settings)
    for column in ("condition", "contrast"):
        difference("our labels, released formula", column, ours, reference)
        difference("paper", column, pooled(paper), reference)
    alone = (pooled(found).filter(condition="all") for found in (paper, reference))
    difference("condition all", "condition", *alone)
    single = reference.filter(
        estimand="bi_pooled", note="degenerate", condition="CF"
    )  # fmt: skip
    print(f"dimensions with one label: {single.height}")


def reader_counts(counts: pl.DataFrame, *, released: bool) -> ReaderCounts:
    """Counts of the only reader."""
    return count_readers(NOTHING, people="primary", label_counts=counts, released=released)["r"]


def difference(what: str, column: str, one: pl.DataFrame, other: pl.DataFrame) -> None:
    """Print how far the values of single generators and dimensions are apart."""
    keys = [*LEVEL, column]
    single = pl.col("generator") != "mean"
    rows = [
        pooled(frame).drop_nulls(["dimension", column, "point"]).filter(single)
        .select(*keys, "point")
        for frame in (one, other)
    ]  # fmt: skip
    both = (
        rows[0].join(rows[1], on=keys).select(gap=(pl.col("point") - pl.col("point_right")).abs())
    )
    mean, most = both["gap"].mean(), both["gap"].max()
    print(f"bi_pooled by {column}, {what}: mean {mean:.4f}, largest {most:.4f} of {both.height}")


def print_cells(paper: pl.DataFrame, reference: pl.DataFrame) -> None:
    """Images, prevalence and tests of the same role and label."""
    keys = [*CELL, "condition"]
    rows = [
        found.filter(estimand="prevalence").filter(pl.col("generator") != "mean")
        .with_columns(pl.col("label").str.replace_all(" ", "_")).select(*keys, "n", "point")
        for found in (paper, reference)
    ]  # fmt: skip
    both = rows[0].join(rows[1], on=keys).filter(pl.col("point_right") > 0)
    both = both.filter(pl.col("condition") != "all")
    apart = both.filter(pl.col("n") != pl.col("n_right")).height
    gap = (both["point"] - both["point_right"]).abs()
    print(f"n differs in {apart} of {both.height} cells with the label")
    print(f"prevalence: mean {100 * gap.mean():.2f} pp, largest {100 * gap.max():.1f} pp")
    tests = [
        found.filter(estimand="chi2_p").with_columns(pl.col("label").str.replace_all(" ", "_"))
        .select(*CELL, "point").drop_nulls()
        for found in (paper, reference)
    ]  # fmt: skip
    pairs = tests[0].join(tests[1], on=CELL)
    flips = pairs.filter((pl.col("point") < 0.05) != (pl.col("point_right") < 0.05)).height
    print(f"p crosses .05: {flips} of {pairs.height} tests")


def print_added(reference: pl.DataFrame) -> None:
    """Labels added over dimensions, against the dimension in which they are most frequent."""
    keys = ["generator", "role", "label"]
    alone = reference.filter(estimand="prevalence", condition="all").filter(pl.col("point") > 0)
    best = alone.group_by(keys).agg(pl.col("point").max(), dimensions=pl.len())
    added = reference.filter(estimand="prevalence_added", condition="all")
    both = added.select(*keys, sum="point").join(best, on=keys).filter(pl.col("dimensions") > 1)
    ratio = (both["point"] / both["sum"]).to_frame("r")["r"]
    print(f"labels in several dimensions of a role: {both.height}; prevalence is divided by "
          f"{ratio.median():.1f} (median), {ratio.max():.1f} (most)")  # fmt: skip


def print_intervals(paper: pl.DataFrame, reference: pl.DataFrame) -> None:
    """Width of intervals of contrasts of cohorts and the overall value."""
    keys = ["generator", "cohort", "contrast"]
    widths = [
        pooled(found).filter(pl.col("dimension").is_null()).drop_nulls("contrast")
        .select(*keys, width=pl.col("high") - pl.col("low"))
        for found in (paper, reference)
    ]  # fmt: skip
    ratio = (
        widths[0].join(widths[1], on=keys).select(r=pl.col("width") / pl.col("width_right"))["r"]
    )
    print(f"width of intervals, paper over reference: median {ratio.median():.2f}")


if __name__ == "__main__":
    main()
