"""How far a study is, and what did not end well. Changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from contextbias.generate.duplicates import duplicates
from contextbias.generate.revisions import mixed
from contextbias.people import Annotations
from contextbias.pipeline.derived import other_preset, stale
from contextbias.pipeline.selection import Wanted, has_file
from contextbias.pipeline.sessions import in_batches
from contextbias.pipeline.validation_prompts import FOLDER, PROMPTS_FILE, study_of
from contextbias.store import STORE_FILE, Study
from contextbias.tables import OK, ImageRow, ReadingRow


@dataclass(frozen=True, slots=True)
class Failure:
    """One item that did not end well."""

    stage: str
    """``generate`` or ``extract``."""
    status: str
    """``corrupt``, ``blank``, ``blocked``, ``error`` …"""
    what: str
    """File, or generator and prompt."""
    reason: str
    """In words."""


def failures(study: Study) -> list[Failure]:
    """Items whose latest attempt failed.

    What a model said is data, not a failure: a refusal, an answer that was cut off or is off schema
    is missing with its reason, and is not listed.
    """
    wanted = Wanted(study)
    images = wanted.images()
    named = {image.image_id: _name_of(image) for image in images}
    bad_images = [
        Failure("generate", i.status, _name_of(i), i.reason or "") for i in images if i.status != OK
    ]
    readings = wanted.readings(images)
    bad_readings = [
        Failure("extract", r.status, f"{named[r.image_id]} by {r.reader}", r.reason or "")
        for r in readings
        if r.status in ("corrupt", "error")
    ]
    return bad_images + bad_readings + _lost(wanted, images, readings)


def _lost(wanted: Wanted, images: list[ImageRow], readings: list[ReadingRow]) -> list[Failure]:
    """Images that cannot be read because their file is gone; put back, they will be."""
    read = Counter(reading.image_id for reading in readings)
    readers = len(wanted.reader_names)
    return [
        Failure(
            "extract", "not_read", _name_of(image), "the file is gone; put it back and run again"
        )
        for image in images
        if image.status == OK
        and image.path is not None
        and read[image.image_id] < readers
        and not has_file(wanted.study, image)
    ]


def status(study: Study) -> dict[str, Any]:
    """How far a study is: counts by stage, what is missing, and whether derived files are there.

    ``people`` and ``validation`` are None where nobody was invited, and nothing validated;
    ``numbers_in`` is the folder of the study that a validation's numbers go into, None for others.
    """
    around = study_of(study.root)
    wanted = Wanted(study)
    images = wanted.images()
    readings = wanted.readings(images)
    further = wanted.repeat_ids(images)
    failed = sum(image.status != OK for image in images)
    imported = sum(image.image_id not in wanted.image_ids for image in images)
    asked = len(wanted.image_ids) + imported
    return {
        "name": study.config.study.name,
        "folder": str(study.root),
        "prompts": len(wanted.prompts),
        "images": {
            "wanted": asked,
            **_by_status(image.status for image in images),
        },
        "readings": {
            "wanted": (asked - failed) * len(wanted.reader_names),
            **_by_status(reading.status for reading in readings),
        },
        "reasons": {"images": _reasons(images), "readings": _reasons(readings)},
        "duplicates": duplicates(images),
        "mixed_revisions": mixed(images),
        "counted_prompts": study.counts()["frequencies"],
        "kept_but_not_used": study.counts()["images"] - len(images),
        "readings_kept_but_not_used": study.counts()["readings"] - len(readings) - len(further),
        "further_readings": len(further),
        "requests_in_batches": in_batches(study),
        "people": _people(study),
        "validation": _validation(study),
        "numbers_in": None if around is None else str(around),
        "attributes": study.fingerprint("attributes") is not None,
        "estimates": study.fingerprint("estimates") is not None,
        "report": str(study.report_path) if study.report_path.is_file() else None,
        "stale": stale(wanted),
        "preset": study.config.measure.preset,
        "measured_with": other_preset(study),
    }


def _people(study: Study) -> dict[str, int] | None:
    from contextbias.annotate.answering import Answering
    from contextbias.annotate.invitation import SIMULATED

    with Annotations.open(study.root) as book:
        if book.plan() is None:
            return None
        answering = Answering(book)
        each = [answering.progress(name) for name in answering.annotators]
        simulated = sum(row.kind == SIMULATED for row in book.annotators())
    return {
        "invited": len(each),
        "simulated": simulated,
        "answers": sum(one.done for one in each),
        "wanted": sum(one.total for one in each),
    }


def _validation(study: Study) -> dict[str, Any] | None:
    folder = study.root / FOLDER
    if not (folder / PROMPTS_FILE).is_file() or not (folder / STORE_FILE).is_file():
        return None
    with Study.open(folder) as inside:
        found = status(inside)
    return {name: found[name] for name in ("prompts", "images", "readings")}


def _by_status(statuses: Any) -> dict[str, int]:
    return dict(sorted(Counter(statuses).items()))


def _reasons(rows: Iterable[ImageRow | ReadingRow]) -> dict[str, dict[str, Any]]:
    """Status -> the commonest reason that its rows have, and how many of them have it."""
    by_status: dict[str, Counter[str]] = {}
    for row in rows:
        if row.status != OK and row.reason:
            by_status.setdefault(row.status, Counter())[row.reason] += 1
    first = {status: found.most_common(1)[0] for status, found in sorted(by_status.items())}
    return {status: {"reason": reason, "rows": rows} for status, (reason, rows) in first.items()}


def _name_of(image: ImageRow) -> str:
    if image.path is not None:
        return image.path
    return f"{image.generator}/{image.condition}/{image.role}/{image.variant}/{image.seed}"
