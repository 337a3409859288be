"""What most people say: votes, ties, lists, missing answers, and who counts."""

from __future__ import annotations

import pytest
from tests.measure.answered import answer, people

from contextbias.annotation_tables import LabelRow
from contextbias.measure.people import Consensus, consensus, consensus_frame


def only(*rows: LabelRow) -> Consensus:
    (found,) = consensus(people(rows))
    return found


def test_the_majority_and_both_prevalences() -> None:
    found = only(
        answer("a", "s", "calm", 8), answer("b", "s", "calm", 6), answer("c", "s", "tense", 10)
    )
    assert found.shares == {"calm": 1}
    assert (found.votes, found.raters) == (2, 3)
    assert found.prevalence_paper == pytest.approx(0.8)  # mean of 8, 6 and 10
    assert found.prevalence == pytest.approx(0.7)  # of those who chose calm


def test_a_tie_goes_to_the_higher_mean_count() -> None:
    found = only(
        answer("a", "s", "calm", 8), answer("b", "s", "tense", 9), answer("c", "s", "joyful", 2)
    )
    assert found.shares == {"tense": 1}
    assert found.prevalence == pytest.approx(0.9)


def test_a_tie_that_counts_do_not_break_is_shared() -> None:
    found = only(answer("a", "s", "calm", 8), answer("b", "s", "tense", 8))
    assert found.shares == {"calm": 0.5, "tense": 0.5}
    picture = only(answer("a", "i", "calm"), answer("b", "i", "tense"))
    assert picture.shares == {"calm": 0.5, "tense": 0.5}
    assert picture.prevalence_paper is None


def test_most_see_nothing() -> None:
    found = only(
        answer("a", "i", "unknown"), answer("b", "i", "no_person"), answer("c", "i", "calm")
    )
    assert found.shares == {}
    assert found.reason == "no_person"
    assert found.votes == 2
    even = only(answer("a", "i", "unknown"), answer("b", "i", "calm"))
    assert even.shares == {"calm": 1}


def test_lists_keep_what_more_than_half_saw() -> None:
    found = only(
        answer("a", "i", ("chair", "Lamp"), dimension="items"),
        answer("b", "i", ("lamp",), dimension="items"),
        answer("c", "i", ("lamp", "rug"), dimension="items"),
    )
    assert found.shares == {"lamp": 1}
    half = only(
        answer("a", "i", ("chair", "lamp"), dimension="items"),
        answer("b", "i", ("lamp",), dimension="items"),
    )
    assert half.shares == {"chair": 0.5, "lamp": 1}


def test_nothing_of_the_kind_is_an_answer() -> None:
    empty = only(
        answer("a", "i", "empty", dimension="items"), answer("b", "i", "none", dimension="items")
    )
    assert empty.shares == {"empty": 1}
    apart = only(
        answer("a", "i", ("chair",), dimension="items"),
        answer("b", "i", ("lamp",), dimension="items"),
        answer("c", "i", ("rug",), dimension="items"),
    )
    assert apart.shares == {"empty": 1}


def test_none_of_a_closed_list_is_the_same_nothing() -> None:
    found = only(
        answer("a", "i", "none", dimension="accessories"),
        answer("b", "i", ("tie",), dimension="accessories"),
        answer("c", "i", "none", dimension="accessories"),
    )
    assert found.shares == {"empty": 1}
    # Of one label it is a label: nobody wears anything on the head.
    covered = only(answer("a", "i", "none", dimension="head_covering_type"))
    assert covered.shares == {"none": 1}


def test_gold_training_repeats_and_excluded_people_do_not_count() -> None:
    rows = [
        answer("a", "i", "calm"),
        answer("a", "i", "tense", repeat=1),
        answer("b", "i", "tense"),
        answer("a", "x", "calm", purpose="gold"),
        answer("a", "y", "calm", purpose="training"),
    ]
    (found,) = consensus(people(rows, leave_out=["b"]))
    assert found.shares == {"calm": 1}
    assert found.raters == 1


def test_the_order_of_answers_does_not_matter() -> None:
    rows = [answer(who, f"i{k}", "calm" if k % 2 else "tense") for who in "cab" for k in range(4)]
    assert consensus(people(rows)) == consensus(people(rows[::-1]))
    assert people(rows).equals(people(rows[::-1]))


def test_the_table_of_what_most_people_say() -> None:
    rows = [answer("a", "s", "calm", 8), answer("b", "s", "tense", 8), answer("a", "i", "unknown")]
    table = consensus_frame(consensus(people(rows)))
    assert table["label"].to_list() == [None, "calm|tense"]
    assert table["reason"].to_list() == ["unknown", None]
    assert consensus_frame([]).is_empty()
