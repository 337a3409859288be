"""The part of ``docs/contextbench.md`` that lists the bank's contents, made from the bank itself.

``python -m contextbias.bench.page docs/contextbench.md`` rewrites the part between the two marks,
``… docs/contextbench-de.md contextbench-de`` that of another bank; a test fails when it is stale.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from contextbias.bench.assignment import assign_unrelated
from contextbias.bench.bank import Bank, Context, Role
from contextbias.bench.check import soc_major_groups
from contextbias.bench.contexts import Contexts
from contextbias.bench.prompts import build_prompts
from contextbias.bench.reading import load_bank
from contextbias.bench.summary import ConditionSummary, summarise
from contextbias.errors import InputError
from contextbias.tables import Prompt

BEGIN = "<!-- contexts: begin -->"
"""Mark before the generated part."""

END = "<!-- contexts: end -->"
"""Mark after it."""


def context_page(bank: Bank) -> str:
    """Describe a bank in Markdown: counts by condition, every role, the everyday pool."""
    assigned = assign_unrelated(bank)
    parts = [_counts(build_prompts(bank)), "### Roles"]
    parts += [_role_section(bank, role, assigned[role.name]) for role in bank.entries]
    parts += ["### The everyday pool", _pool(bank)]
    return "\n\n".join(parts)


def _counts(prompts: Sequence[Prompt]) -> str:
    """Table of what each condition holds."""
    head = ("condition", "prompts", "distinct contexts", "distinct places", "distinct activities",
            "words a prompt", "CLIP tokens a prompt")  # fmt: skip
    return _table(head, [_count_row(row) for row in summarise(prompts)])


def _count_row(row: ConditionSummary) -> list[str]:
    counts = (row.prompts, row.contexts, row.places, row.activities)
    return [row.condition, *map(str, counts), str(row.words), str(row.tokens)]


def _role_section(bank: Bank, role: Role, unrelated: Contexts) -> str:
    forms = ", ".join(other.form for other in bank.roles if other.entry == role.entry)
    group = f" ({soc_major_groups()[role.soc]}, {role.soc})" if role.soc else ""
    drawn_places = (unrelated.place, unrelated.other_place)
    drawn_activities = tuple(filter(None, (unrelated.activity, unrelated.other_activity)))
    return "\n".join(
        [
            f"**{forms}**{group}",
            "",
            f"- related: {_listed(role.places)}; {_listed(role.activities)}",
            f"- unrelated: {_listed(drawn_places)}; {_listed(drawn_activities)}",
        ]
    )


def _listed(contexts: Sequence[Context]) -> str:
    return ", ".join(context.text for context in contexts)


def _pool(bank: Bank) -> str:
    """Table of everyday places with the activities that are plausible there."""
    rows = [
        [place.text, ", ".join(a.text for a in bank.activities if place.name in a.at)]
        for place in bank.places
    ]
    intro = f"{len(bank.places)} places and {len(bank.activities)} activities."
    return f"{intro}\n\n{_table(('place', 'activities'), rows)}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def lines() -> Iterator[str]:
        for row in (head, ["---"] * len(head), *rows):
            yield f"| {' | '.join(row)} |"

    return "\n".join(lines())


def refresh(page: str, bank: Bank) -> str:
    """Put the bank's contents between the two marks of a page.

    Raises:
        InputError: The page lacks one of the marks.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"the page lacks {BEGIN} or {END}", "put both marks in, one a line")
    return f"{before}{BEGIN}\n\n{context_page(bank)}\n\n{END}{after}"


if __name__ == "__main__":
    target, *names = map(Path, sys.argv[1:])
    bank_shown = load_bank(*names)
    target.write_text(refresh(target.read_text("utf-8"), bank_shown), "utf-8")
