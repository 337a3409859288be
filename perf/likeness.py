"""Figures of docs/method.md on intervals of CCS and on images of one context being alike.

    python perf/likeness.py [SAMPLES]

prints, from simulated counts:

- how often 95% intervals of Delta and CCS hold the truth, and how often a parametric bootstrap of
  CCS does (basic, from smoothed rates; bias-corrected, from Jeffreys posteriors);
- how often a true hypothesis is rejected at 5% where rates vary by prompt or by context: by
  Pearson's test, by that of effective counts, and by a permutation of prompts;
- the same for the tests of prompt variants, without any difference between them.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from contextbias.stats.clustered import (
    clustered_chi_squared,
    intraclass_correlation,
    mean_cluster_size,
)
from contextbias.stats.homogeneity import chi_squared
from contextbias.stats.permutation import permutation_p
from contextbias.stats.ranges import consistency_interval, range_interval
from contextbias.stats.variants import variant_tests

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PAPER = np.array([30, 70, 80])
RATES = [
    ([0.5, 0.5, 0.5], PAPER),
    ([0.9, 0.9, 0.9], PAPER),
    ([0.99, 0.99, 0.99], PAPER),
    ([1.0, 1.0, 1.0], PAPER),
    ([0.9, 0.95, 0.97], PAPER),
    ([0.3, 0.3, 0.6], PAPER),
    ([0.5, 0.5, 0.5], 10 * PAPER),
    ([0.9, 0.95, 0.97], 10 * PAPER),
]
# Condition and images of the units that rates vary by.
PROMPTS = np.repeat([0, 1, 2], [3, 7, 8]), np.full(18, 10)
CONTEXTS = np.array([0, 1, 1, 1, 2, 2, 2, 2]), np.array([30, 30, 30, 10, 30, 30, 10, 10])
DRAWS = 400


def log_score(x: Floats | Integers, n: Integers) -> Floats:
    """Log of CCS in percent, half a hit added to prevalence so that it is finite."""
    prev = 100 * (x.sum(axis=-1) + 0.5) / (n.sum() + 1)
    return np.asarray(np.log(prev / (1 + 100 * np.ptp(x / n, axis=-1))))


def bootstraps(x: Integers, n: Integers, rng: np.random.Generator) -> dict[str, tuple[Floats, ...]]:
    """Ends of two parametric bootstrap intervals of the log score."""
    seen = log_score(x, n)
    smooth = (x + 0.5) / (n + 1)
    drawn = log_score(rng.binomial(n, np.broadcast_to(smooth, (DRAWS, *x.shape))), n)
    low, high = np.quantile(drawn - log_score(smooth * n, n), [0.025, 0.975], axis=0)
    rates = rng.beta(x + 0.5, n - x + 0.5, size=(DRAWS, *x.shape))
    again = np.sort(log_score(rng.binomial(n, rates), n), axis=0)
    below = (again < seen).mean(axis=0) + (again == seen).mean(axis=0) / 2
    shift = 2 * ndtri(below.clip(0.5 / DRAWS, 1 - 0.5 / DRAWS))
    ends = [
        np.take_along_axis(again, (ndtr(shift + z) * (DRAWS - 1)).astype(int)[None], axis=0)[0]
        for z in (-1.96, 1.96)
    ]
    return {"basic": (seen - high, seen - low), "bias-corrected": (ends[0], ends[1])}


def print_coverage(samples: int, rng: np.random.Generator) -> None:
    """One row a setting."""
    print("rates | images | Delta | CCS | basic | bias-corrected")
    for rates, n in RATES:
        p = np.array(rates)
        x = rng.binomial(n, p, size=(samples, 3))
        x = x[(x > 0).all(axis=1) & (x.sum(axis=1) >= 5)]
        delta = 100 * np.ptp(p)
        score = 100 * (p * n).sum() / n.sum() / (1 + delta)
        spread, ccs = range_interval(x, n), consistency_interval(x, n)
        found = [(spread.low, spread.high, delta), (ccs.low, ccs.high, score)]
        some = bootstraps(x[:1500], n, rng)
        found += [(np.exp(low), np.exp(high).clip(max=100), score) for low, high in some.values()]
        tiny = 1e-6
        shares = [((low <= t + tiny) & (t - tiny <= high)).mean() for low, high, t in found]
        print(rates, n, *(f"{share:.3f}" for share in shares), sep=" | ")


def beta_binomial(
    n: Integers, rho: float, p: float, roles: int, rng: np.random.Generator
) -> Integers:
    """Hits by role and unit."""
    spread = (1 - rho) / rho
    return rng.binomial(n, rng.beta(p * spread, (1 - p) * spread, size=(roles, n.size)))


def print_sizes(samples: int, rng: np.random.Generator) -> None:
    """One row a unit and correlation; the correlation is estimated from all samples."""
    print("units | rho | prevalence | Pearson | clustered | clustered at .001 | permuted prompts")
    for name, (condition, n) in {"prompts": PROMPTS, "contexts": CONTEXTS}.items():
        for rho in (0.05, 0.2):
            for p in (0.03, 0.1, 0.3, 0.5, 0.9):
                x = beta_binomial(n, rho, p, samples, rng)
                strata = (np.arange(samples)[:, None] * 3 + condition).ravel()
                found = intraclass_correlation(x.reshape(-1, 1), np.tile(n, samples), strata)
                effect = 1 + (mean_cluster_size(n, condition, 3) - 1) * found.point
                by = np.stack([x[:, c == condition].sum(axis=1) for c in range(3)], axis=1)
                kept = by.sum(axis=1) >= 5
                clustered = clustered_chi_squared(by, PAPER, effect, error_df=found.df).p[kept]
                few = x[:500].T
                question = np.zeros(few.shape[1], int)
                permuted = permutation_p(few, n[:, None], condition, question=question, rng=rng)
                shares = [
                    (chi_squared(by, PAPER).p[kept] < 0.05).mean(),
                    (clustered < 0.05).mean(),
                    (clustered < 0.001).mean(),
                    (permuted.p < 0.05).mean(),
                ]
                print(name, rho, p, *(f"{share:.4f}" for share in shares), sep=" | ")


def print_variants(samples: int, rng: np.random.Generator) -> None:
    """One row a number of variants and prevalence."""
    print("variants | prevalence | 2 x k | leave-one-out")
    for k in (3, 8):
        for p in (0.05, 0.1, 0.3, 0.5, 0.9):
            x = rng.binomial(10, p, size=(k, samples))
            found = variant_tests(x, np.full(k, 10), np.zeros(k), np.zeros(k), strata=1)
            kept = found.hits >= 5
            shares = [(q[kept] < 0.05).mean() for q in (found.p, found.leave_one_out_p)]
            print(k, p, *(f"{share:.3f}" for share in shares), sep=" | ")


def main() -> None:
    """Print all three tables."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    rng = np.random.default_rng(1)
    print_coverage(samples, rng)
    print_sizes(samples, rng)
    print_variants(samples, rng)


if __name__ == "__main__":
    main()
