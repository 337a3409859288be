"""Which mapping a study's labels come from: by spelling, grouped, a language model, or a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from contextbias.errors import ConfigError, InputError, MissingPart
from contextbias.files import unreadable
from contextbias.forecast import Forecast
from contextbias.pipeline.model_labels import (
    MODEL,
    LabelWork,
    asked_mapping,
    kept_mapping,
    work_of,
    work_of_a_thousand,
)
from contextbias.progress import Progress, counted
from contextbias.schema import CODEBOOK_VERSION, EMPTY, UNKNOWN
from contextbias.store import MAPPING_FILE, Study
from contextbias.tables import ReadingRow

if TYPE_CHECKING:
    from contextbias.canonicalise import Grouping, LabelMapping
    from contextbias.canonicalise.encoder import Encoder
    from contextbias.pipeline.selection import Wanted

_SHOWN_CHANGES = 5


def mapping_of(study: Study, readings: Sequence[ReadingRow], progress: Progress) -> LabelMapping:
    """The mapping that study.toml asks for.

    Terms are grouped anew only when there are others, or other settings, than those of the mapping
    that lies in the study.

    Raises:
        ConfigError: It names a file that is not there.
        InputError: A file of mappings or overrides is wrong.
        MissingPart: The encoder's weights or onnxruntime are missing; or a language model's key.
        Incomplete: The language model's budget is spent; what it answered is kept.
    """
    from contextbias.canonicalise import group_labels, vocabulary_of

    grouping, say = _grouping(study), progress.say
    if grouping is None:
        return _ungrouped(study, readings)
    vocabulary = vocabulary_of(readings, study.frequencies())
    number = sum(len(terms) for terms in vocabulary.values())
    encoder = cache(lambda: _encoder(number, say))
    if study.config.canonicalise.mapping == MODEL:
        return asked_mapping(study, vocabulary, grouping, encoder, _last(study), progress)
    return group_labels(vocabulary, grouping, encoder, known=_last(study))


def known_mapping(study: Study, readings: Sequence[ReadingRow]) -> LabelMapping | None:
    """The mapping that study.toml asks for, if it is known without grouping terms; else None."""
    from contextbias.canonicalise import group_labels, vocabulary_of

    grouping = _grouping(study)
    if grouping is None:
        return _ungrouped(study, readings)
    vocabulary, last = vocabulary_of(readings, study.frequencies()), _last(study)
    made = {} if last is None else {key: last.made.get(key) for key in grouping.made(vocabulary)}
    if last is None or made != grouping.made(vocabulary):
        return None
    if study.config.canonicalise.mapping == MODEL:
        return kept_mapping(study, vocabulary, grouping, last) if last.decisions else None
    return None if last.decisions else group_labels(vocabulary, grouping, known=last)


def label_questions(study: Study, progress: Progress) -> Forecast:
    """What asking the language model of study.toml is expected to take now.

    Raises:
        ConfigError: study.toml names no language model, or an option of it is wrong.
        InputError: There is no reading.
        MissingPart: As `mapping_of`.
    """
    from contextbias.pipeline.selection import Wanted

    grouping = _grouping(study)
    if grouping is None or study.config.canonicalise.mapping != MODEL:
        raise ConfigError(
            f"no language model takes part in the labels of {study.root}",
            'write mapping = "model" under [canonicalise]',
        )
    wanted = Wanted(study)
    readings = wanted.readings(wanted.images())
    if not readings and not study.counts()["frequencies"]:
        raise InputError(f"{study.root} has no reading", "run the extract stage first")
    return _work(study, readings, grouping, progress.say).forecast


def label_work(wanted: Wanted, coming: int) -> LabelWork | None:
    """The language model's part in `plan`; None where study.toml gives it none.

    Args:
        wanted: The configuration.
        coming: Readings that are still to be made: their terms are not known yet.

    Raises:
        ConfigError: An option of the model is wrong.
    """
    study = wanted.study
    grouping = _grouping(study)
    if grouping is None or study.config.canonicalise.mapping != MODEL:
        return None
    readings = wanted.readings(wanted.images())
    if not readings and not study.counts()["frequencies"]:
        some = work_of_a_thousand(study)
        money = "price not known" if some.money is None else f"{some.money:,.2f} {some.currency}"
        if (budget := some.budget_words(some.calls or 0)) is not None:
            money += f"; {budget}"
        note = (
            "how many groups of terms it is asked about is known after reading; a thousand take "
            f"about {some.tokens_in:,} tokens sent and {some.tokens_out:,} received, {money}"
        )
        return LabelWork(0, 0, Forecast(notes=(note, *some.notes)))
    try:
        found = _work(study, readings, grouping, lambda _: None)
    except MissingPart as error:
        return LabelWork(0, 0, Forecast(notes=(str(error),)))
    notes = found.forecast.notes
    if coming:
        notes = (f"of {counted(len(readings), 'reading')} so far; {coming:,} to come may bring "
                 "further terms", *notes)  # fmt: skip
    size = 4 * (found.forecast.tokens_out or 0)
    return replace(found, forecast=replace(found.forecast, notes=notes, size=size))


def _work(
    study: Study, readings: Sequence[ReadingRow], grouping: Grouping, say: Callable[[str], None]
) -> LabelWork:
    from contextbias.canonicalise import vocabulary_of

    vocabulary = vocabulary_of(readings, study.frequencies())
    number = sum(len(terms) for terms in vocabulary.values())
    encoder = cache(lambda: _encoder(number, say))
    return work_of(study, vocabulary, grouping, encoder, _last(study))


def say_changes(study: Study, mapping: LabelMapping, say: Callable[[str], None]) -> None:
    """Say how many labels there are, and which terms had another one before."""
    from contextbias.canonicalise import changes

    if not mapping.made:
        return
    terms = sum(len(pairs) for pairs in mapping.labels.values())
    labels = sum(len({*pairs.values()} - {UNKNOWN, EMPTY}) for pairs in mapping.labels.values())
    rules = Counter(rule for pairs in mapping.rules.values() for rule in pairs.values())
    by = ", ".join(f"{number:,} by {rule}" for rule, number in sorted(rules.items()))
    say(f"{counted(labels, 'label')} of {counted(terms, 'term')}" + (f" ({by})" if by else ""))
    before = _last(study)
    if before is None or not before.made:
        return
    found = [c for c in changes(before, mapping) if c.before is not None and c.after is not None]
    for change in found[:_SHOWN_CHANGES]:
        say(f"{change.dimension}: {change.term!r} was {change.before!r}, is {change.after!r}")
    if len(found) > _SHOWN_CHANGES:
        say(f"and {len(found) - _SHOWN_CHANGES:,} more terms have another label than before")


def _grouping(study: Study) -> Grouping | None:
    from contextbias.canonicalise import CLUSTER, TABLE, Grouping, read_overrides
    from contextbias.canonicalise.encoder import encoder_name

    section = study.config.canonicalise
    if section.mapping not in (TABLE, CLUSTER, MODEL):
        return None
    overrides = {}
    if section.overrides is not None:
        path = study.root / section.overrides
        try:
            overrides = read_overrides(path.read_bytes(), where=str(path))
        except OSError as error:
            raise unreadable(path, error) from None
    return Grouping(
        method=section.groups if section.mapping == MODEL else section.mapping,
        threshold=section.threshold,
        overrides=overrides,
        encoder=encoder_name(),
    )


def _ungrouped(study: Study, readings: Sequence[ReadingRow]) -> LabelMapping:
    from contextbias.canonicalise import LabelMapping, pass_through

    name = study.config.canonicalise.mapping
    if name == "pass-through":
        return pass_through(readings)
    path = study.root / name
    if not path.is_file():
        raise ConfigError(f"canonicalise.mapping: there is no file {path}", "correct the path")
    mapping = LabelMapping.from_json(path.read_bytes(), where=str(path))
    if mapping.codebook != CODEBOOK_VERSION:
        raise ConfigError(
            f"canonicalise.mapping: {path} is of codebook {mapping.codebook!r}, and this version "
            f"has {CODEBOOK_VERSION!r}",
            "make the mapping anew, or correct its line `codebook` if its labels are the same",
        )
    return mapping


def _encoder(number: int, say: Callable[[str], None]) -> Encoder:
    from contextbias.canonicalise.encoder import MiniLM

    say(f"grouping {counted(number, 'term')}")
    try:
        return MiniLM()
    except MissingPart as error:
        raise MissingPart(
            error.problem, f'{error.fix}; or take mapping = "table", which needs no weights'
        ) from None


def _last(study: Study) -> LabelMapping | None:
    """The mapping that lies in the study; None where there is none, or none that can be read."""
    from contextbias.canonicalise import LabelMapping

    data = study.mapping()
    try:
        return None if data is None else LabelMapping.from_json(data, where=MAPPING_FILE)
    except InputError:
        return None  # the stage refuses to write over it
