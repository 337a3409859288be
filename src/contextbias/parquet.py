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

_ARROW_TYPES = "ARROW:schema"


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
    as a whole. The same rows give the same bytes, whatever the number of threads. Enumerations are
    written as text: whoever reads the file gets words that compare and group like any others.
    """
    import polars as pl

    buffer, lazy = io.BytesIO(), frame.lazy()
    lazy.sink_parquet(
        buffer, compression="zstd", row_group_size=ROW_GROUP, maintain_order=True,
        metadata=_types_with_text(lazy.collect_schema()),
    )  # fmt: skip
    buffer.seek(0)
    return buffer.getvalue(), int(pl.scan_parquet(buffer).select(pl.len()).collect().item())


def _types_with_text(schema: pl.Schema) -> dict[str, str]:
    """The types that a file names for its readers, with text in the place of enumerations.

    Both have the same form in the file. Types are named under a key of Arrow, as the writer itself
    names them in a file of text; what is given takes the place of what it would have written.
    """
    import polars as pl

    kinds = {
        name: pl.String() if isinstance(kind, pl.Enum) else kind for name, kind in schema.items()
    }
    buffer = io.BytesIO()
    pl.DataFrame(schema=kinds).write_parquet(buffer)
    buffer.seek(0)
    return {_ARROW_TYPES: pl.read_parquet_metadata(buffer)[_ARROW_TYPES]}
