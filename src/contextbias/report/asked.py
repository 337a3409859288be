"""What was run: generators, roles, prompts and how the conditions differ besides relatedness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from contextbias.report import formats
from contextbias.report.inputs import ALL, PLANTED, ReportInputs
from contextbias.report.sameness import equal_pictures, models
from contextbias.report.select import generators_in, index, readers_in
from contextbias.tables import CONDITIONS, Prompt

CONDITION_WORDS = {
    "CF": "the role alone, no context",
    "CA-R": "with a place or activity of the role",
    "CA-U": "with an unrelated, everyday one",
}
"""What the prompts of a condition name."""

_DERANGED = "with a place or activity of another role"
_IMPORTED = "imported"
_UNKNOWN = "not known"
_AS_LISTED = "as the list has them"


@dataclass(frozen=True, slots=True)
class ConditionRow:
    """One condition in the table of what was run."""

    name: str
    words: str
    """What its prompts name."""
    prompts: str
    contexts: str
    """Distinct contexts: pairs of place and activity."""
    told: str
    """Of how many prompts the context is known; empty where it is of all, or of none."""
    length: str
    """Words a prompt, the fewest and the most."""
    images: int


def run_rows(inputs: ReportInputs) -> list[tuple[str, str]]:
    """What was run, as short facts for the head of the page."""
    facts = inputs.facts
    roles = roles_of(inputs)
    order = [row.generator for row in facts.generators]
    generators = order or generators_in(inputs.estimates, order, mean=False)
    readers = [row.reader for row in facts.readers]
    counted = "" if inputs.images else "; counted elsewhere, no pictures here"
    rows = [
        ("Generators", ", ".join(generators)),
        ("Roles", formats.whole(len(roles)) if roles else ""),
        ("Images", f"{formats.whole(sum(_images(inputs).values()))}{counted}"),
        ("Equal pictures", equal_pictures(inputs.images)),
        ("Models", models(inputs.images)),
        ("Seeds", facts.seeds),
        ("Prompts", facts.bank),
        ("Readers", ", ".join(readers or readers_in(inputs.estimates, readers))),
        ("Preset", f"{facts.preset}; {facts.people} person"),
        ("Codebook", f"version {facts.codebook}"),
        ("Date", facts.made_at[:10]),
        ("Made with", f"contextbias {facts.version}"),
    ]
    return [(name, text) for name, text in rows if text]


def roles_of(inputs: ReportInputs) -> list[str]:
    """Roles with images, by name; empty when the images came without roles."""
    if inputs.images:
        return sorted({image.role for image in inputs.images} - {ALL})
    rows = inputs.estimates.filter(pl.col("estimand") == "images")
    return sorted(set(rows["role"].drop_nulls().unique()) - {ALL})


def condition_rows(inputs: ReportInputs) -> list[ConditionRow]:
    """Conditions with prompts or images, in the order of every table.

    Images that were imported came without the parts of their prompts, and perhaps without prompts:
    what is not known is not counted, and it is said of which generator.
    """
    images = _images(inputs)
    rows = []
    for condition in CONDITIONS:
        prompts = [prompt for prompt in inputs.prompts if prompt.condition == condition]
        if not images.get(condition) and not prompts:
            continue
        told = [prompt for prompt in prompts if prompt.text]
        contexts, of_prompts = _contexts(inputs.estimates, condition)
        rows.append(
            ConditionRow(
                name=condition,
                words=_words(condition, prompts, inputs),
                prompts=formats.whole(len(told)) if told else _UNKNOWN,
                contexts=contexts,
                told=of_prompts,
                length=_length(told),
                images=images.get(condition, 0),
            )
        )
    return rows


def confound(rows: Sequence[ConditionRow]) -> str:
    """A word of caution where prompts of the conditions differ in length; empty where not."""
    lengths = {row.length for row in rows if row.length != _UNKNOWN}
    if len(lengths) < 2:
        return ""
    return (
        "Prompts of the conditions differ in length too, so that length and context change "
        "together; no number on this page separates them."
    )


def _images(inputs: ReportInputs) -> dict[str, int]:
    """Images by condition; of answers that came counted, as the estimates say."""
    found = [image.condition for image in inputs.images]
    if found:
        return {condition: found.count(condition) for condition in CONDITIONS}
    read = inputs.estimates.filter(pl.col("reader") != PLANTED)
    first = read.filter(pl.col("reader") == read["reader"].min())
    counts = index(first, "images", ("generator", "role", "condition"))
    return {
        condition: sum(n.n or 0 for key, n in counts.items() if key[2] == condition)
        for condition in CONDITIONS
    }


def _words(condition: str, prompts: Sequence[Prompt], inputs: ReportInputs) -> str:
    imported = {prompt.prompt_id for prompt in prompts if prompt.base == _IMPORTED}
    if imported and len(imported) == len(prompts):
        return f"{_UNKNOWN}: imported {'pictures' if inputs.images else 'counts'}"
    came = sorted({image.generator for image in inputs.images if image.prompt_id in imported})
    asked = _asked_words(condition, inputs)
    return f"{asked}; of imported {', '.join(came)}: {_UNKNOWN}" if came else asked


def _asked_words(condition: str, inputs: ReportInputs) -> str:
    if inputs.facts.listed:
        return _AS_LISTED
    if condition == "CA-U" and "deranged" in inputs.facts.bank:
        return _DERANGED
    return CONDITION_WORDS[condition]


def contexts_known(estimates: pl.DataFrame) -> bool:
    """True when a context is known of some prompt; else prompts stand in for contexts."""
    known = (pl.col("estimand") == "distinct_contexts") & (pl.col("point") > 0)
    return not estimates.filter(known).is_empty()


def _contexts(estimates: pl.DataFrame, condition: str) -> tuple[str, str]:
    """``distinct_contexts`` of the condition, and of how many of its prompts they are known.

    Of several generators, from the fewest contexts to the most.
    """
    rows = estimates.filter(
        pl.col("estimand") == "distinct_contexts",
        pl.col("condition") == condition,
        pl.col("point").is_not_null(),
    )
    points = sorted(set(rows["point"]))
    if not points:
        return _UNKNOWN, ""
    partly = rows.filter(pl.col("n_missing") > 0).sort("n_missing", descending=True)
    told = ""
    for n, gone in partly.select("n", "n_missing").head(1).iter_rows():
        told = f"told by {formats.whole(n)} of {formats.whole(n + gone)} prompts"
    return _span(points), told


def _length(prompts: Sequence[Prompt]) -> str:
    """Words a prompt, where they are known: an imported one may be a short name."""
    lengths = {len(prompt.text.split()) for prompt in prompts if prompt.base != _IMPORTED}
    return _span(sorted(lengths)) if lengths else _UNKNOWN


def _span(values: Sequence[float]) -> str:
    low, high = formats.whole(values[0]), formats.whole(values[-1])
    return low if low == high else f"{low}\N{EN DASH}{high}"
