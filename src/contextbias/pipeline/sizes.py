"""What a design can find, and how large it would have to be: the tables of `contextbias plan`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from contextbias.pipeline.design import INDEPENDENT, Design, Likeness
from contextbias.stats.equivalence_power import (
    equivalence_power,
    invariance_floor,
    size_for_equivalence,
)
from contextbias.stats.power import (
    detectable_mean,
    detectable_range,
    discovery_level,
    hardest_pattern,
    mean_half_width,
    mean_power,
    shift_power,
    shifted_rates,
    smallest_number,
)
from contextbias.stats.proportion import FloatArray

PREVALENCES = (0.5, 0.8, 0.9, 0.95, 0.98)
"""Rows of the tables; the prevalence that is asked about is added."""

DIFFERENCES = (0.02, 0.05, 0.10)
"""Differences of Bias Intensity for which the roles needed are given."""

MOST_IMAGES = 1_000_000
"""Images of a prompt, and roles, beyond which a goal counts as out of reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aims:
    """What a study should be able to show."""

    target: str = "invariant"
    """``invariant`` or ``shift``: which of the two the answer is about."""
    power: float = 0.8
    """With what probability."""
    alpha: float = 0.05
    """Level of the tests; intervals have 1 - alpha."""
    margin_pp: float = 5.0
    """Largest range, in percentage points, that counts as no change."""
    prevalence: float = 0.9
    """Of the label that the answer is about, as a fraction of 1."""
    range_pp: float = 10.0
    """The shift to be found, in percentage points."""
    shifted_share: float = 0.1
    """Share of all labels that truly shift; decides what adjusting for many tests costs."""

    @property
    def margin(self) -> float:
        """The margin as a fraction of 1."""
        return self.margin_pp / 100.0

    @property
    def level(self) -> float:
        """Level at which a single test rejects after adjustment for all labels."""
        return discovery_level(self.shifted_share, self.power, alpha=self.alpha)


@dataclass(frozen=True, slots=True)
class Spread:
    """Standard deviation over roles of a difference of Bias Intensity between two conditions."""

    what: str
    """Of what: ``overall``, ``people``, ``one dimension`` …"""
    sd: float
    """Sampling noise of a role's images included."""


def comparisons(design: Design, aims: Aims, likeness: Likeness) -> dict[str, Any]:
    """Everything about comparing conditions label by label; empty with fewer than two conditions.

    Returns:
        ``conditions``: images, contexts, design effects. ``floor``: images of a condition below
        which ``invariant`` cannot come out. ``prevalences``: one row each, worked out for
        independent images and for images as alike as `likeness` says. ``answer``.
    """
    if len(design.arms) < 2:
        return {}
    prevalences = sorted({*PREVALENCES, aims.prevalence})
    views = {"independent": INDEPENDENT, "clustered": likeness}
    found = {name: _rows(prevalences, design, aims, view) for name, view in views.items()}
    floor = invariance_floor(margin=aims.margin, alpha=aims.alpha, conditions=len(design.arms))
    rows = [
        {"prevalence": p, **{name: found[name][i] for name in views}}
        for i, p in enumerate(prevalences)
    ]
    return {
        "conditions": _conditions(design, likeness),
        "floor": floor,
        "prevalences": rows,
        "answer": _answer(design, aims, likeness, floor),
    }


def _conditions(design: Design, likeness: Likeness) -> list[dict[str, Any]]:
    effects = likeness.effects(design)
    return [
        {
            "condition": arm.condition,
            "prompts": arm.prompts,
            "contexts": arm.contexts,
            "images": int(n),
            "design_effect": float(effect),
            "effective_images": float(n / effect),
        }
        for arm, n, effect in zip(design.arms, design.images(), effects, strict=True)
    ]


def _rows(
    prevalences: list[float], design: Design, aims: Aims, view: Likeness
) -> list[dict[str, Any]]:
    """What is found at each prevalence, with the images that the design has."""
    n, df = view.effective(design), view.error_df(design)
    p = np.array(prevalences)
    pattern, margin, level, power = _last_differs(n.size), aims.margin, aims.level, aims.power
    test = detectable_range(p, n, pattern, power=power, alpha=aims.alpha, error_df=df).point
    shifted = detectable_range(
        p, n, pattern, power=power, alpha=level, error_df=df, margin=margin
    ).point
    hardest = detectable_range(
        p, n, hardest_pattern(n), power=power, alpha=level, error_df=df, margin=margin
    ).point
    return [
        {
            "detectable_pp": _percent(test[i]),
            "shifted_pp": _percent(shifted[i]),
            "shifted_hardest_pp": _percent(hardest[i]),
            "invariant_power": equivalence_power(
                np.full(n.size, each), n, margin=margin, alpha=aims.alpha
            ).point,
        }
        for i, each in enumerate(prevalences)
    ]


