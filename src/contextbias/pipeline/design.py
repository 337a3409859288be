"""How large a study is, seen from one cell: a role of a generator, with its conditions.

A cell's conditions have prompts, and prompts have images. Phrasings of one base share a context;
images of one context are alike, so that they count for fewer than they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from contextbias.stats.proportion import FloatArray
from contextbias.tables import CONDITIONS, FrequencyRow, ImageRow, Prompt

_PHRASING = "phrasing-"
_TOLD = ("/phrasing-", "/substitute-")
_IMAGES = 10  # a prompt, in the paper


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One condition of a role."""

    condition: str
    """``CF``, ``CA-R`` or ``CA-U``."""
    prompts: int
    """Prompts of a role."""
    contexts: int
    """Contexts that they have: a base with its phrasings is one, a substitution is one."""
    alike: float
    """Prompts in the context of a prompt, itself included, on average over the prompts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What every role of a study is asked for."""

    roles: int
    """How many roles."""
    images_per_prompt: int
    """Seeds a prompt."""
    arms: tuple[Arm, ...]
    """The conditions that have prompts, in the order of every table."""
    contexts_known: bool = True
    """False where no prompt says what it is a variant of: prompts stand in for contexts."""

    def images(self, per_prompt: int | None = None) -> FloatArray:
        """Images of a role in each condition, shape (conditions,)."""
        seeds = self.images_per_prompt if per_prompt is None else per_prompt
        return np.array([arm.prompts * seeds for arm in self.arms], dtype=np.float64)

    def error_df(self) -> int:
        """Contexts less conditions, over conditions with several contexts and all roles."""
        return self.roles * sum(arm.contexts - 1 for arm in self.arms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """How alike images of one context are taken to be."""

    correlation: float
    """Intraclass correlation; 0 for independent images."""
    effect: float | None = None
    """Design effect of every condition, at any number of images; None: from the correlation."""
    source: str
    """Where it comes from, in words."""

    def effects(self, design: Design, per_prompt: int | None = None) -> FloatArray:
        """Design effect of each condition: 1 + (m - 1) rho, m the images of an image's context."""
        if self.effect is not None:
            return np.full(len(design.arms), self.effect)
        seeds = design.images_per_prompt if per_prompt is None else per_prompt
        size = np.array([arm.alike * seeds for arm in design.arms])
        return np.asarray(1.0 + (np.maximum(size, 1.0) - 1.0) * self.correlation)

    def effective(self, design: Design, per_prompt: int | None = None) -> FloatArray:
        """Effective images of each condition: images / design effect."""
        return np.asarray(design.images(per_prompt) / self.effects(design, per_prompt))

    def error_df(self, design: Design) -> float:
        """What the design effect will rest on in the study's own test; infinite if it is given."""
        return np.inf if self.effect is not None or self.correlation == 0 else design.error_df()


INDEPENDENT = Likeness(correlation=0.0, source="images of one context are independent")
"""What the naive tests take for granted."""


def design_of_prompts(prompts: Sequence[Prompt], *, images_per_prompt: int) -> Design:
    """The design of a study that asks for `prompts`; roles that differ in size have the median."""
    named = [(p.role, p.condition, f"{p.base}/{p.variant}") for p in prompts]
    return _design(named, images_per_prompt=images_per_prompt)


def design_of_images(images: Iterable[ImageRow]) -> Design:
    """The design of images that exist; images of a prompt are the median over prompts."""
    by_prompt = Counter((i.generator, i.role, i.condition, i.variant, i.prompt_id) for i in images)
    named = list(dict.fromkeys((role, c, variant) for _, role, c, variant, _ in by_prompt))
    seeds = round(median(by_prompt.values())) if by_prompt else 1
    return _design(named, images_per_prompt=seeds)


def design_of_counts(rows: Iterable[FrequencyRow]) -> Design:
    """The design of answers counted elsewhere; 10 images a prompt where no number is given."""
    kept = list(rows)
    named = list(dict.fromkeys((row.role, row.condition, row.variant) for row in kept))
    known = [row.images for row in kept if row.images is not None]
    return _design(named, images_per_prompt=round(median(known)) if known else _IMAGES)


def _design(prompts: Sequence[tuple[str, str, str]], *, images_per_prompt: int) -> Design:
    """Of (role, condition, ``base/variant``) of every prompt."""
    roles = {role for role, _, _ in prompts}
    arms = []
    for condition in CONDITIONS:
        by_role: dict[str, list[str]] = {}
        for role, name, variant in prompts:
            if name == condition:
                by_role.setdefault(role, []).append(variant)
        if by_role:
            arms.append(_arm(condition, list(by_role.values())))
    known = any(mark in variant for _, _, variant in prompts for mark in _TOLD)
    return Design(
        roles=len(roles),
        images_per_prompt=images_per_prompt,
        arms=tuple(arms),
        contexts_known=known,
    )


def _arm(condition: str, by_role: list[list[str]]) -> Arm:
    contexts = [Counter(_context(variant) for variant in variants) for variants in by_role]
    alike = [sum(k * k for k in found.values()) / found.total() for found in contexts]
    return Arm(
        condition=condition,
        prompts=round(median(found.total() for found in contexts)),
        contexts=round(median(len(found) for found in contexts)),
        alike=float(median(alike)),
    )


def _context(variant: str) -> str:
    """Phrasings of one base share a context; what is no phrasing is its own."""
    base, _, last = variant.rpartition("/")
    return base if base and last.startswith(_PHRASING) else variant
