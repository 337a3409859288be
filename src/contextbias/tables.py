"""Every row that a study stores: its fields, its key and its one writer. No logic.

Paid-for rows (prompts, generators, images, readers, readings, frequencies) are append-only rows of
one SQLite file. Derived rows (attributes, label counts, estimates) are Parquet files, rewritten
whole. A row that replaces
an earlier one, such as a retry, is a new row with the next ``attempt``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

STORE_VERSION = 3
"""Version of the SQLite layout; see migrations.py. 2 added ``frequencies``, 3 what people answer
(annotation_tables.py)."""

CONDITIONS = ("CF", "CA-R", "CA-U")
"""Context-free, context-aware related, context-aware unrelated: in the order of every table."""

OK = "ok"
"""Status of an image that exists or a reading that was parsed."""

BLANK = "blank"
"""Status of an image that was made and in which there is nothing to see: it is kept, and not
read."""

REMOVED = "removed"
"""Status of an image that was taken from a folder and is not in it any more: it is not counted."""

FILTERED = "filtered"
"""Status of a reading that a filter of the reader's service stopped; the model itself did not
refuse."""

MISSING_REASONS = {
    "unknown": "the reader saw too little evidence",
    "not_readable": "the reader has declared that it cannot read this dimension",
    "not_applicable": "the question does not arise (weather indoors, color of absent hair)",
    "no_person": "nobody is visible, so the person's questions have no answer",
    "refused": "the reader refused the image",
    "blocked": "the generator refused the prompt",
    "blank": "the generator made a picture with nothing to see in it (black, or one colour)",
    FILTERED: "a content filter of the reader's service stopped the picture or the answer",
    "truncated": "the answer was cut off",
    "invalid": "the answer did not follow the schema",
    "corrupt": "the image file cannot be decoded",
    "error": "the generator or the reader failed",
    "not_read": "no reading has been made yet",
}
"""Why an answer is missing. Missing is never a label and never 0."""

EMPTY_LIST = "empty"
"""Not missing: the dimension was read and the list was empty. Counts in n, adds no label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One sentence that a generator is asked for. Table ``prompts``; writer: bench."""

    prompt_id: str
    """Key. Content hash of role, condition and text."""
    role: str
    """Role name as in the bank, lower case; ``all`` for images that came without one."""
    condition: str
    """``CF``, ``CA-R`` or ``CA-U``."""
    base: str
    """Base prompt: ``cf``, ``rel-place``, ``rel-activity``, ``unrel-place``, ``unrel-activity``;
    ``listed`` where a prompt list does not tell."""
    variant: str
    """``phrasing-1`` …, ``substitute-location``, ``substitute-activity``, or the value of a further
    axis, such as ``lighting-at-dusk``."""
    location: str | None
    """Location as the sentence has it, without preposition or article; None in ``CF``."""
    activity: str | None
    """Activity as the sentence has it; None where the sentence names none."""
    text: str
    """The sentence itself."""
    prompted: tuple[str, ...]
    """Dimensions that the sentence names, so that a label there was asked for."""
    bank: str
    """Name and version of the context bank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorRow:
    """A generator with all that decides its pixels. Table ``generators``; writer: generate."""

    generator: str
    """Key, with ``fingerprint``. The name in study.toml."""
    fingerprint: str
    """Content hash of ``settings``."""
    backend: str
    """Registered name of the backend."""
    settings: dict[str, Any]
    """What decides the pixels: model, revision, options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRow:
    """One attempt at one image. Table ``images``; writer: generate."""

    image_id: str
    """Key, with ``attempt``. Hash of generator fingerprint, prompt and seed (or of the file)."""
    attempt: int
    """1 for the first try; the highest attempt counts."""
    prompt_id: str
    """Which prompt."""
    generator: str
    """Name in study.toml."""
    generator_fingerprint: str
    """Which settings."""
    role: str
    """The prompt's role."""
    condition: str
    """The prompt's condition."""
    variant: str
    """``base/variant`` of the prompt, or the prompt's name for imported images."""
    seed: int
    """The seed that was used."""
    replicate: int
    """0 for the first image of the prompt, 1 for the second, …"""
    status: str
    """``ok``, ``blank``, ``blocked``, ``corrupt``, ``error``, or ``removed`` from its folder."""
    reason: str | None
    """Why the status is not ``ok``, in words."""
    path: str | None
    """File, relative to the study folder (absolute for images left where they are)."""
    sha256: str | None
    """Hash of the file."""
    width: int | None
    """Pixels."""
    height: int | None
    """Pixels."""
    seconds: float
    """Time taken by this attempt."""
    created_at: str
    """UTC, ISO 8601."""
    provenance: dict[str, Any]
    """Backend, library versions, host: what a reader of the picture does not see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderRow:
    """A reader with all that decides its answers. Table ``readers``; writer: extract."""

    reader: str
    """Key, with ``fingerprint``. The name in study.toml."""
    fingerprint: str
    """Content hash of ``settings``."""
    backend: str
    """Registered name of the backend."""
    settings: dict[str, Any]
    """What decides the answers: model, weights, thresholds, rates."""
    readable: dict[str, tuple[str, ...] | None]
    """Dimension -> the labels that it can tell apart (None: all); a dimension left out cannot be
    read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRow:
    """One attempt of one reader at one image. Table ``readings``; writer: extract."""

    reading_id: str
    """Key, with ``attempt``. Hash of image, reader fingerprint and schema version."""
    attempt: int
    """1 for the first try; the highest attempt counts."""
    image_id: str
    """Which image."""
    reader: str
    """Name in study.toml."""
    reader_fingerprint: str
    """Which settings."""
    schema_version: str
    """Codebook version of the record."""
    status: str
    """``ok``, ``refused``, ``filtered``, ``truncated``, ``invalid``, ``corrupt`` or ``error``."""
    reason: str | None
    """Why the status is not ``ok``, in words."""
    record: dict[str, Any] | None
    """The answers (see schema/records.py); None unless ``ok``."""
    raw: dict[str, Any]
    """Everything else that the reader said: boxes, confidences, the untouched answer."""
    seconds: float
    """Time taken by this attempt."""
    created_at: str
    """UTC, ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequencyRow:
    """How often each answer was given about the images of one prompt, read and counted elsewhere.

    Table ``frequencies``; writer: import. There is no image behind it, only the counts.
    """

    frequency_id: str
    """Key, with ``attempt``. Hash of reader, generator, role, condition and prompt."""
    attempt: int
    """1 for the first import; a changed file is the next attempt, and the highest one counts."""
    reader: str
    """Under which name the counts stand in the tables."""
    generator: str
    """End of the generator folder's name."""
    source: str
    """Name of the generator's folder."""
    role: str
    """Which role."""
    condition: str
    """Which condition."""
    prompt_id: str
    """Which prompt."""
    variant: str
    """Name of the prompt's folder, after that of its type where there is one."""
    images: int | None
    """Images that were counted, as the file says; None where it does not say."""
    counts: tuple[tuple[str, str, str, int], ...]
    """The file's rows as they stand there: cohort, dimension, label, count."""
    sha256: str
    """Hash of the file."""
    created_at: str
    """UTC, ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCountRow:
    """How often one answer was given about the images of one prompt, under both label rules.

    ``derived/label_counts.parquet``; writer: canonicalise, from ``frequencies``.
    """

    reader: str
    """Whose answers."""
    generator: str
    """Which generator."""
    role: str
    """Which role."""
    condition: str
    """Which condition."""
    prompt_id: str
    """Which prompt."""
    variant: str
    """Name of the prompt."""
    images: int | None
    """Images that were counted; null where the file does not say."""
    cohort: str
    """``scene``, ``camera``, ``objects`` or ``people``."""
    dimension: str
    """Which question."""
    surface: str
    """The answer as the file has it."""
    label: str | None
    """The canonical answer; null when it is none."""
    missing_reason: str | None
    """``unknown``, ``not_applicable`` or ``empty``; null when there is a label."""
    released_label: str | None
    """The label that the paper's released code makes of it; null when it leaves it out."""
    count: int
    """How often it was counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeRow:
    """One fact about one image. ``derived/attributes.parquet``; writer: canonicalise.

    A dimension with several labels has one row a label. A dimension without an answer has one row
    with ``label`` null and a ``missing_reason``; an empty list has one row with ``label`` null and
    ``missing_reason`` ``empty``, which counts as read.
    """

    image_id: str
    """Which image."""
    image_path: str | None
    """File, relative to the study folder or absolute; null when there is none."""
    generator: str
    """Which generator."""
    role: str
    """Which role."""
    condition: str
    """Which condition."""
    prompt_id: str
    """Which prompt."""
    variant: str
    """Phrasing or substitution of the prompt."""
    seed: int
    """Seed of the image."""
    reader: str
    """Who read it."""
    person: int | None
    """0 for the most prominent person, 1 for the next, …; null for the whole image."""
    cohort: str
    """``scene``, ``camera``, ``objects`` or ``people``."""
    dimension: str
    """Which question."""
    label: str | None
    """The canonical answer; null when missing or empty."""
    missing_reason: str | None
    """One of MISSING_REASONS, or ``empty``; null when there is a label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateRow:
    """One number. ``derived/estimates.parquet``; writer: measure.

    A key that does not apply is null; a condition that is pooled over is ``all``.
    """

    estimand: str
    """What is estimated: ``bi_pooled``, ``prevalence``, ``range_pp``, ``ccs`` …"""
    reader: str
    """Whose readings."""
    generator: str | None
    """Which generator; ``mean`` for the mean over generators."""
    role: str | None
    """Which role; null where roles are pooled or averaged."""
    condition: str | None
    """``CF``, ``CA-R``, ``CA-U``, or ``all``; null where `contrast` is set."""
    contrast: str | None
    """``CA-U - CF``, ``CA-R - CF`` or ``CA-U - CA-R`` for a difference of conditions."""
    cohort: str | None
    """Which cohort; ``all`` for the overall mean."""
    dimension: str | None
    """Which dimension; null for means over dimensions."""
    label: str | None
    """Which label, for numbers about one label."""
    preset: str
    """``paper``, ``strict`` or ``reference``."""
    people: str
    """``primary`` or ``any``."""
    support: str | None
    """``raw`` or ``equal``; of shares over pairs, ``supported`` or ``all`` of them."""
    method: str | None
    """How the interval or the number was made."""
    corrected: bool
    """True when reading errors were corrected for."""
    codebook: str
    """Codebook version."""
    point: float | None
    """The number; null when it is undefined."""
    low: float | None
    """Lower end of the interval."""
    high: float | None
    """Upper end of the interval."""
    verdict: str | None
    """``invariant``, ``shifted``, ``inconclusive``; ``true`` or ``false`` for `invariant_paper`."""
    n: int | None
    """Images, roles or mentions behind the number, as the estimand's page says."""
    n_missing: int | None
    """Images of the same cell that the dimension could not be read from."""
    note: str | None
    """``degenerate``, ``unsupported`` … where the number needs a word."""
