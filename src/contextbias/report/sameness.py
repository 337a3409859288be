"""What is wrong with a generator's images as a sample: equal pictures, and more than one model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from contextbias.report import formats
from contextbias.tables import OK, ImageRow


def equal_pictures(images: Iterable[ImageRow]) -> str:
    """How many images of each generator have the pixels of another one; empty where none has.

    They are told by the hash of pixels that rows have, as in ``contextbias status``.
    """
    pixels: dict[str, Counter[str]] = {}
    for image in images:
        told = image.provenance.get("pixels")
        if image.status == OK and isinstance(told, str):
            pixels.setdefault(image.generator, Counter())[told] += 1
    found = [
        f"{name}: {formats.whole(twice)} of {formats.whole(counted.total())}"
        for name, counted in sorted(pixels.items())
        if (twice := counted.total() - len(counted))
    ]
    if not found:
        return ""
    return f"{'; '.join(found)} have the pixels of another one; intervals count them as independent"


def models(images: Iterable[ImageRow]) -> str:
    """Generators whose images were made by more than one revision of a model; empty for none."""
    counted: dict[tuple[str, str], Counter[str]] = {}
    for image in images:
        revision = image.provenance.get("revision")
        if isinstance(revision, str):
            key = image.generator, image.generator_fingerprint
            counted.setdefault(key, Counter())[revision] += 1
    found = [
        f"{name} is more than one model: {_each(several)}"
        for (name, _), several in sorted(counted.items())
        if len(several) > 1
    ]
    return "; ".join(found)


def _each(several: Mapping[str, int]) -> str:
    return ", ".join(f"{formats.whole(n)} by {revision}" for revision, n in sorted(several.items()))
