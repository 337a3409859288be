"""Readings to attributes: one row a fact, and for every fact that is missing a row that says why.

This is one of the two places where missing is decided (the other, measure/arrays.py, only counts).
The policy, per image and reader, the first line that applies:

1. The image failed: its status (``blank``, ``blocked``, ``corrupt``, ``error``) for all
   dimensions.
2. No reading by the reader's present settings: ``not_read`` for all dimensions.
3. The reading failed: its status (``refused``, ``truncated``, ``invalid`` …) for all dimensions.
4. The reader has not declared the dimension: ``not_readable``, one row an image.
5. A question about people, and nobody is visible: ``no_person``, one row an image.
6. ``unknown`` (or a list of nothing but ``unknown``, blank words, and words that say the same, such
   as "not visible"): ``unknown``, for that person.
7. ``not_applicable`` (weather indoors): ``not_applicable``. So is what the reader left ``unknown``
   of hair that it says is not there (``facial_hair_color`` where ``facial_hair_present`` is "no"):
   it saw enough, and the question does not arise. This comes before 6.
8. An empty list, or ``none`` in an open vocabulary, also in other words ("nothing"): ``empty``,
   which counts as read.
9. Otherwise one row a canonical label; a label that two surface forms of one person share is one
   row. Of a kind whose presence is denied (``eyewear_present`` "no") the label is ``none``, also
   where the reader left the kind ``unknown``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from contextbias.canonicalise.mapping import LabelMapping
from contextbias.errors import InputError
from contextbias.schema import CODEBOOK_VERSION, DIMENSIONS, EMPTY, UNKNOWN, Dimension
from contextbias.schema.records import NOT_APPLICABLE
from contextbias.tables import EMPTY_LIST, OK, ImageRow, ReaderRow, ReadingRow

ATTRIBUTE_SCHEMA: dict[str, type[pl.DataType]] = {
    "image_id": pl.String,
    "image_path": pl.String,
    "generator": pl.String,
    "role": pl.String,
    "condition": pl.String,
    "prompt_id": pl.String,
    "variant": pl.String,
    "seed": pl.Int64,
    "reader": pl.String,
    "person": pl.Int64,
    "cohort": pl.String,
    "dimension": pl.String,
    "label": pl.String,
    "missing_reason": pl.String,
}
"""Columns and types of ``derived/attributes.parquet``, in order; see tables.AttributeRow."""

_NAMES = tuple(DIMENSIONS)
_FACT = {
    "image": pl.Int64,
    "dim": pl.Int64,
    "person": pl.Int64,
    "label": pl.String,
    "missing_reason": pl.String,
}

# A kind, and the question that makes it `none` when answered "no".
_NONE_WITHOUT = {
    "eyewear_type": "eyewear_present",
    "facial_hair_style": "facial_hair_present",
    "head_covering_type": "head_covering_present",
}

# What can be asked of hair only where there is some -> the answer that says there is none.
_ABSENT = {
    "facial_hair_color": (("facial_hair_present", "no"), ("facial_hair_style", EMPTY)),
    "hair_color": (("hair_present", "no"),),
    "hair_style": (("hair_present", "no"),),
}


def to_attributes(
    images: Iterable[ImageRow],
    readings: Iterable[ReadingRow],
    readers: Iterable[ReaderRow],
    mapping: LabelMapping,
) -> pl.DataFrame:
    """Turn readings into attributes; the module's docstring has the policy.

    Args:
        images: The latest attempt at each image.
        readings: The latest attempt at each reading. Those of images that are not among `images`,
            of settings that are not among `readers`, or of another codebook version are left out.
        readers: The settings in force, one row a reader; each reads every image.
        mapping: Surface forms to canonical labels.

    Returns:
        A frame with the columns of `ATTRIBUTE_SCHEMA`, sorted by generator, role, condition,
        prompt, seed, image, reader, dimension (codebook order), person and label. The same facts
        give the same frame, in whatever order they come.

    Raises:
        InputError: A reader is given twice, or it gave a label that it has not declared readable.
    """
    ordered = _ordered(images)
    in_force = sorted(readers, key=lambda row: row.reader)
    _check_once(in_force)
    by_reader = _by_reader(readings, in_force)
    parts = [
        _Reader(row, by_reader[row.reader], mapping).facts(ordered).with_columns(reader=pl.lit(i))
        for i, row in enumerate(in_force)
    ]
    return _finished(ordered, [row.reader for row in in_force], parts)


@dataclass(frozen=True)
class _Asked:
    """One dimension asked of several holders: an image's record, or a person."""

    dimension: Dimension
    allowed: frozenset[str] | None
    images: Sequence[int]
    persons: Sequence[int | None]
    holders: Sequence[dict[str, Any]]

    def answers(self) -> list[Any]:
        name = self.dimension.name
        if name in _ABSENT:
            absent = _ABSENT[name]
            return [
                NOT_APPLICABLE
                if holder[name] == UNKNOWN and any(holder[other] == no for other, no in absent)
                else holder[name]
                for holder in self.holders
            ]
        can_deny = self.allowed is None or EMPTY in self.allowed
        if name not in _NONE_WITHOUT or not can_deny:
            return [holder[name] for holder in self.holders]
        presence = _NONE_WITHOUT[name]
        return [
            EMPTY if holder[name] == UNKNOWN and holder[presence] == "no" else holder[name]
            for holder in self.holders
        ]


