"""What people answered, as tables: the answers that count, and what they agree on.

Only items of the sample count, and only annotators whom the declared rules do not exclude. Missing
answers are votes (where most people see nothing, nothing is what people see), but no labels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from contextbias.annotation_tables import SAMPLE, SET, LabelRow
from contextbias.measure.nothing import is_nothing
from contextbias.schema import DIMENSIONS
from contextbias.tables import EMPTY_LIST

PEOPLE = "people"
"""Reader of numbers about people among themselves."""

SIMULATED = "simulated_people"
"""Note where some of the annotators are simulated."""

PEOPLE_SCHEMA: dict[str, Any] = {
    "annotator": pl.String,
    "simulated": pl.Boolean,
    "kind": pl.String,
    "item": pl.String,
    "repeat": pl.Int64,
    "generator": pl.String,
    "role": pl.String,
    "condition": pl.String,
    "image_ids": pl.List(pl.String),
    "probability": pl.Float64,
    "every_role": pl.Boolean,
    "dimension": pl.String,
    "labels": pl.List(pl.String),
    "missing_reason": pl.String,
    "count": pl.Int64,
}
"""Columns and types of the answers that count."""


def people_frame(
    rows: Iterable[LabelRow],
    canonical: Callable[[str, str], str],
    leave_out: Collection[str] = (),
    *,
    every_role: bool = True,
) -> pl.DataFrame:
    """The answers that count.

    Args:
        rows: Latest answers, of all kinds of items and annotators.
        canonical: Dimension and typed words -> the label under which readings are counted.
        leave_out: Annotators whom a rule excludes.
        every_role: Whether images of every role could be drawn; if not, people say something about
            those roles alone of which items were drawn.

    Returns:
        Columns of `PEOPLE_SCHEMA`, sorted. ``none`` in a list is an empty list.
    """
    found = []
    for row in rows:
        if row.purpose != SAMPLE or row.annotator in leave_out:
            continue
        labels, reason = _canonical(row, canonical)
        own = {
            "every_role": every_role,
            "simulated": row.annotator_kind == "simulated",
            "labels": labels,
            "missing_reason": reason,
            "image_ids": list(row.image_ids),
        }
        found.append(
            {name: own[name] if name in own else getattr(row, name) for name in PEOPLE_SCHEMA}
        )
    frame = pl.DataFrame(found, schema=PEOPLE_SCHEMA)
    return frame.sort("kind", "item", "dimension", "annotator", "repeat")


def _canonical(row: LabelRow, canonical: Callable[[str, str], str]) -> tuple[list[str], str | None]:
    if row.missing_reason is not None:
        return [], row.missing_reason
    labels = {canonical(row.dimension, label) for label in row.labels} - {""}
    labels = {label for label in labels if not is_nothing(row.dimension, label)}
    return sorted(labels), None if labels else EMPTY_LIST


@dataclass(frozen=True, slots=True)
class Consensus:
    """What people agree on about one question and one item."""

    kind: str
    """``set`` or ``image``."""
    item: str
    """Which item."""
    generator: str
    """Which generator."""
    role: str
    """Which role."""
    condition: str
    """Which condition."""
    image_ids: tuple[str, ...]
    """Which pictures."""
    probability: float
    """Probability with which an image of the cell was drawn."""
    dimension: str
    """Which question."""
    shares: dict[str, float]
    """Label -> 1, or 1/k where k labels tie (of a list: 1/2 where half of the people saw it).
    `EMPTY_LIST` stands for nothing of the kind. Empty when the answer is missing."""
    reason: str | None
    """Why there is no answer; None where there is one."""
    raters: int
    """Who answered, with a label or a reason."""
    votes: int
    """How many of them stand behind the answer; of a list, as many as gave the whole of it."""
    prevalence_paper: float | None
    """Mean count over all raters who gave one, as a share of the pictures; None for a picture."""
    prevalence: float | None
    """The same over the raters who chose the consensus."""


def consensus(people: pl.DataFrame) -> list[Consensus]:
    """What most people say: the paper's rule for sets, and the majority for single pictures.

    - One label: the label with the most votes. Of several, that with the higher mean count among
      the raters who chose it; where that does not tell either, they share.
    - Lists of a single picture: the labels that more than half of those who answered gave.
    - Reasons of missing are votes, too, and win together where they have more than the first label.

    Args:
        people: Columns of `PEOPLE_SCHEMA`. Only first answers are used.

    Returns:
        By kind, item and dimension.
    """
    first = people.filter(pl.col("repeat") == 0)
    parts: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in first.iter_rows(named=True):
        parts[row["kind"], row["item"], row["dimension"]].append(row)
    return [_consensus(rows) for _, rows in sorted(parts.items())]


def _consensus(rows: Sequence[dict[str, Any]]) -> Consensus:
    head = rows[0]
    answered = [row for row in rows if is_answered(row)]
    missing = [row["missing_reason"] for row in rows if not is_answered(row)]
    several = DIMENSIONS[head["dimension"]].kind == "many" and head["kind"] != SET
    shares = _of_list(answered) if several else _of_one(answered)
    behind = [row for row in answered if set(given(row)) & set(shares)] if not several else [
        row for row in answered if set(given(row)) == set(shares)
    ]  # fmt: skip
    most = max((sum(label in given(row) for row in answered) for label in shares), default=0)
    if len(missing) > (len(answered) if several else most):
        shares, behind = {}, []
    reason = None if shares else max(sorted(set(missing)), key=missing.count, default="unknown")
    return Consensus(
        **{name: head[name] for name in ("kind", "item", "generator", "role", "condition")},
        image_ids=tuple(head["image_ids"]),
        probability=head["probability"],
        dimension=head["dimension"],
        shares=shares,
        reason=reason,
        raters=len(rows),
        votes=len(behind) if shares else len(missing),
        prevalence_paper=_prevalence(rows) if shares else None,
        prevalence=_prevalence(behind),
    )


def is_answered(row: dict[str, Any]) -> bool:
    """Whether an answer says something about the picture; an empty list does."""
    return row["missing_reason"] in (None, EMPTY_LIST)


def given(row: dict[str, Any]) -> list[str]:
    """Labels of an answer, `EMPTY_LIST` for an empty list; nothing for a missing one."""
    return [EMPTY_LIST] if row["missing_reason"] == EMPTY_LIST else row["labels"]


def _of_one(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    votes: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        for label in given(row):
            votes[label].append(row["count"] if row["count"] is not None else 0.0)
    if not votes:
        return {}
    ranks = {label: (len(counts), sum(counts) / len(counts)) for label, counts in votes.items()}
    best = sorted(label for label, rank in ranks.items() if rank == max(ranks.values()))
    return dict.fromkeys(best, 1 / len(best))


def _of_list(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    votes: dict[str, int] = defaultdict(int)
    for row in rows:
        for label in given(row):
            votes[label] += 1
    kept = {label: 2 * number for label, number in votes.items() if 2 * number >= len(rows)}
    kept = {label: twice for label, twice in kept.items() if label != EMPTY_LIST or len(kept) == 1}
    if not kept and rows:  # nothing that half of them saw
        return {EMPTY_LIST: 1.0}
    return {label: 1.0 if twice > len(rows) else 0.5 for label, twice in sorted(kept.items())}


def _prevalence(rows: Iterable[dict[str, Any]]) -> float | None:
    counts = [row["count"] / len(row["image_ids"]) for row in rows if row["count"] is not None]
    return sum(counts) / len(counts) if counts else None


def consensus_frame(found: Iterable[Consensus]) -> pl.DataFrame:
    """`consensus` as a table for files: labels that tie are joined by bars."""
    return pl.DataFrame(
        [
            asdict(one)
            | {
                "image_ids": "|".join(one.image_ids),
                "shares": None,
                "label": "|".join(one.shares) or None,
            }
            for one in found
        ],
        schema={
            **dict.fromkeys(["kind", "item", "generator", "role", "condition"], pl.String),
            **dict.fromkeys(["image_ids", "dimension", "label", "reason"], pl.String),
            **dict.fromkeys(["raters", "votes"], pl.Int64),
            **dict.fromkeys(["prevalence_paper", "prevalence", "probability"], pl.Float64),
        },
    )


def kinds(people: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Answers about sets, and answers about single pictures, each where there are any."""
    for (kind,), part in sorted(people.partition_by("kind", as_dict=True).items()):
        yield str(kind), part
