"""How much of a person is in the picture."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """The square of the figure's plane that is in the picture."""

    name: str
    """The codebook's label."""
    top: float
    """y of the upper edge, figure units."""
    size: float
    """Width and height, figure units."""
    whole: bool
    """True when the legs are in it."""
    lift: float
    """How far hands are raised, so that what they hold is in it."""

    @property
    def bottom(self) -> float:
        """y of the lower edge, figure units."""
        return self.top + self.size


FRAMES = {
    "tight": Frame("tight", -78.0, 376.0, False, 56.0),
    "medium": Frame("medium", -96.0, 552.0, False, 0.0),
    "wide": Frame("wide", -118.0, 920.0, True, 0.0),
}
"""Label -> frame; a head takes 35, 24 and 14% of the picture's height."""


def frame_for(label: str) -> Frame:
    """The frame of a label; medium for labels that are not drawn."""
    return FRAMES.get(label, FRAMES["medium"])
