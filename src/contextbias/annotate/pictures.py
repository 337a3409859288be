"""Pictures as annotators get them: pixels alone, made small, kept in memory.

Files carry more than pixels: names, prompts in text chunks, seeds. Every picture is decoded and
encoded anew without any of that.
"""

from __future__ import annotations

import io
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from PIL import Image

from contextbias.pictures import UnreadablePicture, decode_picture

FindPicture = Callable[[str], Path | None]
"""Image id -> its file, which is fetched if it is kept elsewhere; None when there is none."""

SIZES = {"small": 512, "large": 1600}
"""Name -> longest side in pixels."""

_QUALITY = 80


class Pictures:
    """WebP bytes of image files.

    Args:
        find: Where an image's file is.
        budget: Bytes to keep in memory; the longest unused go first.
    """

    def __init__(self, find: FindPicture, budget: int = 256 << 20) -> None:
        self._find = find
        self._budget = budget
        self._held = 0
        self._kept: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._making: dict[tuple[str, str], Future[bytes | None]] = {}
        self._lock = threading.Lock()
        # More at once would only take turns, and keep the answers of others waiting.
        self._room = threading.Semaphore(max(1, (os.cpu_count() or 2) // 2))

    def get(self, image: str, size: str) -> bytes | None:
        """The picture at a size of `SIZES`; None when the file cannot be read. Thread-safe.

        Whoever asks for a picture that is being made waits for it, instead of making it, too.
        """
        key = (image, size)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            waiting = self._making.get(key)
            if waiting is None:
                made = self._making[key] = Future()
        if waiting is not None:
            return waiting.result()
        data = None
        try:
            with self._room:
                path = self._find(image)
                data = None if path is None else encoded(path, SIZES[size])
            if data is not None:
                self._keep(key, data)
        finally:
            with self._lock:
                del self._making[key]
            made.set_result(data)
        return data

    def _keep(self, key: tuple[str, str], data: bytes) -> None:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = data
                self._held += len(data)
            while self._held > self._budget and len(self._kept) > 1:
                _, old = self._kept.popitem(last=False)
                self._held -= len(old)


def encoded(path: Path, edge: int) -> bytes | None:
    """WebP bytes with at most `edge` pixels a side and no metadata; None when unreadable.

    People see what readers see: upright, and transparency on white.
    """
    try:
        picture = decode_picture(path, 2 * edge)
    except (OSError, UnreadablePicture):
        return None
    picture.thumbnail((edge, edge), Image.Resampling.LANCZOS, reducing_gap=2.0)
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", quality=_QUALITY, method=2)
    return buffer.getvalue()
