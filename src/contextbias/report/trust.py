"""How far a reader can be trusted: what was checked, dimension by dimension, in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from contextbias.report import formats
from contextbias.report.corrected import Corrected, corrected
from contextbias.report.inputs import PEOPLE, ReportInputs
from contextbias.report.select import (
    Index,
    Number,
    cohort_of,
    dimension_order,
    index,
    is_judged,
)
from contextbias.tables import ReaderRow

NOT_CHECKED = "not checked"
"""What stands where there is no evidence."""

_KINDS = (("image", "picture"), ("set", "set of pictures"))
"""Kinds of items, the better evidence first."""

_KNOWN = "known_accuracy"
"""Estimand of pictures whose prompt names a label: the share that is read so."""

_KEYS = ("generator", "dimension", "method")
_AS_GOOD = 0.05
"""A reader that agrees with people this much less than people with one another is as good."""

_FEWEST = 20
"""With fewer pictures or sets that both answered, kappa can be anything."""

_HIGH, _LOW = 0.8, 0.6
"""Raw agreement that is high, and kappa that is low: both at once, one answer is very common."""

_APART = 0.7
"""People whose raw agreement is below do not agree with one another."""

_WORDS = (
    (0.8, "as people do"),
    (0.6, "mostly as people do"),
    (0.4, "often otherwise than people: with care"),
    (-1.0, "little better than guessing: do not rely on it"),
)
"""Least kappa, and how the reader reads."""

_TAKEN = {"folder", "records"}
"""Backends of what was taken in: they draw nothing, and read nothing again."""

_BEGINS = "a photo of"
"""How prompts begin from which ones that name a label can be made."""


@dataclass(frozen=True, slots=True)
class TrustCell:
    """One kind of evidence about one dimension."""

    share: str
    """Share that agrees, in whole percent; `NOT_CHECKED` without evidence."""
    hint: str
    """Of how many, and kappa; empty without evidence."""


@dataclass(frozen=True, slots=True)
class People:
    """How far people agree with one another."""

    raw: Index
    """Raw agreement by generator, dimension and kind of item."""
    kappa: Index
    """Mean kappa of pairs (Cohen), or that of all of them (Fleiss)."""


@dataclass(frozen=True, slots=True)
class TrustRow:
    """One dimension."""

    dimension: str
    words: str
    """What the evidence amounts to."""
    cells: tuple[TrustCell, ...]
    """One a column."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a study has to check its readers with; decides which advice is given."""

    generators: tuple[str, ...] = ()
    """Backends of its generators."""
    reader: str = ""
    """Backend of the reader; empty where its answers came counted."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the reader."""
    pictures: bool = True
    """Whether there are files to look at: readings can come without."""
    english: bool = True
    """Whether a prompt begins as those that name a label do."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Everything that was checked about one reader."""

    columns: tuple[str, ...]
    """Kinds of evidence that there is."""
    rows: tuple[TrustRow, ...]
    """Dimensions that the reader reads; empty when nothing was checked."""
    overall: tuple[str, ...]
    """Sentences."""
    simulated: bool
    """True when annotators are simulated."""
    corrected: Corrected | None
    """Numbers that allow for the reader's errors; None where people judged no single picture."""
    unchecked: str
    """Dimensions without any evidence, in words."""
    advice: tuple[tuple[str, str], ...]
    """Command, and what it checks: only what this study can do."""


def trust(
    estimates: pl.DataFrame, reader: str, order: Sequence[str], means: Means | None = None
) -> Trust:
    """Gather what the estimates say about the trust in one reader.

    Args:
        estimates: All estimates, of people and corrected ones among them.
        reader: Which reader.
        order: Generators in the order of the configuration.
        means: What the study could check with; None for everything.
    """
    estimand = pl.col("estimand")
    wanted = estimand.str.starts_with("agreement_") | estimand.is_in(
        ["label_count", "prevalence", _KNOWN]
    )
    by = pl.col("reader").is_in([reader, PEOPLE])
    # Millions of rows are about single associations; they are not needed here.
    kept = estimates.filter(by & wanted & ((estimand != "prevalence") | is_judged()))
    mine = kept.filter(pl.col("reader") == reader)
    agreement = mine.filter(estimand.str.starts_with("agreement_"))
    ours = kept.filter(pl.col("reader") == PEOPLE)
    raw, kappa = (index(agreement, f"agreement_{name}", _KEYS) for name in ("raw", "kappa"))
    among = index(ours, "agreement_raw", _KEYS)
    # Of lists Cohen's kappa is the reader's measure, and Fleiss' takes a whole list for an answer.
    beyond = index(ours, "agreement_fleiss", _KEYS) | index(ours, "agreement_cohen_mean", _KEYS)
    known = {
        (None, key[1], _KNOWN): number
        for key, number in index(mine, _KNOWN, ("generator", "dimension", "label")).items()
        if key[0] is None and key[1] is not None and key[2] is None
    }
    raw |= known
    columns = _columns(raw, among)
    dimensions = dimension_order(_read(mine))
    rows = [
        _row(name, columns, raw, kappa, People(among, beyond))
        for name in sorted(dimensions, key=lambda name: cohort_of(name) != "people")
    ]
    checked = [row for row in rows if any(cell.share != NOT_CHECKED for cell in row.cells)]
    lacking = [row.dimension for row in rows if row not in checked]
    return Trust(
        columns=tuple(columns),
        rows=tuple(checked),
        overall=tuple(_overall(raw, kappa, among)),
        simulated=bool((ours["note"] == "simulated_people").any()),
        corrected=corrected(mine, order),
        unchecked=", ".join(lacking) if checked else "",
        advice=tuple(_advice(means)) if means is not None else (),
    )


