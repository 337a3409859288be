"""How far people agree: with one another, with themselves, and with each reader.

Only what is answered is compared; what is missing is counted in ``n_missing``. A unit is one
question about one item. Intervals of several questions taken as one rest on items, since answers
about one item are alike.

Lists about single pictures can be the same in part. Raw agreement and Cohen's kappa of two people
take them as sets of labels, as those of a reader with people do, so that the two can be compared.
The coefficients of several people know one answer a person: there a list is one answer, the whole
of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from contextbias.annotation_tables import SET
from contextbias.measure.agreement import agreement_note
from contextbias.measure.nothing import with_empty_lists
from contextbias.measure.people import (
    PEOPLE,
    SIMULATED,
    Consensus,
    consensus,
    given,
    is_answered,
    kinds,
)
from contextbias.measure.rows import Run, estimate_frame
from contextbias.schema import DIMENSIONS, EMPTY
from contextbias.stats.agreement import Agreement, LabelSets, cohen_kappa, raw_agreement
from contextbias.stats.raters import rater_agreement
from contextbias.tables import EMPTY_LIST

_NOT_ASKED = ("not_readable", "not_read")
_IDLE = ("not_applicable", "no_person")
_SEPARATOR = "\x1f"
_OVER_DIMENSIONS = "mean over dimensions"
_OF_RATERS = {
    "raw": "agreement_raw",
    "fleiss": "agreement_fleiss",
    "alpha": "agreement_krippendorff",
    "ac1": "agreement_ac1",
}
_Units = dict[tuple[str, str], set[str]]
"""(item, dimension) -> labels; only units with an answer."""


def people_estimates(
    people: pl.DataFrame,
    attributes: pl.LazyFrame | None,
    run: Run,
    *,
    agreed: Sequence[Consensus] | None = None,
    bootstrap: int = 1000,
    seed: int = 1,
    alpha: float = 0.05,
) -> pl.DataFrame:
    """All rows about the agreement of people.

    Args:
        people: Columns of `people.PEOPLE_SCHEMA`.
        attributes: Rows of tables.AttributeRow of all readers; None to leave readers out.
        run: Keys of the rows; the reader in it is not used.
        agreed: `people.consensus` of them, where it is there already.
        bootstrap: Replicates of the intervals of `rater_agreement`, which draw items.
        seed: Seed of the bootstrap.
        alpha: Intervals have 1 - alpha.

    Returns:
        Rows of tables.EstimateRow with condition ``all``. Reader ``people``: ``agreement_raw``,
        ``agreement_fleiss``, ``agreement_krippendorff``, ``agreement_ac1``,
        ``agreement_cohen_mean`` with method ``set`` or ``image``; ``agreement_kappa`` with method
        ``set: A with B`` of each pair, and ``agreement_raw`` and ``agreement_kappa`` with
        ``set: A again`` of repeated items. Each reader: ``agreement_raw`` and ``agreement_kappa``
        with method ``people set`` or ``people image``. Dimension null and cohort ``all``: all
        questions as one, as in the paper; method with ``, mean over dimensions``: the mean of the
        dimensions where the measure is defined.
    """
    own = Run(PEOPLE, run.preset, run.people, run.codebook)
    rows: list[dict[str, Any]] = []
    every = consensus(people) if agreed is None else agreed
    for kind, part in kinds(people):
        note = SIMULATED if part["simulated"].any() else None
        found = [
            *_between(part, kind, own, bootstrap=bootstrap, seed=seed, alpha=alpha),
            *_pairs(part, kind, own, alpha),
            *_again(part, kind, own, alpha),
        ]
        mine = [one for one in every if one.kind == kind]
        for reader, facts in _readers(attributes, mine):
            as_reader = Run(reader, run.preset, run.people, run.codebook)
            found += _against(facts, mine, f"people {kind}", as_reader, alpha)
        rows += [row | {"note": row["note"] or note} for row in found]
    return estimate_frame(rows)


# ---- people with one another


def _between(
    part: pl.DataFrame, kind: str, run: Run, *, bootstrap: int, seed: int, alpha: float
) -> Iterator[dict[str, Any]]:
    rows = list(part.filter(pl.col("repeat") == 0).iter_rows(named=True))
    by_dimension: dict[str | None, list[dict[str, Any]]] = {None: rows}
    for row in rows:
        by_dimension.setdefault(row["dimension"], []).append(row)
    points: dict[str, list[float]] = {}
    for dimension in (None, *(name for name in DIMENSIONS if name in by_dimension)):
        mine = by_dimension[dimension]
        answered = [row for row in mine if is_answered(row)]
        missing = len(mine) - len(answered)
        units = {unit: i for i, unit in enumerate(dict.fromkeys(map(_unit, answered)))}
        codes: dict[str, int] = {}
        category = [codes.setdefault(_category(row), len(codes)) for row in answered]
        items: dict[str, int] = {}
        group = [items.setdefault(item, len(items)) for item, _ in units]
        measured = rater_agreement(
            [units[_unit(row)] for row in answered], category, group=group,
            alike=_alike(answered, units), categories=_offered(dimension, kind),
            bootstrap=bootstrap, rng=np.random.default_rng([seed, 8]), level=1 - alpha,
        )  # fmt: skip
        for name, estimand in _OF_RATERS.items():
            found = getattr(measured, name)
            yield _row(run, estimand, dimension, kind, found, missing)
            if dimension is not None and np.isfinite(found.point):
                points.setdefault(estimand, []).append(found.point)
    yield from _means(points, kind, run)


def _means(points: dict[str, list[float]], kind: str, run: Run) -> Iterator[dict[str, Any]]:
    for estimand, values in points.items():
        yield run.row(
            estimand, condition="all", cohort="all", method=f"{kind}, {_OVER_DIMENSIONS}",
            point=sum(values) / len(values), n=len(values),
        )  # fmt: skip


def _unit(row: dict[str, Any]) -> tuple[str, str]:
    return row["item"], row["dimension"]


def _category(row: dict[str, Any]) -> str:
    """Dimension and answer; of a list, the whole of it."""
    return _SEPARATOR.join([row["dimension"], *sorted(given(row))])


def _alike(
    answered: Sequence[dict[str, Any]], units: Mapping[tuple[str, str], int]
) -> list[float] | None:
    """Mean Jaccard similarity of each unit's pairs of answers; None where nobody gave a list.

    Args:
        answered: Rows with an answer.
        units: Number of each unit.

    Returns:
        By number of the unit; 0 for one with a single answer.
    """
    if all(len(given(row)) == 1 for row in answered):
        return None
    sets: list[list[set[str]]] = [[] for _ in units]
    for row in answered:
        sets[units[_unit(row)]].append(set(given(row)))
    found = []
    for mine in sets:
        pairs = [len(a & b) / len(a | b) for a, b in combinations(mine, 2)]
        found.append(sum(pairs) / len(pairs) if pairs else 0.0)
    return found


def _offered(dimension: str | None, kind: str) -> int | None:
    """How many answers a question offers; None where they cannot be counted."""
    if dimension is None or DIMENSIONS[dimension].is_open:
        return None
    known = DIMENSIONS[dimension]
    if known.kind == "many" and kind != SET:
        return None
    return len(known.vocabulary) + (known.kind == "many" and EMPTY not in known.vocabulary)


def _pairs(part: pl.DataFrame, kind: str, run: Run, alpha: float) -> Iterator[dict[str, Any]]:
    """Cohen's kappa of each pair, and the mean over pairs; of all questions, and of each one."""
    answers = _by_annotator(part.filter(pl.col("repeat") == 0))
    points: dict[str | None, list[float]] = {}
    sizes: dict[str | None, int] = {}
    for first, second in combinations(sorted(answers), 2):
        shared = sorted(answers[first].keys() & answers[second].keys())
        by_dimension: dict[str | None, list[tuple[str, str]]] = {None: shared}
        for unit in shared:
            by_dimension.setdefault(unit[1], []).append(unit)
        for dimension, mine in by_dimension.items():
            if not mine:
                continue
            found = _measured(cohen_kappa, answers[first], answers[second], mine, alpha)
            yield _row(
                run, "agreement_kappa", dimension, f"{kind}: {first} with {second}", found, 0
            )
            sizes[dimension] = sizes.get(dimension, 0) + len(mine)
            points.setdefault(dimension, [])
            if np.isfinite(found.point):
                points[dimension].append(found.point)
    for dimension in (name for name in (None, *DIMENSIONS) if name in points):
        values = points[dimension]
        mean = sum(values) / len(values) if values else np.nan
        found = Agreement(mean, np.nan, np.nan, sizes[dimension], not values)
        yield _row(run, "agreement_cohen_mean", dimension, kind, found, 0)
    by_question = [sum(v) / len(v) for name, v in points.items() if name is not None and v]
    yield from _means({"agreement_cohen_mean": by_question} if by_question else {}, kind, run)


