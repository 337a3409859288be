"""Which images people see: a probability sample over role x condition x generator.

A cell is a generator, role and condition. Every draw comes from the plan's seed, and the
probability with which an image of a cell is drawn is known and stored with the item.

- Roles: all, those named, or a number of them drawn at random (then every probability below is
  multiplied by the share of roles that is drawn).
- Sets: S of the C cells that hold enough images are drawn at random, and in each of them k of its N
  images: p = S/C * k/N.
- Single images: m images are spread over the C cells as evenly as their sizes allow. What is left
  over after equal shares goes to cells drawn at random, one image each. p is the expected number of
  images of the cell over N.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contextbias.annotation_tables import IMAGE, SAMPLE, SET, AnnotationItemRow
from contextbias.config import AnnotateSection
from contextbias.errors import InputError, nearest
from contextbias.ids import content_hash
from contextbias.people.annotations import now
from contextbias.tables import ImageRow


@dataclass(frozen=True, order=True, slots=True)
class Cell:
    """Images of one generator, role and condition."""

    generator: str
    """Which generator."""
    role: str
    """Which role."""
    condition: str
    """Which condition."""


Cells = dict[Cell, tuple[str, ...]]
"""Cell -> ids of its images, sorted."""


def cells_of(images: Iterable[ImageRow]) -> Cells:
    """Group images by cell, both sorted."""
    found: dict[Cell, list[str]] = defaultdict(list)
    for image in images:
        found[Cell(image.generator, image.role, image.condition)].append(image.image_id)
    return {cell: tuple(sorted(found[cell])) for cell in sorted(found)}


def draw(cells: Cells, section: AnnotateSection, seed: int, plan: str) -> list[AnnotationItemRow]:
    """Draw the sample.

    Args:
        cells: All images that could be drawn.
        section: What to draw.
        seed: The same seed draws the same items.
        plan: Id of the plan that the items belong to.

    Returns:
        Items of purpose ``sample``: sets, then single images.

    Raises:
        InputError: A role is not there, or no cell holds enough images for a set.
    """
    luck = random.Random(f"{seed}\x1fsample")
    cells, share = _of_roles(cells, section, luck)
    rows = [*_sets(cells, section, luck), *_images(cells, section, luck)]
    number = Counter((kind, cell) for kind, cell, _, _ in rows)
    return [
        _item(plan, row, images=len(cells[row[1]]), items=number[row[:2]], share=share)
        for row in rows
    ]


_Drawn = tuple[str, Cell, tuple[str, ...], float]


def _of_roles(cells: Cells, section: AnnotateSection, luck: random.Random) -> tuple[Cells, float]:
    """The cells of the wanted roles, and the share of roles that was drawn at random."""
    there = sorted({cell.role for cell in cells})
    wanted: Sequence[str]
    share = 1.0
    if section.roles == "all":
        wanted = there
    elif isinstance(section.roles, int):
        wanted = luck.sample(there, min(section.roles, len(there)))
        share = len(wanted) / len(there) if there else 1.0
    else:
        wanted = section.roles
        for role in wanted:
            if role not in there:
                raise InputError(
                    f"annotate.roles: no images of {role!r}",
                    nearest(role, there) or f"there are: {', '.join(there[:10])}",
                )
    return {cell: ids for cell, ids in cells.items() if cell.role in set(wanted)}, share


def _sets(cells: Cells, section: AnnotateSection, luck: random.Random) -> list[_Drawn]:
    large = [cell for cell, ids in cells.items() if len(ids) >= section.set_size]
    number = len(large) if section.sets is None else min(section.sets, len(large))
    if not large and section.sets != 0:
        largest = max(map(len, cells.values()), default=0)
        raise InputError(
            f"no role has {section.set_size} images in one condition of one generator "
            f"(the most are {largest})",
            "make more images, lower annotate.set_size, or set annotate.sets = 0",
        )
    if not number:
        return []
    chosen = sorted(luck.sample(large, number))
    found = []
    for cell in chosen:
        ids = cells[cell]
        p = number / len(large) * section.set_size / len(ids)
        found.append((SET, cell, tuple(luck.sample(ids, section.set_size)), p))
    return found


def _images(cells: Cells, section: AnnotateSection, luck: random.Random) -> list[_Drawn]:
    sizes = {cell: len(ids) for cell, ids in cells.items()}
    certain, left = _even_shares(sizes, min(section.images, sum(sizes.values())))
    room = [cell for cell in cells if certain[cell] < sizes[cell]]
    extra = set(luck.sample(room, left)) if left else set()
    found: list[_Drawn] = []
    for cell, ids in cells.items():
        expected = certain[cell] + (left / len(room) if cell in room else 0)
        drawn = luck.sample(ids, certain[cell] + (cell in extra))
        found += [(IMAGE, cell, (image,), expected / len(ids)) for image in drawn]
    return found


def _even_shares(sizes: dict[Cell, int], total: int) -> tuple[dict[Cell, int], int]:
    """Equal shares of `total`, none above its size; returns them and what is left to draw lots for.

    What is left is fewer than the cells that have room.
    """
    shares = dict.fromkeys(sizes, 0)
    left = total
    while left:
        room = [cell for cell in sizes if shares[cell] < sizes[cell]]
        each = min(left // len(room), min(sizes[cell] - shares[cell] for cell in room))
        if not each:
            break
        for cell in room:
            shares[cell] += each
        left -= each * len(room)
    return shares, left


def _item(plan: str, row: _Drawn, *, images: int, items: int, share: float) -> AnnotationItemRow:
    kind, cell, drawn, probability = row
    return AnnotationItemRow(
        item=item_id(plan, kind, SAMPLE, drawn),
        plan=plan,
        kind=kind,
        purpose=SAMPLE,
        generator=cell.generator,
        role=cell.role,
        condition=cell.condition,
        image_ids=drawn,
        probability=probability * share,
        cell_images=images,
        cell_drawn=items * len(drawn),
        gold=None,
        created_at=now(),
    )


def item_id(plan: str, kind: str, purpose: str, image_ids: Sequence[str]) -> str:
    """Id of an item, known before it is stored."""
    return content_hash(["item", plan, kind, purpose, sorted(image_ids)])
