"""What was drawn and read for prompts whose truth is known, as measure takes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextbias.files import TRUTH_SUFFIX
from contextbias.guards import CONFIG_FILE, STORE_FILE
from contextbias.ids import content_hash
from contextbias.pipeline.selection import Wanted, planted_backends
from contextbias.pipeline.validation_prompts import FOLDER, PROMPTS_FILE, known_prompts, named_by
from contextbias.schema import CODEBOOK_VERSION, DIMENSIONS
from contextbias.store import MAPPING_FILE, Study
from contextbias.tables import OK, ImageRow, ReaderRow, ReadingRow

if TYPE_CHECKING:
    import polars as pl

    from contextbias.canonicalise import LabelMapping

_TRUTH = "truth"  # stands for a reader; only inside this module
_GROUPS = ("gender_presentation", "skin_tone")


def known_fingerprint(root: Path) -> str | None:
    """What is known of the labelled prompts of a study, as a hash; None where nothing is."""
    folder = root / FOLDER
    if not (folder / STORE_FILE).is_file() or not (folder / PROMPTS_FILE).is_file():
        return None
    with Study.open(folder) as study:
        rows = [sorted(study.attempts(table).items()) for table in ("images", "readings")]
    if not rows[1]:
        return None
    files = [
        sha256((folder / name).read_bytes()).hexdigest() for name in (CONFIG_FILE, PROMPTS_FILE)
    ]
    return content_hash(["known", files, rows])


def known_answers(root: Path, mapping: bytes | None) -> pl.DataFrame | None:
    """What readers read, and what simulated pictures show, of the label that each prompt names.

    Args:
        root: The study.
        mapping: Its label mapping, which is used here too; None where there is none.

    Returns:
        Columns of measure.validity_known.KNOWN_SCHEMA, one row an image and reader; None where no
        such image was read.
    """
    from contextbias.canonicalise import LabelMapping

    if known_fingerprint(root) is None:
        return None
    labels = (
        LabelMapping({}) if mapping is None else LabelMapping.from_json(mapping, where=MAPPING_FILE)
    )
    with Study.open(root / FOLDER) as study:
        wanted = Wanted(study)
        images = [image for image in wanted.images() if image.status == OK]
        readings = wanted.readings(images)
        if not readings:
            return None
        names = _names(wanted)
        return _answers(wanted, images, readings, names, labels)


def _names(wanted: Wanted) -> pl.DataFrame:
    """prompt_id, dimension, named, present."""
    import polars as pl

    named = named_by(known_prompts(wanted.study.root))
    rows = [
        (p.prompt_id, each.dimension, each.label, each.present)
        for p in wanted.prompts
        if (each := named.get((p.role, p.condition, p.text))) is not None
    ]
    return pl.DataFrame(
        rows,
        schema={
            "prompt_id": pl.String,
            "dimension": pl.String,
            "named": pl.String,
            "present": pl.Boolean,
        },
        orient="row",
    )


def _answers(
    wanted: Wanted,
    images: Sequence[ImageRow],
    readings: Sequence[ReadingRow],
    names: pl.DataFrame,
    mapping: LabelMapping,
) -> pl.DataFrame:
    import polars as pl

    from contextbias.canonicalise import to_attributes
    from contextbias.measure.validity_known import KNOWN_SCHEMA

    truths = _truths(wanted, images)
    readers = list(wanted.reader_rows.values())
    read = to_attributes(images, readings, readers, mapping)
    drawn = [image for image in images if image.image_id in truths]
    true = to_attributes(drawn, _as_readings(truths), [_truth_reader()], mapping)
    answers = _about(read, names)
    shown = _about(true, names).select("image_id", truth="read", shown=pl.lit(True))
    return (
        answers.join(shown, on="image_id", how="left", maintain_order="left")
        .with_columns(pl.col("shown").fill_null(value=False))
        .join(_groups(read), on=["image_id", "reader"], how="left", maintain_order="left")
        .select(*KNOWN_SCHEMA)
        .sort("reader", "generator", "role", "prompt_id", "image_id")
    )


def _about(attributes: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """What was said of the label that the image's prompt names; ``read`` null where nothing."""
    import polars as pl

    keys = ["reader", "generator", "role", "condition", "prompt_id", "image_id"]
    reason = pl.col("missing_reason").drop_nulls().first()
    return (
        attributes.filter(pl.col("person").fill_null(0) == 0)
        .join(names, on=["prompt_id", "dimension"], how="inner", maintain_order="left")
        .group_by(*keys, "dimension", "named", "present", maintain_order=True)
        .agg(labels=pl.col("label").drop_nulls().unique().sort(), reason=reason)
        .with_columns(
            read=pl.when((pl.col("labels").list.len() > 0) | (pl.col("reason") == "empty"))
            .then("labels")
            .otherwise(None),
        )
        .rename({"named": "label"})
        .drop("labels")
    )


def _groups(read: pl.DataFrame) -> pl.DataFrame:
    """How the picture's most prominent person appears to each reader: presentation, skin tone."""
    import polars as pl

    return (
        read.filter(pl.col("person").fill_null(0) == 0, pl.col("dimension").is_in(_GROUPS))
        .group_by("image_id", "reader")
        .agg(
            pl.col("label").filter(pl.col("dimension") == name).first().alias(name)
            for name in _GROUPS
        )
    )


# ---- the truth of simulated pictures


def _truths(wanted: Wanted, images: Sequence[ImageRow]) -> dict[str, dict[str, Any]]:
    """Image -> what it was made to show, of generators that know."""
    names = {name for name, _ in planted_backends(wanted)}
    found = {}
    for image in images:
        if image.generator not in names or image.path is None:
            continue
        record = _record(wanted.study, image.path)
        if record is not None:
            found[image.image_id] = record
    return found


def _record(study: Study, path: str) -> dict[str, Any] | None:
    """The record beside a picture; None where it is not there any more, or is no record."""
    try:
        beside = study.files.fetched(path).with_suffix(TRUTH_SUFFIX)
        record = json.loads(beside.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def _truth_reader() -> ReaderRow:
    return ReaderRow(
        reader=_TRUTH,
        fingerprint=_TRUTH,
        backend=_TRUTH,
        settings={},
        readable=dict.fromkeys(DIMENSIONS),
    )


def _as_readings(truths: Mapping[str, dict[str, Any]]) -> list[ReadingRow]:
    """Truths in the form of readings: they become labels by the same rules."""
    return [
        ReadingRow(
            reading_id=image_id,
            attempt=1,
            image_id=image_id,
            reader=_TRUTH,
            reader_fingerprint=_TRUTH,
            schema_version=CODEBOOK_VERSION,
            status=OK,
            reason=None,
            record=record,
            raw={},
            seconds=0.0,
            created_at="",
        )
        for image_id, record in truths.items()
    ]
