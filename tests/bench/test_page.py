"""The page about the bank shows the bank that ships."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextbias.bench import Bank, build_prompts, load_bank, shipped_banks
from contextbias.bench.page import BEGIN, END, context_page, refresh
from contextbias.errors import InputError

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "contextbench.md"


@pytest.mark.parametrize("name", shipped_banks())
def test_the_page_is_not_stale(name: str) -> None:
    page = (DOCS / f"{name}.md").read_text("utf-8")
    stale = f"run: python -m contextbias.bench.page docs/{name}.md {name}"
    assert refresh(page, load_bank(name)) == page, stale


def test_the_examples_on_the_page_are_sentences_of_the_bank(bank: Bank) -> None:
    nurse = {p.base: p.text for p in build_prompts(bank, ["nurse"]) if p.variant == "phrasing-1"}
    rows = [row.split(" | ") for row in PAGE.read_text("utf-8").splitlines()]
    shown = {row[0].strip("| `"): row[2] for row in rows if len(row) == 4 and row[0][2] == "`"}
    assert shown == nurse


def test_every_role_and_every_context_is_shown(bank: Bank) -> None:
    page = context_page(bank)
    for context in (*bank.everyday, *(c for role in bank.roles for c in role.related)):
        assert context.text in page
    assert all(f"**{role.form}**" in page for role in bank.roles)


def test_counts_by_condition(bank: Bank) -> None:
    rows = [row for row in context_page(bank).splitlines() if row.startswith("| C")]
    # 92 roles with 3, 7 and 8 prompts. Unrelated: the whole pool of 51 places and 78 activities.
    assert [row.split(" | ")[1] for row in rows] == ["276", "644", "736"]
    assert rows[0].split(" | ")[2:5] == ["0", "0", "0"]
    assert rows[2].split(" | ")[3:5] == ["51", "78"]


def test_only_the_part_between_the_marks_changes(bank: Bank) -> None:
    page = f"before\n{BEGIN}\nstale\n{END}\nafter\n"
    fresh = refresh(page, bank)
    assert fresh.startswith(f"before\n{BEGIN}\n")
    assert fresh.endswith(f"{END}\nafter\n")
    assert "stale" not in fresh
    assert refresh(fresh, bank) == fresh


@pytest.mark.parametrize("page", ["no marks", f"{BEGIN} only", f"only {END}", f"{END}{BEGIN}"])
def test_a_page_without_both_marks_is_refused(page: str, bank: Bank) -> None:
    with pytest.raises(InputError, match="lacks"):
        refresh(page, bank)
