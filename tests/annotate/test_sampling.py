from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextbias.annotate.sampling import Cell, Cells, draw
from contextbias.annotation_tables import IMAGE, SET
from contextbias.config import AnnotateSection
from contextbias.errors import InputError


def cells(sizes: dict[tuple[str, str], int], generators: int = 1) -> Cells:
    return {
        Cell(f"g{g}", role, condition): tuple(f"{g}-{role}-{condition}-{i}" for i in range(number))
        for g in range(generators)
        for (role, condition), number in sorted(sizes.items())
    }


PAPER = {
    (f"role-{r}", c): n for r in range(10) for c, n in (("CF", 30), ("CA-R", 70), ("CA-U", 80))
}


def test_the_paper_s_study_is_1200_images_in_120_sets() -> None:
    there = cells(PAPER, generators=4)
    items = draw(there, AnnotateSection(), 1, "plan")
    assert len(items) == 120
    assert sum(len(item.image_ids) for item in items) == 1200
    # Every cell is drawn for certain, and 10 of its images.
    assert {(item.condition, item.probability) for item in items} == {
        ("CF", 10 / 30), ("CA-R", 10 / 70), ("CA-U", 10 / 80),
    }  # fmt: skip
    assert {item.cell_drawn for item in items} == {10}
    assert all(len(set(item.image_ids)) == 10 for item in items)


def test_the_same_seed_draws_the_same_and_another_one_does_not() -> None:
    there, section = cells(PAPER), AnnotateSection(sets=7, images=20)
    first, again = draw(there, section, 1, "p"), draw(there, section, 1, "p")
    other = draw(there, section, 2, "p")
    assert [i.item for i in first] == [i.item for i in again]
    assert {i.item for i in first} != {i.item for i in other}


def test_probabilities_multiply() -> None:
    # 5 of 10 roles; of their 15 cells 3; in each 10 of N images.
    items = draw(cells(PAPER), AnnotateSection(roles=5, sets=3), 4, "p")
    assert len(items) == 3
    for item in items:
        assert item.probability == pytest.approx(0.5 * (3 / 15) * 10 / item.cell_images)


def test_single_images_are_spread_evenly_and_lots_decide_the_rest() -> None:
    there = cells({("a", "CF"): 2, ("a", "CA-R"): 9, ("a", "CA-U"): 9})
    items = draw(there, AnnotateSection(sets=0, images=9), 3, "p")
    number = Counter(item.condition for item in items)
    # 2 + 3 + 3 are certain; the ninth goes to CA-R or CA-U.
    assert number["CF"] == 2
    assert sorted((number["CA-R"], number["CA-U"])) == [3, 4]
    by_cell = {item.condition: item for item in items}
    assert by_cell["CF"].probability == 1.0
    assert by_cell["CA-R"].probability == pytest.approx(3.5 / 9)
    assert {i.cell_drawn for i in items if i.condition == "CA-R"} == {number["CA-R"]}
    assert len({item.image_ids for item in items}) == 9


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=6),
    wanted=st.integers(1, 60),
    seed=st.integers(0, 5),
)
def test_expected_numbers_add_up(sizes: list[int], wanted: int, seed: int) -> None:
    there = cells({(f"r{i}", "CF"): number for i, number in enumerate(sizes)})
    items = draw(there, AnnotateSection(sets=0, images=wanted), seed, "p")
    assert len(items) == min(wanted, sum(sizes))
    # Summed over the population, the inclusion probabilities are the sample size; cells without
    # a drawn image are expected to have 1 / cells of what lots decide.
    seen = {item.role: item.probability * item.cell_images for item in items}
    assert all(0 < item.probability <= 1 for item in items)
    if len(seen) == len(sizes):
        assert sum(seen.values()) == pytest.approx(len(items))


def test_the_probability_is_that_of_the_draw() -> None:
    """400 draws: how often a given image is in, against what its item says."""
    there = cells({("a", "CF"): 4, ("a", "CA-R"): 6, ("b", "CF"): 5, ("b", "CA-R"): 8})
    section = AnnotateSection(roles=1, sets=1, set_size=3, images=5)
    seen: Counter[str] = Counter()
    said: dict[str, float] = {}
    for seed in range(400):
        for item in draw(there, section, seed, "p"):
            for image in item.image_ids:
                seen[item.kind + image] += 1
                said.setdefault(item.kind + image, float(item.probability or 0))
    assert set(said) == {k + i for ids in there.values() for i in ids for k in (SET, IMAGE)}
    for image, p in said.items():
        # Five standard errors of a share out of 400.
        assert seen[image] / 400 == pytest.approx(p, abs=5 * (p * (1 - p) / 400) ** 0.5)


def test_what_cannot_be_drawn_is_said() -> None:
    there = cells({("nurse", "CF"): 4})
    with pytest.raises(InputError, match=r"has 10 images in one condition.*most are 4"):
        draw(there, AnnotateSection(), 1, "p")
    with pytest.raises(InputError, match=r"no images of 'nruse'. Did you mean 'nurse'"):
        draw(there, AnnotateSection(roles=("nruse",), set_size=2), 1, "p")
    assert draw(there, AnnotateSection(sets=0, images=99), 1, "p")[3:]
    assert len(draw(there, AnnotateSection(sets=5, set_size=2), 1, "p")) == 1
