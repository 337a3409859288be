"""Which contrast a card leads with, and the words for it.

Unrelated contexts against none, where a study has both; else what it has. A study without
context-free prompts compares unrelated contexts with related ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from contextbias.report.inputs import ALL
from contextbias.report.select import CONTRASTS, Index


@dataclass(frozen=True, slots=True)
class Leading:
    """A contrast in words."""

    contrast: str
    """As in the estimates."""
    scenes: str
    """Completes "people are presented more uniformly"."""
    against: str
    """Completes "labels are more concentrated"."""
    between: str
    """Completes "Bias Intensity differs between"."""
    when: str
    """Begins a sentence about all generators."""


LEADING = {
    "CA-U - CF": Leading(
        contrast="CA-U - CF",
        scenes="in unrelated scenes",
        against="in unrelated contexts than without one",
        between="between unrelated contexts and none",
        when="When the scene has nothing to do with the role",
    ),
    "CA-R - CF": Leading(
        contrast="CA-R - CF",
        scenes="in scenes of the role",
        against="in related contexts than without one",
        between="between related contexts and none",
        when="When the scene belongs to the role, instead of none being named",
    ),
    "CA-U - CA-R": Leading(
        contrast="CA-U - CA-R",
        scenes="in unrelated scenes than in related ones",
        against="in unrelated contexts than in related ones",
        between="between unrelated contexts and related ones",
        when="When the scene has nothing to do with the role, instead of belonging to it",
    ),
}
"""Words by contrast."""

DEFAULT = LEADING[CONTRASTS[0]]
"""The contrast of the paper's headline."""


def leading_of(numbers: dict[str, Index], generator: str) -> Leading | None:
    """The first contrast that a generator has a number of, about people or overall.

    Args:
        numbers: Forms of Bias Intensity by BI_KEYS.
        generator: Which generator.

    Returns:
        None when no conditions could be compared.
    """
    for contrast in CONTRASTS:
        for table in numbers.values():
            for cohort in ("people", ALL):
                found = table.get((generator, None, contrast, cohort, None))
                if found is not None and found.point is not None:
                    return LEADING[contrast]
    return None
