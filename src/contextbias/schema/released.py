"""How the paper's released code spells cohorts and labels.

Its rules decide which answers it counts as one, so the preset ``reference`` needs them as they are,
oddities included. Ours are in canonicalise/.
"""

from __future__ import annotations

import re

from contextbias.schema.codebook import UNKNOWN

RELEASED_SCENE = "scene_appearance"
"""Its name of the cohort ``scene``; the others are called as here."""

RELEASED_IMAGES = 10
"""Images a prompt: every prompt with an answer counts as so many, and sums are cut there."""

READ_AS_EMPTY = frozenset(
    ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
     "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]
)  # fmt: skip
"""Texts of a CSV that pandas reads as missing unless told otherwise; its code does not tell it, and
turns them into an empty label, which then counts as one."""

_GAPS = re.compile(r"[\s-]+")
# Of this model it leaves out labels with a bar in them, which come from answers like
# "hat|colors=white".
_WITHOUT_BARS = "SDXL"


def released_spelling(text: str) -> str:
    """Lower case, spaces around taken away, runs of space and hyphen as one underscore."""
    return _GAPS.sub("_", text.strip().lower())


def released_label(surface: str, generator: str) -> str | None:
    """The label that the released code makes of an answer.

    Args:
        surface: The answer as the CSV has it.
        generator: End of the generator folder's name.

    Returns:
        The label, possibly empty; None when it is left out: ``unknown``, and of SDXL alone labels
        with a bar.
    """
    label = "" if surface in READ_AS_EMPTY else released_spelling(surface)
    if label == UNKNOWN or (generator == _WITHOUT_BARS and "|" in label):
        return None
    return label
