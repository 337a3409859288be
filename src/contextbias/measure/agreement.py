"""How far readings of the same images agree: two readers, or one reader asked again.

Only what both answered is compared: an answer that is missing is no disagreement, and is counted in
``n_missing``. Of people the most prominent one is compared, whoever that is for each reading.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from contextbias.measure.nothing import with_empty_lists
from contextbias.measure.rows import Run, estimate_frame
from contextbias.schema import DIMENSIONS
from contextbias.stats.agreement import Agreement, LabelSets, cohen_kappa, raw_agreement
from contextbias.tables import EMPTY_LIST

_NOT_ASKED = ("not_readable", "not_read")
_COLUMNS = ("image_id", "generator", "dimension", "label", "missing_reason")
_IDLE = "not_applicable"
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


def agreement_estimates(
    attributes: pl.LazyFrame,
    repeats: pl.DataFrame | None,
    run: Run,
    *,
    alpha: float = 0.05,
) -> pl.DataFrame:
    """``agreement_raw`` and ``agreement_kappa`` of every two readers, and of repeats.

    Args:
        attributes: Rows of tables.AttributeRow of all readers, whose readings count.
        repeats: The same of further readings, with their number in ``repeat``, from 1; None for
            none.
        run: Keys of the rows; the reader in it is not used.
        alpha: Intervals have 1 - alpha.

    Returns:
        Rows of tables.EstimateRow, by dimension, with ``generator`` null for all of them together,
        and each by itself. ``reader`` is the one reading; ``method`` says what it is compared
        with: ``reader NAME`` or ``repeat K``. Two readers have the same rows, each with the name of
        the other. ``n``: images that both answered; ``n_missing``:
        images that both read, of which one lacks the answer. A dimension that one of the two
        cannot read has no row.
    """
    readers = attributes.select(pl.col("reader").unique().sort()).collect()["reader"].to_list()
    rows: list[dict[str, Any]] = []
    for a, b in combinations(readers, 2):
        own = replace(run, reader=a)
        found = list(_rows(_of(attributes, a), _of(attributes, b), own, f"reader {b}", alpha))
        # Both measures are symmetric: each reader has the rows of its pairs.
        rows += [*found, *(row | {"reader": b, "method": f"reader {a}"} for row in found)]
    for name, number, part in _repeated(repeats, readers):
        own, again = replace(run, reader=name), _of(part.lazy(), name)
        rows += _rows(_of(attributes, name), again, own, f"repeat {number}", alpha)
    return estimate_frame(rows)


def _repeated(
    repeats: pl.DataFrame | None, readers: Collection[str]
) -> Iterator[tuple[str, int, pl.DataFrame]]:
    """Reader, number and rows of each further reading, of readers that have a first one."""
    if repeats is None:
        return
    parts = repeats.partition_by("reader", "repeat", as_dict=True)
    for (reader, number), part in sorted(parts.items()):
        if reader in readers:
            yield str(reader), int(number), part


def _of(facts: pl.LazyFrame, reader: str) -> pl.DataFrame:
    """What a reader said of each image and its most prominent person.

    A file that stands under several prompts has its facts as often; they count once.
    """
    return (
        facts.filter(pl.col("reader") == reader, pl.col("person").fill_null(0) == 0)
        .filter(~pl.col("missing_reason").fill_null("").is_in(_NOT_ASKED))
        .select(pl.col(name).cast(pl.String) for name in _COLUMNS)
        .pipe(with_empty_lists)
        .collect()
    )


@dataclass(frozen=True, slots=True)
class _Dimension:
    """One reading's answers to one question, about the images that both readings have."""

    answered: BoolArray
    """Which images it answered, shape (images,)."""
    idle: BoolArray
    """Of which images it says that the question does not arise."""
    items: IntArray
    """Images of its labels, shape (labels,)."""
    labels: pl.Series
    """The labels."""


def _rows(
    first: pl.DataFrame, second: pl.DataFrame, run: Run, against: str, alpha: float
) -> Iterator[dict[str, Any]]:
    images = first.group_by("image_id").agg(pl.col("generator").min()).sort("image_id")
    images = images.join(second, on="image_id", how="semi").with_row_index("item")
    parts = [_by_dimension(facts, images) for facts in (first, second)]
    drew = images["generator"].to_numpy()
    names = sorted(set(drew))
    chosen = [(None, np.ones(len(drew), np.bool_))]
    chosen += [(name, drew == name) for name in names] if len(names) > 1 else []
    for name, dimension in DIMENSIONS.items():
        if not all(name in part for part in parts):
            continue
        for generator, of in chosen:
            for estimand, found, missing in _measured(parts[0][name], parts[1][name], of, alpha):
                yield run.row(
                    estimand, generator=generator, condition="all", cohort=dimension.cohort,
                    dimension=name, method=against, point=found.point, low=found.low,
                    high=found.high, n=found.n, n_missing=missing,
                    note=agreement_note(estimand, found),
                )  # fmt: skip


def _by_dimension(facts: pl.DataFrame, images: pl.DataFrame) -> dict[str, _Dimension]:
    numbered = facts.join(images.select("item", "image_id"), on="image_id")
    parts = numbered.partition_by("dimension", as_dict=True)
    return {str(name): _dimension(part, images.height) for (name,), part in parts.items()}


def _dimension(part: pl.DataFrame, images: int) -> _Dimension:
    label, reason = pl.col("label"), pl.col("missing_reason")
    with_label = part.filter(label.is_not_null())
    return _Dimension(
        _mask(part.filter(label.is_not_null() | (reason == EMPTY_LIST)), images),
        _mask(part.filter(reason == _IDLE), images),
        with_label["item"].to_numpy().astype(np.int64),
        with_label["label"],
    )


def _mask(part: pl.DataFrame, images: int) -> BoolArray:
    mask = np.zeros(images, np.bool_)
    mask[part["item"].to_numpy()] = True
    return mask


def _measured(
    first: _Dimension, second: _Dimension, of: BoolArray, alpha: float
) -> Iterator[tuple[str, Agreement, int]]:
    """Both measures over the images in `of`, and how many of these lack an answer.

    Images of which both say that the question does not arise are not among them.
    """
    both = first.answered & second.answered & of
    n = int(both.sum())
    missing = int((of & ~(first.idle & second.idle)).sum()) - n
    place = np.cumsum(both) - 1
    words = pl.concat([first.labels, second.labels]).unique().sort()
    sets = []
    for each in (first, second):
        kept = both[each.items]
        codes = each.labels.cast(pl.Enum(words)).to_physical().to_numpy()
        sets.append(LabelSets.of(place[each.items[kept]], codes[kept].astype(np.int64), n=n))
    yield "agreement_raw", raw_agreement(sets[0], sets[1], n, alpha=alpha), missing
    yield "agreement_kappa", cohen_kappa(sets[0], sets[1], n, alpha=alpha), missing


def agreement_note(estimand: str, found: Agreement) -> str | None:
    """Why there is no number, or no interval; None where both are there."""
    if found.degenerate:
        return "degenerate"
    if np.isnan(found.point):
        return "not_defined"
    return "rare_labels" if estimand == "agreement_kappa" and np.isnan(found.low) else None
