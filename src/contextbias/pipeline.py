"""The stages in order, with the tables that each reads and writes.

::

    bench         config             -> prompts
    generate      prompts            -> generators, images, derived/planted
    extract       images             -> readers, readings
    canonicalise  images, readings   -> derived/attributes, derived/mapping
    measure       attributes, planted-> derived/estimates
    report        estimates, …       -> report/

Each stage does what is missing and says what it did. The three fast stages compare what they were
made from with what is there now, and do nothing when it is the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextbias import __version__
from contextbias.config import BackendSection
from contextbias.errors import ConfigError, InputError, nearest
from contextbias.extract.work import ExtractTask, Question, reading_id
from contextbias.generate.work import GenerateTask
from contextbias.ids import content_hash
from contextbias.progress import Progress, Silent
from contextbias.schema import CODEBOOK_VERSION
from contextbias.selection import Wanted, check_names, planted_backends
from contextbias.store import Study, drop_receipts
from contextbias.tables import OK, ImageRow, ReadingRow
from contextbias.worklist import Worklist, pending, work_off

if TYPE_CHECKING:
    import polars as pl

    from contextbias.canonicalise import LabelMapping

STAGES = ("bench", "generate", "extract", "canonicalise", "measure", "report")
"""All stages, in order."""

_READINGS_A_BATCH = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How one run differs from the whole of the study."""

    limit: int | None = None
    """At most this many new images, and this many new readings."""
    roles: frozenset[str] | None = None
    """Only these roles are generated and read."""
    generators: frozenset[str] | None = None
    """Only these generators are run and read."""
    preset: str | None = None
    """Overrides ``[measure] preset``."""
    progress: Progress = field(default_factory=Silent)
    """Who is told."""


@dataclass(frozen=True, slots=True)
class Done:
    """What one stage did."""

    stage: str
    """Name of the stage."""
    new: int
    """Rows made, or files written; 0 when there was nothing to do."""
    note: str
    """One line for the user."""


def run(study: Study, stages: Sequence[str], options: Options) -> list[Done]:
    """Run `stages`, in the order of `STAGES`, and say what each did.

    Raises:
        ConfigError: The configuration, or an option, asks for something impossible.
    """
    wanted = Wanted(study)
    check_names("role", options.roles, _known_roles(wanted))
    check_names("generator", options.generators, _known_generators(wanted))
    steps: dict[str, Callable[[Wanted, Options], Done]] = {
        "bench": _bench,
        "generate": _generate,
        "extract": _extract,
        "canonicalise": _canonicalise,
        "measure": _measure,
        "report": _report,
    }
    return [steps[stage](wanted, options) for stage in STAGES if stage in stages]


def stages_until(last: str | None) -> tuple[str, ...]:
    """The stages up to and including `last`; all when it is None.

    Raises:
        ConfigError: No such stage.
    """
    if last is None:
        return STAGES
    if last not in STAGES:
        hint = nearest(last, list(STAGES)) or f"stages: {', '.join(STAGES)}"
        raise ConfigError(f"there is no stage {last!r}", hint)
    return STAGES[: STAGES.index(last) + 1]


@dataclass(frozen=True, slots=True)
class Failure:
    """One item that did not end well."""

    stage: str
    """``generate`` or ``extract``."""
    status: str
    """``corrupt``, ``blocked``, ``error`` …"""
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
    bad_readings = [
        Failure("extract", r.status, f"{named[r.image_id]} by {r.reader}", r.reason or "")
        for r in wanted.readings(images)
        if r.status in ("corrupt", "error")
    ]
    return bad_images + bad_readings


# ---- bench and generate


def _bench(wanted: Wanted, _: Options) -> Done:
    new = wanted.study.append_prompts(wanted.prompts)
    roles = len({prompt.role for prompt in wanted.prompts})
    if not wanted.prompts:
        return Done("bench", 0, "no generator draws, so no prompts are needed")
    state = f"{new:,} new" if new else "nothing new"
    return Done("bench", new, f"{len(wanted.prompts):,} prompts for {roles} roles, {state}")


