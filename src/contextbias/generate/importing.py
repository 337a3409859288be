"""Existing images as rows of a study: they stay where they lie, and cost nothing twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from contextbias.generate.folder import Found, Skipped, survey
from contextbias.generate.work import utc_now
from contextbias.ids import content_hash
from contextbias.tables import GeneratorRow, ImageRow, Prompt

IMPORTED = "imported"
"""``base``, ``variant`` and ``bank`` of prompts that came with their images."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The rows of a folder of images."""

    prompts: list[Prompt]
    """One for each (role, condition, prompt) that the paths or the manifest name."""
    generators: list[GeneratorRow]
    """One for each generator that they name."""
    images: list[ImageRow]
    """One for each file, broken ones included; all are first attempts."""
    skipped: tuple[Skipped, ...]
    """Files that were not taken, and why."""


def rows_for(
    source: Path, *, pattern: str | None, manifest: Path | None, generator: str = "images"
) -> Imported:
    """Look through a folder and make its rows.

    Args:
        source: The folder.
        pattern: What the paths say; see generate/folder.py.
        manifest: What a table says; see generate/manifest.py.
        generator: Name for images whose path and table name none.

    Raises:
        InputError: Nothing there that can be read; see `survey`.
    """
    seen = survey(source, pattern=pattern, manifest=manifest)
    prompts = {_prompt(found).prompt_id: _prompt(found) for found in seen.found}
    named = [_named(found, generator) for found in seen.found]
    generators = {name: _generator(name, source) for name in sorted(set(named))}
    replicates: dict[tuple[str, str], int] = defaultdict(int)
    images = []
    for name, found in zip(named, seen.found, strict=True):
        prompt = _prompt(found)
        cell = (name, prompt.prompt_id)
        images.append(_image(found, prompt, generators[name], replicates[cell]))
        replicates[cell] += 1
    return Imported(list(prompts.values()), list(generators.values()), images, seen.skipped)


def latest_attempts(
    images: Iterable[ImageRow], known: dict[str, tuple[int, str]], hashes: dict[str, str | None]
) -> list[ImageRow]:
    """Rows that say something new: a file not seen before, or one whose content has changed.

    Args:
        images: Rows of `rows_for`.
        known: Image id -> (latest attempt, status) in the store.
        hashes: Image id -> content hash of that attempt.
    """
    new = []
    for image in images:
        attempt, status = known.get(image.image_id, (0, ""))
        if attempt and (status, hashes.get(image.image_id)) == (image.status, image.sha256):
            continue
        new.append(replace(image, attempt=attempt + 1))
    return new


def _named(found: Found, generator: str) -> str:
    return generator if found.generator == "images" else found.generator


def _prompt(found: Found) -> Prompt:
    text = found.prompt or ""
    return Prompt(
        prompt_id=content_hash([IMPORTED, found.role, found.condition, text]),
        role=found.role,
        condition=found.condition,
        base=IMPORTED,
        variant=text or IMPORTED,
        location=None,
        activity=None,
        text=text,
        prompted=(),
        bank=IMPORTED,
    )


def _generator(name: str, source: Path) -> GeneratorRow:
    settings = {"source": str(source.resolve())}
    return GeneratorRow(
        generator=name,
        fingerprint=content_hash(["folder", settings]),
        backend="folder",
        settings=settings,
    )


def _image(found: Found, prompt: Prompt, generator: GeneratorRow, replicate: int) -> ImageRow:
    path = str(found.path.resolve())
    key = ["import", generator.generator, prompt.prompt_id, found.seed, path]
    return ImageRow(
        image_id=content_hash(key),
        attempt=1,
        prompt_id=prompt.prompt_id,
        generator=generator.generator,
        generator_fingerprint=generator.fingerprint,
        role=prompt.role,
        condition=prompt.condition,
        variant=prompt.variant,
        seed=replicate if found.seed is None else found.seed,
        replicate=replicate,
        status=found.status,
        reason=found.reason,
        path=path,
        sha256=found.sha256,
        width=found.width,
        height=found.height,
        seconds=0.0,
        created_at=utc_now(),
        provenance={"source": generator.settings["source"]},
    )
