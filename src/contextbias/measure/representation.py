"""Over- and under-representation against reference shares, and amplification.

For a role r, condition c and label y with reference share s(r, y), and p(r, c, y) the prevalence
among the images that were read:

- ``representation_pp`` = 100 (p - s). Above 0: the pictures show the label more often than the
  reference has it (over-represented); below 0: less often.
- ``representation_ratio`` = p / s; not defined for s = 0.
- ``amplification_pp`` = 100 sign(s - 1/G) (p - s), G the number of labels that the role has
  shares for (2 for a label alone, or of a list). Above 0: the label lies further from an even share
  than in the reference, on the same side; below 0: nearer, or on the other side. The direction is
  that of Zhao et al. (2017), who count the labels with a share above 1/G; as in Wang and
  Russakovsky (2021), labels below it count too, with their sign. (The change of abs(p - 1/2) would
  call a reversal from 60% to 10% an amplification; this is -50.) At s = 1/G there is no direction
  and no value.

Shares are taken as known: intervals are those of p (Wilson, images as independent). Means over
roles have the interval of the role bootstrap, as Bias Intensity has, cut to -100 and 100 points.
The roles' own shares would cut it further, at -100 mean s and 100 (1 - mean s); but an interval is
about roles like these, whose shares need not have the mean of these. BI says how concentrated a
distribution is; these say in which direction it departs from the world that the user names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from contextbias.measure.arrays import DimensionCounts, ReaderCounts
from contextbias.measure.intensity import CONTRASTS, SLOTS, Floats
from contextbias.measure.keys import Integers
from contextbias.measure.levels import BOOTSTRAP, MEAN
from contextbias.measure.rows import Run, Settings, estimate_frame
from contextbias.schema import DIMENSIONS
from contextbias.stats.proportion import wilson
from contextbias.stats.resample import (
    expand,
    expansion,
    percentile_interval,
    role_weights,
    weighted_mean,
)
from contextbias.tables import CONDITIONS

DIFFERENCE, RATIO, AMPLIFICATION = (
    "representation_pp", "representation_ratio", "amplification_pp",
)  # fmt: skip
"""The estimands."""

_POOLED = len(CONDITIONS)
_TINY = 1e-9
_LARGEST = 100.0
"""Points: a difference of two shares, of whatever roles, is no larger."""


@dataclass(frozen=True, slots=True, eq=False)
class _Compared:
    """One generator and dimension on the labels that have shares; nan where a role has none."""

    generator: str
    dimension: str
    labels: tuple[str, ...]
    share: Floats
    """Shape (roles, labels)."""
    direction: Floats
    """-1, 0 or 1, shape (roles, labels)."""
    x: Integers
    """Images that show the label, shape (roles, conditions and all, labels)."""
    n: Integers
    """Images read, shape (roles, conditions and all)."""
    missing: Integers
    """Images not read, shape (roles, conditions and all)."""

    @property
    def cohort(self) -> str:
        return DIMENSIONS[self.dimension].cohort


def representation_estimates(counts: ReaderCounts, run: Run, settings: Settings) -> pl.DataFrame:
    """Rows of the three estimands of one reader; none without reference shares.

    Per generator, role, condition (and ``all``, pooled), dimension and label; then means over the
    roles that have a value (``role`` null), with the three contrasts, and means over generators.
    The ratio has no mean: one role with a small share would be all of it.

    Args:
        counts: The reader's counts.
        run: Keys of the rows.
        settings: Shares; what the reader can tell apart (a label that it cannot is left out, rather
            than taken as never shown); the level; replicates and seed of the bootstrap.
    """
    shares, readable = settings.shares, settings.readable or {}
    if shares is None:
        return estimate_frame([])
    found = [
        compared
        for of in counts.dimensions
        if (compared := _compared(counts, of, shares, readable.get(of.dimension)))
    ]
    parts = [_role_rows(one, counts.roles, run, settings.alpha) for one in found]
    means = _mean_rows(found, len(counts.roles), run, settings)
    return pl.concat([estimate_frame([]), *parts, estimate_frame(means)])


def _compared(
    counts: ReaderCounts,
    of: DimensionCounts,
    shares: pl.DataFrame,
    told: tuple[str, ...] | None,
) -> _Compared | None:
    rows = shares.filter(
        pl.col("dimension") == of.dimension, pl.col("role").is_in(list(counts.roles))
    )
    if told is not None:
        rows = rows.filter(pl.col("label").is_in(list(told)))
    if rows.is_empty():
        return None
    labels = tuple(sorted(rows["label"].unique()))
    place = [counts.roles.index(role) for role in rows["role"]]
    column = [labels.index(label) for label in rows["label"]]
    share, even = (np.full((len(counts.roles), len(labels)), np.nan) for _ in range(2))
    share[place, column], even[place, column] = rows["share"], rows["even"]
    gap = share - even
    return _Compared(
        of.generator,
        of.dimension,
        labels,
        share,
        np.where(np.abs(gap) < _TINY, 0.0, np.sign(gap)),
        _with_pooled(_of_labels(of, labels)),
        _with_pooled(of.n),
        _with_pooled(of.missing),
    )


def _of_labels(of: DimensionCounts, labels: tuple[str, ...]) -> Integers:
    """Counts of some labels; 0 for one that is not in Y."""
    x = np.zeros((*of.n.shape, len(labels)), dtype=np.int64)
    for i, label in enumerate(labels):
        if label in of.labels:
            x[:, :, i] = of.x[:, :, of.labels.index(label)]
    return x


def _with_pooled(table: Integers) -> Integers:
    return np.concatenate([table, table.sum(axis=1, keepdims=True)], axis=1)


# ---- single roles


def _role_rows(one: _Compared, roles: tuple[str, ...], run: Run, alpha: float) -> pl.DataFrame:
    known = np.isfinite(one.share)[:, None, :] & (one.n > 0)[:, :, None]
    role, condition, label = np.nonzero(known)
    n, share = one.n[role, condition], one.share[role, label]
    found = wilson(one.x[role, condition, label], n, confidence=1 - alpha)
    ends = np.stack([found.point, found.low, found.high])
    gap = 100 * (ends - share)
    direction = one.direction[role, label]
    turned = np.where(direction < 0, -gap[[0, 2, 1]], gap)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = ends / share
    keys = pl.DataFrame(
        {
            "role": pl.Series(roles, dtype=pl.String).gather(role),
            "condition": pl.Series((*CONDITIONS, "all")).gather(condition),
            "label": pl.Series(one.labels).gather(label),
            "n": n,
            "n_missing": one.missing[role, condition],
        }
    )
    parts = [
        keys.with_columns(
            pl.lit(name).alias("estimand"),
            *(pl.Series(end, values[i]) for i, end in enumerate(("point", "low", "high"))),
        ).filter(pl.Series(kept))
        for name, values, kept in (
            (DIFFERENCE, gap, np.full(len(role), True)),
            (RATIO, ratio, share > 0),
            (AMPLIFICATION, turned, direction != 0),
        )
    ]
    return run.frame(
        pl.concat(parts), generator=one.generator, cohort=one.cohort, dimension=one.dimension,
        method="wilson",
    )  # fmt: skip


# ---- means over roles


@dataclass(frozen=True, slots=True, eq=False)
class _Mean:
    """The mean over roles of one estimand, generator and dimension."""

    values: Floats
    """Shape (1 + replicates, slots, labels): the point first, replicates expanded."""
    roles: Integers
    """Roles that it rests on, shape (slots, labels)."""


def _mean_rows(
    found: list[_Compared], roles: int, run: Run, settings: Settings
) -> Iterator[dict[str, Any]]:
    drawn = (
        role_weights(roles, settings.bootstrap, np.random.default_rng(settings.seed))
        if roles
        else np.zeros((0, 0))
    )
    weights = np.concatenate([np.ones((1, roles)), drawn])
    generators: dict[tuple[str, str, str], list[_Mean]] = defaultdict(list)
    for one in found:
        for estimand in (DIFFERENCE, AMPLIFICATION):
            mean = _over_roles(_slot_values(one, estimand), weights, settings.alpha)
            keys = {"cohort": one.cohort, "dimension": one.dimension}
            yield from _rows_of(
                mean, estimand, one.labels, run, settings.alpha, generator=one.generator, **keys
            )
            for i, label in enumerate(one.labels):
                part = _Mean(mean.values[:, :, [i]], mean.roles[:, [i]])
                generators[estimand, one.dimension, label].append(part)
    for (estimand, dimension, label), members in generators.items():
        yield from _rows_of(
            _over_generators(members), estimand, (label,), run, settings.alpha, generator=MEAN,
            cohort=DIMENSIONS[dimension].cohort, dimension=dimension,
        )  # fmt: skip


def _slot_values(one: _Compared, estimand: str) -> Floats:
    """Each role's value by slot, shape (roles, slots, labels); nan where it has none."""
    n = one.n[:, :, None]
    rate = np.divide(one.x, n, out=np.full(one.x.shape, np.nan), where=n > 0)
    values = 100 * (rate - one.share[:, None, :])
    if estimand == AMPLIFICATION:
        turned = np.where(one.direction == 0, np.nan, one.direction)
        values = values * turned[:, None, :]
    contrasts = [
        values[:, [CONDITIONS.index(a)]] - values[:, [CONDITIONS.index(b)]] for a, b in CONTRASTS
    ]
    return np.concatenate([values, *contrasts], axis=1)


