"""How far readers are right where the prompt says what has to be there.

A prompt names one label of one dimension. Whether the reading has it is *joint accuracy*: the
model has to comply, and the reader has to see it. Where pictures know their truth (simulated
generators), the two stand apart: compliance (the picture shows what was named), and the reader's
own accuracy (the reading says what the picture shows).

Of dimensions with one label, a reading that gives another label which some prompt names is a false
alarm of that label. Of lists, prompts that name an absence are the negatives. Answers that are
missing are no error; they are counted in ``n_missing``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from contextbias.measure.rows import Run, Settings, estimate_frame
from contextbias.measure.validity_differences import difference_rows
from contextbias.schema import DIMENSIONS
from contextbias.stats.labelled import (
    Rate,
    bootstrap_rate,
    clustered_wilson,
    f1,
    precision,
    published_f1,
    recall,
    resampled_sums,
)

KNOWN_SCHEMA: dict[str, Any] = {
    "reader": pl.String,
    "generator": pl.String,
    "role": pl.String,
    "condition": pl.String,
    "prompt_id": pl.String,
    "image_id": pl.String,
    "dimension": pl.String,
    "label": pl.String,
    "present": pl.Boolean,
    "read": pl.List(pl.String),
    "reason": pl.String,
    "shown": pl.Boolean,
    "truth": pl.List(pl.String),
    "gender_presentation": pl.String,
    "skin_tone": pl.String,
}
"""One row an image and reader: what the prompt names (``label``, and whether it is to be there),
what was read (null: missing, for the ``reason``), what the picture shows where that is known
(``shown``; ``truth`` null: the picture does not tell), and how its person appears to the reader."""

METHOD_RATE, METHOD_BOOTSTRAP = "wilson-clustered", "prompt-bootstrap"
PUBLISHED = "published"
"""F1 as the paper has it, without negatives."""

FloatArray = NDArray[np.float64]
_SUMS = ("tp", "fn", "fp")
_SCORES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "known_precision": precision,
    "known_recall": recall,
    "known_f1": f1,
}
_SHARES = {"known_precision": "fp", "known_recall": "fn"}
"""Scores that are shares of images, TP / (TP + this), with the interval of a share."""
_RATES = {
    "known_accuracy": ("right", "answered"),
    "known_compliance": ("complied", "told"),
    "known_reader_accuracy": ("agrees", "told"),
}


def known_estimates(known: pl.DataFrame, run: Run, settings: Settings) -> pl.DataFrame:
    """Joint accuracy, compliance, reader accuracy, precision, recall, F1, confusion, differences.

    Args:
        known: Columns of `KNOWN_SCHEMA`.
        run: Keys of the rows; the reader in it is not used.
        settings: Replicates of the bootstrap over prompts, its seed, and alpha.

    Returns:
        Rows of tables.EstimateRow; see docs/estimands.toml. ``generator`` is null for all of them
        together, where there are several.
    """
    rows: list[dict[str, Any]] = []
    for (reader,), part in known.partition_by("reader", as_dict=True, maintain_order=True).items():
        own = Run(str(reader), run.preset, run.people, run.codebook)
        scored = _scored(part)
        if scored.is_empty():
            continue
        rows += _rows(scored, own, settings)
        rows += _confusion(scored, own)
        rows += difference_rows(scored, own, settings)
    return estimate_frame(rows)


def _scored(part: pl.DataFrame) -> pl.DataFrame:
    """Each image's contributions; dimensions that the reader cannot read are left out."""
    readable = part.filter(pl.col("reason").fill_null("") != "not_readable")
    many = [name for name, dimension in DIMENSIONS.items() if dimension.kind == "many"]
    named = readable.group_by("dimension").agg(asked=pl.col("label").unique())
    has = pl.col("read").list.contains(pl.col("label"))
    shows = pl.col("truth").list.contains(pl.col("label")).fill_null(value=False)
    is_list = pl.col("dimension").is_in(many)
    others = pl.col("read").list.set_intersection("asked").list.len() - has.cast(pl.Int64)
    answered, told = pl.col("read").is_not_null(), pl.col("read").is_not_null() & pl.col("shown")
    same = pl.when(is_list).then(has == shows).otherwise(pl.col("read") == pl.col("truth"))
    false = pl.when(is_list).then((has & ~pl.col("present")).cast(pl.Int64)).otherwise(others)
    return (
        readable.join(named, on="dimension", how="left", maintain_order="left")
        .with_columns(
            answered=answered,
            told=told,
            right=answered & (has == pl.col("present")),
            complied=told & (shows == pl.col("present")),
            agrees=told & same.fill_null(value=False),
            tp=answered & pl.col("present") & has,
            fn=answered & pl.col("present") & ~has,
            fp=pl.when(answered).then(false).otherwise(0),
        )
        .with_columns(pl.col(*_SUMS, "answered", "told", "right", "complied", "agrees")
                      .fill_null(0).cast(pl.Float64))
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Cell:
    """Some images, added up by prompt."""

    keys: dict[str, Any]
    by_prompt: pl.DataFrame
    drawn: FloatArray
    missing: int

    @property
    def sums(self) -> FloatArray:
        return self.by_prompt.select(_SUMS).to_numpy()


def _rows(scored: pl.DataFrame, run: Run, settings: Settings) -> Iterator[dict[str, Any]]:
    names = scored["generator"].unique().sort().to_list()
    chosen: list[tuple[str | None, pl.DataFrame]] = [(None, scored)] if len(names) > 1 else []
    chosen += [(name, scored.filter(pl.col("generator") == name)) for name in names]
    for generator, part in chosen:
        yield from _of_generator(part, generator, run, settings)


def _of_generator(
    part: pl.DataFrame, generator: str | None, run: Run, settings: Settings
) -> Iterator[dict[str, Any]]:
    random = np.random.default_rng(settings.seed)
    whole = {"generator": generator, "condition": "all", "cohort": "all"}

    def cell(frame: pl.DataFrame, **keys: Any) -> _Cell:
        return _cell(frame, whole | keys, settings.bootstrap, random)

    every = cell(part)
    yield from _of_cell(every, run, settings)
    yield _published(every, run, settings)
    for name, key in (("dimensions", "dimension"), ("roles", "role")):
        cells = [
            cell(frame, **_keys(key, value), condition="all") for value, frame in _parts(part, key)
        ]
        for each in cells:
            yield from _of_cell(each, run, settings)
        yield from _macro(cells, name, whole, run, settings)
    for value, frame in _parts(part, "condition"):
        yield from _of_cell(cell(frame, condition=value), run, settings)
    for value, frame in _parts(part, "dimension"):
        for label, of in _parts(frame, "label"):
            yield from _of_cell(cell(of, **_keys("dimension", value), label=label), run, settings)
    for group in ("gender_presentation", "skin_tone"):
        seen = part.filter(pl.col(group).is_not_null(), pl.col("dimension") != group)
        for value, frame in _parts(seen, group):
            keys = {**_keys("dimension", group), "label": value}
            yield _rate(cell(frame, **keys), f"known_accuracy_by_{group}", run, settings)


def _keys(key: str, value: str) -> dict[str, Any]:
    return {key: value} | ({"cohort": DIMENSIONS[value].cohort} if key == "dimension" else {})


def _parts(frame: pl.DataFrame, key: str) -> list[tuple[str, pl.DataFrame]]:
    parts = frame.partition_by(key, as_dict=True)
    return [(str(value), parts[(value,)]) for (value,) in sorted(parts)]


def _cell(
    frame: pl.DataFrame, keys: dict[str, Any], replicates: int, random: np.random.Generator
) -> _Cell:
    columns = [*_SUMS, *dict.fromkeys(name for pair in _RATES.values() for name in pair)]
    by_prompt = frame.group_by("prompt_id").agg(pl.col(columns).sum()).sort("prompt_id")
    sums = by_prompt.select(_SUMS).to_numpy()
    drawn = resampled_sums(sums, replicates, random) if sums.shape[0] > 1 else np.empty((0, 3))
    return _Cell(keys, by_prompt, drawn, int((frame["answered"] == 0).sum()))


def _of_cell(cell: _Cell, run: Run, settings: Settings) -> Iterator[dict[str, Any]]:
    for estimand in _RATES:
        if estimand == "known_accuracy" or cell.by_prompt["told"].sum() > 0:
            yield _rate(cell, estimand, run, settings)
    hits = cell.by_prompt["tp"].to_numpy()
    for estimand, wrong in _SHARES.items():
        of = hits + cell.by_prompt[wrong].to_numpy()
        found = clustered_wilson(hits, of, alpha=settings.alpha)
        yield _row(estimand, cell, found, METHOD_RATE, run, "answered")
    found = bootstrap_rate(f1, [(cell.sums, cell.drawn)], alpha=settings.alpha)
    yield _row("known_f1", cell, found, METHOD_BOOTSTRAP, run, "answered")


def _rate(cell: _Cell, estimand: str, run: Run, settings: Settings) -> dict[str, Any]:
    hits, of = _RATES.get(estimand, _RATES["known_accuracy"])
    x, n = (cell.by_prompt[name].to_numpy() for name in (hits, of))
    found = clustered_wilson(x, n, alpha=settings.alpha)
    return _row(estimand, cell, found, METHOD_RATE, run, of)


def _published(cell: _Cell, run: Run, settings: Settings) -> dict[str, Any]:
    found = bootstrap_rate(published_f1, [(cell.sums, cell.drawn)], alpha=settings.alpha)
    row = _row("known_f1", cell, found, PUBLISHED, run, "answered")
    return row | {"n": int(cell.sums[:, :2].sum())}


def _macro(
    cells: Sequence[_Cell], over: str, keys: dict[str, Any], run: Run, settings: Settings
) -> Iterator[dict[str, Any]]:
    """Means over dimensions, or over roles, each weighing the same; n is how many."""
    parts = [(each.sums, each.drawn) for each in cells]
    for estimand, statistic in _SCORES.items():
        found = bootstrap_rate(statistic, parts, alpha=settings.alpha)
        defined = sum(not np.isnan(float(statistic(sums.sum(axis=0)))) for sums, _ in parts)
        yield run.row(
            estimand, **keys, method=f"macro-{over}", point=found.point, low=found.low,
            high=found.high, n=defined, n_missing=len(parts) - defined,
            note=None if defined else "not_defined",
        )  # fmt: skip


def _row(estimand: str, cell: _Cell, found: Rate, method: str, run: Run, of: str) -> dict[str, Any]:
    note = None
    if np.isnan(found.point):
        note = "not_defined"
    elif cell.by_prompt.height == 1:
        note = "one_prompt"
    elif np.isnan(found.low) and len(cell.drawn):
        note = "degenerate"
    return run.row(
        estimand, **cell.keys, method=method, point=found.point, low=found.low, high=found.high,
        n=int(cell.by_prompt[of].sum()), n_missing=cell.missing, note=note,
    )  # fmt: skip


def _confusion(scored: pl.DataFrame, run: Run) -> Iterator[dict[str, Any]]:
    """``known_read_as``: of the images whose prompt names a label, the share read as each answer.

    Of one label a row sums to 1. Of a list, an image can be read as several labels; only whether
    the named one is there is told.
    """
    many = [name for name, dimension in DIMENSIONS.items() if dimension.kind == "many"]
    there = pl.col("read").list.contains(pl.col("label"))
    answer = (
        pl.when(pl.col("read").is_null())
        .then(pl.format("missing: {}", pl.col("reason").fill_null("unknown")))
        .when(pl.col("dimension").is_in(many))
        .then(pl.when(there).then(pl.col("label")).otherwise(pl.format("no {}", "label")))
        .otherwise(pl.col("read").list.first())
    )
    named = pl.when("present").then("label").otherwise(pl.format("no {}", "label"))
    counts = (
        scored.with_columns(answer=answer, named=named)
        .group_by("dimension", "named", "answer")
        .agg(images=pl.len())
        .with_columns(total=pl.col("images").sum().over("dimension", "named"))
        .sort("dimension", "named", "answer")
    )
    for row in counts.iter_rows(named=True):
        yield run.row(
            "known_read_as", condition="all", cohort=DIMENSIONS[row["dimension"]].cohort,
            dimension=row["dimension"], label=row["named"], method=f"read as {row['answer']}",
            point=row["images"] / row["total"], n=row["total"],
        )  # fmt: skip
