"""From what a backend made to what is kept: looked at, encoded, labelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from contextbias.generate.origin import Kind, Origin, packet
from contextbias.generate.protocol import Made
from contextbias.tables import BLANK, OK

if TYPE_CHECKING:
    from PIL import Image


@dataclass(frozen=True, slots=True)
class Finished:
    """What a backend made, looked at and encoded."""

    made: Made
    """As the backend gave it, with what was found out about it."""
    data: bytes | None = None
    """The master's bytes; None where there is no picture."""
    size: tuple[int, int] | None = None
    """Width and height in pixels."""
    first: Finished | None = None
    """The blank picture that this one replaces."""

    @property
    def suffix(self) -> str:
        """Extension of the master."""
        return ".webp" if self.data is not None and self.data.startswith(b"RIFF") else ".png"


def finished(made: Made, origin: Origin, kind: Kind) -> Finished:
    """Look at a picture and encode it; what is no picture becomes an error with its reason."""
    from contextbias.generate import masters
    from contextbias.generate.quality import pixels_sha256

    has_picture = made.image is not None or made.data is not None
    if made.status not in (OK, BLANK) or (made.status == BLANK and not has_picture):
        return Finished(made)
    try:
        picture = masters.picture_of(made.image, made.data)
        data = masters.master(picture, made.data, packet(origin), kind)
    except masters.NotAPicture as error:
        return Finished(replace(made, status="error", reason=f"no picture came: {error}"))
    if made.status == OK:
        fault = _fault(made, picture.image)
        made = made if fault is None else replace(made, status=BLANK, reason=fault)
    came_as = {} if picture.format in (None, "PNG") else {"delivered_as": picture.format}
    provenance = {**made.provenance, **came_as, "pixels": pixels_sha256(picture.image)}
    return Finished(replace(made, provenance=provenance), data, picture.image.size)


def _fault(made: Made, image: Image.Image) -> str | None:
    """What is wrong with a picture; its values are looked at before they became grey levels."""
    import numpy as np
    from PIL import Image

    from contextbias.generate.quality import blemish, not_numbers

    if made.image is not None and not isinstance(made.image, Image.Image):
        fault = not_numbers(np.asarray(made.image))
        if fault is not None:
            return fault
    return blemish(image)


def cured(
    blank: Finished, cure: Callable[[str], Made | None], origin: Origin, kind: Kind
) -> Finished:
    """The same picture made in another way; `blank` itself where that is no better.

    Args:
        blank: A picture in which there is nothing to see.
        cure: Makes it once more, told what is wrong with it (see protocol.CuringGenerator).
        origin: What the master says about where it comes from.
        kind: Format of the master.
    """
    fault = blank.made.reason or BLANK
    try:
        again = cure(fault)
    except Exception as error:  # the blank picture is there all the same
        failed = {**blank.made.provenance, "cure_failed": f"{type(error).__name__}: {error}"}
        return replace(blank, made=replace(blank.made, provenance=failed))
    if again is None:
        return blank
    better = finished(again, origin, kind)
    if better.made.status != OK:
        return blank
    provenance = {**better.made.provenance, "cured": fault}
    return replace(better, made=replace(better.made, provenance=provenance), first=blank)
