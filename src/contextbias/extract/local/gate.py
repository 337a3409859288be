"""The face gate: which faces may be read at all.

A binary network gives an answer for anything that it is shown. Without a gate about a quarter of
the men in profile become women, and drawings, statues and blurs get an answer too. So a face is
read only when it is turned to the viewer, large, sharp, and coloured and shaded as skin is in a
photograph. All other faces are people of whom nothing is known.
"""

from __future__ import annotations

from contextbias.extract.local.chips import Measures

EYE_RATIO = 0.36
"""A frontal face's eyes are farther apart than this share of its width (fixed beforehand)."""
NOSE_OFFSET = 0.45
"""A frontal face's nose is nearer to the middle than this share of the eyes' distance (fixed
beforehand)."""
SMALLEST = 44.0
"""Pixels of the longer side of the box (fixed beforehand)."""
SHARPNESS = 0.15
"""Set on the pictures of docs/local-reader.md."""
FLATNESS = 0.15
"""Set on the pictures of docs/local-reader.md, none of whose photographs is above it."""
SKIN_CHROMA = (5.0, 52.0)
"""Chroma of skin in photographs; set on the pictures of docs/local-reader.md."""
SKIN_HUE = (15.0, 85.0)
"""Hue angle of skin in photographs, in degrees; set on the pictures of docs/local-reader.md."""

DRAWN = "drawn"
"""Fault of a face that passes all checks here, but that a probe takes for a drawing; see people.py
and probes.py."""


def faults(measures: Measures, *, smallest: float = SMALLEST) -> tuple[str, ...]:
    """Why a face may not be read; empty when it may.

    Args:
        measures: What was measured on the face.
        smallest: Pixels that the longer side of its box must have.

    Returns:
        Some of ``small``, ``profile``, ``blurred``, ``flat`` (a drawing, or heavy blur) and
        ``color`` (no skin colour: a drawing, coloured light, something in front of the face, or a
        picture without colour).
    """
    checks = {
        "small": measures.size < smallest,
        "profile": measures.eye_ratio <= EYE_RATIO or measures.nose_offset >= NOSE_OFFSET,
        "blurred": measures.sharpness < SHARPNESS,
        "flat": measures.flatness > FLATNESS,
        "color": not (
            SKIN_CHROMA[0] <= measures.cheek_chroma <= SKIN_CHROMA[1]
            and SKIN_HUE[0] <= measures.cheek_hue <= SKIN_HUE[1]
        ),
    }
    return tuple(name for name, failed in checks.items() if failed)