class _Reader:
    """One reader's settings and readings, turned into facts."""

    def __init__(
        self, row: ReaderRow, readings: dict[str, ReadingRow], mapping: LabelMapping
    ) -> None:
        self._row = row
        self._readings = readings
        self._mapping = mapping

    def facts(self, images: Sequence[ImageRow]) -> pl.DataFrame:
        read: list[int] = []
        records: list[dict[str, Any]] = []
        lost: list[tuple[int, str]] = []
        for index, image in enumerate(images):
            reading = self._readings.get(image.image_id)
            if image.status != OK:
                lost.append((index, image.status))
            elif reading is None:
                lost.append((index, "not_read"))
            elif reading.status != OK or reading.record is None:
                lost.append((index, reading.status))
            else:
                read.append(index)
                records.append(reading.record)
        return pl.concat([_without_answers(lost), *self._answered(read, records)])

    def _answered(self, read: list[int], records: list[dict[str, Any]]) -> list[pl.DataFrame]:
        people = [
            (index, number, person)
            for index, record in zip(read, records, strict=True)
            for number, person in enumerate(record["people"])
        ]
        empty = [i for i, record in zip(read, records, strict=True) if not record["people"]]
        whole: Sequence[None] = [None] * len(read)
        columns = tuple(zip(*people, strict=True)) or ((), (), ())
        parts = []
        for dimension in DIMENSIONS.values():
            allowed = self._allowed(dimension)
            if dimension.per_person:
                asked = _Asked(dimension, allowed, *columns)
            else:
                holders = [record[dimension.cohort] for record in records]
                asked = _Asked(dimension, allowed, read, whole, holders)
            if dimension.name not in self._row.readable:
                self._check_unread(asked)
                parts.append(_facts(dimension, read, reason="not_readable"))
                continue
            parts.append(self._one(asked) if dimension.kind == "one" else self._many(asked))
            if dimension.per_person:
                parts.append(_facts(dimension, empty, reason="no_person"))
        return parts

    def _allowed(self, dimension: Dimension) -> frozenset[str] | None:
        labels = self._row.readable.get(dimension.name)
        if labels is None:
            return None
        return frozenset(self._mapping.canonical(dimension.name, label) for label in labels)

    def _one(self, asked: _Asked) -> pl.DataFrame:
        answers = pl.Series(asked.answers(), dtype=pl.String)
        missing = answers.is_in([UNKNOWN, NOT_APPLICABLE])
        frame = pl.DataFrame(
            {"image": asked.images, "person": asked.persons, "answer": answers, "lost": missing},
            schema_overrides={"image": pl.Int64, "person": pl.Int64},
        ).select(
            "image",
            dim=pl.lit(_NAMES.index(asked.dimension.name), dtype=pl.Int64),
            person="person",
            label=pl.when(~pl.col("lost")).then("answer"),
            missing_reason=pl.when("lost").then("answer"),
        )
        self._check_allowed(asked, frame)
        return frame

    def _many(self, asked: _Asked) -> pl.DataFrame:
        rows: list[tuple[int, int | None, str | None, str | None]] = []
        known: dict[str, str] = {}
        for image, person, answer in zip(asked.images, asked.persons, asked.answers(), strict=True):
            labels, reason = self._labels(asked.dimension, answer, known)
            if reason is not None:
                rows.append((image, person, None, reason))
            rows.extend((image, person, label, None) for label in labels)
        schema = {name: _FACT[name] for name in ("image", "person", "label", "missing_reason")}
        number = pl.lit(_NAMES.index(asked.dimension.name), dtype=pl.Int64)
        frame = pl.DataFrame(rows, schema=schema, orient="row").with_columns(dim=number)
        self._check_allowed(asked, frame)
        return frame.select(*_FACT)

    def _labels(
        self, dimension: Dimension, answer: Any, known: dict[str, str]
    ) -> tuple[set[str], str | None]:
        """Canonical labels of one list answer, and the reason where there are none."""
        if answer == UNKNOWN:
            return set(), UNKNOWN
        if not answer:
            return set(), EMPTY_LIST
        labels = set()
        for surface in answer:
            if surface not in known:
                known[surface] = self._mapping.canonical(dimension.name, surface)
            labels.add(known[surface])
        labels -= {UNKNOWN, ""}
        if not labels:
            return labels, UNKNOWN
        if dimension.is_open:
            labels.discard(EMPTY)
        return labels, None if labels else EMPTY_LIST

    def _check_allowed(self, asked: _Asked, frame: pl.DataFrame) -> None:
        if asked.allowed is None:
            return
        seen = set(frame["label"].drop_nulls().unique())
        for label in sorted(seen - asked.allowed):
            raise self._undeclared(asked.dimension.name, label)

    def _check_unread(self, asked: _Asked) -> None:
        name = asked.dimension.name
        for holder in asked.holders:
            if holder[name] not in (UNKNOWN, NOT_APPLICABLE):
                raise self._undeclared(name, holder[name])

    def _undeclared(self, name: str, answer: object) -> InputError:
        return InputError(
            f"the reader {self._row.reader!r} answered {answer!r} for {name}, which is not among "
            "the labels that it has declared readable",
            "correct what the backend declares, or have it answer 'unknown'",
        )


