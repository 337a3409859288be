"""A language model on top of the offline grouping: it names groups, splits and merges them.

Each offline group is one question (llm_question.py). An answer that breaks a rule is repaired once;
where that fails, the offline group stands. What was decided on single groups is put together by
rules (llm_join.py). Every answer is in the journal, and a group whose answer is there is never
asked about again; every decision stands in the mapping, with the model's snapshot, the hash of the
template, the date and the hash of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextbias.canonicalise.encoder import Encoder, Vectors
from contextbias.canonicalise.grouping import CLUSTER, Grouping, Vocabulary, group_labels
from contextbias.canonicalise.llm_join import Decided, joined_labels
from contextbias.canonicalise.llm_nearest import shown_beside
from contextbias.canonicalise.llm_question import (
    MOST_SHOWN,
    MOST_TERMS,
    TEMPLATE,
    faults_of,
    key_of,
    parts_of,
    question_of,
)
from contextbias.canonicalise.mapping import OPEN, LabelMapping
from contextbias.llm import Answer, Question, Settled, Settler
from contextbias.progress import Progress, Silent, shown

MODEL = "model"
"""The method."""

ALONE = "alone"
"""Status of a group that was not asked about: one term, and nothing like it."""

OPEN_STILL = "open"
"""Why an offline group stands for now: its question was not asked, or got no answer."""


@dataclass(frozen=True, slots=True)
class _Offline:
    """One offline group."""

    dimension: str
    terms: tuple[str, ...]
    name: str


def model_labels(
    vocabulary: Vocabulary,
    grouping: Grouping,
    settler: Settler,
    encoder: Callable[[], Encoder] | None = None,
    *,
    known: LabelMapping | None = None,
    at_least: int = 1,
    progress: Progress | None = None,
) -> LabelMapping:
    """Make the mapping of a vocabulary with a language model's decisions.

    Args:
        vocabulary: Result of `vocabulary_of`.
        grouping: The offline grouping that is given to the model; overrides win over both.
        settler: Asks; without an asker only what the journal holds counts.
        encoder: Makes the encoder, with `CLUSTER`; called only for terms that are not in `known`
            and for groups that have to be asked about.
        known: An earlier mapping of this kind, whose offline groups are taken where terms and
            settings are the same.
        at_least: Groups that were given less often than this are not asked about.
        progress: Who is told.

    Returns:
        A mapping of every term, the same for the same counts and journal.

    Raises:
        Incomplete: The asker pauses; what came is in the journal.
    """
    encoder = None if encoder is None else _remembering(encoder)
    offline = group_labels(vocabulary, grouping, encoder, known=_as_offline(known, grouping))
    groups = list(_groups(vocabulary, grouping, offline))
    asked = _worth_asking(vocabulary, groups, at_least)
    questions = _questions(vocabulary, grouping, groups, asked, settler, encoder)
    settled = _settled(questions, settler, progress or Silent())
    labels: dict[str, dict[str, str]] = {}
    for name in OPEN:
        fixed = frozenset(grouping.overrides.get(name, {}).values())
        counts = vocabulary.get(name, {})
        decided = [_decided(g, settled.get(g)) for g in groups if g.dimension == name]
        labels[name] = joined_labels(name, decided, counts, fixed)
        labels[name].update(grouping.beforehand(name, counts))
    return LabelMapping(
        labels,
        method=MODEL,
        rules=_rules(labels, offline),
        made={**offline.made, "groups": grouping.method, "model": dict(settler.settings),
              "template": TEMPLATE, "at_least": at_least},
        decisions=tuple(_decision(g, settled.get(g), labels[g.dimension]) for g in groups),
    )  # fmt: skip


def expected_questions(
    vocabulary: Vocabulary, grouping: Grouping, settler: Settler,
    encoder: Callable[[], Encoder] | None = None, *, known: LabelMapping | None = None,
    at_least: int = 1,
) -> list[Question]:  # fmt: skip
    """What `model_labels` asks, answered or not; repairs not counted. Its arguments."""
    offline = group_labels(vocabulary, grouping, encoder, known=_as_offline(known, grouping))
    groups = list(_groups(vocabulary, grouping, offline))
    asked = _worth_asking(vocabulary, groups, at_least)
    questions = _questions(vocabulary, grouping, groups, asked, settler, encoder)
    return [question for question in questions.values() if not _is_alone(question)]


def offline_labels(mapping: LabelMapping) -> LabelMapping:
    """What the labels of a mapping of this kind would be without the language model."""
    labels = {name: dict(pairs) for name, pairs in mapping.labels.items()}
    for decision in mapping.decisions:
        for term in decision["terms"]:
            labels[decision["dimension"]][term] = decision["offline"]
    return LabelMapping(labels, method=f"{mapping.method}, offline groups")


def _as_offline(known: LabelMapping | None, grouping: Grouping) -> LabelMapping | None:
    """The offline groups of an earlier mapping, as a mapping that `group_labels` can take up."""
    if known is None or not known.decisions:
        return None
    labels = {name: dict(pairs) for name, pairs in known.labels.items()}
    for decision in known.decisions:
        labels[decision["dimension"]].update(dict.fromkeys(decision["terms"], decision["terms"][0]))
    made = {key: known.made.get(key) for key in grouping.made({})}
    return LabelMapping(labels, made=made)


def _groups(
    vocabulary: Vocabulary, grouping: Grouping, offline: LabelMapping
) -> Iterator[_Offline]:
    for name in OPEN:
        counts = vocabulary.get(name, {})
        settled = grouping.beforehand(name, counts)
        members: dict[str, list[str]] = {}
        for term in sorted(counts):
            if term not in settled:
                members.setdefault(offline.labels[name][term], []).append(term)
        for label, terms in sorted(members.items(), key=lambda item: item[1]):
            yield _Offline(name, tuple(terms), label)


class _Remembering:
    """An encoder that encodes a term once: for the grouping, and for what is shown."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder, self._known = encoder, dict[str, NDArray[np.float32]]()
        self.name = encoder.name

    def encode(self, terms: Sequence[str]) -> Vectors:
        new = sorted({term for term in terms if term not in self._known})
        if new:
            self._known.update(zip(new, self._encoder.encode(new), strict=True))
        return np.stack([self._known[term] for term in terms])


