"""The report stage's input: what an open study says, gathered for the page."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from contextbias import __version__
from contextbias.errors import InputError, StudyError
from contextbias.files import StudyFiles
from contextbias.ids import image_seed
from contextbias.report.inputs import ATTRIBUTE_COLUMNS, ReportInputs, RunFacts
from contextbias.schema import CODEBOOK_VERSION
from contextbias.tables import ImageRow, Prompt, ReaderRow

if TYPE_CHECKING:
    import polars as pl

    from contextbias.store import Study

_IMPORTED = "imported"
_LISTS = (".json", ".jsonl", ".ndjson", ".csv")
"""A bank with such a name is a prompt list; see docs/config.md."""
_MOST_SEEDS = 12
"""Seeds of a list that are named one by one."""


def inputs_of(study: Study, readers: Sequence[ReaderRow]) -> ReportInputs:
    """Gather what the page is printed from: the images that were measured, and nothing older.

    Args:
        study: The study.
        readers: The readers that were measured, with their present settings, in order.

    Raises:
        StudyError: The study has no estimates yet.
    """
    estimates, facts = study.estimates(), study.scan_attributes()
    if estimates is None or facts is None:
        raise StudyError(f"{study.root} has no estimates yet", "run `contextbias measure` first")
    attributes = facts.select(ATTRIBUTE_COLUMNS).collect()
    known = set(attributes["image_id"].unique())
    images = [_absolute(i, study.files) for i in study.images() if i.image_id in known]
    asked = {image.prompt_id for image in images}
    if (counts := study.label_counts()) is not None:
        asked |= set(counts["prompt_id"].unique())
    prompts = [prompt for prompt in study.prompts() if prompt.prompt_id in asked]
    return ReportInputs(
        title=study.config.study.name,
        facts=_facts(study, estimates, images, prompts, readers),
        estimates=estimates,
        attributes=attributes,
        images=images,
        prompts=prompts,
        report_dir=study.root / "report",
        fetch=partial(_fetched, study.files),
    )


def _absolute(image: ImageRow, files: StudyFiles) -> ImageRow:
    return image if image.path is None else replace(image, path=str(files.path(image.path)))


def _fetched(files: StudyFiles, path: str) -> Path:
    """An image of the page, copied into the study folder if it is kept at a URL."""
    there = Path(path)
    if not there.is_relative_to(files.root):
        return there
    try:
        return files.fetched(there.relative_to(files.root).as_posix())
    except InputError:  # the page comes out all the same, without this picture
        return there


def _facts(
    study: Study,
    estimates: pl.DataFrame,
    images: list[ImageRow],
    prompts: list[Prompt],
    readers: Sequence[ReaderRow],
) -> RunFacts:
    config = study.config
    ids = {image.image_id for image in images}
    by = {(row.reader, row.fingerprint) for row in readers}
    readings = [
        reading
        for reading in study.readings()
        if reading.image_id in ids and (reading.reader, reading.reader_fingerprint) in by
    ]
    used = {(image.generator, image.generator_fingerprint) for image in images}
    places = [entry.name for entry in config.generators]

    def place(name: str) -> int:
        return places.index(name) if name in places else len(places)

    generators = [g for g in study.generators() if (g.generator, g.fingerprint) in used]
    dates = [image.created_at for image in images] + [row.created_at for row in readings]
    return RunFacts(
        generators=sorted(generators, key=lambda row: place(row.generator)),
        readers=list(readers),
        preset=next(iter(estimates["preset"]), config.measure.preset),
        people=config.measure.people,
        alpha=config.measure.alpha,
        margin_pp=config.measure.margin_pp,
        bootstrap=config.measure.bootstrap,
        codebook=CODEBOOK_VERSION,
        version=__version__,
        made_at=max(dates, default=""),
        seeds=_seeds(study, images),
        bank=_bank(study, prompts),
        listed=_is_listed(study),
    )


def _is_drawn(study: Study) -> bool:
    """True when some generator was asked with the study's own prompts."""
    return any(entry.backend != "folder" for entry in study.config.generators)


def _is_listed(study: Study) -> bool:
    """True when the prompts are those of a list."""
    return _is_drawn(study) and study.config.bench.bank.lower().endswith(_LISTS)


def _bank(study: Study, prompts: Sequence[Prompt]) -> str:
    """Bank, with name and version, and options of the prompts, in words; or their list."""
    if not _is_drawn(study):
        return ""
    asked = study.config.bench
    labels = sorted({prompt.bank for prompt in prompts} - {_IMPORTED})
    file = Path(asked.bank).name
    if _is_listed(study):
        return f"prompt list: {', '.join(labels) or file}; contexts as listed"
    named = ", ".join(labels) or file
    parts = [
        f"bank {named} ({file})" if file.endswith(".toml") and labels else f"bank {named}",
        "unrelated contexts of other roles (deranged)"
        if asked.unrelated == "deranged"
        else "unrelated contexts from an everyday pool",
        "as many prompts in each condition" if asked.balanced else "",
        f"axes {', '.join(asked.axes)}" if asked.axes else "",
    ]
    return "; ".join(part for part in parts if part)


def _seeds(study: Study, images: Sequence[ImageRow]) -> str:
    """How many images a prompt has, and which seeds, in words."""
    if not _is_drawn(study):
        return ""
    asked = study.config.study
    how = (
        "the same in every condition and generator"
        if asked.seeds == "paired"
        else "other ones for every prompt"
    )
    if not _is_listed(study):
        return f"{_counted(asked.images_per_prompt)} a prompt, seeds {how}"
    drawn = {entry.name for entry in study.config.generators if entry.backend != "folder"}
    given = [image for image in images if image.generator in drawn]
    own = [image for image in given if image.seed == _derived(study, image)]
    parts = [f"{_images_each(given)} a prompt"]
    if len(own) < len(given):
        parts.append(f"seeds of the list: {_seeds_by_generator(given, own)}")
    if own:
        where = "seeds" if len(own) == len(given) else "where the list gives none,"
        parts.append(f"{where} {how}")
    return "; ".join(parts)


def _derived(study: Study, image: ImageRow) -> int:
    """The seed that the image has where no list gives one."""
    asked = study.config.study
    prompt = None if asked.seeds == "paired" else image.prompt_id
    return image_seed(asked.seed, image.role, image.replicate, prompt)


def _seeds_by_generator(given: Sequence[ImageRow], own: Sequence[ImageRow]) -> str:
    """The seeds that are the list's: few are named, of many the number and the ends."""
    others = {image.image_id for image in own}
    found: dict[str, set[int]] = defaultdict(set)
    for image in given:
        if image.image_id not in others:
            found[image.generator].add(image.seed)
    return "; ".join(f"{name} {_seeds_named(sorted(found[name]))}" for name in sorted(found))


def _seeds_named(seeds: Sequence[int]) -> str:
    if len(seeds) <= _MOST_SEEDS:
        return ", ".join(map(str, seeds))
    return f"{len(seeds)} different ones between {seeds[0]} and {seeds[-1]}"


def _images_each(images: Sequence[ImageRow]) -> str:
    """How many images the prompts have, from the fewest to the most."""
    each = sorted(Counter((image.generator, image.prompt_id) for image in images).values())
    if not each or each[0] == each[-1]:
        return _counted(each[0] if each else 0)
    return f"{each[0]} to {_counted(each[-1])}"


def _counted(number: int) -> str:
    return f"{number} image{'' if number == 1 else 's'}"
