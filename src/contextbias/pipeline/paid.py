"""The stages that cost something: bench, generate, extract. They append, and never make twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from contextbias.config import BackendSection
from contextbias.errors import ConfigError, Incomplete, InputError
from contextbias.extract.work import ExtractTask, Question, reading_id
from contextbias.files import drop_receipts
from contextbias.generate.duplicates import Duplicates, duplicates
from contextbias.generate.revisions import revisions
from contextbias.generate.schedule import checked, ordered
from contextbias.generate.work import GenerateTask, Order
from contextbias.ids import content_hash
from contextbias.pipeline.definitions import definitions
from contextbias.pipeline.imports import Taken, source_of, take_in
from contextbias.pipeline.options import Done, Options
from contextbias.pipeline.repeats import sample
from contextbias.pipeline.selection import Wanted, has_file, is_chosen, planted_backends
from contextbias.pipeline.sessions import in_batches, told
from contextbias.progress import counted
from contextbias.tables import OK, ImageRow
from contextbias.worklist import Worklist, pending, work_off

READINGS_A_BATCH = 16
"""Of a reader that does not say how many pictures it likes to be given."""


def bench(wanted: Wanted, _: Options) -> Done:
    """Append the prompts that are not there yet."""
    new = wanted.study.append_prompts(wanted.prompts)
    roles = len({prompt.role for prompt in wanted.prompts})
    if not wanted.prompts:
        return Done("bench", 0, "no generator draws, so no prompts are needed")
    state = f"{new:,} new" if new else "nothing new"
    state += "" if wanted.drawn else "; no generator draws them yet"
    summary = f"{counted(len(wanted.prompts), 'prompt')} for {counted(roles, 'role')}, {state}"
    return Done("bench", new, summary + _seeds_given(wanted))


def _seeds_given(wanted: Wanted) -> str:
    """Which generators use the seeds of a prompt list; empty where there are none."""
    listed = wanted.asked.listed
    if listed is None or not listed.seeds or not wanted.drawn:
        return ""
    with_seeds = [s.name for s in wanted.drawn if wanted.asked.seeds_of(s.name)]
    without = [s.name for s in wanted.drawn if s.name not in with_seeds]
    parts = [f"the list's seeds for {', '.join(with_seeds)}"] if with_seeds else []
    if without:
        known = ", ".join(sorted(listed.seeds))
        parts.append(f"derived seeds for {', '.join(without)} (the list has some for {known})")
    return f"; {'; '.join(parts)}"


def generate(wanted: Wanted, options: Options) -> Done:
    """Make or take in the images that are missing, and write down what was planted."""
    taken = _take_in_folders(wanted, options)
    new, failed = sum(each.new for each in taken), sum(each.failed for each in taken)
    _check_all(wanted, options)
    drawn = 0
    for section in wanted.drawn:
        if options.generators is not None and section.name not in options.generators:
            continue
        left = None if options.limit is None else options.limit - drawn
        outcome = _draw(wanted, section, options, left)
        drawn, failed = drawn + outcome[0], failed + outcome[1]
    _write_planted(wanted)
    new += drawn
    images = wanted.images()
    total = len(images)
    asked = len(wanted.image_ids) + sum(len(each.image_ids) for each in taken)
    missing = f" of {asked:,}" if asked > total else ""
    done = f"{new:,} new, {failed:,} failed" if new else "nothing to do"
    changed = new + sum(each.removed for each in taken)
    rest = _twice(duplicates(images)) + _kept(wanted.unused_images())
    return Done("generate", changed, f"{total:,}{missing} images, {done}{rest}")


def _twice(count: int) -> str:
    return f"; {counted(count, 'image')} with the pixels of another one" if count else ""


def _kept(unused: int) -> str:
    return f" ({unused:,} more kept, and not counted)" if unused else ""


def _take_in_folders(wanted: Wanted, options: Options) -> list[Taken]:
    """Bring the store up to date with the folders that study.toml names.

    Raises:
        ConfigError: Two of them take in the same image.
    """
    taken: list[Taken] = []
    claimed: dict[str, str] = {}
    for section in wanted.folders:
        if options.generators is not None and section.name not in options.generators:
            continue
        found = take_in(
            wanted.study,
            source_of(wanted.study, section),
            generator=section.name,
            progress=options.progress,
            claimed=claimed,
        )
        claimed |= dict.fromkeys(found.image_ids, section.name)
        taken.append(found)
    return taken


def _check_all(wanted: Wanted, options: Options) -> None:
    """Let every generator look at what it will be asked, before anything is spent on any."""
    for section in wanted.drawn:
        if options.generators is None or section.name in options.generators:
            backend = wanted.backend_of(section)
            checked(backend, _pending(wanted, section, options))


def _pending(wanted: Wanted, section: BackendSection, options: Options) -> list[Order]:
    """What one generator has not made yet."""
    orders = wanted.orders(section, roles=options.roles)
    study = wanted.study
    return [
        replace(orders[position], attempt=attempt)
        for position, attempt in pending(
            [order.job.image_id for order in orders],
            study.attempts("images"),
            attempts=study.config.run.attempts,
        )
    ]


def _draw(
    wanted: Wanted, section: BackendSection, options: Options, limit: int | None
) -> tuple[int, int]:
    study = wanted.study
    todo = _pending(wanted, section, options)[:limit]
    if not todo:
        return 0, 0
    row = wanted.generator_rows[section.name]
    study.append_generators([row])
    there = [image for image in study.images() if image.generator == section.name]
    task = GenerateTask(
        section.name,
        section.backend,
        dict(section.options),
        row.fingerprint,
        study.files,
        study.config.study.masters,
        revisions=revisions(there, row.fingerprint),
    )
    backend = task.backend_for_scheduling()
    worklist = Worklist(
        stage="generate",
        unit=f"images of {section.name}",
        task=told(task, backend, study, options, "images", len(todo)),
        items=ordered(backend, todo),
        batch_size=backend.batch_size,
        parallel=backend.parallel,
        workers=study.config.run.workers,
        engine=options.engine_of(study.config.run),
    )
    seen = Duplicates(there)

    def append(rows: list[ImageRow]) -> int:
        return study.append_images([seen.marked(row) for row in rows])

    outcome = work_off(worklist, append, drop_receipts, options.progress)
    return outcome.done, outcome.failed


def _write_planted(wanted: Wanted) -> None:
    backends = planted_backends(wanted)
    if not backends:
        wanted.study.drop_planted()
        return
    rows = [wanted.generator_rows[name].fingerprint for name, _ in backends]
    prompts = [prompt.prompt_id for prompt in wanted.prompts]
    fingerprint = content_hash(["planted", definitions("planted"), rows, prompts])
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
        InputError: There is no image at all.
        Incomplete: There are some, and none of them is of use.
    """
    study = wanted.study
    if not study.config.readers and _came_read(wanted):
        return Done("extract", 0, "nothing to read: what the study has came read")
    if not study.config.readers:
        raise ConfigError(*_no_reader(wanted))
    images = [image for image in wanted.images() if image.status == OK]
    if not images:
        raise _nothing_to_read(wanted, options)
    chosen = [image for image in images if is_chosen(image, options)]
    new = failed = 0
    for section in study.config.readers:
        left = None if options.limit is None else options.limit - new
        outcome = _read(wanted, section, chosen, options, left)
        new, failed = new + outcome[0], failed + outcome[1]
    again = _read_again(wanted, chosen, options, new)
    new, failed = new + again[0], failed + again[1]
    readers = len(study.config.readers)
    total = len(wanted.readings(images))
    done = f"{new:,} new, {failed:,} without an answer" if new else "nothing to do"
    kept = _kept(wanted.unused_readings(images))
    further = len(wanted.repeat_ids(images))
    done += f"; {counted(further, 'further reading')} of a sample" if further else ""
    done += _in_batches(wanted)
    there = f"{counted(total, 'reading')} by {counted(readers, 'reader')}"
    return Done("extract", new, f"{there}, {done}{kept}")