def _generate(wanted: Wanted, options: Options) -> Done:
    new = failed = 0
    for section in wanted.study.config.generators:
        if options.generators is not None and section.name not in options.generators:
            continue
        if section in wanted.folders:
            new += _import_section(wanted.study, section, options.progress)
            continue
        left = None if options.limit is None else options.limit - new
        outcome = _draw(wanted, section, options, left)
        new, failed = new + outcome[0], failed + outcome[1]
    _write_planted(wanted)
    total = len(wanted.images())
    missing = f" of {len(wanted.image_ids):,}" if len(wanted.image_ids) > total else ""
    done = f"{new:,} new, {failed:,} failed" if new else "nothing to do"
    return Done("generate", new, f"{total:,}{missing} images, {done}")


def _draw(
    wanted: Wanted, section: BackendSection, options: Options, limit: int | None
) -> tuple[int, int]:
    study = wanted.study
    orders = wanted.orders(section, roles=options.roles)
    todo = [
        replace(orders[position], attempt=attempt)
        for position, attempt in pending(
            [order.job.image_id for order in orders],
            study.attempts("images"),
            attempts=study.config.run.attempts,
        )
    ][:limit]
    if not todo:
        return 0, 0
    row = wanted.generator_rows[section.name]
    study.append_generators([row])
    task = GenerateTask(
        section.name, section.backend, dict(section.options), row.fingerprint, study.files
    )
    backend = task.backend_for_scheduling()
    worklist = Worklist(
        stage="generate",
        unit=f"images of {section.name}",
        task=task,
        items=todo,
        batch_size=backend.batch_size,
        parallel=backend.parallel,
        workers=study.config.run.workers,
    )
    outcome = work_off(worklist, study.append_images, drop_receipts, options.progress)
    return outcome.done, outcome.failed


