"""Text normalisation: the spelling under which an open-vocabulary answer is counted.

Only differences of spelling are taken away, never differences of words: ``glove`` and ``gloves``
stay two labels, because the rule that would merge them also makes ``glass`` of ``glasses`` and
``overall`` of ``overalls``. Merging by meaning is the business of a mapping.
"""

from __future__ import annotations

import re
import unicodedata

NORMALISATION = "1"
"""Version of the rule; part of every mapping, and raised when a label would come out otherwise."""

_APOSTROPHES = str.maketrans(dict.fromkeys("‘’‛ʼ´`", "'"))
_POSSESSIVE = re.compile(r"'s(?!\w)")


def normalise(text: str) -> str:
    """Return the spelling under which `text` is counted.

    In this order, until nothing changes: every apostrophe becomes the typewriter's, Unicode NFKC,
    case folding; a possessive ``'s`` at the end of a word and other apostrophes are taken out
    (``chef's jacket`` is ``chef jacket``); ``&`` becomes ``and``; whatever is not a letter, a mark
    or a number (hyphens and underscores too) becomes a space; runs of space become one.

    The function is total, idempotent and looks at one text at a time, so that no other label
    changes its result.

    Args:
        text: What the reader wrote.

    Returns:
        The normalised text. A text of punctuation or symbols alone is kept as it is (folded), so
        that it is counted apart; only blank text gives the empty string.
    """
    seen = None
    while text != seen:
        seen, text = text, _once(text)
    return text


def _once(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text.translate(_APOSTROPHES)).casefold()
    bare = _POSSESSIVE.sub("", folded).replace("'", "").replace("&", " and ")
    words = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in bare)
    return " ".join(words.split()) or " ".join(folded.split())
