"""Images that exist already: taken into the store where they lie, and cost nothing twice.

What a ``folder`` section of study.toml asks for is what its folder holds now: a new file is taken
in, a changed one is read again, and one that is gone is no longer counted. What was imported on
command stays, whatever becomes of the folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from contextbias.config import BackendSection
from contextbias.errors import ConfigError
from contextbias.generate.folder import NO_IMAGE, Skipped
from contextbias.generate.importing import (
    Imported,
    Source,
    latest_attempts,
    removals,
    rows_for,
)
from contextbias.progress import Progress, counted
from contextbias.store import Study
from contextbias.tables import OK

_BESIDE_IMAGES = frozenset({".csv", ".json", ".jsonl", ".md", ".toml", ".txt", ".yaml", ".yml"})
# Tables and notes that usually lie beside images; nobody expects them to be taken for one.

_MOST_REASONS = 5  # that files were left out for, each a line; extensions in such a line


@dataclass(frozen=True, slots=True)
class Taken:
    """What came of one look into a folder."""

    new: int
    """Images that are new or have changed."""
    failed: int
    """How many of them cannot be decoded, or show nothing."""
    removed: int
    """Images that are not there any more."""
    image_ids: frozenset[str]
    """All images that are there."""


def source_of(study: Study, section: BackendSection) -> Source:
    """The folder that a section of study.toml names.

    Raises:
        ConfigError: An option is missing, unknown or no text.
    """
    options = dict(section.options)
    unknown = sorted(set(options) - {"source", "pattern", "manifest"})
    wrong = [key for key, value in options.items() if not isinstance(value, str)]
    if unknown or wrong or "source" not in options:
        seen = f"; unknown: {', '.join(unknown)}" if unknown else ""
        seen += f"; no text: {', '.join(wrong)}" if wrong else ""
        raise ConfigError(
            f"generator {section.name!r} (folder) takes source, pattern and manifest{seen}",
            'set options = { source = "path of the images" }',
        )
    manifest = options.get("manifest")
    return Source(
        folder=study.root / Path(options["source"]).expanduser(),
        pattern=options.get("pattern"),
        manifest=study.root / Path(manifest).expanduser() if manifest else None,
        section=section.name,
    )


def import_images(
    study: Study,
    source: Path,
    *,
    pattern: str | None = None,
    manifest: Path | None = None,
    generator: str = "images",
    progress: Progress,
) -> int:
    """Take existing images into a study, where they lie; returns how many were new.

    Args:
        study: Open for writing.
        source: Their folder.
        pattern: Path pattern such as ``{generator}/{condition}/{role}/{prompt}/{seed}.png``.
        manifest: CSV or JSONL that says what each file shows.
        generator: Name for images whose path and manifest name none.
        progress: Is told about files that were not taken.

    Raises:
        InputError: No folder there, or not one readable image in it.
    """
    asked = Source(folder=source, pattern=pattern, manifest=manifest)
    return take_in(study, asked, generator=generator, progress=progress).new


def take_in(
    study: Study,
    source: Source,
    *,
    generator: str,
    progress: Progress,
    claimed: Mapping[str, str] = MappingProxyType({}),
) -> Taken:
    """Look into a folder and bring the store up to date with it.

    Args:
        study: Open for writing.
        source: The folder.
        generator: Name for images whose path and manifest name none.
        progress: Is told about what the user may not expect.
        claimed: Image id -> the section of study.toml that took it in during this run.

    Raises:
        InputError: No folder there, or not one readable image in it.
        ConfigError: An image of it is claimed.
    """
    found = rows_for(source, generator=generator)
    for image in found.images:
        if image.image_id in claimed:
            raise ConfigError(
                f"the generators {claimed[image.image_id]!r} and {source.section!r} both take in "
                f"{image.path}",
                "take one of the two sections out",
            )
    stored = {image.image_id: image for image in study.images()}
    new = latest_attempts(found.images, stored)
    gone = removals(found.images, source, stored)
    study.append_prompts(found.prompts)
    study.append_generators(found.generators)
    study.append_images([*new, *gone])
    _tell(found, source, progress, news=bool(new))
    if gone:
        progress.say(
            f"{counted(len(gone), 'image')} of {source.folder} no longer there, for example "
            f"{gone[0].path}: kept in the store, and not counted"
        )
    ids = frozenset(image.image_id for image in found.images)
    return Taken(len(new), sum(image.status != OK for image in new), len(gone), ids)


def _left_out(skipped: Iterable[Skipped], folder: Path) -> list[str]:
    """What was not taken and why, the commonest reason first; each reason is named."""
    by_reason: dict[str, list[Path]] = {}
    for each in skipped:
        if each.path.suffix.lower() not in _BESIDE_IMAGES:
            by_reason.setdefault(each.why, []).append(each.path)
    reasons = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    lines = []
    for why, paths in reasons[:_MOST_REASONS]:
        example = (
            _endings(paths) if why == NO_IMAGE else f"for example {paths[0].relative_to(folder)}"
        )
        lines.append(f"{_files(paths)} in {folder} not taken, {example}: {why}")
    if rest := reasons[_MOST_REASONS:]:
        paths = [path for _, each in rest for path in each]
        whys = "; ".join(
            f"{each[0].relative_to(folder)}: {why}" for why, each in rest[:_MOST_REASONS]
        )
        more = f"; {len(rest) - _MOST_REASONS:,} more" if len(rest) > _MOST_REASONS else ""
        others = counted(len(rest), "other reason")
        lines.append(f"{_files(paths)} in {folder} not taken for {others}: {whys}{more}")
    return lines


def _files(paths: Sequence[Path]) -> str:
    folders = sum(path.is_dir() for path in paths)
    kinds = ((len(paths) - folders, "file"), (folders, "folder"))
    return " and ".join(counted(number, noun) for number, noun in kinds if number)


def _endings(paths: Iterable[Path]) -> str:
    """Which extensions there are, the commonest first: ``2 .heic, 1 .zip``."""
    endings = Counter(path.suffix.lower() or "without one" for path in paths).most_common()
    named = [f"{number:,} {ending}" for ending, number in endings[:_MOST_REASONS]]
    rest = sum(number for _, number in endings[_MOST_REASONS:])
    return ", ".join([*named, *([f"{rest:,} others"] if rest else [])])


def _tell(found: Imported, source: Source, progress: Progress, *, news: bool) -> None:
    for line in _left_out(found.skipped, source.folder):
        progress.say(line)
    copies = found.copies()
    if copies and news:
        progress.say(
            f"{counted(len(copies), 'image')} in {source.folder} with the same content as "
            f"another, for example {copies[0]}: each of them counts"
        )