def _remembering(encoder: Callable[[], Encoder]) -> Callable[[], Encoder]:
    return cache(lambda: _Remembering(encoder()))


def _worth_asking(
    vocabulary: Vocabulary, groups: Sequence[_Offline], at_least: int
) -> list[_Offline]:
    return [
        group
        for group in groups
        if len(group.terms) <= MOST_TERMS and _total(vocabulary, group) >= at_least
    ]


def _total(vocabulary: Vocabulary, group: _Offline) -> int:
    return sum(vocabulary[group.dimension][term] for term in group.terms)


def _settled(
    questions: Mapping[_Offline, Question], settler: Settler, progress: Progress
) -> dict[_Offline, Settled]:
    alone = [question for question in questions.values() if _is_alone(question)]
    if settler.asker is not None:
        for question in settler.open(alone):
            # Kept, so that the encoder need not find out again that nothing is like it.
            settler.keep(question, Answer(ALONE, "nothing to decide"))
    number = 0 if settler.asker is None else len(settler.open(list(questions.values())))
    watch = progress if number else Silent()
    with shown(watch, "canonicalise", number, "groups put to the language model"):
        found = settler.settle(
            list(questions.values()), faults_of, on_answer=lambda: watch.advance(1, 0)
        )
    return dict(zip(questions, found, strict=True))


def _questions(
    vocabulary: Vocabulary,
    grouping: Grouping,
    groups: Sequence[_Offline],
    asked: Sequence[_Offline],
    settler: Settler,
    encoder: Callable[[], Encoder] | None,
) -> dict[_Offline, Question]:
    """The question about each of `asked`; what was shown beside an answered one stays as it was."""
    found = {}
    for name in OPEN:
        counts = vocabulary.get(name, {})
        mine = [g for g in groups if g.dimension == name]
        wanted = [g for g in asked if g.dimension == name]
        shown = {group: _kept_shown(settler, group) for group in wanted}
        missing = [group for group in wanted if shown[group] is None]
        if missing and settler.asker is not None:
            place = {group: number for number, group in enumerate(mine)}
            beside = shown_beside(
                name, [g.terms for g in mine], [g.name for g in mine],
                [_total(vocabulary, g) for g in mine],
                [place[g] for g in missing], encoder if grouping.method == CLUSTER else None,
                MOST_SHOWN,
            )  # fmt: skip
            shown.update(zip(missing, beside, strict=True))
        for group in wanted:
            found[group] = question_of(name, group.terms, counts, shown[group] or ())
    return found


def _kept_shown(settler: Settler, group: _Offline) -> list[str] | None:
    kept = settler.kept(key_of(group.dimension, group.terms))
    return None if kept is None else [str(name) for name in kept.about.get("shown", ())]


def _is_alone(question: Question) -> bool:
    return len(question.about["terms"]) == 1 and not question.about["shown"]


def _decided(group: _Offline, settled: Settled | None) -> Decided:
    if settled is None or settled.value is None:
        return Decided(group.terms, group.name)
    shown = frozenset(settled.question.about["shown"])
    return Decided(group.terms, group.name, shown, parts_of(settled.value))


def _decision(
    group: _Offline, settled: Settled | None, labels: Mapping[str, str]
) -> dict[str, Any]:
    """What the mapping says about one offline group."""
    said: dict[str, Any] = {
        "dimension": group.dimension, "terms": list(group.terms), "offline": group.name,
        "status": _status(group, settled, labels),
    }  # fmt: skip
    kept = None if settled is None else settled.kept
    if settled is None or kept is None or not kept.answer.model:
        return said
    said |= {"model": kept.answer.model, "date": kept.date, "answer": kept.sha256}
    if settled.value is not None:
        said["same_as"] = sorted(set().union(*(p.same_as for p in parts_of(settled.value))))
        said["repaired"] = settled.status == "repaired"
    return said


def _status(group: _Offline, settled: Settled | None, labels: Mapping[str, str]) -> str:
    if settled is None:
        return "not asked"
    if settled.value is None:
        is_passing = settled.status in ("unasked", "error")
        return OPEN_STILL if is_passing else settled.status
    is_same = {labels[term] for term in group.terms} == {group.name}
    return "kept" if is_same else "changed"


def _rules(
    labels: Mapping[str, Mapping[str, str]], offline: LabelMapping
) -> dict[str, dict[str, str]]:
    """The offline rule where the label is the offline one, else ``model``."""
    found: dict[str, dict[str, str]] = {}
    for name, pairs in labels.items():
        rules = offline.rules.get(name, {})
        mine = {
            term: rules[term] if offline.labels[name][term] == label and term in rules else MODEL
            for term, label in pairs.items()
            if term != label or rules.get(term) == "override"
        }
        if mine:
            found[name] = mine
    return found
