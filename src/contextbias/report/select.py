"""Picking numbers out of the estimates frame: filters and order, no arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from contextbias.report.inputs import ALL, MEAN, PEOPLE, PLANTED
from contextbias.schema import COHORTS, DIMENSIONS
from contextbias.tables import CONDITIONS

CONTRASTS = ("CA-U - CF", "CA-R - CF", "CA-U - CA-R")
"""Differences of conditions, in the order of the page."""

BI_ESTIMANDS = ("bi_pooled", "bi_role")
"""The two forms of Bias Intensity that are drawn."""

BI_KEYS = ("generator", "condition", "contrast", "cohort", "dimension")
"""What identifies one BI number of one reader, once `role` is null."""

_DEFAULT_METHOD = "bootstrap-percentile-expanded"

CELL_KEYS = ("generator", "role", "dimension", "label")
"""What identifies one role-label association of one reader."""


@dataclass(frozen=True, slots=True)
class Number:
    """One row of the estimates frame without its keys."""

    point: float | None
    """The number; None when undefined."""
    low: float | None
    """Lower end of its interval."""
    high: float | None
    """Upper end of its interval."""
    verdict: str | None
    """A verdict in words."""
    n: int | None
    """Support, as the estimand says."""
    n_missing: int | None
    """Images of the cell that could not be read."""
    note: str | None
    """``degenerate``, ``unsupported`` …"""
    support: str | None
    """``raw`` or ``equal``."""
    method: str | None
    """How it was made."""


_FIELDS = ("point", "low", "high", "verdict", "n", "n_missing", "note", "support", "method")

Index = dict[tuple[Any, ...], Number]
"""Numbers by key."""


def of_reader(estimates: pl.DataFrame, reader: str) -> pl.DataFrame:
    """Rows of one reader, without those beside people's answers; readers are never mixed."""
    if bool(estimates["corrected"].any()):
        estimates = estimates.filter(~is_judged())
    if estimates["reader"].n_unique() == 1 and estimates["reader"][0] == reader:
        return estimates  # millions of rows need not be copied
    return estimates.filter(pl.col("reader") == reader)


def is_judged() -> pl.Expr:
    """Prevalences corrected by people's answers, and the uncorrected ones that stand beside them.

    Tables and figures of what was read leave them out: they would count some cells twice.
    """
    return pl.col("corrected") | (
        (pl.col("method") == "wilson-clustered") & (pl.col("estimand") == "prevalence")
    ).fill_null(False)


def readers_in(estimates: pl.DataFrame, order: Sequence[str]) -> list[str]:
    """Readers with estimates, in the configured order, without the planted truth."""
    seen = set(estimates["reader"].unique()) - {PLANTED, PEOPLE}
    return [name for name in order if name in seen] + sorted(seen - set(order))


def index(
    frame: pl.DataFrame,
    estimand: str,
    keys: Sequence[str] = BI_KEYS,
    *,
    support: str = "raw",
    method: str | None = None,
) -> Index:
    """Numbers of one estimand by `keys`.

    Rows with a role are left out when `role` is not among the keys, and the other way round, so
    that a per-role number never stands for the mean over roles. Of several rows of one key, the one
    at `support` stands, and of these the one with the default interval. With a `method`, only its
    rows count.
    """
    has_role = pl.col("role").is_not_null()
    rows = frame.filter(
        (pl.col("estimand") == estimand) & (has_role if "role" in keys else ~has_role)
    )
    if method is not None:
        rows = rows.filter(pl.col("method") == method)
    rows = rows.sort(
        (pl.col("support") == support).fill_null(True),
        (pl.col("method") == _DEFAULT_METHOD).fill_null(False),
        maintain_order=True,
    )
    columns = zip(*(rows[name].to_list() for name in (*keys, *_FIELDS)), strict=True)
    width = len(keys)
    return {values[:width]: Number(*values[width:]) for values in columns}


def leading_support(frame: pl.DataFrame) -> str:
    """The support that leads: ``equal`` in preset ``strict``, else ``raw``."""
    return "equal" if bool((frame["preset"] == "strict").any()) else "raw"


def generators_in(frame: pl.DataFrame, order: Sequence[str], *, mean: bool = True) -> list[str]:
    """Generators with estimates in the configured order; the mean last, if wanted and there."""
    seen = set(frame["generator"].drop_nulls().unique())
    found = [name for name in order if name in seen and name != MEAN]
    found += sorted(seen - set(order) - {MEAN})
    return [*found, MEAN] if mean and MEAN in seen and len(found) > 1 else found


def summary_of(frame: pl.DataFrame) -> pl.DataFrame:
    """All but the numbers of single role-label associations, which are most rows by far."""
    return frame.filter(pl.col("role").is_null() | pl.col("label").is_null())


def conditions_in(frame: pl.DataFrame) -> list[str]:
    """Conditions with images, in the order of every table."""
    seen = set(_with_images(frame)["condition"].drop_nulls().unique())
    return [name for name in CONDITIONS if name in seen]


def roles_in(frame: pl.DataFrame) -> list[str]:
    """Roles with images, by name."""
    return sorted(_with_images(frame)["role"].drop_nulls().unique())


def _with_images(frame: pl.DataFrame) -> pl.DataFrame:
    """Prevalences of roles, and counts of images that are not 0."""
    counted = (pl.col("estimand") == "images") & (pl.col("n") > 0)
    prevalence = (pl.col("estimand") == "prevalence") & pl.col("role").is_not_null()
    return frame.filter(counted | prevalence)


def cohorts_in(numbers: Index, position: int = 3) -> list[str]:
    """Cohorts among the keys, in codebook order, then ``all``."""
    seen = {key[position] for key in numbers}
    return [name for name in (*COHORTS, ALL) if name in seen]


def dimension_order(names: Iterable[str]) -> list[str]:
    """Dimensions in codebook order; unknown ones last, by name."""
    place = {name: rank for rank, name in enumerate(DIMENSIONS)}
    return sorted(names, key=lambda name: (place.get(name, len(place)), name))


def cohort_of(dimension: str, default: str = "") -> str:
    """Cohort of a codebook dimension."""
    found = DIMENSIONS.get(dimension)
    return found.cohort if found else default
