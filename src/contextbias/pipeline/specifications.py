"""The specification curve: one number of a study under every combination of choices.

Counts are made once for each reader, mapping, ``people`` and treatment of unknown answers; what can
be chosen after counting is in measure/specifications.py. Choices that need other pictures, such as
the bank of unrelated places, cannot be varied within a study: the rows of a study that was made
with another bank can be put beside it, and the columns ``study`` and ``bank`` tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from contextbias.errors import ConfigError, InputError, nearest
from contextbias.pipeline.derived import own_mapping, prompts_frame
from contextbias.pipeline.selection import Wanted
from contextbias.progress import Progress, Silent
from contextbias.schema import CODEBOOK_VERSION, COHORTS, DIMENSIONS
from contextbias.store import Study

if TYPE_CHECKING:
    import polars as pl

    from contextbias.canonicalise import LabelMapping
    from contextbias.measure.rows import Settings
    from contextbias.measure.specifications import Quantity

STUDY_MAPPING = "study"
"""Name of the mapping that made the study's attributes."""

OFFLINE_MAPPING = "offline groups"
"""Name of the same mapping without the language model that took part in it."""

COLUMNS = (
    "study", "bank", "reader", "mapping", "people", "unknown", "preset", "prompted", "labels",
    "estimand", "support", "main", "point", "low", "high", "n", "note",
    "generator", "contrast", "cohort", "dimension",
)  # fmt: skip
"""Columns of a specification curve: choices, whether it is the study's own choice, numbers, and
which number it is: the same in all rows, so that several curves can stand in one table."""

CHOICES = COLUMNS[: COLUMNS.index("main")]
"""Columns that say what was chosen."""

MERGED = ("people", "unknown", "prompted", "labels")
"""Choices that can make no difference at all: with one person in every picture, say. Such rows are
one specification, whose value is those of all of them, joined by `OR`."""

OR = " or "
"""Between values of a choice that give the same number."""

_NUMBERS = ("point", "low", "high")
_DIGITS = 12
"""Numbers that agree to so many digits after the point are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """What is asked of a specification curve."""

    estimand: str = "bias_intensity"
    """``bias_intensity``, every form of it; or a share of verdicts, such as ``share_shifted``."""
    slot: str | None = None
    """A contrast, a condition, or ``all``; None for CA-U - CF, and for all with a share."""
    generator: str = "mean"
    """A generator, or ``mean``."""
    cohort: str = "all"
    """A cohort, or ``all``; with a dimension its own, or ``all``."""
    dimension: str | None = None
    """A dimension; None for the mean over those of the cohort."""
    mappings: tuple[Path, ...] = ()
    """Mapping files to count with, beside the study's own."""
    progress: Progress = field(default_factory=Silent)
    """Who is told."""

    @property
    def is_share(self) -> bool:
        """Whether the number is a share of verdicts."""
        return self.estimand != "bias_intensity"

    @property
    def chosen_slot(self) -> str:
        """The contrast or condition, the default filled in."""
        return self.slot or ("all" if self.is_share else "CA-U - CF")

    @property
    def number(self) -> dict[str, str | None]:
        """Which number it is, as its rows say it; ``contrast`` may be a condition, or ``all``."""
        return {
            "generator": self.generator,
            "contrast": self.chosen_slot,
            "cohort": self.cohort if self.dimension is None else DIMENSIONS[self.dimension].cohort,
            "dimension": self.dimension,
        }


def specifications(studies: Sequence[Study], curve: Curve) -> pl.DataFrame:
    """Compute the curve of one study, or of several side by side.

    Args:
        studies: Their attributes have to be there; nothing in their folders is changed.
        curve: Which number, and which mappings.

    Returns:
        Columns `COLUMNS`, sorted by ``point``; undefined specifications have no row, and identical
        ones (`MERGED`) one together. ``main`` marks
        those that study.toml chooses: its reader, people and mapping, unknown answers missing, all
        prompts counted, observed labels, and the form of its preset (`MAIN_FORM`).

    Raises:
        ConfigError: No such contrast, cohort, dimension or generator.
        InputError: A study has no attributes, or the number is defined nowhere.
    """
    import polars as pl

    _check(studies, curve)
    names = _names([study.root for study in studies])
    rows = pl.concat(
        [
            part
            for study, name in zip(studies, names, strict=True)
            for part in _of_study(study, name, curve)
        ]
    )
    if rows.is_empty():
        raise InputError(
            f"{curve.chosen_slot} is not defined under any choice",
            "a contrast needs images of both conditions",
        )
    return _without_twins(rows).sort("point", *CHOICES)


