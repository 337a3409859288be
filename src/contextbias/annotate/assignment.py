"""Who sees what, and in which order: seeded, balanced, overlapping.

Each item of the sample goes to k annotators, those with the least to do so far; among equals, those
who share the fewest items with the ones who have it already, so that every pair of annotators
overlaps. What was assigned stays assigned: when annotators come later, they get what has fewer than
k people. Each annotator's order is a random one of their own. Items with known answers stand among
the others, training comes before them, and some items come a second time, in the second half.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from itertools import combinations

from contextbias.annotation_tables import (
    GOLD,
    SAMPLE,
    TRAINING,
    AnnotationItemRow,
    AssignmentRow,
)
from contextbias.config import AnnotateSection
from contextbias.ids import content_hash
from contextbias.people.annotations import now

_LEAST_BETWEEN = 2
# Items that stand between an item and its second showing, at least, where there are enough.


def assign(
    items: Sequence[AnnotationItemRow],
    there: Sequence[AssignmentRow],
    annotators: Sequence[str],
    section: AnnotateSection,
    seed: int,
    done: Collection[tuple[str, str]] = (),
) -> list[AssignmentRow]:
    """Give items to annotators.

    Args:
        items: All items.
        there: Assignments that stand already.
        annotators: Who can be given items: with a link, neither revoked nor removed.
        section: How many people an item needs, gold items, training, repeats.
        seed: The same seed and the same annotators give the same assignments.
        done: (annotator, item) of what others, who answer no more, have answered whole: it counts.

    Returns:
        The new assignments, by annotator and position.
    """
    sample = [item for item in items if item.purpose == SAMPLE]
    stands = [
        row for row in there if row.annotator in annotators or (row.annotator, row.item) in done
    ]
    given = _overlapping(sample, stands, annotators, section.annotators_per_item, seed)
    new = []
    for name in sorted(annotators):
        if not given[name]:
            continue
        luck = random.Random(f"{seed}\x1forder\x1f{name}")
        before = [row for row in there if row.annotator == name]
        known = _known(items, before, section, luck)
        order = _order(given[name], known, section.repeats, luck)
        start = 1 + max((row.position for row in before), default=-1)
        new += [
            _row(name, item, repeat, start + place, luck)
            for place, (item, repeat) in enumerate(order)
        ]
    return new


def _overlapping(
    sample: Sequence[AnnotationItemRow],
    there: Sequence[AssignmentRow],
    annotators: Sequence[str],
    per_item: int,
    seed: int,
) -> dict[str, list[AnnotationItemRow]]:
    """Annotator -> new items of the sample."""
    ids = {item.item for item in sample}
    having: dict[str, set[str]] = defaultdict(set)
    for row in there:
        if row.item in ids:
            having[row.item].add(row.annotator)
    load = Counter(name for names in having.values() for name in names)
    pairs = Counter(pair for names in having.values() for pair in combinations(sorted(names), 2))
    given: dict[str, list[AnnotationItemRow]] = {name: [] for name in annotators}
    for item in sorted(sample, key=lambda one: content_hash([seed, one.item])):
        names = having[item.item]
        while len(names) < per_item and set(annotators) - names:
            name = min(
                set(annotators) - names,
                key=lambda one: (
                    load[one],
                    sum(pairs[_pair(one, other)] for other in names),
                    content_hash([seed, item.item, one]),
                ),
            )
            pairs.update(_pair(name, other) for other in names)
            names.add(name)
            load[name] += 1
            given[name].append(item)
    return given


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _known(
    items: Sequence[AnnotationItemRow],
    before: Sequence[AssignmentRow],
    section: AnnotateSection,
    luck: random.Random,
) -> dict[str, list[AnnotationItemRow]]:
    """Gold and training items for one annotator, of each kind of item; none a second time."""
    had = {row.item for row in before}
    found: dict[str, list[AnnotationItemRow]] = {}
    for purpose, number in ((TRAINING, section.training_items), (GOLD, section.gold_items)):
        found[purpose] = []
        for kind in sorted({item.kind for item in items}):
            choice = [i for i in items if (i.purpose, i.kind) == (purpose, kind)]
            wanted = max(0, number - sum(item.item in had for item in choice))
            free = sorted((i for i in choice if i.item not in had), key=lambda i: i.item)
            found[purpose] += luck.sample(free, min(wanted, len(free)))
    return found


def _order(
    sample: Sequence[AnnotationItemRow],
    known: dict[str, list[AnnotationItemRow]],
    repeats: float,
    luck: random.Random,
) -> list[tuple[AnnotationItemRow, int]]:
    """Sets, then single pictures; of each kind training, then everything else mixed.

    The kinds are kept apart because a change of form costs attention.
    """
    order: list[tuple[AnnotationItemRow, int]] = []
    kinds = sorted({item.kind for item in [*sample, *known[GOLD]]}, reverse=True)
    for kind in kinds:
        order += [(item, 0) for item in known[TRAINING] if item.kind == kind]
        mixed = [item for item in [*sample, *known[GOLD]] if item.kind == kind]
        mixed.sort(key=lambda item: item.item)
        luck.shuffle(mixed)
        order += _with_repeats(mixed, repeats, luck)
    return order


def _with_repeats(
    mixed: Sequence[AnnotationItemRow], repeats: float, luck: random.Random
) -> list[tuple[AnnotationItemRow, int]]:
    first_half = [item for item in mixed[: (len(mixed) + 1) // 2] if item.purpose == SAMPLE]
    wanted = round(repeats * len(mixed))
    if repeats > 0 and len(mixed) > _LEAST_BETWEEN:
        wanted = max(wanted, 1)
    again = luck.sample(first_half, min(wanted, len(first_half)))
    order = [(item, 0) for item in mixed]
    for item in again:
        place = next(i for i, (one, _) in enumerate(order) if one is item)
        low = min(max(place + 1 + _LEAST_BETWEEN, len(order) // 2), len(order))
        order.insert(luck.randint(low, len(order)), (item, 1))
    return order


def _row(
    name: str, item: AnnotationItemRow, repeat: int, position: int, luck: random.Random
) -> AssignmentRow:
    shown = list(range(len(item.image_ids)))
    luck.shuffle(shown)
    return AssignmentRow(
        annotator=name,
        item=item.item,
        repeat=repeat,
        position=position,
        shown=tuple(shown),
        created_at=now(),
    )
