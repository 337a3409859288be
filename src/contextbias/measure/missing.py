"""What is missing, as rows: images per cell, and images per reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from contextbias.measure.arrays import ReaderCounts
from contextbias.measure.rows import Run
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
    for row in counts.missing.iter_rows(named=True):
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
