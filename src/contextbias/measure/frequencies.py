"""Counted answers to sums by prompt: what can be known of images of which only counts are left.

A file of counts says how often each answer was given about the images of a prompt. It does not say
about which, so three things that facts.py knows have to be taken from the sums:

- *x*, images that show a label: the sum over its surface forms, at most the prompt's images. Two
  forms in one image count as two, up to that bound.
- *n* of a question with one answer: the sum of its answers other than ``unknown``, at most the
  prompt's images; with several persons an image can have several.
- *n* of a question with a list of answers: the prompt's images less the answers ``unknown``. An
  image without any answer counts as one with nothing of the kind, also where nobody is visible.

The rest is ``unknown``. A question without any answer for a whole generator was not asked of it.

Under the released code's rules (`released`): x is the sum over the surface forms, cut at 10, and
n is 10 for every prompt with an answer, whatever it is.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from contextbias.measure.facts import PROMPT_KEYS, READ, Sums
from contextbias.measure.keys import Integers
from contextbias.schema import DIMENSIONS, UNKNOWN
from contextbias.schema.released import RELEASED_IMAGES
from contextbias.tables import CONDITIONS

_NAMES = tuple(DIMENSIONS)
_ONE = [name for name, dimension in DIMENSIONS.items() if dimension.kind == "one"]
_LOST = 1
_ROW = ("prompt", "dim")


def sum_label_counts(frame: pl.DataFrame, *, released: bool) -> dict[str, Sums]:
    """Sum the counted answers of every reader by prompt; see the module's docstring.

    Args:
        frame: Rows of tables.LabelCountRow.
        released: Whether to count as the paper's released code does.

    Returns:
        Reader -> its sums, by name.
    """
    return {
        str(reader): _sums(rows, released)
        for (reader,), rows in sorted(frame.partition_by("reader", as_dict=True).items())
    }


def _sums(rows: pl.DataFrame, released: bool) -> Sums:
    prompts = (
        rows.select(*PROMPT_KEYS, "images")
        .unique()
        .sort(*_order(), "images")
        .with_row_index("prompt")
        .with_columns(pl.col("prompt").cast(pl.Int64))
    )
    numbered = rows.join(prompts.drop("images"), on=PROMPT_KEYS).with_columns(
        dim=pl.col("dimension").cast(pl.Enum(_NAMES)).to_physical().cast(pl.Int64),
        label=pl.col("released_label" if released else "label"),
        most=pl.lit(RELEASED_IMAGES, pl.Int64) if released else pl.col("images"),
    )
    shown = (
        numbered.drop_nulls("label")
        .group_by(*_ROW, "label")
        .agg(x=pl.min_horizontal(pl.col("count").sum(), pl.col("most").first()))
        .filter(pl.col("x") > 0)
    )
    answers = _answers(numbered, shown, released)
    labels = tuple(sorted(shown["label"].unique()))
    return Sums(
        prompts.select(PROMPT_KEYS),
        prompts["images"].to_numpy(),
        labels,
        _table(shown, pl.col("label").cast(pl.Enum(labels)).to_physical(), "x"),
        _table(answers, pl.col("reason"), "count"),
        (UNKNOWN,),
    )


def _answers(numbered: pl.DataFrame, shown: pl.DataFrame, released: bool) -> pl.DataFrame:
    """Columns prompt, dim, reason, count: images read, and the others."""
    asked = numbered.select("generator", "dim").unique()
    per_prompt = numbered.select("prompt", "generator", "images").unique()
    totals = numbered.group_by(_ROW).agg(
        known=pl.col("count").filter(pl.col("label").is_not_null()).sum(),
        lost=pl.col("count").filter(pl.col("missing_reason").is_in([UNKNOWN])).sum(),
    )
    top = shown.group_by(_ROW).agg(top=pl.col("x").max())
    one = pl.col("dim").is_in([_NAMES.index(name) for name in _ONE])
    listed = (pl.col("images") - pl.col("lost")).clip(pl.col("top"), pl.col("images"))
    read = pl.when(one).then(pl.min_horizontal("known", "images")).otherwise(listed)
    if released:
        read = pl.when(pl.col("top") > 0).then(RELEASED_IMAGES).otherwise(0)
    cells = (
        per_prompt.join(asked, on="generator")
        .join(totals, on=_ROW, how="left")
        .join(top, on=_ROW, how="left")
        .with_columns(pl.col("known", "lost", "top").fill_null(0))
        .with_columns(read=read)
    )
    return pl.concat(
        cells.select(*_ROW, reason=pl.lit(reason, pl.Int64), count=count.cast(pl.Int64))
        for reason, count in (
            (READ, pl.col("read")),
            (_LOST, pl.max_horizontal(pl.col("images") - pl.col("read"), 0)),
        )
    ).filter(pl.col("count") > 0)


def _order() -> list[pl.Expr]:
    conditions = pl.Enum(CONDITIONS)
    return [
        pl.col(name).cast(conditions) if name == "condition" else pl.col(name)
        for name in PROMPT_KEYS
    ]


def _table(rows: pl.DataFrame, last: pl.Expr, count: str) -> Integers:
    """Columns prompt, dim, `last` and `count` as numbers, sorted by the first three."""
    numbers = rows.select(*_ROW, last=last.cast(pl.Int64), count=pl.col(count).cast(pl.Int64))
    return np.ascontiguousarray(numbers.sort(*_ROW, "last").to_numpy())
