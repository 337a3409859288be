"""The stages that cost something: bench, generate, extract. They append, and never make twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from contextbias import __version__
from contextbias.config import BackendSection
from contextbias.errors import ConfigError, InputError
from contextbias.extract.work import ExtractTask, Question, reading_id
from contextbias.generate.work import GenerateTask
from contextbias.ids import content_hash
from contextbias.pipeline.options import Done, Options
from contextbias.pipeline.selection import Wanted, planted_backends
from contextbias.progress import Progress
from contextbias.store import Study, drop_receipts
from contextbias.tables import OK, ImageRow
from contextbias.worklist import Worklist, pending, work_off

_READINGS_A_BATCH = 16

_BESIDE_IMAGES = frozenset({".csv", ".json", ".jsonl", ".md", ".toml", ".txt", ".yaml", ".yml"})
# Tables and notes that usually lie beside images; nobody expects them to be taken for one.


def bench(wanted: Wanted, _: Options) -> Done:
    """Append the prompts that are not there yet."""
    new = wanted.study.append_prompts(wanted.prompts)
    roles = len({prompt.role for prompt in wanted.prompts})
    if not wanted.prompts:
        return Done("bench", 0, "no generator draws, so no prompts are needed")
    state = f"{new:,} new" if new else "nothing new"
    return Done("bench", new, f"{len(wanted.prompts):,} prompts for {roles} roles, {state}")


def generate(wanted: Wanted, options: Options) -> Done:
    """Make or take in the images that are missing, and write down what was planted."""
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
    skipped = [each for each in found.skipped if each.path.suffix.lower() not in _BESIDE_IMAGES]
    if skipped:
        first = skipped[0]
        progress.say(
            f"{len(skipped):,} files in {source} were not taken, "
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


def extract(wanted: Wanted, options: Options) -> Done:
    """Read the images that have not been read.

    Raises:
        ConfigError: No reader is configured.
        InputError: There is no image to read.
    """
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


def _is_chosen(image: ImageRow, options: Options) -> bool:
    return (options.roles is None or image.role in options.roles) and (
        options.generators is None or image.generator in options.generators
    )
