"""What was read elsewhere: the released code's files, and records of single images.

Frequency files become rows of the table ``frequencies``: there is no image behind them, and none is
made up. Records become images (without a file, unless it is there) and readings, as if a reader of
this program had made them. Importing the same files again adds nothing; a file that has changed is
the next attempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from contextbias.config import RESERVED_NAMES
from contextbias.errors import ConfigError, InputError
from contextbias.extract.frequencies import Frequencies, Place, read_frequencies
from contextbias.extract.records import Described, read_descriptions, read_records
from contextbias.extract.work import reading_id
from contextbias.generate.folder import condition_of, place_of
from contextbias.generate.importing import IMPORTED
from contextbias.ids import content_hash, file_sha256
from contextbias.pipeline.selection import RECORDS
from contextbias.progress import counted
from contextbias.schema import CODEBOOK_VERSION, DIMENSIONS
from contextbias.store import Study
from contextbias.tables import (
    OK,
    FrequencyRow,
    GeneratorRow,
    ImageRow,
    Prompt,
    ReaderRow,
    ReadingRow,
)
from contextbias.worklist import utc_now


@dataclass(frozen=True, slots=True)
class ReleasedFiles:
    """What was found in a folder of the released layout, read and checked."""

    frequencies: tuple[Frequencies, ...]
    """Counts by prompt."""
    records: tuple[Described, ...]
    """Records of single images."""


@dataclass(frozen=True, slots=True)
class ImportedRows:
    """How many rows an import added."""

    frequencies: int = 0
    """Prompts whose counts are new or have changed."""
    readings: int = 0
    """Readings that are new or have changed."""
    invalid: int = 0
    """How many of these are off schema."""
    example: str = ""
    """The first of them: where, and why."""
    uncounted: tuple[str, ...] = ()
    """Questions of the counts that are not of this schema: kept, and not counted."""
    above: int = 0
    """Counts that are larger than the number of images of their prompt."""
    above_example: str = ""
    """The first of them: where, and what."""


def read_reference(source: Path) -> ReleasedFiles:
    """Read a folder of the released layout; nothing is written.

    Raises:
        InputError: A file is broken (named with its line) or misplaced, or there is none.
    """
    found = ReleasedFiles(
        tuple(read_frequencies(source, condition_of)),
        tuple(read_descriptions(source, condition_of)),
    )
    if not found.frequencies and not found.records:
        raise InputError(
            f"{source} has no frequency/frequencies.csv and no descriptions/*.json below it",
            "give the folder that holds PREFIX_GENERATOR/CONDITION/ROLE/PROMPT",
        )
    _check_sources([f.place for f in found.frequencies])
    _check_prompts(found.frequencies)
    return found


def import_reference(study: Study, found: ReleasedFiles, *, reader: str) -> ImportedRows:
    """Take the released code's files into a study.

    Args:
        study: Open for writing.
        found: What `read_reference` found.
        reader: Under which name the counts stand in the tables. Records of single images, where
            there are some, stand under ``<reader>-records``.

    Raises:
        ConfigError: The reader's name belongs to another one.
        InputError: A generator's name is taken by the counts of another folder.
    """
    taken = {row.reader for row in study.readers()} | {s.name for s in study.config.readers}
    _check_reader(reader, taken)
    stored = {row.frequency_id: row for row in study.frequencies()}
    _check_sources(
        [f.place for f in found.frequencies],
        {row.generator: row.source for row in stored.values()},
    )
    rows = [frequency_row(each, reader) for each in found.frequencies]
    new = _latest(rows, stored, "frequency_id", ("sha256", "source"))
    study.append_prompts(_prompt(row.role, row.condition, row.variant) for row in rows)
    study.append_frequencies(new)
    asked = {dimension for each in found.frequencies for _, dimension, *_ in each.counts}
    above = list(_above(found.frequencies))
    done = ImportedRows(
        frequencies=len(new),
        uncounted=tuple(sorted(asked - DIMENSIONS.keys())),
        above=len(above),
        above_example=above[0] if above else "",
    )
    if not found.records:
        return done
    read = import_records(study, found.records, reader=f"{reader}-{RECORDS}")
    return replace(done, readings=read.readings, invalid=read.invalid, example=read.example)


def import_records(study: Study, records: Sequence[Described], *, reader: str) -> ImportedRows:
    """Take records of single images into a study.

    Args:
        study: Open for writing.
        records: What `read_source` found.
        reader: Under which name the readings stand in the tables.

    Raises:
        ConfigError: The reader's name belongs to another one.
        InputError: Two of them are about one image.
    """
    others = {row.reader for row in study.readers() if row.backend != RECORDS}
    others |= {section.name for section in study.config.readers}
    others |= {reader for _, _, reader, _ in study.counted()}
    _check_reader(reader, others)
    known = {image.image_id: image for image in study.images()}
    reader_row = _reader_row(reader)
    images = [_image_of(record, known) for record in records]
    _check_once(records, images)
    readings = [
        _reading(record, image, reader_row) for record, image in zip(records, images, strict=True)
    ]
    stored = {row.reading_id: row for row in study.readings()}
    new = _latest(readings, stored, "reading_id", ("status", "record", "raw"))
    made = [image for image in images if image.generator_fingerprint == _fingerprint()]
    study.append_prompts(_prompt(i.role, i.condition, i.variant) for i in made)
    study.append_generators(_generator(name) for name in sorted({i.generator for i in made}))
    study.append_images(_latest(made, known, "image_id", ("status", "sha256", "path")))
    study.append_readers([reader_row])
    study.append_readings(new)
    invalid = [
        (record.where, row.reason)
        for record, row in zip(records, readings, strict=True)
        if row.status == "invalid"
    ]
    example = f"{invalid[0][0]}: {invalid[0][1]}" if invalid else ""
    return ImportedRows(readings=len(new), invalid=len(invalid), example=example)


def read_source(source: Path) -> list[Described]:
    """Read records of single images of either form; nothing is written; raises `InputError`."""
    if not source.exists():
        raise InputError(f"there is no {source}", "give a folder of records, or a file of them")
    return read_records(source, condition_of)


# ---- rows


def frequency_row(found: Frequencies, reader: str) -> FrequencyRow:
    """The row of one file of counts, as a first attempt."""
    place = found.place
    prompt = _prompt(place.role, place.condition, place.prompt)
    return FrequencyRow(
        frequency_id=content_hash(["frequencies", reader, place.generator, prompt.prompt_id]),
        attempt=1,
        reader=reader,
        generator=place.generator,
        source=place.source,
        role=place.role,
        condition=place.condition,
        prompt_id=prompt.prompt_id,
        variant=place.prompt,
        images=found.images,
        counts=found.counts,
        sha256=found.sha256,
        created_at=utc_now(),
    )


def _prompt(role: str, condition: str, text: str) -> Prompt:
    return Prompt(
        prompt_id=content_hash([IMPORTED, role, condition, text]),
        role=role,
        condition=condition,
        base=IMPORTED,
        variant=text or IMPORTED,
        location=None,
        activity=None,
        text=text,
        prompted=(),
        bank=IMPORTED,
    )


def _image_of(record: Described, known: dict[str, ImageRow]) -> ImageRow:
    """The image that a record is about: one of the study, or a new one."""
    if record.image_id is not None and record.image_id in known:
        return known[record.image_id]
    prompt = _prompt(record.role, record.condition, record.prompt)
    path = None if record.path is None else place_of(record.path)
    return ImageRow(
        image_id=record.image_id
        or content_hash(["record", record.generator, prompt.prompt_id, record.name]),
        attempt=1,
        prompt_id=prompt.prompt_id,
        generator=record.generator,
        generator_fingerprint=_fingerprint(),
        role=record.role,
        condition=record.condition,
        variant=prompt.variant,
        seed=record.seed or 0,
        replicate=0,
        status=OK,
        reason=None,
        path=path,
        sha256=None if record.path is None else file_sha256(record.path),
        width=None,
        height=None,
        seconds=0.0,
        created_at=utc_now(),
        provenance={"name": record.name},
    )


def _reading(record: Described, image: ImageRow, reader: ReaderRow) -> ReadingRow:
    return ReadingRow(
        reading_id=reading_id(
            reader.reader, reader.fingerprint, image.image_id, image.sha256 or ""
        ),
        attempt=1,
        image_id=image.image_id,
        reader=reader.reader,
        reader_fingerprint=reader.fingerprint,
        schema_version=CODEBOOK_VERSION,
        status=record.status,
        reason=record.reason,
        record=record.record,
        raw=record.raw,
        seconds=0.0,
        created_at=utc_now(),
    )


def _settings() -> dict[str, Any]:
    return {"asked_by": "import"}


def _fingerprint() -> str:
    return content_hash([RECORDS, _settings()])


def _generator(name: str) -> GeneratorRow:
    return GeneratorRow(
        generator=name, fingerprint=_fingerprint(), backend=RECORDS, settings=_settings()
    )


def _reader_row(name: str) -> ReaderRow:
    return ReaderRow(
        reader=name,
        fingerprint=_fingerprint(),
        backend=RECORDS,
        settings=_settings(),
        readable=dict.fromkeys(DIMENSIONS),
    )


def _latest(
    rows: Iterable[Any], stored: dict[str, Any], key: str, content: tuple[str, ...]
) -> list[Any]:
    """Rows that say something new, as the next attempt of what is stored."""
    new = []
    for row in rows:
        before = stored.get(getattr(row, key))
        if before is None:
            new.append(row)
        elif any(getattr(before, name) != getattr(row, name) for name in content):
            new.append(replace(row, attempt=before.attempt + 1))
    return new


# ---- checks


def _above(files: Iterable[Frequencies]) -> Iterator[str]:
    """Counts of more images than their prompt has, in words: one of them is wrong."""
    for each in files:
        place = each.place
        for _, dimension, label, count in each.counts:
            if each.images is not None and count > each.images and dimension in DIMENSIONS:
                yield (
                    f"{count:,} of {counted(each.images, 'image')} for {dimension} {label!r}, in "
                    f"{place.generator}, {place.condition}, {place.role}, {place.prompt}"
                )


def _check_reader(name: str, taken: set[str]) -> None:
    if name in taken or name.lower() in RESERVED_NAMES:
        raise ConfigError(
            f"the reader's name {name!r} is taken by another reader of the study",
            "give another one with --reader",
        )


def _check_sources(places: Iterable[Place], stored: dict[str, str] | None = None) -> None:
    """One folder a generator: two with the same end would be added up."""
    seen = dict(stored or {})
    for place in places:
        if place.generator.lower() in RESERVED_NAMES:
            raise InputError(
                f"the folder {place.source!r} ends in {place.generator!r}, which has a meaning of "
                "its own in the tables",
                "rename the folder",
            )
        known = seen.setdefault(place.generator, place.source)
        if known != place.source:
            raise InputError(
                f"the folders {known!r} and {place.source!r} are both of a generator "
                f"{place.generator!r}",
                "import them into two studies, or rename one",
            )


def _check_prompts(files: Iterable[Frequencies]) -> None:
    """One file a prompt: of two, the counts of one would be lost."""
    seen: dict[tuple[str, str, str, str], Path] = {}
    for each in files:
        place = each.place
        key = (place.generator, place.role, place.condition, place.prompt)
        first = seen.setdefault(key, each.path)
        if first != each.path:
            raise InputError(
                f"{first} and {each.path} are both of {place.generator}, {place.role!r}, "
                f"{place.condition}, {place.prompt!r}",
                "keep one of them, or rename its folder",
            )


def _check_once(records: Sequence[Described], images: Sequence[ImageRow]) -> None:
    seen: dict[str, str] = {}
    for record, image in zip(records, images, strict=True):
        if image.image_id in seen:
            raise InputError(
                f"{record.where} is about the same image as {seen[image.image_id]} "
                f"({image.generator}, {image.condition}, {image.role}, {record.name})",
                "keep one of the two",
            )
        seen[image.image_id] = record.where
