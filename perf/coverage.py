"""How often the intervals hold what they are about: many small studies without pictures.

Roles are drawn from a population (each role's shares from a Dirichlet distribution), images from
the role's shares, and the counts go through the same functions as a study's. A noiseless reader.

    python perf/coverage.py [STUDIES]

prints, for each setting, estimand and condition or contrast:

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

Ends are not cut to the possible range here, which changes nothing about what they hold.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextbias.measure.arrays import DimensionCounts, ReaderCounts
from contextbias.measure.intensity import SLOTS, by_slot, intensities, pooled_intensity
from contextbias.measure.rows import estimate_frame
from contextbias.stats.entropy import bias_intensity, plug_in_entropy
from contextbias.stats.proportion import wilson
from contextbias.stats.resample import expand, expansion, percentile_interval, role_weights
from contextbias.stats.subsample import binomial_entropy
from contextbias.tables import CONDITIONS

Floats = NDArray[np.float64]

ALPHA = 0.05
WANTED = tuple(SLOTS.index(slot) for slot in (("CF", None), ("CA-U", None), (None, "CA-U - CF")))
"""Slots that are printed."""

_ALL = np.ones(len(CONDITIONS), dtype=bool)
_POPULATION = 20_000


@dataclass(frozen=True, slots=True)
class Setting:
    """One kind of study."""

    roles: int
    labels: int
    sensitivity: float
    """s: CA-U is (1 - s) of the role's shares and s of everyday ones."""
    images: tuple[int, int, int] = (15, 35, 40)
    """Images of a role in CF, CA-R and CA-U."""
    spread: float = 2.0
    """Dirichlet parameter, all labels together: small for roles far apart."""

    def shares(self, roles: int, rng: np.random.Generator) -> Floats:
        """Draw roles: shape (roles, conditions, labels)."""
        fixed = np.random.default_rng(self.labels)
        common, everyday = fixed.dirichlet(np.full(self.labels, 2.0), size=2)
        role = rng.dirichlet(self.spread * self.labels * common, size=roles)
        unrelated = (1 - self.sensitivity) * role + self.sensitivity * everyday
        return np.stack([role, role, unrelated], axis=1)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Shares of studies, for one estimand and slot of a setting."""

    setting: Setting
    estimand: str
    slot: str
    expected: float
    planted: float
    limit: float
    narrow: float
    plain: float
    own_point: float


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
    Setting(12, 20, 0.9, spread=0.1),
    Setting(92, 6, 0.9, (30, 70, 80), spread=0.5),
    Setting(92, 20, 0.9, (30, 70, 80), spread=0.1),
)


def counts_of(x: NDArray[np.int64], images: tuple[int, ...]) -> ReaderCounts:
    """Counts of one dimension as measure has them; x has shape (roles, conditions, labels)."""
    n = np.broadcast_to(np.array(images), x.shape[:2]).astype(np.int64)
    labels = tuple(f"label {i:02}" for i in range(x.shape[2]))
    one = DimensionCounts("g", "people", "expression", labels, x, n, np.zeros_like(n))
    roles = tuple(f"role {i:02}" for i in range(len(x)))
    return ReaderCounts(roles, ("g",), {"g": n}, (one,), estimate_frame([]))


def draw(setting: Setting, shares: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Images of one study."""
    return np.stack(
        [rng.multinomial(n, shares[:, c]) for c, n in enumerate(setting.images)], axis=1
    )


def study(
    setting: Setting, replicates: int, rng: np.random.Generator
) -> dict[str, tuple[Floats, Floats]]:
    """One study: estimand -> values of shape (1 + replicates, slots), and planted ones (slots,)."""
    shares = setting.shares(setting.roles, rng)
    drawn = role_weights(setting.roles, replicates, rng)
    weights = np.concatenate([np.ones((1, setting.roles)), drawn])
    found = intensities(counts_of(draw(setting, shares, rng), setting.images), weights)
    values = {each.estimand: each.values for each in found}
    pooled = pooled_intensity(shares * np.array(setting.images)[:, None], weights[:1])
    planted = {"bi_pooled": by_slot(pooled, _ALL)[0], "bi_role": _at_support(setting, shares)}
    return {name: (values[name], planted[name]) for name in planted}


def _at_support(setting: Setting, shares: Floats) -> Floats:
    by_role = bias_intensity(binomial_entropy(shares, min(setting.images)), setting.labels)
    values: Floats = by_slot(by_role.mean(axis=0)[None], _ALL)[0]
    return values


