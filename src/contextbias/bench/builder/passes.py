"""The two language-model passes over a list of roles: propose, then judge, with code between."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contextbias.bench.builder.candidate import CONTEXTS, EVERYDAY_PLACE, Candidate
from contextbias.bench.builder.judge import judge_faults, judge_questions, judged
from contextbias.bench.builder.propose import (
    EACH,
    THEMES,
    axis_question,
    pool_question,
    role_question,
    shape_faults,
)
from contextbias.bench.builder.sift import (
    axis_candidates,
    pool_candidates,
    role_candidates,
    sifted,
)
from contextbias.bench.builder.subject import Subject
from contextbias.llm import Question, Settled, Settler
from contextbias.llm.question import INVALID
from contextbias.progress import Progress, Silent, shown

LEAST_USABLE = 3
"""Places, and activities, without fault that an answer about a role has to bring."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What came of both passes."""

    candidates: tuple[Candidate, ...]
    """In the order of the review."""
    unanswered: tuple[tuple[str, str], ...]
    """(what was asked about, why there is no usable answer)."""

    @property
    def dropped(self) -> int:
        """Candidates with a fault that code found."""
        return sum(bool(each.faults) for each in self.candidates)

    @property
    def recommended(self) -> int:
        """Contexts that are proposed to be kept."""
        return sum(each.keep and each.kind in CONTEXTS for each in self.candidates)


def first_questions(subject: Subject) -> list[Question]:
    """What the proposing pass asks: a question a role, an axis, a theme of the pool."""
    themes = THEMES if subject.has_own_pool else ()
    return [
        *(role_question(subject, role) for role in subject.roles),
        *(pool_question(subject, theme) for theme in themes),
        *(axis_question(subject, axis) for axis in subject.axes),
    ]


def expected_judgements(subject: Subject) -> list[Question]:
    """Questions about as long as the judging pass will ask; for a plan."""
    text = "in a place with a name of usual length"
    candidates = [
        Candidate(kind=kind, role=role.name, text=f"{text} {number}")
        for role in subject.roles
        for kind in ("place", "activity")
        for number in range(EACH)
    ]
    if subject.has_own_pool:
        pool = range(30 * len(THEMES))
        candidates += [Candidate(kind=EVERYDAY_PLACE, text=f"{text} {n}") for n in pool]
    for axis in subject.axes:
        candidates += [Candidate(kind="axis", at=(axis,), text=f"{text} {n}") for n in range(5)]
    return judge_questions(subject, candidates)


def open_judgements(subject: Subject, proposer: Settler, judge: Settler) -> list[Question]:
    """What the judging pass would ask, where the proposing pass has been answered; for a plan."""
    quiet = replace(proposer, asker=None)
    answers = quiet.settle(first_questions(subject), _check_of(subject))
    candidates = [each for settled in answers for each in _candidates(subject, settled)]
    return judge.open(judge_questions(subject, sifted(subject, candidates)))


def proposed(
    subject: Subject, proposer: Settler, judge: Settler, progress: Progress | None = None
) -> Proposal:
    """Run both passes; what the journals hold is not asked again.

    Raises:
        Incomplete: A model's budget is spent; what came is in the journal.
    """
    watch = progress or Silent()
    questions = first_questions(subject)
    answers = _pass(proposer, questions, _check_of(subject), watch, "proposing")
    candidates = [each for settled in answers for each in _candidates(subject, settled)]
    candidates = sifted(subject, candidates)
    to_judge = judge_questions(subject, candidates)
    judgements = _pass(judge, to_judge, judge_faults, watch, "judging")
    lost = [
        (_about(settled.question), f"{settled.status}: {settled.problem}")
        for settled in (*answers, *judgements)
        if settled.value is None
    ]
    return Proposal(tuple(judged(candidates, judgements)), tuple(lost))


def _pass(
    settler: Settler,
    questions: Sequence[Question],
    check: Callable[[Question, Any], Sequence[str]],
    progress: Progress,
    what: str,
) -> list[Settled]:
    number = len(settler.open(questions))
    watch = progress if number else Silent()
    with shown(watch, "bench", number, f"questions, {what}"):
        return settler.settle(questions, check, on_answer=lambda: watch.advance(1, 0))


def _check_of(subject: Subject) -> Callable[[Question, Any], list[str]]:
    """An answer is faulty when it cannot be read, or brings too few usable contexts of a role."""

    def check(question: Question, value: Any) -> list[str]:
        faults = shape_faults(question, value)
        if faults or "role" not in question.about:
            return faults
        found = sifted(subject, _from(subject, question, value))
        usable = Counter(each.kind for each in found if not each.faults)
        for kind, what in (("place", "places"), ("activity", "activities")):
            if usable[kind] < LEAST_USABLE:
                faults.append(f"{usable[kind]} usable {what}, and {EACH} are asked for")
                faults += [
                    f"{each.text!r}: {each.faults[0]}"
                    for each in found
                    if each.kind == kind and each.faults
                ]
        return faults

    return check


def _candidates(subject: Subject, settled: Settled) -> list[Candidate]:
    kept, value = settled.kept, settled.value
    if value is None and kept is not None and settled.status == INVALID:
        value = _readable(settled.question, kept.answer.text)
    found = _from(subject, settled.question, value)
    if kept is None or value is None:
        return found
    return [
        each if each.reason else replace(each, model=kept.answer.model, date=kept.date)
        for each in found
    ]


def _readable(question: Question, text: str) -> Any:
    """An answer that brings too little is better than none: a person can add to it."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return None if shape_faults(question, value) else value


def _from(subject: Subject, question: Question, value: Any) -> list[Candidate]:
    about = question.about
    if "role" in about:
        role = next(role for role in subject.roles if role.name == about["role"])
        return role_candidates(subject, role, value)
    if "axis" in about:
        return axis_candidates(about["axis"], value)
    return pool_candidates(subject, value)


def _about(question: Question) -> str:
    about = question.about
    for kind in ("role", "theme", "axis"):
        if about.get(kind):
            return f"{kind} {about[kind]!r}"
    return "judging everyday contexts or an axis"
