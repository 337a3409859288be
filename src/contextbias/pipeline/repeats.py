"""Further readings of a sample, to see how far a reader agrees with itself.

A repeat is a reading of the same image by the same reader with the same settings. It is stored
like any other, under an id with its number in it, and is in no number but those about agreement.
"""

from __future__ import annotations

from collections.abc import Sequence

from contextbias.ids import content_hash
from contextbias.pipeline.selection import Wanted
from contextbias.tables import ImageRow, ReadingRow


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