def _last_differs(conditions: int) -> FloatArray:
    """The last condition differs from the others, which agree: scenes foreign to the role do it."""
    pattern = np.zeros(conditions)
    pattern[-1] = 1.0
    return pattern


def _answer(design: Design, aims: Aims, likeness: Likeness, floor: int) -> dict[str, Any]:
    """Images needed for the target: in this design's proportions, and with equal conditions."""
    needed = _needed_invariant if aims.target == "invariant" else _needed_shift
    equal = needed(aims, lambda size: np.full(len(design.arms), float(size)), math.inf)
    found: dict[str, Any] = {
        "target": aims.target,
        "prevalence": aims.prevalence,
        "floor": floor,
        "images_per_condition_if_equal": equal,
    }
    for name, view in (("independent", INDEPENDENT), ("clustered", likeness)):
        seeds = needed(aims, partial(view.effective, design), view.error_df(design))
        found[name] = _size(design, seeds)
    # Without likeness, or with a fixed design effect, images count without limit.
    limited = likeness.effect is None and likeness.correlation > 0
    most = float(min(likeness.effective(design, MOST_IMAGES))) if limited else None
    found["most_effective_images"] = most
    found["contexts_per_condition"] = _contexts(design, likeness, equal) if limited else None
    return found


def _size(design: Design, seeds: int | None) -> dict[str, Any]:
    """A number of images a prompt, spelt out; None: out of reach."""
    if seeds is None:
        return {"images_per_prompt": None, "images": None, "images_a_generator": None}
    images = {arm.condition: arm.prompts * seeds for arm in design.arms}
    total = sum(images.values()) * design.roles
    return {"images_per_prompt": seeds, "images": images, "images_a_generator": total}


def _contexts(design: Design, likeness: Likeness, equal: int | None) -> int | None:
    """Contexts that each condition needs, each with as many images as a context has now."""
    if equal is None:
        return None
    size = max(arm.alike for arm in design.arms) * design.images_per_prompt
    effect = likeness.effect or 1.0 + (max(size, 1.0) - 1.0) * likeness.correlation
    return math.ceil(equal * effect / max(size, 1.0))


def _needed_invariant(aims: Aims, images: Callable[[int], FloatArray], _: float) -> int | None:
    conditions = images(1).size
    return size_for_equivalence(
        np.full(conditions, aims.prevalence), images, margin=aims.margin, power=aims.power,
        alpha=aims.alpha, limit=MOST_IMAGES,
    )  # fmt: skip


def _needed_shift(aims: Aims, images: Callable[[int], FloatArray], error_df: float) -> int | None:
    conditions = images(1).size
    pattern = _last_differs(conditions)
    moved = shifted_rates(aims.prevalence, aims.range_pp / 100, pattern, conditions=conditions)
    rates = np.clip(moved, 0.0, 1.0)

    def reaches(size: int) -> bool:
        power = shift_power(
            rates, images(size), margin=aims.margin, alpha=aims.level, error_df=error_df
        )
        return bool(power >= aims.power)

    return smallest_number(reaches, limit=MOST_IMAGES) if reaches(MOST_IMAGES) else None


def intensity(design: Design, aims: Aims, spreads: list[Spread]) -> list[dict[str, Any]]:
    """Width of the intervals of Bias Intensity's differences, and roles needed, for each spread.

    No difference of Bias Intensity is larger than 1: intervals end there, and a difference beyond
    it is none that could be found.
    """
    rows = []
    for spread in spreads:
        half = float(mean_half_width(design.roles, spread.sd, alpha=aims.alpha))
        found = detectable_mean(design.roles, spread.sd, power=aims.power, alpha=aims.alpha)
        possible = found.point <= 1.0
        rows.append(
            {
                "what": spread.what,
                "sd": spread.sd,
                "half_width": None if math.isnan(half) else min(half, 1.0),
                "detectable": float(found.point) if possible else None,
                "roles_needed": {
                    f"{difference:.2f}": _roles_needed(difference, spread.sd, aims)
                    for difference in DIFFERENCES
                },
            }
        )
    return rows


def _roles_needed(difference: float, sd: float, aims: Aims) -> int | None:
    def reaches(roles: int) -> bool:
        return bool(mean_power(difference, roles, sd, alpha=aims.alpha) >= aims.power)

    return smallest_number(reaches, limit=MOST_IMAGES)


def _percent(value: float) -> float | None:
    return None if np.isnan(value) else 100.0 * float(value)
