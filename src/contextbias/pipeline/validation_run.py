"""`contextbias validate`: ask for known labels, read the pictures, and bring the numbers up."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from contextbias import engines
from contextbias.pipeline import derived, paid
from contextbias.pipeline.options import Done, Options
from contextbias.pipeline.selection import Wanted, check_options
from contextbias.pipeline.validation_prompts import FOLDER, Prepared, Size, is_there, prepare, put
from contextbias.pipeline.workload import workload
from contextbias.store import STORE_FILE, Study

_IMAGES = "images"


@dataclass(frozen=True, slots=True)
class Validated:
    """What a validation did."""

    folder: Path
    """Its study."""
    prompts: int
    """Prompts that name a label."""
    done: list[Done]
    """What each stage did: of the known prompts, then of the study around them."""


def validate(study: Study, size: Size, options: Options) -> Validated:
    """Ask the study's generators for known labels, read what they draw, and measure.

    Whatever was made stays, as in `pipeline.run`: the same call goes on where it was stopped.

    Args:
        study: Open for writing; it has been run.
        size: How much is asked; see `Size`.
        options: ``limit``, ``roles``, ``generators``, ``engine`` and ``batch`` count for what is
            generated and read.

    Raises:
        ConfigError: Nothing draws, nothing reads, or an option names nothing.
        InputError: The study has no attributes, or none that can be named and read.
    """
    prepared = prepare(study, size)
    if size.prompts is not None and size.prompts < len(prepared.prompts):
        options.progress.say(
            f"{len(prepared.prompts):,} known prompts are there already, and are kept"
        )
    if prepared.asked > len(prepared.prompts):
        options.progress.say(
            f"{prepared.asked:,} known prompts were asked for; the labels that this study shows "
            f"give {len(prepared.prompts):,}"
        )
    preset = options.preset or derived.other_preset(study)
    folder = study.root / FOLDER
    put(folder, prepared)
    done = ask(folder, options)
    around = Wanted(study)
    whole = replace(options, preset=preset, limit=None, roles=None, generators=None)
    done += [derived.measure(around, whole), derived.report(around, whole)]
    return Validated(folder, len(prepared.prompts), done)


def ask(folder: Path, options: Options) -> list[Done]:
    """Make and read what is missing of a validation study; raises as `validate`."""
    with Study.open(folder, writing=True) as study:
        wanted = Wanted(study)
        check_options(wanted, options)
        _ = wanted.reader_rows  # a reader that cannot be had is said before anything is made
        engines.check(options.engine_of(study.config.run))
        try:
            return [stage(wanted, options) for stage in (paid.bench, paid.generate, paid.extract)]
        finally:
            engines.close()


def forecast(study: Study, size: Size) -> dict[str, Any]:
    """What a validation will take; changes nothing, and spends nothing.

    Returns:
        ``prompts`` (how many), ``asked`` (how many were asked for), ``examples`` (some of them)
        and ``work``, as `workload` has it.

    Raises:
        As `validate`.
    """
    prepared = prepare(study, size)
    folder = study.root / FOLDER
    found = {
        "prompts": len(prepared.prompts),
        "asked": prepared.asked,
        "examples": [each.text for each in prepared.prompts[:6]],
    }
    if is_there(folder, prepared) and (folder / STORE_FILE).is_file():
        with Study.open(folder) as there:
            return found | {"work": workload(Wanted(there))}
    with tempfile.TemporaryDirectory(prefix="contextbias-") as name:
        return found | {"work": _workload_of(Path(name), prepare(study, size, home=str(study.root)),
                                             folder)}  # fmt: skip


def _workload_of(copy: Path, prepared: Prepared, folder: Path) -> dict[str, Any]:
    """The workload of a validation that is not there as it is wanted, in a folder for a moment."""
    put(copy, prepared)
    if (folder / STORE_FILE).is_file():
        shutil.copyfile(folder / STORE_FILE, copy / STORE_FILE)
        if (folder / _IMAGES).is_dir():
            (copy / _IMAGES).symlink_to(folder / _IMAGES)
    with Study.open(copy, writing=True) as study:
        return workload(Wanted(study))
