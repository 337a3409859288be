"""The whole plan of a study, before any spend: work, sizes, and what they are good for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl

from contextbias.bench import build_prompts, load_bank
from contextbias.errors import InputError
from contextbias.pipeline.design import (
    Design,
    Likeness,
    design_of_counts,
    design_of_images,
    design_of_prompts,
)
from contextbias.pipeline.selection import Wanted
from contextbias.pipeline.sizes import Aims, Spread, comparisons, intensity
from contextbias.pipeline.workload import workload
from contextbias.progress import counted
from contextbias.store import Study

CORRELATION = 0.05
"""Intraclass correlation that is assumed where nothing is known."""

SPREADS = {"overall": 0.05, "people": 0.05, "one dimension": 0.2}
"""Standard deviations over roles that are assumed where nothing is known: those of the demo study
(12 roles, 5 images a prompt), where the four combinations of generator and reader had .035 to .050
overall, .039 to .052 for people, and .15 to .24 for a dimension of people."""

_CONTRAST = ("CA-U", "CF")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What the caller states; None: from the study, its pilot, or the defaults."""

    roles: int | None = None
    """Number of roles."""
    images_per_prompt: int | None = None
    """Seeds a prompt."""
    correlation: float | None = None
    """Intraclass correlation of images of one context."""
    design_effect: float | None = None
    """Design effect of every condition, whatever its number of images."""
    role_sd: float | None = None
    """Standard deviation over roles of a difference of Bias Intensity."""


def plan(
    study: Study | None, aims: Aims, assumptions: Assumptions, pilot: Study | None = None
) -> dict[str, Any]:
    """Plan a study; see docs/planning.md.

    Args:
        study: Any study, finished or without a single image; None: the whole of ContextBench.
        aims: What it should be able to show.
        assumptions: What the caller states.
        pilot: Another study whose estimates tell how alike images and how unlike roles are; None:
            the study's own estimates, where there are some.

    Returns:
        ``study``, ``aims``, ``design``, ``likeness``, ``work`` (None without a study),
        ``comparisons`` (see `sizes.comparisons`) and ``bias_intensity`` (see `sizes.intensity`;
        empty without CF and CA-U): plain values, ready for JSON.

    Raises:
        ConfigError: What the study asks for cannot be had.
        InputError: The pilot has no estimates.
    """
    wanted = None if study is None else Wanted(study)
    estimates = _estimates(study, pilot)
    design = _changed(_design(wanted), assumptions)
    likeness = _likeness(estimates, assumptions)
    return {
        "study": None
        if study is None
        else {"name": study.config.study.name, "folder": str(study.root)},
        "aims": {**asdict(aims), "level_of_one_test": aims.level},
        "design": asdict(design),
        "likeness": asdict(likeness),
        "work": None if wanted is None else workload(wanted),
        "comparisons": comparisons(design, aims, likeness),
        "bias_intensity": _intensity(design, aims, _spreads(estimates, assumptions)),
    }


def _intensity(design: Design, aims: Aims, spreads: list[Spread]) -> list[dict[str, Any]]:
    """Nothing where the two conditions of the difference are not both there."""
    there = {arm.condition for arm in design.arms}
    return intensity(design, aims, spreads) if there.issuperset(_CONTRAST) else []


def _design(wanted: Wanted | None) -> Design:
    if wanted is None:
        return design_of_prompts(build_prompts(load_bank("contextbench")), images_per_prompt=10)
    if wanted.prompts:
        seeds = wanted.study.config.study.images_per_prompt
        return design_of_prompts(wanted.prompts, images_per_prompt=seeds)
    images = wanted.images()
    return design_of_images(images) if images else design_of_counts(wanted.study.frequencies())


def _changed(design: Design, assumptions: Assumptions) -> Design:
    return replace(
        design,
        roles=assumptions.roles or design.roles,
        images_per_prompt=assumptions.images_per_prompt or design.images_per_prompt,
    )


