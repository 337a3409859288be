"""Existing images as rows of a study: they stay where they lie, and cost nothing twice."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from contextbias.config import RESERVED_NAMES
from contextbias.errors import InputError
from contextbias.generate.folder import Found, Skipped, place_of, survey
from contextbias.ids import content_hash
from contextbias.tables import BLANK, OK, REMOVED, GeneratorRow, ImageRow, Prompt
from contextbias.worklist import utc_now

IMPORTED = "imported"
"""``base``, ``variant`` and ``bank`` of prompts that came with their images."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A folder of images and what tells what they show."""

    folder: Path
    """The folder."""
    pattern: str | None = None
    """What the paths say; see generate/folder.py."""
    manifest: Path | None = None
    """What a table says; see generate/manifest.py."""
    section: str | None = None
    """Name of the ``[[generators]]`` section that asks for it; None for an import on command."""

    def settings(self) -> dict[str, Any]:
        """What the generator's row says; its hash is the fingerprint.

        Of a section it has all that decides which images are meant and as what, so that images
        taken in under an earlier pattern are told from those that are asked for now.
        """
        folder = os.path.realpath(self.folder)
        if self.section is None:
            return {"source": folder, "asked_by": "import"}
        manifest = None if self.manifest is None else os.path.realpath(self.manifest)
        return {
            "source": folder,
            "asked_by": "study.toml",
            "section": self.section,
            "pattern": self.pattern,
            "manifest": manifest,
        }

    def fingerprint(self) -> str:
        """Content hash of the settings."""
        return content_hash(["folder", self.settings()])


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

    def copies(self) -> list[str]:
        """Paths of images that count, and have the same content as an earlier one."""
        seen: set[str] = set()
        found = []
        for image in self.images:
            if image.status != OK or image.sha256 is None:
                continue
            if image.sha256 in seen:
                found.append(str(image.path))
            seen.add(image.sha256)
        return found


def rows_for(source: Source, *, generator: str = "images") -> Imported:
    """Look through a folder and make its rows.

    Args:
        source: The folder.
        generator: Name for images whose path and table name none.

    Raises:
        InputError: Nothing there that can be read (see `survey`), or a generator's name has a
            meaning of its own in the estimates.
    """
    seen = survey(source.folder, pattern=source.pattern, manifest=source.manifest)
    prompts = {_prompt(found).prompt_id: _prompt(found) for found in seen.found}
    named = [_named(found, generator) for found in seen.found]
    for name in sorted(set(named)):
        if name.lower() in RESERVED_NAMES:
            raise InputError(
                f"a generator is called {name!r}, which has a meaning of its own in the tables",
                "rename it in the paths or the manifest",
            )
    generators = {name: _generator(name, source) for name in sorted(set(named))}
    replicates: dict[tuple[str, str], int] = defaultdict(int)
    images = []
    for name, found in zip(named, seen.found, strict=True):
        prompt = _prompt(found)
        cell = (name, prompt.prompt_id)
        images.append(_image(found, prompt, generators[name], replicates[cell]))
        replicates[cell] += 1
    return Imported(list(prompts.values()), list(generators.values()), images, seen.skipped)


def latest_attempts(images: Iterable[ImageRow], stored: Mapping[str, ImageRow]) -> list[ImageRow]:
    """Rows that say something new: a file not seen before, or changed, or asked for otherwise.

    Args:
        images: Rows of `rows_for`.
        stored: Image id -> latest attempt in the store.
    """
    new = []
    for image in images:
        before = stored.get(image.image_id)
        if before is None or not _is_as_before(before, image):
            new.append(replace(image, attempt=1 if before is None else before.attempt + 1))
    return new


def removals(
    images: Iterable[ImageRow], source: Source, stored: Mapping[str, ImageRow]
) -> list[ImageRow]:
    """Rows for images that a section took in earlier and that are not there any more.

    Args:
        images: What is there now: rows of `rows_for`.
        source: Where; an import on command removes nothing.
        stored: Image id -> latest attempt in the store.
    """
    if source.section is None:
        return []
    there, asked = {image.image_id for image in images}, source.fingerprint()
    return [
        replace(
            row,
            attempt=row.attempt + 1,
            status=REMOVED,
            reason="not in its folder or manifest any more",
            created_at=utc_now(),
        )
        for row in stored.values()
        if row.generator_fingerprint == asked
        and row.status != REMOVED
        and row.image_id not in there
    ]


def _is_as_before(before: ImageRow, image: ImageRow) -> bool:
    """Whether a row says nothing new of the same file, asked for in the same way.

    Studies of earlier versions have pictures with nothing to see in them as ``ok``. They keep
    them, and their numbers, until the file changes.
    """
    same = (before.sha256, before.generator_fingerprint) == (
        image.sha256,
        image.generator_fingerprint,
    )
    return same and (before.status == image.status or (before.status, image.status) == (OK, BLANK))


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


def _generator(name: str, source: Source) -> GeneratorRow:
    return GeneratorRow(
        generator=name,
        fingerprint=source.fingerprint(),
        backend="folder",
        settings=source.settings(),
    )


def _image(found: Found, prompt: Prompt, generator: GeneratorRow, replicate: int) -> ImageRow:
    path = place_of(found.path)
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
