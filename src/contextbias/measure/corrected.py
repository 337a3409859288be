"""Prevalences and their contrasts, corrected for reading errors by what people said of some images.

Of every population (the images of a generator in one condition, or in all of them; for all roles,
or for one) there are up to three numbers side by side: what the reader says, and what is left of it
when the reader is checked against people, in two ways.

- ``ppi``: prediction-powered inference (stats/ppi.py). Nothing is assumed about the reader; each
  population is corrected by its own judged images.
- ``misclassification``: inverse of the misclassification matrix (stats/misclassification.py). One
  matrix a generator and dimension, from the judged images of all conditions: the reader is taken
  to err alike in all of them, and to leave images unanswered whatever they show.

Images of one context are alike, so all three count them for fewer: with the design effect
1 + (m - 1) rho, rho the dimension's intraclass correlation (clustered.py) and m the mean number of
images that share a context, among all images or among the judged ones. What a reader says is less
alike than what is there, the more it errs: of ``ppi``, which is about the latter, the rho of all
images is divided by the squared correlation of reader and people. Variances are about the mean over
roles, not within each, which errs on the wide side where roles differ.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from contextbias.annotation_tables import IMAGE
from contextbias.measure.arrays import ReaderCounts
from contextbias.measure.clustered import design_effects
from contextbias.measure.corrected_matrix import FEW_LABELS, Matrix
from contextbias.measure.judged import (
    ALL,
    PLAIN,
    Answers,
    Ends,
    JudgedImages,
    Population,
    answers_of,
    clusters_of,
    facts_of,
    images_of,
    label_rows,
    population,
)
from contextbias.measure.people import Consensus
from contextbias.measure.rows import Run, Settings, estimate_frame
from contextbias.schema import DIMENSIONS
from contextbias.stats.ppi import (
    PoweredShare,
    contrast,
    plain_contrast,
    plain_share,
    powered_share,
)
from contextbias.tables import CONDITIONS

FEWEST = 20
"""A population needs this many judged images with an answer."""

SOME_ROLES = "some_roles"
"""Note where only some roles were in the study of people: the number is about these."""

SOME_IMAGES = "some_images"
"""Note where images came after the sample of people was drawn: the number is about the earlier
ones."""

PPI = "ppi"
"""Method of prediction-powered inference."""

_CONTRASTS = (("CA-U", "CF"), ("CA-R", "CF"), ("CA-U", "CA-R"))


def corrected_estimates(
    agreed: Sequence[Consensus],
    counts: ReaderCounts,
    run: Run,
    settings: Settings,
    *,
    roles: Collection[str] | None = None,
    drawable: Collection[str] | None = None,
) -> pl.DataFrame:
    """``prevalence`` of what was judged, uncorrected and corrected.

    Args:
        agreed: What people agree on about single images.
        counts: The reader's counts, for the contexts of prompts and their correlation.
        run: Keys of the rows.
        settings: With the attributes.
        roles: The roles of which images could be judged; None for all. Others are no part of the
            populations, and the rows of all roles together have the note `SOME_ROLES`.
        drawable: Ids of the images that could be judged; None for all. The weights of what was
            judged are about these alone, so others are no part of the populations, and rows of a
            role that has others, and of all roles together, have the note `SOME_IMAGES`.

    Returns:
        Rows of tables.EstimateRow: each condition and ``all``, and the three contrasts of
        conditions, by generator, dimension and label. Role null: all roles together, methods
        `PLAIN` (``corrected`` false), `PPI` and `MATRIX`. A role with `FEWEST` judged images in a
        condition: contrasts of `PLAIN`, and `PPI`. ``n``: images that the reader answered, of
        corrected rows judged images that people answered; ``n_missing``: the others. Null with the
        note `FEW_LABELS` or `NOT_INVERTIBLE`. Labels that neither people nor the reader gave to a
        judged image have no row.

    Raises:
        InputError: An image id stands under several prompts.
    """
    found: dict[str, dict[str, list[Consensus]]] = {}
    for one in agreed:
        if one.kind == IMAGE:
            found.setdefault(one.generator, {}).setdefault(one.dimension, []).append(one)
    if not found or settings.attributes is None:
        return estimate_frame([])
    correlations = {
        (each.of.generator, each.of.dimension): float(each.correlation.point)
        for each in design_effects(counts)
    }
    clusters = clusters_of(counts)
    rows: list[dict[str, Any]] = []
    for generator, judged_by in sorted(found.items()):
        mine = facts_of(settings.attributes, run.reader, generator, judged_by)
        if roles is not None:
            mine = mine.filter(pl.col("role").is_in(sorted(roles)))
        mine, grown = _drawable(mine, drawable)
        images = images_of(mine, clusters.get(generator, {}))
        parts = mine.partition_by("dimension", as_dict=True)
        for dimension in (name for name in DIMENSIONS if (name,) in parts):
            said = parts[dimension,]
            judged = [one for one in judged_by[dimension] if one.image_ids[0] in images.place]
            rho = correlations.get((generator, dimension), np.nan)
            if judged and (said["missing_reason"] != "not_readable").fill_null(True).any():
                answers = answers_of(dimension, said, judged, images, rho)
                rows += (
                    run.row("prevalence", generator=generator, **_noted(values, roles, grown))
                    for values in _dimension_rows(answers, images, settings.alpha)
                )
    return estimate_frame(rows)


def _drawable(
    facts: pl.DataFrame, drawable: Collection[str] | None
) -> tuple[pl.DataFrame, set[str]]:
    """Facts about images that could be judged, and the roles that have others."""
    if drawable is None:
        return facts, set()
    there = pl.col("image_id").is_in(sorted(drawable))
    return facts.filter(there), set(facts.filter(~there)["role"])


def _noted(
    values: dict[str, Any], roles: Collection[str] | None, grown: Collection[str]
) -> dict[str, Any]:
    """A row, with a note where it is about a part of what its keys say."""
    role, note = values["role"], values["note"]
    if (grown and role is None) or role in grown:
        note = note or SOME_IMAGES
    elif roles is not None and role is None:
        note = note or SOME_ROLES
    return values | {"note": note}


# ---- rows


def _dimension_rows(
    answers: Answers, images: JudgedImages, alpha: float
) -> Iterator[dict[str, Any]]:
    matrix = Matrix.of(answers, images)
    yield from _population_rows(answers, images, None, matrix, alpha)
    judged = answers.judged[answers.people_answered]
    places = list(zip(images.role[judged], images.condition[judged], strict=True))
    roles = {role for role, condition in places if places.count((role, condition)) >= FEWEST}
    for role in sorted(roles):
        yield from _population_rows(answers, images, role, None, alpha)


def _population_rows(
    answers: Answers,
    images: JudgedImages,
    role: str | None,
    matrix: Matrix | None,
    alpha: float,
) -> Iterator[dict[str, Any]]:
    """Rows of all conditions and contrasts; of one role, or of all roles."""
    cells = {name: population(answers, images, role, name) for name in (*CONDITIONS, ALL)}
    cells = {name: cell for name, cell in cells.items() if cell.of.any()}
    if len(cells) == 2:  # one condition, which is all there is
        del cells[ALL]
    base = {
        "role": role,
        "cohort": DIMENSIONS[answers.dimension].cohort,
        "dimension": answers.dimension,
    }
    plain = {name: _plain(cell, alpha) for name, cell in cells.items()}
    powered = {name: _powered(answers, cell, alpha) for name, cell in cells.items()}
    for name, cell in cells.items():
        keys = base | {"condition": name}
        if role is None:  # of one role it is there already
            counted = keys | _counted([cell])
            yield from label_rows(answers.labels, plain[name], PLAIN, counted)
        ends = _ends(powered[name])
        yield from label_rows(answers.labels, ends, PPI, keys | _judged([cell]), FEW_LABELS)
        if matrix is not None:
            yield from matrix.rows(answers, cell, keys, alpha)
    for first, second in _CONTRASTS:
        if first not in cells or second not in cells:
            continue
        keys = base | {"contrast": f"{first} - {second}"}
        pair = cells[first], cells[second]
        p, q = plain[first], plain[second]
        ends = None if p is None or q is None else plain_contrast(p, q)
        yield from label_rows(answers.labels, ends, PLAIN, keys | _counted(pair))
        one, two = powered[first], powered[second]
        ends = None if one is None or two is None else contrast(one, two, alpha=alpha)
        yield from label_rows(answers.labels, ends, PPI, keys | _judged(pair), FEW_LABELS)
        if matrix is not None:
            yield from matrix.contrast_rows(answers, pair, keys, alpha)


def _counted(cells: Sequence[Population]) -> dict[str, int]:
    """Images that the reader answered, and those that it did not."""
    read = sum(cell.read for cell in cells)
    return {"n": read, "n_missing": sum(int(cell.of.sum()) for cell in cells) - read}


def _judged(cells: Sequence[Population]) -> dict[str, int]:
    """Judged images that people answered, and those that they did not."""
    n = sum(cell.n for cell in cells)
    return {"n": n, "n_missing": sum(int(cell.judged.sum()) for cell in cells) - n}


def _plain(cell: Population, alpha: float) -> Ends | None:
    if not cell.read:
        return None
    return plain_share(cell.shown, cell.read, effect=cell.effect, alpha=alpha)


def _powered(answers: Answers, cell: Population, alpha: float) -> PoweredShare | None:
    if cell.n < FEWEST:
        return None
    position = np.cumsum(cell.of) - 1
    return powered_share(
        answers.reader[cell.of],
        answers.answered[cell.of],
        position[answers.judged[cell.judged]],
        answers.people[cell.judged],
        answers.people_answered[cell.judged],
        answers.weight[cell.judged],
        effect=cell.true_effect,
        judged_effect=cell.judged_effect,
        alpha=alpha,
    )


def _ends(found: PoweredShare | None) -> Ends | None:
    return None if found is None else (found.point, found.low, found.high)
