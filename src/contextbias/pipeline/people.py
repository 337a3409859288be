"""What people answered, as measure takes it: the answers that count, spelt like the readings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from contextbias.annotation_tables import SAMPLE
from contextbias.errors import InputError
from contextbias.ids import content_hash
from contextbias.people import Annotations, AnnotatorQuality, Rules, excluded, qualities
from contextbias.pipeline.selection import Wanted
from contextbias.schema import CODEBOOK_VERSION
from contextbias.store import MAPPING_FILE, STORE_FILE, Study
from contextbias.tables import OK, ImageRow

if TYPE_CHECKING:
    import polars as pl


def people_fingerprint(root: Path) -> str | None:
    """What the answers are, as a hash; None where nobody has answered."""
    if not (root / STORE_FILE).exists():
        return None
    with Annotations.open(root) as book:
        plan = book.plan()
        if plan is None:
            return None
        state = [list(each) for each in book.state()]
        # Who has not answered changes no number.
        said = {name for name, *_ in state}
        kinds = [[row.annotator, row.kind] for row in book.annotators() if row.annotator in said]
    return content_hash(["people", plan.plan, kinds, state]) if state else None


def people_answers(root: Path, mapping: bytes | None) -> pl.DataFrame | None:
    """Answers that count; None where there is none.

    Args:
        root: The study.
        mapping: Its label mapping; None where nothing was canonicalised yet.

    Returns:
        Columns of measure.people.PEOPLE_SCHEMA.
    """
    from contextbias.measure.people import people_frame

    with Annotations.open(root) as book:
        plan = book.plan()
        if plan is None:
            return None
        rows = book.labels()
        left_out = excluded(annotator_qualities(book))
    if not rows:
        return None
    every_role = plan.settings["annotate"]["roles"] == "all"
    return people_frame(rows, _canonical(mapping), left_out, every_role=every_role)


def drawable_images(root: Path, images: Callable[[], Iterable[ImageRow]]) -> set[str] | None:
    """Ids of the images of which people's sample was drawn.

    What was drawn has weights that are about the images of that moment. A study that is given more
    roles, generators or images later has images that nobody could be asked about.

    Args:
        root: The study.
        images: Gives those that it has now; called only where people were asked.

    Returns:
        None where that is all of them, or nothing was drawn.
    """
    with Annotations.open(root) as book:
        plan = book.plan()
        if plan is None:
            return None
        sample = [item for item in book.items() if item.purpose == SAMPLE]
    there = [image for image in images() if image.status == OK]
    # Times of images are whole seconds, those of plans have milliseconds; as texts they compare.
    earlier = [image for image in there if image.created_at <= plan.created_at]
    if len(earlier) > plan.population:
        # Some were there but left out by study.toml at that moment, such as roles that were added
        # again later. Which ones is not known; roles of which nothing was drawn are among them.
        roles = {item.role for item in sample}
        earlier = [image for image in earlier if image.role in roles]
    if len(earlier) == len(there):
        return None
    judged = {image for item in sample for image in item.image_ids}
    return {image.image_id for image in earlier} | judged


def images_after_sample(root: Path) -> int:
    """Number of images of the study that came after people's sample was drawn."""
    with Study.open(root) as study:
        return _after_sample(root, Wanted(study).images())


def _after_sample(root: Path, images: Iterable[ImageRow]) -> int:
    there = [image for image in images if image.status == OK]
    drawable = drawable_images(root, lambda: there)
    return 0 if drawable is None else sum(image.image_id not in drawable for image in there)


def annotator_qualities(book: Annotations) -> list[AnnotatorQuality]:
    """How well each annotator answers, and which of the declared rules are broken."""
    return qualities(book.by_annotator(), book.items(), Rules.declared(book.plan()))


@dataclass(frozen=True, slots=True)
class PeopleAgreement:
    """How far people agree, for whoever asks now."""

    estimates: pl.DataFrame
    """Rows of tables.EstimateRow, from measure.people_agreement."""
    consensus: pl.DataFrame
    """What most people say, from measure.people."""
    annotators: list[AnnotatorQuality]
    """Everybody who answered, and which rules they break."""
    simulated: int
    """How many of those who count are simulated."""
    later: int
    """Images of the study that came after people's sample was drawn."""


def people_agreement(root: Path) -> PeopleAgreement:
    """How far people agree with one another, with themselves, and with each reader.

    Worked out from the answers as they are now; nothing is written. Readers are compared where the
    study has attributes.

    Raises:
        InputError: Nobody whose answers count has answered.
    """
    from contextbias.measure.people import consensus, consensus_frame
    from contextbias.measure.people_agreement import people_estimates
    from contextbias.measure.rows import Run

    with Study.open(root) as study:
        config, attributes, mapping = study.config, study.scan_attributes(), study.mapping()
        later = _after_sample(root, Wanted(study).images())
    answers = people_answers(root, mapping)
    with Annotations.open(root) as book:
        annotators = [each for each in annotator_qualities(book) if each.answers]
    if answers is None or answers.is_empty():
        raise InputError(
            f"{root} has no answers that count"
            if annotators
            else f"{root} has no answers of people",
            "see `contextbias annotate progress`",
        )
    section = config.measure
    estimates = people_estimates(
        answers, attributes, Run("", section.preset, section.people, CODEBOOK_VERSION),
        bootstrap=section.bootstrap, seed=config.study.seed, alpha=section.alpha,
    )  # fmt: skip
    simulated = answers.filter("simulated")["annotator"].n_unique()
    said = consensus_frame(consensus(answers))
    return PeopleAgreement(estimates, said, annotators, simulated, later)


def _canonical(mapping: bytes | None) -> Callable[[str, str], str]:
    from contextbias.canonicalise import LabelMapping

    found = LabelMapping({}) if mapping is None else LabelMapping.from_json(
        mapping, where=MAPPING_FILE
    )  # fmt: skip
    return found.canonical
