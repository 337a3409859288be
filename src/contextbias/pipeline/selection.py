"""What a study's configuration wants, and which stored rows belong to it.

The store keeps everything that was ever paid for. Numbers are made only from rows that the current
study.toml asks for, and from imported images: so a changed option never mixes with what was made
before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from contextbias.bench import is_prompt_list
from contextbias.config import BackendSection
from contextbias.errors import ConfigError, MissingPart, nearest
from contextbias.extract.work import reading_id
from contextbias.generate.work import Order, orders_for
from contextbias.ids import content_hash
from contextbias.pipeline.asking import Asked, asked_of
from contextbias.pipeline.imports import source_of
from contextbias.pipeline.options import Options
from contextbias.registry import load_generator, load_reader
from contextbias.store import Study
from contextbias.tables import OK, REMOVED, GeneratorRow, ImageRow, Prompt, ReaderRow, ReadingRow

RECORDS = "records"
"""The backend of generators and readers whose work came as records."""

FOLDER = "folder"
"""The backend of images that exist already."""


@dataclass(frozen=True)
class Wanted:
    """Everything that the configuration asks for; made once a run."""

    study: Study
    """Whose configuration."""

    @cached_property
    def drawn(self) -> tuple[BackendSection, ...]:
        """The generators that draw; folders of existing images left out."""
        return tuple(g for g in self.study.config.generators if g.backend != FOLDER)

    @cached_property
    def folders(self) -> tuple[BackendSection, ...]:
        """The generators whose images exist already."""
        return tuple(g for g in self.study.config.generators if g.backend == FOLDER)

    @cached_property
    def asked(self) -> Asked:
        """The prompts for the configured roles; of a bank, none where nothing draws.

        Raises:
            BankError: An unknown role, or a bank that breaks a rule.
            InputError: A prompt list that cannot be read.
        """
        is_asked = self.drawn or is_prompt_list(self.study.config.bench.bank)
        return asked_of(self.study) if is_asked else Asked(())

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """All prompts that generators are asked for; raises as `asked`."""
        return self.asked.prompts

    def known_prompts(self) -> list[Prompt]:
        """All prompts of the study, by id, each as the configuration has it now.

        The same sentence may be another variant, or be said to name other dimensions, than when it
        was first stored.
        """
        now = {prompt.prompt_id: prompt for prompt in self.prompts}
        stored = {prompt.prompt_id: prompt for prompt in self.study.prompts()}
        return [prompt for _, prompt in sorted((stored | now).items())]

    def backend_of(self, section: BackendSection) -> Any:
        """The backend of a generator that draws, built from its options; nothing heavy is loaded.

        Raises:
            ConfigError: No such backend, or it refuses an option.
            MissingPart: What it needs is not there.
        """
        return load_generator(section.backend, dict(section.options), folder=self.study.root)

    @cached_property
    def generator_rows(self) -> dict[str, GeneratorRow]:
        """Name -> settings and fingerprint of each generator that draws."""
        rows = {}
        for section in self.drawn:
            settings = self.backend_of(section).settings()
            rows[section.name] = GeneratorRow(
                generator=section.name,
                fingerprint=content_hash([section.backend, settings]),
                backend=section.backend,
                settings=settings,
            )
        return rows

    @cached_property
    def reader_rows(self) -> dict[str, ReaderRow]:
        """Name -> settings, fingerprint and readable labels of each reader.

        They are those that study.toml names, then those whose readings were imported.

        Raises:
            ConfigError: No such backend, or it refuses an option.
            MissingPart: What one of them needs is not there.
        """
        for section in self.study.config.readers:
            if section.name not in self.known_readers:
                self._reader_row(section)
        return self.known_readers

    @cached_property
    def known_readers(self) -> dict[str, ReaderRow]:
        """The same without those that have read nothing and cannot be had on this machine.

        Images can be made where their reader is not installed.
        """
        stored = self.study.readers()
        asked = {}
        for section in self.study.config.readers:
            try:
                asked[section.name] = self._reader_row(section)
            except MissingPart:
                if (section.name, section.backend) in {(r.reader, r.backend) for r in stored}:
                    raise
        return asked | {row.reader: row for row in stored if row.backend == RECORDS}

    @cached_property
    def reader_names(self) -> frozenset[str]:
        """Names of all readers, whether they can be had on this machine or not."""
        return frozenset({s.name for s in self.study.config.readers} | self.known_readers.keys())

    def _reader_row(self, section: BackendSection) -> ReaderRow:
        try:
            backend = load_reader(section.backend, dict(section.options))
        except MissingPart:
            # A study that was read elsewhere can be measured and reported here all the same.
            stored = [
                row
                for row in self.study.readers()
                if (row.reader, row.backend) == (section.name, section.backend)
            ]
            if len(stored) != 1:
                raise
            return stored[0]
        settings = backend.settings()
        return ReaderRow(
            reader=section.name,
            fingerprint=content_hash([section.backend, settings]),
            backend=section.backend,
            settings=settings,
            readable=backend.readable(),
        )

    def orders(
        self,
        section: BackendSection,
        *,
        roles: Collection[str] | None = None,
    ) -> list[Order]:
        """Every image wanted from one generator, finished ones included."""
        config = self.study.config.study
        return list(
            orders_for(
                [p for p in self.prompts if roles is None or p.role in roles],
                generator=section.name,
                fingerprint=self.generator_rows[section.name].fingerprint,
                images_per_prompt=config.images_per_prompt,
                study_seed=config.seed,
                paired=config.seeds == "paired",
                seeds=self.asked.seeds_of(section.name),
            )
        )

    @cached_property
    def image_ids(self) -> frozenset[str]:
        """Ids of all images that the generators which draw are asked for."""
        return frozenset(o.job.image_id for section in self.drawn for o in self.orders(section))

    @cached_property
    def folder_fingerprints(self) -> frozenset[str]:
        """Fingerprints of the folders that study.toml names."""
        return frozenset(source_of(self.study, s).fingerprint() for s in self.folders)

    def images(self) -> list[ImageRow]:
        """Stored images that belong to this configuration.

        They are those that it asks a generator for, those that its folders hold now, and those
        that were imported on command.
        """
        by_command = {
            row.fingerprint
            for row in self.study.generators()
            if row.backend in (FOLDER, RECORDS) and row.settings.get("asked_by") == "import"
        }
        imported = by_command | self.folder_fingerprints
        return [
            self._as_asked_now(image)
            for image in self.study.images()
            if image.image_id in self.image_ids
            or (image.generator_fingerprint in imported and image.status != REMOVED)
        ]

    def _as_asked_now(self, image: ImageRow) -> ImageRow:
        """The row with the variant that its prompt has in the present configuration."""
        variant = self._variants.get(image.prompt_id, image.variant)
        return image if variant == image.variant else replace(image, variant=variant)

    @cached_property
    def _variants(self) -> dict[str, str]:
        return {p.prompt_id: f"{p.base}/{p.variant}" for p in self.prompts}

    def unused_images(self) -> int:
        """How many stored images do not belong to this configuration."""
        used = {image.image_id for image in self.images()}
        return sum(image_id not in used for image_id in self.study.attempts("images"))

    def readings(self, images: Iterable[ImageRow]) -> list[ReadingRow]:
        """Stored readings of `images` by the configured readers with their current settings."""
        ids = self._reading_ids(images)
        return [reading for reading in self.study.readings() if reading.reading_id in ids]

    def unused_readings(self, images: Iterable[ImageRow]) -> int:
        """How many stored readings are of other images, or by other readers or settings."""
        known = list(images)
        used = self._reading_ids(known) | self.repeat_ids(known).keys()
        return sum(key not in used for key in self.study.attempts("readings"))

    def repeat_ids(self, images: Iterable[ImageRow]) -> dict[str, int]:
        """Ids of stored further readings -> number of the repeat, 1 for the first; see repeats.py.

        Ids are made, not stored: numbers are gone through until one has no reading.
        """
        known = list(images)
        others = self.study.attempts("readings").keys() - self._reading_ids(known)
        found: dict[str, int] = {}
        number = 1
        while others and (there := self._reading_ids(known, repeat=number) & others):
            found |= dict.fromkeys(there, number)
            number += 1
        return found

    def _reading_ids(self, images: Iterable[ImageRow], *, repeat: int = 0) -> set[str]:
        return {
            reading_id(row.reader, row.fingerprint, image.image_id, image.sha256 or "", repeat)
            for image in images
            if image.status == OK
            for row in self.known_readers.values()
        }


def has_file(study: Study, image: ImageRow) -> bool:
    """Whether the file of an image is where it was put."""
    return image.path is not None and study.files.has(image.path)


def check_options(wanted: Wanted, options: Options) -> None:
    """Refuse options of a run that name a role or a generator which the study has not.

    Raises:
        ConfigError: Names the unknown word, and the nearest known one.
    """
    imported = {image.role for image in wanted.study.images()}
    roles = {prompt.role for prompt in wanted.prompts} | imported
    _check_names("role", options.roles, sorted(roles))
    configured = {section.name for section in wanted.study.config.generators}
    drew = {row.generator for row in wanted.study.generators()}
    _check_names("generator", options.generators, sorted(configured | drew))


def is_chosen(image: ImageRow, options: Options) -> bool:
    """Whether an image is of the roles and generators that a run is about."""
    return (options.roles is None or image.role in options.roles) and (
        options.generators is None or image.generator in options.generators
    )


def _check_names(kind: str, asked: Collection[str] | None, known: Iterable[str]) -> None:
    names = list(known)
    for word in asked or ():
        if word not in names:
            hint = nearest(word, names) or f"known here: {', '.join(names[:20])}"
            raise ConfigError(f"this study has no {kind} {word!r}", hint)


def planted_backends(wanted: Wanted) -> list[tuple[str, Any]]:
    """Name and backend of each generator that knows its own truth."""
    backends = [(section.name, wanted.backend_of(section)) for section in wanted.drawn]
    return [(name, backend) for name, backend in backends if hasattr(backend, "planted")]
