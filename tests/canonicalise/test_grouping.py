"""From a vocabulary to a mapping: total, order-free, its own fixed point; overrides and rules."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import rows, strategies

from contextbias.canonicalise import (
    CLUSTER,
    TABLE,
    Grouping,
    LabelMapping,
    changes,
    group_labels,
    normalise,
    read_overrides,
    vocabulary_of,
)
from contextbias.canonicalise.encoder import Vectors
from contextbias.canonicalise.mapping import OPEN, RULES
from contextbias.canonicalise.terms import kept_apart, starting_groups
from contextbias.errors import InputError
from contextbias.schema import empty_record

WORDS = st.sampled_from(
    ["hard hat", "safety helmet", "helmet", "Hard-Hats", "chef hat", "chef jacket", "suit", "tie",
     "necktie", "glasses", "gloves", "sunglasses", "mug", "coffee cup", "typing", "walking",
     "typing on laptop", "lab coat", "blue coat", "blue", "x", "!", "a"]
)  # fmt: skip
VOCABULARIES = st.fixed_dictionaries(
    {name: st.dictionaries(WORDS.map(normalise), st.integers(1, 9)) for name in OPEN}
)
METHODS = st.sampled_from([TABLE, CLUSTER])


class Letters:
    """An encoder that counts letters."""

    name = "letters"
    calls = 0

    def encode(self, terms: Sequence[str]) -> Vectors:
        Letters.calls += 1
        counts = np.array([[term.count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for term in terms])
        vectors = counts + 0.01
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def grouped(
    vocabulary: dict[str, dict[str, int]], method: str = TABLE, **more: object
) -> LabelMapping:
    how = Grouping(method=method, encoder="letters", **more)  # type: ignore[arg-type]
    return group_labels(vocabulary, how, Letters)


@given(VOCABULARIES, METHODS)
@settings(max_examples=60)
def test_total_and_its_own_fixed_point(vocabulary: dict[str, dict[str, int]], method: str) -> None:
    mapping = grouped(vocabulary, method)
    for name, counts in vocabulary.items():
        assert mapping.labels[name].keys() == counts.keys()
        for term, label in mapping.labels[name].items():
            assert label in counts
            assert mapping.canonical(name, term) == label == mapping.canonical(name, label)
            assert (term != label) == (term in mapping.rules.get(name, {}))
            group = [t for t in counts if mapping.labels[name][t] == label]
            assert label == min(group, key=lambda t: (-counts[t], t))


@given(VOCABULARIES, METHODS, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_order_does_not_matter(
    vocabulary: dict[str, dict[str, int]], method: str, luck: Random
) -> None:
    shuffled = {
        name: dict(luck.sample(sorted(counts.items()), len(counts)))
        for name, counts in sorted(vocabulary.items(), reverse=True)
    }
    assert grouped(shuffled, method).to_json() == grouped(vocabulary, method).to_json()


@given(VOCABULARIES)
@settings(max_examples=40)
def test_what_the_table_keeps_apart_stays_apart(vocabulary: dict[str, dict[str, int]]) -> None:
    labels = grouped(vocabulary, CLUSTER, threshold=0.9).labels
    for name, counts in vocabulary.items():
        terms = sorted(counts)
        start, classes = starting_groups(terms, name), kept_apart(terms, name).classes
        for i, one in enumerate(terms):
            for j, two in enumerate(terms):
                if labels[name][one] == labels[name][two] and start[i] != start[j]:
                    both = (classes[i] >= 0) & (classes[j] >= 0)
                    assert (classes[i] == classes[j])[both].all()


@given(VOCABULARIES, st.dictionaries(WORDS.map(normalise), WORDS.map(normalise)), METHODS)
@settings(max_examples=60)
def test_overrides_decide(
    vocabulary: dict[str, dict[str, int]], given_labels: dict[str, str], method: str
) -> None:
    given_labels = {t: x for t, x in given_labels.items() if given_labels.get(x, x) == x}
    mapping = grouped(vocabulary, method, overrides={"items": given_labels})
    for term in vocabulary["items"]:
        label = mapping.canonical("items", term)
        assert mapping.canonical("items", label) == label
        if term in given_labels:
            assert label == given_labels[term]
            assert mapping.rules["items"][term] == "override"
        elif term in given_labels.values():
            assert label == term  # a label by hand names its group
        else:
            assert label in vocabulary["items"]


def test_rules_say_why() -> None:
    counts = {"apron": 5, "aprons": 1, "kitchen apron": 1, "naorp": 1, "smock": 2, "pinafore": 1,
              "not visible": 9}  # fmt: skip
    mapping = grouped(
        {"items": counts}, CLUSTER, threshold=0.2, overrides={"items": {"pinafore": "smock"}}
    )
    aprons = dict.fromkeys(["apron", "aprons", "kitchen apron", "naorp"], "apron")
    others = {"smock": "smock", "pinafore": "smock", "not visible": "unknown"}
    assert mapping.labels["items"] == aprons | others
    assert mapping.rules["items"] == {
        "aprons": "form", "kitchen apron": "table", "naorp": "cluster", "pinafore": "override",
        "not visible": "missing",
    }  # fmt: skip
    assert set(mapping.rules["items"].values()) == set(RULES) - {"model"}


@pytest.mark.parametrize("method", [TABLE, CLUSTER])
def test_a_word_for_no_answer_is_no_label(method: str) -> None:
    counts = {"n a": 4, "nothing": 2, "not visible": 3, "invisible ink": 1, "mug": 1}
    labels = grouped({"items": counts}, method, threshold=0.01).labels["items"]
    assert labels == {
        "n a": "unknown", "nothing": "none", "not visible": "unknown",
        "invisible ink": "invisible ink", "mug": "mug",
    }  # fmt: skip


def test_overrides_can_make_a_label_of_a_word_for_no_answer() -> None:
    own = {"items": {"nothing": "nothing", "hidden": "not visible"}}
    counts = {"nothing": 1, "hidden": 2, "not visible": 1, "obscured": 1}
    assert grouped({"items": counts}, overrides=own).labels["items"] == {
        "nothing": "nothing", "hidden": "not visible", "not visible": "not visible",
        "obscured": "unknown",
    }  # fmt: skip


class Reads:
    """An encoder to which everything that it reads is one thing, and that reads no Chinese."""

    name = "reads"

    def encode(self, terms: Sequence[str]) -> Vectors:
        vectors = np.array([[1.0 if term.isascii() else 0.0, 0.0] for term in terms], np.float32)
        return vectors.reshape(len(terms), 2)


@pytest.mark.parametrize("threshold", [0.38, 1.0])
def test_what_the_encoder_cannot_read_is_like_nothing(threshold: float) -> None:
    counts = {"mug": 3, "tie": 1, "安全帽": 5, "听诊器": 5, "zebra": 1, "hammer": 1}
    own = {"items": {"zzz": "zebra", "hhh": "hammer"}}
    how = Grouping(method=CLUSTER, encoder="reads", threshold=threshold, overrides=own)
    labels = group_labels({"items": counts}, how, Reads).labels["items"]
    assert (labels["安全帽"], labels["听诊器"]) == ("安全帽", "听诊器")
    # All that it reads is one thing, but for two labels by hand, which one group cannot hold.
    assert {labels[term] for term in ("mug", "tie", "zebra", "hammer")} == {"zebra", "hammer"}


def test_a_group_of_which_one_term_can_be_read_is_not_taken_apart() -> None:
    class Half(Reads):
        def encode(self, terms: Sequence[str]) -> Vectors:
            return super().encode(["帽" if term == "necktie" else term for term in terms])

    counts = {"necktie": 2, "tie": 1, "安全帽": 5}
    how = Grouping(method=CLUSTER, encoder="reads", threshold=0.01)
    labels = group_labels({"items": counts}, how, Half).labels["items"]
    assert labels == {"necktie": "necktie", "tie": "necktie", "安全帽": "安全帽"}


def test_the_name_is_the_most_frequent_term() -> None:
    assert set(grouped({"items": {"tie": 1, "necktie": 2}}).labels["items"].values()) == {"necktie"}
    assert set(grouped({"items": {"tie": 2, "necktie": 2}}).labels["items"].values()) == {"necktie"}
    assert set(grouped({"items": {"tie": 3, "necktie": 2}}).labels["items"].values()) == {"tie"}


def test_a_known_mapping_spares_the_encoder() -> None:
    vocabulary = {"items": {"mug": 2, "coffee cup": 1, "tie": 1}}
    first = grouped(vocabulary, CLUSTER)
    Letters.calls = 0
    more = {"items": {"mug": 2, "coffee cup": 5, "tie": 1}}
    how = Grouping(method=CLUSTER, encoder="letters")
    again = group_labels(more, how, None, known=first)
    assert Letters.calls == 0
    assert again.labels["items"] == {"mug": "coffee cup", "coffee cup": "coffee cup", "tie": "tie"}
    assert again.made == first.made
    assert [(c.term, c.before, c.after) for c in changes(first, again)] == [
        ("coffee cup", "mug", "coffee cup"), ("mug", "mug", "coffee cup"),
    ]  # fmt: skip
    for other in (
        {"items": {**vocabulary["items"], "apron": 1}},
        {"items": {"mug": 1}},
    ):
        group_labels(other, how, Letters, known=first)
    assert Letters.calls == 2
    with pytest.raises(ValueError, match="needs an encoder"):
        group_labels({"items": {"new": 1}}, how, None, known=first)


def test_settings_are_part_of_the_mapping() -> None:
    vocabulary = {"items": {"mug": 1, "tie": 1}}
    hashes = {
        grouped(vocabulary, CLUSTER).content_hash,
        grouped(vocabulary, CLUSTER, threshold=0.2).content_hash,
        grouped(vocabulary, TABLE).content_hash,
        grouped(vocabulary, TABLE, overrides={"items": {"zzz": "y"}}).content_hash,
    }
    assert len(hashes) == 4
    # What a method does not use is no part of it.
    assert grouped(vocabulary, TABLE, threshold=0.2) == grouped(vocabulary, TABLE)


def test_the_file_holds_everything() -> None:
    mapping = grouped({"items": {"mug": 1, "coffee cup": 2}}, CLUSTER)
    assert LabelMapping.from_json(mapping.to_json()) == mapping


@given(st.lists(strategies.records(max_people=2), max_size=3))
@settings(max_examples=25)
def test_every_answer_gets_one_label(records: list[dict[str, object]]) -> None:
    readings = [rows.reading(str(i), record=record) for i, record in enumerate(records)]
    vocabulary = vocabulary_of(readings)
    assert vocabulary == vocabulary_of(readings[::-1])
    mapping = group_labels(vocabulary, Grouping(method=TABLE))
    for name, counts in vocabulary.items():
        assert set(mapping.labels[name]) == set(counts)
        assert not {"", "unknown", "none", "not applicable"} & set(counts)


def test_counted_answers_are_terms_too() -> None:
    record = empty_record()
    record["objects"]["items"] = ["Mug", "mug", "none", "?"]
    counted = rows.frequency(
        counts=[["objects", "items", "coffee_mug", 3], ["objects", "items", "Unknown", 2],
                ["scene", "mood", "calm", 9]]
    )  # fmt: skip
    found = vocabulary_of([rows.reading(record=record), rows.reading("e", record=None)], [counted])
    assert found["items"] == {"?": 1, "coffee mug": 3, "mug": 2}
    assert found["activities"] == {}


def test_overrides_are_read_by_spelling() -> None:
    text = '[items]\n"Hard-Hat" = "Helmet"\n"helmet" = "helmet"\n[activities]\n"idling" = "unknown"'
    assert read_overrides(text.encode(), where="own.toml") == {
        "items": {"hard hat": "helmet", "helmet": "helmet"}, "activities": {"idling": "unknown"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[items", "is not TOML"),
        ("\xff", "is not TOML"),
        ("items = 3", "no table of an open dimension"),
        ('[item]\n"a" = "b"', "(?i)did you mean 'items'"),
        ('[items]\n"a" = 3', "'a' has the label 3"),
        ('[items]\n"a" = " "', "Both have to be texts"),
        ('[items]\n"a b" = "x"\n"A-b" = "y"', "'a b' has two labels"),
        ('[items]\n"a" = "b"\n"b" = "c"', "'a' is 'b', and 'b' is 'c'"),
    ],
)
def test_wrong_overrides_are_named(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read_overrides(text.encode("latin-1"), where="own.toml")
    assert "own.toml" in str(caught.value)
