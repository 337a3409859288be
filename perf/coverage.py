"""How often the intervals hold what they are about: many small studies without pictures.

Roles are drawn from a population (each role's shares from a Dirichlet distribution), prompts from
their role where a setting says so, images from the prompt's shares, and the counts go through the
same functions as a study's. A noiseless reader.

    python perf/coverage.py [STUDIES]

prints, for each setting, estimand, support and condition or contrast:

- ``expected``: how often the interval holds the expected value of the statistic in a study of this
  size (these roles and images). This is what the intervals are for.
- ``planted``: how often it holds what the report of a simulated study sets beside it: the value for
  the study's own roles, planted shares for counts (``bi_role``: at the matched support). Above 95%,
  since the interval also allows for other roles.
- ``limit``: how often it holds the value with roles and images without end. Plug-in entropy is
  biased at small n, more so with many labels and even shares, and no interval around it makes that
  good. Equal support gives both conditions the same n, not the same bias.
- ``narrow``: ``expected``, for centred percentiles that are not expanded for the number of roles.
- ``plain``: ``expected``, for percentiles that are neither centred on the point nor expanded.
- ``own point``: how often the plain percentiles hold the study's own point; the centred ones always
  do.
- ``bca``, ``bca lim``: ``expected`` and ``limit`` for ``bootstrap-bca``; studies without such an
  interval do not count.
- ``two-lev``: ``expected`` for ``bootstrap-two-level``; ``wider``: how many times as wide.
- ``released``: the released code's bootstrap, which draws each condition on its own and divides by
  the labels of the resample: how often it holds the expected value of its own statistic;
  ``wider`` beside it: how many times as wide as ours.

Ends are not cut to the possible range here, which changes nothing about what they hold.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextbias.measure.arrays import ByPrompt, DimensionCounts, Prompts, ReaderCounts
from contextbias.measure.intensity import SLOTS, by_slot, intensities, pooled_intensity
from contextbias.measure.rows import estimate_frame
from contextbias.measure.two_level import draw_prompts, with_drawn_prompts
from contextbias.stats.entropy import bias_intensity, plug_in_entropy
from contextbias.stats.proportion import wilson
from contextbias.stats.resample import (
    Interval,
    bca_interval,
    expand,
    expansion,
    jackknife_weights,
    percentile_interval,
    role_weights,
    unpaired_weights,
)
from contextbias.stats.subsample import binomial_entropy, pooled_subsample_entropy
from contextbias.tables import CONDITIONS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ALPHA = 0.05
WANTED = tuple(SLOTS.index(slot) for slot in (("CF", None), ("CA-U", None), (None, "CA-U - CF")))
"""Slots that are printed."""
ESTIMANDS = (("bi_pooled", "raw"), ("bi_pooled", "equal"), ("bi_role", "equal"))
"""Estimands and supports that are printed."""

_ALL = np.ones(len(CONDITIONS), dtype=bool)
_POPULATION = 20_000
_PROMPTS = np.repeat(np.arange(3), (3, 7, 8))
"""Condition of each of a role's 18 prompts."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One kind of study."""

    roles: int
    labels: int
    sensitivity: float
    """s: CA-U is (1 - s) of the role's shares and s of everyday ones."""
    images: tuple[int, int, int] = (15, 35, 40)
    """Images of a role in CF, CA-R and CA-U: as many of each of its 3, 7 and 8 prompts."""
    spread: float = 2.0
    """Dirichlet parameter, all labels together: small for roles far apart."""
    likeness: float = 0.0
    """Intra-class correlation of the images of a prompt."""

    def shares(self, roles: int, rng: np.random.Generator) -> Floats:
        """Draw roles: shape (roles, conditions, labels)."""
        fixed = np.random.default_rng(self.labels)
        common, everyday = fixed.dirichlet(np.full(self.labels, 2.0), size=2)
        role = rng.dirichlet(self.spread * self.labels * common, size=roles)
        unrelated = (1 - self.sensitivity) * role + self.sensitivity * everyday
        return np.stack([role, role, unrelated], axis=1)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Shares of studies, for one estimand and slot of a setting; nan where it does not apply."""

    setting: Setting
    estimand: str
    support: str
    slot: str
    expected: float
    planted: float
    limit: float
    narrow: float
    plain: float
    own_point: float
    bca: float
    bca_limit: float
    two_level: float
    two_level_width: float
    released: float
    released_width: float


SETTINGS = (
    Setting(2, 2, 0.5),
    Setting(2, 3, 0.0),
    Setting(2, 6, 0.9, spread=0.5),
    Setting(2, 20, 0.9, spread=0.1),
    Setting(4, 2, 0.5),
    Setting(4, 3, 0.0),
    Setting(4, 6, 0.9, spread=0.5),
    Setting(4, 20, 0.9, spread=0.1),
    Setting(12, 2, 0.5),
    Setting(12, 3, 0.0),
    Setting(12, 6, 0.9, spread=0.5),
    Setting(12, 6, 0.9, spread=0.5, likeness=0.2),
    Setting(12, 20, 0.9, spread=0.1),
    Setting(92, 6, 0.9, (30, 70, 80), spread=0.5),
    Setting(92, 6, 0.9, (30, 70, 80), spread=0.5, likeness=0.2),
    Setting(92, 20, 0.9, (30, 70, 80), spread=0.1),
)


@dataclass(frozen=True, slots=True)
class Study:
    """Values of one study and estimand; rows are the point and replicates."""

    values: Floats
    """Shape (1 + replicates, slots)."""
    left_out: Floats
    """Without each role in turn, shape (roles, slots)."""
    two_level: Floats
    """Shape (replicates, slots)."""
    released: Floats
    """Shape (1 + replicates, slots); all nan but for ``bi_pooled`` at raw support."""
    planted: Floats
    """Shape (slots,)."""


def counts_of(x: Integers, images: tuple[int, ...]) -> ReaderCounts:
    """Counts of one dimension as measure has them; x has shape (roles, prompts, labels)."""
    roles, prompts, labels = x.shape
    table = np.stack([x[:, c == _PROMPTS].sum(axis=1) for c in range(3)], axis=1)
    n = np.broadcast_to(np.array(images), table.shape[:2]).astype(np.int64)
    flat = x.reshape(-1, labels)
    where = np.nonzero(flat)
    names = tuple(f"prompt {i:04}" for i in range(len(flat)))
    axis = Prompts(
        names, names, np.arange(roles).repeat(prompts), np.tile(_PROMPTS, roles),
        np.arange(len(flat)),
    )  # fmt: skip
    per_prompt = (np.array(images) // np.bincount(_PROMPTS))[axis.condition]
    one = DimensionCounts(
        "g", "people", "expression", tuple(f"label {i:02}" for i in range(labels)), table, n,
        np.zeros_like(n), ByPrompt(axis, per_prompt, 0 * per_prompt, (*where, flat[where])),
    )  # fmt: skip
    names = tuple(f"role {i:02}" for i in range(roles))
    return ReaderCounts(names, ("g",), {"g": n}, (one,), estimate_frame([]))


def draw(setting: Setting, shares: Floats, rng: np.random.Generator) -> Integers:
    """Images of one study, shape (roles, prompts, labels)."""
    each = shares[:, _PROMPTS]
    if setting.likeness:
        # Shares of a prompt: Dirichlet around the role's, by its gamma variables.
        gamma = rng.gamma((1 / setting.likeness - 1) * each)
        each = gamma / gamma.sum(axis=2, keepdims=True)
    images = (np.array(setting.images) // np.bincount(_PROMPTS))[_PROMPTS]
    return rng.multinomial(images, each)


def study(
    setting: Setting, replicates: int, rng: np.random.Generator
) -> dict[tuple[str, str], Study]:
    """One study: (estimand, support) -> values."""
    shares = setting.shares(setting.roles, rng)
    counts = counts_of(draw(setting, shares, rng), setting.images)
    drawn = role_weights(setting.roles, replicates, rng)
    ones = np.ones((1, setting.roles))
    weights = np.concatenate([ones, drawn, jackknife_weights(setting.roles)])
    draws = draw_prompts(counts, drawn, rng)
    two_level = with_drawn_prompts(intensities(counts, ones), counts, draws)
    nested = {(each.estimand, each.support): each.values[1:] for each in two_level}
    released = _released(counts.dimensions[0].x, replicates, rng)
    planted = _planted(setting, shares)
    return {
        key: Study(
            each.values[: 1 + replicates], each.values[1 + replicates :], nested[key],
            released if key == ESTIMANDS[0] else np.full_like(released, np.nan), planted[key],
        )
        for each in intensities(counts, weights)
        if (key := (each.estimand, each.support)) in ESTIMANDS
    }  # fmt: skip


def _released(x: Integers, replicates: int, rng: np.random.Generator) -> Floats:
    drawn = unpaired_weights(len(CONDITIONS), len(x), replicates, rng)
    weights = np.concatenate([np.ones((len(drawn), 1, len(x))), drawn], axis=1)
    bias = [_of_seen(w @ x[:, c]) for c, w in enumerate(weights)]
    values: Floats = by_slot(np.stack(bias, axis=1), _ALL)
    return values


def _of_seen(counts: Floats) -> Floats:
    """BI over the labels that have a count, 1 - H / log K, as the released code's bootstrap has it.

    K changes with the counts, so that two resamples divide by different numbers. K = 1 gives 0, as
    there; nan where there is nothing to count.
    """
    seen = (counts > 0).sum(axis=-1)
    entropy = plug_in_entropy(counts)
    bias = 1.0 - entropy / np.log(np.maximum(seen, 2))
    return np.asarray(np.where(seen == 1, np.where(np.isnan(entropy), np.nan, 0.0), bias))


def _planted(setting: Setting, shares: Floats) -> dict[tuple[str, str], Floats]:
    raw = pooled_intensity(shares * np.array(setting.images)[:, None], np.ones((1, setting.roles)))
    many = np.full(shares.shape[:2], 10**6)
    counts = np.floor(shares * 10**6)
    entropy = pooled_subsample_entropy(counts, many, min(setting.images))
    equal = bias_intensity(entropy[None], setting.labels)
    return {
        ("bi_pooled", "raw"): by_slot(raw, _ALL)[0],
        ("bi_pooled", "equal"): by_slot(equal, _ALL)[0],
        ("bi_role", "equal"): _at_support(setting, shares),
    }


def _at_support(setting: Setting, shares: Floats) -> Floats:
    by_role = bias_intensity(binomial_entropy(shares, min(setting.images)), setting.labels)
    values: Floats = by_slot(by_role.mean(axis=0)[None], _ALL)[0]
    return values


def limits(setting: Setting, rng: np.random.Generator) -> dict[tuple[str, str], Floats]:
    """Values with roles, prompts and images without end, shape (slots,)."""
    shares = setting.shares(_POPULATION, rng)
    pooled = by_slot(pooled_intensity(shares, np.ones((1, _POPULATION))), _ALL)[0]
    by_role = bias_intensity(plug_in_entropy(shares), setting.labels).mean(axis=0)[None]
    return {
        ("bi_pooled", "raw"): pooled,
        ("bi_pooled", "equal"): pooled,
        ("bi_role", "equal"): by_slot(by_role, _ALL)[0],
    }


def expected(
    setting: Setting, studies: int, rng: np.random.Generator
) -> dict[tuple[str, str], tuple[Floats, Floats]]:
    """Expected values in a study of this size, ours and the released code's, by simulation.

    Exact for ``bi_role`` where images are independent.
    """
    ones = np.ones((1, setting.roles))
    points: dict[tuple[str, str], list[Floats]] = {key: [] for key in ESTIMANDS}
    released = []
    for _ in range(studies):
        shares = setting.shares(setting.roles, rng)
        counts = counts_of(draw(setting, shares, rng), setting.images)
        for each in intensities(counts, ones):
            if (each.estimand, each.support) in points:
                points[each.estimand, each.support].append(each.values[0])
        released.append(_released(counts.dimensions[0].x, 0, rng)[0])
    theirs = np.mean(released, axis=0)
    found = {key: (np.mean(values, axis=0), theirs) for key, values in points.items()}
    if not setting.likeness:
        by_role = _at_support(setting, setting.shares(_POPULATION, rng))
        found["bi_role", "equal"] = (by_role, by_role)
    return found


def coverage(
    setting: Setting, *, studies: int, replicates: int, rng: np.random.Generator
) -> list[Coverage]:
    """Simulate and count."""
    targets, far = expected(setting, 4 * studies, rng), limits(setting, rng)
    runs = [study(setting, replicates, rng) for _ in range(studies)]
    rows = []
    for key, (target, released) in targets.items():
        shares = _shares(setting, [run[key] for run in runs], target, released, far[key])
        for slot in WANTED:
            name = SLOTS[slot][0] or SLOTS[slot][1] or ""
            rows.append(Coverage(setting, *key, name, *(float(s[slot]) for s in shares)))
    return rows


def _shares(
    setting: Setting, runs: list[Study], target: Floats, of_released: Floats, far: Floats
) -> list[Floats]:
    """The columns of `Coverage`, each of shape (slots,)."""
    values, left_out, two_level, released = (
        np.stack([getattr(run, name) for run in runs], axis=1)
        for name in ("values", "left_out", "two_level", "released")
    )
    factor = np.full(values[0].shape, expansion(setting.roles, ALPHA))
    plain = percentile_interval(values[0], values[1:], ALPHA)
    centred = percentile_interval(values[0], values[1:], ALPHA, centred=True)
    expanded, nested = (
        percentile_interval(values[0], expand(rows, factor), ALPHA, centred=True)
        for rows in (values[1:], two_level)
    )
    bca = bca_interval(values[0], values[1:], left_out, ALPHA)
    theirs = percentile_interval(released[0], released[1:], ALPHA)
    return [
        _held(expanded, target),
        _held(expanded, np.stack([run.planted for run in runs])),
        _held(expanded, far),
        _held(centred, target),
        _held(plain, target),
        _held(plain, values[0]),
        _held(bca, target),
        _held(bca, far),
        _held(nested, target),
        _width(nested) / _width(expanded),
        _held(theirs, of_released),
        _width(theirs) / _width(expanded),
    ]


def _held(interval: Interval, target: Floats) -> Floats:
    """Of the studies with an interval; nan where none has one."""
    edge = 1e-12
    held = (interval.low <= target + edge) & (target - edge <= interval.high)
    there = np.isfinite(interval.low).sum(axis=0)
    return np.divide(held.sum(axis=0), there, out=np.full(len(there), np.nan), where=there > 0)


def _width(interval: Interval) -> Floats:
    """Median over studies."""
    return np.asarray(np.median(interval.high - interval.low, axis=0))


def prevalence_coverage(
    setting: Setting, *, studies: int, rng: np.random.Generator
) -> dict[str, float]:
    """How often Wilson intervals hold the planted share: per condition, over roles and labels."""
    held = []
    for _ in range(studies):
        shares = setting.shares(setting.roles, rng)
        x = counts_of(draw(setting, shares, rng), setting.images).dimensions[0].x
        n = np.broadcast_to(np.array(setting.images)[:, None], x.shape)
        interval = wilson(x, n)
        held.append(((interval.low <= shares) & (shares <= interval.high)).mean(axis=(0, 2)))
    return dict(zip(CONDITIONS, np.mean(held, axis=0).tolist(), strict=True))


_HEADINGS = {
    "expected": 8, "planted": 7, "limit": 6, "narrow": 7, "plain": 6, "own_point": 6, "bca": 5,
    "bca_limit": 8, "two_level": 8, "two_level_width": 6, "released": 8, "released_width": 6,
}  # fmt: skip
_WORDS = {
    "own_point": "own pt", "bca_limit": "bca lim", "two_level": "two-lev",
    "two_level_width": "wider", "released_width": "wider",
}  # fmt: skip


def main(studies: int) -> None:
    """Print both tables."""
    rng = np.random.default_rng(2026)
    print(f"{studies} studies a setting, 400 replicates, 95% intervals")
    print(f"{'roles':>5} {'labels':>6} {'s':>4} {'like':>4}  {'estimand':16} {'slot':10}", end="")
    print(*(f"{_WORDS.get(name, name):>{wide}}" for name, wide in _HEADINGS.items()))
    for setting in SETTINGS:
        start = f"{setting.roles:5} {setting.labels:6} {setting.sensitivity:4} {setting.likeness:4}"
        for r in coverage(setting, studies=studies, replicates=400, rng=rng):
            print(f"{start}  {r.estimand + ' ' + r.support:16} {r.slot:10}", end="")
            print(
                *(f"{getattr(r, name):{wide}.2f}" for name, wide in _HEADINGS.items()), flush=True
            )
    print("\nprevalence, Wilson, by condition")
    for setting in SETTINGS:
        if not setting.likeness:
            held = prevalence_coverage(setting, studies=studies, rng=rng)
            numbers = "  ".join(f"{name} {share:.3f}" for name, share in held.items())
            print(f"{setting.roles:5} {setting.labels:6} {setting.sensitivity:4}  {numbers}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
