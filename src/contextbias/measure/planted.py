"""What a simulated study should find: estimates from planted probabilities, without intervals.

The planted frame says how likely an image of a cell shows a label, given that the question can be
answered. Here the same numbers are made from it that are made from counts, under reader
``planted``. A cell weighs as many images as could be read in the study (the mean over the readers
that read the dimension), so that planted and recovered values are of the same mixture.

- ``prevalence``, ``range_pp``, ``ccs``: the formulas of consistency.py with shares for counts.
- ``bi_pooled``: BI of the pooled expected counts; what pictures without end would tend to. At
  equal support the expected value of as many images of each role, in every condition, as its
  smallest has.
- ``bi_role``: the expected value at the matched support, m mentions drawn from the cell's shares.
  Plug-in entropy at 15 mentions is far from its limit, and the comparison is to show the reader's
  errors, not that bias. Exact for independent images with one label each; images of
  paired seeds are alike, and lists have several labels an image, so that recovered values may lie
  a little higher.
- ``share_invariant`` (and ``share_invariant_paper``, which has no other truth) and
  ``share_shifted``: of the cells with an expected sum x of 5, those with a range of at most, or
  above, the margin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from contextbias.measure.arrays import ReaderCounts
from contextbias.measure.intensity import (
    EQUAL,
    RAW,
    SLOTS,
    Floats,
    Intensity,
    by_slot,
    pooled_intensity,
)
from contextbias.measure.levels import BOOTSTRAP, OVERALL, Intervals, intensity_frame
from contextbias.measure.rows import Run, estimate_frame
from contextbias.schema import DIMENSIONS
from contextbias.stats.entropy import bias_intensity
from contextbias.stats.subsample import binomial_entropy, pooled_subsample_entropy
from contextbias.tables import CONDITIONS

PLANTED = "planted"
"""Name of the reader of these rows."""

_METHOD = "from-probabilities"
_SUPPORTED = 5
_SUPPLY = 1_000_000
"""Images that stand for an endless supply; shares are exact to one of them."""


@dataclass(frozen=True, slots=True, eq=False)
class PlantedCells:
    """Planted probabilities of one generator and dimension."""

    generator: str
    dimension: str
    labels: tuple[str, ...]
    """Labels with a probability above 0 anywhere."""
    p: Floats
    """Shape (roles, conditions, labels); 0 where the cell has no probability."""
    weight: Floats
    """Images that count, shape (roles, conditions); 0 where the cell has no probability."""


def planted_estimates(
    planted: pl.DataFrame,
    counts: Sequence[ReaderCounts],
    *,
    preset: str,
    people: str,
    codebook: str,
    margin_pp: float,
) -> pl.DataFrame:
    """Estimates of reader ``planted``; see the module's docstring.

    Args:
        planted: Columns generator, role, condition, cohort, dimension, label, p.
        counts: All readers' counts; they say which cells the study has, and weigh them.
        preset: Column of the result.
        people: Column of the result.
        codebook: Column of the result.
        margin_pp: Largest range that counts as no change.

    Returns:
        Columns of tables.EstimateRow; no rows where no generator of the study is planted.
    """
    run = Run(PLANTED, preset, people, codebook)
    roles = sorted({role for c in counts for role in c.roles})
    cells = _cells(planted, roles, _weights(counts, roles))
    none = Intervals(BOOTSTRAP, alpha=0.05)
    parts = [intensity_frame(_intensities(cells), run, none, method=_METHOD)]
    parts += [estimate_frame(_label_rows(one, roles, run)) for one in cells]
    return pl.concat([*parts, estimate_frame(_share_rows(cells, run, margin_pp))])


def _weights(
    counts: Sequence[ReaderCounts], roles: Sequence[str]
) -> dict[tuple[str, str | None], Floats]:
    """(generator, dimension) -> images read, and (generator, None) -> all its images."""
    found: dict[tuple[str, str | None], list[Floats]] = {}
    for reader in counts:
        place = [roles.index(role) for role in reader.roles]
        tables: list[tuple[tuple[str, str | None], NDArray[np.int64]]] = [
            *(((g, None), images) for g, images in reader.images.items()),
            *(((d.generator, d.dimension), d.n) for d in reader.dimensions),
        ]
        for key, table in tables:
            whole = np.zeros((len(roles), len(CONDITIONS)))
            whole[place] = table
            found.setdefault(key, []).append(whole)
    return {key: np.mean(tables, axis=0) for key, tables in found.items()}


def _cells(
    planted: pl.DataFrame,
    roles: Sequence[str],
    weights: Mapping[tuple[str, str | None], Floats],
) -> list[PlantedCells]:
    order = {name: number for number, name in enumerate(DIMENSIONS)}
    known = planted.filter(pl.col("role").is_in(list(roles)), pl.col("p").is_not_null())
    parts = known.partition_by("generator", "dimension", as_dict=True)
    found = []
    for generator, name in sorted(parts, key=lambda key: (key[0], order[key[1]])):
        weight = weights.get((generator, name), weights.get((generator, None)))
        if weight is not None:
            found.append(_cell(generator, name, parts[generator, name], roles, weight))
    return [cell for cell in found if cell.labels and cell.weight.any()]


def _cell(
    generator: str, name: str, rows: pl.DataFrame, roles: Sequence[str], weight: Floats
) -> PlantedCells:
    labels = sorted(rows.filter(pl.col("p") > 0)["label"].unique())
    role, condition = (
        rows[column].replace_strict({n: i for i, n in enumerate(names)}, return_dtype=pl.Int64)
        for column, names in (("role", roles), ("condition", CONDITIONS))
    )
    p = np.zeros((len(roles), len(CONDITIONS), len(labels)))
    there = np.zeros((len(roles), len(CONDITIONS)), dtype=bool)
    there[role.to_numpy(), condition.to_numpy()] = True
    wanted = rows["label"].is_in(labels).to_numpy()
    places = rows["label"].replace_strict(
        {n: i for i, n in enumerate(labels)}, default=0, return_dtype=pl.Int64
    )
    p[role.to_numpy()[wanted], condition.to_numpy()[wanted], places.to_numpy()[wanted]] = rows[
        "p"
    ].to_numpy()[wanted]
    return PlantedCells(generator, name, tuple(labels), p, np.where(there, weight, 0.0))


def _intensities(cells: Sequence[PlantedCells]) -> Iterator[Intensity]:
    present = {
        g: np.any([c.weight.sum(axis=0) > 0 for c in cells if c.generator == g], axis=0)
        for g in {cell.generator for cell in cells}
    }
    for cell in cells:
        for support in (RAW, EQUAL):
            yield _pooled(cell, present[cell.generator], support)
        yield _by_role(cell, present[cell.generator])


def _pooled(cell: PlantedCells, present: NDArray[np.bool_], support: str) -> Intensity:
    weight = cell.weight
    if support == EQUAL:
        weight = np.where(present, np.rint(weight[:, present].min(axis=1))[:, None], 0.0)
        supply = np.full(weight.shape, _SUPPLY)
        entropy = pooled_subsample_entropy(np.rint(cell.p * _SUPPLY), supply, weight)
        bias = bias_intensity(entropy[None], len(cell.labels))
    else:
        bias = pooled_intensity(cell.p * weight[:, :, None], np.ones((1, len(weight))))
    return _intensity("bi_pooled", support, cell, by_slot(bias, present), weight.sum(axis=0))


def _by_role(cell: PlantedCells, present: NDArray[np.bool_]) -> Intensity:
    mentions = (cell.p.sum(axis=2) * cell.weight)[:, present]
    m = np.rint(mentions.min(axis=1)).astype(np.int64)
    used = m > 0
    size = np.where(used[:, None] & present, m[:, None], 0)
    by_role = bias_intensity(binomial_entropy(cell.p, size), len(cell.labels))
    mean = np.full((1, len(CONDITIONS)), np.nan)
    if used.any():
        mean[0, present] = by_role[used][:, present].mean(axis=0)
    return _intensity("bi_role", EQUAL, cell, by_slot(mean, present), np.full(3, used.sum()))


def _intensity(
    estimand: str, support: str, cell: PlantedCells, values: Floats, n: Floats
) -> Intensity:
    whole = np.rint(n).astype(np.int64)
    total = whole.sum() if estimand == "bi_pooled" else whole[0]
    return Intensity(
        estimand, support, cell.generator, DIMENSIONS[cell.dimension].cohort, cell.dimension,
        values=values,
        n=np.concatenate([whole, np.full(len(SLOTS) - len(whole), total)]),
        n_missing=None,
        roles=np.zeros(len(SLOTS), dtype=np.int64),
        left_out=np.zeros(len(SLOTS), dtype=np.int64),
        notes=("degenerate" if len(cell.labels) == 1 else None,) * len(SLOTS),
    )  # fmt: skip


def _pooled_share(cell: PlantedCells) -> Floats:
    """Shape (roles, labels): expected share over all conditions; nan without an image."""
    total = cell.weight.sum(axis=1)[:, None]
    expected = (cell.p * cell.weight[:, :, None]).sum(axis=1)
    share: Floats = np.divide(expected, total, out=np.full_like(expected, np.nan), where=total > 0)
    return share


def _ranges_pp(cell: PlantedCells) -> Floats:
    """Shape (roles, labels): largest less smallest share, in points; nan below two conditions."""
    there = (cell.weight > 0)[:, :, None]
    high = np.where(there, cell.p, -np.inf).max(axis=1)
    low = np.where(there, cell.p, np.inf).min(axis=1)
    return np.where(there.sum(axis=1) >= 2, 100 * (high - low), np.nan)


def _label_rows(cell: PlantedCells, roles: Sequence[str], run: Run) -> Iterator[dict[str, Any]]:
    pooled, ranges = _pooled_share(cell), _ranges_pp(cell)
    everywhere = np.all((cell.weight > 0)[:, :, None] & (cell.p > 0), axis=1)
    ccs = np.where(everywhere, 100 * pooled / (1 + ranges), np.nan)
    for i, role in enumerate(roles):
        n = cell.weight[i].sum()
        if not n:
            continue
        for j, label in enumerate(cell.labels):
            keys = {
                "generator": cell.generator, "role": role, "label": label, "method": _METHOD,
                "cohort": DIMENSIONS[cell.dimension].cohort, "dimension": cell.dimension,
            }  # fmt: skip
            for c, condition in enumerate(CONDITIONS):
                if w := cell.weight[i, c]:
                    point = cell.p[i, c, j]
                    yield run.row(
                        "prevalence", condition=condition, point=point, n=round(w), **keys
                    )
            keys |= {"condition": "all", "n": round(n)}
            yield run.row("prevalence", point=pooled[i, j], **keys)
            if np.isfinite(ranges[i, j]):
                yield run.row("range_pp", point=ranges[i, j], **keys)
                note = None if everywhere[i, j] else "not_in_every_condition"
                yield run.row("ccs", point=ccs[i, j], note=note, **keys)


def _share_rows(
    cells: Sequence[PlantedCells], run: Run, margin_pp: float
) -> Iterator[dict[str, Any]]:
    tested: dict[tuple[str, str], list[NDArray[np.bool_]]] = {}
    for cell in cells:
        ranges = _ranges_pp(cell)
        support = (cell.p * cell.weight[:, :, None]).sum(axis=1)
        # A range that is the margin but for rounding counts as within it, as it does for counts.
        within = ranges[(support >= _SUPPORTED) & np.isfinite(ranges)] <= margin_pp + 1e-9
        for cohort in (DIMENSIONS[cell.dimension].cohort, OVERALL):
            tested.setdefault((cell.generator, cohort), []).append(within)
    for (generator, cohort), parts in tested.items():
        within = np.concatenate(parts)
        if not within.size:
            continue
        share = float(within.mean())
        for estimand, point in (
            ("share_invariant", share),
            ("share_invariant_paper", share),
            ("share_shifted", 1 - share),
        ):
            yield run.row(
                estimand, generator=generator, condition="all", cohort=cohort, method=_METHOD,
                point=point, n=within.size,
            )  # fmt: skip
