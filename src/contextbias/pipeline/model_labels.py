"""The labels of a study by a language model: its answers lie in ``asked/labels.jsonl``.

That file was paid for. It is no derived file: it is appended to, never rewritten, and a study whose
``derived/`` is deleted finds every answer there again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextbias.llm import Asker, Journal, Settler
from contextbias.progress import Progress, counted
from contextbias.store import Study

if TYPE_CHECKING:
    from contextbias.canonicalise import Grouping, LabelMapping
    from contextbias.canonicalise.encoder import Encoder
    from contextbias.forecast import Forecast
    from contextbias.llm.served import ServedModel

MODEL = "model"
"""The value of ``[canonicalise] mapping``."""

JOURNAL = "asked/labels.jsonl"
"""Path of the answers, below the study."""

Vocabulary = Mapping[str, Mapping[str, int]]


def asked_mapping(
    study: Study,
    vocabulary: Vocabulary,
    grouping: Grouping,
    encoder: Callable[[], Encoder],
    last: LabelMapping | None,
    progress: Progress,
    asker: Asker | None = None,
) -> LabelMapping:
    """The mapping, with the language model asked about every group that it has not answered.

    Args:
        study: Its configuration and its answers; opened for writing.
        vocabulary: Its terms.
        grouping: The offline groups.
        encoder: Makes the encoder.
        last: The mapping that lies in the study.
        progress: Who is told.
        asker: Instead of the one that study.toml names.

    Raises:
        ConfigError: An option of the model is wrong.
        Incomplete: Its budget is spent; what was answered is kept.
    """
    from contextbias.canonicalise.llm import model_labels

    journal = Journal(study.root / JOURNAL)
    served = asker or _served(study, journal)
    mapping = model_labels(
        vocabulary,
        grouping,
        Settler(journal, served.settings(), served),
        encoder,
        known=last,
        at_least=study.config.canonicalise.at_least,
        progress=progress,
    )
    for line in decisions_in_words(mapping):
        progress.say(line)
    return mapping


def kept_mapping(
    study: Study, vocabulary: Vocabulary, grouping: Grouping, last: LabelMapping
) -> LabelMapping:
    """The mapping as the answers that are kept make it, without asking anybody.

    Args:
        study: Its configuration and its answers.
        vocabulary: Its terms.
        grouping: The offline groups; those of `last` are taken.
        last: The mapping that lies in the study, of the same terms.
    """
    from contextbias.canonicalise.llm import model_labels

    journal = Journal(study.root / JOURNAL)
    settler = Settler(journal, _served(study, journal).settings())
    least = study.config.canonicalise.at_least
    return model_labels(vocabulary, grouping, settler, known=last, at_least=least)


@dataclass(frozen=True, slots=True)
class LabelWork:
    """Groups that a language model is asked about."""

    wanted: int
    """All of them, as far as their terms are known."""
    pending: int
    """Those that it has not answered."""
    forecast: Forecast
    """What asking about these is expected to take; repairs not counted."""


def work_of(
    study: Study,
    vocabulary: Vocabulary,
    grouping: Grouping,
    encoder: Callable[[], Encoder],
    last: LabelMapping | None,
) -> LabelWork:
    """What is still to be asked; asks nobody, writes nothing."""
    from contextbias.canonicalise.llm import expected_questions

    journal = Journal(study.root / JOURNAL)
    served = _served(study, journal)
    settler = Settler(journal, served.settings(), served)
    least = study.config.canonicalise.at_least
    questions = expected_questions(
        vocabulary, grouping, settler, encoder, known=last, at_least=least
    )
    left = settler.open(questions)
    return LabelWork(len(questions), len(left), served.forecast(left))


def work_of_a_thousand(study: Study) -> Forecast:
    """What a thousand groups of usual length would take, where no term is known yet."""
    from contextbias.canonicalise.llm_question import MOST_SHOWN, question_of

    term = "white lab coat"
    question = question_of("items", [term] * 2, {term: 1}, [term] * MOST_SHOWN)
    return _served(study, Journal(None)).forecast([question] * 1000)


def decisions_in_words(mapping: LabelMapping) -> list[str]:
    """How many offline groups the language model left as they were, changed, or did not answer."""
    found = Counter(str(decision["status"]) for decision in mapping.decisions)
    asked = sum(found.values()) - found["alone"] - found["not asked"]
    if not asked:
        return []
    line = (
        f"{counted(asked, 'group')} put to {mapping.made['model']['model']}: {found['kept']:,} kept"
    )
    line += f", {found['changed']:,} changed"
    rest = {status: n for status, n in found.items() if status not in _ANSWERED}
    lines = [line, *_large_labels(mapping)]
    if rest:
        why = ", ".join(f"{number:,} {status}" for status, number in sorted(rest.items()))
        lines.append(f"the offline group stands where there is no usable answer ({why})")
    if found["open"]:
        lines.append(f"{found['open']:,} got no answer: run canonicalise again to ask once more")
    return lines


def _large_labels(mapping: LabelMapping) -> list[str]:
    """Labels of more groups than any single answer could join: nobody saw all of it at once."""
    from contextbias.canonicalise.llm_question import MOST_SHOWN

    groups = Counter(
        (each["dimension"], mapping.labels[each["dimension"]][each["offline"]])
        for each in mapping.decisions
    )
    return [
        f"{dimension}: {label!r} is the label of {number:,} groups now, more than the model ever "
        "saw at once: look at `contextbias labels --model` before you use it"
        for (dimension, label), number in groups.most_common(_SHOWN_LARGE)
        if number > MOST_SHOWN + 1
    ]


_SHOWN_LARGE = 3
_ANSWERED = ("alone", "changed", "kept", "not asked")


def _served(study: Study, journal: Journal) -> ServedModel:
    from contextbias.llm.served import ServedModel

    options = study.config.canonicalise.model
    spent = journal.tokens(str(options.get("model")))
    return ServedModel(options, where="[canonicalise] model", spent=spent)