def _in_batches(wanted: Wanted) -> str:
    """Requests that are paid for and no readings yet; empty for none."""
    count = in_batches(wanted.study)
    if not count:
        return ""
    return (
        f"; {counted(count, 'request')} of other settings or pictures are in batches, which "
        "--batch collects with those settings"
    )


def _read_again(
    wanted: Wanted, images: Sequence[ImageRow], options: Options, read: int
) -> tuple[int, int]:
    """Read a sample again, as often as the run asks for; `read` readings were made before."""
    study = wanted.study
    chosen = sample(images, study.config.study.seed, options.sample) if options.repeat else []
    new = failed = 0
    for section in study.config.readers:
        for number in range(1, options.repeat + 1):
            left = None if options.limit is None else options.limit - read - new
            outcome = _read(wanted, section, chosen, options, left, repeat=number)
            new, failed = new + outcome[0], failed + outcome[1]
    return new, failed


def _no_reader(wanted: Wanted) -> tuple[str, str]:
    if wanted.study.config.generators or wanted.images():
        return "study.toml names no reader", "add a [[readers]] section"
    fix = "add a [[generators]] and a [[readers]] section"
    return "study.toml names no generator and no reader", fix


def _came_read(wanted: Wanted) -> bool:
    """Whether there are imported readings or counts."""
    return bool(wanted.reader_rows) or bool(wanted.study.counts()["frequencies"])