def _import_section(study: Study, section: BackendSection, progress: Progress) -> int:
    options = dict(section.options)
    source = options.pop("source", None)
    pattern, manifest = options.pop("pattern", None), options.pop("manifest", None)
    if not isinstance(source, str) or options:
        unknown = f"; unknown: {', '.join(options)}" if options else ""
        raise ConfigError(
            f"generator {section.name!r} (folder) takes source, pattern and manifest{unknown}",
            'set options = { source = "path of the images" }',
        )
    return import_images(
        study,
        study.root / source,
        pattern=pattern,
        manifest=study.root / manifest if manifest else None,
        generator=section.name,
        progress=progress,
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
    from contextbias.generate.importing import latest_attempts, rows_for

    found = rows_for(source, pattern=pattern, manifest=manifest, generator=generator)
    study.append_prompts(found.prompts)
    study.append_generators(found.generators)
    hashes = {image.image_id: image.sha256 for image in study.images()}
    new = latest_attempts(found.images, study.attempts("images"), hashes)
    if found.skipped:
        first = found.skipped[0]
        progress.say(
            f"{len(found.skipped):,} files in {source} were not taken, "
            f"for example {first.path.name}: {first.why}"
        )
    return study.append_images(new)


def _write_planted(wanted: Wanted) -> None:
    backends = planted_backends(wanted)
    if not backends or not wanted.prompts:
        return
    rows = [wanted.generator_rows[name].fingerprint for name, _ in backends]
    prompts = [prompt.prompt_id for prompt in wanted.prompts]
    fingerprint = content_hash(["planted", __version__, rows, prompts])
    if wanted.study.fingerprint("planted") == fingerprint:
        return
    import polars as pl

    frames = [
        backend.planted(wanted.prompts).with_columns(generator=pl.lit(name))
        for name, backend in backends
    ]
    columns = ["generator", "role", "condition", "cohort", "dimension", "label", "p"]
    wanted.study.write_planted(pl.concat(frames).select(columns).sort(columns[:-1]), fingerprint)


# ---- extract


def _extract(wanted: Wanted, options: Options) -> Done:
    study = wanted.study
    if not study.config.readers:
        raise ConfigError("study.toml names no reader", "add a [[readers]] section")
    images = [image for image in wanted.images() if image.status == OK]
    if not images:
        raise InputError(f"{study.root} has no image to read", "run the generate stage first")
    chosen = [image for image in images if _is_chosen(image, options)]
    new = failed = 0
    for section in study.config.readers:
        left = None if options.limit is None else options.limit - new
        outcome = _read(wanted, section, chosen, options, left)
        new, failed = new + outcome[0], failed + outcome[1]
    readers = len(study.config.readers)
    total = len(wanted.readings(images))
    done = f"{new:,} new, {failed:,} without an answer" if new else "nothing to do"
    plural = "s" if readers > 1 else ""
    return Done("extract", new, f"{total:,} readings by {readers} reader{plural}, {done}")


def _read(
    wanted: Wanted,
    section: BackendSection,
    images: Sequence[ImageRow],
    options: Options,
    limit: int | None,
) -> tuple[int, int]:
    study, row = wanted.study, wanted.reader_rows[section.name]
    study.append_readers([row])
    ids = [reading_id(row.reader, row.fingerprint, i.image_id, i.sha256 or "") for i in images]
    attempts = study.config.run.attempts
    todo = [
        Question(ids[position], images[position].image_id, str(images[position].path), attempt)
        for position, attempt in pending(ids, study.attempts("readings"), attempts=attempts)
    ][:limit]
    if not todo:
        return 0, 0
    task = ExtractTask(
        section.name, section.backend, dict(section.options), row.fingerprint, study.files
    )
    worklist = Worklist(
        stage="extract",
        unit=f"readings by {section.name}",
        task=task,
        items=todo,
        batch_size=_READINGS_A_BATCH,
        parallel=task.backend_for_scheduling().parallel,
        workers=study.config.run.workers,
    )
    outcome = work_off(worklist, study.append_readings, drop_receipts, options.progress)
    return outcome.done, outcome.failed


# ---- canonicalise, measure, report


def _canonicalise(wanted: Wanted, _: Options) -> Done:
    from contextbias.canonicalise import to_attributes

    study = wanted.study
    images = wanted.images()
    readings = wanted.readings(images)
    if not readings:
        raise InputError(f"{study.root} has no reading", "run the extract stage first")
    mapping = _mapping(study, readings)
    fingerprint = _attributes_fingerprint(wanted, images, readings, mapping.content_hash)
    if study.fingerprint("attributes") == fingerprint:
        return Done("canonicalise", 0, "nothing to do")
    frame = to_attributes(images, readings, list(wanted.reader_rows.values()), mapping)
    study.write_mapping(mapping.to_json())
    study.write_attributes(frame, fingerprint)
    return Done("canonicalise", frame.height, f"{frame.height:,} facts")


def _mapping(study: Study, readings: list[ReadingRow]) -> LabelMapping:
    from contextbias.canonicalise import LabelMapping, pass_through

    name = study.config.canonicalise.mapping
    if name == "pass-through":
        return pass_through(readings)
    path = study.root / name
    if not path.is_file():
        raise ConfigError(f"canonicalise.mapping: there is no file {path}", "correct the path")
    return LabelMapping.from_json(path.read_bytes(), where=str(path))


def _attributes_fingerprint(
    wanted: Wanted, images: list[ImageRow], readings: list[ReadingRow], mapping: str
) -> str:
    rows = [[i.image_id, i.attempt, i.status, i.path] for i in images]
    read = [[r.reading_id, r.attempt, r.status] for r in readings]
    readers = [row.fingerprint for row in wanted.reader_rows.values()]
    return content_hash(["attributes", __version__, CODEBOOK_VERSION, mapping, readers, rows, read])


def _measure(wanted: Wanted, options: Options) -> Done:
    from contextbias.measure import measure

    study = wanted.study
    attributes = study.attributes()
    if attributes is None:
        raise InputError(f"{study.root} has no attributes", "run the canonicalise stage first")
    section = study.config.measure
    settings: dict[str, Any] = section.model_dump() | {"seed": study.config.study.seed}
    if options.preset is not None:
        settings["preset"] = options.preset
    sources = [study.fingerprint("attributes"), study.fingerprint("planted")]
    fingerprint = content_hash(["estimates", __version__, settings, sources])
    if study.fingerprint("estimates") == fingerprint:
        return Done("measure", 0, "nothing to do")
    readable = {row.reader: row.readable for row in wanted.reader_rows.values()}
    frame = measure(
        attributes, _planted(study), readable=readable, codebook=CODEBOOK_VERSION, **settings
    )
    study.write_estimates(frame, fingerprint)
    return Done("measure", frame.height, f"{frame.height:,} estimates")


def _planted(study: Study) -> pl.DataFrame | None:
    from contextbias.canonicalise import LabelMapping, canonical_planted

    frame = study.planted()
    if frame is None:
        return None
    mapping = LabelMapping.from_json((study.root / "derived/mapping.json").read_bytes())
    return canonical_planted(frame, mapping)


def _report(wanted: Wanted, _: Options) -> Done:
    from contextbias.report import inputs_of, render

    study = wanted.study
    if study.estimates() is None:
        raise InputError(f"{study.root} has no estimates", "run the measure stage first")
    sources = [study.fingerprint("estimates"), study.fingerprint("attributes")]
    config = study.config.model_dump(mode="json", exclude={"run"})
    fingerprint = content_hash(["report", __version__, sources, config])
    if study.fingerprint("report") == fingerprint:
        return Done("report", 0, "nothing to do")
    files = render(inputs_of(study))
    study.write_report(files, fingerprint)
    return Done("report", len(files), f"{len(files)} files")


# ---- names


def _is_chosen(image: ImageRow, options: Options) -> bool:
    return (options.roles is None or image.role in options.roles) and (
        options.generators is None or image.generator in options.generators
    )


def _known_roles(wanted: Wanted) -> list[str]:
    imported = {image.role for image in wanted.study.images()}
    return sorted({prompt.role for prompt in wanted.prompts} | imported)


def _known_generators(wanted: Wanted) -> list[str]:
    configured: Collection[str] = {section.name for section in wanted.study.config.generators}
    return sorted({*configured, *(row.generator for row in wanted.study.generators())})


def _name_of(image: ImageRow) -> str:
    if image.path is not None:
        return image.path
    return f"{image.generator}/{image.condition}/{image.role}/{image.variant}/{image.seed}"


def status(study: Study) -> dict[str, Any]:
    """How far a study is: counts by stage, what is missing, and whether derived files are there."""
    wanted = Wanted(study)
    images = wanted.images()
    readings = wanted.readings(images)
    ok = sum(image.status == OK for image in images)
    imported = sum(image.image_id not in wanted.image_ids for image in images)
    return {
        "name": study.config.study.name,
        "folder": str(study.root),
        "prompts": len(wanted.prompts),
        "images": {
            "wanted": len(wanted.image_ids) + imported,
            **_by_status(image.status for image in images),
        },
        "readings": {
            "wanted": ok * len(study.config.readers),
            **_by_status(reading.status for reading in readings),
        },
        "kept_but_not_used": study.counts()["images"] - len(images),
        "attributes": study.fingerprint("attributes") is not None,
        "estimates": study.fingerprint("estimates") is not None,
        "report": str(study.report_path) if study.report_path.is_file() else None,
    }


def _by_status(statuses: Any) -> dict[str, int]:
    return dict(sorted(Counter(statuses).items()))