def _without_twins(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows that differ in a choice of `MERGED` and in no number, brought together."""
    import polars as pl

    digits = [pl.col(name).round(_DIGITS).alias(f"{name} rounded") for name in _NUMBERS]
    rows = rows.with_columns(digits)
    for choice in MERGED:
        same = [name for name in COLUMNS if name not in (choice, "main", *_NUMBERS)]
        rows = rows.group_by(
            *same, *(f"{name} rounded" for name in _NUMBERS), maintain_order=True
        ).agg(
            pl.col(choice).unique().sort().str.join(OR),
            pl.col("main").any(),
            pl.col(_NUMBERS).sort_by("main", descending=True).first(),
        )
    return rows.select(COLUMNS)


def draw(rows: pl.DataFrame, curve: Curve, suffix: str) -> bytes:
    """Draw a curve.

    Args:
        rows: Result of `specifications`.
        curve: What was asked.
        suffix: ``.svg`` or ``.png``.
    """
    from contextbias.report.curve import curve_bytes, curve_chart

    what = curve.dimension or ("overall" if curve.cohort == "all" else curve.cohort)
    number = curve.estimand.replace("_", " ") if curve.is_share else "Bias Intensity"
    title = f"{number}, {what.replace('_', ' ')}: {curve.chosen_slot}"
    names = ", ".join(rows["study"].unique(maintain_order=True).sort())
    chart = curve_chart(rows, CHOICES, title=title, studies=names, joined={*MERGED}, by=OR)
    return curve_bytes(chart, suffix)


MAIN_FORM = {
    "paper": ("bi_pooled", "raw"),
    "reference": ("bi_pooled", "raw"),
    "strict": ("bi_role", "equal"),
}
"""Preset -> estimand and support that lead under it."""


def _names(roots: Sequence[Path]) -> list[str]:
    """The folders' names, with that of the folder above where two are alike."""
    short = [root.name for root in roots]
    return [
        name if short.count(name) == 1 else f"{root.parent.name}/{name}"
        for root, name in zip(roots, short, strict=True)
    ]


def _of_study(study: Study, name: str, curve: Curve) -> Iterator[pl.DataFrame]:
    import polars as pl

    wanted = Wanted(study)
    main = _main_choices(study, curve)
    bank = _bank(wanted)
    for mapping, attributes in _attributes(wanted, curve):
        # Answers that came counted cannot be counted anew: they have no other people or mapping.
        counted = study.label_counts() if mapping == STUDY_MAPPING else None
        for choice, rows in _counted(wanted, attributes, counted, curve):
            chosen: dict[str, str | None] = {
                "study": name,
                "bank": bank,
                "mapping": mapping,
                **choice,
            }
            chosen |= curve.number
            every = rows.with_columns(pl.lit(v, pl.String).alias(k) for k, v in chosen.items())
            if main["preset"] == "strict" and not curve.is_share:
                # Forms of Bias Intensity are the same in both presets: they have the study's.
                every = every.with_columns(pl.col("preset").replace("paper", "strict"))
            same = [pl.col(key).eq_missing(pl.lit(value)) for key, value in main.items()]
            yield every.with_columns(main=pl.all_horizontal(same)).select(COLUMNS)


def _main_choices(study: Study, curve: Curve) -> dict[str, str | None]:
    """What study.toml chooses."""
    config = study.config
    preset = config.measure.preset
    estimand, support = MAIN_FORM[preset]
    return {
        "reader": config.readers[0].name if config.readers else None,
        "mapping": STUDY_MAPPING,
        "people": config.measure.people,
        "unknown": "missing",
        "preset": preset,
        "prompted": "counted",
        "labels": "observed",
        "estimand": curve.estimand if curve.is_share else estimand,
        "support": None if curve.is_share else support,
    }


def _attributes(wanted: Wanted, curve: Curve) -> Iterator[tuple[str, pl.DataFrame]]:
    """The study's attributes, then those of every other mapping."""
    from contextbias.canonicalise import LabelMapping, to_attributes
    from contextbias.files import unreadable

    study = wanted.study
    own = study.attributes()
    if own is None or study.fingerprint("attributes") is None:
        seen = "has no attributes" if own is None else "has attributes that were changed"
        raise InputError(f"{study.root} {seen}", "run the canonicalise stage first")
    yield STUDY_MAPPING, own
    offline = _offline_mapping(study)
    if offline is None and not curve.mappings:
        return
    images = wanted.images()
    readings = wanted.readings(images)
    if offline is not None:
        curve.progress.say("labels without the language model")
        rows = list(wanted.reader_rows.values())
        yield OFFLINE_MAPPING, to_attributes(images, readings, rows, offline)
    for path in curve.mappings:
        try:
            mapping = LabelMapping.from_json(path.read_bytes(), where=str(path))
        except OSError as error:
            raise unreadable(path, error) from None
        curve.progress.say(f"labels by {path.name}")
        yield path.name, to_attributes(images, readings, list(wanted.reader_rows.values()), mapping)


def _offline_mapping(study: Study) -> LabelMapping | None:
    """The labels without the language model, where one took part; else None."""
    from contextbias.canonicalise.llm import offline_labels

    mapping = own_mapping(study)
    return offline_labels(mapping) if mapping is not None and mapping.decisions else None


def _counted(
    wanted: Wanted, attributes: pl.DataFrame, label_counts: pl.DataFrame | None, curve: Curve
) -> Iterator[tuple[dict[str, str], pl.DataFrame]]:
    """Choices that need counts of their own, with the rows that come of them."""
    from contextbias.measure.arrays import count_readers
    from contextbias.measure.rows import Run
    from contextbias.measure.specifications import (
        released_row,
        specification_rows,
        verdict_rows,
        with_unknown_as_label,
    )

    readable = {row.reader: row.readable for row in wanted.reader_rows.values()}
    quantity, share, forms = _quantity(curve), curve.is_share, specification_rows
    treatments = {"missing": attributes, "label": with_unknown_as_label(attributes)}
    for people in ("primary", "any"):
        for unknown, facts in treatments.items():
            curve.progress.say(f"people {people}, unknown {unknown}")
            own = (people, unknown) == (wanted.study.config.measure.people, "missing")
            for released in (False, True) if unknown == "missing" and not share else (False,):
                counts = count_readers(
                    facts,
                    people=people,
                    readable=readable,
                    label_counts=label_counts if own else None,
                    released=released,
                )
                rows_of = released_row if released else verdict_rows if share else forms
                for reader, found in counts.items():
                    run = Run(reader, "paper", people, CODEBOOK_VERSION)
                    settings = _settings(wanted, readable.get(reader))
                    choice = {"reader": reader, "people": people, "unknown": unknown}
                    yield choice, rows_of(found, quantity, run, settings)


def _settings(wanted: Wanted, readable: dict[str, tuple[str, ...] | None] | None) -> Settings:
    from contextbias.measure.rows import Settings

    measure = wanted.study.config.measure
    return Settings(
        bootstrap=measure.bootstrap,
        seed=wanted.study.config.study.seed,
        alpha=measure.alpha,
        margin_pp=measure.margin_pp,
        prompts=prompts_frame(wanted),
        readable=readable,
    )


def _quantity(curve: Curve) -> Quantity:
    from contextbias.measure.specifications import Quantity

    return Quantity(
        curve.estimand, curve.chosen_slot, curve.generator, curve.cohort, curve.dimension
    )


def _bank(wanted: Wanted) -> str:
    """Name of the bank that the study's prompts come from; empty where nothing is drawn."""
    return ", ".join(sorted({prompt.bank for prompt in wanted.prompts}))


def _check(studies: Sequence[Study], curve: Curve) -> None:
    from contextbias.measure.intensity import SLOTS
    from contextbias.measure.specifications import BIAS_INTENSITY, SHARES

    slots = [contrast or condition or "" for condition, contrast in SLOTS]
    generators = {"mean"}
    for study in studies:
        generators |= {section.name for section in study.config.generators}
        generators |= {row.generator for row in study.generators()}
    for option, value, known in (
        ("--estimand", curve.estimand, [BIAS_INTENSITY, *SHARES]),
        ("--contrast", curve.chosen_slot, slots),
        ("--cohort", curve.cohort, [*COHORTS, "all"]),
        ("--dimension", curve.dimension, list(DIMENSIONS)),
        ("--generator", curve.generator, sorted(generators)),
    ):
        if value is not None and value not in known:
            hint = nearest(value, known) or f"there are {', '.join(known)}"
            raise ConfigError(f"{option} {value!r} is not known", hint)
    if curve.dimension is not None and curve.cohort not in (
        "all",
        DIMENSIONS[curve.dimension].cohort,
    ):
        raise ConfigError(
            f"the dimension {curve.dimension!r} is of the cohort "
            f"{DIMENSIONS[curve.dimension].cohort!r}, and not of {curve.cohort!r}",
            "leave --cohort out",
        )
    if curve.is_share and (curve.chosen_slot != "all" or curve.dimension is not None):
        raise ConfigError(
            f"{curve.estimand} is over all conditions, and of a cohort",
            "leave --contrast and --dimension out",
        )
