"""What a run would do, without doing it: the counts behind ``run --dry-run``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contextbias.extract.work import reading_id
from contextbias.pipeline.options import Options
from contextbias.pipeline.selection import Wanted, check_options, has_file, is_chosen
from contextbias.store import Study
from contextbias.tables import OK
from contextbias.worklist import pending


@dataclass(frozen=True, slots=True)
class Preview:
    """One kind of rows that a run would make."""

    what: str
    """``prompts``, ``images`` or ``readings``."""
    wanted: int
    """How many there will be, of the roles and generators that the run is about."""
    there: int
    """How many of them are there; those that failed and are not tried again are among them."""
    left: int
    """How many of them the run would make: the rest, or as many as its limit lets it."""


def preview(study: Study, stages: Sequence[str], options: Options) -> list[Preview]:
    """Say what `pipeline.run` with the same arguments would make, and change nothing.

    Images of a folder that has not been taken in yet are not counted: it is not looked into.

    Raises:
        ConfigError: As `pipeline.run`: an option names an unknown role or generator.
    """
    wanted = Wanted(study)
    check_options(wanted, options)
    prompts = [p for p in wanted.prompts if options.roles is None or p.role in options.roles]
    known = {prompt.prompt_id for prompt in study.prompts()}
    new = sum(prompt.prompt_id not in known for prompt in prompts)
    found = [Preview("prompts", len(prompts), len(prompts) - new, new)]
    images, coming = _images(wanted, options)
    if "generate" in stages:
        found.append(images)
    if "extract" in stages:
        found.append(_readings(wanted, options, coming if "generate" in stages else 0))
    return found


def _images(wanted: Wanted, options: Options) -> tuple[Preview, int]:
    known, attempts = wanted.study.attempts("images"), wanted.study.config.run.attempts
    asked = left = 0
    for section in wanted.drawn:
        if options.generators is None or section.name in options.generators:
            ids = [o.job.image_id for o in wanted.orders(section, roles=options.roles)]
            asked += len(ids)
            left += sum(1 for _ in pending(ids, known, attempts=attempts))
    there = [image for image in wanted.images() if image.image_id not in wanted.image_ids]
    asked += sum(is_chosen(image, options) for image in there)
    now = _at_most(left, options.limit)
    return Preview("images", asked, asked - left, now), now


def _readings(wanted: Wanted, options: Options, coming: int) -> Preview:
    study = wanted.study
    known, attempts = study.attempts("readings"), study.config.run.attempts
    readable = [i for i in wanted.images() if i.status == OK and is_chosen(i, options)]
    left = total = 0
    for section in study.config.readers:
        row = wanted.reader_rows[section.name]
        ids = [
            reading_id(row.reader, row.fingerprint, image.image_id, image.sha256 or "")
            for image in readable
            if has_file(study, image)
        ]
        left += coming + sum(1 for _ in pending(ids, known, attempts=attempts))
        total += coming + len(readable)
    return Preview("readings", total, total - left, _at_most(left, options.limit))


def _at_most(number: int, limit: int | None) -> int:
    return number if limit is None else min(number, limit)
