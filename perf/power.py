"""How well the sizes of `contextbias plan` hold: formulas against simulated studies.

    python perf/power.py [STUDIES]

prints five tables. Every simulated number comes from the tests that a study runs, on counts drawn
at random; ``formula`` is what `contextbias plan` says beforehand.

- ``shift``: labels that shift by what is called detectable with 80% power, images independent. How
  often the chi-squared test rejects, and how often the verdict is ``shifted`` at the level that one
  test has after adjustment.
- ``clustered``: the same for images of one context that are alike, with the test that allows for
  contexts. Rates of contexts come from a beta distribution; the correlation is estimated from
  `ROLES` roles and `LABELS` labels, as in a study.
- ``invariant``: how often all pairs are called equivalent when nothing changes; with independent
  images, and with contexts whose images are alike.
- ``width``: half the width of the interval of a difference of Bias Intensity, and how often it
  leaves out 0 at the difference that is called detectable: bootstrap intervals of a mean over
  roles, from normal and from skewed values.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from contextbias.stats.clustered import (
    clustered_chi_squared,
    intraclass_correlation,
    mean_cluster_size,
)
from contextbias.stats.equivalence import equivalence
from contextbias.stats.equivalence_power import equivalence_power
from contextbias.stats.homogeneity import chi_squared
from contextbias.stats.power import (
    detectable_mean,
    detectable_range,
    discovery_level,
    hardest_pattern,
    mean_half_width,
    shifted_rates,
)
from contextbias.stats.resample import expand, expansion, percentile_interval, role_weights

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

POWER, ALPHA, MARGIN = 0.8, 0.05, 0.05
LEVEL = discovery_level(0.1, POWER, alpha=ALPHA)
PREVALENCES = np.array([0.5, 0.8, 0.9, 0.95, 0.98])
SIZES = ((30, 70, 80), (60, 140, 160), (300, 300, 300), (1500, 3500, 4000))

# ContextBench's contexts of a role: prompts of each, and the condition that they are in.
PROMPTS = np.array([3, 3, 3, 1, 3, 3, 1, 1])
CONDITION = np.array([0, 1, 1, 1, 2, 2, 2, 2])
ROLES, LABELS = 92, 5


def spread(x: Integers, n: Integers) -> Floats:
    """Observed range of the conditions' rates."""
    return np.ptp(x / n, axis=-1)


def shift(studies: int, rng: np.random.Generator) -> None:
    """Independent images."""
    print("shift: images independent")
    print(f"{'images':>18} {'p':>5} {'pattern':>8} {'range':>6}  {'rejected':>8} {'shifted':>8}")
    for sizes in SIZES:
        n = np.array(sizes)
        for name, pattern in (("last", np.array([0.0, 0.0, 1.0])), ("hardest", hardest_pattern(n))):
            test = detectable_range(PREVALENCES, n, pattern, power=POWER).point
            verdict = detectable_range(
                PREVALENCES, n, pattern, power=POWER, alpha=LEVEL, margin=MARGIN
            ).point
            for p, small, large in zip(PREVALENCES, test, verdict, strict=True):
                x = rng.binomial(n, shifted_rates(p, small, pattern), (studies, 3))
                rejected = np.mean(chi_squared(x, n).p < ALPHA)
                x = rng.binomial(n, shifted_rates(p, large, pattern), (studies, 3))
                found = np.mean((chi_squared(x, n).p < LEVEL) & (spread(x, n) > MARGIN))
                shape = f"{sizes!s:>18} {p:5.2f} {name:>8} {100 * large:6.1f}"
                print(f"{shape}  {rejected:8.3f} {found:8.3f}")


