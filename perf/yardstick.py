"""The core numbers by plain NumPy on dense count arrays: what `measure` is compared with.

    python perf/yardstick.py ATTRIBUTES.parquet

One reader, one label an answer or several, every role in every condition. Counts lie in one array
(generator, role, condition, label) with a place for every label of every role, seen or not. Nothing
here is shared with the package but the draws of the bootstrap; a test compares the numbers.
"""

from __future__ import annotations

import itertools
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import chdtrc, gammaln, ndtr, ndtri, stdtrit, xlogy

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
CONDITIONS = ("CF", "CA-R", "CA-U")
CONTRASTS = ((1, 0), (2, 0), (2, 1))
Z95 = float(ndtri(0.975))
_START = time.perf_counter()


@dataclass
class Counts:
    """Dense counts and the names of their axes."""

    generators: list[str]
    roles: list[str]
    dimensions: list[tuple[str, str]]
    """(cohort, dimension)."""
    labels: list[str]
    of_dimension: list[slice]
    """Labels of each dimension."""
    x: Integers
    """Shape (generators, roles, conditions, labels)."""
    n: Integers
    """Shape (generators, roles, conditions, dimensions)."""


@dataclass
class Result:
    """The numbers."""

    counts: Counts
    bi: dict[str, Floats] = field(default_factory=dict)
    """Estimand -> points of CF, CA-R, CA-U, their mean and contrasts; (gen., dimensions, 7)."""
    overall: dict[str, Floats] = field(default_factory=dict)
    """Estimand -> shape (3, 7): point, low, high of the mean over generators of the overall BI."""
    cells: dict[str, Floats] = field(default_factory=dict)
    """Name -> shape (generators, roles, labels), prevalences with conditions before labels."""


def yardstick(path: Path, bootstrap: int = 1000, seed: int = 1, margin: float = 0.05) -> Result:
    """Everything from one file of attributes."""
    found = Result(count(path))
    _bias(found, bootstrap, seed)
    _consistency(found, margin)
    return found


def count(path: Path) -> Counts:
    """Attributes to dense counts; the rows of an image have to stand together."""
    words = ("generator", "role", "condition", "cohort", "dimension", "label", "missing_reason")
    rows = (
        pl.scan_parquet(path)
        .filter(pl.col("person").fill_null(0) == 0)
        .select(
            *(pl.col(name).cast(pl.Categorical) for name in words),
            first=pl.struct("image_id", "dimension").ne_missing(
                pl.struct("image_id", "dimension").shift()
            ),
        )
        .collect()
    )
    number = {name: _numbers(rows[name]) for name in words[:3]}
    order = {name: i for i, name in enumerate(CONDITIONS)}
    condition = np.array([order[name] for name in number["condition"][1]])[number["condition"][0]]
    both = rows.select(pl.struct("cohort", "dimension", "label").alias("place"))["place"]
    labels, place = _places(both)
    dimensions = list(dict.fromkeys((cohort, name) for cohort, name, _ in labels))
    of = np.array([dimensions.index(label[:2]) for label in labels])
    ends = np.searchsorted(of, np.arange(len(dimensions) + 1))
    shape = [len(number["generator"][1]), len(number["role"][1]), len(CONDITIONS)]
    cell = (number["generator"][0] * shape[1] + number["role"][0]) * shape[2] + condition
    known = rows["label"].is_not_null().to_numpy()
    x = np.bincount(
        cell[known] * len(labels) + place[known], minlength=int(np.prod(shape)) * len(labels)
    )
    read = known | rows["missing_reason"].cast(pl.String).eq("empty").fill_null(False).to_numpy()
    names, dimension = _numbers(rows["dimension"])[::-1]
    known_places = {name: i for i, (_, name) in enumerate(dimensions)}
    dimension = np.array([known_places.get(name, -1) for name in names])[dimension]
    kept = read & rows["first"].fill_null(True).to_numpy() & (dimension >= 0)
    n = np.bincount(
        cell[kept] * len(dimensions) + dimension[kept],
        minlength=int(np.prod(shape)) * len(dimensions),
    )
    return Counts(
        number["generator"][1], number["role"][1], dimensions, [label for *_, label in labels],
        [slice(a, b) for a, b in itertools.pairwise(ends)],
        x.reshape(*shape, -1), n.reshape(*shape, -1),
    )  # fmt: skip


def _numbers(words: pl.Series) -> tuple[Integers, list[str]]:
    """Each word's place in the sorted list of words."""
    physical = words.to_physical().cast(pl.Int64).fill_null(0).to_numpy()
    used = words.drop_nulls().unique()
    places, names = used.to_physical().to_numpy(), used.cast(pl.String).to_list()
    table = np.zeros(int(max(physical.max(), places.max())) + 1, dtype=np.int64)
    table[places] = np.argsort(np.argsort(np.array(names)))
    return table[physical], sorted(names)


