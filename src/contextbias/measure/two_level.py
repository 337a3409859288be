"""The two-level bootstrap: roles, then prompts within each drawn role.

The role bootstrap takes a role's prompts as given. Here each drawn role also draws as many of its
prompts, with replacement, as it has in a condition, so that the interval is about other prompts as
well. Roles and prompts are drawn once for all conditions, dimensions and generators: a prompt of a
replicate is the same prompt everywhere.

- ``bi_pooled`` and ``effective_labels``: x of a replicate is the sum over prompts of draws times
  counts. At equal support a prompt's counts weigh m / n of its role and condition.
- ``bi_role`` and the corrected forms: the BI of a role is no sum over prompts. Each role is
  given VERSIONS sets of drawn prompts, BI is computed of each, and a replicate takes one version at
  random each time that it draws the role.

A role has few prompts in a condition (three in CF of ContextBench), and resamples of three vary too
little, by a factor sqrt(2/3). So these intervals still say too little about other prompts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from contextbias.measure.arrays import DimensionCounts, Integers, PromptCounts, ReaderCounts
from contextbias.measure.intensity import (
    EQUAL,
    RAW,
    Booleans,
    Floats,
    Intensity,
    by_slot,
    image_support,
    role_intensities,
)
from contextbias.stats.entropy import bias_intensity, effective_labels, plug_in_entropy
from contextbias.stats.resample import prompt_weights, weighted_mean
from contextbias.tables import CONDITIONS

VERSIONS = 20
"""Sets of prompts that each role is given."""

_CHUNK = 4_000_000
_Key = tuple[int, int, str]


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """What is drawn, on the axis of all prompts of all generators."""

    place: dict[_Key, int]
    """Role, condition and prompt id -> column of the weights."""
    prompts: Floats
    """Shape (replicates, prompts): how often each prompt was drawn."""
    versions: Floats
    """Shape (versions, prompts): draws of every role's prompts, each role once."""
    roles: Floats
    """Shape (replicates, roles * versions): how often each version of a role was drawn."""


def draw_prompts(counts: ReaderCounts, weights: Floats, rng: np.random.Generator) -> Draws:
    """Draw prompts within drawn roles.

    Args:
        counts: The reader's counts.
        weights: Weights of roles, whole, shape (replicates, roles).
        rng: Source of randomness.
    """
    keys = sorted({key for of in counts.dimensions for key in _keys(of.prompts)})
    role, condition, _ = zip(*keys, strict=True) if keys else ((), (), ())
    once = np.ones((VERSIONS, len(counts.roles)))
    whole = weights.astype(np.int64)
    versions = rng.multinomial(whole, np.full(VERSIONS, 1 / VERSIONS))
    return Draws(
        {key: number for number, key in enumerate(keys)},
        prompt_weights(weights, role, condition, rng),
        prompt_weights(once, role, condition, rng),
        versions.reshape(len(whole), len(once[0]) * VERSIONS).astype(np.float64),
    )


def with_drawn_prompts(
    found: Iterator[Intensity], counts: ReaderCounts, draws: Draws
) -> Iterator[Intensity]:
    """The same intensities, with replicates of the two-level bootstrap after the point.

    Args:
        found: From `intensities` of these counts, one row of weights or more.
        counts: The reader's counts.
        draws: From `draw_prompts`.
    """
    dimensions = {(of.generator, of.dimension): of for of in counts.dimensions}
    kept: dict[tuple[str, str], dict[tuple[str, str], Floats]] = {}
    for each in found:
        key = (each.generator, str(each.dimension))
        if key not in kept:
            kept = {key: _replicates(dimensions[key], counts, draws)}
        rows = kept[key][each.estimand, each.support]
        yield replace(each, values=np.concatenate([each.values[:1], rows]))


def _replicates(
    of: DimensionCounts, counts: ReaderCounts, draws: Draws
) -> dict[tuple[str, str], Floats]:
    """(estimand, support) -> replicates, shape (replicates, slots)."""
    present = counts.images[of.generator].sum(axis=0) > 0
    columns = np.array([draws.place[key] for key in _keys(of.prompts)], dtype=np.int64)
    found = {}
    drawn = draws.prompts[:, columns]
    m = np.where(present, image_support(of, present)[:, None], 0)
    scale = (m / np.maximum(of.n, 1))[of.prompts.role, of.prompts.condition]
    for support, weights in ((RAW, drawn), (EQUAL, drawn * scale)):
        entropy = _pooled(of.prompts, weights)
        bias = bias_intensity(entropy, len(of.labels))
        found["bi_pooled", support] = by_slot(bias, present)
        found["effective_labels", support] = by_slot(effective_labels(entropy), present)
    by_version = _by_version(of, present, draws.versions[:, columns])
    together = weighted_mean(draws.roles, np.stack(list(by_version.values()), axis=1))
    for place, key in enumerate(by_version):
        found[key] = by_slot(together[:, place], present)
    return found


def _keys(prompts: PromptCounts) -> Iterator[_Key]:
    places = zip(prompts.role.tolist(), prompts.condition.tolist(), strict=True)
    for (role, condition), prompt in zip(places, prompts.prompt, strict=True):
        yield role, condition, prompt


def _pooled(prompts: PromptCounts, weights: Floats) -> Floats:
    """Entropy pooled over roles, shape (replicates, conditions)."""
    entropy = np.full((len(weights), len(CONDITIONS)), np.nan)
    rows = max(1, _CHUNK // max(prompts.x.shape[1], 1))
    for condition in range(len(CONDITIONS)):
        mine = np.flatnonzero(prompts.condition == condition)
        x = prompts.x[mine].astype(np.float64)
        for i in range(0, len(weights), rows):
            entropy[i : i + rows, condition] = plug_in_entropy(weights[i : i + rows, mine] @ x)
    return entropy


def _by_version(
    of: DimensionCounts, present: Booleans, weights: Floats
) -> dict[tuple[str, str], Floats]:
    """BI of every version of every role: shape (roles * versions, conditions)."""
    shape = (len(weights), *of.n.shape)
    n = np.zeros(shape, dtype=np.int64)
    x = np.zeros((*shape, len(of.labels)), dtype=np.int64)
    whole = weights.astype(np.int64)
    where = of.prompts.role, of.prompts.condition
    for version, row in enumerate(whole):
        np.add.at(n[version], where, row * of.prompts.n)
        cells = of.prompts.x.tocoo()
        place = (where[0][cells.row], where[1][cells.row], cells.col)
        np.add.at(x[version], place, row[cells.row] * cells.data)
    merged = DimensionCounts(
        of.generator, of.cohort, of.dimension, of.labels,
        _merged(x), _merged(n), np.zeros((shape[0] * shape[1], shape[2]), dtype=np.int64),
    )  # fmt: skip
    return role_intensities(merged, present)


def _merged(table: Integers) -> Integers:
    """Versions and roles in one axis, roles first."""
    return np.asarray(np.moveaxis(table, 0, 1).reshape(-1, *table.shape[2:]))