def clustered(studies: int, rng: np.random.Generator) -> None:
    """Images of one context are alike."""
    print("\nclustered: a study's own correlation and test, at the study's sizes")
    print(f"{'images a prompt':>15} {'rho':>5} {'p':>5} {'range':>6} {'df':>5}  {'rejected':>8}")
    for seeds, rho, roles in (
        (10, 0.05, ROLES),
        (10, 0.05, 5),
        (10, 0.2, ROLES),
        (40, 0.02, ROLES),
    ):
        size = PROMPTS * seeds
        n = np.bincount(CONDITION, size)
        alike = np.bincount(CONDITION, size**2) / n
        df = roles * 5  # 3 - 1 and 4 - 1 contexts
        effective = n / (1 + (alike - 1) * rho)
        pattern = np.array([0.0, 0.0, 1.0])
        found = detectable_range(
            np.array([0.5, 0.8, 0.9]), effective, pattern, power=POWER, error_df=df
        ).point
        for p, difference in zip((0.5, 0.8, 0.9), found, strict=True):
            if np.isnan(difference):
                print(f"{seeds:15} {rho:5.2f} {p:5.2f}   none {df:5}")
                continue
            rates = shifted_rates(p, difference, pattern)[CONDITION]
            rejected = [
                _rejected(rates, size, rho, roles, rng)
                for _ in range(1 + studies // (roles * LABELS))
            ]
            share = float(np.mean(np.concatenate(rejected)))
            print(f"{seeds:15} {rho:5.2f} {p:5.2f} {100 * difference:6.1f} {df:5}  {share:8.3f}")


def _rejected(
    rates: Floats, size: Integers, rho: float, roles: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """One study: whether the test that allows for contexts rejects, for each role and label."""
    shape = (roles, LABELS, size.size)
    each = rng.beta(rates * (1 / rho - 1), (1 - rates) * (1 / rho - 1), shape)
    x = rng.binomial(size, each)
    contexts = x.transpose(0, 2, 1).reshape(-1, LABELS)
    stratum = (np.arange(roles)[:, None] * 3 + CONDITION).ravel()
    sizes = np.tile(size, roles)
    own = intraclass_correlation(contexts, sizes, stratum)
    alike = mean_cluster_size(sizes, stratum, roles * 3)[:3]
    hits = np.stack([x[..., c == CONDITION].sum(axis=-1) for c in range(3)], axis=-1)
    n = np.bincount(CONDITION, size)
    found = clustered_chi_squared(hits, n, 1 + (alike - 1) * own.point, error_df=own.df)
    return np.asarray(found.p < ALPHA).ravel()


def invariant(studies: int, rng: np.random.Generator) -> None:
    """Nothing changes."""
    print("\ninvariant: nothing changes, margin 5 points")
    print(f"{'images':>18} {'p':>5}  {'formula':>8} {'simulated':>9}")
    cases = (
        (0.9, (800, 800, 800)), (0.9, (820, 820, 820)), (0.9, (850, 850, 850)),
        (0.9, (516, 1204, 1376)), (0.95, (449, 449, 449)), (0.98, (219, 219, 219)),
        (0.5, (2266, 2266, 2266)), (0.98, (54, 126, 144)),
    )  # fmt: skip
    for p, sizes in cases:
        n = np.array(sizes)
        x = rng.binomial(n, p, (studies, 3))
        came = np.mean(equivalence(x, n, margin=MARGIN).p < ALPHA)
        formula = equivalence_power([p] * 3, n, margin=MARGIN).point
        print(f"{sizes!s:>18} {p:5.2f}  {formula:8.3f} {came:9.3f}")


def alike(studies: int, rng: np.random.Generator) -> None:
    """Nothing changes, and images of one context are alike: many contexts, 30 images each."""
    print("\ninvariant, images of one context alike: 30 images a context, margin 5 points")
    print(f"{'contexts':>9} {'rho':>5} {'p':>5}  {'formula':>8} {'simulated':>9}")
    for contexts, rho, p in ((67, 0.05, 0.9), (40, 0.015, 0.9), (40, 0.05, 0.95)):
        effect = 1 + 29 * rho
        each = rng.beta(p * (1 / rho - 1), (1 - p) * (1 / rho - 1), (studies, 3, contexts))
        x, n = rng.binomial(30, each).sum(axis=-1), np.full(3, 30 * contexts)
        came = np.mean(equivalence(x, n, margin=MARGIN, design_effect=effect).p < ALPHA)
        formula = equivalence_power([p] * 3, n / effect, margin=MARGIN).point
        print(f"{contexts:9} {rho:5.3f} {p:5.2f}  {formula:8.3f} {came:9.3f}")


def width(studies: int, rng: np.random.Generator) -> None:
    """Bootstrap intervals of a mean over roles."""
    print("\nwidth: differences of Bias Intensity, standard deviation 1 over roles")
    print(f"{'roles':>5} {'values':>7}  {'half width':>10} {'simulated':>9} {'found':>7}")
    for roles in (5, 12, 46, 92):
        half = float(mean_half_width(roles, 1.0))
        difference = float(detectable_mean(roles, 1.0, power=POWER).point)
        for name in ("normal", "skewed"):
            halves, found = [], 0
            for _ in range(studies // 20):
                noise = (
                    rng.normal(size=roles) if name == "normal" else rng.exponential(size=roles) - 1
                )
                low, high = _interval(noise + difference, rng)
                halves.append((high - low) / 2)
                found += low > 0 or high < 0
            share = found / len(halves)
            print(f"{roles:5} {name:>7}  {half:10.3f} {np.mean(halves):9.3f} {share:7.3f}")


def _interval(values: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """As Bias Intensity has it: centred percentiles, expanded for the number of roles."""
    drawn = role_weights(values.size, 1000, rng)
    replicates = (drawn @ values / drawn.sum(axis=1))[:, None]
    wide = expand(replicates, np.full(1, expansion(values.size, ALPHA)))
    found = percentile_interval(np.array([values.mean()]), wide, ALPHA, centred=True)
    return float(found.low[0]), float(found.high[0])


def main(studies: int) -> None:
    """Print the tables."""
    rng = np.random.default_rng(2026)
    print(f"{studies} studies; wanted power {POWER}, level {ALPHA}, adjusted {LEVEL:.4f}\n")
    shift(studies, rng)
    clustered(studies, rng)
    invariant(studies, rng)
    alike(studies, rng)
    width(studies, rng)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