def _places(rows: pl.Series) -> tuple[list[tuple[str, str, str]], Integers]:
    """(cohort, dimension, label) in order, and each row's place in it; 0 without a label."""
    parts = [_numbers(rows.struct.field(name)) for name in ("cohort", "dimension", "label")]
    sizes = [len(names) for _, names in parts]
    key = (parts[0][0] * sizes[1] + parts[1][0]) * sizes[2] + parts[2][0]
    known = rows.struct.field("label").is_not_null().to_numpy()
    table = np.zeros(sizes[0] * sizes[1] * sizes[2], dtype=np.int64)
    table[key[known]] = 1
    used = np.flatnonzero(table)
    table[used] = np.arange(len(used))
    names = [
        (parts[0][1][i // sizes[2] // sizes[1]], parts[1][1][i // sizes[2] % sizes[1]],
         parts[2][1][i % sizes[2]])
        for i in used
    ]  # fmt: skip
    return names, table[key]


# ---- Bias Intensity


def _bias(found: Result, bootstrap: int, seed: int) -> None:
    counts = found.counts
    roles = len(counts.roles)
    drawn = np.random.default_rng(seed).multinomial(
        roles, np.full(roles, 1 / roles), size=bootstrap
    )
    weights = np.concatenate([np.ones((1, roles)), drawn])
    levels: dict[str, list[list[Floats]]] = {"bi_pooled": [], "bi_role": []}
    for x in counts.x:
        pooled, by_role = [], []
        for labels in counts.of_dimension:
            some = x[:, :, labels].astype(np.float64)
            some = some[:, :, some.any(axis=(0, 1))]
            sums = (weights @ some.reshape(roles, -1)).reshape(-1, *some.shape[1:])
            pooled.append(_slots(_bi(_entropy(sums), some.shape[2])))
            mentioned = some.sum(axis=2).min(axis=1) > 0
            values = _bi(_matched_entropy(some[mentioned].astype(np.int64)), some.shape[2])
            share = weights[:, mentioned]
            total = share.sum(axis=1, keepdims=True)
            with np.errstate(invalid="ignore"):
                by_role.append(_slots((share @ values) / total))
            for kept, rest in ((pooled, (some.sum(axis=2) > 0).sum(axis=0)),
                               (by_role, np.full(3, mentioned.sum()))):  # fmt: skip
                kept[-1] = _expanded(kept[-1], rest)
        levels["bi_pooled"].append(pooled)
        levels["bi_role"].append(by_role)
    cohorts = [cohort for cohort, _ in counts.dimensions]
    for name, values in levels.items():
        stack = np.array(values)  # generators, dimensions, rows, slots
        found.bi[name] = stack[:, :, 0]
        means = [
            np.nanmean(stack[:, [c == cohort for c in cohorts]], axis=1)
            for cohort in dict.fromkeys(cohorts)
        ]
        overall = np.mean(np.mean(means, axis=0), axis=0)
        ends = np.quantile(overall[1:], [0.025, 0.975], axis=0)
        ends += overall[0] - overall[1:].mean(axis=0)
        found.overall[name] = np.concatenate([overall[:1], ends])


def _entropy(x: Floats) -> Floats:
    total = x.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.log(total) - xlogy(x, x).sum(axis=-1) / total)


def _bi(entropy: Floats, labels: int) -> Floats:
    return np.ones_like(entropy) if labels == 1 else 1 - entropy / np.log(labels)


def _slots(by_condition: Floats) -> Floats:
    mean = by_condition.mean(axis=1, keepdims=True)
    contrasts = [by_condition[:, [a]] - by_condition[:, [b]] for a, b in CONTRASTS]
    return np.concatenate([by_condition, mean, *contrasts], axis=1)


def _expanded(values: Floats, roles: Integers) -> Floats:
    """Replicates spread for the number of roles that each slot rests on."""
    r = np.array([*roles, roles.min(), *(min(roles[a], roles[b]) for a, b in CONTRASTS)], float)
    z = np.minimum(Z95, np.sqrt(r * (r - 1)))
    factor = np.sqrt(r / (r - 1)) * stdtrit(r - 1, 0.975) / z
    mean = np.nanmean(values[1:], axis=0)
    return np.concatenate([values[:1], mean + factor * (values[1:] - mean)])


def _matched_entropy(x: Integers) -> Floats:
    """Mean entropy at the fewest mentions of a role's conditions; shape (roles, conditions)."""
    total = x.sum(axis=2)
    m = np.broadcast_to(total.min(axis=1, keepdims=True), total.shape)
    role, condition, label = np.nonzero(x)
    triples = np.column_stack(
        [x[role, condition, label], total[role, condition], m[role, condition]]
    )
    distinct, inverse = np.unique(triples, axis=0, return_inverse=True)
    y, size, s = (part[:, None] for part in distinct.T)
    k = np.arange(1, min(int(y.max()), int(s.max())) + 1)
    log = gammaln(np.arange(int(size.max()) + 2) + 1.0)
    possible = (k <= y) & (k <= s) & (s - k <= size - y)
    k_, rest = np.where(possible, k, 0), np.where(possible, s - k, 0)
    p = log[y] - log[k_] - log[np.maximum(y - k_, 0)]
    p = p + log[size - y] - log[rest] - log[np.maximum(size - y - rest, 0)]
    p = p - log[size] + log[s] + log[size - s]
    share = k / s
    terms = np.where(possible, np.exp(p) * -xlogy(share, share), 0).sum(axis=1)
    entropy = np.zeros(total.shape)
    np.add.at(entropy, (role, condition), terms[inverse.ravel()])
    return entropy


