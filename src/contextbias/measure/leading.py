"""Which label leads: the most frequent one, pooled over roles and of each role."""

from __future__ import annotations

import numpy as np
import polars as pl

from contextbias.measure.arrays import DimensionCounts, Integers, ReaderCounts
from contextbias.measure.intensity import RAW
from contextbias.measure.rows import Run, Settings, estimate_frame
from contextbias.tables import CONDITIONS


def leading_labels(counts: ReaderCounts, run: Run, _: Settings) -> pl.DataFrame:
    """``leading_label``: the label with the most mentions, and its share of them.

    The share is the largest pi(y) of the distribution that Bias Intensity is made from: mentions of
    the label over all mentions of the dimension. Condition ``all`` adds the conditions' mentions
    up. Of several labels with as many, the first by name leads, and the note is ``tied``.

    Args:
        counts: The reader's counts.
        run: Keys of the rows.

    Returns:
        Rows of tables.EstimateRow, ``n`` the mentions: of generators and dimensions by condition,
        with role null for all roles together; none where there is no mention.
    """
    parts = [_leading(of, counts.roles) for of in counts.dimensions if of.labels]
    if not parts:
        return estimate_frame([])
    rows = pl.concat(parts).with_columns(estimand=pl.lit("leading_label"))
    return run.frame(rows, support=RAW, method="count")


def _leading(of: DimensionCounts, roles: tuple[str, ...]) -> pl.DataFrame:
    x = np.concatenate([of.x, of.x.sum(axis=0, keepdims=True)])
    x = np.concatenate([x, x.sum(axis=1, keepdims=True)], axis=1)
    total, most = x.sum(axis=2), x.max(axis=2)
    role, place = np.nonzero(total)
    columns = {
        "role": np.array([*roles, None], dtype=object)[role],
        "condition": np.array([*CONDITIONS, "all"], dtype=object)[place],
        "label": np.array(of.labels, dtype=object)[x[role, place].argmax(axis=1)],
        "point": most[role, place] / total[role, place],
        "n": total[role, place],
        "n_missing": _missing(of.missing)[role, place],
        "note": _ties(x[role, place], most[role, place]),
        "generator": of.generator,
        "cohort": of.cohort,
        "dimension": of.dimension,
    }
    words = ("role", "condition", "label", "note", "generator", "cohort", "dimension")
    return pl.DataFrame(columns, schema_overrides=dict.fromkeys(words, pl.String))


def _missing(table: Integers) -> Integers:
    """Images not read: roles, then all of them; conditions, then all of them."""
    by_role = np.concatenate([table, table.sum(axis=0, keepdims=True)])
    return np.concatenate([by_role, by_role.sum(axis=1, keepdims=True)], axis=1)


def _ties(x: Integers, most: Integers) -> list[str | None]:
    tied = (x == most[:, None]).sum(axis=1) > 1
    return ["tied" if several else None for several in tied]