def _over_roles(values: Floats, weights: Floats, alpha: float) -> _Mean:
    rests = np.isfinite(values).sum(axis=0)
    mean = weighted_mean(weights, values)
    wide = expand(mean[1:], expansion(rests, alpha))
    return _Mean(np.concatenate([mean[:1], wide]), rests)


def _over_generators(members: list[_Mean]) -> _Mean:
    """Mean of the generators that have a value; it rests on the fewest roles of any of them."""
    stack = np.stack([member.values for member in members])
    defined = np.isfinite(stack[:, :1])
    count = defined.sum(axis=0)
    total = np.where(defined, stack, 0.0).sum(axis=0)
    values = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    roles = np.stack([member.roles for member in members])
    fewest = np.where(defined[:, 0], roles, np.iinfo(np.int64).max).min(axis=0)
    return _Mean(values, np.where(defined[:, 0].any(axis=0), fewest, 0))


def _rows_of(
    mean: _Mean, estimand: str, labels: tuple[str, ...], run: Run, alpha: float,
    **keys: str,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    interval = percentile_interval(mean.values[0], mean.values[1:], alpha, centred=True)
    low, high = (end.clip(-_LARGEST, _LARGEST) for end in (interval.low, interval.high))
    for slot, i in zip(*np.nonzero(np.isfinite(interval.point)), strict=True):
        condition, contrast = SLOTS[slot]
        rests = mean.roles[slot, i] >= 2 and np.isfinite(low[slot, i])
        yield run.row(
            estimand, condition=condition, contrast=contrast, label=labels[i],
            method=BOOTSTRAP if rests else None, point=interval.point[slot, i],
            low=low[slot, i] if rests else None, high=high[slot, i] if rests else None,
            n=mean.roles[slot, i], **keys,
        )  # fmt: skip