# ---- consistency


def _consistency(found: Result, margin: float) -> None:
    counts, cells = found.counts, found.cells
    x = counts.x.astype(np.float64)
    repeats = [labels.stop - labels.start for labels in counts.of_dimension]
    n = np.repeat(counts.n, repeats, axis=3).astype(np.float64)
    total_x, total_n = x.sum(axis=2), n.sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = x / n
        centre, root = x + Z95**2 / 2, Z95 * np.sqrt(x * (n - x) / n + Z95**2 / 4)
        cells["prevalence"] = rates
        cells["prevalence_low"] = (centre - root) / (n + Z95**2)
        cells["prevalence_high"] = (centre + root) / (n + Z95**2)
        cells["range_pp"] = 100 * (rates.max(axis=2) - rates.min(axis=2))
        defined = (x > 0).all(axis=2) & (total_x >= 5)
        score = 100 * total_x / total_n / (1 + cells["range_pp"])
        cells["ccs"] = np.where(defined, score, np.nan)
        residual = x * total_n[:, :, None] - n * total_x[:, :, None]
        spread = total_x * (total_n - total_x)
        chi2 = (residual**2 / n).sum(axis=2) / spread
    cells["chi2"] = np.where(spread > 0, chi2, 0.0)
    cells["chi2_p"] = chdtrc(2, cells["chi2"])
    cells["equivalence_p"] = _equivalence(x, n, margin)
    cells["chi2_q"] = adjusted(counts, cells["chi2_p"])


def adjusted(counts: Counts, p: Floats) -> Floats:
    """Benjamini and Hochberg's q over the supported labels of each generator that vary.

    Of two labels that complement each other (yes and no) one is counted. The package adjusts the
    exact p where an expected count is small; here `p` is what is given.
    """
    total_x, q = counts.x.sum(axis=2), np.full(p.shape, np.nan)
    for g in range(len(counts.generators)):
        tested, twins = np.zeros(p.shape[1:], dtype=bool), []
        for d, labels in enumerate(counts.of_dimension):
            x, n = counts.x[g, :, :, labels], counts.n[g, :, :, d]
            hits = total_x[g, :, labels]
            used = (hits >= 5) & (hits < n.sum(axis=1)[:, None])
            for role in np.flatnonzero(used.sum(axis=1) == 2):
                a, b = np.flatnonzero(used[role])
                if np.array_equal(x[role, :, a] + x[role, :, b], n[role]):
                    used[role, b] = False
                    twins.append((role, labels.start + a, labels.start + b))
            tested[:, labels] = used
        q[g][tested] = _step_up(p[g][tested])
        for role, a, b in twins:
            q[g, role, b] = q[g, role, a]
    return q


def _step_up(p: Floats) -> Floats:
    order = np.argsort(p)
    smallest = np.minimum.accumulate((p[order] * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1]
    q = np.empty_like(p)
    q[order] = smallest
    return q


def _equivalence(x: Floats, n: Floats, margin: float) -> Floats:
    """Largest p of the score tests of all pairs of conditions."""
    worst = np.zeros(x[:, :, 0].shape)
    for a, b in CONTRASTS:
        for i, j in ((a, b), (b, a)):
            worst = np.maximum(
                worst, _one_sided(x[:, :, i], n[:, :, i], x[:, :, j], n[:, :, j], margin)
            )
    return worst


def _one_sided(x1: Floats, n1: Floats, x2: Floats, n2: Floats, margin: float) -> Floats:
    p1, p2, theta = x1 / n1, x2 / n2, n2 / n1
    a = 1 + theta
    b = -(1 + theta + p1 + theta * p2 - margin * (theta + 2)) / (3 * a)
    c = (margin**2 - margin * (2 * p1 + theta + 1) + p1 + theta * p2) / a
    d = p1 * margin * (1 - margin) / a
    v = b**3 - b * c / 2 + d / 2
    u = np.copysign(np.sqrt(np.maximum(b**2 - c / 3, 0)), v)
    cube = np.where(u == 0, 1.0, u**3)
    angle = (np.pi + np.arccos(np.clip(v / cube, -1, 1))) / 3
    r1 = np.clip(2 * u * np.cos(angle) - b, 0, 1 - margin)
    r2 = np.clip(r1 + margin, 0, 1)
    error = np.sqrt(r1 * (1 - r1) / n1 + r2 * (1 - r2) / n2)
    return np.asarray(ndtr(-(p1 - p2 + margin) / error))


def main() -> None:
    """Print wall clock and processor seconds and the memory's high mark in MB."""
    yardstick(Path(sys.argv[1]))
    status = Path("/proc/self/status").read_text("utf-8").splitlines()
    high = int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1000
    print(f"{time.perf_counter() - _START:.2f} {time.process_time():.2f} {high:.0f}")


if __name__ == "__main__":
    main()
