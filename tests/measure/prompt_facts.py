"""Attributes of ContextBench's prompts, for the tests of what images of one prompt share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.measure.facts import fact

VARIANTS = {
    "CF": [f"cf/phrasing-{i}" for i in (1, 2, 3)],
    "CA-R": [
        *(f"rel-place/phrasing-{i}" for i in (1, 2, 3)),
        "rel-place/substitute-location",
        *(f"rel-activity/phrasing-{i}" for i in (1, 2, 3)),
    ],
    "CA-U": [
        *(f"unrel-place/phrasing-{i}" for i in (1, 2, 3)),
        "unrel-place/substitute-location",
        *(f"unrel-activity/phrasing-{i}" for i in (1, 2, 3)),
        "unrel-activity/substitute-activity",
    ],
}
"""Prompts of a role by condition."""
CONDITION = {variant: condition for condition, names in VARIANTS.items() for variant in names}
"""Condition of each prompt."""


def prompted(hits: Mapping[str, int], *, images: int = 10, **fields: Any) -> list[dict[str, Any]]:
    """Images of one role and two-label dimension: variant -> how many of its images say yes.

    Args:
        hits: Every variant that has images.
        images: Images of each.
        fields: Columns of all rows.
    """
    where = "-".join(str(fields.get(name, "")) for name in ("generator", "role"))
    return [
        fact(
            f"{where}-{variant}-{number}",
            str(fields.get("dimension", "tattoo_present")),
            "yes" if number < yes else "no",
            condition=CONDITION.get(variant, "CF"),
            prompt_id=f"{where}-{variant}",
            variant=variant,
            seed=number,
            **{name: value for name, value in fields.items() if name != "dimension"},
        )
        for variant, yes in hits.items()
        for number in range(images)
    ]


def everywhere(yes: int, **changes: int) -> dict[str, int]:
    """The same number of hits for every prompt, but for some."""
    return dict.fromkeys(CONDITION, yes) | changes
