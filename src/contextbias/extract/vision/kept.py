"""What is kept of an exchange with a model: enough to see later what was asked and answered.

Answers are kept as they came, compressed, in ``raw`` of the reading's row; `opened` gives them
back.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Sequence
from typing import Any

from contextbias.ids import storable_text

ANSWERS = "answers"
"""Key of the answers in ``raw``: one text a turn, the first turn first."""


def packed(texts: Sequence[str]) -> list[str]:
    """Texts as they are stored: zlib, then base64."""
    return [
        base64.b64encode(zlib.compress(storable_text(text).encode(), 9)).decode() for text in texts
    ]


def opened(raw: dict[str, Any]) -> list[str]:
    """The answers of a reading, one a turn; empty for a reading that has none.

    Args:
        raw: The reading's ``raw``.

    Raises:
        ValueError: What is stored there is no packed text.
    """
    stored = raw.get(ANSWERS, [])
    if not isinstance(stored, list):
        raise ValueError(f"raw[{ANSWERS!r}] is {type(stored).__name__}, not a list")
    return [_text(each) for each in stored]


def readable(raw: dict[str, Any]) -> dict[str, Any]:
    """A copy of ``raw`` with its answers as text, for people to look at."""
    return {**raw, ANSWERS: opened(raw)} if ANSWERS in raw else dict(raw)


def _text(stored: object) -> str:
    if not isinstance(stored, str):
        raise ValueError(f"{stored!r} is no packed text")
    try:
        return zlib.decompress(base64.b64decode(stored, validate=True)).decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"{stored[:20]!r} is no packed text: {error}") from None
