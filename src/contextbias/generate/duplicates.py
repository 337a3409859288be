"""Pictures with the same pixels, by one generator, from other seeds or prompts.

They are told by the hash of the pixels that every row has, since files differ in what they say
about themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from contextbias.tables import OK, ImageRow

DUPLICATE = "duplicate"
"""The mark (``provenance["marks"]``) of an image with the pixels of an earlier one."""


class Duplicates:
    """Which pictures a generator has made before.

    Only the process that writes rows knows all of them, so that it marks the rows. An image and its
    own earlier attempts are no duplicates, and neither are pictures of two generators.

    Args:
        rows: Images that there are already.
    """

    def __init__(self, rows: Iterable[ImageRow] = ()) -> None:
        self._first: dict[tuple[str, str], str] = {}
        for row in rows:
            self._earlier(row)

    def marked(self, row: ImageRow) -> ImageRow:
        """The row, marked if an image that was seen earlier has the same pixels."""
        earlier = self._earlier(row)
        if earlier is None:
            return row
        marks = [*row.provenance.get("marks", []), f"{DUPLICATE} of {earlier}"]
        return replace(row, provenance={**row.provenance, "marks": marks})

    def _earlier(self, row: ImageRow) -> str | None:
        pixels = row.provenance.get("pixels")
        if row.status != OK or pixels is None:
            return None
        first = self._first.setdefault((row.generator, pixels), row.image_id)
        return None if first == row.image_id else first


def duplicates(rows: Iterable[ImageRow]) -> int:
    """How many images have the pixels of another one by the same generator."""
    seen = Duplicates()
    return sum(seen.marked(row) is not row for row in rows)
