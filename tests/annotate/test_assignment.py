from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextbias.annotate.assignment import assign
from contextbias.annotation_tables import (
    GOLD,
    IMAGE,
    SAMPLE,
    SET,
    TRAINING,
    AnnotationItemRow,
    AssignmentRow,
)
from contextbias.config import AnnotateSection


def item(number: int, purpose: str = SAMPLE, kind: str = SET) -> AnnotationItemRow:
    return AnnotationItemRow(
        item=f"{purpose}-{kind}-{number:03}",
        plan="p",
        kind=kind,
        purpose=purpose,
        generator="g",
        role="r",
        condition="CF",
        image_ids=("a", "b", "c", "d") if kind == SET else ("a",),
        probability=0.5,
        cell_images=8,
        cell_drawn=4,
        gold=None,
        created_at="",
    )


def names(number: int) -> list[str]:
    return [f"a{i}" for i in range(number)]


PLAIN = AnnotateSection(repeats=0)


def sample_of(rows: Sequence[AssignmentRow], repeat: int = 0) -> list[AssignmentRow]:
    return [row for row in rows if row.item.startswith(SAMPLE) and row.repeat == repeat]


@given(
    items=st.integers(1, 40),
    people=st.integers(1, 7),
    per_item=st.integers(1, 5),
    seed=st.integers(0, 9),
)
def test_every_item_gets_k_annotators_and_loads_are_equal(
    items: int, people: int, per_item: int, seed: int
) -> None:
    section = AnnotateSection(annotators_per_item=per_item, repeats=0)
    rows = assign([item(i) for i in range(items)], [], names(people), section, seed)
    per = Counter(row.item for row in rows)
    assert set(per.values()) == {min(per_item, people)}
    assert len({(row.annotator, row.item) for row in rows}) == len(rows)
    load = Counter(row.annotator for row in rows)
    assert max(load.values()) - min(load[name] for name in names(people)) <= 1
    for name in load:
        places = [row.position for row in rows if row.annotator == name]
        assert sorted(places) == list(range(len(places)))


def test_every_pair_overlaps() -> None:
    section = AnnotateSection(annotators_per_item=2, repeats=0)
    rows = assign([item(i) for i in range(60)], [], names(4), section, 1)
    who = {i: {r.annotator for r in rows if r.item == i} for i in {r.item for r in rows}}
    pairs = Counter(pair for found in who.values() for pair in combinations(sorted(found), 2))
    assert len(pairs) == 6
    assert max(pairs.values()) - min(pairs.values()) <= 4


def test_orders_differ_between_people_and_pictures_too() -> None:
    rows = assign([item(i) for i in range(12)], [], names(3), PLAIN, 1)
    orders = {n: [r.item for r in rows if r.annotator == n] for n in names(3)}
    assert len({tuple(order) for order in orders.values()}) == 3
    assert len({frozenset(order) for order in orders.values()}) == 1
    shown = [row.shown for row in rows]
    assert all(sorted(order) == [0, 1, 2, 3] for order in shown)
    assert len(set(shown)) > 10
    again = assign([item(i) for i in range(12)], [], names(3), PLAIN, 1)
    assert [(row.item, row.shown) for row in again] == [(row.item, row.shown) for row in rows]


def test_who_comes_later_gets_what_lacks_people_and_nothing_moves() -> None:
    items = [item(i) for i in range(10)]
    first = assign(items, [], names(2), PLAIN, 1)
    assert len(first) == 20
    second = assign(items, first, names(4), PLAIN, 1)
    # 10 items lack one of three; the two new ones share them.
    assert Counter(row.annotator for row in second) == {"a2": 5, "a3": 5}
    assert assign(items, [*first, *second], names(4), PLAIN, 1) == []


def test_who_leaves_makes_room_but_whole_answers_count() -> None:
    items = [item(i) for i in range(6)]
    first = assign(items, [], names(3), PLAIN, 1)
    done = {("a2", row.item) for row in first[:2]}
    rows = assign(items, first, ["a0", "a1", "a3"], PLAIN, 1, done)
    assert {row.annotator for row in rows} == {"a3"}
    assert len(rows) == 4
    assert not {row.item for row in rows} & {name for _, name in done}


def test_training_first_gold_between_and_repeats_late() -> None:
    section = AnnotateSection(repeats=0.2, gold_items=2, training_items=1, annotators_per_item=1)
    items = [
        *(item(i) for i in range(20)),
        *(item(i, GOLD) for i in range(3)),
        *(item(i, TRAINING) for i in range(2)),
        *(item(i, kind=IMAGE) for i in range(10)),
        item(0, GOLD, IMAGE),
    ]
    rows = assign(items, [], ["a"], section, 3)
    order = [(row.item, row.repeat) for row in rows]
    kinds = [name.split("-")[1] for name, _ in order]
    assert kinds == sorted(kinds, reverse=True)  # sets, then single pictures
    assert order[0][0].startswith(TRAINING)
    assert sum(name.startswith(GOLD) for name, _ in order) == 3
    again = [(place, name) for place, (name, repeat) in enumerate(order) if repeat]
    assert len(again) == round(0.2 * 22) + round(0.2 * 11)
    for place, name in again:
        assert place - order.index((name, 0)) > 2
        assert name.startswith(SAMPLE)
    # Gold is not the block at the end.
    last_gold = max(place for place, (name, _) in enumerate(order) if name.startswith(GOLD))
    assert last_gold < len(order) - 1 or len(order) < 5


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_few_items_are_not_repeated_at_once(number: int) -> None:
    rows = assign([item(i) for i in range(number)], [], ["a"], AnnotateSection(), 1)
    again = [row for row in rows if row.repeat]
    assert len(again) == (number > 2)
