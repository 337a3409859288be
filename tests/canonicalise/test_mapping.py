"""The mapping: pass-through, its file, and planted labels."""

from __future__ import annotations

import json
from random import Random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import rows, strategies

from contextbias.canonicalise import LabelMapping, canonical_planted, normalise, pass_through
from contextbias.errors import InputError
from contextbias.schema import empty_person, empty_record
from contextbias.tables import ReadingRow

READINGS = st.lists(strategies.records(max_people=2), max_size=4)


def items(*labels: str) -> ReadingRow:
    record = empty_record()
    record["objects"]["items"] = list(labels)
    return rows.reading(record=record)


def test_pass_through_merges_spellings_only() -> None:
    mapping = pass_through([items("Lab-Coat", "lab coat"), items("labcoat")])
    assert mapping.labels["items"] == {
        "Lab-Coat": "lab coat", "lab coat": "lab coat", "labcoat": "labcoat",
    }  # fmt: skip
    assert mapping.canonical("items", "LAB COAT") == "lab coat"
    assert mapping.canonical("items", "Never Seen") == "never seen"


def test_a_word_for_no_answer_is_no_label() -> None:
    mapping = pass_through([items("Not visible", "Nothing", "mug")])
    assert mapping.labels["items"] == {"Not visible": "unknown", "Nothing": "none", "mug": "mug"}
    assert mapping.rules["items"] == {"Not visible": "missing", "Nothing": "missing"}
    assert mapping.canonical("items", "N/A") == "unknown"
    by_hand = LabelMapping({"items": {"nothing": "nothing"}})
    assert by_hand.canonical("items", "Nothing") == "nothing"


def test_closed_vocabularies_pass_untouched() -> None:
    assert pass_through([]).canonical("age_range", "young_adult") == "young_adult"


def test_readings_without_a_record_add_nothing() -> None:
    refused = rows.reading(status="refused", record=None)
    assert pass_through([refused]) == pass_through([])


def test_people_and_several_dimensions_are_taken_in() -> None:
    person = empty_person() | {"clothing_garment": ["Scrubs"], "activities": "unknown"}
    record = empty_record() | {"people": [empty_person(), person]}
    labels = pass_through([rows.reading(record=record)]).labels
    assert labels == {
        "items": {}, "activities": {}, "clothing_garment": {"Scrubs": "scrubs"},
    }  # fmt: skip


@given(READINGS, st.randoms(use_true_random=False))
def test_order_of_readings_does_not_matter(records: list[dict[str, object]], luck: Random) -> None:
    readings = [rows.reading(str(i), record=record) for i, record in enumerate(records)]
    mapping = pass_through(readings)
    luck.shuffle(readings)
    assert pass_through(readings).to_json() == mapping.to_json()


@given(READINGS)
def test_canonical_labels_are_fixed_points(records: list[dict[str, object]]) -> None:
    mapping = pass_through(rows.reading(str(i), record=r) for i, r in enumerate(records))
    for name, pairs in mapping.labels.items():
        for surface, label in pairs.items():
            assert label == normalise(surface)
            assert mapping.canonical(name, label) == label


def test_file_round_trip_and_hash() -> None:
    mapping = pass_through([items("Hat", "Über-Hut")])
    data = mapping.to_json()
    assert LabelMapping.from_json(data) == mapping
    assert json.loads(data)["hash"] == mapping.content_hash
    assert "Über-Hut" in data.decode()
    other = pass_through([items("Hat")])
    assert other.content_hash != mapping.content_hash


def test_hash_does_not_depend_on_the_order_of_the_file() -> None:
    one = LabelMapping({"items": {"a": "x", "b": "y"}, "activities": {}})
    two = LabelMapping({"activities": {}, "items": {"b": "y", "a": "x"}})
    assert one.content_hash == two.content_hash
    assert one.to_json() == two.to_json()


def test_a_mapping_by_hand_may_merge_by_meaning() -> None:
    text = '{"labels": {"clothing_garment": {"lab coat": "coat", "white coat": "coat"}}}'
    mapping = LabelMapping.from_json(text.encode())
    # Surface forms are found by their normalised spelling too.
    assert mapping.canonical("clothing_garment", "White-Coat") == "coat"
    assert mapping.canonical("clothing_garment", "apron") == "apron"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "JSON list"),
        ("{}", "no object `labels`"),
        ('{"labels": []}', "no object `labels`"),
        ('{"labels": {"item": {}}}', "(?i)did you mean 'items'"),
        ('{"labels": {"age_range": {}}}', "no open vocabulary"),
        ('{"labels": {"items": {"a": 1}}}', "items is not surface -> label"),
        ('{"labels": {"items": []}}', "items is not surface -> label"),
        ('{"hash": "0", "labels": {"items": {}}}', "was changed after it was written"),
    ],
)
def test_a_wrong_file_is_named(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        LabelMapping.from_json(text.encode(), where="map.json")
    assert "map.json" in str(caught.value)


def test_planted_labels_get_the_spelling_of_readings() -> None:
    keys = {"generator": "g", "role": "nurse", "condition": "CF"}
    planted = pl.DataFrame(
        [
            keys | {"cohort": "people", "dimension": "clothing_garment", "label": label, "p": p}
            for label, p in (("T-shirt", 0.5), ("t shirt", 0.2), ("Scrubs", 0.3))
        ]
        + [keys | {"cohort": "people", "dimension": "age_range", "label": "young_adult", "p": 0.1}]
    )
    found = canonical_planted(planted, pass_through([]))
    # Two spellings taken as different events: 1 - (1 - .5)(1 - .2) = .6.
    assert found.select("label", "p").rows() == [
        ("t shirt", pytest.approx(0.6)), ("scrubs", 0.3), ("young_adult", 0.1),
    ]  # fmt: skip
    assert found.columns == planted.columns
