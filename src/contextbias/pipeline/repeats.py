"""Further readings of a sample, to see how far a reader agrees with itself.

A repeat is a reading of the same image by the same reader with the same settings. It is stored
like any other, under an id with its number in it, and is in no number but those about agreement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from contextbias.ids import content_hash
from contextbias.pipeline.definitions import definitions
from contextbias.pipeline.selection import Wanted
from contextbias.schema import CODEBOOK_VERSION
from contextbias.tables import ImageRow, ReadingRow

if TYPE_CHECKING:
    from contextbias.canonicalise import LabelMapping


def sample(images: Sequence[ImageRow], seed: int, size: int) -> list[ImageRow]:
    """A simple random sample: the images with the smallest hash of the seed and their id.

    A larger sample holds every smaller one, and no image leaves it when others are added unless
    they take its place. So asking for more reads only what is missing.

    Args:
        images: The images that can be read.
        seed: The study's seed.
        size: How many; all of them where there are fewer.

    Returns:
        In the order of `images`.
    """
    ranked = sorted(images, key=lambda image: content_hash(["repeat", seed, image.image_id]))
    chosen = {image.image_id for image in ranked[:size]}
    return [image for image in images if image.image_id in chosen]


def repeats(wanted: Wanted, images: Sequence[ImageRow]) -> dict[int, list[ReadingRow]]:
    """Stored further readings of `images` by the present readers: number of the repeat -> rows."""
    ids = wanted.repeat_ids(images)
    found: dict[int, list[ReadingRow]] = {}
    for reading in wanted.study.readings() if ids else ():
        number = ids.get(reading.reading_id)
        if number is not None:
            found.setdefault(number, []).append(reading)
    return dict(sorted(found.items()))


def write_repeats(wanted: Wanted, images: Sequence[ImageRow], mapping: LabelMapping) -> int:
    """Write derived/repeats.parquet where it is not there as it should be; returns its new rows.

    Labels are those of `mapping`, which knows the words of the readings that count. A word that
    came only in a further reading is its own label.
    """
    study = wanted.study
    fingerprint = repeats_fingerprint(wanted, images, mapping.content_hash)
    if study.fingerprint("repeats") == fingerprint:
        return 0
    if fingerprint is None:
        study.write_repeats(None, "")
        return 0
    import polars as pl

    from contextbias.canonicalise import to_attributes

    readers = list(wanted.reader_rows.values())
    parts = []
    for number, readings in repeats(wanted, images).items():
        read = {reading.image_id for reading in readings}
        again = [image for image in images if image.image_id in read]
        frame = to_attributes(again, readings, readers, mapping)
        parts.append(frame.with_columns(repeat=pl.lit(number, dtype=pl.Int64)))
    whole = pl.concat(parts)
    study.write_repeats(whole, fingerprint)
    return whole.height


def repeats_fingerprint(wanted: Wanted, images: Sequence[ImageRow], mapping: str) -> str | None:
    """What derived/repeats.parquet is made from; None without further readings."""
    ids = wanted.repeat_ids(images)
    if not ids:
        return None
    attempts = wanted.study.attempts("readings")
    rows = [[key, number, *attempts[key]] for key, number in sorted(ids.items())]
    return content_hash(["repeats", definitions("attributes"), CODEBOOK_VERSION, mapping, rows])
