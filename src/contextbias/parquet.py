"""Derived tables as Parquet: read whole, scanned, or written a part at a time."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from contextbias.errors import StudyError

if TYPE_CHECKING:
    import polars as pl

ROW_GROUP = 250_000
"""Rows that a reader of the file can take at a time."""


def read(path: Path) -> pl.DataFrame | None:
    """The whole table; None where there is no file.

    Raises:
        StudyError: The file cannot be read.
    """
    if not path.is_file():
        return None
    import polars as pl

    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StudyError(
            f"{path} cannot be read: {error}", "run `contextbias run` to make it again"
        ) from None


def scan(path: Path) -> pl.LazyFrame | None:
    """The table, not read yet; None where there is no file."""
    if not path.is_file():
        return None
    import polars as pl

    return pl.scan_parquet(path)


def encoded(frame: pl.DataFrame | pl.LazyFrame) -> tuple[bytes, int]:
    """A file's bytes, and how many rows it has.

    The rows are worked out and compressed a part at a time, so that a lazy frame is never in memory
    as a whole. The same rows give the same bytes, whatever the number of threads.
    """
    import polars as pl

    buffer = io.BytesIO()
    frame.lazy().sink_parquet(
        buffer, compression="zstd", row_group_size=ROW_GROUP, maintain_order=True
    )
    buffer.seek(0)
    return buffer.getvalue(), int(pl.scan_parquet(buffer).select(pl.len()).collect().item())
