"""Entropy of subsamples: what repeated drawing tends to, in closed form.

Drawing m of N items without replacement leaves K of the x items of one kind, K hypergeometric.
Entropy adds up over labels, H = log M - (1/M) sum K log K, so that its mean over all subsamples
needs only E[K log K] for each label, and no drawing. That is a sum over the probabilities of K.
Where E[K] is at least 128 the sum is long, and an expansion around the mean is used in its place:
with central moments mu_j and mean mu,

    E[K log K] = mu log mu + sum over j = 2 to 6 of (-1)^j mu_j / (j (j - 1) mu^(j - 1)),

whose first term left out is below 2 / mu^3, that is 1e-6 of one mention.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlogy

from contextbias.stats.entropy import checked_counts, whole_counts, x_log_x

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_CHUNK = 2_000_000
"""Numbers held at a time."""

_LARGEST_INDEX = 20_000_000
"""Keys up to here are found by index."""

_LARGE_MEAN = 128
"""Means from here on are expanded around."""

_LONGEST = 4 * _LARGE_MEAN
"""Points of a discrete Fourier transform. A sum of independent 0/1 variables with a mean below 128
reaches 512 with a probability below exp(-128) (e/4)^512 (Chernoff), about 1e-141."""


def expected_entropy(counts: ArrayLike, size: ArrayLike) -> Floats:
    r"""Mean plug-in entropy of all subsamples of `size` items, drawn without replacement.

    .. math:: E[H_m] = -\sum_y \sum_{k=1}^{m} P(k; N, x_y, m) \frac{k}{m} \log \frac{k}{m}

    with P the hypergeometric probability of k items of label y among m drawn from N: what repeated
    subsampling tends to, without its noise. With `size` N it is the plug-in entropy.

    Args:
        counts: Whole counts, shape (..., labels).
        size: Items drawn, broadcast against shape (...).

    Returns:
        Nats, shape (...); nan where `size` is 0.

    Raises:
        ValueError: Counts that are not whole or negative, or a `size` above the sum of its counts.
    """
    x = whole_counts(counts)
    total = x.sum(axis=-1)
    m = np.broadcast_to(_sizes(size), total.shape)
    if np.any(m > total):
        raise ValueError("a size is above the sum of its counts")
    cells, labels = total.size, x.shape[-1]
    flat = x.reshape(cells, labels)
    cell, label = np.nonzero(flat * (m.reshape(cells, 1) > 0))
    drawn = m.reshape(cells)[cell]
    triples, place = _distinct(flat[cell, label], total.reshape(cells)[cell], drawn)
    k_log_k = _drawn_x_log_x(*triples)[place]
    sums = np.bincount(cell, k_log_k, minlength=cells).reshape(total.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(m > 0, np.maximum(np.log(m) - sums / m, 0.0), np.nan)


def pooled_subsample_entropy(counts: ArrayLike, images: ArrayLike, size: ArrayLike) -> Floats:
    r"""Entropy of labels pooled over roles, each role reduced to a number of images.

    Of the n images of role r, m are drawn without replacement, for each role on its own; then the
    label counts of all roles are added up. Label y is then shown by a sum X of independent
    hypergeometric numbers, and

    .. math:: H = \log M - \frac1M \sum_y E[X_y \log X_y], \quad M = \sum_y E[X_y].

    With one label an image, M does not vary and this is exactly the mean entropy of all such
    subsamples. With lists M varies a little from subsample to subsample, and this is a ratio of
    means; the two differ by about half the squared coefficient of variation of M.

    Args:
        counts: Images that show the label, shape (roles, ..., labels).
        images: Images n, shape (roles, ...); at least each of its counts.
        size: Images drawn m, shape (roles, ...), at most `images`; 0 leaves the role out.

    Returns:
        Nats, shape (...); nan where nothing is left to count.

    Raises:
        ValueError: Counts that are not whole or negative, above `images`, or a `size` above them.
    """
    x, n = whole_counts(counts), whole_counts(images)
    m = np.broadcast_to(_sizes(size), n.shape)
    if np.any(m > n) or np.any(x > n[..., None]):
        raise ValueError("a count or a size is above its number of images")
    shape = x.shape[1:]
    groups = int(np.prod(shape[:-1]))
    cells = groups * shape[-1]
    role, cell = np.nonzero((x * (m > 0)[..., None]).reshape(len(x), cells))
    group = cell // max(shape[-1], 1)
    images_, drawn = (table.reshape(len(x), groups)[role, group] for table in (n, m))
    triples, place = _distinct(x.reshape(len(x), cells)[role, cell], images_, drawn)
    mean = _summed(triples[0] * triples[2] / triples[1], place, cell, cells)
    k_log_k = _summed_x_log_x(triples, place, cell, mean)
    mentions, sums = (each.reshape(shape).sum(axis=-1) for each in (mean, k_log_k))
    with np.errstate(invalid="ignore", divide="ignore"):
        entropy = np.log(mentions) - sums / mentions
    return np.where(mentions > 0, np.maximum(entropy, 0.0), np.nan)


def binomial_entropy(shares: ArrayLike, size: ArrayLike) -> Floats:
    r"""Mean plug-in entropy of `size` independent draws from known shares.

    .. math:: E[H_m] = -\sum_y \sum_{k=1}^{m} P(k; m, \pi_y) \frac{k}{m} \log \frac{k}{m}

    with P binomial: the limit of `expected_entropy` for an endless supply.

    Args:
        shares: Shares at least 0, shape (..., labels); normalised to sum 1.
        size: Draws, whole, broadcast against shape (...).

    Returns:
        Nats, shape (...); nan where `size` or the sum of the shares is 0.
    """
    p = np.asarray(checked_counts(shares), dtype=np.float64)
    total = p.sum(axis=-1, keepdims=True)
    p = np.divide(p, total, out=np.zeros_like(p), where=total > 0)
    m = np.broadcast_to(np.asarray(size, dtype=np.int64), p.shape[:-1])
    terms = _binomial_terms(p.ravel(), np.broadcast_to(m[..., None], p.shape).ravel())
    return np.where((m > 0) & (total[..., 0] > 0), terms.reshape(p.shape).sum(axis=-1), np.nan)


def _sizes(size: ArrayLike) -> Integers:
    return whole_counts(np.atleast_1d(size)).reshape(np.shape(size))


def _distinct(
    x: Integers, total: Integers, size: Integers
) -> tuple[tuple[Integers, Integers, Integers], Integers]:
    """Distinct (x, N, m), and the place of each cell among them: cells share few of them."""
    spans = int(total.max(initial=0)) + 1, int(size.max(initial=0)) + 1
    cells = (x * spans[0] + total) * spans[1] + size
    keys, place = _distinct_keys(cells, (int(x.max(initial=0)) + 1) * spans[0] * spans[1])
    rest, m = np.divmod(keys, spans[1])
    return (rest // spans[0], rest % spans[0], m), place


def _distinct_keys(keys: Integers, end: int) -> tuple[Integers, Integers]:
    """Distinct keys below `end`, and the place of each: without sorting, where `end` is small."""
    if end > _LARGEST_INDEX:
        distinct, place = np.unique(keys, return_inverse=True)
        return distinct, place.ravel()
    seen = np.zeros(end, dtype=bool)
    seen[keys] = True
    distinct = np.flatnonzero(seen)
    index = np.empty(end, dtype=np.int32)
    index[distinct] = np.arange(len(distinct))
    return distinct, index[keys].astype(np.int64)


def _drawn_x_log_x(x: Integers, total: Integers, m: Integers) -> Floats:
    """E[K log K] of hypergeometric K, for flat arrays with x, N and m at least 1."""
    mean = x * m / total
    large = (mean >= _LARGE_MEAN) & (m < total)
    found = np.zeros(len(x))
    found[large] = _expansion(mean[large], *_cumulants(x[large], total[large], m[large]))
    found[m == total] = x_log_x(x[m == total])
    rest = np.nonzero(~large & (m < total))[0]
    for part in _parts(np.minimum(x, m)[rest]):
        chosen = rest[part]
        longest = int(np.minimum(x, m)[chosen].max())
        k_log_k = x_log_x(np.arange(longest + 1))
        found[chosen] = _probabilities(x[chosen], total[chosen], m[chosen], longest) @ k_log_k
    return found


def _summed_x_log_x(
    triples: tuple[Integers, Integers, Integers], place: Integers, group: Integers, mean: Floats
) -> Floats:
    """E[X log X] of each group's sum of independent hypergeometric numbers."""
    large = mean >= _LARGE_MEAN
    cumulants = [_summed(c, place, group, len(mean)) for c in _cumulants(*triples)]
    found = np.zeros(len(mean))
    second, third, fourth = (c[large] for c in cumulants)
    found[large] = _expansion(mean[large], second, third, fourth)
    reach = _summed(np.minimum(triples[0], triples[2]), place, group, len(mean))
    points = np.minimum(2 ** np.ceil(np.log2(reach + 1)).astype(np.int64), _LONGEST)
    for length in np.unique(points[~large & (reach > 0)]):
        mine = np.flatnonzero((~large & (points == length) & (reach > 0))[group])
        mine = mine[np.argsort(group[mine], kind="stable")]
        for cells in _whole_groups(mine, group[mine], _CHUNK // int(length)):
            found[np.unique(group[cells])] = _from_waves(
                triples, place[cells], group[cells], int(length)
            )
    return found


def _summed(each: Floats | Integers, place: Integers, group: Integers, groups: int) -> Floats:
    return np.asarray(np.bincount(group, each[place], minlength=groups), dtype=np.float64)


def _whole_groups(cells: Integers, group: Integers, size: int) -> Iterator[Integers]:
    """Parts of cells in order of group: about `size` at a time, no group in two parts."""
    ends = np.append(np.flatnonzero(np.diff(group)) + 1, len(group))
    start = 0
    while start < len(cells):
        fitting = ends[(ends > start) & (ends <= start + size)]
        stop = int(fitting[-1] if len(fitting) else ends[ends > start][0])
        yield cells[start:stop]
        start = stop


def _from_waves(
    triples: tuple[Integers, Integers, Integers], place: Integers, group: Integers, length: int
) -> Floats:
    """E[X log X] of each group in turn; cells in order of group.

    Characteristic functions multiply where distributions add up; they are discrete Fourier
    transforms of `length` points.
    """
    used, there = np.unique(place, return_inverse=True)
    x, total, m = (each[used] for each in triples)
    longest = min(int(np.minimum(x, m).max()), length - 1)
    waves = np.fft.rfft(_probabilities(x, total, m, longest), n=length, axis=1)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    product = np.multiply.reduceat(waves[there], starts, axis=0)
    sums = np.fft.irfft(product, n=length, axis=1) @ x_log_x(np.arange(length))
    return np.asarray(sums, dtype=np.float64)


def _expansion(mean: Floats, second: Floats, third: Floats, fourth: Floats) -> Floats:
    """E[X log X] around the mean, from cumulants; see the module's docstring.

    The fifth and sixth cumulants are left out of their moments: they are of the order of the term
    that is left out altogether.
    """
    moments = (
        second,
        third,
        fourth + 3 * second**2,
        10 * second * third,
        15 * second * fourth + 10 * third**2 + 15 * second**3,
    )
    total = np.asarray(xlogy(mean, mean))
    for j, moment in enumerate(moments, start=2):
        total = total + (-1) ** j * moment / (j * (j - 1) * mean ** (j - 1))
    return np.asarray(total)


def _cumulants(x: Integers, total: Integers, m: Integers) -> tuple[Floats, Floats, Floats]:
    """Second to fourth cumulant of hypergeometric numbers (Johnson, Kotz and Kemp 1992, 6.3)."""
    n, a, b = (each.astype(np.float64) for each in (total, x, m))
    n1, n2, n3 = (np.maximum(n - d, 1.0) for d in (1, 2, 3))
    second = b * a * (n - a) * (n - b) / (n**2 * n1)
    third = second * (n - 2 * a) * (n - 2 * b) / (n * n2)
    outer = n1 * n**2 * (n * (n + 1) - 6 * a * (n - a) - 6 * b * (n - b))
    inner = 6 * b * a * (n - a) * (n - b) * (5 * n - 6)
    scale = n**2 * n1 * n2 * n3
    fourth = second * (outer + inner) / scale
    return second, np.where(n > 2, third, 0.0), np.where(n > 3, fourth, 0.0)


def _probabilities(x: Integers, total: Integers, m: Integers, longest: int) -> Floats:
    """Hypergeometric probabilities of k = 0 to `longest`, shape (cells, longest + 1)."""
    log_factorial = gammaln(np.arange(int(total.max(initial=0)) + 2, dtype=np.float64) + 1)
    n, y, s = total[:, None], x[:, None], m[:, None]
    k = np.arange(longest + 1)
    rest = s - k
    possible = (k <= y) & (rest >= 0) & (rest <= n - y)
    # Impossible cells get indices that exist; their probability is struck out below.
    k_, rest_ = np.where(possible, k, 0), np.where(possible, rest, 0)
    log_p = (
        _log_choose(log_factorial, y, k_)
        + _log_choose(log_factorial, n - y, np.minimum(rest_, n - y))
        - _log_choose(log_factorial, n, s)
    )
    return np.where(possible, np.exp(log_p), 0.0)


def _binomial_terms(p: Floats, m: Integers) -> Floats:
    """One label's share of E[H_m] under independent draws, for flat arrays."""
    terms = np.zeros(len(p))
    if not len(p):
        return terms
    log_factorial = gammaln(np.arange(int(m.max()) + 2, dtype=np.float64) + 1)
    for part in _parts(m):
        s, q = m[part, None], p[part, None]
        k = np.arange(1, max(int(s.max()), 1) + 1)
        possible = k <= s
        k_ = np.where(possible, k, 0)
        log_p = _log_choose(log_factorial, s, k_) + xlogy(k_, q) + xlogy(s - k_, 1 - q)
        share = k / np.maximum(s, 1)
        terms[part] = np.where(possible, np.exp(log_p) * -xlogy(share, share), 0.0).sum(axis=-1)
    return terms


def _log_choose(log_factorial: Floats, n: Integers, k: Integers) -> Floats:
    return np.asarray(log_factorial[n] - log_factorial[k] - log_factorial[n - k])


def _parts(lengths: Integers) -> list[Integers]:
    """Split positions by the length of their sums, so that no table is large or mostly empty."""
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    parts: list[Integers] = []
    start = 0
    while start < len(order):
        widest = max(2 * int(ordered[start]), 64)
        stop = int(np.searchsorted(ordered, widest, side="right"))
        stop = min(stop, start + max(1, _CHUNK // widest))
        parts.append(order[start:stop])
        start = stop
    return parts
