"""What is missing, as rows: images per cell, and images per reason, of all roles and of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from contextbias.measure.arrays import ReaderCounts
from contextbias.measure.rows import Run, Settings, estimate_frame
from contextbias.tables import CONDITIONS

NO_IMAGE = "no image: left out of contrasts"
"""Note of a role without images in a condition that the generator has."""


def missing_rows(counts: ReaderCounts, run: Run) -> Iterator[dict[str, Any]]:
    """Rows ``images`` and ``missing`` of one reader.

    Yields:
        ``images``: n is the number of images (failed ones included) of a generator, role and
        condition; 0, with a note, for a role that others of the generator's conditions have.
        ``missing``: point is the number of images of a generator and condition that a dimension
        could not be read from for the reason in ``label``, n all of its images.
    """
    for generator in counts.generators:
        yield from _images(counts, generator, run)
    if counts.missing.is_empty():
        return
    keys = ("generator", "condition", "cohort", "dimension", "reason")
    of_all_roles = counts.missing.group_by(keys).agg(pl.col("count").sum()).sort(keys)
    for row in of_all_roles.iter_rows(named=True):
        condition = CONDITIONS.index(row["condition"])
        yield run.row(
            "missing",
            generator=row["generator"],
            condition=row["condition"],
            cohort=row["cohort"],
            dimension=row["dimension"],
            label=row["reason"],
            method="count",
            point=float(row["count"]),
            n=counts.images[row["generator"]][:, condition].sum(),
        )


def missing_by_role(counts: ReaderCounts, run: Run, _: Settings) -> pl.DataFrame:
    """Rows ``missing_by_role``: as ``missing``, for each role.

    A role whose point is n was not read at all in that condition and dimension, and is left out of
    contrasts there.
    """
    if counts.missing.is_empty():
        return estimate_frame([])
    images = pl.DataFrame(
        [
            (generator, role, condition, int(counts.images[generator][i, j]))
            for generator in counts.generators
            for i, role in enumerate(counts.roles)
            for j, condition in enumerate(CONDITIONS)
        ],
        schema=["generator", "role", "condition", "n"],
        orient="row",
    )
    rows = counts.missing.join(images, on=["generator", "role", "condition"], how="left")
    return run.frame(
        rows.with_columns(
            estimand=pl.lit("missing_by_role"),
            label="reason",
            point=pl.col("count").cast(pl.Float64),
        ),
        method="count",
    )


def _images(counts: ReaderCounts, generator: str, run: Run) -> Iterator[dict[str, Any]]:
    images = counts.images[generator]
    present = images.sum(axis=0) > 0
    for role, number in zip(counts.roles, images, strict=True):
        if not number.any():
            continue
        for condition, n, expected in zip(CONDITIONS, number, present, strict=True):
            if expected:
                note = None if n else NO_IMAGE
                yield run.row(
                    "images", generator=generator, role=role, condition=condition, method="count",
                    point=float(n), n=n, note=note,
                )  # fmt: skip
