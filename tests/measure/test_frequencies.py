"""Counted answers under the paper's definitions: x, n and what is missing."""

from __future__ import annotations

import polars as pl
import pytest
from tests.measure.facts import cell, frame
from tests.rows import frequency

from contextbias.canonicalise import LabelMapping
from contextbias.canonicalise.frequencies import label_counts
from contextbias.measure import measure
from contextbias.measure.arrays import DimensionCounts, count_readers
from contextbias.measure.frequencies import sum_label_counts
from contextbias.tables import FrequencyRow

Counts = tuple[tuple[str, str, str, int], ...]


def counted(*rows: FrequencyRow) -> pl.DataFrame:
    return label_counts(rows, LabelMapping({}))


def dimension(name: str, *rows: FrequencyRow) -> DimensionCounts:
    found = count_readers(frame([]), people="primary", label_counts=counted(*rows))
    (reader,) = found.values()
    return next(d for d in reader.dimensions if d.dimension == name)


def test_a_question_with_one_answer() -> None:
    # 6 + 2 of 10 images have an answer, 1 is unknown, 1 was not counted at all.
    counts = (
        ("people", "gender_presentation", "female", 6),
        ("people", "gender_presentation", "male", 2),
        ("people", "gender_presentation", "unknown", 1),
    )
    found = dimension("gender_presentation", frequency(counts=counts))
    assert found.labels == ("female", "male")
    assert found.x[0, 0].tolist() == [6, 2]
    assert (found.n[0, 0], found.missing[0, 0]) == (8, 2)


def test_several_persons_in_an_image_are_at_most_its_images() -> None:
    counts = (
        ("people", "gender_presentation", "female", 9),
        ("people", "gender_presentation", "male", 4),
    )
    found = dimension("gender_presentation", frequency(counts=counts))
    assert found.x[0, 0].tolist() == [9, 4]
    assert (found.n[0, 0], found.missing[0, 0]) == (10, 0)


def test_a_question_with_a_list_of_answers() -> None:
    # Two surface forms of one label add up, to 10 at most; 1 image is unknown.
    counts = (
        ("objects", "items", "tool box", 7),
        ("objects", "items", "Tool-box", 6),
        ("objects", "items", "lamp", 1),
        ("objects", "items", "unknown", 1),
    )
    found = dimension("items", frequency(counts=counts))
    assert found.labels == ("lamp", "tool box")
    assert found.x[0, 0].tolist() == [1, 10]
    # 10 images show a tool box, so that all 10 were read, whatever "unknown" says.
    assert (found.n[0, 0], found.missing[0, 0]) == (10, 0)


def test_a_list_without_any_answer_is_one_with_nothing_in_it() -> None:
    some = (("objects", "items", "lamp", 1), ("objects", "items", "unknown", 2))
    other = (("scene_appearance", "mood", "calm", 5),)
    rows = frequency(counts=some), frequency("q2", prompt_id="p2", role="judge", counts=other)
    found = dimension("items", *rows)
    # Roles are sorted: judge, nurse.
    assert found.n[:, 0].tolist() == [10, 8]
    assert found.missing[:, 0].tolist() == [0, 2]
    mood = dimension("mood", *rows)
    assert mood.n[:, 0].tolist() == [5, 0]
    assert mood.missing[:, 0].tolist() == [5, 10]


def test_prompts_add_up_and_are_clusters_of_their_own() -> None:
    rows = [frequency(str(i), prompt_id=str(i), variant=f"v{i}") for i in range(3)]
    mood = dimension("mood", *rows)
    assert (mood.x[0, 0, 0], mood.n[0, 0]) == (21, 21)
    assert mood.prompts.n.tolist() == [7, 7, 7]
    assert mood.prompts.x.toarray().tolist() == [[7], [7], [7]]
    assert len(set(mood.prompts.cluster.tolist())) == 3


def test_the_same_images_counted_and_one_by_one() -> None:
    """Where an image has one label of a question, counts lose nothing."""
    said = {"CF": {"calm": 6, "tense": 3, "unknown": 1}, "CA-U": {"calm": 2, "tense": 8}}
    rows, facts = [], []
    for condition, answers in said.items():
        counts = tuple(("scene_appearance", "mood", label, n) for label, n in answers.items())
        rows.append(
            frequency(
                condition, condition=condition, prompt_id=condition, generator="g", counts=counts,
                reader="r", variant="v",
            )
        )  # fmt: skip
        facts += cell("mood", answers, condition=condition, prompt_id=condition)
    by_image = measure(frame(facts), bootstrap=50)
    by_count = measure(frame([]), bootstrap=50, label_counts=counted(*rows))
    assert by_count.equals(by_image, null_equal=True)


def test_readers_stand_apart() -> None:
    rows = counted(frequency("a", reader="a"), frequency("b", reader="b"))
    assert list(sum_label_counts(rows, released=False)) == ["a", "b"]
    facts = frame(cell("mood", {"calm": 3}))
    found = measure(facts, bootstrap=0, label_counts=rows)
    assert set(found["reader"]) == {"a", "b", "r"}


@pytest.mark.parametrize("preset", ["paper", "strict", "reference"])
def test_every_preset_takes_counts(preset: str) -> None:
    rows = [
        frequency(f"{role}{c}", role=role, condition=c, prompt_id=f"{role}{c}")
        for role in ("nurse", "judge")
        for c in ("CF", "CA-R", "CA-U")
    ]
    found = measure(frame([]), preset=preset, bootstrap=20, label_counts=counted(*rows))
    assert set(found["preset"]) == {preset}
    assert "prevalence" in set(found["estimand"])