def _nothing_to_read(wanted: Wanted, options: Options) -> InputError | Incomplete:
    failed = len(wanted.images())
    if failed:
        return Incomplete(
            f"{wanted.study.root} has no image to read: of {counted(failed, 'image')}, all failed "
            "or show nothing",
            "correct the causes and run again",
        )
    narrowed = (options.limit, options.roles, options.generators) != (None, None, None)
    fix = "without --limit, --roles and --generators" if narrowed else "with the generate stage"
    return InputError(f"{wanted.study.root} has no image to read", f"run it {fix}")


def _read(
    wanted: Wanted,
    section: BackendSection,
    images: Sequence[ImageRow],
    options: Options,
    limit: int | None,
    repeat: int = 0,
) -> tuple[int, int]:
    study, row = wanted.study, wanted.reader_rows[section.name]
    study.append_readers([row])
    ids = [
        reading_id(row.reader, row.fingerprint, i.image_id, i.sha256 or "", repeat) for i in images
    ]
    attempts = study.config.run.attempts
    todo = [
        Question(
            ids[position], images[position].image_id, str(images[position].path), attempt, repeat
        )
        for position, attempt in pending(ids, study.attempts("readings"), attempts=attempts)
        if has_file(study, images[position])
    ][:limit]
    if not todo:
        return 0, 0
    task = ExtractTask(
        section.name, section.backend, dict(section.options), row.fingerprint, study.files
    )
    backend = task.backend_for_scheduling()
    if repeat and getattr(backend, "deterministic", False):
        if repeat == 1:
            options.progress.say(
                f"{section.name} says the same of a picture every time, so reading it again could "
                "only agree: left out"
            )
        return 0, 0
    worklist = Worklist(
        stage="extract",
        unit=f"{'further ' if repeat else ''}readings by {section.name}",
        task=told(task, backend, study, options, "readings", len(todo)),
        items=todo,
        batch_size=getattr(backend, "batch_size", READINGS_A_BATCH),
        parallel=backend.parallel,
        workers=study.config.run.workers,
        engine=options.engine_of(study.config.run),
    )
    outcome = work_off(worklist, study.append_readings, drop_receipts, options.progress)
    return outcome.done, outcome.failed
