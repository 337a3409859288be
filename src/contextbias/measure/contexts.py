"""How many distinct contexts stand behind each condition.

With few contexts a condition's scenes are alike whatever the role is, and its pooled distribution
is more concentrated without any effect of roles: a difference of conditions is to be read beside
this number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from contextbias.measure.arrays import DimensionCounts, ReaderCounts
from contextbias.measure.caveats import UNDEFINED
from contextbias.measure.rows import Run, Settings, estimate_frame
from contextbias.tables import CONDITIONS

Context = tuple[str | None, str | None]
"""Location and activity of a prompt."""

IMPORTED = "imported"
"""Base of what stands for a prompt where images or counts came without one."""

_CONTEXT_FREE = "CF"


def context_estimates(counts: ReaderCounts, run: Run, settings: Settings) -> pl.DataFrame:
    """``distinct_contexts``: distinct pairs of location and activity, by generator and condition.

    Counted over the prompts that have an image; one that names neither a location nor an activity
    adds none, so it is 0 for CF. Outside CF such a prompt is one of which nothing is known: it
    counts as missing. Images and counts that were imported have no prompts of this study (base
    ``imported``): these do not count.

    Args:
        counts: The reader's counts.
        run: Keys of the rows.
        settings: With what is known of the prompts.

    Returns:
        Rows of tables.EstimateRow, ``n`` the prompts whose context is known, ``n_missing`` those
        whose context is not; the point is null, with the note ``not_defined``, where none is known.
        No row for a condition without an image of a prompt, and none at all where nothing is known
        of any prompt.
    """
    if settings.prompts is None:
        return estimate_frame([])
    own = pl.col("base") == IMPORTED
    imported = set(settings.prompts.filter(own)["prompt_id"])
    columns = settings.prompts.select("prompt_id", "location", "activity").iter_rows()
    known = {prompt: (location, activity) for prompt, location, activity in columns}
    seen: dict[tuple[str, str], set[str]] = {}
    for of in counts.dimensions:
        for condition, prompts in _asked(of):
            if prompts - imported:
                seen.setdefault((of.generator, condition), set()).update(prompts - imported)
    return estimate_frame([_row(run, key, prompts, known) for key, prompts in seen.items()])


def _asked(of: DimensionCounts) -> Iterator[tuple[str, set[str]]]:
    """Conditions with the prompts that have an image there, read or not."""
    found = of.prompts
    with_image = (found.n + found.missing) > 0
    for position, condition in enumerate(CONDITIONS):
        rows = (with_image & (found.condition == position)).nonzero()[0]
        if len(rows):
            yield condition, {found.prompt[row] for row in rows}


def _row(
    run: Run, key: tuple[str, str], prompts: set[str], known: Mapping[str, Context]
) -> dict[str, Any]:
    generator, condition = key
    contexts = [known.get(prompt, (None, None)) for prompt in prompts]
    named = [context for context in contexts if context != (None, None)]
    missing = 0 if condition == _CONTEXT_FREE else len(contexts) - len(named)
    told = missing < len(contexts)
    return run.row(
        "distinct_contexts", generator=generator, condition=condition, method="count",
        point=float(len(set(named))) if told else None,
        n=len(contexts) - missing, n_missing=missing, note=None if told else UNDEFINED,
    )  # fmt: skip
