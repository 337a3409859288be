"""A language model's decisions on offline groups: checked, kept, put together by rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.llm.fake import FakeModel, Said

from contextbias.canonicalise import CLUSTER, TABLE, Grouping, LabelMapping
from contextbias.canonicalise.encoder import Vectors
from contextbias.canonicalise.llm import expected_questions, model_labels, offline_labels
from contextbias.canonicalise.llm_join import Decided, joined_labels
from contextbias.canonicalise.llm_question import SCHEMA, Part, faults_of, question_of
from contextbias.canonicalise.mapping import OPEN
from contextbias.errors import Incomplete
from contextbias.llm import Answer, Journal, Question, Settler

G = "clothing_garment"
HOW = Grouping(method=TABLE)


def said(*groups: tuple[list[str], list[str]]) -> dict[str, Any]:
    """An answer: (terms, the first of them the label; same_as)."""
    return {
        "groups": [{"label": terms[0], "terms": terms, "same_as": same} for terms, same in groups]
    }


def keeps(asked: Question) -> dict[str, Any]:
    return said((list(asked.about["terms"]), []))


def by_terms(answers: Mapping[str, Said]) -> Any:
    """Answers to groups by their first term; the others are kept."""
    return lambda asked: answers.get(asked.about["terms"][0]) or keeps(asked)


def mapping_of(
    terms: dict[str, int], model: FakeModel, path: Path | None = None, **more: Any
) -> LabelMapping:
    settler = Settler(Journal(path), model.settings(), model)
    how = more.pop("how", HOW)
    return model_labels({G: terms}, how, settler, **more)


COATS = {"work jacket": 9, "work jackets": 3, "parka": 4, "field jacket": 2, "jacket": 5}


def test_a_merge_that_one_says_and_none_denies() -> None:
    one = {"work jacket": said((["work jackets", "work jacket"], ["jacket"]))}
    # "jacket" was shown "work jacket" and does not say so: no merge.
    assert mapping_of(COATS, FakeModel(by_terms(one))).labels[G]["jacket"] == "jacket"
    both = one | {"jacket": said((["jacket"], ["work jacket"]))}
    labels = mapping_of(COATS, FakeModel(by_terms(both))).labels[G]
    # 12 images of the one, 5 of the other: its label, as the model chose it, names both.
    assert labels["jacket"] == labels["work jacket"] == labels["work jackets"] == "work jackets"
    assert labels["field jacket"] == "field jacket"
    assert labels["parka"] == "parka"


def test_two_that_were_told_apart_do_not_meet_by_way_of_a_third() -> None:
    everything = {
        "work jacket": said((["work jacket", "work jackets"], ["jacket"])),
        "jacket": said((["jacket"], ["work jacket", "field jacket"])),
        "field jacket": said((["field jacket"], ["jacket"])),
    }
    labels = mapping_of(COATS, FakeModel(by_terms(everything))).labels[G]
    # 12 + 5 images come before 5 + 2.
    assert labels["jacket"] == labels["work jackets"] == "work jacket"
    assert labels["field jacket"] == "field jacket"


def test_a_split_and_a_new_name() -> None:
    terms = {"glove": 3, "gloves": 7, "mitten": 1}
    model = FakeModel(by_terms({"glove": said((["glove"], []), (["gloves"], []))}))
    mapping = mapping_of(terms, model)
    assert mapping.labels[G] == {"glove": "glove", "gloves": "gloves", "mitten": "mitten"}
    renamed = mapping_of(terms, FakeModel(by_terms({"glove": said((["glove", "gloves"], []))})))
    assert renamed.labels[G]["gloves"] == "glove"
    assert renamed.rules[G] == {"gloves": "model"}
    assert offline_labels(renamed).labels[G]["glove"] == "gloves"


def test_decisions_say_by_whom_when_and_from_which_answer(tmp_path: Path) -> None:
    model = FakeModel(by_terms({"glove": said((["glove"], []), (["gloves"], []))}))
    mapping = mapping_of({"glove": 3, "gloves": 7}, model, tmp_path / "j")
    (decision,) = mapping.decisions
    (line,) = (Journal(tmp_path / "j")._kept).values()
    assert decision["status"] == "changed"
    assert decision["offline"] == "gloves"
    assert decision["model"] == "fake-2026-01-01"
    assert decision["date"] == line.date
    assert decision["answer"] == line.sha256
    assert {"template", "model", "tables"} <= mapping.made.keys()
    assert LabelMapping.from_json(mapping.to_json()) == mapping


def test_asked_again_only_about_new_groups(tmp_path: Path) -> None:
    first = FakeModel(keeps)
    before = mapping_of(COATS, first, tmp_path / "j")
    assert first.asked
    nobody = FakeModel(keeps)
    assert mapping_of(COATS, nobody, tmp_path / "j") == before
    mapping_of({term: count + 1 for term, count in COATS.items()}, nobody, tmp_path / "j")
    assert not nobody.asked
    more = COATS | {"field jackets": 1, "rain jacket": 2}
    again = FakeModel(keeps)
    mapping_of(more, again, tmp_path / "j", known=before)
    assert {tuple(q.about["terms"]) for q in again.asked} == {
        ("field jacket", "field jackets"),
        ("rain jacket",),
    }


def test_a_term_alone_is_not_asked_about(tmp_path: Path) -> None:
    model = FakeModel(keeps)
    # The table keeps the two apart, so that neither has another one to be compared with.
    mapping = mapping_of({"chef hat": 1, "chef jacket": 1}, model, tmp_path / "j")
    assert not model.asked
    assert [d["status"] for d in mapping.decisions] == ["alone", "alone"]
    assert mapping.labels[G] == {"chef hat": "chef hat", "chef jacket": "chef jacket"}


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("nonsense", "invalid"),
        (said((["glove"], [])), "invalid"),
        (said((["glove", "gloves", "invented"], [])), "invalid"),
        (Answer("refused", "I would rather not"), "refused"),
        (Answer("truncated", ""), "truncated"),
        (Answer("error", "cut off"), "open"),
    ],
)
def test_without_a_good_answer_the_offline_group_stands(reply: Said, status: str) -> None:
    mapping = mapping_of({"glove": 3, "gloves": 7}, FakeModel(lambda q: reply))
    assert mapping.labels[G] == {"glove": "gloves", "gloves": "gloves"}
    assert mapping.rules[G] == {"glove": "form"}
    assert [d["status"] for d in mapping.decisions] == [status]


def test_what_the_table_keeps_apart_is_neither_shown_nor_merged() -> None:
    # The table keeps jackets and hats apart; "chef" is neither, and like both.
    terms = {"chef jacket": 3, "chef hat": 3, "chef": 2}

    def glues(asked: Question) -> Said:
        return said((list(asked.about["terms"]), list(asked.about["shown"])))

    model = FakeModel(glues)
    labels = mapping_of(terms, model).labels[G]
    shown = {q.about["terms"][0]: q.about["shown"] for q in model.asked}
    assert shown == {"chef": ["chef hat", "chef jacket"], "chef hat": ["chef"],
                     "chef jacket": ["chef"]}  # fmt: skip
    assert labels == {"chef": "chef hat", "chef hat": "chef hat", "chef jacket": "chef jacket"}


def test_overrides_win() -> None:
    how = Grouping(
        method=TABLE, overrides={G: {"hijab": "headscarf", "glove": "glove", "hat": "cap"}}
    )
    terms = {"hijab": 1, "headscarf": 2, "head scarf": 9, "glove": 3, "gloves": 4, "hat": 1}
    model = FakeModel(by_terms({"head scarf": said((["head scarf", "headscarf"], []))}))
    mapping = mapping_of(terms, model, how=how)
    assert mapping.labels[G] == {
        "hijab": "headscarf", "headscarf": "headscarf", "head scarf": "headscarf",
        "glove": "glove", "gloves": "gloves", "hat": "cap",
    }  # fmt: skip
    assert mapping.rules[G]["hijab"] == "override"
    asked = {term for q in model.asked for term in q.about["terms"]}
    assert not asked & {"hijab", "glove", "hat"}


def test_a_pause_leaves_the_answers_in_the_journal(tmp_path: Path) -> None:
    with pytest.raises(Incomplete):
        mapping_of(COATS, FakeModel(keeps, until=1), tmp_path / "j")
    rest = FakeModel(keeps)
    mapping_of(COATS, rest, tmp_path / "j")
    assert len(rest.asked) == 3


def test_groups_seldom_given_are_not_asked_about() -> None:
    model = FakeModel(keeps)
    mapping = mapping_of(COATS, model, at_least=5)
    assert {q.about["terms"][0] for q in model.asked} == {"jacket", "work jacket"}
    assert {d["status"] for d in mapping.decisions} == {"kept", "not asked"}


def test_what_would_be_asked_can_be_told_before() -> None:
    model = FakeModel(keeps)
    settler = Settler(Journal(None), model.settings(), model)
    asked = expected_questions({G: COATS}, HOW, settler)
    assert not model.asked
    mapping_of(COATS, model)
    assert [q.key for q in asked] == [q.key for q in model.asked]


def test_the_question_has_domain_cohort_dimension_and_counts() -> None:
    text = question_of(G, ["b", "a"], {"a": 2, "b": 31}, ["c"]).messages[1]["content"]
    for part in ("Domain: ", "Cohort: people", f"Dimension: {G}", "- b (31)\n- a (2)", "- c"):
        assert part in text


def test_the_schema_is_strict() -> None:
    def check(schema: Mapping[str, Any]) -> None:
        if schema["type"] == "object":
            assert schema["additionalProperties"] is False
            assert list(schema["properties"]) == schema["required"]
            for part in schema["properties"].values():
                check(part)
        if schema["type"] == "array":
            check(schema["items"])

    check(SCHEMA)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (None, "no object"),
        ({"groups": 3}, "no object"),
        ({"groups": [3]}, "a group is no object"),
        ({"groups": [{"label": "a", "terms": "a", "same_as": []}]}, "a group is no object"),
        (said((["a"], [])), "'b' is missing"),
        (said((["a", "b", "x"], [])), "'x' is not a term"),
        (said((["a", "b"], []), (["b"], [])), "'b' stands 2 times"),
        (said((["a", "b"], ["d"])), "'d', which is no other group"),
        ({"groups": [{"label": "z", "terms": ["a", "b"], "same_as": []}]}, "the label 'z'"),
        ({"groups": [{"label": "a", "terms": [], "same_as": []}]}, "no terms"),
    ],
)
def test_faults_of_an_answer(value: Any, fault: str) -> None:
    faults = faults_of(question_of(G, ["a", "b"], {"a": 1, "b": 1}, ["c"]), value)
    assert any(fault in each for each in faults), faults


def test_case_and_punctuation_are_no_fault() -> None:
    asked = question_of(G, ["t shirt", "tee"], {"t shirt": 1, "tee": 1}, ["top"])
    assert faults_of(asked, said((["T-Shirt", "tee"], ["Top"]))) == []


def by_the_rules(groups: list[Decided], counts: Mapping[str, int]) -> set[frozenset[str]]:
    """The labels' terms, by the words of llm_join's docstring: every pair is looked at."""
    parts = [
        (number, part) for number, g in enumerate(groups)
        for part in g.parts or (Part(g.name, g.terms, frozenset()),)
    ]  # fmt: skip
    total = [sum(counts[term] for term in part.terms) for _, part in parts]

    def says(i: int, j: int) -> bool:
        return bool(parts[i][1].same_as & set(parts[j][1].terms))

    def denies(i: int, j: int) -> bool:
        group = groups[parts[i][0]]
        shown = group.parts is not None and bool(group.shown & set(parts[j][1].terms))
        return shown and not says(i, j)

    def told_apart(i: int, j: int) -> bool:
        return parts[i][0] == parts[j][0] or denies(i, j) or denies(j, i)

    pairs = [(i, j) for i, j in combinations(range(len(parts)), 2) if says(i, j) or says(j, i)]
    found = [{i} for i in range(len(parts))]
    for i, j in sorted(
        pairs, key=lambda p: (-(total[p[0]] + total[p[1]]), parts[p[0]][1].terms,
                              parts[p[1]][1].terms)
    ):  # fmt: skip
        one, two = (next(each for each in found if k in each) for k in (i, j))
        if one is not two and not any(told_apart(a, b) for a in one for b in two):
            found.remove(two)
            one |= two
    return {frozenset(t for i in each for t in parts[i][1].terms) for each in found}


@given(st.integers(0, 10**6))
@settings(max_examples=80)
def test_merges_are_those_of_the_rules(seed: int) -> None:
    luck = Random(seed)
    words = [f"{a}{b}" for a in "bdfgk" for b in ("ax", "ex", "ix")]
    sizes = [luck.randint(1, 3) for _ in range(luck.randint(2, 7))]
    groups, start = [], 0
    for size in sizes:
        terms = tuple(sorted(words[start : start + size]))
        start += size
        groups.append(Decided(terms, terms[0]) if terms else None)
    known = sorted((g for g in groups if g is not None), key=lambda g: g.terms)
    decided = []
    for group in known:
        shown = frozenset(g.name for g in known if g is not group and luck.random() < 0.7)
        cut = luck.randint(0, len(group.terms) - 1)
        parts = tuple(
            Part(some[0], some, frozenset(n for n in shown if luck.random() < 0.6))
            for some in (group.terms[:cut], group.terms[cut:]) if some
        )  # fmt: skip
        answered = replace(group, shown=shown, parts=parts)
        decided.append(answered if luck.random() < 0.9 else group)
    counts = {word: luck.randint(1, 9) for word in words}
    labels = joined_labels(G, decided, counts, frozenset())
    by_label: dict[str, set[str]] = {}
    for term, label in labels.items():
        by_label.setdefault(label, set()).add(term)
    assert {frozenset(terms) for terms in by_label.values()} == by_the_rules(decided, counts)


class Reads:
    """An encoder to which terms are alike by their first letter, and that reads ASCII alone."""

    name = "reads"

    def encode(self, terms: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(terms), 128), np.float32)
        for row, term in zip(vectors, terms, strict=True):
            if term.isascii():
                row[ord(term[0])] = 1
        return vectors


def test_what_the_encoder_cannot_read_is_shown_by_spelling() -> None:
    terms = {"maa": 1, "mbb": 2, "安全帽": 5, "安全网": 1, "听诊器": 3}
    model = FakeModel(keeps)
    settler = Settler(Journal(None), model.settings(), model)
    how = Grouping(method=CLUSTER, threshold=0.01, encoder="reads",
                   overrides={G: {"x": "maa", "y": "mbb"}})  # fmt: skip
    model_labels({G: terms}, how, settler, Reads)
    shown = {q.about["terms"][0]: q.about["shown"] for q in model.asked}
    assert shown["maa"] == ["mbb"]
    assert shown["安全帽"] == ["安全网", "听诊器", "mbb", "maa"]


WORDS = ["hard hat", "hard hats", "hat", "chef hat", "chef jacket", "jacket", "jackets", "tie",
         "necktie", "glove", "gloves", "x", "suit", "suits", "suit jacket"]  # fmt: skip


def at_random(seed: int) -> Any:
    """Any answer that keeps to the rules; the same for the same group."""

    def reply(asked: Question) -> Said:
        luck = Random(f"{seed}{asked.key}")
        terms = list(asked.about["terms"])
        luck.shuffle(terms)
        cut = luck.randint(0, len(terms) - 1)
        parts = [part for part in (terms[:cut], terms[cut:]) if part]
        names = list(asked.about["shown"])
        return said(*((part, [n for n in names if luck.random() < 0.5]) for part in parts))

    return reply


@given(
    st.dictionaries(st.sampled_from(WORDS), st.integers(1, 9), min_size=1),
    st.integers(0, 10**6),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60)
def test_total_its_own_fixed_point_and_free_of_order(
    terms: dict[str, int], seed: int, luck: Random
) -> None:
    mapping = mapping_of(terms, FakeModel(at_random(seed)))
    items = list(terms.items())
    luck.shuffle(items)
    assert mapping_of(dict(items), FakeModel(at_random(seed), backwards=True)).labels == (
        mapping.labels
    )
    assert mapping.labels[G].keys() == terms.keys()
    for term, label in mapping.labels[G].items():
        assert label in terms
        assert mapping.canonical(G, term) == label == mapping.canonical(G, label)
        assert (term != label) == (term in mapping.rules.get(G, {}))
    assert set(mapping.labels) == set(OPEN)
