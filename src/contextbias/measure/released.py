"""Sums of a reader's images, counted as the paper's released code counts its files.

- Labels are spelt by its rules, see schema/released.py.
- x is summed over the surface forms of a prompt and cut at the prompt's images.
- n is the images of every prompt with any label in the dimension, whatever the others show.

frequencies.py does the same for answers that came counted.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from contextbias.measure.facts import READ, Sums
from contextbias.measure.keys import Integers
from contextbias.schema import UNKNOWN
from contextbias.schema.released import released_label


def released_sums(sums: Sums) -> Sums:
    """The sums of a reader's images, counted as the released code counts its files.

    Two things differ from what that code would make of the same answers: our surface forms were
    merged image by image, so that two of them in one image count once, and a prompt counts with
    the images that it has, where that code writes 10.

    Args:
        sums: Sums by prompt.
    """
    x = _spelt(sums).group_by("prompt", "dim", "label").agg(pl.col("x").sum())
    labels = tuple(sorted(x["label"].unique()))
    x = x.with_columns(pl.col("label").cast(pl.Enum(labels)).to_physical().cast(pl.Int64))
    table = x.sort("prompt", "dim", "label").to_numpy().copy()
    table[:, 3] = np.minimum(table[:, 3], sums.images[table[:, 0]])
    return Sums(sums.prompts, sums.images, labels, table, _answers(sums, table), (UNKNOWN,))


def _spelt(sums: Sums) -> pl.DataFrame:
    """The rows of x with the released label in the place of ours; those it leaves out are gone."""
    rows = pl.DataFrame(sums.x, schema=["prompt", "dim", "word", "x"], orient="row").with_columns(
        sums.prompts["generator"].gather(sums.x[:, 0]).alias("generator")
    )
    pairs = rows.select("generator", "word").unique()
    spelt = [released_label(sums.labels[word], name) for name, word in pairs.iter_rows()]
    named = pairs.with_columns(pl.Series("label", spelt, dtype=pl.String)).drop_nulls("label")
    return rows.join(named, on=["generator", "word"]).select("prompt", "dim", "label", "x")


def _answers(sums: Sums, x: Integers) -> Integers:
    """All images of a prompt are read where it has a label in the dimension, and none elsewhere."""
    asked = np.unique(sums.answers[:, :2], axis=0)
    width = int(asked[:, 1].max(initial=0)) + 1
    known = np.isin(asked @ [width, 1], np.unique(x[:, :2], axis=0) @ [width, 1])
    reason = np.where(known, READ, READ + 1)
    return np.column_stack([asked, reason, sums.images[asked[:, 0]]]).astype(np.int64)