def means_of(inputs: ReportInputs, reader: ReaderRow | None) -> Means:
    """What the report's inputs say of the means of a study to check one reader."""
    return Means(
        generators=tuple(row.backend for row in inputs.facts.generators),
        reader=reader.backend if reader else "",
        settings=reader.settings if reader else {},
        pictures=any(image.path is not None for image in inputs.images),
        english=any(
            prompt.condition == "CF" and (prompt.text or "").lower().startswith(_BEGINS)
            for prompt in inputs.prompts
        ),
    )


def _advice(means: Means) -> Iterable[tuple[str, str]]:
    if not means.pictures:  # readings that came without their pictures
        return
    yield "contextbias annotate", "asks people"
    reads = bool(means.reader) and means.reader not in _TAKEN
    if reads and means.english and not set(means.generators) <= _TAKEN:
        said = "draws and reads pictures whose prompt names the label"
        yield "contextbias validate", said
    if reads and not _says_the_same(means):
        yield "contextbias extract STUDY --repeat 1", "asks the reader again"


def _says_the_same(means: Means) -> bool:
    """Whether a reader says the same of the same picture, but for last bits of sums."""
    if means.reader == "transformers":
        return bool(means.settings.get("request", {}).get("temperature") == 0)
    return means.reader == "local"


def _read(mine: pl.DataFrame) -> Iterable[str]:
    names = mine.filter(pl.col("estimand") == "label_count")["dimension"]
    return set(names.drop_nulls().unique().to_list())


def _columns(raw: Index, among: Index) -> dict[str, str]:
    """Title of a column -> method of its numbers."""
    methods = sorted({str(key[2]) for key in raw if key[0] is None and key[1] is not None})
    found: dict[str, str] = {}
    for kind, what in (("image", "pictures"), ("set", "sets")):
        if f"people {kind}" in methods:
            found[f"With people, {what}"] = f"people {kind}"
        if (None, None, kind) in among:
            found[f"Two people, {what}"] = kind
    if _KNOWN in methods:
        found["Read as the prompt asked"] = _KNOWN
    for method in methods:
        if method.startswith("reader "):
            found[f"With {method.removeprefix('reader ')}"] = method
        elif method.startswith("repeat "):
            number = int(method.removeprefix("repeat "))
            found["Asked again" if number == 1 else f"Asked again ({number})"] = method
    return found


def _row(
    dimension: str, columns: Mapping[str, str], raw: Index, kappa: Index, people: People
) -> TrustRow:
    cells = []
    for method in columns.values():
        of_people = method in ("set", "image")
        number = (people.raw if of_people else raw).get((None, dimension, method))
        beyond = None if of_people else kappa.get((None, dimension, method))
        cells.append(_cell(number, beyond))
    return TrustRow(formats.words(dimension), _words(dimension, raw, kappa, people), tuple(cells))


def _cell(number: Number | None, kappa: Number | None) -> TrustCell:
    if number is None or number.point is None:
        return TrustCell(NOT_CHECKED, "")
    hint = f"of {formats.whole(number.n)}"
    if kappa is not None:
        beyond = formats.plain(kappa.point, 2)
        hint += ", one answer only" if kappa.note == "degenerate" else f", kappa {beyond}"
    return TrustCell(formats.coarse_percent(number.point), hint)


def _words(dimension: str, raw: Index, kappa: Index, people: People) -> str:
    """What the comparison with people says, from the better kind of items that are enough."""
    words = "not checked against people"
    for kind, _ in _KINDS:
        key = (None, dimension, f"people {kind}")
        number, beyond = raw.get(key), kappa.get(key)
        if number is None or number.point is None or beyond is None:
            continue
        if (number.n or 0) >= _FEWEST:
            of_people = (None, dimension, kind)
            return _verdict(
                number.point, beyond.point, _point(people.raw, of_people),
                _point(people.kappa, of_people),
            )  # fmt: skip
        words = "too few to say"
    return words


def _point(numbers: Index, key: tuple[str | None, ...]) -> float | None:
    return numbers[key].point if key in numbers else None


def _verdict(raw: float, kappa: float | None, theirs: float | None, beyond: float | None) -> str:
    """Words for the agreement of a reader with people.

    Args:
        raw: Share of items about which both say the same.
        kappa: Of both; None where every answer is the same.
        theirs: Raw agreement of people with one another; None where it is not known.
        beyond: Their kappa; None likewise.
    """
    if kappa is None:
        return "all pictures look alike here: nothing to tell apart"
    kappa, raw = round(kappa, 2), round(raw, 2)  # as they stand beside the words
    unsure = beyond is not None and beyond < _LOW
    if kappa < _LOW and unsure and raw >= _HIGH:
        return "one answer is so common that agreement says little"
    words = next(text for least, text in _WORDS if kappa >= least)
    if theirs is None or kappa >= _LOW or raw < theirs - _AS_GOOD:
        return words
    if theirs < _APART or unsure:
        words += "; people do not agree with one another either"
    return words


def _overall(raw: Index, kappa: Index, among: Index) -> Iterable[str]:
    """Sentences about all questions together."""
    for kind, what in _KINDS:
        key = (None, None, f"people {kind}")
        number = raw.get(key)
        if number is None or number.point is None:
            continue
        share = formats.coarse_percent(number.point)
        spread = formats.share_interval(number.low, number.high)
        yield (
            f"Of {formats.whole(number.n)} questions about a {what} that most people and the "
            f"reader both answered, both say the same in {share} {spread}; Cohen's kappa "
            f"{formats.plain(kappa[key].point, 2)}."
        )
        people = among.get((None, None, kind))
        if people is not None and people.point is not None:
            again = formats.coarse_percent(people.point)
            yield f"Two people who judge the same {what} say the same in {again}."
