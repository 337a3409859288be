"""Small pictures for the page: which images are embedded, and how they are made small."""

from __future__ import annotations

import io
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PIL import Image

from contextbias.pictures import UnreadablePicture, decode_picture
from contextbias.tables import OK, ImageRow

EDGE = 128
"""Longest side of a thumbnail in pixels."""

_QUALITY = 62


@dataclass(frozen=True, slots=True)
class Thumbnails:
    """The embedded part of a study's images."""

    images: tuple[ImageRow, ...]
    """Images that the page knows, in the order of embedding; failed ones included."""
    webp: tuple[bytes | None, ...]
    """Their thumbnails; None where there is no readable file."""
    complete: bool
    """True when no image had to be left out."""


def embed(
    images: Sequence[ImageRow], *, budget: int, fetch: Callable[[str], Path] = Path
) -> Thumbnails:
    """Make thumbnails until `budget` is spent, giving every cell its turn.

    A cell is a generator, role and condition. Within it, images take turns over the prompts (the
    first image of every prompt, then the second, …), and the cells take turns, so that a page over
    budget shows the same number of images of every cell, spread over its prompts. The choice
    depends on nothing but the rows and the budget.

    Args:
        images: Latest attempt of each image, paths absolute.
        budget: Bytes that the thumbnails may take in the page, base64 included.
        fetch: From an image's path to where it can be opened.

    Returns:
        All images when they fit; else as many whole turns as do.
    """
    kept: list[ImageRow] = []
    webp: list[bytes | None] = []
    spent = 0
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for turn in _turns(images):
            made = list(pool.map(partial(_thumbnail, fetch), turn))
            spent += sum(-(-len(data) // 3) * 4 for data in made if data is not None)
            if spent > budget and kept:
                return Thumbnails(tuple(kept), tuple(webp), complete=False)
            kept += turn
            webp += made
    return Thumbnails(tuple(kept), tuple(webp), complete=True)


def _turns(images: Sequence[ImageRow]) -> Iterator[list[ImageRow]]:
    """Yield the images in turns: one image a cell each time."""
    cells: dict[tuple[str, str, str], list[ImageRow]] = defaultdict(list)
    for image in sorted(images, key=lambda i: (i.replicate, i.prompt_id, i.seed, i.image_id)):
        cells[image.generator, image.role, image.condition].append(image)
    ordered = [cells[key] for key in sorted(cells)]
    for turn in range(max(map(len, ordered), default=0)):
        yield [cell[turn] for cell in ordered if turn < len(cell)]


def _thumbnail(fetch: Callable[[str], Path], image: ImageRow) -> bytes | None:
    """Return WebP bytes of the image at thumbnail size; None when there is no readable file."""
    if image.status != OK or image.path is None:
        return None
    try:
        picture = decode_picture(fetch(image.path), 2 * EDGE)
    except (OSError, UnreadablePicture):
        return None
    picture.thumbnail((EDGE, EDGE), Image.Resampling.BICUBIC, reducing_gap=2.0)
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", quality=_QUALITY, method=2)
    return buffer.getvalue()
