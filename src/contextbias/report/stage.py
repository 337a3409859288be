"""The report stage's input: what an open study says, gathered for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from contextbias import __version__
from contextbias.errors import StudyError
from contextbias.report.inputs import ATTRIBUTE_COLUMNS, ReportInputs, RunFacts
from contextbias.schema import CODEBOOK_VERSION
from contextbias.tables import ImageRow, ReaderRow

if TYPE_CHECKING:
    import polars as pl

    from contextbias.store import Study


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
    images = [_absolute(i, study.root) for i in study.images() if i.image_id in known]
    asked = {image.prompt_id for image in images}
    if (counts := study.label_counts()) is not None:
        asked |= set(counts["prompt_id"].unique())
    return ReportInputs(
        title=study.config.study.name,
        facts=_facts(study, estimates, images, readers),
        estimates=estimates,
        attributes=attributes,
        images=images,
        prompts=[prompt for prompt in study.prompts() if prompt.prompt_id in asked],
        report_dir=study.root / "report",
    )


def _absolute(image: ImageRow, root: Path) -> ImageRow:
    return image if image.path is None else replace(image, path=str(root / image.path))


def _facts(
    study: Study,
    estimates: pl.DataFrame,
    images: list[ImageRow],
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
        seeds=_seeds(study),
        bank=_bank(study),
    )


def _is_drawn(study: Study) -> bool:
    """True when some generator was asked with the study's own prompts."""
    return any(entry.backend != "folder" for entry in study.config.generators)


def _bank(study: Study) -> str:
    """Bank and options of the prompts, in words."""
    if not _is_drawn(study):
        return ""
    asked = study.config.bench
    parts = [
        f"bank {Path(asked.bank).name}",
        "unrelated contexts of other roles (deranged)"
        if asked.unrelated == "deranged"
        else "unrelated contexts from an everyday pool",
        "as many prompts in each condition" if asked.balanced else "",
        f"axes {', '.join(asked.axes)}" if asked.axes else "",
    ]
    return "; ".join(part for part in parts if part)


def _seeds(study: Study) -> str:
    if not _is_drawn(study):
        return ""
    each = study.config.study.images_per_prompt
    how = (
        "the same in every condition and generator"
        if (study.config.study.seeds == "paired")
        else "other ones for every prompt"
    )
    return f"{each} image{'' if each == 1 else 's'} a prompt, seeds {how}"
