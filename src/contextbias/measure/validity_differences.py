"""Whether errors about known labels differ by role, condition, generator or apparent person.

Prompts of different roles and conditions are compared by their error rates where they name the
same label. Images of one prompt are compared by generator; images of one prompt and generator by
how the person appears to the reader (presentation, skin tone), leaving out prompts that name that
very dimension. So nothing is taken for a difference that lies in what was asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from contextbias.measure.rows import Run, Settings
from contextbias.stats.labelled import Difference, stratified_permutation
from contextbias.stats.multiplicity import benjamini_hochberg

_REPLICATES = 999


@dataclass(frozen=True, slots=True)
class _Question:
    """One comparison."""

    name: str
    by: str
    strata: tuple[str, ...]
    of_prompts: bool


_QUESTIONS = (
    _Question("role", "role", ("dimension", "label", "present"), of_prompts=True),
    _Question("condition", "condition", ("dimension", "label", "present"), of_prompts=True),
    _Question("generator", "generator", ("prompt_id",), of_prompts=False),
    _Question("gender_presentation", "gender_presentation", ("prompt_id", "generator"),
              of_prompts=False),
    _Question("skin_tone", "skin_tone", ("prompt_id", "generator"), of_prompts=False),
)  # fmt: skip


def difference_rows(scored: pl.DataFrame, run: Run, settings: Settings) -> Iterator[dict[str, Any]]:
    """``known_errors_p`` and ``known_errors_q`` of each comparison of one reader.

    Args:
        scored: One row an image: role, condition, generator, prompt_id, dimension,
            gender_presentation, skin_tone, answered and right (0 or 1).
        run: Keys of the rows.
        settings: The seed; without replicates of the bootstrap there is no test either.

    Yields:
        ``method`` says what is compared (``by role``); n: prompts, or images, that could tell. The
        family of q are the comparisons of this reader. Null, note ``not_defined``, where nothing
        can be compared.
    """
    count = min(_REPLICATES, settings.bootstrap)
    answered = scored.filter(pl.col("answered") > 0)
    found = [_tested(answered, question, count, settings.seed) for question in _QUESTIONS]
    q = benjamini_hochberg(np.array([each.p for each in found])).q
    for question, each, adjusted in zip(_QUESTIONS, found, q, strict=True):
        for estimand, value in (("known_errors_p", each.p), ("known_errors_q", float(adjusted))):
            yield run.row(
                estimand, condition="all", cohort="all", method=f"by {question.name}",
                point=value, n=each.n, note="not_defined" if np.isnan(value) else None,
            )  # fmt: skip


def _tested(answered: pl.DataFrame, question: _Question, replicates: int, seed: int) -> Difference:
    rows = answered.filter(
        pl.col(question.by).is_not_null(), pl.col("dimension") != question.name
    ).with_columns(error=1 - pl.col("right"))
    if question.of_prompts:
        keys = ["prompt_id", "role", "condition", "dimension", "label", "present"]
        rows = rows.group_by(keys).agg(pl.col("error").mean()).sort("prompt_id")
    if replicates == 0:
        return Difference(np.nan, 0, 0)
    strata = pl.concat_str([pl.col(s).cast(pl.String) for s in question.strata], separator="\x1f")
    return stratified_permutation(
        rows["error"].to_numpy(),
        _codes(rows[question.by]),
        _codes(rows.select(strata.alias("stratum"))["stratum"]),
        replicates=replicates,
        random=np.random.default_rng(seed),
    )


def _codes(words: pl.Series) -> NDArray[np.int64]:
    return np.unique(words.to_numpy(), return_inverse=True)[1].astype(np.int64)