def _by_annotator(part: pl.DataFrame) -> dict[str, _Units]:
    found: dict[str, _Units] = {}
    for row in part.iter_rows(named=True):
        if is_answered(row):
            found.setdefault(row["annotator"], {})[_unit(row)] = {
                _SEPARATOR.join([row["dimension"], label]) for label in given(row)
            }
    return found


def _again(part: pl.DataFrame, kind: str, run: Run, alpha: float) -> Iterator[dict[str, Any]]:
    """Each annotator's second answers beside the first ones."""
    first = _by_annotator(part.filter(pl.col("repeat") == 0))
    second = _by_annotator(part.filter(pl.col("repeat") == 1))
    for name in sorted(second):
        mine = sorted(second[name].keys() & first.get(name, {}).keys())
        if not mine:
            continue
        method = f"{kind}: {name} again"
        for estimand, measure in _BOTH:
            found = _measured(measure, first[name], second[name], mine, alpha)
            yield _row(run, estimand, None, method, found, len(second[name]) - len(mine))


# ---- people with readers


def _readers(
    attributes: pl.LazyFrame | None, agreed: Sequence[Consensus]
) -> Iterator[tuple[str, pl.DataFrame]]:
    """What each reader says of the images that people have judged, and its first person."""
    if attributes is None:
        return
    images = sorted({image for one in agreed for image in one.image_ids})
    facts = (
        attributes.filter(
            pl.col("image_id").cast(pl.String).is_in(images), pl.col("person").fill_null(0) == 0
        )
        .filter(~pl.col("missing_reason").cast(pl.String).fill_null("").is_in(_NOT_ASKED))
        .select(
            pl.col(name).cast(pl.String)
            for name in ("reader", "image_id", "dimension", "label", "missing_reason")
        )
        .pipe(with_empty_lists)
        .unique()
        .collect()
    )
    for (reader,), part in sorted(facts.partition_by("reader", as_dict=True).items()):
        yield str(reader), part