def limits(setting: Setting, rng: np.random.Generator) -> dict[str, Floats]:
    """Values with roles and images without end, shape (slots,)."""
    shares = setting.shares(_POPULATION, rng)
    pooled = pooled_intensity(shares, np.ones((1, _POPULATION)))
    by_role = bias_intensity(plug_in_entropy(shares), setting.labels).mean(axis=0)[None]
    return {"bi_pooled": by_slot(pooled, _ALL)[0], "bi_role": by_slot(by_role, _ALL)[0]}


def expected(setting: Setting, studies: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Expected values in a study of this size: exact for bi_role, by simulation for bi_pooled."""
    points = [study(setting, 0, rng)["bi_pooled"][0][0] for _ in range(studies)]
    by_role = _at_support(setting, setting.shares(_POPULATION, rng))
    return {"bi_pooled": np.mean(points, axis=0), "bi_role": by_role}


def coverage(
    setting: Setting, *, studies: int, replicates: int, rng: np.random.Generator
) -> list[Coverage]:
    """Simulate and count."""
    targets, far = expected(setting, 4 * studies, rng), limits(setting, rng)
    runs = [study(setting, replicates, rng) for _ in range(studies)]
    rows = []
    for estimand, target in targets.items():
        values = np.stack([run[estimand][0] for run in runs], axis=1)
        planted = np.stack([run[estimand][1] for run in runs])
        plain = percentile_interval(values[0], values[1:], ALPHA)
        centred = percentile_interval(values[0], values[1:], ALPHA, centred=True)
        wide = expand(values[1:], np.full(values[0].shape, expansion(setting.roles, ALPHA)))
        expanded = percentile_interval(values[0], wide, ALPHA, centred=True)
        shares = [
            _held(expanded.low, expanded.high, target),
            _held(expanded.low, expanded.high, planted),
            _held(expanded.low, expanded.high, far[estimand]),
            _held(centred.low, centred.high, target),
            _held(plain.low, plain.high, target),
            _held(plain.low, plain.high, values[0]),
        ]
        for slot in WANTED:
            name = SLOTS[slot][0] or SLOTS[slot][1] or ""
            rows.append(Coverage(setting, estimand, name, *(float(s[slot]) for s in shares)))
    return rows


def prevalence_coverage(
    setting: Setting, *, studies: int, rng: np.random.Generator
) -> dict[str, float]:
    """How often Wilson intervals hold the planted share: per condition, over roles and labels."""
    held = []
    for _ in range(studies):
        shares = setting.shares(setting.roles, rng)
        x = draw(setting, shares, rng)
        n = np.broadcast_to(np.array(setting.images)[:, None], x.shape)
        interval = wilson(x, n)
        held.append(((interval.low <= shares) & (shares <= interval.high)).mean(axis=(0, 2)))
    return dict(zip(CONDITIONS, np.mean(held, axis=0).tolist(), strict=True))


def _held(low: Floats, high: Floats, target: Floats) -> Floats:
    edge = 1e-12
    return np.asarray(((low <= target + edge) & (target - edge <= high)).mean(axis=0))


def main(studies: int) -> None:
    """Print both tables."""
    rng = np.random.default_rng(2026)
    print(f"{studies} studies a setting, 400 replicates, 95% intervals")
    print(f"{'roles':>5} {'labels':>6} {'s':>4}  {'estimand':10} {'slot':10}", end="")
    print(f"{'expected':>9} {'planted':>8} {'limit':>6} {'narrow':>7}", end=" ")
    print(f"{'plain':>6} {'own point':>10}")
    for setting in SETTINGS:
        for r in coverage(setting, studies=studies, replicates=400, rng=rng):
            print(f"{setting.roles:5} {setting.labels:6} {setting.sensitivity:4}", end="  ")
            print(f"{r.estimand:10} {r.slot:10}{r.expected:9.2f}", end=" ")
            print(f"{r.planted:8.2f} {r.limit:6.2f} {r.narrow:7.2f}", end=" ")
            print(f"{r.plain:6.2f} {r.own_point:10.2f}")
    print("\nprevalence, Wilson, by condition")
    for setting in SETTINGS:
        held = prevalence_coverage(setting, studies=studies, rng=rng)
        numbers = "  ".join(f"{name} {share:.3f}" for name, share in held.items())
        print(f"{setting.roles:5} {setting.labels:6} {setting.sensitivity:4}  {numbers}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