def _estimates(study: Study | None, pilot: Study | None) -> tuple[str, pl.DataFrame] | None:
    """Whose estimates, and the rows of one reader: the study's first one, where it is in them."""
    source = study if pilot is None else pilot
    table = None if source is None else source.estimates()
    if source is None or table is None or table.is_empty():
        if pilot is not None:
            raise InputError(
                f"{pilot.root} has no estimates", "run it first, or name another --pilot"
            )
        return None
    readers = [reader.name for reader in source.config.readers]
    known = set(table["reader"].unique()) - {"planted", "people"}
    first = next((name for name in readers if name in known), min(known, default=""))
    name = "this study's estimates" if pilot is None else f"the estimates of {pilot.root.name}"
    return name, table.filter(pl.col("reader") == first)


def _likeness(estimates: tuple[str, pl.DataFrame] | None, assumptions: Assumptions) -> Likeness:
    if assumptions.design_effect is not None:
        effect = assumptions.design_effect
        return Likeness(
            correlation=0.0, effect=effect, source=f"design effect {effect:g}, as given"
        )
    if assumptions.correlation is not None:
        return Likeness(correlation=assumptions.correlation, source="as given")
    if estimates is not None:
        name, table = estimates
        rows = table.filter(
            pl.col("estimand") == "intraclass_correlation", pl.col("point").is_not_null()
        )
        if rows.height:
            found = rows["point"]
            mean = float(found.mean())  # type: ignore[arg-type]
            largest = float(found.max())  # type: ignore[arg-type]
            over = f"{counted(rows['dimension'].n_unique(), 'dimension')} of "
            over += counted(rows["generator"].n_unique(), "generator")
            source = f"{name}: mean over {over}, at most {largest:.2f}"
            return Likeness(correlation=mean, source=source)
    return Likeness(correlation=CORRELATION, source="assumed: no study that tells is at hand")


def _spreads(estimates: tuple[str, pl.DataFrame] | None, assumptions: Assumptions) -> list[Spread]:
    if assumptions.role_sd is not None:
        return [Spread("as given", assumptions.role_sd)]
    measured = {} if estimates is None else _measured_spreads(estimates[1])
    known: Mapping[str, float] = measured or {f"{k} (assumed)": sd for k, sd in SPREADS.items()}
    return [Spread(what, sd) for what, sd in known.items() if sd > 0]


def _measured_spreads(table: pl.DataFrame) -> dict[str, float]:
    """Root mean square over generators of the standard deviation over roles of CA-U less CF."""
    rows = table.filter(
        pl.col("estimand") == "bi_role", pl.col("role").is_not_null(), pl.col("support") == "equal",
        pl.col("condition").is_in(_CONTRAST),
    )  # fmt: skip
    keys = ["generator", "cohort", "dimension", "role"]
    first, second = (
        rows.filter(pl.col("condition") == name).select(*keys, pl.col("point").alias(name))
        for name in _CONTRAST
    )
    each = first.join(second, on=keys, maintain_order="left").select(
        *keys, d=pl.col("CA-U") - pl.col("CF")
    )
    cohorts = each.group_by("generator", "role", "cohort", maintain_order=True).agg(
        pl.col("d").mean()
    )
    overall = cohorts.group_by("generator", "role", maintain_order=True).agg(pl.col("d").mean())
    people = cohorts.filter(pl.col("cohort") == "people")
    found = {
        "overall": _root_mean_square(overall, ["generator"]),
        "people": _root_mean_square(people, ["generator"]),
        "one dimension": _root_mean_square(each, ["generator", "dimension"]),
    }
    return {what: sd for what, sd in found.items() if sd is not None}


def _root_mean_square(table: pl.DataFrame, groups: list[str]) -> float | None:
    variances = table.group_by(groups, maintain_order=True).agg(pl.col("d").var())["d"].drop_nulls()
    return None if variances.is_empty() else float(variances.mean()) ** 0.5  # type: ignore[arg-type]