def _against(
    facts: pl.DataFrame, agreed: Sequence[Consensus], method: str, run: Run, alpha: float
) -> Iterator[dict[str, Any]]:
    theirs, idle = reader_units(facts, agreed)
    asked = set(facts["dimension"].unique())
    agreed = [one for one in agreed if one.dimension in asked]
    by_generator: dict[str | None, list[Consensus]] = {None: list(agreed)}
    for one in agreed:
        by_generator.setdefault(one.generator, []).append(one)
    if len(by_generator) == 2:
        by_generator = {None: by_generator[None]}
    for generator, of_generator in by_generator.items():
        by_dimension: dict[str | None, list[Consensus]] = {None: of_generator}
        for one in of_generator:
            by_dimension.setdefault(one.dimension, []).append(one)
        for dimension, mine in by_dimension.items():
            if not mine:
                continue
            ours = {(one.item, one.dimension): _labels(one) for one in mine if one.shares}
            both = sorted(ours.keys() & theirs.keys())
            nothing = sum(one.reason in _IDLE and (one.item, one.dimension) in idle for one in mine)
            for estimand, measure in _BOTH:
                found = _measured(measure, ours, theirs, both, alpha)
                missing = len(mine) - len(both) - nothing
                row = _row(run, estimand, dimension, method, found, missing)
                yield row | {"generator": generator}


def _labels(one: Consensus) -> set[str]:
    return {_SEPARATOR.join([one.dimension, label]) for label in one.shares}


def reader_units(
    facts: pl.DataFrame, agreed: Sequence[Consensus]
) -> tuple[_Units, set[tuple[str, str]]]:
    """One reader's answers about the items that people judged.

    Of a set, the label that most of its images show; of several, all of them.

    Args:
        facts: Columns image_id, dimension, label, missing_reason.
        agreed: The items.

    Returns:
        Labels of each unit with an answer, as dimension and label; and the units of which the
        reader says that the question does not arise in any of their images.
    """
    said: dict[tuple[str, str], list[str]] = {}
    idle_images = set()
    for image, dimension, label, reason in facts.select(
        "image_id", "dimension", "label", "missing_reason"
    ).iter_rows():
        if label is not None or reason == EMPTY_LIST:
            said.setdefault((image, dimension), []).append(label or EMPTY_LIST)
        elif reason in _IDLE:
            idle_images.add((image, dimension))
    units: _Units = {}
    idle = set()
    for one in agreed:
        unit, places = (one.item, one.dimension), [(i, one.dimension) for i in one.image_ids]
        votes: dict[str, int] = {}
        for place in places:
            for label in said.get(place, ()):
                votes[label] = votes.get(label, 0) + 1
        if votes:
            kept = [x for x, n in votes.items() if one.kind != SET or n == max(votes.values())]
            units[unit] = {_SEPARATOR.join([one.dimension, label]) for label in kept}
        elif all(place in idle_images for place in places):
            idle.add(unit)
    return units, idle


# ---- both


def _measured(
    measure: Any, first: _Units, second: _Units, units: Sequence[tuple[str, str]], alpha: float
) -> Agreement:
    codes: dict[str, int] = {}
    sets = []
    for labels in (first, second):
        pairs = [(i, x) for i, unit in enumerate(units) for x in sorted(labels[unit])]
        numbers = [codes.setdefault(x, len(codes)) for _, x in pairs]
        sets.append(LabelSets.of([i for i, _ in pairs], numbers, n=len(units)))
    items: dict[str, int] = {}
    group = np.array([items.setdefault(item, len(items)) for item, _ in units], dtype=np.int64)
    several = group if len(items) < len(units) else None
    found: Agreement = measure(sets[0], sets[1], len(units), group=several, alpha=alpha)
    return found


_BOTH = (("agreement_raw", raw_agreement), ("agreement_kappa", cohen_kappa))


def _row(
    run: Run, estimand: str, dimension: str | None, method: str, found: Agreement, missing: int
) -> dict[str, Any]:
    note = agreement_note(estimand, found)
    return run.row(
        estimand, condition="all", cohort=DIMENSIONS[dimension].cohort if dimension else "all",
        dimension=dimension, method=method, point=found.point, low=found.low, high=found.high,
        n=found.n, n_missing=missing, note=note,
    )  # fmt: skip