def _ordered(images: Iterable[ImageRow]) -> list[ImageRow]:
    return sorted(
        images,
        key=lambda i: (i.generator, i.role, i.condition, i.prompt_id, i.seed, i.image_id),
    )


def _check_once(readers: Sequence[ReaderRow]) -> None:
    names = [row.reader for row in readers]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"the reader {name!r} is given with {names.count(name)} settings",
                "give the settings in force only",
            )


def _by_reader(
    readings: Iterable[ReadingRow], readers: Sequence[ReaderRow]
) -> dict[str, dict[str, ReadingRow]]:
    in_force = {row.reader: row.fingerprint for row in readers}
    found: dict[str, dict[str, ReadingRow]] = {name: {} for name in in_force}
    for row in readings:
        if (
            in_force.get(row.reader) == row.reader_fingerprint
            and row.schema_version == CODEBOOK_VERSION
        ):
            found[row.reader][row.image_id] = row
    return found


def _facts(dimension: Dimension, images: Sequence[int], *, reason: str) -> pl.DataFrame:
    """One missing row for each of `images`."""
    return pl.DataFrame({"image": images}, schema={"image": pl.Int64}).select(
        "image",
        dim=pl.lit(_NAMES.index(dimension.name), dtype=pl.Int64),
        person=pl.lit(None, dtype=pl.Int64),
        label=pl.lit(None, dtype=pl.String),
        missing_reason=pl.lit(reason),
    )


def _without_answers(lost: list[tuple[int, str]]) -> pl.DataFrame:
    """A missing row for every dimension of each lost image."""
    images = pl.DataFrame(
        lost, schema={"image": pl.Int64, "missing_reason": pl.String}, orient="row"
    )
    numbers = pl.DataFrame({"dim": range(len(_NAMES))}, schema={"dim": pl.Int64})
    return images.join(numbers, how="cross").select(
        "image",
        "dim",
        person=pl.lit(None, dtype=pl.Int64),
        label=pl.lit(None, dtype=pl.String),
        missing_reason="missing_reason",
    )


def _finished(
    images: Sequence[ImageRow], readers: Sequence[str], parts: Sequence[pl.DataFrame]
) -> pl.DataFrame:
    """Sort the facts and put the image's, the reader's and the dimension's names in."""
    if not parts:
        return pl.DataFrame(schema=ATTRIBUTE_SCHEMA)
    facts = pl.concat(parts).sort("image", "reader", "dim", "person", "label", nulls_last=False)
    columns = {
        name: pl.Series([getattr(image, source) for image in images], dtype=ATTRIBUTE_SCHEMA[name])
        for name, source in (
            ("image_id", "image_id"), ("image_path", "path"), ("generator", "generator"),
            ("role", "role"), ("condition", "condition"), ("prompt_id", "prompt_id"),
            ("variant", "variant"), ("seed", "seed"),
        )
    }  # fmt: skip
    cohorts = pl.Series([DIMENSIONS[name].cohort for name in _NAMES])
    return facts.with_columns(
        *(column.gather(facts["image"]).alias(name) for name, column in columns.items()),
        pl.Series(readers, dtype=pl.String).gather(facts["reader"]).alias("reader"),
        cohorts.gather(facts["dim"]).alias("cohort"),
        pl.Series(_NAMES).gather(facts["dim"]).alias("dimension"),
    ).select(*ATTRIBUTE_SCHEMA)
